/// Both clocks are free signals; a step of the proof is any change of them.
module proof_async_fifo (
  input logic write_clk_i,
  input logic read_clk_i,
  input logic valid_i,
  input logic data_i,
  input logic ready_i
);
  // Both sides are in reset until each clock had its edges.
  logic [1:0] write_edges_q = '0, read_edges_q = '0;
  logic       rst_n, ready, valid, data;
  assign rst_n = write_edges_q[1] && read_edges_q[1];
  always_ff @(posedge write_clk_i) if (!write_edges_q[1]) write_edges_q <= write_edges_q + 2'd1;
  always_ff @(posedge read_clk_i) if (!read_edges_q[1]) read_edges_q <= read_edges_q + 2'd1;

  stopbit_async_fifo #(.Width(1), .Depth(4)) i_dut (
    .write_clk_i, .write_rst_ni(rst_n), .valid_i, .ready_o(ready), .data_i,
    .read_clk_i, .read_rst_ni(rst_n), .valid_o(valid), .ready_i, .data_o(data)
  );

  // The words that went in, by their number; the reader's side compares.
  logic [3:0]  put_q = '0, taken_q = '0;
  logic [15:0] words_q;
  always_ff @(posedge write_clk_i) begin
    if (rst_n && valid_i && ready) begin
      put_q          <= put_q + 4'd1;
      words_q[put_q] <= data_i;
    end
  end
  always_ff @(posedge read_clk_i) if (rst_n && valid && ready_i) taken_q <= taken_q + 4'd1;
  logic [3:0] inside;
  assign inside = put_q - taken_q;
  always_comb begin
    if (rst_n) begin
      assert (inside <= 4'd4);
      assert (!valid || inside != '0);
      assert (!valid || data == words_q[taken_q]);
    end
  end
endmodule
