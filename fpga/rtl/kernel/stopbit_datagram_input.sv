/// Datagrams from an AXI stream of 64 bytes (a UDP kernel's payload, `tdest` = its socket) to the decode core's stream.
///
/// A datagram is kept until its last beat has arrived, because its length precedes it: at most `MaxBytes`, what
/// is longer is cut and marked (`oversized_o`). While `receive_i` is low, datagrams are dropped from their first beat on
/// (`dropped_o`). Without room the stream waits.
module stopbit_datagram_input
  import stopbit_pkg::*;
#(
  parameter  int unsigned MaxBytes   = 16_384,  // of a datagram; a power of two of beats of 64 bytes
  localparam int unsigned Lines      = 2 * MaxBytes / 64,
  localparam int unsigned LineWidth  = $clog2(Lines)
) (
  input  logic              clk_i,
  input  logic              rst_ni,

  input  logic              receive_i,
  input  logic [15:0]       preamble_bytes_i,
  input  logic [7:0]        source_i,
  input  logic [7:0]        time_quality_i,

  input  logic              tvalid_i,
  output logic              tready_o,
  input  logic [511:0]      tdata_i,
  input  logic [63:0]       tkeep_i,      // whole but in the last beat, where it begins with ones
  input  logic              tlast_i,
  input  logic [15:0]       tdest_i,
  input  logic [63:0]       arrival_ns_i, // of the first beat

  output logic              valid_o,
  input  logic              ready_i,
  output stopbit_datagram_t datagram_o,
  output stopbit_beat_t     beat_o,

  output logic              idle_o,
  output logic              dropped_o,
  output logic              oversized_o
);
  if (MaxBytes < 64 || MaxBytes > 32_768 || (MaxBytes & (MaxBytes - 1)) != 0) begin : g_bytes
    $fatal(1, "stopbit_datagram_input: MaxBytes is %0d, needs a power of two from 64 to 32768", MaxBytes);
  end
  localparam int unsigned Headers     = 16;
  localparam int unsigned HeaderWidth = $clog2(Headers);
  typedef logic [LineWidth:0]   line_t;
  typedef logic [HeaderWidth:0] header_t;

  logic [511:0]      line_mem   [Lines];
  stopbit_datagram_t header_mem [Headers];
  line_t             write_q, read_q;
  header_t           header_write_q, header_read_q;

  // ---- in
  logic        inside_q, dropping_q, cut_q;
  logic [16:0] length_q;   // of the lines before
  logic [63:0] arrival_q, number_q;
  logic        accept, first, drop, keep, full, taken;
  logic [6:0]  bytes;
  logic [16:0] length;
  assign first = !inside_q;
  assign full  = line_t'(write_q - read_q) == line_t'(Lines) || header_t'(header_write_q - header_read_q) == header_t'(Headers);
  assign drop  = first ? !receive_i : dropping_q;
  assign tready_o = drop || !full;
  assign accept   = tvalid_i && tready_o;

  always_comb begin
    bytes = '0;
    for (int unsigned i = 0; i < 64; i++) bytes += 7'(tkeep_i[i]);
  end
  // Bytes beyond MaxBytes are not kept, nor counted; nor is a last beat without bytes, but of an empty datagram.
  assign keep   = accept && !drop && (first || (bytes != '0 && length_q != 17'(MaxBytes)));
  assign length = (first ? 17'd0 : length_q) + (keep ? 17'(bytes) : 17'd0);

  assign taken     = accept && tlast_i && !drop;
  assign dropped_o   = accept && tlast_i && drop;
  assign oversized_o = taken && ((!first && cut_q) || (!keep && bytes != '0));

  always_ff @(posedge clk_i) begin
    if (keep) line_mem[LineWidth'(write_q)] <= tdata_i;
    if (accept) begin
      length_q <= length;
      cut_q    <= first ? 1'b0 : cut_q || (!keep && !drop);
      if (first) begin
        arrival_q  <= arrival_ns_i;
        dropping_q <= drop;
      end
    end
    if (taken) begin
      header_mem[HeaderWidth'(header_write_q)] <= '{
        arrival_ns: first ? arrival_ns_i : arrival_q, number: number_q, sequence_number: '0,
        length_bytes: length, data_offset: preamble_bytes_i, channel: tdest_i, sender_epoch: '0, source: source_i,
        time_quality: time_quality_i, cut: oversized_o};
    end
  end

  // ---- out
  logic [1:0]  quarter_q;
  logic [16:0] left_q, left;
  logic        started_q, last, advance;
  assign datagram_o = header_mem[HeaderWidth'(header_read_q)];
  assign valid_o    = header_write_q != header_read_q;
  assign left       = started_q ? left_q : datagram_o.length_bytes;
  assign last       = left <= 17'd16;
  assign beat_o     = '{data: line_mem[LineWidth'(read_q)][quarter_q*128 +: 128], count: last ? left[4:0] : 5'd16, last: last};
  assign advance    = valid_o && ready_i;
  assign idle_o     = !valid_o && !inside_q && !tvalid_i;

  always_ff @(posedge clk_i) begin
    if (advance) left_q <= left - 17'd16;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q        <= '0;
      read_q         <= '0;
      header_write_q <= '0;
      header_read_q  <= '0;
      inside_q       <= 1'b0;
      started_q      <= 1'b0;
      quarter_q      <= '0;
      number_q       <= 64'd1;
    end else begin
      if (accept) inside_q <= !tlast_i;
      if (keep) write_q <= write_q + 1'b1;
      if (taken) begin
        header_write_q <= header_write_q + 1'b1;
        number_q       <= number_q + 64'd1;
      end
      if (advance) begin
        started_q <= !last;
        quarter_q <= last ? '0 : quarter_q + 2'd1;
        if (last) header_read_q <= header_read_q + 1'b1;
        // An empty datagram has a line, too.
        if (last || quarter_q == 2'd3) read_q <= read_q + 1'b1;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && accept) begin
      assert (tlast_i || (&tkeep_i)) else $error("a beat inside a datagram is not whole");
      assert ((tkeep_i & (tkeep_i + 64'd1)) == '0) else $error("tkeep does not begin with ones");
    end
    if (rst_ni) begin
      assert (line_t'(write_q - read_q) <= line_t'(Lines)) else $error("more lines than there are");
      assert (header_t'(header_write_q - header_read_q) <= header_t'(Headers)) else $error("more datagrams than there is room for");
      assert (valid_o || inside_q || write_q == read_q) else $error("a line that belongs to no datagram");
    end
  end
`endif
endmodule
