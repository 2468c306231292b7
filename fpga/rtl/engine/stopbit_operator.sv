/// What becomes of a number: operator, range and limit of its field.
module stopbit_operator
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  value_uop_t  uop_i,
  input  logic [70:0] number_i,       // of its entity
  input  logic        is_too_wide_i,
  input  logic [63:0] previous_i,     // value of its dictionary entry
  input  logic [63:0] field_i,        // the field of a bit group that it is
  input  logic        field_is_null_i,
  output logic [63:0] value_o,
  output logic        is_wrong_o,
  output logic [7:0]  code_o          // if it is: the first error: source, entity, base of a delta, range, limit
);
  logic base_is_signed, is_exponent, is_narrow, is_signed;
  logic [63:0] base, incremented, limited;
  logic signed [72:0] sum;
  logic is_in_range;
  logic [7:0] range_code, early_code, late_code;
  logic is_over;
  always_comb begin
    is_exponent    = uop_i.kind == TYPE_IEXP || uop_i.kind == TYPE_DEXP;
    is_narrow      = uop_i.kind == TYPE_U32 || uop_i.kind == TYPE_S32;
    is_signed      = !(uop_i.kind == TYPE_U32 || uop_i.kind == TYPE_U64);
    base           = uop_i.is_base_previous ? previous_i : uop_i.constant.value;
    base_is_signed = is_signed && base[63];
    sum            = $signed({{9{base_is_signed}}, base}) + 73'($signed(number_i));
    case ({is_narrow, is_signed})
      2'b10: is_in_range = sum[72:32] == '0;
      2'b11: is_in_range = sum[72:31] == '0 || (&sum[72:31]);
      2'b00: is_in_range = sum[72:64] == '0;
      default: is_in_range = sum[72:63] == '0 || (&sum[72:63]);
    endcase
    range_code = uop_i.operation != OPERATOR_DEL ? ERROR_D2 : is_exponent || uop_i.kind == TYPE_IMAN ||
                 uop_i.kind == TYPE_DMAN ? ERROR_R1 : ERROR_R4;

    incremented = previous_i + 64'd1;
    if (uop_i.constant.code == ERROR_NONE && uop_i.constant.limit == LIMIT_UNSIGNED &&
        previous_i == uop_i.constant.bound) begin
      incremented = '0;
    end else if (uop_i.constant.code == ERROR_NONE && uop_i.constant.limit == LIMIT_SIGNED &&
                 previous_i == uop_i.constant.bound) begin
      incremented = ~previous_i;
    end else if (uop_i.kind == TYPE_U32 && previous_i == 64'hFFFF_FFFF) begin
      incremented = '0;
    end else if ((uop_i.kind == TYPE_S32 || is_exponent) && previous_i == 64'h7FFF_FFFF) begin
      incremented = 64'hFFFF_FFFF_8000_0000;
    end

    case (uop_i.source)
      SOURCE_STREAM: value_o = uop_i.operation == OPERATOR_DEL ? sum[63:0] : number_i[63:0];
      SOURCE_PREVIOUS: value_o = uop_i.operation == OPERATOR_INC ? incremented : previous_i;
      SOURCE_INITIAL: value_o = uop_i.constant.value;
      default: value_o = '0;
    endcase
    if (uop_i.is_field) value_o = field_i;
    limited = uop_i.constant.limit == LIMIT_SIGNED && value_o[63] ? ~value_o : value_o;

    // The first error counts: source, entity, base of a delta, range, limit. Whether the limit is kept is known last.
    early_code = uop_i.source_code;
    late_code  = ERROR_NONE;
    is_over    = 1'b0;
    if (uop_i.source_code == ERROR_NONE && uop_i.is_value && uop_i.source != SOURCE_NONE && !(uop_i.is_field && field_is_null_i)) begin
      if (uop_i.source == SOURCE_STREAM && is_too_wide_i) begin
        early_code = uop_i.is_subtraction ? ERROR_D7 : ERROR_D2;
      end else if (uop_i.base_code != ERROR_NONE) begin
        early_code = uop_i.base_code;
      end else if (uop_i.source == SOURCE_STREAM && uop_i.operation == OPERATOR_DEL && !is_in_range) begin
        early_code = range_code;
      end else if (is_exponent && !($signed(value_o) >= -64'sd63 && $signed(value_o) <= 64'sd63)) begin
        early_code = ERROR_R1;
      end else begin
        late_code = uop_i.constant.code != ERROR_NONE ? uop_i.constant.code : range_code;
        is_over   = uop_i.constant.limit != LIMIT_NONE && limited > uop_i.constant.bound;
        if (uop_i.is_group && uop_i.operation == OPERATOR_DEL && (value_o[5:0] & ~(6'h3F << uop_i.unused_bits)) != '0) begin
          early_code = ERROR_R4;
        end
      end
    end
    is_wrong_o = early_code != ERROR_NONE || is_over;
    code_o     = is_over ? late_code : early_code;
  end
endmodule
