/// Makes event records of gaps, in their place among the records: after those of the datagrams before the gap, before
/// those of the datagram that shows it.
///
/// Is on both sides of the decode core. A gap goes through the core as a datagram without bytes that was cut, which the
/// core answers with an event record, as with any error: a channel that is not reset by each packet then waits for its
/// reset. The event comes out with the gap in it: words 4 to 6 as decoder/record/layout.hpp has them; its header has the
/// first missing number and the arrival of the datagram that shows the gap, and is of no line. All of a gap goes through the
/// core in that datagram, so that several cores can be between both sides: its sequence number is the first missing one;
/// the top bit of its number, which no packet's has, marks it, and the count follows.
///
/// No cycle is added for anything but a gap: the core's for an empty datagram, and three for its event.
module stopbit_gap_events
  import stopbit_pkg::*;
  import stopbit_front_pkg::gap_t;
(
  input  logic              gap_valid_i,
  output logic              gap_ready_o,
  input  gap_t              gap_i,
  input  logic              valid_i,
  output logic              ready_o,
  input  stopbit_beat_t     beat_i,
  input  stopbit_datagram_t datagram_i,  // while gap_valid_i, of the datagram that shows it

  output logic              core_valid_o,
  input  logic              core_ready_i,
  output stopbit_beat_t     core_beat_o,
  output stopbit_datagram_t core_datagram_o,

  input  stopbit_slot_t     slot_i,
  output stopbit_slot_t     slot_o
);
  localparam int unsigned MarkBit = 63;
  localparam int unsigned CountBit = 31;
  localparam logic [7:0]  EventGap = 8'd3;

  assign gap_ready_o  = core_ready_i;
  assign ready_o      = core_ready_i && !gap_valid_i;
  assign core_valid_o = gap_valid_i || valid_i;
  always_comb begin
    core_beat_o     = beat_i;
    core_datagram_o = datagram_i;
    if (gap_valid_i) begin
      core_beat_o                     = '0;
      core_beat_o.last                = 1'b1;
      core_datagram_o.sequence_number = gap_i.first;
      core_datagram_o.source          = '0;
      core_datagram_o.time_quality    = '0;
      core_datagram_o.length_bytes    = '0;
      core_datagram_o.data_offset     = '0;
      core_datagram_o.number          = {1'b1, gap_i.count, datagram_i.number[CountBit-1:0]};
      core_datagram_o.cut             = 1'b1;
    end
  end

  logic is_gap;
  assign is_gap = slot_i.last && slot_i.data[15:0] == EventIndex && slot_i.data[64*6 + MarkBit];
  always_comb begin
    slot_o = slot_i;
    if (is_gap) begin
      slot_o.data[64*4 +: 64] = {8'b0, NoWord, NoBlock, NoTemplate, 8'b0, EventGap};
      slot_o.data[64*5 +: 64] = {32'b0, slot_i.data[64*2 +: 32]};
      slot_o.data[64*6 +: 64] = {32'b0, slot_i.data[64*6 + CountBit +: 32]};
    end
  end

  // Channel and epoch are the datagram's.
  logic unused;
  assign unused = &{1'b0, gap_i, datagram_i.number[63:CountBit]};
endmodule
