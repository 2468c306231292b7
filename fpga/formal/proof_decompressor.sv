/// Whatever the engine does within its rules: the bytes that the window shows were sent, at most 20 bytes, and its entities end in it.
/// Datagrams without a preamble: a skipped preamble needs headers that tell the right length.
module proof_decompressor
  import stopbit_uop_pkg::*;
(
  input logic                           clk_i,
  input logic                           rst_ni,
  input logic                           valid_i,
  input stopbit_pkg::stopbit_datagram_t datagram_i,
  input stopbit_pkg::stopbit_beat_t     beat_i,
  input logic [4:0]                     take_i,
  input logic                           release_i
);
  logic ready, active;
  window_t window;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_decompressor i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .datagram_i, .beat_i, .active_o(active), .datagram_o(), .coming_o(),
    .window_o(window), .take_i, .release_i
  );
  // Bytes that came of all datagrams and were not taken; a release gives up some of them.
  logic [6:0] inside_q = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) inside_q <= '0;
    else inside_q <= inside_q + (valid_i && ready ? 7'(beat_i.count) : 7'd0) - 7'(take_i);
  end
  logic released_q = 1'b0;
  always_ff @(posedge clk_i) released_q <= rst_ni && (released_q || release_i);
  always_comb begin
    assume (datagram_i.data_offset == '0);
    assume (beat_i.count == 5'd16 || (beat_i.last && beat_i.count < 5'd16));
    assume (active ? take_i <= window.available : take_i == '0);
    assume (!release_i || active);
    if (rst_ni && active) begin
      assert (window.available <= 5'd20);
      assert (5'(window.length) <= window.available);
      assert (window.length == '0 || 5'(window.length) + 5'(window.second_length) <= window.available);
      assert (released_q || 7'(window.available) <= inside_q);
    end
  end
endmodule
