/// Holds back the end of a flush, and the events of ports, until the host has all writes before them.
///
/// Counts writes on their way. A unit answers a flush when it has given its page back, but what it wrote there may still be
/// between it and the host.
module stopbit_node_order
  import stopbit_htax_pkg::*;
  import stopbit_node_pkg::*;
#(
  localparam int unsigned MostFlushes = 32
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         taken_i,
  input  logic         handled_i,
  input  logic         sent_i,      // a packet, by the writer
  input  logic         host_valid_i,
  input  logic         host_ready_i,
  input  logic [63:0]  host_phit_i,
  output node_writes_t writes_o,

  output logic         flush_room_o,  // a flush may be asked for
  input  logic         flush_taken_i,
  input  logic         flush_done_i,
  output logic         flush_done_o,

  input  logic         event_valid_i,
  output logic         event_ready_o,
  input  logic [15:0]  event_vpid_i,
  input  logic [5:0]   event_number_i,
  output logic         event_valid_o,  // for a cycle
  output logic [15:0]  event_vpid_o,
  output logic [5:0]   event_number_o
);
  localparam int unsigned FlushWidth = $clog2(MostFlushes) + 1;

  // ---- the host's stream of writes
  htax_header_t header;
  logic         inside_q, moves, gone;
  logic [3:0]   left_q;
  assign header = host_phit_i;
  assign moves  = host_valid_i && host_ready_i;
  assign gone   = moves && (inside_q ? left_q == 4'd1 : header.length == '0);
  always_ff @(posedge clk_i) begin
    if (moves) left_q <= inside_q ? left_q - 4'd1 : header.length;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= 1'b0;
      writes_o <= '0;
    end else begin
      if (moves) inside_q <= !gone;
      writes_o.taken   <= writes_o.taken + WriteBits'(taken_i);
      writes_o.handled <= writes_o.handled + WriteBits'(handled_i);
      writes_o.sent    <= writes_o.sent + WriteBits'(sent_i);
      writes_o.gone    <= writes_o.gone + WriteBits'(gone);
    end
  end

  // ---- events: each waits for what was sent before it, and for nothing else. The writer may wait for room here; a fence
  // waits for the writer.
  writes_t     point, since;
  logic        waiting, ready;
  logic [15:0] vpid;
  logic [5:0]  number;
  stopbit_fifo #(.Width(22 + WriteBits), .Depth(16)) i_events (
    .clk_i, .rst_ni, .valid_i(event_valid_i), .ready_o(event_ready_o),
    .data_i({event_vpid_i, event_number_i, writes_o.sent}), .valid_o(waiting), .ready_i(ready), .double_i(1'b0),
    .single_o(), .data_o({vpid, number, point}), .count_o()
  );
  assign since = writes_o.gone - point;
  assign ready = waiting && !since[WriteBits-1];
  always_ff @(posedge clk_i) begin
    event_vpid_o   <= vpid;
    event_number_o <= number;
  end
  always_ff @(posedge clk_i) event_valid_o <= rst_ni && ready;

  // ---- flushes, one after the other
  typedef enum logic [1:0] {IDLE, START, WAIT} state_e;
  state_e                state_q;
  logic [FlushWidth-1:0] asked_q, done_q;  // flushes that are not reported; of these, those that the units have answered
  logic                  passed, reports;
  stopbit_node_fence i_fence (.clk_i, .rst_ni, .writes_i(writes_o), .start_i(state_q == START), .passed_o(passed));
  assign reports      = state_q == WAIT && passed;
  assign flush_room_o = asked_q != FlushWidth'(MostFlushes);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q      <= IDLE;
      asked_q      <= '0;
      done_q       <= '0;
      flush_done_o <= 1'b0;
    end else begin
      unique case (state_q)
        IDLE:    if (done_q != '0) state_q <= START;
        START:   state_q <= WAIT;
        default: if (passed) state_q <= IDLE;
      endcase
      asked_q      <= asked_q + FlushWidth'(flush_taken_i) - FlushWidth'(reports);
      done_q       <= done_q + FlushWidth'(flush_done_i) - FlushWidth'(reports);
      flush_done_o <= reports;
    end
  end
endmodule
