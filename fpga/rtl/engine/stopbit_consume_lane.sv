/// What an instruction in the consume stage is, and where its value comes from: decided by the presence bit, the state of
/// its dictionary entry and, for a mantissa, by its exponent; never by a value.
///
/// The entry's state and the exponent come late: for each state it is known beforehand what would follow, and they choose.
/// What is done in the cycle does not wait for them: whether the stream has the value is known without.
module stopbit_consume_lane
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic [7:0]   op_i,
  input  traits_t      traits_i,       // of it
  input  logic         bit_i,          // the next one of the presence map
  input  logic         has_initial_i,
  input  entry_state_t state_i,        // of its dictionary entry
  input  logic [5:0]   group_bits_i,   // of a bit group: those that its fields use
  input  source_e      exponent_i,     // of the exponent before it
  input  logic         exponent_streams_i,  // that is the stream
  input  logic         exponent_absent_i,   // there is none: known early, if no entry decides it
  input  logic         exponent_base_i,  // that of the exponent was a previous one
  input  logic         is_waiting_i,   // the dictionary waits for a reset
  output plan_t        plan_o
);
  typedef struct packed {
    source_e    source;
    logic [7:0] source_code;
    logic       base_is_previous;
    logic [7:0] base_code;
  } origin_t;

  // If it is no mantissa without exponent and none of a decimal with one operator.
  function automatic origin_t origin_of(logic is_assigned, logic is_empty, logic has_type);
    origin_of = '{source: SOURCE_STREAM, source_code: ERROR_NONE, base_is_previous: 1'b0, base_code: ERROR_NONE};
    if (traits_i.is_tid) begin
      if (!bit_i) begin
        origin_of.source = SOURCE_PREVIOUS;
        // A datagram that has to begin with a reset has to say so in as many words.
        if (!is_assigned || is_waiting_i) origin_of.source_code = ERROR_D5;
      end
    end else begin
      case (op_i[7:5])
        OPERATOR_NON, OPERATOR_SPECIAL: ;
        OPERATOR_CON: origin_of.source = traits_i.takes_own_bit && !bit_i ? SOURCE_NONE : SOURCE_INITIAL;
        OPERATOR_DEF: if (!bit_i) origin_of.source = has_initial_i ? SOURCE_INITIAL : SOURCE_NONE;
        OPERATOR_DEL: begin
          if (is_assigned) begin
            origin_of.base_is_previous = 1'b1;
            if (!has_type) origin_of.base_code = ERROR_D4;
          end else if (is_empty) begin
            origin_of.base_code = ERROR_D6;
          end
        end
        default: begin
          if (!bit_i) begin
            if (is_assigned) begin
              origin_of.source = SOURCE_PREVIOUS;
              if (!has_type) origin_of.source_code = ERROR_D4;
            end else if (!is_empty && has_initial_i) begin
              origin_of.source = SOURCE_INITIAL;
            end else begin
              origin_of.source = SOURCE_NONE;
              if (!traits_i.is_optional) begin
                if (op_i[7:5] == OPERATOR_TAI) origin_of.source_code = is_empty ? ERROR_D7 : ERROR_D6;
                else origin_of.source_code = is_empty ? ERROR_D6 : ERROR_D5;
              end
            end
          end else if (op_i[7:5] == OPERATOR_TAI && is_assigned) begin
            origin_of.base_is_previous = 1'b1;
            if (!has_type) origin_of.base_code = ERROR_D4;
          end
        end
      endcase
    end
  endfunction

  logic has_type, is_absent, asks_entry;
  origin_t if_assigned, if_empty, if_undefined, origin;
  assign has_type     = state_i.kind == traits_i.dictionary_kind && (!traits_i.is_group || state_i.length[5:0] == group_bits_i);
  assign if_assigned  = origin_of(1'b1, 1'b0, has_type);
  assign if_empty     = origin_of(1'b0, 1'b1, has_type);
  assign if_undefined = origin_of(1'b0, 1'b0, has_type);
  assign is_absent    = traits_i.is_mantissa && exponent_absent_i;
  assign asks_entry   = !bit_i && (traits_i.is_tid || (traits_i.remembers && !traits_i.always_streams));

  logic shares_source;  // with the exponent: a decimal with one operator
  assign shares_source = op_i[4:1] == TYPE_DMAN && !traits_i.is_tid;
  always_comb begin
    origin = if_undefined;
    if (state_i.is_assigned) origin = if_assigned;
    if (state_i.is_empty) origin = if_empty;
    if (shares_source) begin
      origin = '{source: exponent_i, source_code: ERROR_NONE, base_is_previous: exponent_base_i, base_code: ERROR_NONE};
    end
    if (traits_i.is_mantissa && exponent_i == SOURCE_NONE) begin
      origin = '{source: SOURCE_NONE, source_code: ERROR_NONE, base_is_previous: 1'b0, base_code: ERROR_NONE};
    end
    plan_o.operation        = op_i[7:5];
    plan_o.kind             = op_i[4:1];
    plan_o.dictionary_kind  = traits_i.dictionary_kind;
    plan_o.is_text          = traits_i.is_text;
    plan_o.is_vector        = traits_i.is_vector;
    plan_o.is_optional      = traits_i.is_optional;
    plan_o.is_group         = traits_i.is_group;
    plan_o.is_field         = traits_i.is_field;
    plan_o.is_value         = traits_i.is_value;
    plan_o.is_mantissa      = traits_i.is_mantissa;
    plan_o.takes_signed     = traits_i.takes_signed;
    plan_o.remembers        = traits_i.remembers;
    plan_o.takes_bit        = traits_i.takes_own_bit || (traits_i.takes_bit_if_exponent && !exponent_absent_i);
    plan_o.source           = origin.source;
    plan_o.source_code      = origin.source_code;
    plan_o.base_is_previous = origin.base_is_previous;
    plan_o.base_code        = origin.base_code;
    plan_o.is_streamed      = shares_source ? exponent_streams_i : traits_i.always_streams || (!traits_i.never_streams && bit_i);
    if (is_absent) plan_o.is_streamed = 1'b0;
    plan_o.known_source = asks_entry ? SOURCE_PREVIOUS : if_undefined.source;
  end
endmodule
