/// Entries of a unit's queue, which are shown only when they are whole: a writer that stops in one holds up no reader.
///
/// `last_i` ends an entry. `drop_i` forgets what has come of the one that has not ended, and the word of this cycle.
module stopbit_queue_store #(
  parameter int unsigned Depth = 512  // words; at least the longest entry
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  output logic        ready_o,
  input  logic        last_i,
  input  logic [63:0] data_i,
  input  logic        drop_i,

  output logic        valid_o,
  input  logic        ready_i,
  output logic        last_o,
  output logic [63:0] data_o
);
  localparam int unsigned CountWidth = $clog2(Depth) + 1;
  stopbit_spec_fifo #(.Width(65), .Depth(Depth)) i_words (
    .clk_i, .rst_ni, .valid_i, .ready_o, .data_i({last_i, data_i}),
    .write_commit_i(valid_i && ready_o && last_i && !drop_i), .write_commit_count_i(CountWidth'(Depth)),
    .write_revert_i(drop_i), .write_revert_count_i(CountWidth'(Depth)),
    .valid_o, .ready_i, .data_o({last_o, data_o}),
    .read_commit_i(1'b1), .read_commit_count_i(CountWidth'(Depth)), .read_revert_i(1'b0), .read_revert_count_i('0)
  );
endmodule
