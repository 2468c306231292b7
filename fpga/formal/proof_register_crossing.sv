/// Both clocks are free signals; a step of the proof is any change of them. Accesses are numbered: none is carried out
/// twice, or after a later one; one that is done without an error was carried out.
module proof_register_crossing (
  input logic clk_i,
  input logic block_clk_i,
  input logic access_i,
  input logic refused_i,
  input logic block_rst_ni
);
  // Both halves are in reset until each clock had its edges.
  logic [2:0] edges_q = '0, block_edges_q = '0;
  logic       rst_n;
  assign rst_n = edges_q[2] && block_edges_q[2];
  always_ff @(posedge clk_i) if (!edges_q[2]) edges_q <= edges_q + 3'd1;
  always_ff @(posedge block_clk_i) if (!block_edges_q[2]) block_edges_q <= block_edges_q + 3'd1;

  // An access falls when it is done, or at any time before; the next one has the next number.
  logic [2:0] number_q = '0;
  logic       access_q = 1'b0, access, done, refused;
  assign access = access_i && rst_n;
  always_ff @(posedge clk_i) begin
    access_q <= access && !done;
    if ((access && done) || (access_q && !access)) number_q <= number_q + 3'd1;
  end

  logic        turn, cancel, write, answer_turn, answer_refused, block_access, block_write;
  logic [15:0] address, block_address;
  logic [31:0] data, answer, answer_held, block_data;
  stopbit_register_request i_request (
    .clk_i, .rst_ni(rst_n), .access_i(access), .write_i(1'b1), .address_i({13'd0, number_q}), .data_i(32'd0),
    .done_o(done), .refused_o(refused), .data_o(answer), .turn_o(turn), .cancel_o(cancel), .write_o(write),
    .address_o(address), .data_held_o(data), .turn_i(answer_turn), .refused_i(answer_refused), .data_held_i(answer_held)
  );
  stopbit_register_answer i_answer (
    .clk_i(block_clk_i), .rst_ni(block_rst_ni && rst_n), .turn_i(turn), .cancel_i(cancel), .write_i(write),
    .address_i(address), .data_held_i(data), .turn_o(answer_turn), .refused_o(answer_refused),
    .data_held_o(answer_held), .access_o(block_access), .write_o(block_write), .address_o(block_address),
    .data_o(block_data), .refused_i, .data_i({29'd0, block_address[2:0]})
  );

  logic [3:0] next_q = '0;  // the lowest number that may still be carried out
  always_ff @(posedge block_clk_i) if (rst_n && block_access) next_q <= {1'b0, block_address[2:0]} + 4'd1;
`ifndef COVER
  always_comb begin
    if (rst_n) begin
      assert (!block_access || ({1'b0, block_address[2:0]} >= next_q && block_address[2:0] <= number_q));
      assert (!(access && done && !refused) || (next_q == {1'b0, number_q} + 4'd1 && answer[2:0] == number_q));
    end
  end
`else
  // An access falls before it is done and is cancelled, and a later one is done.
  logic fell_q = 1'b0;
  always_ff @(posedge clk_i) if (cancel && number_q != '0) fell_q <= 1'b1;
  always_comb if (rst_n) assert (!(fell_q && access && done && !refused));
`endif
endmodule
