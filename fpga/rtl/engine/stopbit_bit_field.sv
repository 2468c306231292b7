/// A field of a bit group (FAST 1.2): some bits of the number that the group is. NULL is 0, and what is not negative was
/// sent plus one. No registers.
module stopbit_bit_field (
  input  logic [62:0] group_i,
  input  logic [5:0]  behind_i,    // bits of the group after the field
  input  logic [5:0]  width_i,     // of the field, at least 1
  input  logic        is_signed_i,
  input  logic        is_optional_i,
  output logic [63:0] value_o,
  output logic        is_null_o
);
  logic [62:0] shifted, mask;
  logic        is_negative;
  logic [63:0] sent;
  always_comb begin
    shifted     = group_i >> behind_i;
    mask        = ~({63{1'b1}} << width_i);
    is_negative = is_signed_i && (shifted & mask & ~(mask >> 1)) != '0;
    sent        = {1'b0, shifted & mask};
    if (is_negative) sent = sent | ~{1'b0, mask};
    is_null_o   = is_optional_i && sent == '0;
    value_o     = is_optional_i && !is_negative ? sent - 64'd1 : sent;
  end
endmodule
