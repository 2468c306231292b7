/// A reset in the first cycle and none later.
module formal_reset (
  input logic clk_i,
  input logic rst_ni
);
  logic begun_q = 1'b0;
  always_ff @(posedge clk_i) begun_q <= 1'b1;
  always_comb assume (rst_ni == begun_q);
endmodule
