/// One reset for the two sides of something between two clocks: `rst_ni` of the first puts both sides in reset, and neither
/// leaves it before the other has been in it, with both clocks running, for some cycles. A second clock that has stopped keeps
/// the first side in reset until it runs again.
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
      // An answer that is left of an earlier reset is no answer: this side goes on when it has ended.
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
