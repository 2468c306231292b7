/// The control-op of the instruction in the consume stage, or of a pair's second: jumps, loops, presence maps that are
/// dropped, the end of a message; and what waits for a length or identifier from the later stages.
module stopbit_control_op
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  consume_state_e        state_i,
  input  logic                  works_i,      // an instruction is present, without an error so far
  input  logic                  passes_i,     // its data-ops are done
  input  limits_t               limits_i,
  input  instructions_t         now_i,
  input  instructions_t         next_i,       // fetched
  input  logic [ProgramBits-1:0] next_message_i,  // where it is thought that the next message begins
  input  pair_t                 pair_i,
  input  constant_t [1:0]       constant_i,
  input  source_e [1:0]         source_i,     // of the values
  input  logic                  is_padded_i,  // the first entity is of more than ten bytes
  input  data_step_t            data_i,
  input  logic                  is_overfull_i,  // the record

  input  stacks_t               stacks_i,

  // Numbers that are waited for.
  input  logic                  stripped_valid_i,
  input  logic [31:0]           stripped_i,
  input  logic                  result_valid_i,
  input  logic [31:0]           result_i,
  input  logic [31:0]           awaited_i,    // that came before
  input  logic                  length_is_wrong_i,  // as that of a sequence

  // The datagram.
  input  logic [16:0]           left_i,       // bytes
  input  logic                  outlives_i,   // something of it outlives its last message

  output control_step_t         step_o
);
  insn_t last;  // the one whose control-op is done
  logic  is_full;
  assign last    = now_i.insn[pair_i.both];
  assign is_full = stacks_i.loop_depth == 4'(MaxLoopDepth) || 16'(stacks_i.loop_depth) >= limits_i.nesting;

  // The rest of the template after its last sequence is an END alone: it goes with the last element.
  logic ends_alone;
  assign ends_alone = next_i.valid && next_i.pc == now_i.foreseen && next_i.insn[0].op == OP_NOP &&
                      next_i.insn[0].control == CONTROL_END && next_i.insn[0].word == NoWord;

  // The length of a sequence, if it is known here.
  logic [31:0] sequence_length;
  logic awaits_length;
  always_comb begin
    sequence_length = 32'(short_value(pair_i.bytes[pair_i.both][6:0], pair_i.bytes[pair_i.both][14:8], pair_i.length[pair_i.both])) -
                      32'(pair_i.plan[pair_i.both].is_optional);
    if (source_i[pair_i.both] == SOURCE_INITIAL) sequence_length = constant_i[pair_i.both].value[31:0];
    awaits_length = source_i[pair_i.both] == SOURCE_PREVIOUS ||
                    (source_i[pair_i.both] == SOURCE_STREAM &&
                     (pair_i.plan[pair_i.both].operation == OPERATOR_DEL || (!pair_i.both && is_padded_i) ||
                      pair_i.length[pair_i.both] > 4'd2));
  end

  // A map that is dropped here has to be used up.
  logic drops_map, drops_bits;
  assign drops_map  = last.control == CONTROL_POP || last.control == CONTROL_END ||
                      (last.control == CONTROL_LEND && stacks_i.loop_map_depth < stacks_i.map_depth);
  assign drops_bits = drops_map && (stacks_i.has_more || (stacks_i.map_bits << pair_i.bits_taken) != '0);

  always_comb begin
    step_o           = '0;
    step_o.state     = data_i.state;
    step_o.address   = data_i.pmap.jumps ? data_i.pmap.address : now_i.pc + (pair_i.both ? 14'd2 : 14'd1);
    step_o.map_depth = stacks_i.map_depth - 5'd1;
    step_o.awaited   = awaited_i;

    case (state_i)
      STATE_SEQ_WAIT:
      if (works_i && result_valid_i) begin
        step_o.awaited = result_i;
        step_o.state   = STATE_SEQ;
      end

      STATE_SEQ:
      if (works_i) begin
        if (awaited_i == '0) begin
          step_o.done    = 1'b1;
          step_o.address = now_i.insn[0].target;
        end else if (length_is_wrong_i) begin
          step_o.code = ERROR_X2;
        end else if (is_full) begin
          step_o.code = ERROR_X7;
        end else begin
          step_o.uses_length = 1'b1;
          step_o.push_loop   = 1'b1;
          step_o.done        = 1'b1;
        end
      end

      STATE_TID_WAIT:
      // The table of templates is read with the identifier.
      if (works_i && (stripped_valid_i || result_valid_i)) begin
        step_o.awaited = stripped_valid_i ? stripped_i : result_i;
        step_o.state   = STATE_DISPATCH;
      end

      STATE_UNUSED_BITS: if (works_i) step_o.code = ERROR_R8;
      STATE_OVERFULL:    if (works_i) step_o.code = ERROR_X4;
      default: ;
    endcase

    if (passes_i) begin
      step_o.steps      = now_i.is_pair && !pair_i.both;
      step_o.done       = !step_o.steps;
      step_o.bits_taken = pair_i.bits_taken;
      if (limits_i.strict && drops_bits) begin
        step_o.done  = 1'b0;
        step_o.state = STATE_UNUSED_BITS;
      end else if (!step_o.steps) begin
        case (last.control)
          CONTROL_SEQ: begin
            step_o.awaited       = sequence_length;
            step_o.begins_length = 1'b1;
            step_o.awaits_length = awaits_length;
            if (source_i[pair_i.both] == SOURCE_NONE) begin
              step_o.address = last.target;
            end else if (awaits_length || is_full) begin
              step_o.done  = 1'b0;
              step_o.steps = pair_i.both;
              step_o.state = awaits_length ? STATE_SEQ_WAIT : STATE_SEQ;
            end else if (sequence_length == '0) begin
              step_o.address = last.target;
            end else begin
              // The loop begins, and its length is looked at beside the next instruction.
              step_o.push_loop     = 1'b1;
              step_o.checks_length = 1'b1;
            end
          end
          CONTROL_LEND: begin
            step_o.end_element  = 1'b1;
            step_o.restores_map = 1'b1;
            step_o.map_depth    = stacks_i.loop_map_depth;
            if (!stacks_i.is_last_element) begin
              step_o.address = last.target;
            end else if (ends_alone && !is_overfull_i && !limits_i.strict && stacks_i.call_depth == '0 && stacks_i.loop_depth == 4'd1 &&
                         step_o.address == now_i.foreseen) begin
              step_o.ends_message = 1'b1;
            end
          end
          CONTROL_SKIP: begin
            step_o.bits_taken = pair_i.bits_taken + 2'(last.known == 2'd0);
            if (!pair_i.skip_bit) step_o.address = last.target;
            else step_o.stores_presence = now_i.insn[0].op == OP_NOP;
          end
          CONTROL_POP:  step_o.restores_map = 1'b1;
          CONTROL_JOIN: step_o.address = last.target;
          CONTROL_DISP, CONTROL_CALL: begin
            step_o.done            = 1'b0;
            step_o.state           = STATE_TID_WAIT;
            step_o.awaits_template = 1'b1;
          end
          CONTROL_END: begin
            step_o.address = now_i.foreseen;
            if (stacks_i.call_depth != '0) begin
              step_o.address      = stacks_i.return_address;
              step_o.restores_map = 1'b1;
              step_o.pop_call     = 1'b1;
            end else if (is_overfull_i) begin
              step_o.done  = 1'b0;
              step_o.state = STATE_OVERFULL;
            end else begin
              step_o.ends_message = 1'b1;
            end
          end
          default: ;
        endcase
      end
    end

    // A message begins after the end of another, and nowhere else: no verified program jumps to its beginning.
    if (step_o.done && step_o.address == '0 && !step_o.ends_message) step_o.code = ERROR_X15;
    if (step_o.done) begin
      step_o.state    = STATE_RUN;
      step_o.redirect = step_o.address != now_i.foreseen;
      if (step_o.ends_message && last.control == CONTROL_LEND) begin
        step_o.redirect = 1'b1;
        step_o.address  = next_message_i;
      end
      if (step_o.ends_message && left_i != 17'(data_i.take)) begin
        step_o.state = STATE_START;
      end else if (step_o.ends_message) begin
        // The next datagram begins while this one is on its way out, if nothing of it outlives it.
        step_o.releases = !outlives_i;
        step_o.state    = outlives_i ? STATE_FINISH : STATE_IDLE;
      end
    end
  end
endmodule
