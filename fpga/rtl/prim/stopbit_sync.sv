/// Two flip-flops in a row, for bits from another clock. Of several bits, only one may change at a time.
module stopbit_sync #(
  parameter int unsigned Width = 1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [Width-1:0] data_i,
  output logic [Width-1:0] data_o
);
  (* ASYNC_REG = "TRUE" *) logic [Width-1:0] first_q;
  (* ASYNC_REG = "TRUE" *) logic [Width-1:0] second_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      first_q  <= '0;
      second_q <= '0;
    end else begin
      first_q  <= data_i;
      second_q <= first_q;
    end
  end
  assign data_o = second_q;
endmodule
