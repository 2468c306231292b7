/// Numbers of more than ten bytes: bytes before the last ten can only be sign bits, and are skipped one by one.
module stopbit_padding
  import stopbit_uop_pkg::*;
(
  input  logic     clk_i,
  input  logic     advance_i,    // the stages move
  input  window_t  window_i,
  input  logic     is_signed_i,  // the number
  input  logic     pads_i,       // the first byte of the window is passed over
  input  logic     ends_i,       // the number; another may follow in the same instruction
  input  logic     begins_i,     // another instruction
  output padding_t padding_o,    // of the bytes before the window
  output logic     is_overlong_o // the number could do with fewer bytes
);
  padding_t padding_d, padding_q;
  logic overlong_q;
  assign padding_o = padding_q;

  always_comb begin
    is_overlong_o = overlong_q;
    if (!padding_q.padded) begin
      is_overlong_o = window_i.length != 4'd1 &&
                      ((window_i.bytes[6:0] == 7'h00 && !(is_signed_i && window_i.bytes[14])) ||
                       (window_i.bytes[6:0] == 7'h7F && is_signed_i && window_i.bytes[14]));
    end
  end

  always_comb begin
    padding_d = padding_q;
    if (ends_i) padding_d = '0;
    if (pads_i) begin
      padding_d.padded = 1'b1;
      if (!padding_q.padded) padding_d.negative = window_i.bytes[6] && is_signed_i;
      padding_d.too_wide = padding_q.too_wide || window_i.bytes[6:0] != {7{padding_d.negative}};
      padding_d.nonzero  = padding_q.nonzero || window_i.bytes[6:0] != '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      padding_q <= begins_i ? '0 : padding_d;
      if (pads_i) overlong_q <= is_overlong_o;
    end
  end
endmodule
