/// The grants of all outputs, and which of them each input takes.
///
/// Cycle 1: each free output grants one of the inputs that can take a packet and have one for it. Cycle 2: each input takes
/// one of its grants. An output's turn moves on with a grant that was taken (iSLIP), or was of no use because the packet can no
/// longer be sent; not if the input has preferred another output.
///
/// Packets take different times, so an input may be busy whenever an output is free, and turns alone would pass it over for
/// ever. So an output counts its grants in rounds of `LateGrants`. An input that waits through a whole round is late; then the
/// output serves the late inputs first, one after the other, even if it has to wait for them. It does not wait for a packet of
/// `MostCycles` or more. (fpga/formal, proof_crossbar_grants.)
module stopbit_crossbar_grants #(
  parameter int unsigned Ports      = 10,
  parameter int unsigned LateGrants = 64,
  parameter int unsigned MostCycles = 128
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,

  // By input, then output; the last output is none, for what cannot be delivered.
  input  logic [Ports-1:0][Ports:0]   wants_i,   // a packet waited that could be sent, a cycle ago
  input  logic [Ports-1:0][Ports-1:0] has_i,     // ... and now
  input  logic [Ports-1:0]            busy_i,    // it sends a packet that does not end soon
  input  logic [Ports-1:0][Ports-1:0] outputs_i, // ... to this output
  output logic [Ports-1:0][Ports:0]   agrees_o,  // the grant that it takes
  output logic [Ports-1:0][Ports:0]   agreed_o,  // ... in the cycle before

  output logic [Ports-1:0][Ports-1:0] grants_o   // by output, then input
);
  if (LateGrants <= Ports || MostCycles < 2) $fatal(1, "stopbit_crossbar_grants: LateGrants is %0d, needs more than the ports", LateGrants);
  localparam int unsigned GrantsWidth = $clog2(LateGrants);
  localparam int unsigned CyclesWidth = $clog2(MostCycles);

  // By input. A packet that was taken begins two cycles later.
  logic [Ports-1:0]            willing, stuck;
  logic [Ports-1:0][Ports-1:0] holds;
  for (genvar i = 0; i < Ports; i++) begin : gen_input
    logic [Ports:0]         grants, choice, can;
    logic [Ports-1:0]       begins_q;
    logic                   is_free, any_begins_q, none_q;
    logic [CyclesWidth-1:0] busy_q;
    always_comb begin
      grants[Ports] = none_q;
      can[Ports]    = 1'b1;
      for (int unsigned o = 0; o < Ports; o++) begin
        grants[o] = grants_o[o][i];
        can[o]    = has_i[i][o];
      end
    end
    assign holds[i]    = agreed_o[i][Ports-1:0] | begins_q | (busy_i[i] ? outputs_i[i] : '0);
    assign is_free     = agreed_o[i] == '0 && !any_begins_q && !busy_i[i];
    assign willing[i]  = is_free && grants == '0;
    assign agrees_o[i] = choice & can;
    assign stuck[i]    = busy_q == CyclesWidth'(MostCycles - 1);
    stopbit_arbiter #(.NumRequesters(Ports + 1)) turns (
      .clk_i, .rst_ni, .stop_i(1'b0), .accept_i(1'b1), .request_i(grants), .any_o(), .grant_o(choice), .index_o()
    );
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        agreed_o[i]  <= '0;
        begins_q     <= '0;
        any_begins_q <= 1'b0;
        none_q       <= 1'b0;
        busy_q       <= '0;
      end else begin
        agreed_o[i]  <= agrees_o[i];
        begins_q     <= agreed_o[i][Ports-1:0];
        any_begins_q <= agreed_o[i] != '0;
        none_q       <= wants_i[i][Ports] && willing[i];
        busy_q       <= is_free ? '0 : busy_q + CyclesWidth'(!stuck[i]);
      end
    end
  end

  // By output.
  for (genvar o = 0; o < Ports; o++) begin : gen_output
    logic [Ports-1:0]       wants, settled, grant_d, waited_q, late_q, late, may_q;
    logic [GrantsWidth-1:0] count_q;
    logic                   is_held, is_pending, settles, counts, ends_round;
    always_comb begin
      is_held = 1'b0;
      for (int unsigned i = 0; i < Ports; i++) begin
        wants[i]   = wants_i[i][o];
        settled[i] = agrees_o[i][o] || (grants_o[o][i] && !has_i[i][o]);
        is_held    = is_held || holds[i][o];
      end
    end
    assign settles    = settled != '0;
    assign is_pending = grants_o[o] != '0;
    // The arbiter holds its grant until it is known whether the grant was taken.
    stopbit_arbiter #(.NumRequesters(Ports)) turns (
      .clk_i, .rst_ni, .stop_i(1'b0), .accept_i(settles),
      .request_i(is_pending ? grants_o[o] : is_held ? '0 : wants & willing & may_q),
      .any_o(), .grant_o(grant_d), .index_o()
    );
    assign late       = late_q & wants & ~stuck;
    // Also what an input did not take in favour of another output: else two inputs might decline in turns for ever.
    assign counts     = settles || (is_pending && late == '0);
    assign ends_round = counts && count_q == GrantsWidth'(LateGrants - 1);
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        grants_o[o] <= '0;
        count_q     <= '0;
        waited_q    <= '0;
        late_q      <= '0;
        may_q       <= '1;
      end else begin
        grants_o[o] <= is_pending ? '0 : grant_d;
        if (counts) count_q <= ends_round ? '0 : count_q + 1'b1;
        waited_q <= (ends_round ? wants : waited_q) & ~settled;
        late_q   <= (ends_round ? late_q | waited_q : late_q) & wants & ~settled;
        may_q    <= late != '0 ? late & (~late + 1'b1) : '1;
      end
    end
  end
endmodule
