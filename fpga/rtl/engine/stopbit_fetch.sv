/// Brings instructions to the consume stage, two at a time if the first has the pair bit: F1 presents an address to the
/// program memory, F2 has the words there and after it. Ends of elements and messages are foreseen; of any other jump
/// the consume stage gives the address, which costs a cycle.
module stopbit_fetch
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   take_i,      // the consume stage takes what comes next, if there is something
  input  logic                   redirect_i,  // and goes on elsewhere
  input  logic [ProgramBits-1:0] redirect_address_i,
  input  even_t                  redirect_even_i,
  input  logic                   is_last_element_i,  // the element in work is the last of its loop
  input  logic [ProgramBits-1:0] next_message_i,     // where the message after this one will begin, it is thought
  input  logic                   single_issue_i,
  input  logic                   is_guessed_i,       // if a presence map is loaded, it goes on at
  input  logic [ProgramBits-1:0] guess_i,            // this, it is thought

  output logic [ProgramBits-1:0] address_o,  // to the program memory
  output even_t                  even_o,
  input  insn_t [1:0]            insn_i,     // the words at the address of the cycle before, and after it

  output logic                   valid_o,    // something comes next
  output logic                   load_o,     // what comes next enters the consume stage, with redirect_i not as valid
  output insn_t [1:0]            insn_o,     // it:
  output logic                   pair_o,     // both, or the first alone,
  output logic [ProgramBits-1:0] pc_o,       // the address of the first,
  output logic [ProgramBits-1:0] foreseen_o  // and the address of what will follow
);
  logic valid_q;
  assign valid_o = valid_q;
  logic [ProgramBits-1:0] behind;
  even_t foreseen_even;
  logic  goes_on;
  logic [3:0]  control;
  logic [13:0] target;
  assign insn_o = insn_i;
  assign pair_o = insn_i[0].pair && !single_issue_i;
  assign goes_on = take_i && valid_q;
  assign load_o  = goes_on;

  always_comb begin
    behind  = pc_o + (pair_o ? 14'd2 : 14'd1);
    control = pair_o ? insn_i[1].control : insn_i[0].control;
    target  = pair_o ? insn_i[1].target : insn_i[0].target;
    case (control)
      CONTROL_END:  {foreseen_o, foreseen_even} = {next_message_i, even_of(next_message_i)};
      CONTROL_LEND: {foreseen_o, foreseen_even} = !is_last_element_i ? {target, even_of(target)} : {behind, even_of(behind)};
      CONTROL_JOIN: {foreseen_o, foreseen_even} = {target, even_of(target)};
      default:      {foreseen_o, foreseen_even} = {behind, even_of(behind)};
    endcase
    if (insn_i[0].op == OP_PMAP && is_guessed_i) {foreseen_o, foreseen_even} = {guess_i, even_of(guess_i)};
    {address_o, even_o} = goes_on ? {foreseen_o, foreseen_even} : {pc_o, even_of(pc_o)};
    if (redirect_i) {address_o, even_o} = {redirect_address_i, redirect_even_i};
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (redirect_i) valid_q <= 1'b1;
    pc_o <= address_o;
  end
endmodule
