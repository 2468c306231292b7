/// Reads up to a packet's data from memory, in lines of 64 bytes, which may be answered in any order: the reorder buffer.
///
/// The data are given out when all are here, in order: a packet begins only if its data are whole. A line that is not
/// answered within `Patience` cycles makes all fail; its answer, when it comes later, has an old number and is left out.
/// While memory has not even taken a read, further ones fail at once.
module stopbit_rma_reader
  import stopbit_nic_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter int unsigned Patience = 4096
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   start_i,  // one read at a time
  input  logic [AddressBits-1:3] address_i,
  input  words_t                 words_i,  // 1 to RmaDataWords
  output logic                   done_o,
  output logic                   failed_o,  // with done

  output logic [63:0]            data_o,   // after done; the next one follows a cycle later
  input  logic                   take_i,

  output logic                   read_valid_o,
  input  logic                   read_ready_i,
  output rma_read_t              read_o,
  input  logic                   answer_valid_i,
  input  rma_answer_t            answer_i,

  output logic                   late_o,    // an answer after its time, left out
  output logic                   expired_o  // no answer in time
);
  localparam int unsigned Lines     = 4;
  localparam int unsigned TimeWidth = $clog2(Patience + 1);

  logic                 busy_q, failed_q, finishes, expires, is_ours, starts;
  logic [2:0]           epoch_q, ask_epoch_q;
  logic [1:0]           line_q, next_line;  // to be asked for
  logic                 asks_q;
  logic [AddressBits-1:3] address_q;
  logic [5:0]           left_q, left, coming_q;  // words to be asked for, and to come
  logic [3:0]           room, count;
  logic [TimeWidth-1:0] time_q;
  logic [Lines-1:0][2:0] come_q;  // next place in each line
  logic [4:0]           take_q;
  assign starts    = start_i && !asks_q;
  assign room      = 4'd8 - {1'b0, address_q[5:3]};
  assign count     = left_q < 6'(room) ? left_q[3:0] : room;
  assign left      = left_q - 6'(count);
  assign next_line = line_q + 2'd1;
  assign read_o       = '{tag: {ask_epoch_q, line_q}, address: address_q, count: 3'(count - 4'd1)};
  assign read_valid_o = asks_q;
  assign is_ours  = answer_valid_i && busy_q && answer_i.tag[4:2] == epoch_q && coming_q != '0;
  assign finishes = busy_q && !asks_q && coming_q == '0;
  assign expires  = busy_q && !finishes && time_q == TimeWidth'(Patience);

  // Place in the buffer: the line's number, and the place in it.
  always_ff @(posedge clk_i) begin
    if (starts) begin
      address_q   <= address_i;
      ask_epoch_q <= epoch_q;
      line_q    <= '0;
      left_q    <= 6'(words_i);
      failed_q  <= 1'b0;
      come_q    <= {3'd0, 3'd0, 3'd0, address_i[5:3]};
      take_q    <= {2'd0, address_i[5:3]};
    end else begin
      if (read_valid_o && read_ready_i) begin
        address_q <= {address_q[AddressBits-1:6] + 1'b1, 3'd0};
        line_q    <= next_line;
        left_q    <= left;
      end
      if (is_ours) begin
        come_q[answer_i.tag[1:0]] <= come_q[answer_i.tag[1:0]] + 3'd1;
        failed_q                  <= failed_q || answer_i.error;
      end
      if (expires || start_i) failed_q <= 1'b1;
      if (take_i) take_q <= take_q + 5'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q    <= 1'b0;
      asks_q    <= 1'b0;
      epoch_q   <= '0;
      time_q    <= '0;
      coming_q  <= '0;
      done_o    <= 1'b0;
      late_o    <= 1'b0;
      expired_o <= 1'b0;
    end else begin
      done_o    <= finishes || expires || (start_i && asks_q);
      late_o    <= answer_valid_i && !is_ours;
      expired_o <= expires;
      epoch_q   <= epoch_q + 3'(expires);
      if (starts) begin
        busy_q   <= 1'b1;
        asks_q   <= 1'b1;
        coming_q <= 6'(words_i);
        time_q   <= '0;
      end else begin
        busy_q   <= busy_q && !finishes && !expires;
        // What is offered stays, even if it will not be waited for.
        if (read_valid_o && read_ready_i) asks_q <= left != '0 && busy_q && !expires;
        coming_q <= coming_q - 6'(is_ours);
        time_q   <= time_q + TimeWidth'(1);
      end
    end
  end
  assign failed_o = failed_q;

  logic [4:0] read_address;
  assign read_address = starts ? {2'd0, address_i[5:3]} : take_q + 5'(take_i);
  stopbit_ram #(.Width(64), .Depth(32)) i_lines (
    .write_clk_i    (clk_i),
    .write_i        (is_ours),
    .write_address_i({answer_i.tag[1:0], come_q[answer_i.tag[1:0]]}),
    .write_data_i   (answer_i.data),
    .read_clk_i     (clk_i),
    .read_address_i (read_address),
    .read_data_o    (data_o)
  );
endmodule
