/// One decoder's way into the fan-out: keeps the cells of a record until it is whole, and then until the last of its rings
/// has taken it.
///
/// Cells come in the order of the record stream, the last one with `last_i`; `aborted_i` withdraws what came of a record.
/// In the cycle after a record's last cell `rings_i` says whose it is; it stays until the record is announced. Meanwhile
/// no cell is taken. A record of no ring leaves nothing. A record of more than `Depth` cells is dropped (`too_long_o`).
///
/// Records leave the memory in the order in which they came: one that a ring does not take keeps those after it, too.
module stopbit_fanout_input #(
  parameter  int unsigned Width      = 8,
  parameter  int unsigned NumRings   = 2,
  parameter  int unsigned Depth      = 16,  // cells; a power of two
  parameter  int unsigned Records    = 4,   // a power of two
  localparam int unsigned PlaceWidth = $clog2(Depth),
  localparam int unsigned IndexWidth = $clog2(Records),
  localparam int unsigned CountWidth = $clog2(NumRings + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  valid_i,
  output logic                  ready_o,
  input  logic [Width-1:0]      cell_i,
  input  logic                  last_i,
  input  logic                  aborted_i,
  input  logic [NumRings-1:0]   rings_i,

  output logic                  judged_o,  // a whole record, and what rings_i says of it, are done with

  // A whole record, for the queues of its rings.
  output logic                  record_o,
  input  logic                  announced_i,
  output logic [IndexWidth-1:0] index_o,
  output logic [PlaceWidth-1:0] first_o,

  // What was at the address one cycle earlier: the last bit, and the cell.
  input  logic [PlaceWidth-1:0] read_address_i,
  output logic [Width:0]        read_data_o,

  // A ring has a record.
  input  logic                  done_i,
  input  logic [IndexWidth-1:0] done_index_i,

  output logic                  idle_o,
  output logic                  too_long_o
);
  if (Depth < 4 || (Depth & (Depth - 1)) != 0) $fatal(1, "stopbit_fanout_input: Depth is %0d, needs a power of two from 4", Depth);
  if (Records < 2 || (Records & (Records - 1)) != 0) $fatal(1, "stopbit_fanout_input: Records is %0d, needs a power of two from 2", Records);

  // ---- cells
  logic [PlaceWidth:0] write_q, begin_q, read_q;  // the next cell; of the record that comes; the oldest that is kept
  logic                dropping_q;                // up to the end of a record that is too long
  logic                judging_q;                 // the record is whole, and not announced
  logic                full, too_long, take, keep, ends, nobody;
  assign full       = write_q - read_q == (PlaceWidth + 1)'(Depth);
  assign too_long   = full && begin_q == read_q;  // it alone fills the memory
  assign ready_o    = !judging_q && (dropping_q || too_long || !full);
  assign take       = valid_i && ready_o;
  assign keep       = take && !dropping_q && !too_long && !aborted_i;
  assign ends       = last_i || aborted_i;
  assign nobody     = rings_i == '0;
  assign too_long_o = take && too_long && !dropping_q && !aborted_i;

  stopbit_ram #(.Width(Width + 1), .Depth(Depth)) i_cells (
    .write_clk_i    (clk_i),
    .write_i        (keep),
    .write_address_i(write_q[PlaceWidth-1:0]),
    .write_data_i   ({last_i, cell_i}),
    .read_clk_i     (clk_i),
    .read_address_i,
    .read_data_o
  );

  // ---- records
  logic [IndexWidth:0] next_q, counted_q, oldest_q;  // the next record; those before it whose rings are counted
  logic                table_full, frees;
  logic [PlaceWidth:0] ends_at [0:Records-1];        // the cell after it
  assign table_full = next_q - oldest_q == (IndexWidth + 1)'(Records);
  assign record_o   = judging_q && !nobody && !table_full;
  assign judged_o   = judging_q && (nobody || (record_o && announced_i));
  assign index_o    = next_q[IndexWidth-1:0];
  assign first_o    = begin_q[PlaceWidth-1:0];
  assign idle_o     = !judging_q && write_q == read_q;

  // How many rings have not taken a record. They are counted in the cycle after it was announced, before one can have it.
  logic [NumRings-1:0]   rings_q;
  logic                  counting_q;
  logic [CountWidth-1:0] count;
  logic [CountWidth-1:0] left_q [0:Records-1];
  always_comb begin
    count = '0;
    for (int unsigned r = 0; r < NumRings; r++) count = count + CountWidth'(rings_q[r]);
  end
  assign frees = oldest_q != counted_q && left_q[oldest_q[IndexWidth-1:0]] == '0;

  always_ff @(posedge clk_i) begin
    rings_q <= rings_i;
    if (record_o && announced_i) ends_at[next_q[IndexWidth-1:0]] <= write_q;
    for (int unsigned i = 0; i < Records; i++) begin
      if (counting_q && counted_q[IndexWidth-1:0] == IndexWidth'(i)) left_q[i] <= count;
      else if (done_i && done_index_i == IndexWidth'(i)) left_q[i] <= left_q[i] - 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q    <= '0;
      begin_q    <= '0;
      read_q     <= '0;
      dropping_q <= 1'b0;
      judging_q  <= 1'b0;
      counting_q <= 1'b0;
      next_q     <= '0;
      counted_q  <= '0;
      oldest_q   <= '0;
    end else begin
      if (take) begin
        if (keep) write_q <= write_q + 1'b1;
        else if (ends || too_long) write_q <= begin_q;
        dropping_q <= !ends && (dropping_q || too_long);
        judging_q  <= keep && last_i;
      end else if (judging_q) begin
        if (nobody) write_q <= begin_q;
        if (record_o && announced_i) begin_q <= write_q;
        judging_q <= !judged_o;
      end
      counting_q <= record_o && announced_i;
      if (record_o && announced_i) next_q <= next_q + 1'b1;
      if (counting_q) counted_q <= counted_q + 1'b1;
      if (frees) begin
        oldest_q <= oldest_q + 1'b1;
        read_q   <= ends_at[oldest_q[IndexWidth-1:0]];
      end
    end
  end

`ifndef SYNTHESIS
  logic [IndexWidth-1:0] done_age;  // records before it that are kept
  logic [IndexWidth:0]   counted;
  assign done_age = done_index_i - oldest_q[IndexWidth-1:0];
  assign counted  = counted_q - oldest_q;
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      cells_fit      : assert (write_q - read_q <= (PlaceWidth + 1)'(Depth));
      records_fit    : assert (next_q - oldest_q <= (IndexWidth + 1)'(Records));
      done_is_known  : assert (!done_i || (IndexWidth + 1)'(done_age) < counted);
      done_was_owed  : assert (!done_i || left_q[done_index_i] != '0);
    end
  end
`endif
endmodule
