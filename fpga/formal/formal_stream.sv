/// The rule of valid/ready streams: what is offered stays, and stays the same, until it is taken. Asserted, or assumed.
module formal_stream #(
  parameter int unsigned Width   = 1,
  parameter bit          Assumed = 0
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             valid_i,
  input logic             ready_i,
  input logic [Width-1:0] data_i
);
  logic             waits_q = 1'b0;
  logic [Width-1:0] data_q;
  always_ff @(posedge clk_i) begin
    waits_q <= rst_ni && valid_i && !ready_i;
    data_q  <= data_i;
  end
  logic holds;
  assign holds = !(rst_ni && waits_q) || (valid_i && data_i == data_q);
  if (Assumed) begin : g_assumed
    always_comb assume (holds);
  end else begin : g_asserted
    always_comb assert (holds);
  end
endmodule
