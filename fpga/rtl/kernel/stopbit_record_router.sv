/// Sends records to rings: all to ring 0, or each to the rings of every filter that wants it.
///
/// Without filters slots go through as they come, no cycle later. With filters a record waits until its slot 0 has come,
/// which says whose it is, and then leaves by the fan-out, whole, for one ring after the other: a record that is given up
/// (`aborted`) or that no filter wants leaves nothing. A record of more than `Depth` slots is dropped (`too_long_o`). A ring
/// without room (`room_i`) holds up the others only when `Depth` slots or `Records` records are kept since its oldest one.
///
/// From slot 0 in to the record's first slot out: 4 cycles, if nothing waits. `filter_i`, `unmatched_i` and `filters_i`
/// change only while idle_o.
module stopbit_record_router
  import stopbit_pkg::*;
  import stopbit_registers_pkg::*;
#(
  parameter  int unsigned NumRings  = 1,
  parameter  int unsigned Depth     = 4096,  // slots; a power of two
  parameter  int unsigned Records   = 64,    // a power of two
  localparam int unsigned RingWidth = NumRings > 1 ? $clog2(NumRings) : 1
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,

  input  logic                           filter_i,
  input  logic                           unmatched_i,  // to ring 0; else nowhere
  input  filter_written_t [Filters-1:0]  filters_i,

  input  logic                           valid_i,
  output logic                           ready_o,
  input  stopbit_slot_t                  slot_i,

  input  logic [NumRings-1:0]            room_i,       // both as the fan-out's
  output logic [NumRings-1:0]            waits_o,
  output logic                           valid_o,
  input  logic                           ready_i,
  output logic [RingWidth-1:0]           ring_o,
  output stopbit_slot_t                  slot_o,

  output logic                           idle_o,
  output logic                           is_unmatched_o,  // a record that no filter wants
  output logic                           too_long_o
);
  // ---- whose a record is
  logic                fan_ready, fan_idle, judged, take;
  logic [Filters-1:0]  wants;
  logic [NumRings-1:0] rings;
  assign take = valid_i && filter_i && fan_ready;
  stopbit_record_filter i_filter (
    .clk_i,
    .rst_ni,
    .filters_i,
    .take_i (take),
    .slot_i,
    .wants_o(wants)
  );
  always_comb begin
    rings = '0;
    for (int unsigned f = 0; f < Filters; f++) begin
      if (wants[f]) rings |= NumRings'(filters_i[f].control[FilterControlRingsBit +: 8]);
    end
    if (rings == '0 && unmatched_i) rings = NumRings'(1);
  end
  assign is_unmatched_o = judged && wants == '0;

  // ---- to them
  logic                 fan_valid, fan_last;
  logic [RingWidth-1:0] fan_ring;
  logic [527:0]         fan_cell;
  stopbit_fanout #(
    .Width(528), .NumRings(NumRings), .Depth(Depth), .Records(Records)
  ) i_fanout (
    .clk_i,
    .rst_ni,
    .valid_i   (valid_i && filter_i),
    .ready_o   (fan_ready),
    .cell_i    ({slot_i.index, slot_i.data}),
    .last_i    (slot_i.last),
    .aborted_i (slot_i.aborted),
    .rings_i   (rings),
    .room_i,
    .waits_o,
    .valid_o   (fan_valid),
    .ready_i   (ready_i && filter_i),
    .ring_o    (fan_ring),
    .cell_o    (fan_cell),
    .last_o    (fan_last),
    .idle_o    (fan_idle),
    .judged_o  (judged),
    .too_long_o
  );

  assign valid_o = filter_i ? fan_valid : valid_i;
  assign ready_o = filter_i ? fan_ready : ready_i;
  assign ring_o  = filter_i ? fan_ring : '0;
  assign slot_o  = filter_i ? '{data: fan_cell[511:0], index: fan_cell[527:512], last: fan_last, aborted: 1'b0} : slot_i;
  assign idle_o  = !valid_i && fan_idle;
endmodule
