/// Frames of a 10 or 25 Gbit/s MAC for the kernel: its 64-bit stream in its own clock becomes the kernel's stream of 64-byte beats
/// (`s_axis_rx` with `intake.frames`), with each frame's time of arrival beside its first beat and errors beside its last.
///
/// The MAC cannot wait. Frames for which the kernel leaves no room are lost as stopbit_mac_words says; `lost_o` counts them.
/// A frame that was cut arrives as a bad one. `Depth` words of 64 bytes are kept between the clocks.
///
/// `rst_ni` resets both sides. The MAC's own reset, or a link that is down, is `mac_abort_i`.
module stopbit_mac_input #(
  parameter int unsigned Depth = 256
) (
  input  logic         mac_clk_i,
  input  logic [63:0]  mac_time_ns_i,
  input  logic         mac_valid_i,
  input  logic [63:0]  mac_data_i,
  input  logic [7:0]   mac_keep_i,
  input  logic         mac_last_i,
  input  logic         mac_error_i,
  input  logic         mac_abort_i,

  input  logic         clk_i,
  input  logic         rst_ni,
  output logic         valid_o,
  input  logic         ready_i,
  output logic [511:0] data_o,
  output logic [63:0]  keep_o,
  output logic         last_o,
  output logic         bad_o,
  output logic [63:0]  arrival_ns_o,

  // Frames since the reset, modulo 2^32.
  output logic [31:0]  passed_o,
  output logic [31:0]  lost_o,
  output logic [31:0]  cut_o     // of the lost ones, those whose beginning had left; they arrive as bad
);
  logic                       rst_n, mac_rst_n;
  logic                       word_valid, word_ready, shown, passed, lost, cut;
  stopbit_mac_pkg::mac_word_t word, out;

  stopbit_reset_pair resets (
    .clk_i, .rst_ni, .rst_no(rst_n),
    .other_clk_i(mac_clk_i), .other_rst_no(mac_rst_n)
  );

  stopbit_mac_words words (
    .clk_i(mac_clk_i), .rst_ni(mac_rst_n), .time_ns_i(mac_time_ns_i),
    .valid_i(mac_valid_i), .data_i(mac_data_i), .keep_i(mac_keep_i), .last_i(mac_last_i), .error_i(mac_error_i),
    .abort_i(mac_abort_i),
    .valid_o(word_valid), .ready_i(word_ready), .word_o(word),
    .passed_o(passed), .lost_o(lost), .cut_o(cut)
  );

  stopbit_async_fifo #(.Width($bits(stopbit_mac_pkg::mac_word_t)), .Depth(Depth)) fifo (
    .write_clk_i(mac_clk_i), .write_rst_ni(mac_rst_n), .valid_i(word_valid), .ready_o(word_ready), .data_i(word),
    .read_clk_i(clk_i), .read_rst_ni(rst_n), .valid_o(shown), .ready_i, .data_o(out)
  );
  assign valid_o = shown && rst_n;  // the FIFO learns of a reset a cycle later than what follows

  always_comb begin
    for (int unsigned i = 0; i < 64; i++) keep_o[i] = i < 32'(out.bytes);
  end
  assign data_o       = out.data;
  assign last_o       = out.last;
  assign bad_o        = out.bad;
  assign arrival_ns_o = out.arrival;

  // ------------------------------------------------------------------------------------------------------------- counters
  logic [2:0][31:0] counts_q, counts;
  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_n) begin
      counts_q <= '0;
    end else begin
      counts_q[0] <= counts_q[0] + 32'(passed);
      counts_q[1] <= counts_q[1] + 32'(lost);
      counts_q[2] <= counts_q[2] + 32'(cut);
    end
  end
  stopbit_snapshot #(.Width(96)) figures (
    .clk_i(mac_clk_i), .rst_ni(mac_rst_n), .data_i(counts_q),
    .read_clk_i(clk_i), .read_rst_ni(rst_n), .data_o(counts)
  );
  assign {cut_o, lost_o, passed_o} = counts;
endmodule
