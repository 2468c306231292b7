/// How a string delta or tail (FAST 1.1, sections 6.3.7.3 and 6.3.8) makes its result of the base and of what came in the
/// stream, the addition: which bytes of which of the two follow each other, eight bytes or fewer a step, and when eight
/// bytes of the result are together.
///
/// `begin_i` plans a result, and `code_o` says in the same cycle why there is none. The steps are at `step_o` from the
/// next cycle on, each until `next_i`; after the last one there is nothing until the next plan.
module stopbit_splice
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         begin_i,
  input  logic         is_tail_i,         // else a delta
  input  logic         is_vector_i,       // bytes, which may be above 127
  input  logic [31:0]  subtraction_i,     // of a delta: bytes removed; below 0 from the front, where -1 removes none
  input  logic [12:0]  base_bytes_i,
  input  logic [16:0]  addition_bytes_i,
  input  logic [12:0]  capacity_i,
  output logic [7:0]   code_o,
  output splice_step_t step_o,
  input  logic         next_i
);
  // A run of bytes: the one in work, and what comes after it from the other source.
  logic        is_base_d, is_base_q;
  logic [12:0] place_d, place_q, left_d, left_q;
  logic [12:0] other_place_d, other_place_q, other_left_d, other_left_q;
  logic [3:0]  at_d, at_q;        // bytes of the result's next word that exist
  logic        probes_d, probes_q;

  logic        is_front;
  logic [31:0] removed;
  logic [12:0] kept, addition;
  logic [17:0] result_bytes;
  always_comb begin
    is_front = !is_tail_i && subtraction_i[31];
    if (is_tail_i) removed = 32'(addition_bytes_i) < 32'(base_bytes_i) ? 32'(addition_bytes_i) : 32'(base_bytes_i);
    else removed = is_front ? ~subtraction_i : subtraction_i;
    kept         = base_bytes_i - removed[12:0];
    addition     = addition_bytes_i[12:0];
    result_bytes = 18'(kept) + 18'(addition_bytes_i);
    code_o       = ERROR_NONE;
    if (removed > 32'(base_bytes_i)) code_o = ERROR_D7;
    else if (result_bytes > 18'(capacity_i)) code_o = ERROR_X3;
  end

  logic [3:0] there, bytes;
  logic [4:0] total;
  logic       ends_run, ends, emits, is_last;
  always_comb begin
    there    = 4'd8 - 4'(place_q[2:0]);
    bytes    = left_q < 13'(there) ? left_q[3:0] : there;
    total    = 5'(at_q) + 5'(bytes);
    ends_run = 13'(bytes) == left_q;
    ends     = ends_run && other_left_q == '0;
    is_last  = ends && (probes_q ? left_q == '0 : total <= 5'd8);
    emits    = is_last || (!probes_q && total >= 5'd8);
    step_o   = '{is_base: is_base_q, word: place_q[11:3], skip: place_q[2:0], bytes: bytes, at: at_q, emits: emits,
                 is_last: is_last, probes: probes_q && is_last, result_bytes: is_last ? total[3:0] : 4'd8};
  end

  always_comb begin
    is_base_d     = is_base_q;
    place_d       = place_q;
    left_d        = left_q;
    other_place_d = other_place_q;
    other_left_d  = other_left_q;
    at_d          = at_q;
    probes_d      = probes_q;
    if (begin_i) begin
      // Where the first run has no bytes, the other one is the only one.
      is_base_d     = is_front ? addition == '0 : kept != '0;
      place_d       = is_front && is_base_d ? removed[12:0] : '0;
      left_d        = is_base_d ? kept : addition;
      other_place_d = is_front && !is_base_d ? removed[12:0] : '0;
      other_left_d  = is_front == is_base_d ? '0 : is_base_d ? addition : kept;
      at_d          = '0;
      // Eight bytes fit a word of a record only if they are ASCII: that has to be known before they go there.
      probes_d      = is_vector_i && result_bytes == 18'd8;
    end else if (next_i) begin
      at_d    = emits ? 4'(total - 5'd8) : total[3:0];
      place_d = place_q + 13'(bytes);
      left_d  = left_q - 13'(bytes);
      if (ends_run && other_left_q != '0) begin
        is_base_d    = !is_base_q;
        place_d      = other_place_q;
        left_d       = other_left_q;
        other_left_d = '0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    is_base_q     <= is_base_d;
    place_q       <= place_d;
    left_q        <= left_d;
    other_place_q <= other_place_d;
    other_left_q  <= other_left_d;
    at_q          <= at_d;
    probes_q      <= probes_d;
  end

`ifndef SYNTHESIS
  logic busy_q;
  always_ff @(posedge clk_i) begin
    busy_q <= rst_ni && (begin_i ? code_o == ERROR_NONE : busy_q && !(next_i && is_last));
    if (rst_ni) assert (!next_i || busy_q) else $fatal(1, "a step of no plan");
  end
`endif
endmodule
