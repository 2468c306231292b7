module proof_skid (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       pick_i,
  input logic       valid_i,
  input logic [3:0] data_i,
  input logic       ready_i
);
  logic ready, valid;
  logic [3:0] data;
  logic [1:0] count;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_skid #(.Width(4)) i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .data_i, .valid_o(valid), .ready_i, .data_o(data)
  );
  formal_stream #(.Width(4)) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i(data));
  formal_order #(.Width(4), .Capacity(2)) i_order (
    .clk_i, .rst_ni, .pick_i, .put_i(valid_i && ready), .put_data_i(data_i), .take_i(valid && ready_i), .take_data_i(data), .count_o(count)
  );
`ifdef COVER
  always_comb if (rst_ni) assert (count != 2'd2);  // both registers hold a word
`else
  always_comb if (rst_ni) assert (count == 2'(valid) + 2'(!ready));
`endif
endmodule
