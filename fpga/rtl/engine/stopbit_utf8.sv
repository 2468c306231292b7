/// Whether the words of a string are UTF-8 (RFC 3629): every byte is looked at with the three before it, all of a word
/// at once. `is_bad_o` belongs to the word that is shown; a string is bad if one of its words is.
module stopbit_utf8 (
  input  logic        clk_i,
  input  logic        move_i,      // the next word follows
  input  logic [63:0] word_i,      // the first byte in bits 7:0; zeros after its bytes
  input  logic        is_first_i,  // of its string
  input  logic        is_last_i,
  output logic        is_bad_o
);
  logic [23:0] before_q;  // the last bytes of the word before
  logic [87:0] bytes;
  assign bytes = {word_i, is_first_i ? 24'b0 : before_q};

  // Bytes that have to follow, if this one begins a character.
  function automatic logic [2:0] followers(logic [7:0] lead);
    // Bit 0: one at least, and so on.
    return {lead >= 8'hF0, lead >= 8'hE0, lead >= 8'hC0};
  endfunction

  logic [10:0][2:0] follow;
  logic is_continuation, is_wanted, is_wrong;
  logic [7:0] byte_here, byte_before;
  always_comb begin
    for (int unsigned i = 0; i < 11; i++) follow[i] = followers(bytes[8*i+:8]);
    is_bad_o = 1'b0;
    for (int unsigned i = 3; i < 11; i++) begin
      byte_here       = bytes[8*i+:8];
      byte_before     = bytes[8*(i-1)+:8];
      is_continuation = byte_here[7:6] == 2'b10;
      is_wanted       = follow[i-1][0] || follow[i-2][1] || follow[i-3][2];
      // Characters in more bytes than they need, surrogates, and what is beyond U+10FFFF.
      is_wrong = byte_here == 8'hC0 || byte_here == 8'hC1 || byte_here >= 8'hF5 ||
                 (byte_before == 8'hE0 && byte_here < 8'hA0) || (byte_before == 8'hED && byte_here > 8'h9F) ||
                 (byte_before == 8'hF0 && byte_here < 8'h90) || (byte_before == 8'hF4 && byte_here > 8'h8F);
      if (is_wrong || is_continuation != is_wanted) is_bad_o = 1'b1;
    end
    if (is_last_i && (follow[10][0] || follow[9][1] || follow[8][2])) is_bad_o = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (move_i) before_q <= word_i[63:40];
  end
endmodule
