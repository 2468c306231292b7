/// The units' stream of writes as posted packets to the host, in its order: data by lines, then notifications in the rings of
/// their ports.
///
/// A notification for a ring that is full, or of a port without one, is dropped, as in software. HTAX has 48 bits of address;
/// what is beyond them is dropped.
module stopbit_node_writer
  import stopbit_node_pkg::*;
  import stopbit_rma_pkg::rma_notice_address_t;
  import stopbit_rma_pkg::rma_write_t;
  import stopbit_rma_pkg::NoticeWords;
#(
  parameter  int unsigned Ports     = 64,
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 set_valid_i,
  output logic                 set_ready_o,
  input  logic [PortWidth-1:0] set_port_i,
  input  logic                 set_open_i,
  input  logic [47:12]         set_ring_i,
  input  logic                 read_valid_i,
  input  logic [15:0]          read_vpid_i,
  input  logic [4:0]           read_count_i,

  input  logic                 valid_i,
  output logic                 ready_o,
  input  rma_write_t           write_i,

  output logic                 valid_o,
  input  logic                 ready_i,
  output logic                 last_o,
  output logic [63:0]          phit_o,

  output logic                 event_valid_o,  // of a port, for when the host has what was sent
  input  logic                 event_ready_i,
  output logic [15:0]          event_vpid_o,
  output logic [5:0]           event_number_o,

  output logic                 taken_o,        // an entry has begun,
  output logic                 handled_o,      // was sent or dropped
  output logic                 dropped_o,      // a notification found no room
  output logic                 lost_o          // a write to an address that HTAX does not have
);
  typedef enum logic [2:0] {IDLE, LOOK, JUDGE, LINE, WORDS, REST, DRAIN, SIGNAL} state_e;
  state_e              state_q, state_d;
  logic                entry_valid, word_valid, word_ready, room, moves, ends, goes, signals;
  node_entry_t         entry;
  rma_notice_address_t notice;
  logic [63:0]         word, number;
  logic [47:6]         line;
  logic [3:0]          left_q;
  logic                fits;
  stopbit_node_gather i_gather (
    .clk_i, .rst_ni, .valid_i, .ready_o, .write_i, .entry_valid_o(entry_valid), .entry_ready_i(handled_o), .entry_o(entry),
    .word_valid_o(word_valid), .word_ready_i(word_ready), .word_o(word), .begins_o(taken_o)
  );
  stopbit_node_notices #(.Ports(Ports)) i_notices (
    .clk_i, .rst_ni, .set_valid_i, .set_ready_o, .set_port_i, .set_open_i, .set_ring_i, .read_valid_i, .read_vpid_i,
    .read_count_i, .vpid_i(notice.vpid), .room_o(room), .line_o(line), .number_o(number), .written_i(state_q == REST && ends)
  );
  assign notice = entry.address;
  assign fits   = entry.address[51:48] == '0;

  assign event_valid_o  = state_q == SIGNAL;
  assign event_vpid_o   = notice.vpid;
  assign event_number_o = notice.event_number;

  // A header, the words, and for a notification three more.
  assign valid_o = (state_q == IDLE && entry_valid && !entry.is_notice && fits) || state_q == LINE ||
                   (state_q == WORDS && word_valid) || state_q == REST;
  assign last_o  = left_q == 4'd1 && (state_q == REST || (state_q == WORDS && !entry.is_notice));
  assign goes    = valid_o && ready_i;
  always_comb begin
    unique case (state_q)
      IDLE:    phit_o = posted(entry.address[47:0], entry.count, entry.count == 4'd1 ? entry.mask : '1);
      LINE:    phit_o = posted({line, 6'd0}, 4'd8, '1);
      WORDS:   phit_o = word;
      default: phit_o = left_q == 4'd1 ? number : '0;
    endcase
  end
  assign word_ready = (state_q == WORDS && ready_i) || state_q == DRAIN;
  assign moves      = (state_q == DRAIN && word_valid) || (state_q == WORDS && goes) || (state_q == REST && goes);
  assign ends       = moves && left_q == 4'd1;
  assign signals    = entry.is_notice && notice.event_number != '0;
  assign handled_o  = state_q == SIGNAL ? event_ready_i : ends && !signals && !(state_q == WORDS && entry.is_notice);
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE:    if (entry_valid) state_d = entry.is_notice ? LOOK : !fits ? DRAIN : ready_i ? WORDS : IDLE;
      LOOK:    state_d = JUDGE;
      JUDGE:   state_d = notice.tells && room ? LINE : DRAIN;
      LINE:    if (ready_i) state_d = WORDS;
      WORDS:   if (ends) state_d = entry.is_notice ? REST : IDLE;
      SIGNAL:  if (event_ready_i) state_d = IDLE;
      default: if (ends) state_d = signals ? SIGNAL : IDLE;  // REST, DRAIN
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (state_q == IDLE) left_q <= entry.count;
    else if (ends) left_q <= 4'd3;
    else left_q <= left_q - 4'(moves);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q   <= IDLE;
      dropped_o <= 1'b0;
      lost_o    <= 1'b0;
    end else begin
      state_q   <= state_d;
      dropped_o <= state_q == JUDGE && notice.tells && !room;
      lost_o    <= state_q == IDLE && entry_valid && !entry.is_notice && !fits;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && entry_valid && entry.is_notice) notice_is_whole : assert (entry.count == 4'(NoticeWords));
  end
`endif
endmodule
