/// What the rest of an input may rely on of stopbit_crossbar_routes: five cycles after each start, its slot and at least one
/// output, with the number of outputs. Which ones, is free; none of them only alone.
module formal_crossbar_routes #(
  parameter int unsigned Outputs   = 4,
  parameter int unsigned SlotWidth = 2,
  parameter int unsigned CopyWidth = 2
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 start_i,
  input logic [SlotWidth-1:0] slot_i,
  input logic                 route_i,
  input logic [SlotWidth-1:0] route_slot_i,
  input logic [Outputs-1:0]   outputs_i,
  input logic [CopyWidth-1:0] copies_i
);
  logic [4:0]                valid_q;
  logic [4:0][SlotWidth-1:0] slot_q;
  logic [CopyWidth:0]        count;
  always_ff @(posedge clk_i) begin
    valid_q <= rst_ni ? {valid_q[3:0], start_i} : '0;
    slot_q  <= {slot_q[3:0], slot_i};
  end
  always_comb begin
    count = '0;
    for (int unsigned i = 0; i < Outputs; i++) count = count + (CopyWidth+1)'(outputs_i[i]);
    assume (route_i == valid_q[4]);
    assume (route_slot_i == slot_q[4]);
    assume (outputs_i != '0);
    assume (!outputs_i[Outputs-1] || outputs_i[Outputs-2:0] == '0);
    assume ((CopyWidth+1)'(copies_i) == count);
  end
endmodule
