/// One reset for two clock domains: `rst_ni`, of the first clock, resets both sides, and neither leaves the reset before both
/// have been in it together for four cycles of each clock. While the second clock is stopped, the first side stays in reset.
module stopbit_reset_pair (
  input  logic clk_i,
  input  logic rst_ni,
  output logic rst_no,

  input  logic other_clk_i,
  output logic other_rst_no
);
  localparam int unsigned Cycles = 4;

  logic              asks_q;    // that the other side is reset
  logic              asked;     // as the other side sees it
  logic [Cycles-1:0] was_q;     // a bit for each cycle for which the other side has been in reset
  logic              answer;    // it has been long enough, as this side sees it
  logic [Cycles-1:0] together_q;
  logic              answer_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asks_q     <= 1'b1;
      together_q <= '0;
      rst_no     <= 1'b0;
    end else begin
      together_q <= asks_q ? {together_q[Cycles-2:0], answer} & {Cycles{answer}} : '0;
      if (asks_q && together_q[Cycles-1]) asks_q <= 1'b0;
      // The other side's answer must have ended, so that the next reset does not take it for its own.
      if (!asks_q && !answer) rst_no <= 1'b1;
    end
  end

  stopbit_sync #(.Width(1)) to_other (.clk_i(other_clk_i), .rst_ni(1'b1), .data_i(asks_q), .data_o(asked));
  always_ff @(posedge other_clk_i) begin
    was_q        <= asked ? {was_q[Cycles-2:0], 1'b1} : '0;
    answer_q     <= was_q[Cycles-1];
    other_rst_no <= !asked;
  end
  stopbit_sync #(.Width(1)) to_this (.clk_i, .rst_ni(1'b1), .data_i(answer_q), .data_o(answer));
endmodule
