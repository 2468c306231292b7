/// Gives packets from slots to the unit, word by word, also while they still come in. What was dropped it frees.
///
/// A word leaves when it is known whether it is the last one: as the next cell has come. A slot is free when the unit has
/// taken its last word.
module stopbit_network_reader
  import stopbit_link_pkg::*, stopbit_network_pkg::*;
#(
  parameter  int unsigned Slots     = 128,
  localparam int unsigned SlotWidth = $clog2(Slots),
  localparam int unsigned Queues    = Channels + 1  // the last one: what was dropped
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [Channels-1:0]  accepts_i,   // channels of which the unit takes packets

  input  logic [Queues-1:0]    waiting_i,
  output logic                 read_o,      // the first slot of a packet
  output logic [3:0]           queue_o,
  input  logic                 first_valid_i,  // a cycle later
  input  logic [SlotWidth-1:0] first_i,

  // The packet that comes in.
  input  logic                 open_i,
  input  logic [SlotWidth-1:0] open_slot_i,
  input  logic [3:0]           open_fill_i,

  // The store: what belongs to a slot, in the same cycle; data a cycle later.
  output logic [SlotWidth-1:0] slot_o,
  input  logic [SlotWidth-1:0] next_i,
  input  logic [3:0]           fill_i,
  input  logic                 last_i,
  input  logic                 bad_i,
  input  channel_t             channel_i,
  output logic [SlotWidth-1:0] read_slot_o,
  output logic [2:0]           read_cell_o,
  input  logic [63:0]          start_i,
  input  logic [63:0]          payload_i,

  output logic                 freed_o,
  output logic [SlotWidth-1:0] freed_slot_o,
  output channel_t             freed_channel_o,
  output logic                 dropped_o,    // a packet

  output logic                 valid_o,
  input  logic                 ready_i,
  output word_t                word_o
);
  // Which packet is next: picked a cycle before it is read, if it may still begin then.
  logic              active_q, pending_q, stalls;
  logic [3:0]        queue_q, pick_index;
  logic [Queues-1:0] eligible, pick, pick_q;
  logic              allowed;
  assign eligible = waiting_i & {1'b1, accepts_i};
  assign allowed  = (pick_q & eligible) != '0;
  assign read_o   = allowed && !active_q && !pending_q;
  stopbit_arbiter #(.NumRequesters(Queues)) turns (
    .clk_i, .rst_ni, .stop_i(1'b0), .accept_i(1'b1), .request_i(pick_q == '0 ? eligible : '0), .any_o(), .grant_o(pick),
    .index_o(pick_index)
  );
  always_ff @(posedge clk_i) begin
    if (pick_q == '0) queue_o <= pick_index;
    if (!rst_ni || (pick_q != '0 && (read_o || !allowed))) pick_q <= '0;
    else if (pick_q == '0) pick_q <= pick;
  end

  // First stage: where its next word is.
  logic                 active, started_q, started, drops, is_open, whole, ends_slot, ends;
  logic                 sends_start, sends_payload, sends, moves;
  logic [SlotWidth-1:0] slot_q;
  logic [3:0]           cell_q, index, known;
  assign active  = active_q || pending_q;  // the FIFO answers a cycle after read_o
  assign slot_o  = pending_q ? first_i : slot_q;
  assign started = !pending_q && started_q;
  assign index   = pending_q ? '0 : cell_q;
  assign drops   = queue_q == 4'(Channels);
  assign is_open = open_i && slot_o == open_slot_i;
  assign known   = !is_open ? fill_i : open_fill_i == '0 ? '0 : open_fill_i - 1'b1;
  assign whole   = !is_open && last_i;

  assign sends_start   = active && !drops && !started && (!is_open || open_fill_i != '0);
  assign sends_payload = active && !drops && started && index < known;
  assign ends_slot     = drops || (started ? !is_open && index + 1'b1 == fill_i : whole && fill_i == '0);
  assign ends          = ends_slot && whole;
  assign sends         = sends_start || sends_payload || (active && drops);
  assign moves         = sends && !stalls;

  // Second stage: the word.
  typedef struct packed {
    logic                 drops;
    logic                 frees;
    logic                 is_bad;
    logic                 is_last;
    logic                 is_first;
    channel_t             channel;
    logic [SlotWidth-1:0] slot;
    logic [2:0]           index;
  } stage_t;
  stage_t stage_d, stage_q;
  logic   stage_valid_q;
  always_comb begin
    stage_d = stage_q;
    if (!stalls) begin
      stage_d = '{drops: drops, frees: ends_slot, is_bad: ends && bad_i, is_last: ends, is_first: !started,
                  channel: drops ? channel_i : queue_q, slot: slot_o, index: index[2:0]};
    end
  end
  assign read_slot_o     = stage_d.slot;
  assign read_cell_o     = stage_d.index;
  assign stalls          = stage_valid_q && !stage_q.drops && !ready_i;
  assign valid_o         = stage_valid_q && !stage_q.drops;
  assign word_o          = '{channel: stage_q.channel, is_bad: stage_q.is_bad, is_last: stage_q.is_last,
                             is_first: stage_q.is_first, data: stage_q.is_first ? start_i : payload_i};
  assign freed_o         = stage_valid_q && !stalls && stage_q.frees;
  assign freed_slot_o    = stage_q.slot;
  assign freed_channel_o = stage_q.channel;
  assign dropped_o       = freed_o && stage_q.drops && stage_q.is_last;

  always_ff @(posedge clk_i) begin
    stage_q <= stage_d;
    if (read_o) queue_q <= queue_o;
    if (active) begin
      slot_q    <= moves && ends_slot ? next_i : slot_o;
      started_q <= started || moves;
      cell_q    <= !moves ? index : ends_slot || !started ? '0 : index + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q      <= 1'b0;
      pending_q     <= 1'b0;
      stage_valid_q <= 1'b0;
    end else begin
      pending_q     <= read_o;
      active_q      <= active && !(moves && ends);
      stage_valid_q <= stalls || sends;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      packets_come_when_read : assert (pending_q == first_valid_i);
      dropped_are_complete   : assert (!active || !drops || !is_open);
    end
  end
`endif
endmodule
