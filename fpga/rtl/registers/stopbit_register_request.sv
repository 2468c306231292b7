/// The bus's half of a crossing to registers in another clock: one access at a time, given to the other half with a turn.
///
/// An access that falls before it is done is cancelled. The other half then leaves it out, if it has not begun, and says so with
/// its turn; until that comes, the next access waits. What is held for the other half never changes before. `rst_ni` lasts four cycles.
module stopbit_register_request (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        access_i,   // with what follows, until done_o
  input  logic        write_i,
  input  logic [15:0] address_i,
  input  logic [31:0] data_i,
  output logic        done_o,
  output logic        refused_o,  // with done_o
  output logic [31:0] data_o,

  // The other half, in its clock.
  output logic        turn_o,     // the other half's turn
  output logic        cancel_o,
  output logic        write_o,
  output logic [15:0] address_o,
  output logic [31:0] data_held_o,
  input  logic        turn_i,     // its answer to turn_o
  input  logic        refused_i,
  input  logic [31:0] data_held_i
);
  logic turn_q, asked_q, cancel_q, seen, is_answered, begins;
  stopbit_sync #(.Width(1)) from_block (.clk_i, .rst_ni(1'b1), .data_i(turn_i), .data_o(seen));

  assign is_answered = seen == turn_q;
  assign begins      = rst_ni && access_i && !asked_q && !cancel_q && is_answered;
  assign done_o      = rst_ni && access_i && asked_q && is_answered;
  assign refused_o   = refused_i;
  assign data_o      = data_held_i;

  // A reset gives up what is under way, and does not touch the turn: a turn by itself would give the other half an access.
  always_ff @(posedge clk_i) begin
    if (begins) turn_q <= !turn_q;
    asked_q <= rst_ni && (begins || (asked_q && access_i && !is_answered));
    if (is_answered) cancel_q <= 1'b0;
    else if (!rst_ni || (asked_q && !access_i)) cancel_q <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (begins) begin
      write_o     <= write_i;
      address_o   <= address_i;
      data_held_o <= data_i;
    end
  end
  assign turn_o   = turn_q;
  assign cancel_o = cancel_q;
endmodule
