/// An entity as a number: stop bits off, sign, NULL adjustment, and whether it fits its type.
module stopbit_strip
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  value_uop_t  uop_i,
  output logic [70:0] number_o,
  output logic        is_too_wide_o  // the number does not fit
);
  logic is_signed;
  logic [70:0] entity;
  always_comb begin
    is_signed = uop_i.operation == OPERATOR_DEL || !(uop_i.kind == TYPE_U32 || uop_i.kind == TYPE_U64);
    entity = '0;
    for (int unsigned i = 0; i < 10; i++) entity[7*(9-i)+:7] = uop_i.bytes[8*i+:7];
    entity[70] = is_signed && (uop_i.padded ? uop_i.negative : uop_i.bytes[6]);
    entity = 71'($signed(entity) >>> (7'd7 * (7'd10 - 7'(uop_i.length))));
    // NULL is 0 and was found before; what is not negative was sent plus one.
    number_o = entity;
    if (uop_i.optional && !entity[70]) number_o = entity - 71'd1;
    if (uop_i.operation == OPERATOR_DEL) begin
      is_too_wide_o = uop_i.too_wide || entity[70] != entity[69];
    end else begin
      case (uop_i.kind)
        TYPE_U32: is_too_wide_o = |number_o[70:32];
        TYPE_U64: is_too_wide_o = |number_o[70:64];
        TYPE_S64, TYPE_IMAN, TYPE_DMAN: is_too_wide_o = !(&number_o[70:63]) && |number_o[70:63];
        default: is_too_wide_o = !(&number_o[70:31]) && |number_o[70:31];
      endcase
      is_too_wide_o = is_too_wide_o || uop_i.too_wide;
    end
  end
endmodule
