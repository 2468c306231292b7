/// Brings instructions to the consume stage: F1 presents an address to the program memory, F2 has the instruction. Ends
/// of elements and messages are foreseen; of any other jump the consume stage tells the address, which costs a cycle.
module stopbit_fetch
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
(
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   take_i,      // the consume stage takes the next instruction, if there is one
  input  logic                   redirect_i,  // and goes on elsewhere
  input  logic [ProgramBits-1:0] redirect_address_i,
  input  logic                   is_last_element_i,  // the element in work is the last of its loop

  output logic [ProgramBits-1:0] address_o,  // to the program memory
  input  insn_t                  insn_i,     // what stood at the address of the cycle before

  output logic                   load_o,     // the next instruction enters the consume stage
  output insn_t                  insn_o,     // it,
  output logic [ProgramBits-1:0] pc_o,       // its address,
  output logic [ProgramBits-1:0] foreseen_o  // and the address of what will follow it
);
  logic valid_q;
  assign insn_o = insn_i;
  assign load_o = take_i && valid_q && !redirect_i;

  always_comb begin
    case (insn_i.control)
      CONTROL_END:  foreseen_o = '0;
      CONTROL_LEND: foreseen_o = !is_last_element_i ? insn_i.target : pc_o + 1'b1;
      CONTROL_JOIN: foreseen_o = insn_i.target;
      default:      foreseen_o = pc_o + 1'b1;
    endcase
    address_o = redirect_i ? redirect_address_i : load_o ? foreseen_o : pc_o;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (redirect_i) valid_q <= 1'b1;
    pc_o <= address_o;
  end
endmodule
