/// What is known of a decode core among several: it gives slots when it likes, which stay until they are taken. Of a slot
/// that it gives bits 7 to 0 are made known: its lane, and the number of the slot. It takes datagrams of one lane alone, which
/// it learns from the first one, in their order, the beats of each with its own header: bits 7 to 0 of a datagram's number are the
/// count of those of its lane.
module formal_engine_core
  import stopbit_pkg::*;
#(
  parameter int unsigned LaneBits   = 1,
  parameter int unsigned NumberBits = 3
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              take_i,
  input stopbit_datagram_t datagram_i,
  input stopbit_beat_t     beat_i,
  input logic              valid_i,
  input logic              ready_i,
  input stopbit_slot_t     slot_i
);
  logic                  knows_q = 1'b0;
  logic [LaneBits-1:0]   lane_q;
  logic [NumberBits-1:0] taken_q, given_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      knows_q <= 1'b0;
      taken_q <= '0;
      given_q <= '0;
    end else begin
      if (take_i && !knows_q) {knows_q, lane_q} <= {1'b1, datagram_i.channel[LaneBits-1:0]};
      taken_q <= taken_q + NumberBits'(take_i && beat_i.last);
      given_q <= given_q + NumberBits'(valid_i && ready_i);
    end
  end
  always_comb begin
    if (rst_ni && take_i) begin
      assert (!knows_q || datagram_i.channel[LaneBits-1:0] == lane_q);
      assert (datagram_i.number[NumberBits-1:0] == taken_q);
    end
    if (rst_ni && valid_i) begin
      assume (knows_q);
      assume (slot_i.data[LaneBits+NumberBits-1:0] == {given_q, lane_q});
    end
  end
  formal_stream #(.Width(LaneBits + NumberBits + 2), .Assumed(1)) i_slots (
    .clk_i, .rst_ni, .valid_i, .ready_i,
    .data_i({slot_i.data[LaneBits+NumberBits-1:0], slot_i.last, slot_i.aborted})
  );
endmodule
