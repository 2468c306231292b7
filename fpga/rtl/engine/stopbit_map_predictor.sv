/// Remembers for each segment the presence map that was looked up last and what came of it: most maps are as the one
/// before, and then a profile program begins without a pause.
module stopbit_map_predictor
  import stopbit_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       forget_i,   // firmware is being loaded
  input  logic       bank_i,
  input  logic [5:0] segment_i,
  output profile_t   guess_o,    // in the same cycle
  input  logic       learn_i,
  input  profile_t   profile_i
);
  typedef struct packed {
    logic        bank;
    logic [5:0]  taken;
    logic [13:0] entry;
    logic [63:0] bits;
  } guess_t;
  guess_t guesses[64], guess;
  logic [63:0] valid_q;

  assign guess   = guesses[segment_i];
  assign guess_o = '{valid: valid_q[segment_i] && guess.bank == bank_i, taken: guess.taken, entry: guess.entry,
                     segment: segment_i, bits: guess.bits};

  always_ff @(posedge clk_i) begin
    if (learn_i) begin
      guesses[profile_i.segment] <= '{bank: bank_i, taken: profile_i.taken, entry: profile_i.entry, bits: profile_i.bits};
    end
    if (!rst_ni || forget_i) valid_q <= '0;
    else if (learn_i) valid_q[profile_i.segment] <= profile_i.valid;
  end
endmodule
