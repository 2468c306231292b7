/// The way of the instructions into the consume stage, which holds one or two of them until they are done. Of two the
/// second may stay back.
module stopbit_instructions
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   advance_i,  // the stages move
  input  logic                   done_i,     // all that is in the consume stage is done
  input  logic                   steps_i,    // the first of two is
  input  logic                   redirect_i, // and it goes on elsewhere
  input  logic [ProgramBits-1:0] redirect_address_i,
  input  even_t                  redirect_even_i,
  input  logic                   is_last_element_i,  // for stopbit_fetch
  input  logic [ProgramBits-1:0] next_message_i,
  input  logic                   single_issue_i,
  input  logic                   is_guessed_i,
  input  logic [ProgramBits-1:0] guess_i,

  output logic [ProgramBits-1:0] address_o,  // to the program memory
  output even_t                  even_o,
  input  insn_t [1:0]            insn_i,     // the words at the address of the cycle before, and after it

  output instructions_t          next_o,     // fetched
  output logic                   load_o,     // they enter the consume stage, with redirect_i not as valid
  output instructions_t          now_o,      // in it
  output insn_t [1:0]            coming_o    // in it in the next cycle
);
  logic f_valid, f_pair, c_valid_q, pair_q;
  logic [ProgramBits-1:0] f_pc, foreseen, pc_q, foreseen_q;
  insn_t [1:0] f_insn, insn_q;
  traits_t [1:0] f_traits, traits_q;
  stopbit_fetch i_fetch (
    .clk_i,
    .rst_ni,
    .take_i            (advance_i && (!c_valid_q || done_i)),
    .redirect_i,
    .redirect_address_i,
    .redirect_even_i,
    .is_last_element_i,
    .next_message_i,
    .single_issue_i,
    .is_guessed_i,
    .guess_i,
    .address_o,
    .even_o,
    .insn_i,
    .valid_o           (f_valid),
    .load_o,
    .insn_o            (f_insn),
    .pair_o            (f_pair),
    .pc_o              (f_pc),
    .foreseen_o        (foreseen)
  );
  assign next_o = '{valid: f_valid, is_pair: f_pair, insn: f_insn, traits: f_traits, pc: f_pc, foreseen: foreseen};
  assign now_o  = '{valid: c_valid_q, is_pair: pair_q, insn: insn_q, traits: traits_q, pc: pc_q, foreseen: foreseen_q};

  assign f_traits = {traits_of(f_insn[1].op), traits_of(f_insn[0].op)};
  always_comb begin
    coming_o = insn_q;
    if (load_o) coming_o = f_insn;
    else if (advance_i && steps_i) coming_o[0] = insn_q[1];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) c_valid_q <= 1'b0;
    else if (advance_i) c_valid_q <= !redirect_i && (load_o || (c_valid_q && !done_i));
    insn_q <= coming_o;
    if (load_o) traits_q <= f_traits;
    else if (advance_i && steps_i) traits_q[0] <= traits_q[1];
    if (load_o) begin
      pair_q     <= f_pair;
      pc_q       <= f_pc;
      foreseen_q <= foreseen;
    end else if (advance_i && steps_i) begin
      pair_q <= 1'b0;
      pc_q   <= pc_q + 1'b1;
    end
  end
endmodule
