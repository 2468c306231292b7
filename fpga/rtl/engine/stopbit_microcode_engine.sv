/// Runs verified firmware over datagrams: takes entities from the decompressor's window and gives commands to the
/// record packer. microcode/execution.md defines what an instruction does; decoder/interp is the reference.
///
/// Stages: F1 presents an address to the program memory, F2 has the instruction and reads its constant, block and
/// dictionary state, C consumes: presence bits, the ends of entities, where values come from, control. After C nothing
/// branches any more (stopbit_operate). C has one instruction or a pair, whose second follows alone if it cannot go with
/// the first. It holds an instruction until all its bytes have arrived. A jump that F2 did not foresee costs a cycle. All
/// of C stops while the later stages do.
///
/// Here the parts of F1, F2 and C are joined, the first error of a cycle is chosen, and the state of C is kept. In a cycle
/// of C information goes one way: what the instructions are (stopbit_pair), the bytes they take (stopbit_map_load,
/// stopbit_text, stopbit_data_op), control (stopbit_control_op), an error, what leaves (stopbit_issue).
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
  output logic              is_ready_o,   // no datagram may come before, after a reset

  input  logic              active_i,
  input  stopbit_datagram_t datagram_i,
  input  stopbit_datagram_t following_i,  // that of the next cycle,
  input  logic              follows_i,    // if this is set
  input  window_t           window_i,
  output take_t             take_o,
  output logic              release_o,

  output logic              valid_o,
  input  logic              ready_i,
  output command_t          command_o,
  output record_header_t    header_o,

  // For counters, each for one cycle.
  output logic              datagram_done_o,  // decoded to its end or given up
  output logic [1:0]        issued_o          // instructions that left the consume stage in the cycle before
);
  consume_state_e state_d, state_q;
  instructions_t now, next;
  insn_t first;
  logic  [ProgramBits-1:0] redirect_address, next_message;
  even_t redirect_even;
  logic  done, steps, redirect, load_c, advance, fails;
  limits_t limits;

  // Of the datagram.
  logic begins, starts;
  channel_t head, channel, old_channel;
  datagram_state_t datagram;
  datagram_step_t datagram_step;
  logic [16:0] place, next_place, left;
  take_t       take, data_take;
  logic outlives;
  logic [15:0] message_index_d, message_index_q, template_d, template_q;
  logic [WatchdogBits-1:0] watchdog_q;

  // Of the instructions in work.
  pair_t         pair;
  stacks_t       stacks;
  data_step_t    data_step;
  control_step_t control_step;
  start_step_t   start_step;
  logic [16:0]   entity_q;
  logic          opened_q;   // something of them was issued: their block is open
  logic [31:0]   awaited_q;  // sequence length, template identifier
  logic          is_call_q;  // that of a dynamic reference
  logic [3:0]    available;
  assign first     = now.insn[0];
  assign available = window_i.available > 5'(WindowBytes) ? 4'(WindowBytes) : window_i.available[3:0];

  // Entries of the tables for them.
  constant_t [1:0]    constant;
  entry_state_t [1:0] state;
  block_t       block;
  string_slot_t string_slot;
  dispatch_t    chosen;
  logic         is_found;

  // Instructions fetched ahead come from the bank of the datagram before.
  logic bank;
  assign bank = state_q == STATE_IDLE && !active_i ? old_channel.bank : channel.bank;

  logic [ByteBits-1:0] bytes_address;
  logic [63:0] constant_bytes, map_lookup;
  logic [31:0] lookup_id;
  logic [5:0]  next_segment;
  profile_t    guess, profile;
  logic        channel_loaded;
  logic [ChannelBits-1:0] loaded_channel;
  logic [GenerationBits-1:0] generation, next_generation;
  logic [1:0]  write_state;
  logic [1:0][ContextBits-1:0] write_entry;
  entry_state_t [1:0] new_state;
  stopbit_supply i_supply (
    .clk_i,
    .rst_ni,
    .load_i,
    .back_data_o,
    .limits_o          (limits),
    .is_ready_o,
    .advance_i         (advance),
    .done_i            (done),
    .steps_i           (steps),
    .redirect_i        (redirect),
    .redirect_address_i(redirect_address),
    .redirect_even_i   (redirect_even),
    .is_last_element_i (stacks.is_last_element),
    .next_message_i    (next_message),
    .is_guessed_i      (guess.valid),
    .guess_i           (guess.entry),
    .next_o            (next),
    .next_segment_o    (next_segment),
    .load_o            (load_c),
    .now_o             (now),
    .bank_i            (bank),
    .context_base_i    (channel.context_base),
    .constant_o        (constant),
    .state_o           (state),
    .block_o           (block),
    .slot_o            (string_slot),
    .bytes_address_i   (bytes_address),
    .bytes_o           (constant_bytes),
    .generation_i      (generation),
    .next_generation_i (next_generation),
    .write_i           (write_state),
    .write_entry_i     (write_entry),
    .new_state_i       (new_state),
    .is_call_i         (is_call_q && !starts),
    .template_id_i     (lookup_id),
    .template_found_o  (is_found),
    .template_o        (chosen),
    .map_i             (map_lookup),
    .profile_o         (profile),
    .channel_i         (datagram_i.channel[ChannelBits-1:0]),
    .following_i       (following_i.channel[ChannelBits-1:0]),
    .follows_i,
    .channel_o         (head),
    .channel_loaded_o  (channel_loaded),
    .loaded_channel_o  (loaded_channel)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // After C

  logic issue, flush, is_settled, stripped_valid, result_valid, string_is_bad, length_is_wrong;
  place_t wrong_place;
  uop_t uop;
  logic [1:0]  which_behind;
  logic [31:0] stripped, result;
  logic [63:0] string_word;
  stopbit_operate i_operate (
    .clk_i,
    .rst_ni,
    .valid_i         (issue),
    .uop_i           (uop),
    .string_word_i   (string_word),
    .string_is_bad_i (string_is_bad),
    .length_is_wrong_i(length_is_wrong),
    .length_place_i  (wrong_place),
    .is_overfull_i   (is_overfull),
    .overfull_at_i   (overfull_at),
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
  assign fails = flush && state_q != STATE_IDLE && which_behind == datagram.number;

  // -------------------------------------------------------------------------------------------------------------------
  // Datagrams

  stopbit_datagrams i_datagrams (
    .clk_i,
    .rst_ni,
    .advance_i        (advance),
    .active_i,
    .datagram_i,
    .head_i           (head),
    .window_i,
    .available_i      (available),
    .state_i          (state_q),
    .take_i           (take.bytes),
    .resets_i         (start_step.resets),
    .is_settled_i     (is_settled),
    .fails_i          (fails),
    .load_i           (channel_loaded),
    .loaded_channel_i (loaded_channel),
    .begins_o         (begins),
    .starts_o         (starts),
    .channel_o        (channel),
    .old_channel_o    (old_channel),
    .now_o            (datagram),
    .place_o          (place),
    .next_place_o     (next_place),
    .left_o           (left),
    .outlives_o       (outlives),
    .generation_o     (generation),
    .next_generation_o(next_generation),
    .step_o           (datagram_step),
    .which_i          (which_behind),
    .header_o
  );

  // -------------------------------------------------------------------------------------------------------------------
  // The message

  logic message_begins, clears, pushed_has_more;
  logic [MaxMapBits-1:0] pushed_map;
  assign message_begins = now.valid && state_q == STATE_RUN && now.pc == '0;
  assign clears         = starts || message_begins;
  stopbit_stacks i_stacks (
    .clk_i,
    .advance_i  (advance),
    .clear_i    (clears),
    .push_map_i (data_step.pmap.pushes || start_step.is_quick),
    .map_i      (pushed_map),
    .has_more_i (pushed_has_more),
    .map_begin_i(entity_q),
    .control_i  (control_step),
    .push_call_i(start_step.is_call),
    .return_i   (now.pc + 1'b1),
    .template_i (template_q),
    .stacks_o   (stacks)
  );

  logic [13:0] quick_id;
  assign lookup_id = state_q == STATE_DISPATCH ? awaited_q : starts ? 32'(quick_id) : stripped_valid ? stripped : result;
  stopbit_message_start i_start (
    .clk_i,
    .rst_ni,
    .load_i,
    .advance_i     (advance),
    .limits_i      (limits),
    .state_i       (state_q),
    .starts_i      (starts),
    .now_i         (now),
    .next_i        (next),
    .window_i,
    .place_i       (place),
    .left_i        (left),
    .is_waiting_i  (datagram.is_waiting),
    .channel_i     (channel),
    .old_bank_i    (old_channel.bank),
    .changes_bank_i(begins && head.bank != old_channel.bank),
    .is_found_i    (is_found),
    .chosen_i      (chosen),
    .is_call_i     (is_call_q),
    .call_depth_i  (stacks.call_depth),
    .next_slot_i   (next_slot),
    .quick_id_o    (quick_id),
    .next_message_o(next_message),
    .step_o        (start_step)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // Limits, and what is wrong before the data-op

  logic in_work, opens_block, issues_block, works, passes;
  logic [7:0] early_code;
  logic is_stored, is_full, is_overfull, checks_length;
  logic [16:0] overfull_at;
  place_t length_place, last_place;
  logic [13:0] block_number;
  logic [7:0]  block_words, string_slots;
  logic [15:0] next_slot;
  text_step_t text;
  // While a message begins, the instruction belongs to a template that was only foreseen, or is the identifier that was taken.
  assign in_work     = now.valid && !(state_q inside {STATE_IDLE, STATE_PREAMBLE, STATE_START, STATE_DISPATCH, STATE_FINISH, STATE_FAILED});
  assign opens_block = in_work && first.control == CONTROL_BLOCK && !opened_q;
  always_comb begin
    early_code = ERROR_NONE;
    if (opens_block && message_begins) early_code = ERROR_X15;  // no verified program: a presence map comes first
    else if (opens_block && is_full) early_code = ERROR_X4;
  end
  assign works = in_work;

  stopbit_elements i_elements (
    .clk_i,
    .advance_i        (advance),
    .limits_i         (limits),
    .begins_datagram_i(begins || state_q == STATE_PREAMBLE),
    .begins_message_i (clears),
    .left_i           (left),
    .begins_i         (control_step.begins_length),
    .constant_i       (constant[pair.both]),
    .place_i          (last_place),
    .checks_i         (control_step.checks_length),
    .in_work_i        (in_work),
    .counts_i         (control_step.uses_length),
    .checks_o         (checks_length),
    .length_i         (awaited_q),
    .place_o          (length_place),
    .is_wrong_o       (length_is_wrong),
    .wrong_place_o    (wrong_place)
  );
  stopbit_record_room i_room (
    .clk_i,
    .advance_i       (advance),
    .limits_i        (limits),
    .begins_message_i(clears),
    .insn_i          (first),
    .block_i         (block),
    .opens_block_i   (opens_block),
    .issues_block_i  (issues_block),
    .is_text_i       (data_step.is_text),
    .text_slots_i    (text.slots),
    .start_i         (start_step),
    .position_i      (datagram.position),
    .block_o         (block_number),
    .block_words_o   (block_words),
    .next_slot_o     (next_slot),
    .string_slots_o  (string_slots),
    .is_stored_o     (is_stored),
    .is_full_o       (is_full),
    .is_overfull_o   (is_overfull),
    .overfull_at_o   (overfull_at)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // Consume

  map_step_t map_step;
  stopbit_map_load i_map_load (
    .clk_i,
    .rst_ni,
    .advance_i     (advance),
    .forget_i      (load_i.valid),
    .bank_i        (channel.bank),
    .strict_i      (limits.strict),
    .next_i        (load_c),
    .next_segment_i(next_segment),
    .guess_o       (guess),
    .state_i       (state_q),
    .starts_i      (starts),
    .loads_i       (data_step.pmap.loads),
    .learns_i      (works && state_q == STATE_PROFILE),
    .insn_i        (first),
    .behind_i      (now.pc + 1'b1),
    .window_i,
    .available_i   (available),
    .is_full_i     (stacks.map_depth == 5'(MaxMapDepth)),
    .lookup_o      (map_lookup),
    .profile_i     (profile),
    .step_o        (map_step),
    .map_o         (pushed_map),
    .has_more_o    (pushed_has_more)
  );

  source_e [1:0] source;  // of the values
  padding_t padding;
  stopbit_consume_data i_data (
    .clk_i,
    .rst_ni,
    .advance_i       (advance),
    .begins_i        (load_c || steps),
    .limits_i        (limits),
    .state_i         (state_q),
    .works_i         (works),
    .now_i           (now),
    .constant_i      (constant),
    .entry_state_i   (state),
    .window_i,
    .available_i     (available),
    .left_i          (left),
    .datagram_i      (datagram),
    .map_bits_i      (stacks.map_bits[MaxMapBits-1-:3]),
    .map_i           (map_step),
    .pair_o          (pair),
    .source_o        (source),
    .padding_o       (padding),
    .text_o          (text),
    .step_o          (data_step),
    .passes_o        (passes),
    .is_stored_i     (is_stored),
    .string_slots_i  (string_slots),
    .slot_i          (string_slot),
    .bytes_address_o (bytes_address),
    .bytes_i         (constant_bytes),
    .issues_piece_i  (issue && uop.is_piece),
    .fails_i         (fails),
    .is_settled_i    (is_settled),
    .stripped_valid_i(stripped_valid),
    .stripped_i      (stripped),
    .string_word_o   (string_word),
    .string_is_bad_o (string_is_bad)
  );
  // Control asks for those of numbers alone, as far as they are known without the dictionary: the others are waited for.
  source_e [1:0] number_source;
  always_comb begin
    for (int unsigned i = 0; i < 2; i++) begin
      number_source[i] = now.traits[i].is_value && !pair.is_null[i] ? pair.plan[i].known_source : SOURCE_NONE;
    end
  end

  // As if the first went alone, and as if both did.
  control_step_t [1:0] control_steps;
  for (genvar both = 0; both < 2; both++) begin : g_control
    stopbit_control_op #(
      .Both(both != 0)
    ) i_control_op (
      .state_i          (state_q),
      .works_i          (works),
      .limits_i         (limits),
      .now_i            (now),
      .next_i           (next),
      .next_message_i   (next_message),
      .pair_i           (pair),
      .constant_i       (constant),
      .source_i         (number_source),
      .is_padded_i      (padding.padded),
      .data_i           (data_step),
      .stacks_i         (stacks),
      .stripped_valid_i (stripped_valid),
      .stripped_i       (stripped),
      .result_valid_i   (result_valid),
      .result_i         (result),
      .awaited_i        (awaited_q),
      .left_i           (left),
      .outlives_i       (outlives),
      .step_o           (control_steps[both])
    );
  end
  control_step_t no_step;  // the data-ops are not done
  always_comb begin
    no_step           = '0;
    no_step.state     = data_step.state;
    no_step.map_depth = stacks.map_depth - 5'd1;
    no_step.awaited   = awaited_q;
    control_step      = control_steps[pair.both];
    if (state_q inside {STATE_RUN, STATE_PMAP_MORE, STATE_PROFILE, STATE_CONTROL} && !passes) control_step = no_step;
  end

  // The one that counts of the errors: a datagram that takes too long (a message need not end), else the first.
  logic [7:0] code, first_code;
  always_comb begin
    code = control_step.code | datagram_step.code;  // at most one of them
    if (data_step.code != ERROR_NONE) code = data_step.code;
    first_code = data_step.source_code != ERROR_NONE ? data_step.source_code : code;
    if (early_code != ERROR_NONE) {first_code, code} = {2{early_code}};
    if (start_step.code != ERROR_NONE) {first_code, code} = {2{start_step.code}};
    if (is_late) {first_code, code} = {2{ERROR_X15}};
  end

  // Of these, those with which a datagram could seem to be at its end: the others come without one.
  logic is_late, errs_at_end;
  assign is_late     = &watchdog_q && !(state_q inside {STATE_FAILED, STATE_IDLE});
  assign errs_at_end = is_late || early_code != ERROR_NONE || data_step.code != ERROR_NONE;

  // The outcome of this cycle. While the later stages stop, so does this one. An error stops nothing: what follows finds the
  // state STATE_FAILED, and does nothing. But the datagram stays, for it is the one that fails.
  assign done            = control_step.done && advance;
  assign steps           = control_step.steps && advance;
  assign data_take       = data_step.take[pair.both];
  always_comb begin  // at most one of them
    take        = data_take;
    take.two    = data_take.two || start_step.is_quick;
    take.bytes  = data_take.bytes | start_step.take | datagram_step.take;
    if (!advance) take = '0;
  end
  assign take_o          = take;
  assign release_o       = ((control_step.releases || datagram_step.releases) && advance && !errs_at_end) || fails;
  assign datagram_done_o = release_o;
  // Map and identifier that begin a message in one step are instructions, too, and so is an END that goes along.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) issued_o <= '0;
    else if (start_step.is_quick && advance) issued_o <= 2'd2;
    else if (!done) issued_o <= 2'(steps);
    else issued_o <= 2'd1 + 2'(pair.both) + 2'(control_step.ends_message && now.insn[pair.both].control == CONTROL_LEND);
  end
  always_comb begin
    redirect         = (control_step.redirect || start_step.redirect) && advance;
    redirect_address = start_step.redirect ? start_step.address : control_step.address;
    redirect_even    = start_step.redirect ? start_step.even : control_step.even;
    if (fails) begin
      redirect         = 1'b1;
      redirect_address = next_message;
      redirect_even    = even_of(next_message);
    end
  end

  always_comb begin
    state_d = control_step.state;
    if (state_q inside {STATE_IDLE, STATE_PREAMBLE, STATE_FINISH}) state_d = datagram_step.state;
    if (starts || state_q == STATE_DISPATCH) state_d = start_step.state;
    if (code != ERROR_NONE) state_d = STATE_FAILED;
    if (fails) state_d = STATE_IDLE;
  end

  always_comb begin
    message_index_d = message_index_q;
    template_d      = template_q;
    if (begins) begin
      message_index_d = '0;
      template_d      = NoTemplate;
    end
    if (control_step.ends_message) message_index_d = message_index_q + 16'd1;
    if (control_step.pop_call) template_d = stacks.caller;
    if (starts || (works && message_begins && now.traits[0].is_pmap)) template_d = NoTemplate;
    if (start_step.opens) template_d = start_step.root.template_index;
  end

  stopbit_issue i_issue (
    .advance_i          (advance),
    .state_i            (state_q),
    .works_i            (works),
    .passes_i           (passes),
    .code_i             (code),
    .first_code_i       (first_code),
    .now_i              (now),
    .pair_i             (pair),
    .source_i           (source),
    .constant_i         (constant),
    .message_begins_i   (message_begins),
    .is_opened_i        (opened_q),
    .entity_i           (entity_q),
    .padding_i          (padding),
    .window_i,
    .text_i             (text),
    .data_i             (data_step),
    .control_i          (control_step),
    .start_i            (start_step),
    .datagram_i         (datagram),
    .is_last_i          (left == 17'(data_take.bytes)),
    .context_base_i     (channel.context_base),
    .template_i         (template_q),
    .message_index_i    (message_index_q),
    .identifier_i       (awaited_q),
    .opens_block_i      (opens_block),
    .block_i            (block),
    .block_number_i     (block_number),
    .block_words_i      (block_words),
    .is_stored_i        (is_stored),
    .map_begin_i        (stacks.map_begin),
    .checks_length_i    (checks_length),
    .length_place_i     (length_place),
    .place_o            (last_place),
    .valid_o            (issue),
    .opens_o            (issues_block),
    .uop_o              (uop),
    .write_state_o      (write_state),
    .write_entry_o      (write_entry),
    .new_state_o        (new_state)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= STATE_IDLE;
    else if (advance) state_q <= state_d;
    if (advance) begin
      message_index_q <= message_index_d;
      template_q      <= template_d;
      watchdog_q      <= state_q == STATE_IDLE ? '0 : watchdog_q + 1'b1;
      awaited_q       <= start_step.is_quick ? 32'(quick_id) : control_step.awaited;
      if (control_step.awaits_template) is_call_q <= now.insn[pair.both].control == CONTROL_CALL;
      if (starts) is_call_q <= 1'b0;
      opened_q        <= !load_c && !steps && !done && (opened_q || issue) &&
                         state_q inside {STATE_RUN, STATE_PMAP_MORE, STATE_CONTROL, STATE_SEQ_WAIT, STATE_SEQ};
      // The fields of a bit group are where it is.
      if (start_step.is_quick) begin
        entity_q <= start_step.entity;
      end else if (!starts && ((load_c && next.insn[0].op[7:2] != OP_BIT_U64_MAN[7:2]) || steps || state_q == STATE_PREAMBLE)) begin
        entity_q <= next_place;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && (&write_state)) assert (write_entry[0][0] != write_entry[1][0]) else $fatal(1, "two writes to a bank");
    // Of those in work: what is fetched where no template is known yet may be no instruction.
    for (int unsigned i = 0; i < 2; i++) begin
      assert (!rst_ni || !works || (i == 1 && !pair.both) || pair.plan[i].is_streamed == (pair.plan[i].source == SOURCE_STREAM))
      else $fatal(1, "the source of a value is not what was known early");
      assert (!rst_ni || !works || (i == 1 && !pair.both) || pair.plan[i].is_mantissa ||
              pair.plan[i].known_source == SOURCE_PREVIOUS || pair.plan[i].known_source == pair.plan[i].source)
      else $fatal(1, "the dictionary decides where a value comes from, and it was thought that it does not");
    end
  end

  // After an error in C nothing is done until the error has left, whatever the program: no assertion, so that it is looked at
  // with unverified programs, too. Proved in formal/proof_engine_error.sv.
  logic acts;
  assign acts = issue || done || steps || begins || take != '0 || write_state != '0 || start_step.resets ||
                control_step.push_loop || control_step.restores_map || data_step.pmap.pushes || release_o != fails ||
                redirect != fails;
  always_ff @(posedge clk_i) begin
    if (rst_ni && state_q == STATE_FAILED && acts) $fatal(1, "something is done after an error");
  end
`endif
endmodule
