/// Runs verified firmware over datagrams: takes entities from the decompressor's window and gives commands to the
/// record packer. What an instruction does is told in microcode/README.md; decoder/interp is the reference.
///
/// Stages: F1 presents an address to the program memory, F2 has the instruction and reads its constant, block and
/// dictionary state, C consumes: presence bits, the end of the entity, where the value comes from, control. Behind C
/// nothing branches any more (stopbit_operate). C holds an instruction until all its bytes are there. A jump that F2 did
/// not foresee costs a cycle. All of C stands still while the stages behind it do.
///
/// Whatever the program does, even one that was never verified: 2^WatchdogBits cycles after its first byte a datagram ends in X15
/// (cycles in which the packer stalls not counted).
module stopbit_microcode_engine
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
#(
  parameter int unsigned WatchdogBits = 28
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  stopbit_load_t     load_i,
  output logic [31:0]       back_data_o,  // read back, as in stopbit_tables

  input  logic              active_i,
  input  stopbit_datagram_t datagram_i,
  input  logic [79:0]       bytes_i,
  input  logic [3:0]        available_i,
  input  logic [3:0]        length_i,
  input  logic              end_i,
  output logic [3:0]        take_o,
  output logic              release_o,

  output logic              valid_o,
  input  logic              ready_i,
  output command_t          command_o,
  output record_header_t    header_o,

  // For counters, each for one cycle.
  output logic              datagram_done_o,  // decoded to its end or given up
  output logic              issued_o          // an instruction left the consume stage
);
  localparam int unsigned GenerationBits = 56;

  // -------------------------------------------------------------------------------------------------------------------
  // State

  typedef enum logic [3:0] {
    IDLE,        // no datagram; when one comes, its channel is looked up
    PREAMBLE,    // what stands before the first message is passed over
    RUN,         // an instruction at its beginning
    PMAP_MORE,   // the rest of a presence map of more than nine bytes
    CONTROL,     // the control-op of PMAP
    SEQ_WAIT,    // the length of a sequence is on its way
    SEQ,         // the loop begins
    TID_WAIT,    // a template identifier is on its way
    DISPATCH,    // its template is there
    OVERFULL,    // the complete record exceeds its limit of slots
    FINISH,      // the datagram is decoded, and what is on its way goes out
    FAILED       // an error is on its way: nothing more is done
  } state_e;
  state_e state_d, state_q;

  // Of the datagram.
  stopbit_datagram_t datagram_q;
  channel_t channel, channel_q;
  logic [ChannelBits-1:0] channel_number, channel_number_q;
  logic [GenerationBits-1:0] generation_d, generation_q;
  logic [16:0] position_d, position_q;
  logic [16:0] start_d, start_q;  // where the first message begins
  logic [20:0] elements_left_d, elements_left_q;
  logic [15:0] message_index_d, message_index_q;
  logic [15:0] template_d, template_q;
  logic is_waiting_d, is_waiting_q;  // the dictionary waits for a reset, which the first message may be

  // Of the message.
  logic [31:0] message_elements_left_d, message_elements_left_q;
  logic [15:0] next_slot_d, next_slot_q;
  logic [7:0]  string_slots_d, string_slots_q;
  logic [13:0] block_d, block_q;
  logic [7:0]  block_words_d, block_words_q;
  logic [WatchdogBits-1:0] watchdog_d, watchdog_q;

  // Presence maps.
  localparam int unsigned MapChunk  = 63;  // of nine bytes
  localparam int unsigned MapChunks = MaxMapBits / MapChunk;
  typedef logic [$clog2(MapChunks+1)-1:0] chunk_t;
  typedef logic [MaxMapBits-1:0] map_t;
  map_t map;
  map_t loading_d, loading_q;
  chunk_t chunk_d, chunk_q;  // MapChunks: behind the bits that can be used

  // Decimals.
  source_e decimal_d, decimal_q;
  logic decimal_base_d, decimal_base_q;

  // The instruction in work.
  logic        c_valid_q;
  logic [ProgramBits-1:0] c_pc_q, c_foreseen_q;
  insn_t       insn_q;
  logic [16:0] entity_q;
  logic        opened_q;  // something of it was issued: its block is open
  logic        padded_d, padded_q, negative_d, negative_q, too_wide_d, too_wide_q, nonzero_d, nonzero_q;
  logic [31:0] awaited_d, awaited_q;  // sequence length

  // Entries of the tables for it.
  constant_t    constant;
  block_t       block;
  string_slot_t string_slot;
  logic         is_assigned, is_empty;
  logic [3:0]   entry_kind;
  logic [12:0]  entry_length;
  logic         entry_is_wide, entry_in_second;
  dispatch_t    chosen;
  logic         is_found;
  limits_t      limits;

  // -------------------------------------------------------------------------------------------------------------------
  // Fetch

  logic [ProgramBits-1:0] fetch_address, f_pc, foreseen, next_address, redirect_address;
  logic redirect, load_c, done, advance, flush, is_settled;
  insn_t program_insn, f_insn;
  logic is_last_element;
  stopbit_fetch i_fetch (
    .clk_i,
    .rst_ni,
    .take_i            (advance && (!c_valid_q || done)),
    .redirect_i        (redirect),
    .redirect_address_i(redirect_address),
    .is_last_element_i (is_last_element),
    .address_o         (fetch_address),
    .insn_i            (program_insn),
    .load_o            (load_c),
    .insn_o            (f_insn),
    .pc_o              (f_pc),
    .foreseen_o        (foreseen)
  );
  always_ff @(posedge clk_i) begin
    if (load_c) begin
      insn_q       <= f_insn;
      c_pc_q       <= f_pc;
      c_foreseen_q <= foreseen;
    end
  end

  // Reads for the instruction that will be in C, or still is.
  insn_t next_insn;
  logic [ContextBits-1:0] entry, read_entry;
  logic [ByteBits-1:0] bytes_address;
  logic [63:0] constant_bytes;
  logic [31:0] lookup_id;
  logic channel_loaded;
  logic [ChannelBits-1:0] loaded_channel;
  assign next_insn  = load_c ? f_insn : insn_q;
  assign entry      = channel_q.context_base + insn_q.slot;
  assign read_entry = channel_q.context_base + next_insn.slot;

  stopbit_tables i_tables (
    .clk_i,
    .load_i,
    .back_data_o,
    .bank_i            (state_q == IDLE ? channel.bank : channel_q.bank),
    .program_address_i (fetch_address),
    .insn_o            (program_insn),
    .constant_address_i(next_insn.constant[ConstantBits-1:0]),
    .constant_o        (constant),
    .bytes_address_i   (bytes_address),
    .bytes_o           (constant_bytes),
    .block_address_i   (next_insn.target[BlockBits-1:0]),
    .block_o           (block),
    .slot_address_i    (next_insn.slot),
    .slot_o            (string_slot),
    .template_id_i     (lookup_id),
    .template_found_o  (is_found),
    .template_o        (chosen),
    .limits_o          (limits),
    .channel_address_i (datagram_i.channel[ChannelBits-1:0]),
    .channel_o         (channel),
    .channel_loaded_o  (channel_loaded),
    .loaded_channel_o  (loaded_channel)
  );

  logic [GenerationBits-1:0] generation, next_generation;
  logic is_channel_waiting, is_channel_stale, new_generation;
  stopbit_channels i_channels (
    .clk_i,
    .rst_ni,
    .channel_i       (state_q == IDLE ? channel_number : channel_number_q),
    .generation_o    (generation),
    .next_o          (next_generation),
    .waits_o         (is_channel_waiting),
    .is_stale_o      (is_channel_stale),
    .reset_i         (new_generation),
    .fail_i          (flush && channel_q.reset_rule != RESET_PACKET),
    .load_i          (channel_loaded),
    .loaded_channel_i(loaded_channel)
  );

  logic write_state, state_assigned, state_is_wide, state_in_second;
  logic [3:0] state_kind;
  logic [12:0] state_length;
  stopbit_dictionary_state i_states (
    .clk_i,
    .generation_i (generation_q),
    .read_entry_i (read_entry),
    .is_assigned_o(is_assigned),
    .is_empty_o   (is_empty),
    .kind_o       (entry_kind),
    .length_o     (entry_length),
    .is_wide_o    (entry_is_wide),
    .in_second_o  (entry_in_second),
    .write_i      (write_state),
    .write_generation_i(generation_d),
    .write_entry_i(entry),
    .assigned_i   (state_assigned),
    .kind_i       (state_kind),
    .length_i     (state_length),
    .is_wide_i    (state_is_wide),
    .in_second_i  (state_in_second)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // Behind C

  logic issue;
  uop_t uop;
  logic stripped_valid, result_valid, writes_string, word_is_wide;
  logic [31:0] stripped, result;
  logic [63:0] string_word;
  stopbit_operate i_operate (
    .clk_i,
    .rst_ni,
    .valid_i         (issue),
    .uop_i           (uop),
    .string_word_i   (string_word),
    .advance_o       (advance),
    .flush_o         (flush),
    .is_settled_o    (is_settled),
    .stripped_valid_o(stripped_valid),
    .stripped_o      (stripped),
    .result_valid_o  (result_valid),
    .result_o        (result),
    .valid_o,
    .ready_i,
    .command_o
  );

  // -------------------------------------------------------------------------------------------------------------------
  // What the instruction in C is

  plan_t plan;
  bit_group_t group;
  logic is_string, bit_value, skip_bit;
  stopbit_consume_lane i_lane (
    .op_i           (insn_q.op),
    .bit_i          (bit_value),
    .has_initial_i  (constant.has_value),
    .is_assigned_i  (is_assigned),
    .is_empty_i     (is_empty),
    .entry_kind_i   (entry_kind),
    .entry_bits_i   (entry_length[5:0]),
    .group_bits_i   (group.used_bits),
    .exponent_i     (decimal_q),
    .exponent_base_i(decimal_base_q),
    .is_waiting_i   (is_waiting_q),
    .plan_o         (plan)
  );
  assign group     = constant.min_bytes[12:0];
  assign is_string = plan.is_text || plan.is_vector;
  assign bit_value = map[MaxMapBits-1];
  assign skip_bit  = plan.takes_bit ? map[MaxMapBits-2] : bit_value;

  // The entity at the window, of an integer.
  logic entity_is_zero;
  logic [13:0] short_value;
  always_comb begin
    entity_is_zero = !nonzero_q;
    for (int unsigned i = 0; i < 10; i++) begin
      if (4'(i) < length_i && bytes_i[8*i+:7] != '0) entity_is_zero = 1'b0;
    end
    short_value  = length_i == 4'd1 ? {7'b0, bytes_i[6:0]} : {bytes_i[6:0], bytes_i[14:8]};
  end

  // The last bits of a bit group.
  logic [5:0] last_of_group;
  always_comb begin
    last_of_group = '0;
    for (int unsigned i = 0; i < 9; i++) begin
      if (4'(i) + 4'd1 == group.bytes) last_of_group = bytes_i[8*i+:6];
    end
  end

  // Presence bits of up to nine bytes.
  logic [MapChunk-1:0] map_bits;
  always_comb begin
    map_bits = '0;
    for (int unsigned i = 0; i < 9; i++) begin
      if (length_i == '0 || 4'(i) < length_i) map_bits[7*(8-i)+:7] = bytes_i[8*i+:7];
    end
  end

  // An instruction that begins a message, or opens a block before its data-op.
  logic message_begins, opens_block, is_stored;
  assign message_begins = state_q == RUN && c_pc_q == '0;
  assign opens_block    = insn_q.control == CONTROL_BLOCK && !opened_q;
  assign is_stored      = insn_q.word < (opens_block ? block.words : block_words_q);

  logic clear_stacks;
  assign clear_stacks = message_begins && c_valid_q;
  logic push_map, restore_map, push_loop, end_element;
  logic [1:0] bits_taken;
  logic [4:0] map_depth, restore_depth, loop_map_depth;
  logic [3:0] loop_depth;
  stopbit_presence_maps i_maps (
    .clk_i,
    .advance_i      (advance),
    .clear_i        (clear_stacks),
    .push_i         (push_map),
    .map_i          (loading_d),
    .take_i         (bits_taken),
    .restore_i      (restore_map),
    .restore_depth_i(restore_depth),
    .map_o          (map),
    .depth_o        (map_depth)
  );
  stopbit_loops i_loops (
    .clk_i,
    .advance_i  (advance),
    .clear_i    (clear_stacks),
    .push_i     (push_loop),
    .count_i    (awaited_q[16:0]),
    .map_depth_i(map_depth),
    .end_i      (end_element),
    .depth_o    (loop_depth),
    .is_last_o  (is_last_element),
    .map_depth_o(loop_map_depth)
  );

  logic text_active;
  logic [16:0] left;  // bytes of the datagram
  text_step_t text;
  stopbit_text i_text (
    .clk_i,
    .rst_ni,
    .begins_i        (load_c),
    .advance_i       (advance),
    .active_i        (text_active),
    .plan_i          (plan),
    .constant_i      (constant),
    .slot_i          (string_slot),
    .string_base_i   (channel_q.string_base),
    .entry_length_i  (entry_length),
    .entry_is_wide_i (entry_is_wide),
    .entry_in_second_i(entry_in_second),
    .is_stored_i     (is_stored),
    .string_slots_i  (string_slots_q),
    .max_bytes_i     (limits.string_bytes),
    .bytes_i,
    .available_i,
    .length_i,
    .end_i,
    .left_i          (left),
    .entity_is_zero_i(entity_is_zero),
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
    .flush_i         (flush),
    .valid_i         (issue && uop.is_piece),
    .piece_i         (text.piece),
    .bytes_i         (bytes_i[63:0]),
    .is_text_i       (plan.is_text),
    .constant_bytes_i(constant_bytes),
    .keep_i          (text_active && text.keeps && advance),
    .keep_address_i  (text.keep_address),
    .word_o          (string_word),
    .is_wide_o       (word_is_wide),
    .writes_o        (writes_string)
  );

  // -------------------------------------------------------------------------------------------------------------------
  // Consume

  // What happens in this cycle.
  logic [3:0]  take;
  logic        has_control;  // the data-op is done: now the control-op
  logic        is_present;   // its value is there
  logic [7:0]  code;         // an error
  logic [5:0]  block_slots;
  logic [7:0]  root_reach;
  logic [32:0] element_bytes;
  chunk_t      chunk;
  logic        release_window;

  assign take_o          = take;
  assign release_o       = release_window;
  assign datagram_done_o = release_window;
  assign issued_o        = done;
  assign left            = datagram_q.length_bytes - position_q;
  assign channel_number  = datagram_i.channel[ChannelBits-1:0];

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
    decimal_d               = decimal_q;
    decimal_base_d          = decimal_base_q;
    padded_d                = padded_q;
    negative_d              = negative_q;
    too_wide_d              = too_wide_q;
    nonzero_d               = nonzero_q;
    awaited_d               = awaited_q;

    redirect         = 1'b0;
    redirect_address = '0;
    done             = 1'b0;
    next_address     = c_pc_q + 1'b1;
    issue            = 1'b0;
    take             = '0;
    has_control      = 1'b0;
    is_present       = 1'b0;
    bits_taken       = '0;
    push_map         = 1'b0;
    push_loop        = 1'b0;
    code             = ERROR_NONE;
    end_element      = 1'b0;
    restore_map      = 1'b0;
    restore_depth    = map_depth - 5'd1;
    text_active      = 1'b0;
    block_slots      = '0;
    root_reach       = chosen.root.words + 8'(HeaderWords);
    element_bytes    = 33'(awaited_q[16:0]) * 33'(constant.min_bytes);
    chunk            = state_q == RUN ? '0 : chunk_q;
    new_generation   = 1'b0;
    release_window   = 1'b0;
    write_state      = 1'b0;
    state_assigned   = 1'b0;
    state_kind       = plan.dictionary_kind;
    state_length     = '0;
    state_is_wide    = 1'b0;
    state_in_second  = 1'b0;
    lookup_id        = state_q == DISPATCH ? awaited_q : stripped_valid ? stripped : result;

    uop                              = '0;
    uop.bytes                        = bytes_i;
    uop.length                       = length_i;
    uop.padded                       = padded_q;
    uop.negative                     = negative_q;
    uop.too_wide                     = too_wide_q;
    uop.source                       = plan.source;
    uop.operation                    = plan.operation;
    uop.kind                         = plan.is_group ? TYPE_U64 : plan.kind;
    uop.optional                     = plan.is_optional;
    uop.is_group                     = plan.is_group;
    uop.unused_bits                  = group.unused_bits;
    uop.is_field                     = plan.is_field;
    uop.field_behind                 = insn_q.slot[11:6];
    uop.field_width                  = insn_q.slot[5:0];
    uop.is_base_previous             = plan.base_is_previous;
    uop.constant                     = constant;
    uop.entry                        = entry;
    uop.is_dropped                   = is_waiting_q;
    uop.command.block                = block;
    uop.command.word                 = insn_q.word;
    uop.command.template_index       = template_q;
    uop.command.message_index        = message_index_q;
    uop.command.place.offset_bytes   = entity_q;
    uop.command.place.template_index = message_begins ? NoTemplate : template_q;
    uop.command.place.block          = insn_q.word == NoWord ? NoBlock : 16'(block_q);
    uop.command.place.word           = insn_q.word;

    case (state_q)
      IDLE:
      if (active_i) begin
        // The first instruction is fetched meanwhile.
        redirect        = 1'b1;
        state_d         = PREAMBLE;
        message_index_d = '0;
        template_d      = NoTemplate;
        new_generation  = channel.reset_rule == RESET_PACKET || is_channel_stale;
        is_waiting_d    = is_channel_waiting && !new_generation;
        generation_d    = new_generation ? next_generation : generation;
      end

      PREAMBLE: begin
        start_d         = position_q;
        elements_left_d = 21'(left) << 3;
        if (position_q == 17'(datagram_q.data_offset)) begin
          state_d = RUN;
          if (is_waiting_q && channel_q.reset_rule == RESET_NEVER) code = ERROR_D5;  // tells that the datagram is dropped
        end else if (available_i != '0) begin
          take = available_i;
          if (17'(datagram_q.data_offset) - position_q < 17'(available_i)) begin
            take = 4'(17'(datagram_q.data_offset) - position_q);
          end
        end else if (end_i) begin
          code = ERROR_X9;
        end
      end

      FINISH: begin
        // The end of a datagram that was cut is an error behind its last message.
        if (is_settled && (datagram_q.cut || is_waiting_q)) begin
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

        // The block comes before anything else.
        if (opens_block) begin
          block_slots      = 6'((9'(block.words) + 9'(ValueWords - 1)) / 9'(ValueWords));
          block_d          = insn_q.target;
          block_words_d    = block.words;
          uop.command.open = 1'b1;
          if (insn_q.word != NoWord) uop.command.place.block = 16'(insn_q.target);
          if (17'(next_slot_q) + 17'(block_slots) > 17'(limits.max_record_slots)) code = ERROR_X4;
        end

        // The data-op.
        if (code == ERROR_NONE) begin
          case (state_q)
            RUN, PMAP_MORE: begin
              if (message_begins && end_i && available_i == '0) begin
                state_d = FINISH;
              end else if (insn_q.op == OP_NOP) begin
                uop.source  = SOURCE_NONE;
                has_control = 1'b1;
              end else if (insn_q.op == OP_PMAP) begin
                uop.source = SOURCE_NONE;
                template_d = message_begins ? NoTemplate : template_q;
                if (map_depth == 5'(MaxMapDepth)) begin
                  code = ERROR_X7;
                end else if (length_i == '0 && available_i < 4'd9) begin
                  if (end_i) code = ERROR_X1;
                end else begin
                  if (chunk == '0) loading_d = '0;
                  for (int unsigned i = 0; i < MapChunks; i++) begin
                    if (chunk == chunk_t'(i)) loading_d[MapChunk*(MapChunks-1-i)+:MapChunk] = map_bits;
                  end
                  if (length_i == '0 || length_i == 4'd10) begin
                    take    = 4'd9;
                    chunk_d = chunk == chunk_t'(MapChunks) ? chunk : chunk + 1'b1;
                    state_d = PMAP_MORE;
                  end else begin
                    take        = length_i;
                    push_map    = 1'b1;
                    has_control = insn_q.control == CONTROL_NEXT || insn_q.control == CONTROL_BLOCK;
                    if (!has_control) state_d = CONTROL;
                  end
                end
              end else if (plan.source_code != ERROR_NONE) begin
                code = plan.source_code;
              end else if (plan.is_field) begin
                // Its group was taken by the instructions before.
                uop.source  = SOURCE_INITIAL;
                has_control = 1'b1;
              end else if (plan.is_group && plan.source == SOURCE_STREAM && plan.operation != OPERATOR_DEL) begin
                // Exactly as many bytes as the fields need.
                if (available_i >= group.bytes || length_i != '0) begin
                  has_control = 1'b1;
                  if (length_i != group.bytes || (last_of_group & ~(6'h3F << group.unused_bits)) != '0) code = ERROR_X10;
                  else take = length_i;
                end else if (end_i) begin
                  code = ERROR_X1;
                end
              end else if (plan.is_value || insn_q.op == OP_TID) begin
                if (plan.source != SOURCE_STREAM || length_i != '0) begin
                  has_control = 1'b1;
                  if (plan.source == SOURCE_STREAM) begin
                    take = length_i;
                    if (plan.is_optional && entity_is_zero) uop.source = SOURCE_NONE;
                  end
                end
              end else if (!is_string) begin
                code = ERROR_X15;
              end else begin
                text_active = 1'b1;
                take        = text.take;
                code        = text.code;
                has_control = text.done;
                if (text.is_null) uop.source = SOURCE_NONE;
                if (text.asks_number) begin
                  issue              = 1'b1;
                  uop.is_value       = 1'b1;
                  uop.is_awaited     = 1'b1;
                  uop.is_subtraction = text.is_subtraction;
                  uop.kind           = text.is_subtraction ? TYPE_S32 : TYPE_U32;
                  uop.optional       = text.is_nullable;
                  uop.operation      = OPERATOR_NON;
                  uop.constant       = '0;
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

              // An integer, or the length of a vector, that does not end in the window: more than ten bytes are padding.
              if (plan.source_code == ERROR_NONE && plan.source == SOURCE_STREAM && length_i == '0 &&
                  ((plan.is_value && (!plan.is_group || plan.operation == OPERATOR_DEL)) || insn_q.op == OP_TID ||
                   text.wants_number)) begin
                if (available_i == 4'd10) begin
                  take       = 4'd1;
                  padded_d   = 1'b1;
                  if (!padded_q) negative_d = bytes_i[6] && (plan.takes_signed || (is_string && text.is_subtraction));
                  too_wide_d = too_wide_q || bytes_i[6:0] != {7{negative_d}};
                  nonzero_d  = nonzero_q || bytes_i[6:0] != '0;
                end else if (end_i) begin
                  code = ERROR_X1;
                end
              end
            end

            CONTROL: begin
              uop.source  = SOURCE_NONE;
              has_control = 1'b1;
            end

            SEQ_WAIT:
            if (result_valid) begin
              awaited_d = result;
              state_d   = SEQ;
            end

            SEQ: begin
              if (awaited_q == '0) begin
                done         = 1'b1;
                next_address = insn_q.target;
              end else if (awaited_q[31:17] != '0 || element_bytes > 33'(left) || awaited_q > 32'(elements_left_q) ||
                           awaited_q > message_elements_left_q ||
                           (constant.may_be_empty && awaited_q > limits.empty_elements)) begin
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

            DISPATCH: begin
              block_slots = 6'((9'(root_reach) + 9'(ValueWords - 1)) / 9'(ValueWords));
              if (!is_found || (is_waiting_q && !chosen.reset)) begin
                code                          = ERROR_D9;
                uop.command.place.template_id = awaited_q;
              end else if (17'(block_slots) > 17'(limits.max_record_slots)) begin
                code = ERROR_X4;
              end else begin
                if (chosen.reset && channel_q.reset_rule != RESET_NEVER) begin
                  new_generation = 1'b1;
                  is_waiting_d   = 1'b0;
                  generation_d   = next_generation;
                  write_state    = 1'b1;
                  state_assigned = 1'b1;
                  state_kind     = TYPE_U32;
                end
                issue                 = 1'b1;
                uop.source            = SOURCE_NONE;
                uop.command.open      = 1'b1;
                uop.command.open_root = 1'b1;
                uop.command.block     = chosen.root;
                template_d            = chosen.template_index;
                block_d               = chosen.root_block;
                block_words_d         = chosen.root.words;
                next_slot_d           = 16'(block_slots);
                done                  = 1'b1;
                next_address          = chosen.entry;
              end
            end

            default: begin  // OVERFULL
              code                           = ERROR_X4;
              uop.command.place.word         = NoWord;
              uop.command.place.block        = NoBlock;
              uop.command.place.offset_bytes = position_q;
            end
          endcase
        end

        // What the data-op leaves behind, and the control-op.
        is_present = uop.source != SOURCE_NONE;
        if (has_control && code == ERROR_NONE) begin
          issue      = 1'b1;
          done       = 1'b1;
          bits_taken = 2'(plan.takes_bit);
          if (plan.is_value) begin
            uop.is_value      = 1'b1;
            uop.command.store = is_stored && is_present && !plan.is_group;
            uop.writes_entry  = plan.remembers && is_present;
            uop.base_code     = plan.base_code;
            if (plan.kind == TYPE_IEXP) decimal_d = is_present ? SOURCE_STREAM : SOURCE_NONE;
            if (plan.kind == TYPE_DEXP) begin
              decimal_d      = uop.source;
              decimal_base_d = plan.base_is_previous;
            end
          end
          if (plan.is_field) begin
            uop.is_value      = 1'b1;
            uop.command.store = is_stored;
          end
          if (plan.remembers && (plan.is_value || is_string) && !(plan.is_mantissa && decimal_q == SOURCE_NONE)) begin
            // A NULL delta changes nothing.
            write_state    = is_present || plan.operation != OPERATOR_DEL;
            state_assigned = is_present;
            state_length   = plan.is_group ? 13'(group.used_bits) : text.count[12:0];
            state_is_wide   = text.is_wide;
            state_in_second = is_string && text.in_second;
          end

          case (insn_q.control)
            CONTROL_SEQ: begin
              done      = !is_present;
              awaited_d = 32'(short_value) - 32'(plan.is_optional);
              if (uop.source == SOURCE_INITIAL) awaited_d = constant.value[31:0];
              uop.is_awaited = uop.source == SOURCE_PREVIOUS ||
                               (uop.source == SOURCE_STREAM && (plan.operation == OPERATOR_DEL || padded_q || length_i > 4'd2));
              if (is_present) state_d = uop.is_awaited ? SEQ_WAIT : SEQ;
              next_address = insn_q.target;
            end
            CONTROL_LEND: begin
              end_element   = 1'b1;
              restore_map   = 1'b1;
              restore_depth = loop_map_depth;
              if (!is_last_element) next_address = insn_q.target;
            end
            CONTROL_SKIP: begin
              bits_taken = bits_taken + 2'd1;
              if (!skip_bit) begin
                next_address = insn_q.target;
              end else if (insn_q.op == OP_NOP) begin
                uop.command.store = is_stored;
                uop.command.value = 64'd1;
              end
            end
            CONTROL_POP:  restore_map = 1'b1;
            CONTROL_JOIN: next_address = insn_q.target;
            CONTROL_DISP: begin
              // The identifier is a mandatory uInt32 with copy.
              done             = 1'b0;
              state_d          = TID_WAIT;
              uop.is_value     = 1'b1;
              uop.is_awaited   = 1'b1;
              uop.kind         = TYPE_U32;
              uop.operation    = OPERATOR_COP;
              uop.constant     = '0;
              uop.writes_entry = 1'b1;
              write_state      = 1'b1;
              state_assigned   = 1'b1;
              state_kind       = TYPE_U32;
            end
            CONTROL_CALL: code = ERROR_X15;
            CONTROL_END: begin
              next_address = '0;
              if (17'(next_slot_q) + 17'(string_slots_d) > 17'(limits.max_record_slots)) begin
                done    = 1'b0;
                state_d = OVERFULL;
              end else begin
                uop.command.commit = 1'b1;
                uop.command.flags  = end_i && available_i == take ? FlagLastOfPacket : '0;
                message_index_d    = message_index_q + 16'd1;
              end
            end
            default: ;
          endcase
        end

        if (issue && uop.command.open && !uop.command.open_root) next_slot_d = next_slot_q + 16'(block_slots);
        // A message begins behind the end of another, and nowhere else: no verified program jumps to its beginning.
        if (done && next_address == '0 && !uop.command.commit) code = ERROR_X15;
        if (done && code == ERROR_NONE) begin
          state_d          = RUN;
          redirect         = next_address != c_foreseen_q;
          redirect_address = next_address;
        end
      end
    endcase

    watchdog_d = state_q == IDLE ? '0 : watchdog_q + 1'b1;
    if (&watchdog_q && state_q != FAILED && state_q != IDLE) code = ERROR_X15;

    if (code != ERROR_NONE) begin
      issue         = 1'b1;
      done          = 1'b0;
      write_state   = 1'b0;
      uop.code      = code;
      state_d       = FAILED;
      if (state_q == PREAMBLE || state_q == FINISH) begin
        uop.command.place.word         = NoWord;
        uop.command.place.block        = NoBlock;
        uop.command.place.offset_bytes = position_q;
        uop.command.place.template_index = template_q;
      end
    end
    if (is_waiting_q) begin
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
      redirect       = 1'b0;
      take           = '0;
      write_state    = 1'b0;
      new_generation = 1'b0;
      release_window = 1'b0;
    end
    if (flush) begin
      state_d        = IDLE;
      release_window = 1'b1;
      redirect       = 1'b0;
    end
    position_d = state_q == IDLE ? '0 : position_q + 17'(take);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q   <= IDLE;
      c_valid_q <= 1'b0;
    end else if (advance) begin
      state_q   <= state_d;
      c_valid_q <= load_c || (c_valid_q && !done && !redirect && !flush);
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
      decimal_q               <= decimal_d;
      decimal_base_q          <= decimal_base_d;
      awaited_q               <= awaited_d;
      opened_q                <= !load_c && (opened_q || issue);
      padded_q                <= !load_c && padded_d;
      negative_q              <= !load_c && negative_d;
      too_wide_q              <= !load_c && too_wide_d;
      nonzero_q               <= !load_c && nonzero_d;
      // The fields of a bit group are where it is.
      if ((load_c && f_insn.op[7:2] != OP_BIT_U64_MAN[7:2]) || state_q == PREAMBLE) entity_q <= position_d;
      if (state_q == IDLE) begin
        datagram_q       <= datagram_i;
        channel_q        <= channel;
        channel_number_q <= channel_number;
      end
    end
  end

  assign header_o = '{
    arrival_ns: datagram_q.arrival_ns,
    number: datagram_q.number,
    sequence_number: datagram_q.sequence_number,
    channel: datagram_q.channel,
    image_generation: channel_q.image_generation,
    sender_epoch: datagram_q.sender_epoch,
    source: datagram_q.source,
    time_quality: datagram_q.time_quality
  };
endmodule
