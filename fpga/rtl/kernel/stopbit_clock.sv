/// Counts nanoseconds: `rate_i` a cycle, a fixed-point number with 24 fractional bits, plus an offset. The host
/// disciplines it with both; 0 stops it.
module stopbit_clock (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [31:0] rate_i,
  input  logic [63:0] offset_i,
  output logic [63:0] now_o
);
  logic [87:0] count_q;
  logic [63:0] now_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) count_q <= '0;
    else         count_q <= count_q + 88'(rate_i);
  end
  always_ff @(posedge clk_i) now_q <= count_q[87:24] + offset_i;
  assign now_o = now_q;
endmodule
