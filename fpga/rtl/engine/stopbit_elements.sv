/// How many elements sequences may have: what a datagram's bytes allow, what a message may have, and that each element
/// takes at least the minimum number of bytes. A length is looked at beside the micro-operation with which its loop begins:
/// the answer comes when that one is in the operate stage.
module stopbit_elements
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic        clk_i,
  input  logic        advance_i,  // the stages move
  input  limits_t     limits_i,
  input  logic        begins_datagram_i,
  input  logic        begins_message_i,
  input  logic [16:0] left_i,     // bytes of the datagram

  input  logic        begins_i,   // the length of a sequence was met, or will come
  input  constant_t   constant_i, // of its instruction
  input  place_t      place_i,    // of its entity
  input  logic        checks_i,   // it is known, and its loop begins now
  input  logic        in_work_i,  // the cycle after that one
  input  logic        counts_i,   // the loop of one that was on its way begins now
  output logic        checks_o,   // one is looked at, with the micro-operation of this cycle
  input  logic [31:0] length_i,   // one cycle after it was met, and later

  output place_t      place_o,      // of the length that was met last
  output logic        is_wrong_o,   // of the micro-operation in the operate stage: the length
  output place_t      wrong_place_o
);
  logic [20:0] elements_left_d, elements_left_q;
  logic [31:0] message_elements_left_d, message_elements_left_q;
  logic        checks_q;
  logic [15:0] min_bytes_q;  // of an element
  logic        may_be_empty_q;
  place_t      place_q;
  logic        counts;
  assign place_o  = place_q;
  assign counts   = (in_work_i && checks_q) || counts_i;
  assign checks_o = counts;

  // Beside strip: the limits, and the bytes that so many elements take. Beside operate: whether there are as many.
  logic        s_is_wrong_q, o_is_wrong_q;
  logic [32:0] s_bytes_q;
  logic [16:0] s_left_q;
  place_t      s_place_q, o_place_q;
  assign is_wrong_o    = o_is_wrong_q;
  assign wrong_place_o = o_place_q;
  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      s_is_wrong_q <= length_i[31:17] != '0 || length_i > 32'(elements_left_q) || length_i > message_elements_left_q ||
                      (may_be_empty_q && length_i > limits_i.empty_elements);
      s_bytes_q    <= 33'(length_i[16:0]) * 33'(min_bytes_q);
      s_left_q     <= left_i;
      s_place_q    <= place_q;
      o_is_wrong_q <= s_is_wrong_q || s_bytes_q > 33'(s_left_q);
      o_place_q    <= s_place_q;
    end
  end

  always_comb begin
    elements_left_d         = elements_left_q;
    message_elements_left_d = message_elements_left_q;
    if (begins_message_i) message_elements_left_d = limits_i.elements;
    if (counts) begin
      elements_left_d         = elements_left_q - 21'(length_i[16:0]);
      message_elements_left_d = message_elements_left_q - 32'(length_i[16:0]);
    end
    if (begins_datagram_i) elements_left_d = 21'(left_i) << 3;
  end

  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      elements_left_q         <= elements_left_d;
      message_elements_left_q <= message_elements_left_d;
      checks_q                <= checks_i;
      if (begins_i) begin
        min_bytes_q    <= constant_i.min_bytes;
        may_be_empty_q <= constant_i.may_be_empty;
        place_q        <= place_i;
      end
    end
  end
endmodule
