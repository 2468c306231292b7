/// The values of dictionary entries, in two banks by the parity of the entry, so that the two values of a pair are read
/// and written at once.
///
/// A value is read on the way into the strip stage and written at the end of the operate stage; two bypasses let an
/// instruction use what the one before it wrote.
module stopbit_dictionary_values
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic               clk_i,
  input  logic               advance_i,
  input  value_uop_t [1:0]   offered_i,   // to the strip stage
  input  value_uop_t [1:0]   strip_i,     // in it
  output logic [1:0][63:0]   previous_o,  // for these, at the end of the strip stage
  input  logic [1:0]         write_i,     // in the operate stage
  input  logic [1:0][ContextBits-1:0] write_entry_i,  // two that are written are of different parity
  input  logic [1:0][63:0]   value_i
);
  logic [1:0] write;  // by bank
  logic [1:0][ContextBits-1:0] read_entry, write_entry;
  logic [1:0][63:0] written, read, bypass_value_q;
  logic [1:0] bypass_q;

  function automatic logic [ContextBits-1:0] entry_of(value_uop_t [1:0] uops, logic bank);
    return uops[0].uses_entry && uops[0].entry[0] == bank ? uops[0].entry : uops[1].entry;
  endfunction

  always_comb begin
    for (int unsigned b = 0; b < 2; b++) begin
      read_entry[b]  = advance_i ? entry_of(offered_i, 1'(b)) : entry_of(strip_i, 1'(b));
      write[b]       = (write_i[0] && write_entry_i[0][0] == 1'(b)) || (write_i[1] && write_entry_i[1][0] == 1'(b));
      write_entry[b] = write_i[0] && write_entry_i[0][0] == 1'(b) ? write_entry_i[0] : write_entry_i[1];
      written[b]     = write_i[0] && write_entry_i[0][0] == 1'(b) ? value_i[0] : value_i[1];
    end
    for (int unsigned i = 0; i < 2; i++) begin
      previous_o[i] = bypass_q[strip_i[i].entry[0]] ? bypass_value_q[strip_i[i].entry[0]] : read[strip_i[i].entry[0]];
      if (write[strip_i[i].entry[0]] && write_entry[strip_i[i].entry[0]] == strip_i[i].entry) begin
        previous_o[i] = written[strip_i[i].entry[0]];
      end
    end
  end

  for (genvar b = 0; b < 2; b++) begin : g_bank
    stopbit_ram #(
      .Width(64),
      .Depth(1 << (ContextBits - 1))
    ) i_values (
      .write_clk_i    (clk_i),
      .write_i        (write[b]),
      .write_address_i(write_entry[b][ContextBits-1:1]),
      .write_data_i   (written[b]),
      .read_clk_i     (clk_i),
      .read_address_i (read_entry[b][ContextBits-1:1]),
      .read_data_o    (read[b])
    );
    always_ff @(posedge clk_i) begin
      bypass_q[b]       <= write[b] && write_entry[b] == read_entry[b];
      bypass_value_q[b] <= written[b];
    end
  end
endmodule
