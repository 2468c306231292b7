/// The stages after the consume stage: strip (entities to numbers), operate (operator, range, limit, dictionary) and pack
/// (the command for the record packer). A micro-operation of up to two values a cycle; all stages stop while the
/// packer is not ready.
///
/// An error becomes an event and kills what is younger of its datagram (`flush_o`). Errors found late leave the
/// dictionary wrong: it is not read before its reset.
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
  input  logic        string_is_bad_i,   // that of the piece: it is not UTF-8
  input  logic        length_is_wrong_i, // with the micro-operation in the operate stage the loop of a sequence begins
  input  place_t      length_place_i,
  input  logic        is_overfull_i,     // a record that the micro-operation in the operate stage completes is too long
  input  logic [16:0] overfull_at_i,     // the end of its bytes
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
  output logic [1:0]  datagram_o,        // of the command, and of the error
  output command_t    command_o
);
  // Strip.
  logic s_valid_q;
  uop_t s_uop_q;
  logic [1:0][63:0] s_previous;
  logic [1:0][70:0] number;
  logic [1:0] is_too_wide;

  // Operate.
  logic o_valid_q;
  uop_t o_uop_q;
  logic [1:0][70:0] o_number_q;
  logic [1:0] o_is_too_wide_q;
  logic [1:0][63:0] o_previous_q, value;
  logic [1:0] is_wrong;
  logic [1:0][7:0] code;
  logic [63:0] field;
  logic field_is_null;
  logic [1:0] writes_entry;

  // Pack.
  logic p_valid_q;
  logic [1:0] p_datagram_q;
  command_t p_command_q;

  logic p_stores_q;  // the command is more than an event
  assign valid_o    = p_valid_q && (p_stores_q || p_command_q.event_valid);
  assign command_o  = p_command_q;
  assign datagram_o = p_datagram_q;
  assign advance_o  = !valid_o || ready_i;
  assign flush_o    = valid_o && ready_i && p_command_q.event_valid;
  assign is_settled_o = !s_valid_q && !o_valid_q && !(p_valid_q && p_command_q.event_valid);

  for (genvar i = 0; i < 2; i++) begin : g_lane
    stopbit_strip i_strip (
      .uop_i        (s_uop_q.lane[i]),
      .number_o     (number[i]),
      .is_too_wide_o(is_too_wide[i])
    );
    stopbit_operator i_operator (
      .uop_i        (o_uop_q.lane[i]),
      .number_i     (o_number_q[i]),
      .is_too_wide_i(o_is_too_wide_q[i]),
      .previous_i   (o_previous_q[i]),
      .field_i      (field),
      .field_is_null_i(field_is_null),
      .value_o      (value[i]),
      .is_wrong_o   (is_wrong[i]),
      .code_o       (code[i])
    );
    assign writes_entry[i] = o_valid_q && advance_o && o_uop_q.lane[i].writes_entry;
  end
  // Fields of the last bit group; both are the first of a micro-operation.
  logic [62:0] group_q;
  stopbit_bit_field i_bit_field (
    .group_i      (group_q),
    .behind_i     (o_uop_q.lane[0].field_behind),
    .width_i      (o_uop_q.lane[0].field_width),
    .is_signed_i  (o_uop_q.lane[0].kind == TYPE_S64),
    .is_optional_i(o_uop_q.lane[0].optional),
    .value_o      (field),
    .is_null_o    (field_is_null)
  );
  always_ff @(posedge clk_i) begin
    if (o_valid_q && advance_o && o_uop_q.lane[0].is_group) group_q <= value[0][62:0];
  end

  stopbit_dictionary_values i_values (
    .clk_i,
    .advance_i    (advance_o),
    .offered_i    (uop_i.lane),
    .strip_i      (s_uop_q.lane),
    .previous_o   (s_previous),
    .write_i      (writes_entry),
    .write_entry_i({o_uop_q.lane[1].entry, o_uop_q.lane[0].entry}),
    .value_i      (value)
  );

  // At most one value of a micro-operation is awaited.
  logic [1:0] s_awaited, o_awaited;
  for (genvar i = 0; i < 2; i++) begin : g_awaited
    assign s_awaited[i] = s_uop_q.lane[i].is_awaited && s_uop_q.lane[i].source == SOURCE_STREAM;
    assign o_awaited[i] = o_uop_q.lane[i].is_awaited;
  end
  assign stripped_valid_o = s_valid_q && (|s_awaited) && advance_o;
  assign stripped_o       = number[s_awaited[1]][31:0];
  assign result_valid_o   = o_valid_q && (|o_awaited) && advance_o;
  assign result_o         = value[o_awaited[1]][31:0];

  // The first error counts: the length of a sequence, before the instruction after it; of the consume stage, of the first
  // value, of the second, of the complete record.
  command_t p_command_d;
  logic [7:0] p_code;
  logic is_first_wrong, is_any_wrong;  // before the second value; with it
  logic ends_overfull;
  assign ends_overfull = o_uop_q.command.commit && is_overfull_i;
  always_comb begin
    p_command_d = o_uop_q.command;
    if (o_uop_q.lane[0].is_value) p_command_d.value = value[0];
    else if (o_uop_q.is_piece) p_command_d.value = string_word_i;
    if (o_uop_q.lane[0].is_field && field_is_null) p_command_d.store = 1'b0;
    p_command_d.second_value = value[1];
    p_code = o_uop_q.code != ERROR_NONE ? o_uop_q.code : is_wrong[0] ? code[0] : ERROR_NONE;
    if (o_uop_q.checks_utf8 && string_is_bad_i) p_code = ERROR_R2;
    is_first_wrong = o_uop_q.code != ERROR_NONE || (o_uop_q.checks_utf8 && string_is_bad_i) || is_wrong[0];
    is_any_wrong   = is_first_wrong || is_wrong[1];
    if (!is_first_wrong && is_wrong[1]) begin
      p_code = code[1];
      p_command_d.place.word         = o_uop_q.command.second_word;
      p_command_d.place.offset_bytes = o_uop_q.second_offset_bytes;
    end
    if (!is_any_wrong && ends_overfull) begin
      p_code = ERROR_X4;
      if (!o_uop_q.is_dropped) begin
        p_command_d.place.word         = NoWord;
        p_command_d.place.block        = NoBlock;
        p_command_d.place.offset_bytes = overfull_at_i;
      end
    end
    if (o_uop_q.checks_length && length_is_wrong_i) begin
      p_code = ERROR_X2;
      if (!o_uop_q.is_dropped) p_command_d.place = length_place_i;
    end
    p_command_d.event_valid = is_any_wrong || ends_overfull || (o_uop_q.checks_length && length_is_wrong_i);
    p_command_d.event_kind  = o_uop_q.is_dropped ? EventDropped : EventDecodeError;
    p_command_d.event_code  = o_uop_q.is_dropped ? ERROR_NONE : p_code;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s_valid_q <= 1'b0;
      o_valid_q <= 1'b0;
      p_valid_q <= 1'b0;
    end else if (advance_o) begin
      s_valid_q <= valid_i && !(flush_o && uop_i.datagram == p_datagram_q);
      o_valid_q <= s_valid_q && !(flush_o && s_uop_q.datagram == p_datagram_q);
      p_valid_q <= o_valid_q && !(flush_o && o_uop_q.datagram == p_datagram_q);
    end
    if (advance_o) begin
      s_uop_q         <= uop_i;
      o_uop_q         <= s_uop_q;
      o_number_q      <= number;
      o_is_too_wide_q <= is_too_wide;
      o_previous_q    <= s_previous;
      p_command_q     <= p_command_d;
      p_stores_q      <= p_command_d.open || p_command_d.store || p_command_d.second_store || p_command_d.piece ||
                         p_command_d.commit;
      p_datagram_q    <= o_uop_q.datagram;
    end
  end

`ifndef SYNTHESIS
  trace_t trace /*verilator public_flat_rd*/;
  always_comb begin
    trace              = '0;
    trace.valid        = o_valid_q && advance_o && !(flush_o && o_uop_q.datagram == p_datagram_q);
    trace.is_pair      = o_uop_q.is_pair;
    trace.begins       = o_uop_q.begins;
    trace.pc           = o_uop_q.pc;
    trace.string_end   = o_uop_q.command.string_end;
    trace.string_bytes = o_uop_q.command.count;
    trace.string_word  = string_word_i;
    for (int unsigned i = 0; i < 2; i++) begin
      trace.lane[i] = '{entry: o_uop_q.lane[i].entry, writes_entry: o_uop_q.lane[i].writes_entry, previous: o_previous_q[i],
                        value: value[i], source: o_uop_q.lane[i].source, is_value: o_uop_q.lane[i].is_value,
                        offset_bytes: o_uop_q.second_offset_bytes, code: code[i]};
    end
    trace.lane[0].offset_bytes = o_uop_q.command.place.offset_bytes;
    if (o_uop_q.code != ERROR_NONE) trace.lane[0].code = o_uop_q.code;
    if (o_uop_q.checks_length && length_is_wrong_i) trace.lane[0].code = ERROR_X2;
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && (&writes_entry)) begin
      assert (o_uop_q.lane[0].entry[0] != o_uop_q.lane[1].entry[0]) else $fatal(1, "two writes to a bank");
    end
  end
`endif
endmodule
