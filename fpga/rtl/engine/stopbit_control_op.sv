/// The control-op of the instruction in the consume stage, or of a pair's second: jumps, loops, presence maps that are
/// dropped, the end of a message; and what waits for a length or identifier from the later stages.
///
/// Two instances: whether both of a pair go is known late, and chooses between what they say. So is whether the data-ops are
/// done: in states in which one is at work the step counts only if they are.
module stopbit_control_op
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
#(
  parameter bit Both = 1'b0  // as if both of a pair went, else the first alone
) (
  input  consume_state_e        state_i,
  input  logic                  works_i,      // an instruction is present, without an error so far
  input  limits_t               limits_i,
  input  instructions_t         now_i,
  input  instructions_t         next_i,       // fetched
  input  logic [ProgramBits-1:0] next_message_i,  // where it is thought that the next message begins
  input  pair_t                 pair_i,
  input  constant_t [1:0]       constant_i,
  input  source_e [1:0]         source_i,     // of the numbers; others have none
  input  logic                  is_padded_i,  // the first entity is of more than ten bytes
  input  data_step_t            data_i,

  input  stacks_t               stacks_i,

  // Numbers that are waited for.
  input  logic                  stripped_valid_i,
  input  logic [31:0]           stripped_i,
  input  logic                  result_valid_i,
  input  logic [31:0]           result_i,
  input  logic [31:0]           awaited_i,    // that came before

  // The datagram.
  input  logic [16:0]           left_i,       // bytes
  input  logic                  outlives_i,   // something of it outlives its last message

  output control_step_t         step_o
);
  insn_t last;  // the one whose control-op is done
  logic  is_full;
  assign last    = now_i.insn[Both];
  assign is_full = stacks_i.loop_depth == 4'(MaxLoopDepth) || 16'(stacks_i.loop_depth) >= limits_i.nesting;

  // The rest of the template after its last sequence is an END alone: it goes with the last element.
  logic ends_alone;
  assign ends_alone = next_i.valid && next_i.pc == now_i.foreseen && next_i.traits[0].is_nop &&
                      next_i.insn[0].control == CONTROL_END && next_i.insn[0].word == NoWord;

  // The length of a sequence, if it is known here.
  logic [31:0] sequence_length;
  logic [13:0] short_length;
  logic awaits_length, is_empty;
  always_comb begin
    short_length    = short_value(pair_i.bytes[Both][6:0], pair_i.bytes[Both][14:8], pair_i.length[Both]);
    sequence_length = 32'(short_length) - 32'(pair_i.plan[Both].is_optional);
    is_empty        = short_length == 14'(pair_i.plan[Both].is_optional);
    if (source_i[Both] == SOURCE_INITIAL) begin
      sequence_length = constant_i[Both].value[31:0];
      is_empty        = constant_i[Both].value[31:0] == '0;
    end
    awaits_length = source_i[Both] == SOURCE_PREVIOUS ||
                    (source_i[Both] == SOURCE_STREAM &&
                     (pair_i.plan[Both].operation == OPERATOR_DEL || (!Both && is_padded_i) || pair_i.length[Both] > 4'd2));
  end

  // A map that is dropped here has to be used up.
  logic drops_map, drops_bits;
  assign drops_map  = last.control == CONTROL_POP || last.control == CONTROL_END ||
                      (last.control == CONTROL_LEND && stacks_i.loop_map_depth < stacks_i.map_depth);
  logic [2:0] has_bits;  // after so many bits of the map there are set ones
  assign has_bits   = {stacks_i.map_bits[MaxMapBits-3:0] != '0, stacks_i.map_bits[MaxMapBits-2:0] != '0, stacks_i.map_bits != '0};
  assign drops_bits = drops_map && (stacks_i.has_more || has_bits[pair_i.bits_taken[Both]]);

  // Where it goes on: what the addresses are is known before it is known which of them it is.
  typedef enum logic [2:0] {GO_ON, GO_PROFILE, GO_TARGET, GO_FORESEEN, GO_BACK} way_e;
  way_e way;
  logic [ProgramBits-1:0] behind, address;
  even_t even;
  logic is_redirect, is_begin;
  assign behind = now_i.pc + (Both ? 14'd2 : 14'd1);
  logic goes_elsewhere;  // after an instruction that does not jump
  assign goes_elsewhere = data_i.pmap.jumps ? data_i.pmap.address != now_i.foreseen : behind != now_i.foreseen;
  always_comb begin
    case (way)
      GO_PROFILE:  address = data_i.pmap.address;
      GO_TARGET:   address = last.target;
      GO_FORESEEN: address = now_i.foreseen;
      GO_BACK:     address = stacks_i.return_address;
      default:     address = behind;
    endcase
    case (way)
      GO_PROFILE:  even = even_of(data_i.pmap.address);
      GO_TARGET:   even = even_of(last.target);
      GO_FORESEEN: even = even_of(now_i.foreseen);
      GO_BACK:     even = even_of(stacks_i.return_address);
      default:     even = even_of(behind);
    endcase
    case (way)
      GO_PROFILE:  is_redirect = data_i.pmap.address != now_i.foreseen;
      GO_TARGET:   is_redirect = last.target != now_i.foreseen;
      GO_FORESEEN: is_redirect = 1'b0;
      GO_BACK:     is_redirect = stacks_i.return_address != now_i.foreseen;
      default:     is_redirect = behind != now_i.foreseen;
    endcase
    case (way)
      GO_PROFILE:  is_begin = data_i.pmap.address == '0;
      GO_TARGET:   is_begin = last.target == '0;
      GO_FORESEEN: is_begin = now_i.foreseen == '0;
      GO_BACK:     is_begin = stacks_i.return_address == '0;
      default:     is_begin = behind == '0;
    endcase
  end

  control_step_t step;
  always_comb begin
    step           = '0;
    step.state     = data_i.state;
    way              = data_i.pmap.jumps ? GO_PROFILE : GO_ON;
    step.map_depth = stacks_i.map_depth - 5'd1;
    step.awaited   = awaited_i;

    case (state_i)
      STATE_SEQ_WAIT:
      if (works_i && result_valid_i) begin
        step.awaited = result_i;
        step.state   = STATE_SEQ;
      end

      STATE_SEQ:
      if (works_i) begin
        if (awaited_i == '0) begin
          step.done = 1'b1;
          way         = GO_TARGET;
        end else begin
          // The length is looked at beside the later stages.
          step.uses_length = 1'b1;
          if (is_full) begin
            step.code = ERROR_X7;
          end else begin
            step.push_loop = 1'b1;
            step.done      = 1'b1;
          end
        end
      end

      STATE_TID_WAIT:
      // The table of templates is read with the identifier.
      if (works_i && (stripped_valid_i || result_valid_i)) begin
        step.awaited = stripped_valid_i ? stripped_i : result_i;
        step.state   = STATE_DISPATCH;
      end

      STATE_UNUSED_BITS: if (works_i) step.code = ERROR_R8;
      default: ;
    endcase

    if (state_i inside {STATE_RUN, STATE_PMAP_MORE, STATE_PROFILE, STATE_CONTROL}) begin
      step.steps      = now_i.is_pair && !Both;
      step.done       = !step.steps;
      step.bits_taken = pair_i.bits_taken[Both];
      if (limits_i.strict && drops_bits) begin
        step.done  = 1'b0;
        step.state = STATE_UNUSED_BITS;
      end else if (!step.steps) begin
        case (last.control)
          CONTROL_SEQ: begin
            step.awaited       = sequence_length;
            step.begins_length = 1'b1;
            step.awaits_length = awaits_length;
            if (source_i[Both] == SOURCE_NONE) begin
              way = GO_TARGET;
            end else if (awaits_length || is_full) begin
              step.done  = 1'b0;
              step.steps = Both;
              step.state = awaits_length ? STATE_SEQ_WAIT : STATE_SEQ;
            end else if (is_empty) begin
              way = GO_TARGET;
            end else begin
              // The loop begins, and its length is looked at beside the next instruction.
              step.push_loop     = 1'b1;
              step.checks_length = 1'b1;
            end
          end
          CONTROL_LEND: begin
            step.end_element  = 1'b1;
            step.restores_map = 1'b1;
            step.map_depth    = stacks_i.loop_map_depth;
            if (!stacks_i.is_last_element) begin
              way = GO_TARGET;
            end else if (ends_alone && !limits_i.strict && stacks_i.call_depth == '0 && stacks_i.loop_depth == 4'd1 &&
                         !goes_elsewhere) begin
              step.ends_message = 1'b1;
            end
          end
          CONTROL_SKIP: begin
            step.bits_taken = pair_i.bits_taken[Both] + 2'(last.known == 2'd0);
            if (!pair_i.skip_bit[Both]) way = GO_TARGET;
            else step.stores_presence = now_i.traits[0].is_nop;
          end
          CONTROL_POP:  step.restores_map = 1'b1;
          CONTROL_JOIN: way = GO_TARGET;
          CONTROL_DISP, CONTROL_CALL: begin
            step.done            = 1'b0;
            step.state           = STATE_TID_WAIT;
            step.awaits_template = 1'b1;
          end
          CONTROL_END: begin
            way = GO_FORESEEN;
            if (stacks_i.call_depth != '0) begin
              way                 = GO_BACK;
              step.restores_map = 1'b1;
              step.pop_call     = 1'b1;
            end else begin
              step.ends_message = 1'b1;
            end
          end
          default: ;
        endcase
      end
    end
  end

  // Where it goes on, and what becomes of the datagram.
  always_comb begin
    step_o = step;
    // A message begins after the end of another, and nowhere else: no verified program jumps to its beginning.
    if (step.done && is_begin && !step.ends_message) step_o.code = ERROR_X15;
    step_o.address = address;
    step_o.even    = even;
    if (step.done) begin
      step_o.state    = STATE_RUN;
      step_o.redirect = is_redirect;
      if (step.ends_message && last.control == CONTROL_LEND) begin
        step_o.redirect = 1'b1;
        step_o.address  = next_message_i;
        step_o.even     = even_of(next_message_i);
      end
      if (step.ends_message && left_i != 17'(data_i.take[Both].bytes)) begin
        step_o.state = STATE_START;
      end else if (step.ends_message) begin
        // The next datagram begins while this one is on its way out, if nothing of it outlives it.
        step_o.releases = !outlives_i;
        step_o.state    = outlives_i ? STATE_FINISH : STATE_IDLE;
      end
    end
  end
endmodule
