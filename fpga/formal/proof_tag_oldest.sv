/// Whatever stamps, if no two are equal: one bank that has a match is chosen, its stamp is lower than those of all others
/// with a match, and none is chosen without a match.
module proof_tag_oldest
  import stopbit_tag_pkg::*;
#(
  parameter int unsigned Masks = 4
) (
  input logic                   clk_i,
  input tag_stamp_t [Masks-1:0] stamp_i,
  input logic       [Masks-1:0] match_i
);
  logic [Masks-1:0]       oldest;
  logic                   any, begun_q = 1'b0;
  tag_stamp_t [Masks-1:0] stamp_q;
  stopbit_tag_oldest #(.Masks(Masks)) i_dut (.clk_i, .stamp_i, .match_i, .oldest_o(oldest), .any_o(any));
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    stamp_q <= stamp_i;
  end
  always_comb begin
    for (int a = 0; a < Masks; a++) begin
      for (int b = 0; b < a; b++) assume (stamp_i[a] != stamp_i[b]);
    end
  end
`ifdef COVER
  always_comb if (begun_q) assert (!(oldest[Masks-1] && match_i[0] && match_i[1]));
`else
  always_comb begin
    if (begun_q) begin
      assert (any == (match_i != '0));
      assert ((oldest != '0) == any && (oldest & (oldest - 1'b1)) == '0);
      for (int a = 0; a < Masks; a++) begin
        for (int b = 0; b < Masks; b++) assert (!(oldest[a] && match_i[b]) || stamp_q[a] <= stamp_q[b]);
        assert (!oldest[a] || match_i[a]);
      end
    end
  end
`endif
endmodule
