/// What the instructions in the consume stage are: where their values come from, which bits and bytes are theirs, and
/// whether both of a pair go at once. The second one's bit, entity and exponent are after those of the first.
module stopbit_pair
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic               clk_i,
  input  logic               advance_i,     // the stages move
  input  logic               works_i,       // an instruction is present
  input  logic               begins_i,      // other instructions are in the consume stage from the next cycle on
  input  instructions_t      now_i,
  input  constant_t [1:0]    constant_i,
  input  entry_state_t [1:0] state_i,       // of their dictionary entries
  input  window_t            window_i,
  input  logic               is_nonzero_i,  // the first entity is, by bytes before the window
  input  logic [2:0]         map_i,         // the next bits of the presence map, the first on top
  input  logic               is_waiting_i,  // the dictionary waits for a reset
  output pair_t              pair_o,

  // Of exponents, for the mantissas after them.
  input  logic               passes_i,      // the data-ops are done
  input  source_e [1:0]      source_i       // of their values, in the end
);
  // A presence bit is known to profile programs, else it comes from the map.
  function automatic logic bit_of(logic [1:0] known, logic from_map);
    return known == 2'd0 ? from_map : known[1];
  endfunction

  source_e decimal_d, decimal_q;
  logic decimal_base_d, decimal_base_q;

  plan_t first_plan, second_plan, first, second;
  logic first_takes, second_takes;  // a bit of the map
  bit_group_t group;
  assign group = constant_i[0].min_bytes[12:0];
  stopbit_consume_lane i_first (
    .op_i           (now_i.insn[0].op),
    .traits_i       (now_i.traits[0]),
    .bit_i          (bit_of(now_i.insn[0].known, map_i[2])),
    .has_initial_i  (constant_i[0].has_value),
    .state_i        (state_i[0]),
    .group_bits_i   (group.used_bits),
    .exponent_i     (decimal_q),
    .exponent_streams_i(decimal_q == SOURCE_STREAM),
    .exponent_absent_i(decimal_q == SOURCE_NONE),
    .exponent_base_i(decimal_base_q),
    .is_waiting_i,
    .plan_o         (first_plan)
  );
  assign first_takes = first.takes_bit && now_i.insn[0].known == 2'd0;

  logic first_is_null;
  assign first_is_null = first.is_streamed && first.is_optional && !is_nonzero_i && window_i.is_zero;

  source_e exponent;
  logic exponent_base, exponent_streams, exponent_absent;
  always_comb begin
    exponent      = decimal_q;
    exponent_base = decimal_base_q;
    exponent_streams = decimal_q == SOURCE_STREAM;
    exponent_absent  = decimal_q == SOURCE_NONE;
    if (first.kind == TYPE_IEXP || first.kind == TYPE_DEXP) exponent_absent = first.known_source == SOURCE_NONE || first_is_null;
    if (first.kind == TYPE_IEXP) exponent = first.source == SOURCE_NONE || first_is_null ? SOURCE_NONE : SOURCE_STREAM;
    if (first.kind == TYPE_DEXP) begin
      exponent         = first_is_null ? SOURCE_NONE : first.source;
      exponent_base    = first.base_is_previous;
      exponent_streams = first.is_streamed && !first_is_null;
    end
  end
  stopbit_consume_lane i_second (
    .op_i           (now_i.insn[1].op),
    .traits_i       (now_i.traits[1]),
    .bit_i          (bit_of(now_i.insn[1].known, first_takes ? map_i[1] : map_i[2])),
    .has_initial_i  (constant_i[1].has_value),
    .state_i        (state_i[1]),
    .group_bits_i   ('0),
    .exponent_i     (exponent),
    .exponent_streams_i(exponent_streams),
    .exponent_absent_i(exponent_absent),
    .exponent_base_i(exponent_base),
    .is_waiting_i   (1'b0),
    .plan_o         (second_plan)
  );
  assign second_takes = second.takes_bit && now_i.insn[1].known == 2'd0;

  // A length of a sequence that an entry decides waits for a cycle, with what may go before it: then its source is in a register.
  logic knows_q;
  logic [1:0] asks_length;
  source_e [1:0] source_q;
  always_comb begin
    asks_length[0] = first_plan.is_value && first_plan.known_source == SOURCE_PREVIOUS && now_i.insn[0].control == CONTROL_SEQ;
    first          = first_plan;
    if (asks_length[0] && knows_q) first.known_source = source_q[0];
  end
  always_comb begin
    asks_length[1] = now_i.is_pair && second_plan.is_value && second_plan.known_source == SOURCE_PREVIOUS &&
                     now_i.insn[1].control == CONTROL_SEQ;
    second         = second_plan;
    if (asks_length[1] && knows_q) second.known_source = source_q[1];
  end
  always_ff @(posedge clk_i) begin
    knows_q  <= !begins_i && (knows_q || (works_i && advance_i && (|asks_length)));
    source_q <= {second_plan.source, first_plan.source};
  end

  // Both go at once. A pair of the verifier's rules may, unless an entry decides whether there is an exponent: then its mantissa
  // waits until that is in a register. The other conditions are for what was not verified.
  logic both;
  logic [1:0] is_ready, uses_entry;
  logic [1:0][79:0] bytes;
  logic [1:0][3:0]  length;
  logic second_is_zero;
  always_comb begin
    bytes[0]    = window_i.bytes;
    length[0]   = window_i.length;
    bytes[1]    = first.is_streamed ? window_i.second_bytes : window_i.bytes;
    length[1]   = first.is_streamed ? window_i.second_length : window_i.length;
    second_is_zero = first.is_streamed ? window_i.second_is_zero : window_i.is_zero;
    is_ready[0] = (!first.is_streamed || length[0] != '0) && (knows_q || asks_length == '0);
    is_ready[1] = !second.is_streamed || length[1] != '0;
    uses_entry  = {now_i.traits[1].uses_entry, now_i.traits[0].uses_entry};
    both        = now_i.is_pair && first.is_value && is_ready[0] && second.is_value && !first.is_group && !second.is_group &&
                  is_ready[1] && now_i.insn[1].control != CONTROL_BLOCK &&
                  !(first.kind == TYPE_IEXP && second.kind == TYPE_DMAN) &&
                  !((first.kind == TYPE_IEXP || first.kind == TYPE_DEXP) && first.known_source == SOURCE_PREVIOUS &&
                    second.kind == TYPE_IMAN) &&
                  !((&uses_entry) && now_i.insn[0].slot[0] == now_i.insn[1].slot[0]);
  end

  logic [1:0][1:0] bits_taken;
  always_comb begin
    bits_taken[0]     = 2'(first_takes);
    bits_taken[1]     = 2'(first_takes) + 2'(second_takes);
    pair_o.plan       = {second, first};
    pair_o.bytes      = bytes;
    pair_o.length     = length;
    pair_o.is_null[0] = first_is_null;
    pair_o.is_null[1] = second.is_streamed && second.is_optional && second_is_zero;
    pair_o.is_ready   = is_ready;
    pair_o.uses_entry = uses_entry;
    pair_o.exponent   = {exponent, decimal_q};
    pair_o.both       = both;
    pair_o.bits_taken = bits_taken;
    for (int unsigned i = 0; i < 2; i++) begin
      pair_o.skip_bit[i] = bit_of(now_i.insn[i].known, bits_taken[i][1] ? map_i[0] : bits_taken[i][0] ? map_i[1] : map_i[2]);
    end
  end

  always_comb begin
    decimal_d      = decimal_q;
    decimal_base_d = decimal_base_q;
    for (int unsigned i = 0; i < 2; i++) begin
      if (passes_i && pair_o.plan[i].is_value && (i == 0 || both)) begin
        if (pair_o.plan[i].kind == TYPE_IEXP) decimal_d = source_i[i] != SOURCE_NONE ? SOURCE_STREAM : SOURCE_NONE;
        if (pair_o.plan[i].kind == TYPE_DEXP) begin
          decimal_d      = source_i[i];
          decimal_base_d = pair_o.plan[i].base_is_previous;
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      decimal_q      <= decimal_d;
      decimal_base_q <= decimal_base_d;
    end
  end
endmodule
