/// Speculative FIFO: both sides may run ahead, and later commit or revert what they did, any number of words in a cycle.
///
/// Write side: words are seen by the reader when they are committed. `write_revert_i` forgets the last
/// `write_revert_count_i` words, but no committed one; `write_commit_i` commits the next `write_commit_count_i`, but no
/// unwritten one. Both count the word that is accepted in the same cycle; they exclude each other.
///
/// Read side: taken words keep their room until they are committed by `read_commit_i`. `read_revert_i` puts the last
/// `read_revert_count_i` taken words back, to be read again, but no committed one. Both count the word that is taken in
/// the same cycle; they exclude each other. After a revert `valid_o` is low for no longer than one cycle.
///
/// Full and empty may be true at once: everything is uncommitted. Words are shown two cycles after their commit.
module stopbit_spec_fifo #(
  parameter  int unsigned Width        = 8,
  parameter  int unsigned Depth        = 16,
  localparam int unsigned AddressWidth = $clog2(Depth)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  valid_i,
  output logic                  ready_o,
  input  logic [Width-1:0]      data_i,
  input  logic                  write_commit_i,
  input  logic [AddressWidth:0] write_commit_count_i,
  input  logic                  write_revert_i,
  input  logic [AddressWidth:0] write_revert_count_i,

  output logic                  valid_o,
  input  logic                  ready_i,
  output logic [Width-1:0]      data_o,
  input  logic                  read_commit_i,
  input  logic [AddressWidth:0] read_commit_count_i,
  input  logic                  read_revert_i,
  input  logic [AddressWidth:0] read_revert_count_i
);
  if (Depth < 2 || (Depth & (Depth - 1)) != 0) $fatal(1, "stopbit_spec_fifo: Depth is %0d, needs a power of two", Depth);

  // In their order around the ring: read_done <= read_spec <= write_done <= write_spec <= read_done + Depth.
  logic [AddressWidth:0] read_done_q, read_spec_q, write_done_q, write_spec_q;
  logic [AddressWidth:0] read_done_d, read_spec_d, write_done_d, write_spec_d;
  logic                  put, take;

  logic [AddressWidth:0] write_next, write_open, read_next, read_after, read_open;
  logic [AddressWidth:0] used;
  logic                  shows;  // the next word, in the next cycle

  assign used    = write_spec_q - read_done_q;
  assign ready_o = !used[AddressWidth];
  assign put     = valid_i && ready_o;
  assign take    = valid_o && ready_i;

  assign write_next = write_spec_q + (AddressWidth + 1)'(put);
  assign write_open = write_next - write_done_q;  // not committed
  assign read_after = read_spec_q + 1'b1;
  assign read_next  = take ? read_after : read_spec_q;
  assign read_open  = read_next - read_done_q;

  always_comb begin
    write_spec_d = write_next;
    write_done_d = write_done_q;
    if (write_revert_i) begin
      write_spec_d = write_revert_count_i < write_open ? write_next - write_revert_count_i : write_done_q;
    end else if (write_commit_i) begin
      write_done_d = write_commit_count_i < write_open ? write_done_q + write_commit_count_i : write_next;
    end
    read_spec_d = read_next;
    read_done_d = read_done_q;
    // Both comparisons are made before it is known whether a word is taken.
    shows = take ? read_after != write_done_q : read_spec_q != write_done_q;
    if (read_revert_i) begin
      read_spec_d = read_revert_count_i < read_open ? read_next - read_revert_count_i : read_done_q;
      shows       = read_spec_d != write_done_q;
    end else if (read_commit_i) begin
      read_done_d = read_commit_count_i < read_open ? read_done_q + read_commit_count_i : read_next;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_done_q  <= '0;
      read_spec_q  <= '0;
      write_done_q <= '0;
      write_spec_q <= '0;
      valid_o      <= 1'b0;
    end else begin
      read_done_q  <= read_done_d;
      read_spec_q  <= read_spec_d;
      write_done_q <= write_done_d;
      write_spec_q <= write_spec_d;
      // A word of the cycle before is in the RAM; one of this cycle is not yet.
      valid_o      <= shows;
    end
  end

  stopbit_ram #(.Width(Width), .Depth(Depth)) ram (
    .write_clk_i    (clk_i),
    .write_i        (put),
    .write_address_i(write_spec_q[AddressWidth-1:0]),
    .write_data_i   (data_i),
    .read_clk_i     (clk_i),
    .read_address_i (read_spec_d[AddressWidth-1:0]),
    .read_data_o    (data_o)
  );

`ifndef SYNTHESIS
  logic [AddressWidth:0] seen, committed;
  assign seen      = read_spec_q - read_done_q;
  assign committed = write_done_q - read_done_q;
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      never_overfull         : assert (used <= (AddressWidth + 1)'(Depth));
      committed_were_written : assert (committed <= used);
      taken_were_committed   : assert (seen <= committed);
      shown_is_committed     : assert (!valid_o || read_spec_q != write_done_q);
`ifdef FORMAL
      assume (!(write_commit_i && write_revert_i));
      assume (!(read_commit_i && read_revert_i));
`else
      one_decision_a_write   : assert (!(write_commit_i && write_revert_i));
      one_decision_a_read    : assert (!(read_commit_i && read_revert_i));
`endif
    end
  end
`ifdef FORMAL
  initial assume (!rst_ni);
`endif
`endif
endmodule
