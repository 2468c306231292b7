/// The stacks of a message: presence maps, loops, dynamic references.
module stopbit_stacks
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic          clk_i,
  input  logic          advance_i,   // what follows is done in this cycle
  input  logic          clear_i,     // before anything else: they are empty
  input  logic          push_map_i,
  input  logic [MaxMapBits-1:0] map_i,
  input  logic          has_more_i,  // set bits after these
  input  logic [16:0]   map_begin_i, // in the datagram
  input  control_step_t control_i,
  input  logic          push_call_i,
  input  logic [ProgramBits-1:0] return_i,
  input  logic [15:0]   template_i,  // of the caller
  output stacks_t       stacks_o
);
  stacks_t now;
  assign stacks_o = now;
  stopbit_presence_maps i_maps (
    .clk_i,
    .advance_i,
    .clear_i,
    .push_i         (push_map_i),
    .map_i,
    .has_more_i,
    .begin_i        (map_begin_i),
    .take_i         (control_i.bits_taken),
    .restore_i      (control_i.restores_map),
    .restore_depth_i(control_i.map_depth),
    .map_o          (now.map_bits),
    .has_more_o     (now.has_more),
    .begin_o        (now.map_begin),
    .depth_o        (now.map_depth)
  );
  stopbit_loops i_loops (
    .clk_i,
    .advance_i,
    .clear_i,
    .push_i     (control_i.push_loop),
    .count_i    (control_i.awaited[16:0]),
    .map_depth_i(now.map_depth),
    .end_i      (control_i.end_element),
    .depth_o    (now.loop_depth),
    .is_last_o  (now.is_last_element),
    .map_depth_o(now.loop_map_depth)
  );
  stopbit_calls i_calls (
    .clk_i,
    .advance_i,
    .clear_i,
    .push_i    (push_call_i),
    .return_i,
    .template_i,
    .pop_i     (control_i.pop_call),
    .depth_o   (now.call_depth),
    .return_o  (now.return_address),
    .template_o(now.caller)
  );
endmodule
