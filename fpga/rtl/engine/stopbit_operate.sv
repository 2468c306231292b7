/// The stages behind the consume stage: strip (stop bits off, sign, NULL), operate (operator, range, limit, dictionary)
/// and pack (the command for the record packer). One micro-operation a cycle; all stages stand still while the packer
/// is not ready.
///
/// The value of a dictionary entry is read on the way into the strip stage and written at the end of the operate stage;
/// two bypasses let an instruction use what the one before it wrote. An error becomes an event and kills what is
/// younger (`flush_o`). Errors found late leave the dictionary wrong: nobody reads it before its reset.
module stopbit_operate
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  input  uop_t        uop_i,
  input  logic [63:0] string_word_i,     // of the piece of a string that is in the operate stage
  output logic        advance_o,         // the stages move; otherwise what was offered has to be offered again
  output logic        flush_o,
  output logic        is_settled_o,      // what was offered has come through without an error, or was killed

  // Values that the consume stage waits for, each for one cycle in which the stages move.
  output logic        stripped_valid_o,  // of the stream, without operator; may be out of range, which is an error then
  output logic [31:0] stripped_o,
  output logic        result_valid_o,
  output logic [31:0] result_o,

  output logic        valid_o,
  input  logic        ready_i,
  output command_t    command_o
);
  // Strip.
  logic s_valid_q;
  uop_t s_uop_q;
  logic [63:0] s_previous, previous_read;
  logic previous_bypass_q;
  logic [63:0] previous_bypass_value_q;
  logic is_signed;
  logic [70:0] entity, number;
  logic is_too_wide;

  // Operate.
  logic o_valid_q;
  uop_t o_uop_q;
  logic [70:0] o_number_q;
  logic o_is_too_wide_q;
  logic [63:0] o_previous_q;
  logic [63:0] value;
  logic [7:0] code;
  logic writes_entry;

  // Pack.
  logic p_valid_q;
  command_t p_command_q;

  logic p_wants;
  assign p_wants   = p_command_q.open || p_command_q.store || p_command_q.piece || p_command_q.commit ||
                     p_command_q.event_valid;
  assign valid_o   = p_valid_q && p_wants;
  assign command_o = p_command_q;
  assign advance_o = !valid_o || ready_i;
  assign flush_o   = valid_o && ready_i && p_command_q.event_valid;
  assign is_settled_o = !s_valid_q && !o_valid_q && !(p_valid_q && p_command_q.event_valid);

  always_comb begin
    is_signed = s_uop_q.operation == OPERATOR_DEL || !(s_uop_q.kind == TYPE_U32 || s_uop_q.kind == TYPE_U64);
    entity = '0;
    for (int unsigned i = 0; i < 10; i++) entity[7*(9-i)+:7] = s_uop_q.bytes[8*i+:7];
    entity[70] = is_signed && (s_uop_q.padded ? s_uop_q.negative : s_uop_q.bytes[6]);
    entity = 71'($signed(entity) >>> (7'd7 * (7'd10 - 7'(s_uop_q.length))));
    // NULL is 0 and was found before; what is not negative was sent plus one.
    number = entity;
    if (s_uop_q.optional && !entity[70]) number = entity - 71'd1;
    if (s_uop_q.operation == OPERATOR_DEL) begin
      is_too_wide = s_uop_q.too_wide || entity[70] != entity[69];
    end else begin
      case (s_uop_q.kind)
        TYPE_U32: is_too_wide = |number[70:32];
        TYPE_U64: is_too_wide = |number[70:64];
        TYPE_S64, TYPE_IMAN, TYPE_DMAN: is_too_wide = !(&number[70:63]) && |number[70:63];
        default: is_too_wide = !(&number[70:31]) && |number[70:31];
      endcase
      is_too_wide = is_too_wide || s_uop_q.too_wide;
    end
    s_previous = previous_bypass_q ? previous_bypass_value_q : previous_read;
  end
  assign stripped_valid_o = s_valid_q && s_uop_q.is_awaited && s_uop_q.source == SOURCE_STREAM && advance_o;
  assign stripped_o       = number[31:0];

  // Operators.
  logic base_is_signed, is_exponent, is_narrow, is_signed_o;
  logic [63:0] base, incremented, limited;
  logic signed [72:0] sum;
  logic is_in_range;
  logic [7:0] range_code;
  always_comb begin
    is_exponent    = o_uop_q.kind == TYPE_IEXP || o_uop_q.kind == TYPE_DEXP;
    is_narrow      = o_uop_q.kind == TYPE_U32 || o_uop_q.kind == TYPE_S32;
    is_signed_o    = !(o_uop_q.kind == TYPE_U32 || o_uop_q.kind == TYPE_U64);
    base           = o_uop_q.is_base_previous ? o_previous_q : o_uop_q.constant.value;
    base_is_signed = is_signed_o && base[63];
    sum            = $signed({{9{base_is_signed}}, base}) + 73'($signed(o_number_q));
    case ({is_narrow, is_signed_o})
      2'b10: is_in_range = sum[72:32] == '0;
      2'b11: is_in_range = sum[72:31] == '0 || (&sum[72:31]);
      2'b00: is_in_range = sum[72:64] == '0;
      default: is_in_range = sum[72:63] == '0 || (&sum[72:63]);
    endcase
    range_code = o_uop_q.operation != OPERATOR_DEL ? ERROR_D2 : is_exponent || o_uop_q.kind == TYPE_IMAN ||
                 o_uop_q.kind == TYPE_DMAN ? ERROR_R1 : ERROR_R4;

    incremented = o_previous_q + 64'd1;
    if (o_uop_q.constant.code == ERROR_NONE && o_uop_q.constant.limit == LIMIT_UNSIGNED &&
        o_previous_q == o_uop_q.constant.bound) begin
      incremented = '0;
    end else if (o_uop_q.constant.code == ERROR_NONE && o_uop_q.constant.limit == LIMIT_SIGNED &&
                 o_previous_q == o_uop_q.constant.bound) begin
      incremented = ~o_previous_q;
    end else if (o_uop_q.kind == TYPE_U32 && o_previous_q == 64'hFFFF_FFFF) begin
      incremented = '0;
    end else if ((o_uop_q.kind == TYPE_S32 || is_exponent) && o_previous_q == 64'h7FFF_FFFF) begin
      incremented = 64'hFFFF_FFFF_8000_0000;
    end

    case (o_uop_q.source)
      SOURCE_STREAM: value = o_uop_q.operation == OPERATOR_DEL ? sum[63:0] : o_number_q[63:0];
      SOURCE_PREVIOUS: value = o_uop_q.operation == OPERATOR_INC ? incremented : o_previous_q;
      SOURCE_INITIAL: value = o_uop_q.constant.value;
      default: value = '0;
    endcase
    if (o_uop_q.is_field) value = field;
    limited = o_uop_q.constant.limit == LIMIT_SIGNED && value[63] ? ~value : value;

    // The first error counts: entity, base of a delta, range, limit.
    code = o_uop_q.code;
    if (code == ERROR_NONE && o_uop_q.is_value && o_uop_q.source != SOURCE_NONE && !(o_uop_q.is_field && field_is_null)) begin
      if (o_uop_q.source == SOURCE_STREAM && o_is_too_wide_q) begin
        code = o_uop_q.is_subtraction ? ERROR_D7 : ERROR_D2;
      end else if (o_uop_q.base_code != ERROR_NONE) begin
        code = o_uop_q.base_code;
      end else if (o_uop_q.source == SOURCE_STREAM && o_uop_q.operation == OPERATOR_DEL && !is_in_range) begin
        code = range_code;
      end else if (is_exponent && !($signed(value) >= -64'sd63 && $signed(value) <= 64'sd63)) begin
        code = ERROR_R1;
      end else if (o_uop_q.constant.limit != LIMIT_NONE && limited > o_uop_q.constant.bound) begin
        code = o_uop_q.constant.code != ERROR_NONE ? o_uop_q.constant.code : range_code;
      end else if (o_uop_q.is_group && o_uop_q.operation == OPERATOR_DEL &&
                   (value[5:0] & ~(6'h3F << o_uop_q.unused_bits)) != '0) begin
        code = ERROR_R4;
      end
    end
    writes_entry = o_valid_q && advance_o && o_uop_q.writes_entry;
  end

  // Fields of the bit group that was here last.
  logic [62:0] group_q;
  logic [63:0] field;
  logic field_is_null;
  stopbit_bit_field i_bit_field (
    .group_i      (group_q),
    .behind_i     (o_uop_q.field_behind),
    .width_i      (o_uop_q.field_width),
    .is_signed_i  (o_uop_q.kind == TYPE_S64),
    .is_optional_i(o_uop_q.optional),
    .value_o      (field),
    .is_null_o    (field_is_null)
  );
  always_ff @(posedge clk_i) begin
    if (o_valid_q && advance_o && o_uop_q.is_group) group_q <= value[62:0];
  end
  assign result_valid_o  = o_valid_q && o_uop_q.is_awaited && advance_o;
  assign result_o        = value[31:0];

  // Before a move the entry of the offered micro-operation is read, else that of the strip stage again.
  logic [ContextBits-1:0] read_entry;
  assign read_entry = advance_o ? uop_i.entry : s_uop_q.entry;
  stopbit_ram #(
    .Width(64),
    .Depth(1 << ContextBits)
  ) i_values (
    .write_clk_i    (clk_i),
    .write_i        (writes_entry),
    .write_address_i(o_uop_q.entry),
    .write_data_i   (value),
    .read_clk_i     (clk_i),
    .read_address_i (read_entry),
    .read_data_o    (previous_read)
  );

  command_t p_command_d;
  always_comb begin
    p_command_d = o_uop_q.command;
    if (o_uop_q.is_value) p_command_d.value = value;
    else if (o_uop_q.is_piece) p_command_d.value = string_word_i;
    if (o_uop_q.is_field && field_is_null) p_command_d.store = 1'b0;
    p_command_d.event_valid = code != ERROR_NONE;
    p_command_d.event_kind  = o_uop_q.is_dropped ? EventDropped : EventDecodeError;
    p_command_d.event_code  = o_uop_q.is_dropped ? ERROR_NONE : code;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_o) begin
      s_valid_q <= 1'b0;
      o_valid_q <= 1'b0;
      p_valid_q <= 1'b0;
    end else if (advance_o) begin
      s_valid_q <= valid_i;
      o_valid_q <= s_valid_q;
      p_valid_q <= o_valid_q;
    end
    if (advance_o) begin
      s_uop_q         <= uop_i;
      o_uop_q         <= s_uop_q;
      o_number_q      <= number;
      o_is_too_wide_q <= is_too_wide;
      o_previous_q    <= writes_entry && o_uop_q.entry == s_uop_q.entry ? value : s_previous;
      p_command_q     <= p_command_d;
    end
    previous_bypass_q       <= writes_entry && o_uop_q.entry == read_entry;
    previous_bypass_value_q <= value;
  end
endmodule
