/// What belongs together stays together, of whatever streams: words of an input leave in their order, each once, and none of
/// another one comes between those of a group. So a notification never overtakes the data before it in its unit's stream.
module proof_rma_merge (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       pick_i,
  input logic [1:0] may_i,
  input logic [1:0] valid_i,
  input logic [1:0] last_i,
  input logic [1:0] bit_i,
  input logic       ready_i
);
  // A word: whose it is, whether it is the last of its group, a bit.
  logic [1:0][2:0] data;
  logic [1:0]      ready, ready_through;
  logic            valid, valid_through;
  logic [2:0]      out, out_through;
  logic [1:0]      count;
  formal_reset i_reset (.clk_i, .rst_ni);
  for (genvar i = 0; i < 2; i++) begin : g_in
    assign data[i] = {1'(i), last_i[i], bit_i[i]};
    formal_stream #(.Width(3), .Assumed(1)) i_in (
      .clk_i, .rst_ni, .valid_i(valid_i[i]), .ready_i(ready[i]), .data_i(data[i])
    );
    formal_stream #(.Width(3), .Assumed(1)) i_in_through (
      .clk_i, .rst_ni, .valid_i(valid_i[i]), .ready_i(ready_through[i]), .data_i(data[i])
    );
  end
  stopbit_rma_merge #(.Inputs(2), .Width(3)) i_dut (
    .clk_i, .rst_ni, .may_i, .valid_i, .ready_o(ready), .last_i, .data_i(data), .valid_o(valid), .ready_i, .data_o(out)
  );
  stopbit_rma_merge #(.Inputs(2), .Width(3), .Cut(1'b0)) i_through (
    .clk_i, .rst_ni, .may_i, .valid_i, .ready_o(ready_through), .last_i, .data_i(data), .valid_o(valid_through), .ready_i,
    .data_o(out_through)
  );
  formal_stream #(.Width(3)) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i(out));
  formal_stream #(.Width(3)) i_out_through (.clk_i, .rst_ni, .valid_i(valid_through), .ready_i, .data_i(out_through));
  formal_order #(.Width(3), .Capacity(2)) i_order (
    .clk_i, .rst_ni, .pick_i, .put_i(valid_i[0] && ready[0]), .put_data_i(data[0]), .take_i(valid && ready_i && !out[2]),
    .take_data_i(out), .count_o(count)
  );

  // The group that has begun to leave.
  logic inside_q, owner_q, inside_through_q, owner_through_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q         <= 1'b0;
      inside_through_q <= 1'b0;
    end else begin
      if (valid && ready_i) inside_q <= !out[1];
      if (valid_through && ready_i) inside_through_q <= !out_through[1];
    end
    if (valid && ready_i) owner_q <= out[2];
    if (valid_through && ready_i) owner_through_q <= out_through[2];
  end
`ifdef COVER
  logic [1:0] seen_q, both_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      seen_q <= '0;
      both_q <= '0;
    end else begin
      if (valid && ready_i && inside_q) seen_q[out[2]] <= 1'b1;
      if (valid_through && ready_i && inside_through_q) both_q[out_through[2]] <= 1'b1;
    end
  end
  always_comb if (rst_ni) assert (!(&seen_q && &both_q && !inside_q && count == '0));
`else
  always_comb begin
    if (rst_ni) begin
      assert (!(inside_q && valid) || out[2] == owner_q);
      assert (!(inside_through_q && valid_through) || out_through[2] == owner_through_q);
    end
  end
`endif
endmodule
