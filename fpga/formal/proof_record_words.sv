/// The words of a record leave where they belong, each once, and slot 0 last: whatever commands come, the slots of a record come in
/// order, and slot 0 ends it. One word of the first record, any one, is followed: the record has a root block alone, and
/// its words are stored in order, which the verifier sees to.
module proof_record_words
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input logic           clk_i,
  input logic           rst_ni,
  input logic           valid_i,
  input command_t       command_i,
  input record_header_t header_i,
  input logic           ready_i,
  input logic [7:0]     followed_i  // number of the word
);
  localparam int unsigned MaxWords = 24;
  logic ready, valid, take, leaves;
  stopbit_slot_t slot;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_record_packer i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .command_i, .header_i, .valid_o(valid), .ready_i, .slot_o(slot)
  );
  assign take   = rst_ni && valid_i && ready;
  assign leaves = rst_ni && valid && ready_i;

  // Commands of the first record.
  logic       begun_q = 1'b0, open_q = 1'b0, complete_q = 1'b0, stored_q = 1'b0;
  logic [7:0] followed_q, words_q;
  logic [8:0] next_q;  // the lowest word that can be stored
  logic [63:0] value_q;
  logic [8:0] first_free;
  assign first_free = open_q ? next_q : 9'd0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    if (!begun_q) followed_q <= followed_i;
    if (take && !complete_q) begin
      open_q     <= 1'b1;
      complete_q <= command_i.commit;
      if (!open_q) words_q <= command_i.block.words;
      next_q <= command_i.second_store ? 9'(command_i.second_word) + 9'd1 : command_i.store ? 9'(command_i.word) + 9'd1 : first_free;
      if (command_i.store && command_i.word == followed_q) {stored_q, value_q} <= {1'b1, command_i.value};
      if (command_i.second_store && command_i.second_word == followed_q) {stored_q, value_q} <= {1'b1, command_i.second_value};
    end
  end
  logic [7:0] words;
  assign words = open_q ? words_q : command_i.block.words;
  always_comb begin
    if (take && !complete_q) begin
      assume (command_i.open == !open_q && command_i.open_root == !open_q && !command_i.open_reference);
      assume (!command_i.piece && !command_i.string_end && !command_i.event_valid && words <= 8'(MaxWords));
      assume (!command_i.store || (9'(command_i.word) >= first_free && command_i.word < words));
      assume (!command_i.second_store || (command_i.second_word < words &&
              9'(command_i.second_word) >= (command_i.store ? 9'(command_i.word) + 9'd1 : first_free)));
    end
  end

  // Where the word has to be, and the slots of a record.
  logic [8:0]  place;
  logic [15:0] expected_q = 16'd1, slot_of_it;
  logic [2:0]  column;
  logic        left_q = 1'b0;  // the first record has
  assign place = 9'(followed_q) + 9'(HeaderWords);
  assign slot_of_it = 16'(place / 9'(ValueWords));
  assign column     = 3'(place % 9'(ValueWords));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) expected_q <= 16'd1;
    else if (leaves) expected_q <= slot.last || slot.aborted ? 16'd1 : expected_q + 16'd1;
    if (leaves && slot.last) left_q <= 1'b1;
  end
  always_comb begin
    if (leaves) begin
      assert (!(slot.last && slot.aborted));
      assert (slot.aborted ? expected_q != 16'd1 : slot.index == (slot.last ? 16'd0 : expected_q));
      if (!left_q) begin
        assert (!slot.aborted && (!slot.last || (complete_q && expected_q == 16'((9'(words_q) + 9'(HeaderWords + ValueWords - 1)) / 9'(ValueWords)))));
        if (followed_q < words_q && slot.index == slot_of_it) begin
          assert (slot.data[64*column+:64] == (stored_q ? value_q : '0));
          assert ((slot.data[448+8*column+:8] != '0) == stored_q);
        end
      end
    end
  end
endmodule
