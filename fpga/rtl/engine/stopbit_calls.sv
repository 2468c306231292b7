/// The stack of dynamic template references: where each goes on, and in which template.
module stopbit_calls
  import stopbit_pkg::*;
(
  input  logic                   clk_i,
  input  logic                   advance_i,  // what follows is done in this cycle
  input  logic                   clear_i,    // before anything else: the stack is empty
  input  logic                   push_i,
  input  logic [ProgramBits-1:0] return_i,
  input  logic [15:0]            template_i,
  input  logic                   pop_i,
  output logic [3:0]             depth_o,    // after clear_i
  output logic [ProgramBits-1:0] return_o,   // of the innermost one
  output logic [15:0]            template_o
);
  typedef struct packed {
    logic [ProgramBits-1:0] return_address;
    logic [15:0]            template_index;
  } call_t;
  call_t calls[MaxCallDepth];
  call_t call;
  logic [3:0] depth_q;
  assign depth_o    = clear_i ? '0 : depth_q;
  assign call       = calls[3'(depth_q - 4'd1)];
  assign return_o   = call.return_address;
  assign template_o = call.template_index;

  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      depth_q <= push_i ? depth_o + 4'd1 : pop_i ? depth_o - 4'd1 : depth_o;
      if (push_i) calls[depth_o[2:0]] <= '{return_address: return_i, template_index: template_i};
    end
  end
endmodule
