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
  // The sign is looked up beside the shift, and chooses last.
  logic [63:0] mask, sent, group;
  logic        is_negative;
  logic [6:0]  sign_at;
  always_comb begin
    mask        = {1'b0, ~({63{1'b1}} << width_i)};
    sent        = {1'b0, group_i >> behind_i} & mask;
    sign_at     = 7'(behind_i) + 7'(width_i) - 7'd1;
    group       = {1'b0, group_i};
    is_negative = is_signed_i && width_i != '0 && !sign_at[6] && group[sign_at[5:0]];
    is_null_o   = is_optional_i && sent == '0;
    value_o     = is_optional_i ? sent - 64'd1 : sent;
    if (is_negative) value_o = sent | ~mask;
  end
endmodule
