/// Runs verified firmware over datagrams: takes entities from the decompressor's window and gives commands to the
/// record packer. What an instruction does is told in microcode/README.md; decoder/interp is the reference.
///
/// Stages: F1 presents an address to the program memory, F2 has the instruction and reads its constant, block and
/// dictionary state, C consumes: presence bits, the ends of entities, where values come from, control. Behind C nothing
/// branches any more (stopbit_operate). C has one instruction or a pair, whose second follows alone if it cannot go with
/// the first. It holds an instruction until all its bytes are there. A jump that F2 did not foresee costs a cycle. All
/// of C stands still while the stages behind it do.
///
/// The beginning of a message, PMAP and TID, is one step without instructions: F2 has meanwhile fetched the template of
/// the message before, which is executed in the next cycle if it is the one. What is less simple (a presence map of more
/// than nine bytes, an identifier from the dictionary) goes by the instructions at address 0.
module stopbit_microcode_engine
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
#(
  parameter int unsigned WatchdogBits = 24
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  stopbit_load_t     load_i,
  output logic [31:0]       back_data_o,  // read back, as in stopbit_tables

  input  logic              active_i,
  input  stopbit_datagram_t datagram_i,
  input  stopbit_datagram_t coming_i,   // that of the next cycle
  input  window_t           window_i,
  output logic [4:0]        take_o,
  output logic              release_o,

  output logic              valid_o,
  input  logic              ready_i,
  output command_t          command_o,
  output record_header_t    header_o,

  // For counters, each for one cycle.
  output logic              datagram_done_o,  // decoded to its end or given up
  output logic [1:0]        issued_o          // so many instructions left the consume stage
);
  localparam int unsigned GenerationBits = 56;

  // -------------------------------------------------------------------------------------------------------------------
  // State

  typedef enum logic [3:0] {
    IDLE,        // no datagram; when one comes, a message can begin at once if its dictionary is reset
    PREAMBLE,    // what stands before the first message is passed over
    START,       // a message begins
    RUN,         // an instruction at its beginning
    PMAP_MORE,   // the rest of a presence map of more than nine bytes
    PROFILE,     // a presence map was looked up: a profile program, or the general one
    CONTROL,     // the control-op of PMAP
    SEQ_WAIT,    // the length of a sequence is on its way
    SEQ,         // the loop begins
    TID_WAIT,    // a template identifier is on its way
    DISPATCH,    // its template is there
    OVERFULL,    // the complete record exceeds its limit of slots
    UNUSED_BITS, // a presence map has bits that nobody took
    FINISH,      // the datagram is decoded, and what is on its way goes out
    FAILED       // an error is on its way: nothing more is done
  } state_e;
  state_e state_d, state_q;

  // Of the datagram.
  stopbit_datagram_t datagram_q;
  channel_t head_q;  // of the datagram that is shown
  channel_t channel, channel_q;
  logic [ChannelBits-1:0] channel_number, channel_number_q;
  logic [GenerationBits-1:0] generation_d, generation_q;
  logic [16:0] position_d, position_q;
  logic [16:0] start_d, start_q;  // where the first message begins
  logic [20:0] elements_left_d, elements_left_q;
  logic [15:0] message_index_d, message_index_q;
  logic [15:0] template_d, template_q;
  logic is_waiting_d, is_waiting_q;  // the dictionary waits for a reset, which the first message may be
  logic [1:0] which, which_q;        // of the datagrams that may be in the stages at once

  // Of the message.
  logic [31:0] message_elements_left_d, message_elements_left_q;
  logic [15:0] next_slot_d, next_slot_q;
  logic [7:0]  string_slots_d, string_slots_q;
  logic [13:0] block_d, block_q;
  logic [7:0]  block_words_d, block_words_q;
  logic [WatchdogBits-1:0] watchdog_d, watchdog_q;

  // The template of the message before.
  logic      last_valid_q, last_bank_q, keep_last;
  dispatch_t last_q;

  // Presence maps.
  localparam int unsigned MapChunk  = 63;  // of nine bytes
  localparam int unsigned MapChunks = MaxMapBits / MapChunk;
  typedef logic [$clog2(MapChunks+1)-1:0] chunk_t;
  typedef logic [MaxMapBits-1:0] map_t;
  map_t map;
  logic has_more;
  logic [16:0] map_begin;
  logic has_more_d, has_more_q;  // bits that cannot be used are set
  map_t loading_d, loading_q;
  chunk_t chunk_d, chunk_q;  // MapChunks: behind the bits that can be used

  // Decimals.
  source_e decimal_d, decimal_q;
  logic decimal_base_d, decimal_base_q;

  // The instructions in work.
  logic        c_valid_q, pair_q;
  logic [ProgramBits-1:0] c_pc_q, c_foreseen_q;
  insn_t [1:0] insn_q;
  logic [16:0] entity_d, entity_q;
  logic        opened_q;  // something of it was issued: its block is open
  logic        padded_d, padded_q, negative_d, negative_q, too_wide_d, too_wide_q, nonzero_d, nonzero_q;
  logic [31:0] awaited_d, awaited_q;  // sequence length, template identifier
  logic        is_call_d, is_call_q;  // that of a dynamic reference
  logic        checks_d, checks_q;    // the length of the sequence that has begun was not looked at yet:
  constant_t   length_constant_d, length_constant_q;
  place_t      length_place_d, length_place_q;

  // Entries of the tables for them.
  constant_t [1:0]    constant;
  entry_state_t [1:0] state;
  block_t       block;
  string_slot_t string_slot;
  dispatch_t    chosen;
  logic         is_found;
  limits_t      limits;

  // -------------------------------------------------------------------------------------------------------------------
  // Fetch

  logic [ProgramBits-1:0] fetch_address, f_pc, foreseen, next_address, redirect_address;
  logic redirect, f_valid, load_c, f_pair, done, steps, advance, flush, fails, is_settled;
  insn_t [1:0] program_insn, f_insn;
  logic is_last_element;
  stopbit_fetch i_fetch (
    .clk_i,
    .rst_ni,
    .take_i            (advance && (!c_valid_q || done)),
    .redirect_i        (redirect),
    .redirect_address_i(redirect_address),
    .is_last_element_i (is_last_element),
    .next_message_i    (last_q.entry),
    .single_issue_i    (limits.single_issue || limits.strict),
    .is_guessed_i      (guess.valid),
    .guess_i           (guess.entry),
    .address_o         (fetch_address),
    .insn_i            (program_insn),
    .valid_o           (f_valid),
    .load_o            (load_c),
    .insn_o            (f_insn),
    .pair_o            (f_pair),
    .pc_o              (f_pc),
    .foreseen_o        (foreseen)
  );
  // Profile programs: what came of the presence map that the segment had before, and what comes of this one.
  profile_t guess, guess_q, profile, lesson;
  logic learns;
  stopbit_map_predictor i_predictor (
    .clk_i,
    .rst_ni,
    .forget_i (load_i.valid),
    .bank_i   (channel.bank),
    .segment_i(f_insn[0].constant[5:0]),
    .guess_o  (guess),
    .learn_i  (learns && advance),
    .profile_i(lesson)
  );
  always_ff @(posedge clk_i) begin
    if (load_c) begin
      guess_q      <= guess;
      insn_q       <= f_insn;
      pair_q       <= f_pair;
      c_pc_q       <= f_pc;
      c_foreseen_q <= foreseen;
    end else if (advance && steps) begin
      insn_q[0] <= insn_q[1];
      pair_q    <= 1'b0;
      c_pc_q    <= c_pc_q + 1'b1;
    end
  end

  // Reads for the instructions that will be in C, or still are.
  insn_t [1:0] next_insn;
  logic [1:0][ContextBits-1:0] entry, read_entry;
  logic [ByteBits-1:0] bytes_address;
  logic [63:0] constant_bytes;
  logic [31:0] lookup_id;
  logic channel_loaded;
  logic [ChannelBits-1:0] loaded_channel;
  channel_t loaded;
  logic bank;
  assign channel = state_q == IDLE ? head_q : channel_q;
  // What is fetched ahead comes from the bank of the datagram before.
  assign bank    = state_q == IDLE && !active_i ? channel_q.bank : channel.bank;
  always_comb begin
    next_insn = insn_q;
    if (load_c) next_insn = f_insn;
    else if (advance && steps) next_insn[0] = insn_q[1];
    for (int unsigned i = 0; i < 2; i++) begin
      entry[i]      = channel.context_base + insn_q[i].slot;
      read_entry[i] = channel.context_base + next_insn[i].slot;
    end
  end

  stopbit_tables i_tables (
    .clk_i,
    .load_i,
    .back_data_o,
    .bank_i            (bank),
    .program_address_i (fetch_address),
    .insn_o            (program_insn),
    .constant_address_i({next_insn[1].constant[ConstantBits-1:0], next_insn[0].constant[ConstantBits-1:0]}),
    .constant_o        (constant),
    .bytes_address_i   (bytes_address),
    .bytes_o           (constant_bytes),
    .block_address_i   (next_insn[0].target[BlockBits-1:0]),
    .block_o           (block),
    .slot_address_i    (next_insn[0].slot),
    .slot_o            (string_slot),
    .template_table_i  (is_call_q && !starts ? insn_q[0].target[TableBits-1:0] : '0),
    .template_id_i     (lookup_id),
    .template_found_o  (is_found),
    .template_o        (chosen),
    .limits_o          (limits),
    .segment_i         (insn_q[0].constant[5:0]),
    .map_i             (state_q == PROFILE ? loading_q[MaxMapBits-1-:64] : {map_bits, 1'b0}),
    .profile_o         (profile),
    .channel_address_i (coming_i.channel[ChannelBits-1:0]),
    .channel_o         (loaded),
    .channel_loaded_o  (channel_loaded),
    .loaded_channel_o  (loaded_channel)
  );
  always_ff @(posedge clk_i) head_q <= loaded;

  logic [GenerationBits-1:0] generation, next_generation;
  logic is_channel_waiting, is_channel_stale, new_generation;
  assign channel_number = datagram_i.channel[ChannelBits-1:0];
  stopbit_channels i_channels (
    .clk_i,
    .rst_ni,
    .channel_i       (state_q == IDLE ? channel_number : channel_number_q),
    .generation_o    (generation),
    .next_o          (next_generation),
    .waits_o         (is_channel_waiting),
    .is_stale_o      (is_channel_stale),
    .reset_i         (new_generation),
    .fail_i          (fails && channel_q.reset_rule != RESET_PACKET),
    .load_i          (channel_loaded),
    .loaded_channel_i(loaded_channel)
  );

  logic [1:0] write_state;
  logic [1:0][ContextBits-1:0] write_entry;
  entry_state_t [1:0] new_state;
  stopbit_dictionary_state i_states (
    .clk_i,
    .generation_i      (generation_q),
    .first_uses_entry_i(uses_slot(next_insn[0].op) || next_insn[0].op == OP_TID),
    .read_entry_i      (read_entry),
    .state_o           (state),
    .write_i           (write_state),
    .write_generation_i(generation_d),
    .write_entry_i     (write_entry),
    .state_i           (new_state)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // Behind C

  logic issue;
  uop_t uop;
  logic stripped_valid, result_valid, writes_string, word_is_wide, string_is_bad;
  logic [1:0] which_behind;
  logic [31:0] stripped, result;
  logic [63:0] string_word;
  stopbit_operate i_operate (
    .clk_i,
    .rst_ni,
    .valid_i         (issue),
    .uop_i           (uop),
    .string_word_i   (string_word),
    .string_is_bad_i (string_is_bad),
    .advance_o       (advance),
    .flush_o         (flush),
    .is_settled_o    (is_settled),
    .stripped_valid_o(stripped_valid),
    .stripped_o      (stripped),
    .result_valid_o  (result_valid),
    .result_o        (result),
    .valid_o,
    .ready_i,
    .datagram_o      (which_behind),
    .command_o
  );
  // The datagram in work fails, and not one before it.
  assign fails = flush && state_q != IDLE && which_behind == which_q;

  // -------------------------------------------------------------------------------------------------------------------
  // What the instructions in C are

  // A presence bit is known to profile programs, else it comes from the map.
  function automatic logic bit_of(insn_t insn, logic from_map);
    return insn.known == 2'd0 ? from_map : insn.known[1];
  endfunction

  plan_t first, second;
  plan_t [1:0] plan;
  assign plan = {second, first};
  bit_group_t group;
  assign group = constant[0].min_bytes[12:0];
  logic first_takes, second_takes;  // a bit of the map
  logic is_string;
  stopbit_consume_lane i_first (
    .op_i           (insn_q[0].op),
    .bit_i          (bit_of(insn_q[0], map[MaxMapBits-1])),
    .has_initial_i  (constant[0].has_value),
    .state_i        (state[0]),
    .group_bits_i   (group.used_bits),
    .exponent_i     (decimal_q),
    .exponent_base_i(decimal_base_q),
    .is_waiting_i   (is_waiting_q),
    .plan_o         (first)
  );
  assign first_takes  = first.takes_bit && insn_q[0].known == 2'd0;
  assign second_takes = second.takes_bit && insn_q[1].known == 2'd0;
  assign is_string   = first.is_text || first.is_vector;

  // The entities at the window, of integers.
  function automatic logic is_zero(logic [79:0] bytes, logic [3:0] length);
    logic zero;
    zero = 1'b1;
    for (int unsigned i = 0; i < 10; i++) begin
      if (4'(i) < length && bytes[8*i+:7] != '0) zero = 1'b0;
    end
    return zero;
  endfunction
  function automatic logic [13:0] short_value(logic [6:0] first_byte, logic [6:0] second_byte, logic [3:0] length);
    return length == 4'd1 ? {7'b0, first_byte} : {first_byte, second_byte};
  endfunction

  logic [1:0][79:0] bytes;
  logic [1:0][3:0] length;
  logic first_is_null;
  logic [1:0] is_null;  // in the stream
  logic [1:0] is_ready;
  logic first_issues;
  assign bytes[0]   = window_i.bytes;
  assign length[0]  = window_i.length;
  assign bytes[1]   = first.source == SOURCE_STREAM ? window_i.second_bytes : window_i.bytes;
  assign length[1]  = first.source == SOURCE_STREAM ? window_i.second_length : window_i.length;
  assign first_is_null = first.source == SOURCE_STREAM && first.is_optional && !nonzero_q && is_zero(bytes[0], length[0]);
  assign is_null[0] = first_is_null;
  assign is_null[1] = second.source == SOURCE_STREAM && second.is_optional && is_zero(bytes[1], length[1]);
  assign is_ready[0] = first.source_code == ERROR_NONE && (first.source != SOURCE_STREAM || length[0] != '0);
  assign is_ready[1] = second.source_code == ERROR_NONE && (second.source != SOURCE_STREAM || length[1] != '0);

  // The second of a pair: its bit, entity and exponent are behind those of the first.
  source_e exponent;
  logic exponent_base;
  always_comb begin
    exponent      = decimal_q;
    exponent_base = decimal_base_q;
    if (first.kind == TYPE_IEXP) exponent = first.source == SOURCE_NONE || first_is_null ? SOURCE_NONE : SOURCE_STREAM;
    if (first.kind == TYPE_DEXP) begin
      exponent      = first_is_null ? SOURCE_NONE : first.source;
      exponent_base = first.base_is_previous;
    end
  end
  stopbit_consume_lane i_second (
    .op_i           (insn_q[1].op),
    .bit_i          (bit_of(insn_q[1], first_takes ? map[MaxMapBits-2] : map[MaxMapBits-1])),
    .has_initial_i  (constant[1].has_value),
    .state_i        (state[1]),
    .group_bits_i   ('0),
    .exponent_i     (exponent),
    .exponent_base_i(exponent_base),
    .is_waiting_i   (1'b0),
    .plan_o         (second)
  );

  // Both go at once. A pair of the verifier's rules may always; the other conditions are for what was not verified.
  logic both;
  logic [1:0] uses_entry;
  assign uses_entry   = {uses_slot(insn_q[1].op), uses_slot(insn_q[0].op) || insn_q[0].op == OP_TID};
  assign first_issues = plan[0].is_value && is_ready[0];
  assign both         = pair_q && first_issues && plan[1].is_value && !plan[0].is_group && !plan[1].is_group && is_ready[1] && insn_q[1].control != CONTROL_BLOCK &&
                        !((&uses_entry) && insn_q[0].slot[0] == insn_q[1].slot[0]);

  // The one whose control-op is done.
  insn_t     last_insn;
  plan_t     last_plan;
  constant_t last_constant;
  logic [14:0] last_bytes;
  logic [3:0]  last_length;
  logic [1:0]  own_bits;  // that the data-ops take of the map
  logic        skip_bit;
  always_comb begin
    last_insn     = insn_q[both];
    last_plan     = plan[both];
    last_constant = constant[both];
    last_bytes    = bytes[both][14:0];
    last_length   = length[both];
    own_bits      = 2'(first_takes) + 2'(both && second_takes);
    skip_bit      = bit_of(last_insn, own_bits[1] ? map[MaxMapBits-3] : own_bits[0] ? map[MaxMapBits-2] :
                                      map[MaxMapBits-1]);
  end

  // An integer that could do with fewer bytes, and the last bits of the entity.
  logic is_overlong, overlong_d, overlong_q, is_signed;
  logic [6:0] last_byte;
  assign is_signed = plan[0].takes_signed || (is_string && text.is_subtraction);
  always_comb begin
    is_overlong = padded_q ? overlong_q : length[0] != 4'd1 &&
                  ((window_i.bytes[6:0] == 7'h00 && !(is_signed && window_i.bytes[14])) ||
                   (window_i.bytes[6:0] == 7'h7F && is_signed && window_i.bytes[14]));
    last_byte   = '0;
    for (int unsigned i = 0; i < 10; i++) begin
      if (4'(i) + 4'd1 == window_i.length) last_byte = window_i.bytes[8*i+:7];
    end
  end

  // The last bits of a bit group.
  logic [5:0] last_of_group;
  always_comb begin
    last_of_group = '0;
    for (int unsigned i = 0; i < 9; i++) begin
      if (4'(i) + 4'd1 == group.bytes) last_of_group = window_i.bytes[8*i+:6];
    end
  end

  // Presence bits of up to nine bytes.
  logic [MapChunk-1:0] map_bits;
  always_comb begin
    map_bits = '0;
    for (int unsigned i = 0; i < 9; i++) begin
      if (window_i.length == '0 || 4'(i) < window_i.length) map_bits[7*(8-i)+:7] = window_i.bytes[8*i+:7];
    end
  end

  // A message that begins, in one step or by instructions, and an instruction that opens a block before its data-op.
  logic begins_quickly, starts, message_begins, opens_block, is_stored;
  assign begins_quickly = head_q.reset_rule == RESET_PACKET &&
                          preamble_is_short(datagram_i.data_offset, datagram_i.length_bytes);
  assign starts         = state_q == START || (state_q == IDLE && active_i && begins_quickly);
  assign message_begins = state_q == RUN && c_pc_q == '0;
  assign opens_block    = insn_q[0].control == CONTROL_BLOCK && !opened_q;
  assign is_stored      = insn_q[0].word < (opens_block ? block.words : block_words_q);

  logic clear_stacks;
  assign clear_stacks = starts || (message_begins && c_valid_q);
  logic push_map, restore_map, push_loop, end_element;
  // The map that is pushed: behind the bit of a template identifier, or the bits that a profile program stands for.
  map_t pushed_map;
  logic [5:0] skipped_bits;
  logic is_guessed, is_profiled;
  assign is_profiled  = insn_q[0].constant[5:0] != '0;  // of PMAP: the segment has profile programs
  assign is_guessed   = guess_q.valid && guess_q.bits == {map_bits, 1'b0};
  assign skipped_bits = state_q == PROFILE ? (profile.valid ? profile.taken : '0) : starts ? 6'd1 : is_guessed ? guess_q.taken : '0;
  always_comb begin
    pushed_map = state_q == PROFILE ? loading_q : loading_d;
    if (state_q == PROFILE || starts || (is_profiled && window_i.length inside {[4'd1:4'd9]} && state_q == RUN)) begin
      pushed_map[MaxMapBits-1-:MapChunk] = pushed_map[MaxMapBits-1-:MapChunk] << skipped_bits;
    end
  end
  logic [1:0] bits_taken;
  logic [4:0] map_depth, restore_depth, loop_map_depth;
  logic [3:0] loop_depth;
  stopbit_presence_maps i_maps (
    .clk_i,
    .advance_i      (advance),
    .clear_i        (clear_stacks),
    .push_i         (push_map),
    .map_i          (pushed_map),
    .has_more_i     (has_more_d),
    .begin_i        (entity_q),
    .take_i         (bits_taken),
    .restore_i      (restore_map),
    .restore_depth_i(restore_depth),
    .map_o          (map),
    .has_more_o     (has_more),
    .begin_o        (map_begin),
    .depth_o        (map_depth)
  );
  stopbit_loops i_loops (
    .clk_i,
    .advance_i  (advance),
    .clear_i    (clear_stacks),
    .push_i     (push_loop),
    .count_i    (awaited_d[16:0]),
    .map_depth_i(map_depth),
    .end_i      (end_element),
    .depth_o    (loop_depth),
    .is_last_o  (is_last_element),
    .map_depth_o(loop_map_depth)
  );

  logic push_call, pop_call;
  logic [3:0] call_depth;
  logic [ProgramBits-1:0] return_address;
  logic [15:0] caller;
  stopbit_calls i_calls (
    .clk_i,
    .advance_i (advance),
    .clear_i   (clear_stacks),
    .push_i    (push_call),
    .return_i  (c_pc_q + 1'b1),
    .template_i(template_q),
    .pop_i     (pop_call),
    .depth_o   (call_depth),
    .return_o  (return_address),
    .template_o(caller)
  );

  logic text_active;
  logic [16:0] first_position, place, left;  // bytes of the datagram before the window, and from there on
  assign first_position = preamble_is_short(datagram_i.data_offset, datagram_i.length_bytes) ?
                          17'(datagram_i.data_offset) : '0;
  assign place = state_q == IDLE ? first_position : position_q;
  assign left  = (state_q == IDLE ? datagram_i.length_bytes : datagram_q.length_bytes) - place;
  logic [3:0] available;
  assign available = window_i.available > 5'(WindowBytes) ? 4'(WindowBytes) : window_i.available[3:0];
  text_step_t text;
  stopbit_text i_text (
    .clk_i,
    .rst_ni,
    .begins_i        (load_c || (advance && steps)),
    .advance_i       (advance),
    .active_i        (text_active),
    .plan_i          (plan[0]),
    .constant_i      (constant[0]),
    .slot_i          (string_slot),
    .string_base_i   (channel_q.string_base),
    .entry_length_i  (state[0].length),
    .entry_is_wide_i (state[0].is_wide),
    .entry_in_second_i(state[0].in_second),
    .is_stored_i     (is_stored),
    .string_slots_i  (string_slots_q),
    .max_bytes_i     (limits.string_bytes),
    .is_strict_i     (limits.strict),
    .bytes_i         (window_i.bytes),
    .available_i     (available),
    .length_i        (window_i.length),
    .end_i           (window_i.is_whole),
    .left_i          (left),
    .entity_is_zero_i(!nonzero_q && is_zero(bytes[0], length[0])),
    .stripped_valid_i(stripped_valid),
    .stripped_i      (stripped),
    .writes_string_i (writes_string),
    .is_settled_i    (is_settled),
    .word_is_wide_i  (word_is_wide),
    .bytes_address_o (bytes_address),
    .step_o          (text)
  );
  stopbit_string_unit i_strings (
    .clk_i,
    .rst_ni,
    .advance_i       (advance),
    .flush_i         (fails),
    .valid_i         (issue && uop.is_piece),
    .piece_i         (text.piece),
    .bytes_i         (window_i.bytes[63:0]),
    .is_text_i       (plan[0].is_text),
    .constant_bytes_i(constant_bytes),
    .keep_i          (text_active && text.keeps && advance),
    .keep_address_i  (text.keep_address),
    .word_o          (string_word),
    .is_wide_o       (word_is_wide),
    .is_bad_o        (string_is_bad),
    .writes_o        (writes_string)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // Consume

  // What happens in this cycle.
  logic [4:0]  take;
  logic        has_control;  // the data-op is done: now the control-op
  logic        is_present;   // the value of the last data-op is there
  logic        drops_map;
  logic [7:0]  code;         // an error
  logic [5:0]  block_slots, root_slots;
  logic [7:0]  root_reach;
  logic [32:0] element_bytes;
  chunk_t      chunk;
  logic        release_window;
  dispatch_t   root;       // the template that begins
  logic        opens_root;
  logic        is_same;    // it is that of the message before, whose beginning is in C or comes next
  logic [13:0] quick_id;
  logic        length_is_wrong;
  logic        ends_alone, is_overfull, ends_message;

  assign take_o          = take;
  assign release_o       = release_window;
  assign datagram_done_o = release_window;
  assign issued_o        = {both && done, (done && !both) || steps};
  assign which           = state_q == IDLE ? which_q + 2'd1 : which_q;
  assign quick_id        = short_value(window_i.second_bytes[6:0], window_i.second_bytes[14:8], window_i.second_length);
  assign is_same         = last_valid_q && last_bank_q == channel.bank && channel_q.bank == channel.bank && last_q.id == 32'(quick_id) &&
                           (c_valid_q ? c_pc_q == last_q.entry : f_valid && f_pc == last_q.entry);
  // What is left of the template behind its last sequence is an END alone: it goes with the last element.
  assign ends_alone      = f_valid && f_pc == c_foreseen_q && f_insn[0].op == OP_NOP && f_insn[0].control == CONTROL_END &&
                           f_insn[0].word == NoWord;
  assign element_bytes   = 33'(awaited_q[16:0]) * 33'(length_constant_q.min_bytes);
  assign length_is_wrong = awaited_q[31:17] != '0 || element_bytes > 33'(left) || awaited_q > 32'(elements_left_q) ||
                           awaited_q > message_elements_left_q ||
                           (length_constant_q.may_be_empty && awaited_q > limits.empty_elements);

  always_comb begin
    state_d                 = state_q;
    generation_d            = generation_q;
    start_d                 = start_q;
    elements_left_d         = elements_left_q;
    message_index_d         = message_index_q;
    template_d              = template_q;
    is_waiting_d            = is_waiting_q;
    message_elements_left_d = message_elements_left_q;
    next_slot_d             = next_slot_q;
    string_slots_d          = string_slots_q;
    block_d                 = block_q;
    block_words_d           = block_words_q;
    watchdog_d              = watchdog_q;
    loading_d               = loading_q;
    chunk_d                 = chunk_q;
    has_more_d              = has_more_q;
    decimal_d               = decimal_q;
    decimal_base_d          = decimal_base_q;
    padded_d                = padded_q;
    negative_d              = negative_q;
    too_wide_d              = too_wide_q;
    nonzero_d               = nonzero_q;
    overlong_d              = overlong_q;
    awaited_d               = awaited_q;
    is_call_d               = is_call_q;
    checks_d                = 1'b0;
    length_constant_d       = length_constant_q;
    length_place_d          = length_place_q;

    redirect         = 1'b0;
    redirect_address = '0;
    done             = 1'b0;
    steps            = 1'b0;
    next_address     = c_pc_q + (both ? 14'd2 : 14'd1);
    issue            = 1'b0;
    take             = '0;
    has_control      = 1'b0;
    is_present       = 1'b0;
    drops_map        = 1'b0;
    bits_taken       = '0;
    push_map         = 1'b0;
    push_loop        = 1'b0;
    push_call        = 1'b0;
    pop_call         = 1'b0;
    code             = ERROR_NONE;
    end_element      = 1'b0;
    ends_message     = 1'b0;
    is_overfull      = 1'b0;
    restore_map      = 1'b0;
    restore_depth    = map_depth - 5'd1;
    text_active      = 1'b0;
    block_slots      = '0;
    chunk            = state_q == RUN ? '0 : chunk_q;
    new_generation   = 1'b0;
    release_window   = 1'b0;
    opens_root       = 1'b0;
    root             = state_q == DISPATCH ? chosen : last_q;
    root_reach       = root.root.words + (state_q == DISPATCH && is_call_q ? 8'd1 : 8'(HeaderWords));
    root_slots       = 6'((9'(root_reach) + 9'(ValueWords - 1)) / 9'(ValueWords));
    keep_last        = 1'b0;
    learns           = 1'b0;
    lesson           = profile;
    lesson.segment   = insn_q[0].constant[5:0];
    lesson.bits      = loading_q[MaxMapBits-1-:64];
    write_state      = '0;
    write_entry      = entry;
    new_state        = '0;
    entity_d         = entity_q;
    lookup_id        = state_q == DISPATCH ? awaited_q : starts ? 32'(quick_id) : stripped_valid ? stripped : result;

    uop               = '0;
    uop.datagram      = which;
    uop.is_dropped    = is_waiting_q;
    for (int unsigned i = 0; i < 2; i++) begin
      uop.lane[i].bytes            = bytes[i];
      uop.lane[i].length           = length[i];
      uop.lane[i].source           = is_null[i] ? SOURCE_NONE : plan[i].source;
      uop.lane[i].operation        = plan[i].operation;
      uop.lane[i].kind             = plan[i].is_group ? TYPE_U64 : plan[i].kind;
      uop.lane[i].optional         = plan[i].is_optional;
      uop.lane[i].is_base_previous = plan[i].base_is_previous;
      uop.lane[i].constant         = constant[i];
      uop.lane[i].entry            = entry[i];
      uop.lane[i].uses_entry       = uses_entry[i];
      new_state[i].kind            = plan[i].dictionary_kind;
    end
    uop.lane[0].is_group             = plan[0].is_group;
    uop.lane[0].unused_bits          = group.unused_bits;
    uop.lane[0].is_field             = plan[0].is_field;
    uop.lane[0].field_behind         = insn_q[0].slot[11:6];
    uop.lane[0].field_width          = insn_q[0].slot[5:0];
    uop.lane[0].padded               = padded_q;
    uop.lane[0].negative             = negative_q;
    uop.lane[0].too_wide             = too_wide_q;
    uop.command.block                = block;
    uop.command.word                 = insn_q[0].word;
    uop.command.second_word          = insn_q[1].word;
    uop.command.template_index       = template_q;
    uop.command.message_index        = message_index_q;
    uop.command.place.offset_bytes   = entity_q;
    uop.command.place.template_index = message_begins ? NoTemplate : template_q;
    uop.command.place.block          = insn_q[0].word == NoWord ? NoBlock : 16'(block_q);
    uop.command.place.word           = insn_q[0].word;
    uop.second_offset_bytes          = position_q + (plan[0].source == SOURCE_STREAM ? 17'(length[0]) : '0);
    uop.pc                           = state_q inside {RUN, PMAP_MORE, CONTROL, SEQ_WAIT, SEQ, OVERFULL} ? c_pc_q : '0;
    uop.begins                       = !opened_q && !(state_q inside {SEQ_WAIT, SEQ, OVERFULL});

    case (state_q)
      IDLE:
      if (active_i) begin
        state_d         = PREAMBLE;
        message_index_d = '0;
        template_d      = NoTemplate;
        new_generation  = head_q.reset_rule == RESET_PACKET || is_channel_stale;
        is_waiting_d    = is_channel_waiting && !new_generation;
        generation_d    = new_generation ? next_generation : generation;
        start_d         = place;
        elements_left_d = 21'(left) << 3;
      end

      PREAMBLE: begin
        start_d         = position_q;
        elements_left_d = 21'(left) << 3;
        if (position_q == 17'(datagram_q.data_offset)) begin
          state_d = START;
          if (is_waiting_q && channel_q.reset_rule == RESET_NEVER) code = ERROR_D5;  // tells that the datagram is dropped
        end else if (available != '0) begin
          take = 5'(available);
          if (17'(datagram_q.data_offset) - position_q < 17'(available)) begin
            take = 5'(17'(datagram_q.data_offset) - position_q);
          end
        end else if (window_i.is_whole) begin
          code = ERROR_X9;
        end
      end

      START: ;  // below

      FINISH: begin
        // The end of a datagram that was cut, or that ends before its length, is an error behind its last message.
        if (is_settled && (datagram_q.cut || left != '0 || is_waiting_q)) begin
          code = ERROR_X1;
        end else if (is_settled) begin
          release_window = 1'b1;
          state_d        = IDLE;
        end
      end

      FAILED: ;

      default:
      if (c_valid_q) begin
        if (message_begins) begin
          next_slot_d             = '0;
          string_slots_d          = '0;
          message_elements_left_d = limits.elements;
        end

        // The length of the sequence that began with the instruction before.
        if (checks_q) begin
          elements_left_d         = elements_left_q - 21'(awaited_q[16:0]);
          message_elements_left_d = message_elements_left_q - 32'(awaited_q[16:0]);
          if (length_is_wrong) begin
            code              = ERROR_X2;
            uop.command.place = length_place_q;
          end
        end

        // The block comes before anything else.
        if (code == ERROR_NONE && opens_block) begin
          block_slots      = 6'((9'(block.words) + 9'(ValueWords - 1)) / 9'(ValueWords));
          block_d          = insn_q[0].target;
          block_words_d    = block.words;
          uop.command.open = 1'b1;
          if (insn_q[0].word != NoWord) uop.command.place.block = 16'(insn_q[0].target);
          if (17'(next_slot_q) + 17'(block_slots) > 17'(limits.max_record_slots)) code = ERROR_X4;
          if (message_begins) code = ERROR_X15;  // no verified program: a message begins with its presence map
        end

        // The data-op.
        if (code == ERROR_NONE) begin
          case (state_q)
            RUN, PMAP_MORE: begin
              if (insn_q[0].op == OP_NOP) begin
                uop.lane[0].source = SOURCE_NONE;
                has_control        = 1'b1;
              end else if (insn_q[0].op == OP_PMAP) begin
                uop.lane[0].source = SOURCE_NONE;
                template_d         = message_begins ? NoTemplate : template_q;
                if (map_depth == 5'(MaxMapDepth)) begin
                  code = ERROR_X7;
                end else if (window_i.length == '0 && available < 4'd9) begin
                  if (window_i.is_whole) code = ERROR_X1;
                end else begin
                  if (chunk == '0) {loading_d, has_more_d} = '0;
                  if (chunk == chunk_t'(MapChunks) && map_bits != '0) has_more_d = 1'b1;
                  for (int unsigned i = 0; i < MapChunks; i++) begin
                    if (chunk == chunk_t'(i)) loading_d[MapChunk*(MapChunks-1-i)+:MapChunk] = map_bits;
                  end
                  if (window_i.length == '0 || window_i.length == 4'd10) begin
                    take    = 5'd9;
                    chunk_d = chunk == chunk_t'(MapChunks) ? chunk : chunk + 1'b1;
                    state_d = PMAP_MORE;
                  end else begin
                    take        = 5'(window_i.length);
                    push_map    = 1'b1;
                    if (limits.strict && (chunk != '0 || window_i.length != 4'd1) && last_byte == '0) code = ERROR_R7;
                    has_control = insn_q[0].control == CONTROL_NEXT || insn_q[0].control == CONTROL_BLOCK;
                    if (!has_control) begin
                      state_d = CONTROL;
                    end else if (is_profiled && state_q == RUN) begin
                      // It is looked up, unless it is the one that was looked up last.
                      push_map     = is_guessed;
                      has_control  = is_guessed;
                      next_address = guess_q.entry;
                      if (!is_guessed) state_d = PROFILE;
                    end
                  end
                end
              end else if (plan[0].source_code != ERROR_NONE) begin
                code = plan[0].source_code;
              end else if (plan[0].is_field) begin
                // Its group was taken by the instructions before.
                uop.lane[0].source = SOURCE_INITIAL;
                has_control        = 1'b1;
              end else if (plan[0].is_group && plan[0].source == SOURCE_STREAM && plan[0].operation != OPERATOR_DEL) begin
                // Exactly as many bytes as the fields need.
                if (available >= group.bytes || available == 4'd10 || length[0] != '0) begin
                  has_control = 1'b1;
                  if (length[0] != group.bytes || (last_of_group & ~(6'h3F << group.unused_bits)) != '0) code = ERROR_X10;
                  else take = 5'(length[0]);
                end else if (window_i.is_whole) begin
                  code = ERROR_X1;
                end
              end else if (plan[0].is_value || insn_q[0].op == OP_TID) begin
                has_control = is_ready[0];
                if (is_ready[0] && plan[0].source == SOURCE_STREAM) begin
                  take = 5'(length[0]);
                  if (limits.strict && is_overlong) code = ERROR_R6;
                end
                if (both && plan[1].source == SOURCE_STREAM) take = take + 5'(length[1]);
              end else if (!is_string) begin
                code = ERROR_X15;
              end else begin
                text_active = 1'b1;
                take        = 5'(text.take);
                code        = text.code;
                has_control = text.done;
                if (limits.strict && text.wants_number && text.take != '0 && is_overlong) code = ERROR_R6;
                uop.checks_utf8 = text.checks_utf8;
                uop.lane[0].source = text.is_null ? SOURCE_NONE : plan[0].source;
                if (text.asks_number) begin
                  issue                      = 1'b1;
                  uop.lane[0].is_value       = 1'b1;
                  uop.lane[0].is_awaited     = 1'b1;
                  uop.lane[0].is_subtraction = text.is_subtraction;
                  uop.lane[0].kind           = text.is_subtraction ? TYPE_S32 : TYPE_U32;
                  uop.lane[0].optional       = text.is_nullable;
                  uop.lane[0].operation      = OPERATOR_NON;
                  uop.lane[0].constant       = '0;
                  {padded_d, negative_d, too_wide_d, nonzero_d} = '0;  // another entity may follow
                end
                if (text.is_piece) begin
                  issue                  = 1'b1;
                  uop.is_piece           = 1'b1;
                  uop.command.piece      = is_stored && text.piece.emits && (!text.is_last || text.is_long);
                  uop.command.store      = is_stored && text.is_last;
                  uop.command.string_end = text.is_last;
                  uop.command.is_long    = text.is_long;
                  uop.command.count      = text.count;
                end
                string_slots_d = string_slots_q + text.slots;
              end

              // A number that does not end in the window: what is more than ten bytes is padding.
              if (plan[0].source_code == ERROR_NONE && plan[0].source == SOURCE_STREAM && length[0] == '0 &&
                  ((plan[0].is_value && (!plan[0].is_group || plan[0].operation == OPERATOR_DEL)) ||
                   insn_q[0].op == OP_TID || text.wants_number)) begin
                if (available == 4'd10) begin
                  take       = 5'd1;
                  padded_d   = 1'b1;
                  overlong_d = is_overlong;
                  if (!padded_q) negative_d = window_i.bytes[6] && is_signed;
                  too_wide_d = too_wide_q || window_i.bytes[6:0] != {7{negative_d}};
                  nonzero_d  = nonzero_q || window_i.bytes[6:0] != '0;
                end else if (window_i.is_whole) begin
                  code = ERROR_X1;
                end
              end
            end

            PROFILE: begin
              uop.lane[0].source = SOURCE_NONE;
              push_map           = 1'b1;
              has_control        = 1'b1;
              learns             = 1'b1;
              lesson.valid       = 1'b1;
              if (profile.valid) begin
                next_address = profile.entry;
              end else begin
                lesson.entry = next_address;
                lesson.taken = '0;
              end
            end

            CONTROL: begin
              uop.lane[0].source = SOURCE_NONE;
              has_control        = 1'b1;
            end

            SEQ_WAIT:
            if (result_valid) begin
              awaited_d = result;
              state_d   = SEQ;
            end

            SEQ: begin
              uop.command.place = length_place_q;
              if (awaited_q == '0) begin
                done         = 1'b1;
                next_address = insn_q[0].target;
              end else if (length_is_wrong) begin
                code = ERROR_X2;
              end else if (loop_depth == 4'(MaxLoopDepth) || 16'(loop_depth) >= limits.nesting) begin
                code = ERROR_X7;
              end else begin
                elements_left_d         = elements_left_q - 21'(awaited_q[16:0]);
                message_elements_left_d = message_elements_left_q - 32'(awaited_q[16:0]);
                push_loop               = 1'b1;
                done                    = 1'b1;
              end
            end

            TID_WAIT:
            // The table of templates is read with the identifier.
            if (stripped_valid || result_valid) begin
              awaited_d = stripped_valid ? stripped : result;
              state_d   = DISPATCH;
            end

            DISPATCH: ;  // below

            UNUSED_BITS: begin
              code                           = ERROR_R8;
              uop.command.place.word         = NoWord;
              uop.command.place.block        = NoBlock;
              uop.command.place.offset_bytes = map_begin;
            end

            default: begin  // OVERFULL
              code                           = ERROR_X4;
              uop.command.place.word         = NoWord;
              uop.command.place.block        = NoBlock;
              uop.command.place.offset_bytes = position_q;
            end
          endcase
        end

        // What the data-ops leave behind, and the control-op.
        is_present = uop.lane[both].source != SOURCE_NONE;
        if (has_control && code == ERROR_NONE) begin
          issue      = 1'b1;
          steps      = pair_q && !both;
          is_overfull = 17'(next_slot_q) + 17'(string_slots_d) > 17'(limits.max_record_slots);
          uop.is_pair = both;
          done       = !steps;
          bits_taken = own_bits;
          for (int unsigned i = 0; i < 2; i++) begin
            if (plan[i].is_value && (i == 0 || both)) begin
              uop.lane[i].is_value     = 1'b1;
              uop.lane[i].base_code    = plan[i].base_code;
              uop.lane[i].writes_entry = plan[i].remembers && uop.lane[i].source != SOURCE_NONE;
              if (plan[i].kind == TYPE_IEXP) decimal_d = uop.lane[i].source != SOURCE_NONE ? SOURCE_STREAM : SOURCE_NONE;
              if (plan[i].kind == TYPE_DEXP) begin
                decimal_d      = uop.lane[i].source;
                decimal_base_d = plan[i].base_is_previous;
              end
            end
            if (plan[i].remembers && (i == 0 ? plan[0].is_value || is_string : both) &&
                !(plan[i].is_mantissa && (i == 0 ? decimal_q : exponent) == SOURCE_NONE)) begin
              // A NULL delta changes nothing.
              write_state[i]           = uop.lane[i].source != SOURCE_NONE || plan[i].operation != OPERATOR_DEL;
              new_state[i].is_assigned = uop.lane[i].source != SOURCE_NONE;
            end
          end
          if (plan[0].is_value && !plan[0].is_group) uop.command.store = is_stored && uop.lane[0].source != SOURCE_NONE;
          if (plan[0].is_field) begin
            uop.lane[0].is_value = 1'b1;
            uop.command.store    = is_stored;
          end
          if (plan[0].is_group) new_state[0].length = 13'(group.used_bits);
          uop.command.second_store = both && insn_q[1].word < block_words_q && uop.lane[1].source != SOURCE_NONE;
          if (is_string) begin
            new_state[0].length    = text.count[12:0];
            new_state[0].is_wide   = text.is_wide;
            new_state[0].in_second = text.in_second;
          end

          // A map that is dropped here has to be used up.
          drops_map = last_insn.control == CONTROL_POP || last_insn.control == CONTROL_END ||
                      (last_insn.control == CONTROL_LEND && loop_map_depth < map_depth);
          if (limits.strict && drops_map && (has_more || (map << bits_taken) != '0)) begin
            done    = 1'b0;
            state_d = UNUSED_BITS;
          end else if (!steps) begin
            case (last_insn.control)
              CONTROL_SEQ: begin
                awaited_d         = 32'(short_value(last_bytes[6:0], last_bytes[14:8], last_length)) - 32'(last_plan.is_optional);
                if (uop.lane[both].source == SOURCE_INITIAL) awaited_d = last_constant.value[31:0];
                length_constant_d = last_constant;
                length_place_d    = uop.command.place;
                if (both) begin
                  length_place_d.word         = insn_q[1].word;
                  length_place_d.offset_bytes = uop.second_offset_bytes;
                end
                uop.lane[both].is_awaited = uop.lane[both].source == SOURCE_PREVIOUS ||
                  (uop.lane[both].source == SOURCE_STREAM &&
                   (last_plan.operation == OPERATOR_DEL || (!both && padded_q) || last_length > 4'd2));
                if (!is_present) begin
                  next_address = last_insn.target;
                end else if (uop.lane[both].is_awaited || loop_depth == 4'(MaxLoopDepth) ||
                             16'(loop_depth) >= limits.nesting) begin
                  done    = 1'b0;
                  steps   = both;
                  state_d = uop.lane[both].is_awaited ? SEQ_WAIT : SEQ;
                end else if (awaited_d == '0) begin
                  next_address = last_insn.target;
                end else begin
                  // The loop begins, and its length is looked at beside the next instruction.
                  push_loop = 1'b1;
                  checks_d  = 1'b1;
                end
              end
              CONTROL_LEND: begin
                end_element   = 1'b1;
                restore_map   = 1'b1;
                restore_depth = loop_map_depth;
                if (!is_last_element) begin
                  next_address = last_insn.target;
                end else if (ends_alone && !is_overfull && !limits.strict && call_depth == '0 && loop_depth == 4'd1 &&
                             next_address == c_foreseen_q) begin
                  ends_message = 1'b1;
                end
              end
              CONTROL_SKIP: begin
                bits_taken = own_bits + 2'(last_insn.known == 2'd0);
                if (!skip_bit) begin
                  next_address = last_insn.target;
                end else if (insn_q[0].op == OP_NOP) begin
                  uop.command.store = is_stored;
                  uop.command.value = 64'd1;
                end
              end
              CONTROL_POP:  restore_map = 1'b1;
              CONTROL_JOIN: next_address = last_insn.target;
              CONTROL_DISP, CONTROL_CALL: begin
                // The identifier is a mandatory uInt32 with copy.
                done                     = 1'b0;
                state_d                  = TID_WAIT;
                is_call_d                = last_insn.control == CONTROL_CALL;
                uop.lane[0].is_value     = 1'b1;
                uop.lane[0].is_awaited   = 1'b1;
                uop.lane[0].kind         = TYPE_U32;
                uop.lane[0].operation    = OPERATOR_COP;
                uop.lane[0].constant     = '0;
                uop.lane[0].writes_entry = 1'b1;
                write_state[0]           = 1'b1;
                new_state[0].is_assigned = 1'b1;
                new_state[0].kind        = TYPE_U32;
              end
              CONTROL_END: begin
                next_address = c_foreseen_q;
                if (call_depth != '0) begin
                  next_address = return_address;
                  restore_map  = 1'b1;
                  pop_call     = 1'b1;
                  template_d   = caller;
                end else if (is_overfull) begin
                  done    = 1'b0;
                  state_d = OVERFULL;
                end else begin
                  ends_message = 1'b1;
                end
              end
              default: ;
            endcase
            if (ends_message) begin
              uop.command.commit = 1'b1;
              uop.command.flags  = left == 17'(take) ? FlagLastOfPacket : '0;
              message_index_d    = message_index_q + 16'd1;
            end
          end
        end

        if (issue && uop.command.open) next_slot_d = next_slot_q + 16'(block_slots);
        // A message begins behind the end of another, and nowhere else: no verified program jumps to its beginning.
        if (done && next_address == '0 && !uop.command.commit) code = ERROR_X15;
        if (done && code == ERROR_NONE) begin
          state_d          = RUN;
          redirect         = next_address != c_foreseen_q;
          redirect_address = next_address;
          if (ends_message && last_insn.control == CONTROL_LEND) begin
            redirect         = 1'b1;
            redirect_address = last_q.entry;
          end
          if (uop.command.commit && left != 17'(take)) begin
            state_d = START;
          end else if (uop.command.commit) begin
            // The next datagram begins while this one is on its way out, if nothing of it outlives it.
            release_window = channel_q.reset_rule == RESET_PACKET && !datagram_q.cut;
            state_d        = release_window ? IDLE : FINISH;
          end
        end
      end
    endcase

    if (starts) begin
      is_call_d               = 1'b0;
      loading_d               = {map_bits, {MaxMapBits-MapChunk{1'b0}}};
      next_slot_d             = '0;
      string_slots_d          = '0;
      message_elements_left_d = limits.elements;
      template_d              = NoTemplate;
      state_d                 = START;
      if (left == '0) begin
        state_d = FINISH;
      end else if (window_i.available != '0 && window_i.bytes[6] && window_i.length inside {[4'd1:4'd9]} &&
                   window_i.second_length inside {4'd1, 4'd2} && !(state_q == START && is_waiting_q) && !limits.strict) begin
        take                         = 5'(window_i.length) + 5'(window_i.second_length);
        push_map                     = 1'b1;
        issue                        = 1'b1;
        entity_d                     = place + 17'(window_i.length) + (is_same ? 17'(window_i.second_length) : '0);
        uop.lane[0].bytes            = window_i.second_bytes;
        uop.lane[0].length           = window_i.second_length;
        uop.lane[0].is_value         = 1'b1;
        uop.lane[0].source           = SOURCE_STREAM;
        uop.lane[0].operation        = OPERATOR_COP;
        uop.lane[0].kind             = TYPE_U32;
        uop.lane[0].optional         = 1'b0;
        uop.lane[0].padded           = 1'b0;
        uop.lane[0].too_wide         = 1'b0;
        uop.lane[0].constant         = '0;
        {uop.lane[0].is_group, uop.lane[0].is_field} = '0;
        uop.lane[0].uses_entry       = 1'b1;
        uop.lane[0].writes_entry     = 1'b1;
        uop.lane[0].entry            = channel.context_base;
        write_state[0]               = 1'b1;
        write_entry[0]               = channel.context_base;
        new_state[0].is_assigned     = 1'b1;
        new_state[0].kind            = TYPE_U32;
        awaited_d                    = 32'(quick_id);
        opens_root                   = is_same;
        state_d                      = is_same ? RUN : DISPATCH;
      end else if (window_i.available > 5'(BeatBytes) || window_i.is_whole ||
                   (window_i.available != '0 && !window_i.bytes[6]) || (state_q == START && is_waiting_q) || limits.strict) begin
        // By instructions, from the first one on.
        state_d  = RUN;
        redirect = 1'b1;
      end
    end

    if (state_q == DISPATCH) begin
      uop.command.place.word  = NoWord;
      uop.command.place.block = NoBlock;
      if (!is_found || (is_waiting_q && !chosen.reset)) begin
        code                          = ERROR_D9;
        uop.command.place.template_id = awaited_q;
      end else if (is_call_q && (call_depth == 4'(MaxCallDepth) || 16'(call_depth) >= limits.nesting)) begin
        code = ERROR_X7;
      end else if (17'(root_slots) + (is_call_q ? 17'(next_slot_q) : '0) > 17'(limits.max_record_slots)) begin
        code = ERROR_X4;
      end else begin
        issue            = 1'b1;
        opens_root       = 1'b1;
        push_call        = is_call_q;
        keep_last        = !is_call_q;
        state_d          = RUN;
        redirect         = 1'b1;
        redirect_address = chosen.entry;
      end
    end

    // A template begins.
    if (opens_root) begin
      if (root.reset && channel.reset_rule != RESET_NEVER) begin
        new_generation           = 1'b1;
        is_waiting_d             = 1'b0;
        generation_d             = next_generation;
        write_state[0]           = 1'b1;
        write_entry[0]           = channel.context_base;
        new_state[0].is_assigned = 1'b1;
        new_state[0].kind        = TYPE_U32;
      end
      uop.command.open      = 1'b1;
      uop.command.open_root = 1'b1;
      uop.command.block     = root.root;
      template_d            = root.template_index;
      block_d               = root.root_block;
      block_words_d         = root.root.words;
      next_slot_d           = 16'(root_slots);
      if (push_call) begin
        uop.command.open_root      = 1'b0;
        uop.command.open_reference = 1'b1;
        uop.command.value          = 64'(root.template_index);
        next_slot_d                = next_slot_q + 16'(root_slots);
      end
    end

    watchdog_d = state_q == IDLE ? '0 : watchdog_q + 1'b1;  // of the datagram: a message need not end
    if (&watchdog_q && state_q != FAILED && state_q != IDLE) code = ERROR_X15;

    if (code != ERROR_NONE) begin
      issue          = 1'b1;
      done           = 1'b0;
      steps          = 1'b0;
      redirect       = 1'b0;
      release_window = 1'b0;
      write_state    = '0;
      uop.code       = code;
      state_d        = FAILED;
      if (state_q == PREAMBLE || state_q == FINISH) begin
        uop.command.place.word         = NoWord;
        uop.command.place.block        = NoBlock;
        uop.command.place.offset_bytes = position_q;
        uop.command.place.template_index = template_q;
      end
    end
    if (is_waiting_q && state_q != IDLE) begin
      // Whatever is wrong says only that the datagram does not begin with a reset.
      uop.command.place       = '0;
      uop.command.place.word  = NoWord;
      uop.command.place.block = NoBlock;
      uop.command.place.template_index = NoTemplate;
      uop.command.place.offset_bytes   = state_q == PREAMBLE ? position_q : start_q;
    end

    // While the stages behind stand still, so does this one.
    if (!advance) begin
      issue          = 1'b0;
      done           = 1'b0;
      steps          = 1'b0;
      redirect       = 1'b0;
      take           = '0;
      write_state    = '0;
      new_generation = 1'b0;
      release_window = 1'b0;
    end
    if (fails) begin
      state_d          = IDLE;
      release_window   = 1'b1;
      redirect         = 1'b1;
      redirect_address = last_q.entry;
    end
    position_d = place + 17'(take);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q      <= IDLE;
      c_valid_q    <= 1'b0;
      last_valid_q <= 1'b0;
    end else begin
      if (advance) begin
        state_q   <= state_d;
        c_valid_q <= load_c || (c_valid_q && !done && !redirect);
      end
      if (advance && keep_last) last_valid_q <= 1'b1;
      if (advance && state_q == IDLE && active_i && head_q.bank != channel_q.bank) last_valid_q <= 1'b0;
      if (load_i.valid && load_i.address[19:16] != TABLE_CHANNELS) last_valid_q <= 1'b0;
    end
    if (advance) begin
      generation_q            <= generation_d;
      position_q              <= position_d;
      start_q                 <= start_d;
      elements_left_q         <= elements_left_d;
      message_index_q         <= message_index_d;
      template_q              <= template_d;
      is_waiting_q            <= is_waiting_d;
      message_elements_left_q <= message_elements_left_d;
      next_slot_q             <= next_slot_d;
      string_slots_q          <= string_slots_d;
      block_q                 <= block_d;
      block_words_q           <= block_words_d;
      watchdog_q              <= watchdog_d;
      loading_q               <= loading_d;
      chunk_q                 <= chunk_d;
      has_more_q              <= has_more_d;
      decimal_q               <= decimal_d;
      decimal_base_q          <= decimal_base_d;
      awaited_q               <= awaited_d;
      is_call_q               <= is_call_d;
      checks_q                <= checks_d;
      length_constant_q       <= length_constant_d;
      length_place_q          <= length_place_d;
      opened_q                <= !load_c && !steps && !done && state_q inside {RUN, PMAP_MORE, CONTROL, SEQ_WAIT, SEQ, OVERFULL} &&
                                 (opened_q || issue);
      padded_q                <= !load_c && !steps && padded_d;
      negative_q              <= !load_c && !steps && negative_d;
      too_wide_q              <= !load_c && !steps && too_wide_d;
      nonzero_q               <= !load_c && !steps && nonzero_d;
      overlong_q              <= overlong_d;
      // The fields of a bit group are where it is.
      entity_q                <= starts ? entity_d : (load_c && f_insn[0].op[7:2] != OP_BIT_U64_MAN[7:2]) || steps ||
                                 state_q == PREAMBLE ? position_d : entity_d;
      if (keep_last) begin
        last_q      <= chosen;
        last_bank_q <= channel.bank;
      end
      if (state_q == IDLE && active_i) begin
        datagram_q       <= datagram_i;
        channel_q        <= head_q;
        channel_number_q <= channel_number;
        which_q          <= which;
      end
    end
  end

  // Headers of the datagrams in the stages.
  record_header_t headers_q[4];
  always_ff @(posedge clk_i) begin
    if (advance && state_q == IDLE && active_i) begin
      headers_q[which] <= '{
        arrival_ns: datagram_i.arrival_ns,
        number: datagram_i.number,
        sequence_number: datagram_i.sequence_number,
        channel: datagram_i.channel,
        image_generation: head_q.image_generation,
        sender_epoch: datagram_i.sender_epoch,
        source: datagram_i.source,
        time_quality: datagram_i.time_quality
      };
    end
  end
  assign header_o = headers_q[which_behind];

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && (&write_state)) assert (entry[0][0] != entry[1][0]) else $fatal(1, "two writes to a bank");
  end
`endif
endmodule
