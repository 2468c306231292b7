/// What the dictionary knows of an entry besides its value: undefined, empty or assigned, and the type.
///
/// An entry counts only with the generation it was written in: a reset takes a new generation, of which there are more
/// than datagrams in a century at any line rate, and is done. A write is seen by a read of the same cycle.
module stopbit_dictionary_state
  import stopbit_pkg::*;
#(
  localparam int unsigned GenerationBits = 56,
  localparam int unsigned LengthBits     = 13
) (
  input  logic                      clk_i,
  input  logic [GenerationBits-1:0] generation_i,  // of the entries that are read
  input  logic [ContextBits-1:0]    read_entry_i,
  output logic                      is_assigned_o,  // these, one cycle later
  output logic                      is_empty_o,
  output logic [3:0]                kind_o,
  output logic [LengthBits-1:0]     length_o,   // of a string
  output logic                      is_wide_o,  // of a string: eight bytes that are not all ASCII
  output logic                      in_second_o,  // of a string: it lies in the second half of its slot

  input  logic                      write_i,
  input  logic [GenerationBits-1:0] write_generation_i,
  input  logic [ContextBits-1:0]    write_entry_i,
  input  logic                      assigned_i,  // else empty
  input  logic [3:0]                kind_i,
  input  logic [LengthBits-1:0]     length_i,
  input  logic                      is_wide_i,
  input  logic                      in_second_i
);
  typedef struct packed {
    logic                      in_second;
    logic                      is_wide;
    logic [LengthBits-1:0]     length;
    logic [3:0]                kind;
    logic                      is_assigned;
    logic [GenerationBits-1:0] generation;
  } entry_t;

  // Generation 0 is never current, so that the memory's first content is undefined.
  entry_t entries[1<<ContextBits];
  initial begin
    for (int unsigned i = 0; i < 1 << ContextBits; i++) entries[i] = '0;
  end

  entry_t written, read_q;
  assign written = '{in_second: in_second_i, is_wide: is_wide_i, length: length_i, kind: kind_i, is_assigned: assigned_i,
                     generation: write_generation_i};

  always_ff @(posedge clk_i) begin
    if (write_i) entries[write_entry_i] <= written;
    read_q <= write_i && write_entry_i == read_entry_i ? written : entries[read_entry_i];
  end

  logic is_current;
  assign is_current    = read_q.generation == generation_i;
  assign is_assigned_o = is_current && read_q.is_assigned;
  assign is_empty_o    = is_current && !read_q.is_assigned;
  assign kind_o        = read_q.kind;
  assign length_o      = read_q.length;
  assign is_wide_o     = read_q.is_wide;
  assign in_second_o   = read_q.in_second;
endmodule
