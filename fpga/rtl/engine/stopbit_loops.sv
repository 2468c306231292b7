/// The stack of loops: elements that are left of the innermost sequence, and how deep the presence maps were.
module stopbit_loops
  import stopbit_pkg::*;
(
  input  logic        clk_i,
  input  logic        advance_i,  // what follows is done in this cycle
  input  logic        clear_i,    // before anything else: the stack is empty
  input  logic        push_i,
  input  logic [16:0] count_i,
  input  logic [4:0]  map_depth_i,
  input  logic        end_i,        // of an element: counts it, and drops the loop with the last one
  output logic [3:0]  depth_o,      // after clear_i
  output logic        is_last_o,    // the element in work is
  output logic [4:0]  map_depth_o
);
  typedef struct packed {
    logic [16:0] left;
    logic [4:0]  map_depth;
  } loop_t;
  loop_t loop_d, loop_q, loops[MaxLoopDepth];
  logic [3:0] depth_d, depth_q;
  assign depth_o     = clear_i ? '0 : depth_q;
  assign is_last_o   = loop_q.left == 17'd1;
  assign map_depth_o = loop_q.map_depth;

  always_comb begin
    depth_d = depth_o;
    loop_d  = loop_q;
    if (push_i) begin
      depth_d = depth_o + 4'd1;
      loop_d  = '{left: count_i, map_depth: map_depth_i};
    end else if (end_i && !is_last_o) begin
      loop_d.left = loop_q.left - 17'd1;
    end else if (end_i) begin
      depth_d = depth_o - 4'd1;
      loop_d  = loops[3'(depth_o - 4'd1)];
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      loop_q  <= loop_d;
      depth_q <= depth_d;
      if (push_i) loops[depth_o[2:0]] <= loop_q;
    end
  end
endmodule
