/// Which lane of a unit asks the crossbar, one at a time.
///
/// A lane asks until it is granted, or for `Dwell` cycles; then the next lane that has a packet asks. The crossbar's grant
/// comes a cycle after the request, so a lane that has just got its turn keeps it when the grant for the one before comes.
module stopbit_node_turns #(
  parameter  int unsigned Lanes     = 2,
  parameter  int unsigned Dwell     = 8,
  localparam int unsigned LaneWidth = Lanes > 1 ? $clog2(Lanes) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [Lanes-1:0]     ahead_i,   // a whole packet, beside one that leaves
  output logic                 asks_o,
  output logic [LaneWidth-1:0] lane_o,
  input  logic                 grant_i,   // of what was asked for in the cycle before,
  output logic [LaneWidth-1:0] granted_o  // by this lane
);
  logic                     asks_q, loads, any;
  logic [LaneWidth-1:0]     next;
  logic [$clog2(Dwell)-1:0] dwell_q;
  assign loads  = !asks_q || (grant_i ? granted_o == lane_o : dwell_q == '0);
  assign asks_o = asks_q && !grant_i;
  stopbit_arbiter #(.NumRequesters(Lanes)) i_lanes (
    .clk_i, .rst_ni, .stop_i(1'b0), .accept_i(loads), .request_i(ahead_i), .any_o(any), .grant_o(), .index_o(next)
  );
  always_ff @(posedge clk_i) begin
    if (loads) lane_o <= next;
    if (loads) dwell_q <= ($clog2(Dwell))'(Dwell - 1);
    else if (asks_o) dwell_q <= dwell_q - 1'b1;
    granted_o <= lane_o;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) asks_q <= 1'b0;
    else if (loads) asks_q <= any;
  end
endmodule
