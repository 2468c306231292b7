/// The record of the message in work: the block that is open, how many slots there are so far, and whether more fit.
///
/// Whether the strings fit, too, is looked at beside the micro-operation that completes the record: the answer comes when
/// that one is in the operate stage.
module stopbit_record_room
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic        clk_i,
  input  logic        advance_i,  // the stages move
  input  limits_t     limits_i,
  input  logic        begins_message_i,
  input  insn_t       insn_i,
  input  block_t      block_i,          // that it opens
  input  logic        opens_block_i,
  input  logic        issues_block_i,   // which goes to the packer in this cycle
  input  logic        is_text_i,        // a string is at work
  input  logic [7:0]  text_slots_i,     // number of slots that it takes
  input  start_step_t start_i,
  input  logic [16:0] position_i,       // of the window, after the cycle before

  output logic [13:0] block_o,
  output logic [7:0]  block_words_o,
  output logic [15:0] next_slot_o,
  output logic [7:0]  string_slots_o,
  output logic        is_stored_o,      // the record has a word for the instruction
  output logic        is_full_o,        // the block that it opens does not fit
  output logic        is_overfull_o,    // of the micro-operation in the operate stage: the record exceeds its limit with it
  output logic [16:0] overfull_at_o     // the end of its bytes
);
  logic [15:0] next_slot_d, next_slot_q;
  logic [7:0]  string_slots_d, string_slots_q;
  logic [13:0] block_d, block_q;
  logic [7:0]  block_words_d, block_words_q;
  assign block_o        = block_q;
  assign block_words_o  = block_words_q;
  assign next_slot_o    = next_slot_q;
  assign string_slots_o = string_slots_q;
  assign is_stored_o    = insn_i.word < (opens_block_i ? block_i.words : block_words_q);
  assign is_full_o      = 17'(next_slot_q) + 17'(slots_of(SlotsOfBlock, block_i.words)) > 17'(limits_i.max_record_slots);

  // Beside strip: what the micro-operation made of the record. The limit is that of its datagram's bank.
  logic [15:0] s_limit_q;
  logic        o_is_overfull_q;
  logic [16:0] o_position_q;
  assign is_overfull_o = o_is_overfull_q;
  assign overfull_at_o = o_position_q;
  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      s_limit_q       <= limits_i.max_record_slots;
      o_is_overfull_q <= 17'(next_slot_q) + 17'(string_slots_q) > 17'(s_limit_q);
      o_position_q    <= position_i;
    end
  end

  always_comb begin
    string_slots_d = begins_message_i ? '0 : string_slots_q;
    if (is_text_i) string_slots_d = string_slots_q + text_slots_i;
  end

  always_comb begin
    next_slot_d   = begins_message_i ? '0 : next_slot_q;
    block_d       = block_q;
    block_words_d = block_words_q;
    if (issues_block_i) next_slot_d = next_slot_q + 16'(slots_of(SlotsOfBlock, block_i.words));
    if (opens_block_i) begin
      block_d       = insn_i.target;
      block_words_d = block_i.words;
    end
    if (start_i.opens) begin
      next_slot_d   = (start_i.is_call ? next_slot_q : '0) + 16'(start_i.slots);
      block_d       = start_i.root.root_block;
      block_words_d = start_i.root.root.words;
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      next_slot_q    <= next_slot_d;
      string_slots_q <= string_slots_d;
      block_q        <= block_d;
      block_words_q  <= block_words_d;
    end
  end
endmodule
