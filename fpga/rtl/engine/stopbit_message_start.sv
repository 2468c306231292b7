/// The beginning of a message and of a dynamic reference.
///
/// A message begins in one step, presence map and template identifier, if both have arrived and are short. Its template is looked
/// up meanwhile, unless it is that of the message before, whose first instructions were fetched ahead: they go on in the
/// next cycle. Other messages go by the instructions at address 0, and come here for the template alone.
module stopbit_message_start
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic            clk_i,
  input  logic            rst_ni,
  input  stopbit_load_t   load_i,
  input  logic            advance_i,  // the stages move
  input  limits_t         limits_i,
  input  consume_state_e  state_i,
  input  logic            starts_i,   // a message, if there are bytes
  input  instructions_t   now_i,
  input  instructions_t   next_i,     // fetched
  input  window_t         window_i,
  input  logic [16:0]     place_i,    // of the window, bytes
  input  logic [16:0]     left_i,     // bytes of the datagram from there on

  input  logic            is_waiting_i,  // the dictionary waits for a reset
  input  channel_t        channel_i,     // of the datagram that may begin in this cycle, else of that in work
  input  logic            old_bank_i,    // of the datagram in work, or the last one
  input  logic            changes_bank_i,  // a datagram begins, in another one

  input  logic            is_found_i,    // the template that was looked up
  input  dispatch_t       chosen_i,
  input  logic            is_call_i,     // for a dynamic reference
  input  logic [3:0]      call_depth_i,
  input  logic [15:0]     next_slot_i,   // of the record

  output logic [13:0]     quick_id_o,    // the identifier in the window, if it is short
  output logic [ProgramBits-1:0] next_message_o,  // where the next one begins, it is thought
  output start_step_t     step_o
);
  logic      last_valid_q, last_bank_q;
  dispatch_t last_q;  // the template of the message before
  logic      is_same;
  assign next_message_o = last_q.entry;
  assign quick_id_o     = short_value(window_i.second_bytes[6:0], window_i.second_bytes[14:8], window_i.second_length);
  // Its beginning is in the consume stage, or comes next.
  assign is_same        = last_valid_q && last_bank_q == channel_i.bank && old_bank_i == channel_i.bank &&
                          last_q.id == 32'(quick_id_o) &&
                          (now_i.valid ? now_i.pc == last_q.entry : next_i.valid && next_i.pc == last_q.entry);

  logic is_quick;
  assign is_quick = window_i.available != '0 && window_i.bytes[6] && window_i.length inside {[4'd1:4'd9]} &&
                    window_i.second_length inside {4'd1, 4'd2} && !(state_i == STATE_START && is_waiting_i) && !limits_i.strict;

  always_comb begin
    step_o         = '0;
    step_o.state   = state_i;
    step_o.address = '0;
    step_o.even    = '0;
    step_o.root    = state_i == STATE_DISPATCH ? chosen_i : last_q;
    step_o.slots   = state_i == STATE_DISPATCH && is_call_i ? slots_of(SlotsOfCall, chosen_i.root.words) :
                     slots_of(SlotsOfRoot, step_o.root.root.words);
    if (starts_i) begin
      step_o.state = STATE_START;
      if (left_i == '0) begin
        step_o.state = STATE_FINISH;
      end else if (is_quick) begin
        step_o.is_quick = 1'b1;
        step_o.take     = 5'(window_i.length) + 5'(window_i.second_length);
        step_o.entity   = place_i + 17'(window_i.length) + (is_same ? 17'(window_i.second_length) : '0);
        step_o.opens    = is_same;
        step_o.state    = is_same ? STATE_RUN : STATE_DISPATCH;
      end else if (window_i.available > 5'(BeatBytes) || window_i.is_whole ||
                   (window_i.available != '0 && !window_i.bytes[6]) || (state_i == STATE_START && is_waiting_i) || limits_i.strict) begin
        // By instructions, from the first one on.
        step_o.state    = STATE_RUN;
        step_o.redirect = 1'b1;
      end
    end
    if (state_i == STATE_DISPATCH) begin
      // Where it goes on does not wait for what is wrong with it.
      step_o.redirect = 1'b1;
      step_o.address  = chosen_i.entry;
      step_o.even     = even_of(chosen_i.entry);
      if (!is_found_i || (is_waiting_i && !chosen_i.reset)) begin
        step_o.code = ERROR_D9;
      end else if (is_call_i && (call_depth_i == 4'(MaxCallDepth) || 16'(call_depth_i) >= limits_i.nesting)) begin
        step_o.code = ERROR_X7;
      end else if (17'(step_o.slots) + (is_call_i ? 17'(next_slot_i) : '0) > 17'(limits_i.max_record_slots)) begin
        step_o.code = ERROR_X4;
      end else begin
        step_o.opens   = 1'b1;
        step_o.is_call = is_call_i;
        step_o.state   = STATE_RUN;
      end
    end
    step_o.resets = step_o.opens && step_o.root.reset && channel_i.reset_rule != RESET_NEVER;
  end

  logic keeps;
  assign keeps = state_i == STATE_DISPATCH && step_o.opens && !step_o.is_call;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      last_valid_q <= 1'b0;
    end else begin
      if (advance_i && keeps) last_valid_q <= 1'b1;
      if (advance_i && changes_bank_i) last_valid_q <= 1'b0;
      if (load_i.valid && load_i.address[19:16] != TABLE_CHANNELS) last_valid_q <= 1'b0;
    end
    if (advance_i && keeps) begin
      last_q      <= chosen_i;
      last_bank_q <= channel_i.bank;
    end
  end
endmodule
