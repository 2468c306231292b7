/// Loads firmware: words to addresses that count up by themselves, into the bank that the host has chosen.
///
/// `crc_o` is CRC-32C over all words taken since `clear_i`, for each the address (bank in bit 31) and the word, both
/// little-endian: what the host compares, before it moves a channel to the bank, with the CRC of what it meant to load.
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

  output stopbit_load_t              load_o
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

  assign load_o  = '{valid: data_valid_i, bank: bank_i, address: address_q, data: data_i};
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
