/// Copies a number from one clock to another. Each copy is whole, and a few cycles of both clocks old. While the first clock is
/// stopped, the last copy stays.
///
/// The source holds a copy until the reader has taken it, so its bits may take up to two cycles of the reader to arrive;
/// fpga/xrt/stopbit_mac.xdc has the constraint.
module stopbit_snapshot #(
  parameter int unsigned Width = 32
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [Width-1:0] data_i,

  input  logic             read_clk_i,
  input  logic             read_rst_ni,
  output logic [Width-1:0] data_o
);
  logic [Width-1:0] held_q;
  logic             turn_q, seen, turn, seen_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_q <= 1'b0;
    end else if (seen == turn_q) begin
      turn_q <= !turn_q;
    end
  end
  always_ff @(posedge clk_i) begin
    if (seen == turn_q) held_q <= data_i;
  end
  stopbit_sync #(.Width(1)) to_reader (.clk_i(read_clk_i), .rst_ni(read_rst_ni), .data_i(turn_q), .data_o(turn));
  always_ff @(posedge read_clk_i) begin
    if (!read_rst_ni) begin
      seen_q <= 1'b0;
      data_o <= '0;
    end else begin
      seen_q <= turn;
      if (turn != seen_q) data_o <= held_q;
    end
  end
  stopbit_sync #(.Width(1)) to_writer (.clk_i, .rst_ni, .data_i(seen_q), .data_o(seen));

`ifndef SYNTHESIS
  // What is copied was the same at the edge before: its bits have had a whole cycle of the reader to arrive.
  logic [Width-1:0] held_before_q, copied_from_q, data_before_q;
  logic             running_q;
  always_ff @(posedge read_clk_i) begin
    held_before_q <= held_q;
    copied_from_q <= held_before_q;
    data_before_q <= data_o;
    running_q     <= read_rst_ni;
    if (running_q && read_rst_ni) held_still : assert (data_o == data_before_q || data_o == copied_from_q);
  end
`endif
endmodule
