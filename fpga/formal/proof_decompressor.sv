/// Whatever the engine does within its rules: the bytes that the window shows were sent, at most 20 bytes, and its entities end in it.
/// One byte of the first datagram, any one, is followed: the window shows it at its place, as part of the entity that it belongs to.
/// Datagrams without a preamble: a skipped preamble needs headers that tell the right length.
module proof_decompressor
  import stopbit_uop_pkg::*;
(
  input logic                           clk_i,
  input logic                           rst_ni,
  input logic                           valid_i,
  input stopbit_pkg::stopbit_datagram_t datagram_i,
  input stopbit_pkg::stopbit_beat_t     beat_i,
  input take_t                          take_i,
  input logic                           release_i,
  input logic [6:0]                     followed_i  // number of the byte
);
  logic ready, active;
  window_t window;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_decompressor i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .datagram_i, .beat_i, .active_o(active), .datagram_o(), .following_o(), .follows_o(),
    .window_o(window), .take_i, .release_i
  );
  // Bytes that came of all datagrams and were not taken; a release gives up some of them.
  logic [6:0] inside_q = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) inside_q <= '0;
    else inside_q <= inside_q + (valid_i && ready ? 7'(beat_i.count) : 7'd0) - 7'(take_i.bytes);
  end
  logic released_q = 1'b0;
  always_ff @(posedge clk_i) released_q <= rst_ni && (released_q || release_i);

  // The byte that is followed, from its beat to its place in the window.
  logic [6:0] came_q = '0, taken_q = '0, followed_q, ahead, in_beat;
  logic [7:0] byte_q;
  logic       begun_q = 1'b0, is_there_q = 1'b0;
  assign ahead   = followed_q - taken_q;
  assign in_beat = followed_q - came_q;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    if (!begun_q) followed_q <= followed_i;
    if (!rst_ni) begin
      came_q     <= '0;
      taken_q    <= '0;
      is_there_q <= 1'b0;
    end else begin
      taken_q <= taken_q + 7'(take_i.bytes);
      if (valid_i && ready) begin
        came_q <= came_q + 7'(beat_i.count);
        if (in_beat < 7'(beat_i.count)) begin
          byte_q     <= beat_i.data[8*in_beat[3:0]+:8];
          is_there_q <= 1'b1;
        end
      end
    end
  end

  always_comb begin
    assume (datagram_i.data_offset == '0);
    assume (beat_i.count == 5'd16 || (beat_i.last && beat_i.count < 5'd16));
    assume (active ? take_i.bytes <= window.available : take_i == '0);
    assume (!take_i.one || (!take_i.two && window.length != '0 && take_i.bytes == 5'(window.length)));
    assume (!take_i.two || (window.second_length != '0 && take_i.bytes == 5'(window.length) + 5'(window.second_length)));
    assume (!release_i || active);
    if (rst_ni && active) begin
      assert (window.available <= 5'd20);
      assert (5'(window.length) <= window.available);
      assert (window.length == '0 || 5'(window.length) + 5'(window.second_length) <= window.available);
      assert (released_q || 7'(window.available) <= inside_q);
    end
    if (rst_ni && active && !released_q && begun_q && ahead < 7'd10 && ahead < 7'(window.available)) begin
      assert (is_there_q && window.bytes[8*ahead[3:0]+:8] == byte_q);
      assert (ahead >= 7'(window.length) || byte_q[7] == (ahead + 7'd1 == 7'(window.length)));
      assert (ahead >= 7'(window.length) || !window.is_zero || byte_q[6:0] == '0);
      assert (ahead != '0 || window.byte_is_zero == (byte_q[6:0] == '0));
      assert (ahead != 7'd1 || window.second_byte_is_zero == (byte_q[6:0] == '0));
    end
  end
endmodule
