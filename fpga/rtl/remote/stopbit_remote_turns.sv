/// Joins the packets of records with those of the unit of remote memory access, whose port of the network both use.
///
/// A packet of a class may begin only where the port has room for one, and the unit decides so by itself. So in the turn of
/// records it sees no room for requests; one that it has begun by then goes first. Answers go on in either turn.
module stopbit_remote_turns
  import stopbit_link_pkg::start_t;
  import stopbit_rma_pkg::*;
(
  input  logic       clk_i,
  input  logic       rst_ni,

  input  logic       unit_valid_i,
  output logic       unit_ready_o,
  input  rma_word_t  unit_word_i,
  output logic [1:0] unit_room_o,

  input  logic       record_valid_i,
  output logic       record_ready_o,
  input  rma_word_t  record_word_i,

  output logic       valid_o,
  input  logic       ready_i,
  output rma_word_t  word_o,
  input  logic [1:0] room_i
);
  // The unit sees a cycle late that its turn is over, and what it begins then shows a cycle later.
  localparam logic [1:0] Wait = 2'd2;

  logic       turn_q;    // of records
  logic [1:0] waited_q;
  logic       inside_q, record_q, record, is_request, goes, ends;
  start_t     start;
  assign start      = unit_word_i.data;
  assign is_request = unit_valid_i && start.traffic_class == Requests;
  assign record     = inside_q ? record_q : turn_q && waited_q == Wait && record_valid_i && !is_request && room_i[0];
  assign valid_o    = record ? record_valid_i : unit_valid_i;
  assign word_o     = record ? record_word_i : unit_word_i;
  assign record_ready_o = record && ready_i;
  assign unit_ready_o   = !record && ready_i;
  assign unit_room_o    = {room_i[1], room_i[0] && !turn_q};
  assign goes = valid_o && ready_i;
  assign ends = goes && word_o.is_last;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_q   <= 1'b0;
      waited_q <= '0;
      inside_q <= 1'b0;
    end else begin
      // What is offered stays: it is not chosen anew while it waits.
      inside_q <= goes ? !word_o.is_last : inside_q || valid_o;
      turn_q   <= turn_q ? !(ends && record) : record_valid_i;
      waited_q <= !turn_q ? '0 : waited_q == Wait ? Wait : waited_q + 2'd1;
    end
    record_q <= record;
  end
endmodule
