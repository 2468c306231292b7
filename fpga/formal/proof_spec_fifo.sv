/// Whatever both sides commit and revert: what is shown was committed, in its turn and as it was written, and is shown one cycle
/// after the reader could know of it. Room is what is neither uncommitted by the reader nor written.
module proof_spec_fifo (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       pick_i,
  input logic       valid_i,
  input logic       data_i,
  input logic       write_commit_i,
  input logic [2:0] write_commit_count_i,
  input logic       write_revert_i,
  input logic [2:0] write_revert_count_i,
  input logic       ready_i,
  input logic       read_commit_i,
  input logic [2:0] read_commit_count_i,
  input logic       read_revert_i,
  input logic [2:0] read_revert_count_i
);
  logic ready, valid, data;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_spec_fifo #(.Width(1), .Depth(4)) i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .data_i, .write_commit_i, .write_commit_count_i, .write_revert_i, .write_revert_count_i,
    .valid_o(valid), .ready_i, .data_o(data), .read_commit_i, .read_commit_count_i, .read_revert_i, .read_revert_count_i
  );

  // Numbers of words, modulo 8: settled <= taken <= committed <= written <= settled + 4.
  logic [2:0] settled_q = '0, taken_q = '0, committed_q = '0, written_q = '0, known_q = '0;
  logic [2:0] written, taken, open, held;
  assign written = written_q + 3'(valid_i && ready);
  assign taken   = taken_q + 3'(valid && ready_i);
  assign open    = written - committed_q;
  assign held    = taken - settled_q;

  logic [2:0] forgotten, returned, back;  // words
  assign forgotten = !write_revert_i ? 3'd0 : write_revert_count_i < open ? write_revert_count_i : open;
  assign returned  = !read_revert_i ? 3'd0 : read_revert_count_i < held ? read_revert_count_i : held;

  // A word, any one, from the cycle in which it is written until it can no longer be requested.
  logic       picked_q = 1'b0, picked_data_q;
  logic [2:0] number_q, age, kept;
  assign age  = number_q - settled_q;  // words before it that are held or to come
  assign back = written - forgotten;
  assign kept = back - settled_q;
  always_ff @(posedge clk_i) begin
    known_q <= committed_q;
    if (!rst_ni) begin
      settled_q   <= '0;
      taken_q     <= '0;
      committed_q <= '0;
      written_q   <= '0;
      known_q     <= '0;
      picked_q    <= 1'b0;
    end else begin
      written_q <= back;
      taken_q   <= taken - returned;
      if (write_commit_i && !write_revert_i) committed_q <= committed_q + (write_commit_count_i < open ? write_commit_count_i : open);
      if (read_commit_i && !read_revert_i) begin
        settled_q <= settled_q + (read_commit_count_i < held ? read_commit_count_i : held);
        if (picked_q && age < (read_commit_count_i < held ? read_commit_count_i : held)) picked_q <= 1'b0;
      end
      if (picked_q && age >= kept) picked_q <= 1'b0;
      if (!picked_q && pick_i && valid_i && ready && forgotten == '0) begin
        picked_q      <= 1'b1;
        picked_data_q <= data_i;
        number_q      <= written_q;
      end
    end
  end
  always_comb begin
    assume (!(write_commit_i && write_revert_i) && !(read_commit_i && read_revert_i));
    if (rst_ni) begin
      assert (ready == (3'(written_q - settled_q) != 3'd4));
      assert (valid == (taken_q != known_q));
      assert (!(picked_q && valid && taken_q == number_q) || data == picked_data_q);
    end
  end
endmodule
