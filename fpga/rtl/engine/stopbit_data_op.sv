/// The data-op of the instruction in the consume stage, or those of a pair: the bytes it takes, what is wrong with them,
/// and whether it is done.
module stopbit_data_op
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  consume_state_e state_i,
  input  logic           works_i,      // an instruction is present, without an error so far
  input  logic           strict_i,     // R6 is an error
  input  traits_t        traits_i,     // of the first
  input  pair_t          pair_i,
  input  bit_group_t     group_i,
  input  window_t        window_i,
  input  logic [3:0]     available_i,
  input  logic           is_overlong_i,  // the number at the window's front
  input  map_step_t      map_i,          // if it is a PMAP
  input  text_step_t     text_i,         // if it is a string
  output data_step_t     step_o
);
  plan_t first;
  logic [3:0] length;
  assign first  = pair_i.plan[0];
  assign length = pair_i.length[0];

  // The last bits of a bit group.
  logic [5:0] last_of_group;
  always_comb begin
    last_of_group = '0;
    for (int unsigned i = 0; i < 9; i++) begin
      if (4'(i) + 4'd1 == group_i.bytes) last_of_group = window_i.bytes[8*i+:6];
    end
  end

  logic [4:0] take;  // bytes, if the first goes alone
  logic takes_entity;  // they are the first entity
  logic second_takes;  // the second instruction takes one, too
  logic is_number;   // the second may go with it
  always_comb begin
    step_o        = '0;
    take          = '0;
    takes_entity  = 1'b0;
    is_number     = 1'b0;
    step_o.state  = state_i;
    step_o.source = pair_i.is_null[0] ? SOURCE_NONE : first.source;
    case (state_i)
      STATE_RUN, STATE_PMAP_MORE:
      if (works_i) begin
        if (traits_i.is_nop) begin
          step_o.source = SOURCE_NONE;
          step_o.done   = 1'b1;
        end else if (traits_i.is_pmap) begin
          step_o.source = SOURCE_NONE;
          step_o.pmap    = map_i;
          step_o.state  = map_i.state;
          take          = map_i.take;
          takes_entity  = map_i.takes_entity;
          step_o.code   = map_i.code;
          step_o.done   = map_i.done;
        end else if (first.is_field) begin
          // Its group was taken by the instructions before.
          step_o.source = SOURCE_INITIAL;
          step_o.done   = 1'b1;
        end else if (first.is_group && first.is_streamed && first.operation != OPERATOR_DEL) begin
          // Exactly as many bytes as the fields need.
          if (available_i >= group_i.bytes || available_i == 4'd10 || length != '0) begin
            step_o.done = 1'b1;
            if (length != group_i.bytes || (last_of_group & ~(6'h3F << group_i.unused_bits)) != '0) step_o.code = ERROR_X10;
            else {takes_entity, take} = {1'b1, 5'(length)};
          end else if (window_i.is_whole) begin
            step_o.code = ERROR_X1;
          end
        end else if (first.is_value || traits_i.is_tid) begin
          is_number   = 1'b1;
          step_o.done = pair_i.is_ready[0];
          if (pair_i.is_ready[0] && first.is_streamed) begin
            {takes_entity, take} = {1'b1, 5'(length)};
            if (strict_i && is_overlong_i) step_o.code = ERROR_R6;
          end
        end else if (!(first.is_text || first.is_vector)) begin
          step_o.code = ERROR_X15;
        end else begin
          step_o.is_text = 1'b1;
          take         = 5'(text_i.take);
          takes_entity = text_i.takes_entity;
          step_o.code    = text_i.code;
          step_o.done    = text_i.done;
          step_o.source  = text_i.is_null ? SOURCE_NONE : first.source;
          if (strict_i && text_i.wants_number && text_i.take != '0 && is_overlong_i) step_o.code = ERROR_R6;
        end

        if (!traits_i.is_nop && !traits_i.is_pmap) step_o.source_code = first.source_code;

        // A number that does not end in the window: what is more than ten bytes is padding.
        if (first.is_streamed && length == '0 &&
            ((first.is_value && (!first.is_group || first.operation == OPERATOR_DEL)) || traits_i.is_tid ||
             text_i.wants_number)) begin
          if (available_i == 4'd10) begin
            take = 5'd1;
            step_o.pads = 1'b1;
          end else if (window_i.is_whole) begin
            step_o.code = ERROR_X1;
          end
        end
      end

      STATE_PROFILE:
      if (works_i) begin
        step_o.source = SOURCE_NONE;
        step_o.pmap    = map_i;
        step_o.done   = 1'b1;
      end

      STATE_CONTROL: begin
        step_o.source = SOURCE_NONE;
        step_o.done   = works_i;
      end

      default: ;
    endcase
    second_takes        = is_number && pair_i.plan[1].is_streamed;
    step_o.take[0]      = '{one: takes_entity, two: 1'b0, bytes: take};
    step_o.take[1].one   = takes_entity ^ second_takes;
    step_o.take[1].two   = takes_entity && second_takes;
    step_o.take[1].bytes = take + (second_takes ? 5'(pair_i.length[1]) : 5'd0);
  end
endmodule
