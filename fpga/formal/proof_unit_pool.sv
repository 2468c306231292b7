/// A small pool. Requests with a watched key come by port 0, all others as they like, and stages take any time. What has
/// the watched key leaves as it came, in its order, and never two units at once.
///
/// With `Waits` a stage takes at most two cycles, and so does whatever takes what leaves. Then the oldest request is issued
/// after at most MaxWait cycles, whatever younger ones do.
module proof_unit_pool #(
  parameter bit          Waits   = 1'b0,
  parameter int unsigned MaxWait = 2
) (
  input logic            clk_i,
  input logic            rst_ni,
  input logic [1:0]      valid_i,
  input logic [1:0][1:0] key_i,
  input logic [1:0]      data_i,
  input logic [1:0][1:0] done_i,
  input logic [1:0]      ready_i,
  input logic            pick_i
);
  localparam logic [1:0] Watched = 2'd1;

  logic [1:0]           ready;
  logic [1:0][1:0]      stage_valid, stage_data;
  logic [1:0][1:0][1:0] stage_key;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_unit_pool #(.NumPorts(2), .NumUnits(2), .NumStages(2), .WaitDepth(1), .KeyWidth(2), .DataWidth(1)) i_dut (
    .clk_i, .rst_ni, .in_order_i(1'b1), .valid_i, .ready_o(ready), .key_i, .data_i, .stage_valid_o(stage_valid),
    .stage_key_o(stage_key), .stage_data_o(stage_data), .stage_done_i(done_i), .stage_data_i(stage_data), .ready_i
  );

  logic [1:0] leaves;  // with the watched key
  logic       enters;
  assign enters = valid_i[0] && ready[0] && key_i[0] == Watched;
  always_comb begin
    assume (!valid_i[1] || key_i[1] != Watched);
    for (int u = 0; u < 2; u++) leaves[u] = stage_valid[u][1] && done_i[u][1] && ready_i[u] && stage_key[u][1] == Watched;
  end
`ifndef COVER
  if (!Waits) begin : gen_order
    // As many as the window, a queue and a pipeline have room for.
    formal_order #(.Width(1), .Capacity(9)) i_order (
      .clk_i, .rst_ni, .pick_i, .put_i(enters), .put_data_i(data_i[0]), .take_i(leaves != '0),
      .take_data_i(leaves[0] ? stage_data[0][1] : stage_data[1][1]), .count_o()
    );
  end
`endif

  logic [1:0][1:0] worked_q;  // the stage has had its request in the cycle before, and has it now
  logic [1:0][1:0] leaves_stage;
  logic [1:0]      late_q;
  logic [3:0]      age_q;   // of the oldest request
  always_comb begin
    for (int u = 0; u < 2; u++) begin
      leaves_stage[u][1] = stage_valid[u][1] && done_i[u][1] && ready_i[u];
      leaves_stage[u][0] = stage_valid[u][0] && done_i[u][0] && (!stage_valid[u][1] || leaves_stage[u][1]);
    end
  end
  always_ff @(posedge clk_i) begin
    for (int u = 0; u < 2; u++) begin
      late_q[u] <= rst_ni && !ready_i[u];
      for (int s = 0; s < 2; s++) worked_q[u][s] <= rst_ni && stage_valid[u][s] && !leaves_stage[u][s];
    end
    age_q <= !rst_ni || i_dut.i_issue.count_q == '0 || i_dut.i_issue.issues_first ? '0 : age_q + 4'd1;
  end
  always_comb begin
    if (Waits) begin
      for (int u = 0; u < 2; u++) begin
        if (late_q[u]) assume (ready_i[u]);
        for (int s = 0; s < 2; s++) if (worked_q[u][s]) assume (done_i[u][s]);
      end
    end
`ifndef COVER
    if (rst_ni) assert (Waits ? age_q <= 4'(MaxWait) : leaves != 2'd3);
`else
    // Both units have been full, and requests with the watched key are in the window and in a unit.
    if (rst_ni) assert (!(Waits ? age_q == 4'(MaxWait) : leaves[1] && i_dut.i_issue.count_q >= 3'd5 && stage_valid == '1 && pick_i));
`endif
  end
endmodule
