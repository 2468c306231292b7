module proof_fifo (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       pick_i,
  input logic       valid_i,
  input logic [1:0] data_i,
  input logic       ready_i
);
  logic ready, valid, single;
  logic [1:0] data;
  logic [2:0] count, inside;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_fifo #(.Width(2), .Depth(4)) i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .data_i, .valid_o(valid), .ready_i, .double_i(1'b1), .single_o(single), .data_o(data), .count_o(count)
  );
  formal_stream #(.Width(2)) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i(data));
  formal_order #(.Width(2), .Capacity(4)) i_order (
    .clk_i, .rst_ni, .pick_i, .put_i(valid_i && ready), .put_data_i(data_i), .take_i(valid && ready_i), .take_data_i(data), .count_o(inside)
  );
  always_comb if (rst_ni) assert (count == inside && !single);
endmodule
