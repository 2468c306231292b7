/// Strings and vectors in the consume stage: their bytes in pieces of eight, from the stream, the constants or the
/// dictionary, and whether they fit. The stream's part of a delta or tail is kept until all of it has arrived; then
/// the result is made of it and of the base, and written to the other half of its slot: the base is read meanwhile.
///
/// `begins_i` says that an instruction enters the consume stage; from the next cycle on the step is shown, which is done
/// if `active_i` and the stages move.
module stopbit_text
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         begins_i,
  input  logic         advance_i,  // the stages move
  input  logic         active_i,   // the instruction is a string without an error
  input  plan_t        plan_i,
  input  constant_t    constant_i,
  input  string_slot_t slot_i,
  input  logic [12:0]  string_base_i,   // of the channel
  input  logic [12:0]  entry_length_i,  // of the string in the dictionary
  input  logic         entry_is_wide_i,
  input  logic         entry_in_second_i,
  input  logic         is_stored_i,     // records have its word
  input  logic [7:0]   string_slots_i,  // that the record has so far
  input  logic [31:0]  max_bytes_i,
  input  logic         is_strict_i,  // R2 and R9 are errors

  // The window.
  input  logic [63:0]  bytes_i,
  input  logic         byte_is_zero_i,         // the first one, but for its top bit
  input  logic         second_byte_is_zero_i,
  input  logic [3:0]   available_i,
  input  logic [3:0]   length_i,
  input  logic         end_i,
  input  logic [16:0]  left_i,            // bytes of the datagram
  input  logic         entity_is_zero_i,  // that at the window's front

  // The later stages.
  input  logic         stripped_valid_i,  // the length of a vector, or a subtraction
  input  logic [31:0]  stripped_i,
  input  logic         writes_string_i,   // a string is on its way into the dictionary
  input  logic         is_settled_i,      // nothing is on its way
  input  logic         word_is_wide_i,    // the word that was begun last, if there is nothing

  output logic [ByteBits-1:0] bytes_address_o,  // of string constants
  output text_step_t   step_o
);
  typedef enum logic [2:0] {
    START,
    ADDITION,     // what a delta adds, after the subtraction
    TEXT,         // the rest of a string with stop bit
    VECTOR_WAIT,  // the length of a vector is on its way
    VECTOR,       // its bytes
    COPY,         // from the constants or the dictionary
    PLAN,         // of a delta or tail all has arrived
    SPLICE        // its result
  } state_e;
  state_e state_d, state_q;

  logic [16:0] length_d, length_q;      // bytes so far
  logic [16:0] rest_d, rest_q;          // of a vector or copy: bytes to come
  logic        is_wide_d, is_wide_q;    // what is copied
  logic        from_slot_d, from_slot_q;
  logic [31:0] subtraction_q;
  // What its entry in the dictionary decides, from the cycle before: a string that asks it waits for a cycle at its beginning,
  // and that of a delta or tail comes in later.
  logic        knows_d, knows_q;  // it has waited
  source_e     source, source_q;
  logic        base_is_previous_q, entry_is_wide_q, entry_in_second_q;
  logic [12:0] entry_length_q;
  logic [7:0]  base_code_q;
  assign source = knows_q ? source_q : plan_i.known_source;
  logic        has_preamble_d, has_preamble_q;  // what comes is after a zero preamble
  logic        overlong_d, overlong_q;          // which it did not need
  logic [ByteBits-1:0] bytes_address, bytes_address_d, bytes_address_q, bytes_read_q;
  assign bytes_address_o = advance_i ? bytes_address : bytes_read_q;

  // Deltas and tails.
  logic splices;
  logic [12:0] base_bytes;
  logic [7:0] splice_code;
  splice_step_t splice;
  logic goes_on;  // a step can be done
  assign goes_on = !splice.probes || is_settled_i;
  always_comb begin
    splices    = plan_i.is_streamed && (plan_i.operation == OPERATOR_DEL || plan_i.operation == OPERATOR_TAI);
    base_bytes = '0;
    if (base_is_previous_q) base_bytes = entry_length_q;
    else if (constant_i.has_value) base_bytes = constant_i.value[44:32];
  end
  stopbit_splice i_splice (
    .clk_i,
    .rst_ni,
    .begin_i         (state_q == PLAN),
    .is_tail_i       (plan_i.operation == OPERATOR_TAI),
    .is_vector_i     (plan_i.is_vector),
    .subtraction_i   (subtraction_q),
    .base_bytes_i    (base_bytes),
    .addition_bytes_i(length_q),
    .capacity_i      (slot_i.capacity),
    .code_o          (splice_code),
    .step_o          (splice),
    .next_i          (state_q == SPLICE && goes_on && active_i && advance_i)
  );

  // Slots of a long string, seven words each, counted word by word: those that its complete words fill or begin, and their
  // words in the last one. More than 255 slots all count as 255 and one.
  localparam logic [8:0] ManySlots = 9'(MaxStringSlots + 1);
  logic [8:0] slots, slots_d, slots_q;
  logic [2:0] column, column_d, column_q;
  logic counts_from_0;  // nothing of the string is complete yet
  assign counts_from_0 = state_q == START || state_q == ADDITION;
  assign slots  = counts_from_0 ? '0 : slots_q;
  assign column = counts_from_0 ? '0 : column_q;

  // Where a half of the slot begins.
  logic [StringBits-1:0] first_half, second_half, read_half;
  assign first_half  = string_base_i + slot_i.base;
  assign second_half = first_half + StringBits'((14'(slot_i.capacity) + 14'd7) >> 3);
  assign read_half   = entry_in_second_q ? second_half : first_half;

  logic [16:0] done_bytes;
  logic is_from_slot, is_copy;
  logic [3:0] taken;  // bytes of the piece at the window's front, or of what is copied
  logic has_bytes;    // the word that it makes, if it is complete or the last
  logic [8:0] slots_with;  // that word
  always_comb begin
    state_d         = state_q;
    knows_d         = knows_q;
    length_d        = length_q;
    rest_d          = rest_q;
    is_wide_d       = is_wide_q;
    from_slot_d     = from_slot_q;
    bytes_address_d = bytes_address_q;
    has_preamble_d  = state_q == TEXT && has_preamble_q;
    overlong_d      = state_q == TEXT && overlong_q;
    done_bytes      = counts_from_0 ? '0 : length_q;
    has_bytes       = 1'b0;
    slots_d         = slots_q;
    column_d        = column_q;
    is_from_slot    = state_q == COPY && from_slot_q;
    is_copy         = 1'b0;
    bytes_address   = bytes_address_q;
    step_o          = '0;
    taken           = '0;

    step_o.is_nullable    = plan_i.is_optional && state_q != ADDITION;
    step_o.is_subtraction = state_q == START && plan_i.operation == OPERATOR_DEL;

    case (state_q)
      START, ADDITION, TEXT: begin
        if (source == SOURCE_PREVIOUS && !knows_q) begin
          knows_d = 1'b1;
        end else if (source == SOURCE_NONE) begin
          step_o.done    = 1'b1;
          step_o.is_null = 1'b1;
        end else if (source != SOURCE_STREAM) begin
          // Strings on their way into the dictionary are waited for.
          from_slot_d   = source == SOURCE_PREVIOUS;
          is_from_slot  = from_slot_d;
          is_copy       = !(from_slot_d && writes_string_i);
          rest_d        = from_slot_d ? 17'(entry_length_q) : constant_i.value[48:32];
          is_wide_d     = from_slot_d ? entry_is_wide_q : constant_i.bound[0];
          bytes_address = constant_i.value[ByteBits-1:0];
          if (is_copy) state_d = COPY;
        end else if (step_o.is_subtraction || plan_i.is_vector) begin
          // A number comes first.
          step_o.wants_number = 1'b1;
          if (length_i != '0) begin
            step_o.take         = length_i;
            step_o.takes_entity = 1'b1;
            if (step_o.is_nullable && entity_is_zero_i) begin
              step_o.done    = 1'b1;
              step_o.is_null = 1'b1;
            end else begin
              step_o.asks_number = 1'b1;
              state_d            = step_o.is_subtraction ? ADDITION : VECTOR_WAIT;
            end
          end
        end else if (state_q == TEXT || (available_i != '0 && !byte_is_zero_i)) begin
          if (length_i != '0 && length_i <= 4'd8) begin
            step_o.take         = length_i;
            step_o.takes_entity = 1'b1;
            step_o.is_piece     = 1'b1;
            step_o.is_last  = 1'b1;
          end else if (available_i >= 4'd8) begin
            step_o.take     = 4'd8;
            step_o.is_piece = 1'b1;
            state_d         = TEXT;
          end else if (end_i) begin
            step_o.code = ERROR_X1;
          end
          taken = step_o.take;
          if (step_o.is_piece) begin
            if (has_preamble_d && !byte_is_zero_i) overlong_d = 1'b1;
            has_preamble_d = 1'b0;
          end
        end else if (length_i == 4'd1) begin
          // A zero alone: NULL, or the empty string.
          step_o.take         = 4'd1;
          step_o.takes_entity = 1'b1;
          step_o.done     = step_o.is_nullable;
          step_o.is_null  = step_o.is_nullable;
          step_o.is_piece = !step_o.is_nullable;
          step_o.is_last  = !step_o.is_nullable;
        end else if (available_i >= 4'd2) begin
          // A zero preamble, of two zeros where NULL is one.
          step_o.take = step_o.is_nullable && second_byte_is_zero_i ? 4'd2 : 4'd1;
          length_d    = '0;
          if (step_o.take == 4'd2 && length_i == 4'd2) begin
            step_o.takes_entity = 1'b1;
            step_o.is_piece = 1'b1;
            step_o.is_last  = 1'b1;
          end else begin
            state_d        = TEXT;
            has_preamble_d = 1'b1;
          end
        end else if (end_i) begin
          step_o.code = ERROR_X1;
        end
      end

      VECTOR_WAIT:
      if (stripped_valid_i) begin
        state_d  = VECTOR;
        rest_d   = stripped_i[16:0];
        length_d = '0;
        if (stripped_i > 32'(left_i)) step_o.code = ERROR_X1;
      end

      VECTOR: begin
        if (rest_q <= 17'(available_i) && rest_q <= 17'd8) begin
          step_o.take     = rest_q[3:0];
          step_o.is_piece = 1'b1;
          step_o.is_last  = 1'b1;
        end else if (available_i >= 4'd8) begin
          step_o.take     = 4'd8;
          step_o.is_piece = 1'b1;
        end else if (end_i) begin
          step_o.code = ERROR_X1;
        end
        taken  = step_o.take;
        rest_d = rest_q - 17'(step_o.take);
        for (int unsigned i = 0; i < 8; i++) step_o.is_wide = step_o.is_wide || (step_o.take == 4'd8 && bytes_i[8*i+7]);
      end

      COPY: is_copy = 1'b1;

      PLAN: begin
        if (base_code_q != ERROR_NONE) begin
          step_o.code = base_code_q;
        end else if (splice_code != ERROR_NONE) begin
          step_o.code = splice_code;
        end else if (!writes_string_i) begin
          state_d  = SPLICE;
          length_d = '0;
        end
      end

      default: begin  // SPLICE
        step_o.is_piece = goes_on;
        step_o.is_last  = splice.is_last;
        step_o.is_wide  = splice.probes && word_is_wide_i;
        bytes_address   = constant_i.value[ByteBits-1:0] + ByteBits'(splice.word);
      end
    endcase

    if (is_copy) begin
      step_o.is_piece    = 1'b1;
      step_o.is_last     = state_q == COPY ? rest_q <= 17'd8 : from_slot_d ? entry_length_q <= 13'd8 :
                           constant_i.value[48:32] <= 17'd8;
      step_o.piece.from  = is_from_slot ? PIECE_SLOT : PIECE_CONSTANT;
      step_o.is_wide     = is_wide_d;
      taken              = step_o.is_last ? rest_d[3:0] : 4'd8;
      rest_d             = rest_d - 17'(taken);
      bytes_address_d    = bytes_address + 1'b1;
    end

    // The piece.
    step_o.count              = done_bytes + 17'(taken);
    step_o.keep_address       = done_bytes[KeepBits+2:3];
    step_o.in_second          = is_from_slot && entry_in_second_q;
    step_o.piece.bytes        = taken;
    step_o.piece.emits        = 1'b1;
    step_o.piece.read_address = read_half + StringBits'(done_bytes[15:3]);
    if (state_q == SPLICE) begin
      step_o.count              = done_bytes + (splice.emits ? 17'(splice.result_bytes) : '0);
      step_o.in_second          = base_is_previous_q && !entry_in_second_q;
      step_o.piece.from         = !splice.is_base ? PIECE_KEPT : base_is_previous_q ? PIECE_SLOT : PIECE_CONSTANT;
      step_o.piece.read_address = StringBits'(splice.word) + (splice.is_base ? read_half : '0);
      step_o.piece.skip         = splice.skip;
      step_o.piece.bytes        = splice.bytes;
      step_o.piece.at           = splice.at;
      step_o.piece.emits        = splice.emits;
    end
    step_o.piece.write_address = (step_o.in_second ? second_half : first_half) + StringBits'(done_bytes[15:3]);
    step_o.piece.writes        = step_o.piece.emits && plan_i.remembers && !is_from_slot &&
                                 done_bytes < 17'(slot_i.capacity);
    has_bytes  = state_q == SPLICE ? splice.emits && splice.result_bytes != '0 : taken != '0;
    slots_with = slots;
    if (has_bytes && column == '0 && slots != ManySlots) slots_with = slots + 9'd1;
    if (length_d == '0) {slots_d, column_d} = '0;
    if (step_o.is_piece) begin
      length_d = step_o.count;
      slots_d  = slots_with;
      column_d = !has_bytes ? column : column == 3'(ValueWords - 1) ? '0 : column + 3'd1;
    end
    if (step_o.is_piece && splices && state_q != SPLICE) begin
      // Of a delta or tail: kept, and no piece yet.
      step_o.keeps    = 1'b1;
      step_o.is_piece = 1'b0;
      if (step_o.is_last) state_d = PLAN;
      if (step_o.is_last && overlong_d && is_strict_i) step_o.code = ERROR_R9;
    end
    step_o.piece.is_first = done_bytes == '0;
    step_o.piece.is_last  = step_o.is_last;
    if (step_o.is_piece && step_o.is_last) begin
      step_o.done    = 1'b1;
      step_o.is_long = step_o.count > 17'd8 || (step_o.count == 17'd8 && step_o.is_wide);
      step_o.slots   = is_stored_i && step_o.is_long ? 8'(slots_with) : '0;
      step_o.checks_utf8 = is_strict_i && plan_i.kind == TYPE_UNI && 32'(step_o.count) <= max_bytes_i;
      if (overlong_d && is_strict_i) begin
        step_o.late_code = ERROR_R9;
      end else if (32'(step_o.count) > max_bytes_i) begin
        step_o.late_code = ERROR_X3;
      end else if (plan_i.remembers && !is_from_slot && step_o.count > 17'(slot_i.capacity)) begin
        step_o.late_code = ERROR_X3;
      end else if (step_o.is_long && 10'(slots_with) + (is_stored_i ? 10'(string_slots_i) : '0) >
                   10'(MaxStringSlots)) begin
        step_o.late_code = ERROR_X8;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (begins_i) begin
      state_q <= START;
      knows_q <= 1'b0;
    end else if (active_i && advance_i) begin
      state_q <= state_d;
      knows_q <= knows_d;
    end
    // A string without a source is an error, which goes with it.
    source_q           <= plan_i.source_code != ERROR_NONE ? SOURCE_NONE : plan_i.source;
    base_is_previous_q <= plan_i.base_is_previous;
    base_code_q        <= plan_i.base_code;
    entry_length_q     <= entry_length_i;
    entry_is_wide_q    <= entry_is_wide_i;
    entry_in_second_q  <= entry_in_second_i;
    if (active_i && advance_i) begin
      length_q        <= length_d;
      slots_q         <= slots_d;
      column_q        <= column_d;
      rest_q          <= rest_d;
      is_wide_q       <= is_wide_d;
      from_slot_q     <= from_slot_d;
      bytes_address_q <= bytes_address_d;
      has_preamble_q  <= has_preamble_d;
      overlong_q      <= overlong_d;
      if (state_q == ADDITION && stripped_valid_i) subtraction_q <= stripped_i;
    end
    bytes_read_q <= bytes_address_o;
  end
endmodule
