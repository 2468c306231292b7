/// A unit's port of HTAX: streams of packets to the crossbar, and what comes from it by channel.
///
/// Each lane is a stream of the unit with a channel and a target of its own, and a queue of whole packets. The crossbar takes
/// requests for one target at a time. So lanes take turns, and one that is not granted for `Dwell` cycles makes room for the
/// next: a target without room holds up no other lane. An output of HTAX serves each of up to five inputs that ask it all the
/// time within 10 cycles, if packets have two phits, as requests for reads and translations have at most.
///
/// What comes on a channel that the unit does not take (`Takes`) is left out.
module stopbit_node_port
  import stopbit_htax_pkg::*;
#(
  parameter  int unsigned           Lanes       = 2,
  parameter  logic [Lanes-1:0][1:0] LaneChannel = '0,
  parameter  logic [Lanes-1:0][3:0] LaneTarget  = '0,
  parameter  logic [Channels-1:0]   Takes       = '1,
  parameter  int unsigned           Dwell       = 12,
  localparam int unsigned           Depth       = 64,  // phits of each queue
  localparam int unsigned           CountWidth  = $clog2(Depth) + 1,
  localparam int unsigned           LaneWidth   = Lanes > 1 ? $clog2(Lanes) : 1
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,

  input  logic [Lanes-1:0]          out_valid_i,
  output logic [Lanes-1:0]          out_ready_o,
  input  logic [Lanes-1:0]          out_last_i,
  input  logic [Lanes-1:0][63:0]    out_phit_i,
  output logic [Channels-1:0]       in_valid_o,
  input  logic [Channels-1:0]       in_ready_i,
  output logic [Channels-1:0]       in_last_o,
  output logic [Channels-1:0][63:0] in_phit_o,

  // The crossbar.
  output logic [Channels-1:0]       request_o,
  output logic [3:0]                target_o,
  input  logic [Channels-1:0]       grant_i,
  output logic [63:0]               phit_o,
  output logic [Channels-1:0]       room_o,
  input  logic                      valid_i,
  input  logic                      last_i,
  input  logic [1:0]                channel_i,
  input  logic [63:0]               phit_i,

  output logic                      stray_o
);
  // ---- to the crossbar
  logic [Lanes-1:0]                 full, last, leaves, ahead;
  logic [Lanes-1:0][CountWidth-1:0] packets;
  logic [Lanes-1:0][63:0]           phit;
  logic [LaneWidth-1:0]             lane, granted, sent_q, sent;
  logic                             asks, starts, sends, sends_q;
  assign starts = |grant_i;
  assign sends  = starts || sends_q;
  assign sent   = starts ? granted : sent_q;
  for (genvar l = 0; l < Lanes; l++) begin : g_lane
    stopbit_htax_queue #(.Depth(Depth)) i_queue (
      .clk_i, .rst_ni, .put_i(out_valid_i[l] && out_ready_o[l]), .phit_i(out_phit_i[l]), .last_i(out_last_i[l]),
      .full_o(full[l]), .room_o(), .packets_o(packets[l]), .phit_o(phit[l]), .last_o(last[l]), .take_i(leaves[l])
    );
    assign out_ready_o[l] = !full[l];
    assign leaves[l]      = sends && sent == LaneWidth'(l);
    assign ahead[l]       = packets[l] > CountWidth'(leaves[l]);  // beside the one that leaves
  end
  stopbit_node_turns #(.Lanes(Lanes), .Dwell(Dwell)) i_turns (
    .clk_i, .rst_ni, .ahead_i(ahead), .asks_o(asks), .lane_o(lane), .grant_i(starts), .granted_o(granted)
  );
  assign phit_o    = phit[sent];
  assign target_o  = LaneTarget[lane];
  assign request_o = Channels'(asks) << LaneChannel[lane];
  always_ff @(posedge clk_i) sent_q <= sent;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) sends_q <= 1'b0;
    else sends_q <= sends && !last[sent];
  end

  // ---- from the crossbar
  for (genvar c = 0; c < Channels; c++) begin : g_channel
    if (Takes[c]) begin : g_takes
      logic [CountWidth-1:0] whole;
      stopbit_htax_queue #(.Depth(Depth)) i_queue (
        .clk_i, .rst_ni, .put_i(valid_i && channel_i == 2'(c)), .phit_i, .last_i, .full_o(), .room_o(room_o[c]),
        .packets_o(whole), .phit_o(in_phit_o[c]), .last_o(in_last_o[c]), .take_i(in_valid_o[c] && in_ready_i[c])
      );
      assign in_valid_o[c] = whole != '0;
    end else begin : g_none
      logic unused;
      assign unused        = in_ready_i[c];
      assign room_o[c]     = 1'b1;
      assign in_valid_o[c] = 1'b0;
      assign in_last_o[c]  = 1'b0;
      assign in_phit_o[c]  = '0;
    end
  end
  always_ff @(posedge clk_i) stray_o <= rst_ni && valid_i && last_i && !Takes[channel_i];

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      sends_what_is_whole : assert (!sends || packets[sent] != '0);
      one_at_a_time       : assert (!(starts && sends_q));
    end
  end
`endif
endmodule
