/// Brings a link up: each side sends TRAIN until it knows that the other one receives it.
///
/// | state | sends | goes on |
/// |---|---|---|
/// | blind | TRAIN, not seen | to seen with a TRAIN; up, if that has seen ours |
/// | seen | TRAIN, seen | up, with a TRAIN that has seen ours or a REPORT |
/// | up | packets and REPORT | back to seen with a TRAIN that has not seen ours: the other side begins anew |
///
/// Without a signal, or if the sender gives up, it is blind. Packets go on where they stopped: TRAIN says which one is
/// expected. Only if the other side was reset they cannot, and both sides begin with 0.
module stopbit_link_training
  import stopbit_link_pkg::*;
(
  input  logic     clk_i,
  input  logic     rst_ni,
  input  logic     signal_i,
  input  logic     gave_up_i,
  input  logic     control_i,
  input  control_t control_data_i,
  output logic     up_o,
  output logic     seen_o,
  output logic     fresh_o,    // it was never up since the reset
  output logic     restart_o,  // the other side has forgotten everything
  output logic     resume_o    // packets go on with control_data_i.report.expected
);
  typedef enum logic [1:0] {BLIND, SEEN, UP} state_t;
  state_t state_q, state_d;
  logic   fresh_q, restarted_q, is_train, is_report;

  assign is_train  = control_i && control_data_i.kind == CONTROL_TRAIN;
  assign is_report = control_i && control_data_i.kind == CONTROL_REPORT;

  always_comb begin
    state_d   = state_q;
    restart_o = 1'b0;
    resume_o  = 1'b0;
    if (!signal_i || gave_up_i) begin
      state_d = BLIND;
    end else if (is_train && (state_q != UP || !control_data_i.is_seen)) begin
      state_d   = control_data_i.is_seen ? UP : SEEN;
      restart_o = control_data_i.is_fresh && !restarted_q;
      resume_o  = !control_data_i.is_fresh && state_q != SEEN;
    end else if (is_report && state_q == SEEN) begin
      state_d = UP;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= BLIND;
      fresh_q     <= 1'b1;
      restarted_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (state_d == UP) begin
        fresh_q     <= 1'b0;
        restarted_q <= 1'b0;
      end else if (restart_o) begin
        restarted_q <= 1'b1;
      end
    end
  end

  assign up_o    = state_q == UP;
  assign seen_o  = state_q == SEEN;
  assign fresh_o = fresh_q;
endmodule
