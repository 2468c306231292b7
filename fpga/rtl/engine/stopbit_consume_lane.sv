/// What an instruction in the consume stage is, and where its value comes from: decided by the presence bit, the state of
/// its dictionary entry and, for a mantissa, by its exponent; never by a value.
module stopbit_consume_lane
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic [7:0]   op_i,
  input  logic         bit_i,          // the next one of the presence map
  input  logic         has_initial_i,
  input  entry_state_t state_i,        // of its dictionary entry
  input  logic [5:0]   group_bits_i,   // of a bit group: those that its fields use
  input  source_e      exponent_i,     // of the exponent before it
  input  logic         exponent_base_i,  // that of the exponent was a previous one
  input  logic         is_waiting_i,   // the dictionary waits for a reset
  output plan_t        plan_o
);
  logic is_special, has_type;
  always_comb begin
    is_special              = op_i[7:5] == OPERATOR_SPECIAL;
    plan_o.operation        = op_i[7:5];
    plan_o.kind             = op_i[4:1];
    plan_o.is_text          = !is_special && op_i[4:1] == TYPE_ASCII;
    plan_o.is_vector        = !is_special && (op_i[4:1] == TYPE_UNI || op_i[4:1] == TYPE_BYTES);
    plan_o.is_optional      = op_i[0] && (!is_special || op_i[4:1] >= TYPE_U64);
    plan_o.is_group         = !is_special && op_i[4:1] == TYPE_BITS;
    plan_o.is_field         = is_special && op_i[4:1] >= TYPE_U64;
    plan_o.is_value         = !is_special && (op_i[4:1] < TYPE_ASCII || plan_o.is_group);
    plan_o.is_mantissa      = plan_o.is_value && (op_i[4:1] == TYPE_IMAN || op_i[4:1] == TYPE_DMAN);
    plan_o.takes_signed     = plan_o.is_value && (op_i[7:5] == OPERATOR_DEL ||
                                                  !(op_i[4:1] == TYPE_U32 || op_i[4:1] == TYPE_U64 || plan_o.is_group));
    plan_o.remembers        = op_i[7:5] == OPERATOR_COP || op_i[7:5] == OPERATOR_INC || op_i[7:5] == OPERATOR_DEL ||
                              op_i[7:5] == OPERATOR_TAI;
    plan_o.takes_bit        = takes_own_bit(op_i) || op_i == OP_TID ||
                              (takes_bit_if_exponent(op_i) && exponent_i != SOURCE_NONE);
    plan_o.source           = SOURCE_STREAM;
    plan_o.source_code      = ERROR_NONE;
    plan_o.base_is_previous = 1'b0;
    plan_o.base_code        = ERROR_NONE;
    case (op_i[4:1])
      TYPE_IEXP: plan_o.dictionary_kind = TYPE_S32;
      TYPE_IMAN: plan_o.dictionary_kind = TYPE_S64;
      TYPE_DMAN: plan_o.dictionary_kind = TYPE_DEXP;
      default:   plan_o.dictionary_kind = op_i[4:1];
    endcase
    has_type = state_i.kind == plan_o.dictionary_kind && (!plan_o.is_group || state_i.length[5:0] == group_bits_i);

    if (op_i == OP_TID) begin
      if (!bit_i) begin
        plan_o.source = SOURCE_PREVIOUS;
        // A datagram that has to begin with a reset has to say so in as many words.
        if (!state_i.is_assigned || is_waiting_i) plan_o.source_code = ERROR_D5;
      end
    end else if (plan_o.is_mantissa && exponent_i == SOURCE_NONE) begin
      plan_o.source = SOURCE_NONE;
    end else if (plan_o.kind == TYPE_DMAN) begin
      plan_o.source           = exponent_i;
      plan_o.base_is_previous = exponent_base_i;
    end else begin
      case (op_i[7:5])
        OPERATOR_NON, OPERATOR_SPECIAL: ;
        OPERATOR_CON: plan_o.source = plan_o.takes_bit && !bit_i ? SOURCE_NONE : SOURCE_INITIAL;
        OPERATOR_DEF: if (!bit_i) plan_o.source = has_initial_i ? SOURCE_INITIAL : SOURCE_NONE;
        OPERATOR_DEL: begin
          if (state_i.is_assigned) begin
            plan_o.base_is_previous = 1'b1;
            if (!has_type) plan_o.base_code = ERROR_D4;
          end else if (state_i.is_empty) begin
            plan_o.base_code = ERROR_D6;
          end
        end
        default: begin
          if (!bit_i) begin
            if (state_i.is_assigned) begin
              plan_o.source = SOURCE_PREVIOUS;
              if (!has_type) plan_o.source_code = ERROR_D4;
            end else if (!state_i.is_empty && has_initial_i) begin
              plan_o.source = SOURCE_INITIAL;
            end else begin
              plan_o.source = SOURCE_NONE;
              if (!plan_o.is_optional) begin
                if (op_i[7:5] == OPERATOR_TAI) plan_o.source_code = state_i.is_empty ? ERROR_D7 : ERROR_D6;
                else plan_o.source_code = state_i.is_empty ? ERROR_D6 : ERROR_D5;
              end
            end
          end else if (op_i[7:5] == OPERATOR_TAI && state_i.is_assigned) begin
            plan_o.base_is_previous = 1'b1;
            if (!has_type) plan_o.base_code = ERROR_D4;
          end
        end
      endcase
    end
  end
endmodule
