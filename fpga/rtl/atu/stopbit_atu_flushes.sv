/// Flushes under way: which units have not answered yet.
///
/// A flush is done (`done_o`) when it has passed all look-ups before it (`passed_i`) and each unit that it asks has answered;
/// flushes are done in their order. An answer counts only after its request has left for that unit (`sent_i`), and once.
module stopbit_atu_flushes
  import stopbit_nic_pkg::*;
  import stopbit_translation_pkg::*;
(
  input  logic                             clk_i,
  input  logic                             rst_ni,

  output logic                             free_o,
  output logic [FlushWidth-1:0]            slot_o,
  input  logic                             take_i,
  input  logic [AtsUnits-1:0]                 units_i,

  input  logic                             passed_i,
  input  logic [FlushWidth-1:0]            passed_slot_i,
  input  logic [AtsUnits-1:0]                 sent_i,
  input  logic [AtsUnits-1:0][FlushWidth-1:0] sent_slot_i,

  input  logic                             answer_i,
  input  logic [UnitWidth-1:0]             answer_unit_i,
  input  logic [FlushWidth-1:0]            answer_slot_i,
  output logic                             known_o,

  output logic                             done_o,
  output logic [AtsUnits-1:0]                 waits_o  // units that the oldest flush waits for
);
  logic [FlushWidth:0]              put_q, take_q;
  logic [AtsFlushes-1:0]            passed_q;
  logic [AtsFlushes-1:0][AtsUnits-1:0] unsent_q, awaited_q;
  logic [FlushWidth-1:0]            oldest;

  assign oldest  = take_q[FlushWidth-1:0];
  assign slot_o  = put_q[FlushWidth-1:0];
  assign free_o  = put_q - take_q != (FlushWidth + 1)'(AtsFlushes);
  assign waits_o = awaited_q[oldest];
  assign done_o  = put_q != take_q && passed_q[oldest] && awaited_q[oldest] == '0;
  assign known_o = answer_i && awaited_q[answer_slot_i][answer_unit_i] && !unsent_q[answer_slot_i][answer_unit_i];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      put_q     <= '0;
      take_q    <= '0;
      awaited_q <= '0;
    end else begin
      put_q  <= put_q + (FlushWidth + 1)'(take_i);
      take_q <= take_q + (FlushWidth + 1)'(done_o);
      if (known_o) awaited_q[answer_slot_i][answer_unit_i] <= 1'b0;
      if (take_i) awaited_q[slot_o] <= units_i;
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned u = 0; u < AtsUnits; u++) begin
      if (sent_i[u]) unsent_q[sent_slot_i[u]][u] <= 1'b0;
    end
    if (passed_i) passed_q[passed_slot_i] <= 1'b1;
    if (take_i) begin
      unsent_q[slot_o] <= units_i;
      passed_q[slot_o] <= 1'b0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      takes_a_free_slot : assert (!take_i || free_o);
      ends_only_what_it_has : assert (!passed_i || !passed_q[passed_slot_i]);
    end
  end
`endif
endmodule
