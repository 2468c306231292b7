/// The bytes of strings after the consume stage: takes pieces of them from the window, the constants, the dictionary or
/// what was kept of the stream, sets them one after the other, and gives words of eight bytes; writes them to the
/// dictionary on request.
///
/// Two stages beside strip and operate, which move with `advance_i`: in the first the piece arrives, in the second it
/// is placed after the earlier bytes of the word (`piece_i.at`, 0 for a piece that begins one). `keep_i` writes bytes of
/// the window, which can be read from the next cycle on.
module stopbit_string_unit
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          advance_i,
  input  logic          flush_i,           // what is on its way was not to be
  input  logic          valid_i,
  input  string_piece_t piece_i,
  input  logic [63:0]   bytes_i,           // the window; the first byte in bits 7:0, as everywhere here
  input  logic          is_text_i,         // they may have stop bits, which are none of the string's
  input  logic [63:0]   constant_bytes_i,  // for the piece of one cycle ago

  input  logic                keep_i,
  input  logic [KeepBits-1:0] keep_address_i,  // of eight bytes

  output logic [63:0]   word_o,     // of the piece in the second stage; zeros after its bytes
  output logic          is_wide_o,  // the word before it has bytes above 127
  output logic          is_bad_o,   // the string up to this word is not UTF-8, if it ends with it
  output logic          writes_o    // a word for the dictionary is on its way
);
  logic s_valid_q, o_valid_q;
  string_piece_t s_piece_q;
  logic [3:0] o_at_q;
  logic o_emits_q, o_is_first_q, o_is_last_q, o_writes_q;
  logic [StringBits-1:0] o_write_address_q;
  logic [63:0] s_bytes_q, window, slot_bytes, kept_bytes, piece, o_bytes_q;

  assign window = is_text_i ? bytes_i & {8{8'h7F}} : bytes_i;

  // While nothing moves, what the first stage has is read again.
  logic [StringBits-1:0] read_address;
  assign read_address = advance_i ? piece_i.read_address : s_piece_q.read_address;
  stopbit_ram #(
    .Width(64),
    .Depth(1 << StringBits)
  ) i_slots (
    .write_clk_i    (clk_i),
    .write_i        (o_valid_q && advance_i && o_writes_q),
    .write_address_i(o_write_address_q),
    .write_data_i   (word_o),
    .read_clk_i     (clk_i),
    .read_address_i (read_address),
    .read_data_o    (slot_bytes)
  );
  stopbit_ram #(
    .Width(64),
    .Depth(1 << KeepBits)
  ) i_kept (
    .write_clk_i    (clk_i),
    .write_i        (keep_i),
    .write_address_i(keep_address_i),
    .write_data_i   (window),
    .read_clk_i     (clk_i),
    .read_address_i (read_address[KeepBits-1:0]),
    .read_data_o    (kept_bytes)
  );

  always_comb begin
    case (s_piece_q.from)
      PIECE_CONSTANT: piece = constant_bytes_i;
      PIECE_SLOT: piece = slot_bytes;
      PIECE_KEPT: piece = kept_bytes;
      default: piece = s_bytes_q;
    endcase
    piece = piece >> {s_piece_q.skip, 3'b0};
    for (int unsigned i = 0; i < 8; i++) begin
      if (4'(i) >= s_piece_q.bytes) piece[8*i+:8] = '0;
    end
  end

  // The second stage.
  logic [63:0] rest_q;  // bytes of the word in work
  logic [127:0] joined;
  always_comb begin
    joined = 128'(o_bytes_q) << {o_at_q, 3'b0};
    if (o_at_q != '0) joined[63:0] = joined[63:0] | rest_q;
  end
  assign word_o    = joined[63:0];
  assign is_wide_o = (rest_q & {8{8'h80}}) != '0;
  assign writes_o  = (s_valid_q && s_piece_q.writes) || (o_valid_q && o_writes_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      s_valid_q <= 1'b0;
      o_valid_q <= 1'b0;
    end else if (advance_i) begin
      s_valid_q <= valid_i;
      o_valid_q <= s_valid_q;
    end
    if (advance_i) begin
      s_piece_q <= piece_i;
      s_bytes_q <= window;
      o_bytes_q <= piece;
      o_at_q    <= s_piece_q.at;
      o_emits_q <= s_piece_q.emits;
      o_is_first_q      <= s_piece_q.is_first;
      o_is_last_q       <= s_piece_q.is_last;
      o_writes_q        <= s_piece_q.writes;
      o_write_address_q <= s_piece_q.write_address;
      if (o_valid_q) rest_q <= o_emits_q ? joined[127:64] : joined[63:0];
    end
  end

  // UTF-8, of words that are complete.
  logic word_is_bad, is_bad_q;
  stopbit_utf8 i_utf8 (
    .clk_i,
    .move_i    (o_valid_q && advance_i && o_emits_q),
    .word_i    (word_o),
    .is_first_i(o_is_first_q),
    .is_last_i (o_is_last_q),
    .is_bad_o  (word_is_bad)
  );
  assign is_bad_o = word_is_bad || (is_bad_q && !o_is_first_q);
  always_ff @(posedge clk_i) begin
    if (o_valid_q && advance_i && o_emits_q) is_bad_q <= is_bad_o;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && valid_i) begin
      assert (piece_i.bytes + 4'(piece_i.skip) <= 4'd8) else $fatal(1, "a piece reaches behind its word");
      assert (piece_i.at <= 4'd8) else $fatal(1, "a word has %0d bytes before its piece", piece_i.at);
    end
  end
`endif
endmodule
