/// Loads firmware: words to addresses that count up by themselves, into the bank that the host has chosen.
///
/// `crc_o` is CRC-32C over all words taken since `clear_i`, for each the address (bank in bit 31) and the word, both
/// little-endian: what the host compares, before it moves a channel to the bank, with the CRC of what it meant to load.
///
/// `verify_valid_i` reads `verify_words_i` words back from the address on, out of the memories that the engine reads, while
/// the engine goes on: `back_crc_o` is their CRC in the same form, over all since `clear_i`. A word a cycle.
module stopbit_loader
  import stopbit_pkg::*;
(
  input  logic                       clk_i,
  input  logic                       rst_ni,

  input  logic                       bank_i,
  input  logic                       address_valid_i,
  input  logic [LoadAddressBits-1:0] address_i,
  input  logic                       data_valid_i,
  input  logic [31:0]                data_i,
  input  logic                       clear_i,
  output logic [31:0]                crc_o,
  output logic [31:0]                words_o,

  input  logic                       verify_valid_i,
  input  logic [LoadAddressBits-1:0] verify_words_i,
  output logic [31:0]                back_crc_o,
  output logic [31:0]                back_word_o,  // the last one
  output logic [LoadAddressBits-1:0] back_left_o,  // still to be read

  output stopbit_load_t              load_o,
  input  logic [31:0]                back_data_i
);
  localparam logic [31:0] Polynomial = 32'h82F6_3B78;  // CRC-32C, reflected

  logic [LoadAddressBits-1:0] address_q;
  logic [31:0] crc_q, words_q;

  function automatic logic [31:0] crc_word(input logic [31:0] crc, input logic [31:0] word);
    logic [31:0] result;
    result = crc ^ word;
    for (int unsigned i = 0; i < 32; i++) result = result[0] ? (result >> 1) ^ Polynomial : result >> 1;
    return result;
  endfunction

  // A word that is loaded goes first.
  logic [LoadAddressBits-1:0] back_address_q, asked_q, left_q;
  logic [31:0] back_crc_q, back_word_q;
  logic        read, came_q, bank_q;
  assign read   = left_q != '0 && !data_valid_i;
  assign load_o = '{valid: data_valid_i, bank: bank_i, address: data_valid_i ? address_q : back_address_q, data: data_i};
  assign back_crc_o  = ~back_crc_q;
  assign back_word_o = back_word_q;
  assign back_left_o = left_q + LoadAddressBits'(came_q);

  always_ff @(posedge clk_i) begin
    if (verify_valid_i) back_address_q <= address_q;
    else if (read)      back_address_q <= back_address_q + 1'b1;
    asked_q <= back_address_q;
    bank_q  <= bank_i;
    if (came_q) back_word_q <= back_data_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q     <= '0;
      came_q     <= 1'b0;
      back_crc_q <= '1;
    end else begin
      came_q <= read;
      if (verify_valid_i) left_q <= verify_words_i;
      else if (read)      left_q <= left_q - 1'b1;
      if (clear_i)     back_crc_q <= '1;
      else if (came_q) back_crc_q <= crc_word(crc_word(back_crc_q, {bank_q, 11'b0, asked_q}), back_data_i);
    end
  end

  assign crc_o   = ~crc_q;
  assign words_o = words_q;

  always_ff @(posedge clk_i) begin
    if (address_valid_i)   address_q <= address_i;
    else if (data_valid_i) address_q <= address_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      crc_q   <= '1;
      words_q <= '0;
    end else if (data_valid_i) begin
      crc_q   <= crc_word(crc_word(crc_q, {bank_i, 11'b0, address_q}), data_i);
      words_q <= words_q + 32'd1;
    end
  end
endmodule
