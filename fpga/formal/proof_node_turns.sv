/// Lanes of a unit's port, and a crossbar that grants a lane at the latest when it has asked for `Serves` cycles in a row, or
/// never: what others do keeps no lane from its turn. A grant is for a lane that has a packet.
module proof_node_turns (
  input logic       clk_i,
  input logic       rst_ni,
  input logic [2:0] ahead_i,
  input logic       grant_i,
  input logic [1:0] choice_i
);
  localparam int unsigned Dwell  = 4;
  localparam int unsigned Serves = 3;   // cycles in which a lane that asks all the time is granted
  // Two others, each with its dwell and a cycle for a late grant, and the own time, with two late grants and the load.
  localparam int unsigned Most   = 2 * (Dwell + 1) + Serves + 3;
  logic       asks, asked_q, shows;
  logic [1:0] lane, granted, watched_q;
  logic [4:0] waits_q;
  logic [2:0] shown_q;  // cycles in which the watched lane has asked in a row
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_node_turns #(.Lanes(3), .Dwell(Dwell)) i_dut (
    .clk_i, .rst_ni, .ahead_i, .asks_o(asks), .lane_o(lane), .grant_i, .granted_o(granted)
  );
  assign shows = asks && lane == watched_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      watched_q <= choice_i;
      waits_q   <= '0;
      shown_q   <= '0;
      asked_q   <= 1'b0;
    end else begin
      asked_q <= asks;
      waits_q <= !ahead_i[watched_q] || (grant_i && granted == watched_q) ? '0 : waits_q + 5'd1;
      shown_q <= grant_i && granted == watched_q ? '0 : shows ? shown_q + 3'd1 : lane == watched_q ? shown_q : '0;
    end
  end
  always_comb begin
    assume (choice_i < 2'd3);
    assume (rst_ni || !grant_i);
    // Only what was asked for is granted. The watched lane has a packet until it is granted.
    assume (!grant_i || asked_q);
    if (rst_ni) assume (!(shown_q >= 3'(Serves)) || (grant_i && granted == watched_q));
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni && waits_q != '0) assume (ahead_i[watched_q] || (grant_i && granted == watched_q));
  end
`ifdef COVER
  logic [2:0] seen_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) seen_q <= '0;
    else if (grant_i) seen_q[granted] <= 1'b1;
  end
  always_comb if (rst_ni) assert (!(&seen_q && waits_q > 5'(Dwell + 2)));
`else
  always_comb begin
    if (rst_ni) begin
      assert (waits_q <= 5'(Most));
      assert (lane < 2'd3 || !asks);
    end
  end
`endif
endmodule
