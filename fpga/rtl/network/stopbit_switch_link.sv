/// A link port at a port of the switch. fpga/rtl/network/node.md.
///
/// To the switch it is a neighbour like any other: cells without a ready, credits by channel for a shared store. What the
/// switch sends waits here until its channel has credits on the other side of the link: so a channel that is not read there
/// holds up no other one. Packets from the link go straight into the switch, whose store has room for all
/// that was granted.
module stopbit_switch_link
  import stopbit_link_pkg::*, stopbit_network_pkg::*;
#(
  parameter int unsigned Slots        = 128,  // of the switch's input; divided among the channels of the other side
  parameter int unsigned Room         = 128,  // slots here, for the switch
  parameter int unsigned Reserve      = 4,    // of these, for each channel
  parameter int unsigned BufferCells  = 512,
  parameter int unsigned ReceiveCells = 128,
  parameter int unsigned Timeout      = 1024,
  parameter int unsigned Retries      = 1023
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  // The switch.
  input  logic        valid_i,
  input  cell_t       cell_i,
  output logic        freed_o,
  output channel_t    freed_channel_o,
  output logic        valid_o,
  output cell_t       cell_o,
  input  logic        freed_i,
  input  channel_t    freed_channel_i,

  // The wires.
  output cell_t       link_o,
  input  logic        link_signal_i,
  input  cell_t       link_i,

  output link_state_t         state_o,
  output logic [Channels-1:0] may_send_o  // channels with credit on the other side for the longest packet
);
  logic [Channels-1:0] may_send, busy;
  logic                word_valid, word_ready;
  word_t               word;
  logic                stray, cut, overrun, malformed, dropped;
  // A channel's next packet is looked for when the credits for this one are counted.
  assign may_send_o = may_send;
  assign busy = word_valid ? Channels'(1) << word.channel : '0;
  stopbit_network_receiver #(.Room(Room), .Reserve(Reserve)) receiver (
    .clk_i, .rst_ni, .cut_through_i(1'b1), .patience_i('0), .valid_i, .cell_i, .freed_o, .freed_channel_o,
    .accepts_i(may_send & ~busy), .valid_o(word_valid), .ready_i(word_ready), .word_o(word),
    .stray_o(stray), .cut_o(cut), .overrun_o(overrun), .malformed_o(malformed), .dropped_o(dropped)
  );

  // Words to cells: after the last one an end.
  logic  ends_q, is_bad_q, sends, link_ready;
  cell_t sent;
  assign sends      = ends_q || word_valid;
  assign word_ready = link_ready && !ends_q;
  always_comb begin
    sent = '{kind: word.is_first ? CELL_START : CELL_PAYLOAD, data: word.data};
    if (ends_q) sent = '{kind: CELL_END, data: {is_bad_q, 63'd0}};
  end
  always_ff @(posedge clk_i) begin
    if (word_valid) is_bad_q <= word.is_bad;
    if (!rst_ni) ends_q <= 1'b0;
    else if (link_ready) ends_q <= !ends_q && word_valid && word.is_last;
  end

  logic [1:0]  kind, link_kind;
  logic [63:0] data, link_data;
  stopbit_link_port #(
    .BufferCells(BufferCells), .ReceiveCells(ReceiveCells), .Room(Slots / Channels), .Timeout(Timeout), .Retries(Retries)
  ) port (
    .clk_i, .rst_ni, .valid_i(sends), .ready_o(link_ready), .kind_i(sent.kind), .data_i(sent.data), .may_send_o(may_send),
    .valid_o, .ready_i(1'b1), .kind_o(kind), .data_o(data), .freed_i, .freed_channel_i,
    .link_kind_o(link_kind), .link_data_o(link_data), .link_signal_i, .link_kind_i(link_i.kind), .link_data_i(link_i.data),
    .up_o(state_o.up), .sent_o(state_o.sent), .resent_o(state_o.resent), .answered_o(state_o.answered),
    .dropped_o(state_o.dropped), .damaged_o(state_o.damaged), .excess_o(state_o.excess)
  );
  assign link_o = '{kind: cell_kind_t'(link_kind), data: link_data};
  // Of an end the rest was the link's own.
  assign cell_o = '{kind: cell_kind_t'(kind), data: kind == CELL_END ? {data[63], 63'd0} : data};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      switch_keeps_to_rules : assert (!stray && !cut && !overrun && !malformed && !dropped);
    end
  end
`endif
endmodule
