/// What leaves the consume stage: a micro-operation for the later stages, with the command for the packer and the place
/// that an error would have; and what becomes of the dictionary entries.
module stopbit_issue
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic               advance_i,     // the stages move
  input  consume_state_e     state_i,
  input  logic               works_i,       // an instruction is present, without an error so far
  input  logic               passes_i,      // its data-ops are done
  input  logic [7:0]         code_i,        // an error that ends the work in the consume stage
  input  logic [7:0]         first_code_i,  // the first error, that one or the first value's source
  input  instructions_t      now_i,
  input  pair_t              pair_i,
  input  source_e [1:0]      source_i,      // of the values
  input  constant_t [1:0]    constant_i,
  input  logic               message_begins_i,  // with this instruction
  input  logic               is_opened_i,   // something of the instruction was issued before
  input  logic [16:0]        entity_i,      // where its entity begins
  input  padding_t           padding_i,
  input  window_t            window_i,
  input  text_step_t         text_i,
  input  data_step_t         data_i,
  input  control_step_t      control_i,
  input  start_step_t        start_i,
  input  datagram_state_t    datagram_i,
  input  logic               is_last_i,     // nothing of the datagram comes after these bytes
  input  logic [ContextBits-1:0] context_base_i,
  input  logic [15:0]        template_i,
  input  logic [15:0]        message_index_i,
  input  logic [31:0]        identifier_i,  // of the template that is not there

  // The record.
  input  logic               opens_block_i,
  input  block_t             block_i,       // that is opened
  input  logic [13:0]        block_number_i,  // of the block that was open before
  input  logic [7:0]         block_words_i,
  input  logic               is_stored_i,

  input  logic [16:0]        map_begin_i,   // of the presence map on top
  input  logic               checks_length_i,  // of a sequence whose loop begins
  input  place_t             length_place_i,
  output place_t             place_o,       // of the value that is last

  output logic               valid_o,
  output logic               opens_o,       // a block, which counts if the stages move
  output uop_t               uop_o,
  output logic [1:0]         write_state_o, // of the entries
  output logic [1:0][ContextBits-1:0] write_entry_o,
  output entry_state_t [1:0] new_state_o
);
  bit_group_t group;
  logic [1:0][ContextBits-1:0] entry;
  plan_t first;
  logic is_string, issues_text;
  assign group       = constant_i[0].min_bytes[12:0];
  assign first       = pair_i.plan[0];
  assign is_string   = first.is_text || first.is_vector;
  assign issues_text = data_i.is_text && (text_i.asks_number || text_i.is_piece);
  assign opens_o     = opens_block_i && (passes_i || issues_text || checks_length_i);
  assign valid_o     = advance_i && (passes_i || issues_text || start_i.is_quick || (state_i == STATE_DISPATCH && start_i.opens) ||
                                     checks_length_i || code_i != ERROR_NONE);
  always_comb begin
    for (int unsigned i = 0; i < 2; i++) entry[i] = context_base_i + now_i.insn[i].slot;
  end

  // Places.
  logic [16:0] second_offset;
  place_t place, reported;
  assign second_offset = datagram_i.position + (first.is_streamed ? 17'(pair_i.length[0]) : '0);
  always_comb begin
    place                = '0;
    place.offset_bytes   = entity_i;
    place.template_index = message_begins_i ? NoTemplate : template_i;
    place.block          = opens_block_i ? 16'(now_i.insn[0].target) : 16'(block_number_i);
    place.word           = now_i.insn[0].word;
    if (now_i.insn[0].word == NoWord) place.block = NoBlock;
    place_o = place;
    if (pair_i.both) begin
      place_o.word         = now_i.insn[1].word;
      place_o.offset_bytes = second_offset;
    end
    reported = place;
    if (state_i == STATE_SEQ && works_i) reported = length_place_i;
    if (state_i inside {STATE_PREAMBLE, STATE_FINISH, STATE_UNUSED_BITS, STATE_DISPATCH}) begin
      reported.word  = NoWord;
      reported.block = NoBlock;
    end
    if (state_i inside {STATE_PREAMBLE, STATE_FINISH}) reported.offset_bytes = datagram_i.position;
    if (state_i == STATE_UNUSED_BITS) reported.offset_bytes = map_begin_i;
    if (start_i.code == ERROR_D9) reported.template_id = identifier_i;
    if (datagram_i.is_waiting && state_i != STATE_IDLE) begin
      // Whatever is wrong says only that the datagram does not begin with a reset.
      reported                = '0;
      reported.word           = NoWord;
      reported.block          = NoBlock;
      reported.template_index = NoTemplate;
      reported.offset_bytes   = state_i == STATE_PREAMBLE ? datagram_i.position : datagram_i.start;
    end
  end

  // The values.
  value_uop_t [1:0] lane;
  always_comb begin
    lane = '0;
    for (int unsigned i = 0; i < 2; i++) begin
      lane[i].bytes            = pair_i.bytes[i];
      lane[i].length           = pair_i.length[i];
      lane[i].source           = source_i[i];
      lane[i].operation        = pair_i.plan[i].operation;
      lane[i].kind             = pair_i.plan[i].is_group ? TYPE_U64 : pair_i.plan[i].kind;
      lane[i].optional         = pair_i.plan[i].is_optional;
      lane[i].is_base_previous = pair_i.plan[i].base_is_previous;
      lane[i].constant         = constant_i[i];
      lane[i].entry            = entry[i];
      lane[i].uses_entry       = pair_i.uses_entry[i];
      if (passes_i && pair_i.plan[i].is_value && (i == 0 || pair_i.both)) begin
        lane[i].is_value     = 1'b1;
        lane[i].base_code    = pair_i.plan[i].base_code;
        lane[i].source_code  = i == 0 ? ERROR_NONE : pair_i.plan[i].source_code;
        lane[i].writes_entry = pair_i.plan[i].remembers && source_i[i] != SOURCE_NONE;
      end
    end
    lane[0].is_group     = first.is_group;
    lane[0].unused_bits  = group.unused_bits;
    lane[0].is_field     = first.is_field;
    lane[0].field_behind = now_i.insn[0].slot[11:6];
    lane[0].field_width  = now_i.insn[0].slot[5:0];
    lane[0].padded       = padding_i.padded;
    lane[0].negative     = padding_i.negative;
    lane[0].too_wide     = padding_i.too_wide;
    if (passes_i && first.is_field) lane[0].is_value = 1'b1;
    if (control_i.awaits_length) lane[pair_i.both].is_awaited = 1'b1;
    if (data_i.is_text && text_i.asks_number) begin
      lane[0].is_value       = 1'b1;
      lane[0].is_awaited     = 1'b1;
      lane[0].is_subtraction = text_i.is_subtraction;
      lane[0].kind           = text_i.is_subtraction ? TYPE_S32 : TYPE_U32;
      lane[0].optional       = text_i.is_nullable;
      lane[0].operation      = OPERATOR_NON;
      lane[0].constant       = '0;
    end
    if (start_i.is_quick) begin
      lane[0].bytes    = window_i.second_bytes;
      lane[0].length   = window_i.second_length;
      lane[0].source   = SOURCE_STREAM;
      lane[0].optional = 1'b0;
      lane[0].padded   = 1'b0;
      lane[0].too_wide = 1'b0;
      {lane[0].is_group, lane[0].is_field} = '0;
      lane[0].uses_entry = 1'b1;
      lane[0].entry      = context_base_i;
    end
    if (start_i.is_quick || control_i.awaits_template) begin
      // The identifier is a mandatory uInt32 with copy.
      lane[0].is_value     = 1'b1;
      lane[0].is_awaited   = control_i.awaits_template;
      lane[0].kind         = TYPE_U32;
      lane[0].operation    = OPERATOR_COP;
      lane[0].constant     = '0;
      lane[0].writes_entry = 1'b1;
    end
  end

  // The dictionary. What is written with an error is not read before the next reset.
  always_comb begin
    write_state_o = '0;
    write_entry_o = entry;
    new_state_o   = '0;
    for (int unsigned i = 0; i < 2; i++) begin
      new_state_o[i].kind = pair_i.plan[i].dictionary_kind;
      if (passes_i && pair_i.plan[i].remembers && (i == 0 ? first.is_value || is_string : pair_i.both) &&
          !(pair_i.plan[i].is_mantissa && pair_i.exponent[i] == SOURCE_NONE)) begin
        // A NULL delta changes nothing.
        write_state_o[i]           = source_i[i] != SOURCE_NONE || pair_i.plan[i].operation != OPERATOR_DEL;
        new_state_o[i].is_assigned = source_i[i] != SOURCE_NONE;
      end
    end
    if (first.is_group) new_state_o[0].length = 13'(group.used_bits);
    if (is_string) begin
      new_state_o[0].length    = text_i.count[12:0];
      new_state_o[0].is_wide   = text_i.is_wide;
      new_state_o[0].in_second = text_i.in_second;
    end
    if (start_i.is_quick || start_i.resets || control_i.awaits_template) begin
      // The identifier, which outlives a reset.
      write_state_o[0]           = 1'b1;
      new_state_o[0].is_assigned = 1'b1;
      new_state_o[0].kind        = TYPE_U32;
    end
    if (start_i.is_quick || start_i.resets) write_entry_o[0] = context_base_i;
    if (!advance_i) write_state_o = '0;
  end

  always_comb begin
    uop_o                     = '0;
    uop_o.lane                = lane;
    uop_o.code                = first_code_i;
    if (first_code_i == ERROR_NONE && data_i.is_text) uop_o.code = text_i.late_code;
    uop_o.checks_length       = checks_length_i;
    uop_o.is_dropped          = datagram_i.is_waiting;
    uop_o.datagram            = datagram_i.number;
    uop_o.is_pair             = passes_i && pair_i.both;
    uop_o.second_offset_bytes = second_offset;
    uop_o.pc                  = state_i inside {STATE_RUN, STATE_PMAP_MORE, STATE_CONTROL, STATE_SEQ_WAIT, STATE_SEQ} ? now_i.pc : '0;
    uop_o.begins              = !is_opened_i && !(state_i inside {STATE_SEQ_WAIT, STATE_SEQ});
    uop_o.command.block          = block_i;
    uop_o.command.open           = opens_block_i;
    uop_o.command.word           = now_i.insn[0].word;
    uop_o.command.second_word    = now_i.insn[1].word;
    uop_o.command.template_index = template_i;
    uop_o.command.message_index  = message_index_i;
    uop_o.command.place          = reported;
    if (data_i.is_text) begin
      uop_o.checks_utf8 = text_i.checks_utf8;
      if (text_i.is_piece) begin
        uop_o.is_piece           = 1'b1;
        uop_o.command.piece      = is_stored_i && text_i.piece.emits && (!text_i.is_last || text_i.is_long);
        uop_o.command.store      = is_stored_i && text_i.is_last;
        uop_o.command.string_end = text_i.is_last;
        uop_o.command.is_long    = text_i.is_long;
        uop_o.command.count      = text_i.count;
      end
    end
    if (passes_i) begin
      if (first.is_value && !first.is_group) uop_o.command.store = is_stored_i && source_i[0] != SOURCE_NONE;
      if (first.is_field) uop_o.command.store = is_stored_i;
      uop_o.command.second_store = pair_i.both && now_i.insn[1].word < block_words_i && source_i[1] != SOURCE_NONE;
    end
    if (control_i.stores_presence) begin
      uop_o.command.store = is_stored_i;
      uop_o.command.value = 64'd1;
    end
    if (control_i.ends_message) begin
      uop_o.command.commit = 1'b1;
      uop_o.command.flags  = is_last_i ? FlagLastOfPacket : '0;
    end
    if (start_i.opens) begin
      uop_o.command.open           = 1'b1;
      uop_o.command.open_root      = !start_i.is_call;
      uop_o.command.open_reference = start_i.is_call;
      uop_o.command.block          = start_i.root.root;
      if (start_i.is_call) uop_o.command.value = 64'(start_i.root.template_index);
    end
  end
endmodule
