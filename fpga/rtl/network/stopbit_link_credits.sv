/// Room for packets on the other side of a link, and here for those of the other side, by channel, in slots of 64 bytes.
///
/// Both sides count all slots that were ever granted and used, so a report that is lost or comes twice does no harm. A
/// packet may begin if its channel has room for the longest one. It uses a slot as it begins, and one more with each
/// eighth cell of payload.
module stopbit_link_credits
  import stopbit_link_pkg::*;
#(
  parameter int unsigned Room = 8  // slots of each channel on this side
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                restart_i,   // the other side has forgotten everything

  // To the other side.
  output logic [Channels-1:0] may_send_o,
  input  logic                use_i,
  input  channel_t            use_channel_i,
  input  logic                granted_i,   // a report has come
  input  channel_t            granted_channel_i,
  input  slots_t              granted_slots_i,
  output logic                excess_o,    // it granted more than there can be: it does not count

  // From the other side.
  input  logic                taken_i,     // a packet has come
  input  channel_t            taken_channel_i,
  input  logic [2:0]          taken_slots_i,
  output logic                has_room_o,  // for that packet
  input  logic                freed_i,     // a slot was left
  input  channel_t            freed_channel_i,
  input  logic                told_i,      // report_channel_o was sent
  output channel_t            report_channel_o,  // what is to be reported next
  output slots_t              report_slots_o
);
  if (Room < MaxSlots) $fatal(1, "stopbit_link_credits: Room is %0d, needs at least %0d", Room, MaxSlots);
  localparam slots_t Half = slots_t'(1) << 11;

  slots_t [Channels-1:0] limit_q, used_q, granted_q, taken_q;
  logic   [Channels-1:0] news_q;
  channel_t              turn_q, next;  // next: the one after this

  slots_t gain, room;
  logic   exists;
  assign exists   = granted_channel_i < channel_t'(Channels);
  assign gain     = granted_slots_i - limit_q[granted_channel_i];
  assign room     = granted_slots_i - used_q[granted_channel_i];
  assign excess_o = granted_i && (!exists || (gain < Half && room >= Half));

  // Channels with new grants take turns; if there are none, all channels do, which repeats reports that were lost.
  stopbit_arbiter #(.NumRequesters(Channels)) turns (
    .clk_i,
    .rst_ni,
    .stop_i   (1'b0),
    .accept_i (told_i),
    .request_i(news_q != 0 ? news_q : '1),
    .any_o    (),
    .grant_o  (),
    .index_o  (next)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      limit_q <= '0;
      used_q  <= '0;
      taken_q <= '0;
      news_q  <= '1;
      turn_q  <= '0;
      for (int unsigned i = 0; i < Channels; i++) granted_q[i] <= slots_t'(Room);
    end else begin
      if (use_i) used_q[use_channel_i] <= used_q[use_channel_i] + 1'b1;
      if (granted_i && exists && gain < Half && room < Half) limit_q[granted_channel_i] <= granted_slots_i;
      if (told_i) begin
        news_q[turn_q] <= 1'b0;
        turn_q         <= next;
      end
      if (taken_i) taken_q[taken_channel_i] <= taken_q[taken_channel_i] + slots_t'(taken_slots_i);
      if (freed_i) begin
        granted_q[freed_channel_i] <= granted_q[freed_channel_i] + 1'b1;
        news_q[freed_channel_i]    <= 1'b1;
      end
      if (restart_i) begin
        // Slots that are still used were the other side's before it forgot: it gets what is free.
        limit_q <= '0;
        used_q  <= '0;
        taken_q <= '0;
        news_q  <= '1;
        for (int unsigned i = 0; i < Channels; i++) begin
          granted_q[i] <= granted_q[i] - taken_q[i] + slots_t'(freed_i && freed_channel_i == channel_t'(i));
        end
      end
    end
  end

  for (genvar i = 0; i < Channels; i++) begin : gen_may
    slots_t left;
    assign left          = limit_q[i] - used_q[i];
    assign may_send_o[i] = left >= slots_t'(MaxSlots) && left < Half;
  end
  slots_t free_of_taken;
  assign free_of_taken    = granted_q[taken_channel_i] - taken_q[taken_channel_i];
  assign has_room_o       = taken_channel_i < channel_t'(Channels) && free_of_taken >= slots_t'(taken_slots_i);
  assign report_channel_o = turn_q;
  assign report_slots_o   = granted_q[turn_q];

`ifndef SYNTHESIS
  for (genvar i = 0; i < Channels; i++) begin : gen_check
    slots_t free, left;
    assign free = granted_q[i] - taken_q[i];
    assign left = limit_q[i] - used_q[i];
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        never_more_than_room : assert (free <= slots_t'(Room));
        never_below_nothing  : assert (left < Half);
      end
    end
  end
`endif
endmodule
