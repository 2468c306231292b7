/// Words go to addresses that count up from the one that was set, none is left out or doubled; words that are read back
/// count up from there, each is requested once, and never in a cycle in which one is loaded.
module proof_loader
  import stopbit_pkg::*;
(
  input logic                       clk_i,
  input logic                       rst_ni,
  input logic                       bank_i,
  input logic                       address_valid_i,
  input logic [LoadAddressBits-1:0] address_i,
  input logic                       data_valid_i,
  input logic [31:0]                data_i,
  input logic                       clear_i,
  input logic                       verify_valid_i,
  input logic [LoadAddressBits-1:0] verify_words_i,
  input logic [31:0]                back_data_i
);
  logic [31:0] words;
  logic [LoadAddressBits-1:0] left;
  stopbit_load_t load;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_loader i_dut (
    .clk_i, .rst_ni, .bank_i, .address_valid_i, .address_i, .data_valid_i, .data_i, .clear_i, .crc_o(), .words_o(words),
    .verify_valid_i, .verify_words_i, .back_crc_o(), .back_word_o(), .back_left_o(left), .load_o(load), .back_data_i
  );
  // Where the next word goes, and whence the next one is read.
  logic                       known_q = 1'b0, asked_q = 1'b0;
  logic [LoadAddressBits-1:0] next_q, back_next_q, wanted_q = '0;
  logic [31:0]                words_q = '0;
  logic                       reads;
  assign reads = wanted_q != '0 && !data_valid_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      known_q  <= 1'b0;
      asked_q  <= 1'b0;
      wanted_q <= '0;
      words_q  <= '0;
    end else begin
      asked_q <= reads;
      words_q <= clear_i ? 32'd0 : words_q + 32'(data_valid_i);
      if (address_valid_i) begin
        known_q <= 1'b1;
        next_q  <= address_i;
      end else if (data_valid_i) begin
        next_q <= next_q + 1'b1;
      end
      if (verify_valid_i) begin
        wanted_q    <= verify_words_i;
        back_next_q <= next_q;
      end else if (reads) begin
        wanted_q    <= wanted_q - 1'b1;
        back_next_q <= back_next_q + 1'b1;
      end
    end
  end
  always_comb begin
    if (!known_q) assume (!data_valid_i && !verify_valid_i);
    if (rst_ni) begin
      assert (load.valid == data_valid_i && load.bank == bank_i);
      assert (!data_valid_i || (load.address == next_q && load.data == data_i));
      assert (!reads || load.address == back_next_q);
      assert (left == wanted_q + LoadAddressBits'(asked_q));
      assert (words == words_q);
    end
  end
endmodule
