/// Cuts a valid/ready path: both `valid_o` and `ready_o` come from registers, nothing is lost in speed.
///
/// Holds two words: the one shown and the one that arrived while `ready_i` was found low. One cycle from input to output.
module stopbit_skid #(
  parameter int unsigned Width = 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);
  logic             held_q;  // a word waits after the one shown
  logic [Width-1:0] held_data_q;
  logic             take, move;

  assign ready_o = !held_q;
  assign take    = valid_i && ready_o;
  assign move    = !valid_o || ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_o <= 1'b0;
      held_q  <= 1'b0;
    end else if (move) begin
      valid_o <= take || held_q;
      held_q  <= 1'b0;
    end else if (take) begin
      held_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (move) data_o <= held_q ? held_data_q : data_i;
    if (ready_o) held_data_q <= data_i;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      held_behind_nothing : assert (!held_q || valid_o);
    end
  end
`ifdef FORMAL
  initial assume (!rst_ni);
`endif
`endif
endmodule
