/// Whatever is taken and given back: each tag is either with one request or in the pool. None is lost, and none is
/// shown as free while a request has it.
module proof_htax_tags
  import stopbit_htax_pkg::*;
(
  input logic                clk_i,
  input logic                rst_ni,
  input logic                take_i,
  input logic                return_i,
  input logic [TagWidth-1:0] return_tag_i,
  input logic [3:0]          origin_i
);
  logic                free, known;
  logic [TagWidth-1:0] tag;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_htax_tags i_dut (
    .clk_i, .rst_ni, .free_o(free), .tag_o(tag), .take_i, .origin_i, .unit_tag_i('0), .return_i, .return_tag_i,
    .known_o(known), .origin_o(), .unit_tag_o()
  );
  logic [TagWidth:0] with_requests;
  always_comb begin
    with_requests = '0;
    for (int unsigned t = 0; t < Tags; t++) with_requests = with_requests + (TagWidth + 1)'(i_dut.used_q[t]);
  end
  // Nothing is given back before the pool is full, as nothing was taken.
  always_comb begin
    if (rst_ni) begin
      assert (!free || !i_dut.used_q[tag]);
      assert (!i_dut.filled_q || with_requests + (i_dut.put_q - i_dut.take_q) == (TagWidth + 1)'(Tags));
      assert (i_dut.filled_q || with_requests == '0);
      assert (!known || i_dut.filled_q);
    end
  end
endmodule
