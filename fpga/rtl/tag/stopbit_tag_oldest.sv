/// Which bank has the oldest receive: each pair of stamps is compared in one cycle, and the next one shows the bank.
module stopbit_tag_oldest
  import stopbit_tag_pkg::*;
#(
  parameter int unsigned Masks = 8
) (
  input  logic                   clk_i,
  input  tag_stamp_t [Masks-1:0] stamp_i,
  input  logic       [Masks-1:0] match_i,   // a cycle after the stamps
  output logic       [Masks-1:0] oldest_o,  // none of them without a match
  output logic                   any_o
);
  logic [Masks-1:0][Masks-1:0] older_q;  // the first one than the second
  always_ff @(posedge clk_i) begin
    for (int a = 0; a < Masks; a++) begin
      for (int b = 0; b < Masks; b++) older_q[a][b] <= a < b ? stamp_i[a] < stamp_i[b] : !(stamp_i[b] < stamp_i[a]);
    end
  end

  assign any_o = |match_i;
  always_comb begin
    for (int a = 0; a < Masks; a++) begin
      oldest_o[a] = match_i[a];
      for (int b = 0; b < Masks; b++) begin
        if (a != b && match_i[b] && !older_q[a][b]) oldest_o[a] = 1'b0;
      end
    end
  end
endmodule
