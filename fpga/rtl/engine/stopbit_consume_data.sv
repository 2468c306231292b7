/// The data side of the consume stage: what its instructions are, the bytes and bits that are theirs, and strings, whose
/// bytes go beside the later stages.
module stopbit_consume_data
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               advance_i,     // the stages move
  input  logic               begins_i,      // other instructions are in the consume stage from the next cycle on
  input  limits_t            limits_i,
  input  consume_state_e     state_i,
  input  logic               works_i,       // an instruction is present, without an error so far
  input  instructions_t      now_i,
  input  constant_t [1:0]    constant_i,
  input  entry_state_t [1:0] entry_state_i,
  input  window_t            window_i,
  input  logic [3:0]         available_i,   // bytes in it
  input  logic [16:0]        left_i,        // bytes of the datagram
  input  datagram_state_t    datagram_i,
  input  logic [2:0]         map_bits_i,    // the next ones of the presence map, the first on top
  input  map_step_t          map_i,
  output pair_t              pair_o,
  output source_e [1:0]      source_o,      // of the values
  output padding_t           padding_o,     // of the first one
  output text_step_t         text_o,
  output data_step_t         step_o,
  output logic               passes_o,      // the data-ops are done, with an error or without

  // Strings.
  input  logic               is_stored_i,     // the record has a word for it
  input  logic [7:0]         string_slots_i,  // that the record has so far
  input  string_slot_t       slot_i,
  output logic [ByteBits-1:0] bytes_address_o,
  input  logic [63:0]        bytes_i,       // of the constants
  input  logic               issues_piece_i,
  input  logic               fails_i,       // what is on its way was not to be
  input  logic               is_settled_i,  // nothing is on its way
  input  logic               stripped_valid_i,
  input  logic [31:0]        stripped_i,
  output logic [63:0]        string_word_o,   // of the piece in the operate stage
  output logic               string_is_bad_o  // that is no UTF-8
);
  plan_t first;
  logic is_overlong, is_string, writes_string, word_is_wide;
  assign first     = pair_o.plan[0];
  assign is_string = first.is_text || first.is_vector;
  assign passes_o  = step_o.done;
  assign source_o  = {pair_o.is_null[1] ? SOURCE_NONE : pair_o.plan[1].source, step_o.source};

  stopbit_pair i_pair (
    .clk_i,
    .advance_i,
    .works_i,
    .begins_i,
    .now_i,
    .constant_i,
    .state_i     (entry_state_i),
    .window_i,
    .is_nonzero_i(padding_o.nonzero),
    .map_i       (map_bits_i),
    .is_waiting_i(datagram_i.is_waiting),
    .pair_o,
    .passes_i    (passes_o),
    .source_i    (source_o)
  );

  stopbit_padding i_padding (
    .clk_i,
    .advance_i,
    .window_i,
    .is_signed_i  (first.takes_signed || (is_string && text_o.is_subtraction)),
    .pads_i       (step_o.pads),
    .ends_i       (step_o.is_text && text_o.asks_number),
    .begins_i,
    .padding_o,
    .is_overlong_o(is_overlong)
  );

  stopbit_text i_text (
    .clk_i,
    .rst_ni,
    .begins_i,
    .advance_i,
    .active_i         (step_o.is_text),
    .plan_i           (first),
    .constant_i       (constant_i[0]),
    .slot_i,
    .string_base_i    (datagram_i.string_base),
    .entry_length_i   (entry_state_i[0].length),
    .entry_is_wide_i  (entry_state_i[0].is_wide),
    .entry_in_second_i(entry_state_i[0].in_second),
    .is_stored_i,
    .string_slots_i,
    .max_bytes_i      (limits_i.string_bytes),
    .is_strict_i      (limits_i.strict),
    .bytes_i          (window_i.bytes[63:0]),
    .byte_is_zero_i   (window_i.byte_is_zero),
    .second_byte_is_zero_i(window_i.second_byte_is_zero),
    .available_i,
    .length_i         (window_i.length),
    .end_i            (window_i.is_whole),
    .left_i,
    .entity_is_zero_i (!padding_o.nonzero && window_i.is_zero),
    .stripped_valid_i,
    .stripped_i,
    .writes_string_i  (writes_string),
    .is_settled_i,
    .word_is_wide_i   (word_is_wide),
    .bytes_address_o,
    .step_o           (text_o)
  );
  stopbit_string_unit i_strings (
    .clk_i,
    .rst_ni,
    .advance_i,
    .flush_i         (fails_i),
    .valid_i         (issues_piece_i),
    .piece_i         (text_o.piece),
    .bytes_i         (window_i.bytes[63:0]),
    .is_text_i       (first.is_text),
    .constant_bytes_i(bytes_i),
    .keep_i          (step_o.is_text && text_o.keeps && advance_i),
    .keep_address_i  (text_o.keep_address),
    .word_o          (string_word_o),
    .is_wide_o       (word_is_wide),
    .is_bad_o        (string_is_bad_o),
    .writes_o        (writes_string)
  );

  stopbit_data_op i_data_op (
    .state_i,
    .works_i,
    .strict_i     (limits_i.strict),
    .traits_i     (now_i.traits[0]),
    .pair_i       (pair_o),
    .group_i      (constant_i[0].min_bytes[12:0]),
    .window_i,
    .available_i,
    .is_overlong_i(is_overlong),
    .map_i,
    .text_i       (text_o),
    .step_o
  );
endmodule
