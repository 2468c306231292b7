/// How many elements sequences may have: what a datagram's bytes allow, what a message may have, and that each element
/// takes at least the minimum number of bytes. A length that is known when the loop begins is looked at one cycle later.
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
  input  logic [31:0] length_i,   // one cycle after it was met, and later

  output logic        is_wrong_o,   // the length
  output logic        is_refused_o, // that of a loop that has begun
  output place_t      place_o
);
  logic [20:0] elements_left_d, elements_left_q;
  logic [31:0] message_elements_left_d, message_elements_left_q;
  logic        checks_q;
  logic [15:0] min_bytes_q;  // of an element
  logic        may_be_empty_q;
  place_t      place_q;
  logic        counts;
  logic [32:0] element_bytes;
  assign place_o       = place_q;
  assign element_bytes = 33'(length_i[16:0]) * 33'(min_bytes_q);
  assign is_wrong_o    = length_i[31:17] != '0 || element_bytes > 33'(left_i) || length_i > 32'(elements_left_q) ||
                         length_i > message_elements_left_q || (may_be_empty_q && length_i > limits_i.empty_elements);
  assign is_refused_o  = in_work_i && checks_q && is_wrong_o;
  assign counts        = (in_work_i && checks_q) || counts_i;

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
