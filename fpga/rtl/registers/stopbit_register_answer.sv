/// The registers' half of a crossing from a bus: carries out what the other half holds, and answers with a turn.
///
/// While the registers are in reset, and if they were reset before they answered, the access is refused. This half has no reset:
/// whatever it begins with, its turn is the other half's after a few cycles in which the registers are in reset.
module stopbit_register_answer (
  input  logic        clk_i,
  input  logic        rst_ni,      // of the registers

  // The other half, in its clock.
  input  logic        turn_i,
  input  logic        cancel_i,
  input  logic        write_i,
  input  logic [15:0] address_i,
  input  logic [31:0] data_held_i,
  output logic        turn_o,
  output logic        refused_o,
  output logic [31:0] data_held_o,

  // The registers: a pulse, and their answer in the next cycle.
  output logic        access_o,
  output logic        write_o,
  output logic [15:0] address_o,   // also in that next cycle
  output logic [31:0] data_o,
  input  logic        refused_i,
  input  logic [31:0] data_i
);
  logic turn, cancel, turn_q, access_q, waits_q, was_reset_q, begins;
  stopbit_sync #(.Width(1)) turns (.clk_i, .rst_ni(1'b1), .data_i(turn_i), .data_o(turn));
  stopbit_sync #(.Width(1)) cancels (.clk_i, .rst_ni(1'b1), .data_i(cancel_i), .data_o(cancel));

  assign begins   = turn != turn_q && !access_q && !waits_q;
  assign access_o = access_q && rst_ni;
  assign turn_o   = turn_q;

  always_ff @(posedge clk_i) begin
    access_q <= begins && !cancel && rst_ni;
    waits_q  <= access_q;
    if (waits_q || (begins && (cancel || !rst_ni))) turn_q <= turn;
  end
  always_ff @(posedge clk_i) begin
    was_reset_q <= !rst_ni;
    if (begins) begin
      write_o   <= write_i;
      address_o <= address_i;
      data_o    <= data_held_i;
      refused_o <= 1'b1;
    end
    if (waits_q) begin
      refused_o   <= refused_i || was_reset_q || !rst_ni;
      data_held_o <= data_i;
    end
  end
endmodule
