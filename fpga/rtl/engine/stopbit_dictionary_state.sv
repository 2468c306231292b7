/// What the dictionary knows of an entry besides its value: undefined, empty or assigned, and the type.
///
/// An entry counts only with the generation it was written in: a reset takes a new generation, of which there are more
/// than datagrams in a century at any line rate, and is done. A write is seen by a read of the same cycle. Two entries of
/// different parity are read and written at once.
module stopbit_dictionary_state
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic                      clk_i,
  input  logic                      rst_ni,
  output logic                      is_cleared_o,  // all entries are, since the reset: nothing may be read or written before
  input  logic [GenerationBits-1:0] generation_i,  // of the entries that are read
  input  read_entries_t             read_i,
  output entry_state_t [1:0]        state_o,       // of these, one cycle later

  input  logic [1:0]                write_i,
  input  logic [GenerationBits-1:0] write_generation_i,
  input  logic [1:0][ContextBits-1:0] write_entry_i,
  input  entry_state_t [1:0]        state_i        // assigned, else empty
);
  typedef struct packed {
    logic                      in_second;
    logic                      is_wide;
    logic [12:0]               length;
    logic [3:0]                kind;
    logic                      is_assigned;
    logic [GenerationBits-1:0] generation;
  } entry_t;

  function automatic entry_t entry_of(entry_state_t state);
    return '{in_second: state.in_second, is_wide: state.is_wide, length: state.length, kind: state.kind, is_assigned: state.is_assigned,
             generation: write_generation_i};
  endfunction

  // A reset writes generation 0, which is never current, to all entries, one of each bank a cycle.
  logic [ContextBits-1:0] cleared_q;
  assign is_cleared_o = cleared_q[ContextBits-1];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) cleared_q <= '0;
    else if (!is_cleared_o) cleared_q <= cleared_q + 1'b1;
  end

  logic [1:0] parity_q;  // of what is read
  entry_t [1:0] read_q;  // by parity
  for (genvar b = 0; b < 2; b++) begin : g_bank
    entry_t entries[1<<(ContextBits-1)];

    logic [ContextBits-2:0] read_entry, write_entry;
    logic writes, first_writes;
    entry_t written;
    always_comb begin
      read_entry   = read_i.row[b];
      first_writes = write_i[0] && write_entry_i[0][0] == 1'(b);
      writes       = first_writes || (write_i[1] && write_entry_i[1][0] == 1'(b));
      write_entry  = first_writes ? write_entry_i[0][ContextBits-1:1] : write_entry_i[1][ContextBits-1:1];
      written      = first_writes ? entry_of(state_i[0]) : entry_of(state_i[1]);
      if (!is_cleared_o) begin
        writes      = 1'b1;
        write_entry = cleared_q[ContextBits-2:0];
        written     = '0;
      end
    end
    always_ff @(posedge clk_i) begin
      if (writes) entries[write_entry] <= written;
      read_q[b] <= writes && write_entry == read_entry ? written : entries[read_entry];
    end
  end
  always_ff @(posedge clk_i) parity_q <= read_i.bank;

  always_comb begin
    for (int unsigned i = 0; i < 2; i++) begin
      state_o[i].is_assigned = read_q[parity_q[i]].generation == generation_i && read_q[parity_q[i]].is_assigned;
      state_o[i].is_empty    = read_q[parity_q[i]].generation == generation_i && !read_q[parity_q[i]].is_assigned;
      state_o[i].kind        = read_q[parity_q[i]].kind;
      state_o[i].length      = read_q[parity_q[i]].length;
      state_o[i].is_wide     = read_q[parity_q[i]].is_wide;
      state_o[i].in_second   = read_q[parity_q[i]].in_second;
    end
  end
endmodule
