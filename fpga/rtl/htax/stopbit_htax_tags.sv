/// Tags of requests to the host: each request of a unit gets one that no other one has, from a pool of 32, and its
/// response the unit and the tag that it had there.
///
/// `take_i` takes `tag_o` for a request while `free_o`; without a free tag requests wait. `return_i` gives a tag back and
/// shows in the same cycle whose it was; a tag that no request has (`known_o` low) changes nothing. Tags are used in turn, so
/// that one that was given back is the last to be used again. After a reset the pool is filled, which takes 32 cycles.
module stopbit_htax_tags
  import stopbit_htax_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  output logic                free_o,
  output logic [TagWidth-1:0] tag_o,
  input  logic                take_i,
  input  logic [3:0]          origin_i,
  input  logic [TagWidth-1:0] unit_tag_i,

  input  logic                return_i,
  input  logic [TagWidth-1:0] return_tag_i,
  output logic                known_o,
  output logic [3:0]          origin_o,
  output logic [TagWidth-1:0] unit_tag_o
);
  logic [TagWidth-1:0]   pool  [0:Tags-1];
  logic [TagWidth+3:0]   owner [0:Tags-1];
  logic [Tags-1:0]       used_q;
  logic [TagWidth:0]     put_q, take_q;
  logic                  filled_q, gives, takes;
  assign free_o  = filled_q && put_q != take_q;
  assign tag_o   = pool[take_q[TagWidth-1:0]];
  assign known_o = used_q[return_tag_i];
  assign {origin_o, unit_tag_o} = owner[return_tag_i];
  assign takes   = take_i && free_o;
  assign gives   = return_i && known_o;

  always_ff @(posedge clk_i) begin
    if (takes) owner[tag_o] <= {origin_i, unit_tag_i};
    if (!filled_q || gives) pool[put_q[TagWidth-1:0]] <= filled_q ? return_tag_i : put_q[TagWidth-1:0];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      put_q    <= '0;
      take_q   <= '0;
      filled_q <= 1'b0;
      used_q   <= '0;
    end else begin
      if (!filled_q || gives) put_q <= put_q + 1'b1;
      if (!filled_q && put_q == (TagWidth + 1)'(Tags - 1)) filled_q <= 1'b1;
      if (takes) begin
        take_q        <= take_q + 1'b1;
        used_q[tag_o] <= 1'b1;
      end
      if (gives) used_q[return_tag_i] <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      pool_fits : assert (put_q - take_q <= (TagWidth + 1)'(Tags));
      is_unique : assert (!takes || !used_q[tag_o]);
    end
  end
`endif
endmodule
