/// Four decode cores between both sides of the gap events, as in the kernel, for the bench. `spoil_i` changes a bit in a
/// table of bank 0 of some of them, as a fault of the hardware would.
module stopbit_gaps_engines
  import stopbit_pkg::*;
  import stopbit_front_pkg::gap_t;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  stopbit_load_t     load_i,
  output logic [31:0]       back_data_o,
  input  logic [3:0]        spoil_i,

  input  logic              gap_valid_i,
  output logic              gap_ready_o,
  input  gap_t              gap_i,
  input  logic              valid_i,
  output logic              ready_o,
  input  stopbit_datagram_t datagram_i,
  input  stopbit_beat_t     beat_i,

  output logic              valid_o,
  input  logic              ready_i,
  output stopbit_slot_t     slot_o,
  output logic              idle_o,
  output logic [2:0]        datagrams_done_o,
  output logic [3:0]        issued_o
);
  logic              valid, ready;
  stopbit_beat_t     beat;
  stopbit_datagram_t datagram;
  stopbit_slot_t     slot;

  stopbit_gap_events i_gaps (
    .gap_valid_i,
    .gap_ready_o,
    .gap_i,
    .valid_i,
    .ready_o,
    .beat_i,
    .datagram_i,
    .core_valid_o   (valid),
    .core_ready_i   (ready),
    .core_beat_o    (beat),
    .core_datagram_o(datagram),
    .slot_i         (slot),
    .slot_o
  );

  stopbit_engines #(
    .Engines(4)
  ) i_engines (
    .clk_i,
    .rst_ni,
    .load_i,
    .back_data_o,
    .valid_i   (valid),
    .ready_o   (ready),
    .datagram_i(datagram),
    .beat_i    (beat),
    .valid_o,
    .ready_i,
    .slot_o    (slot),
    .idle_o,
    .datagrams_done_o,
    .issued_o
  );

  // Written here beside the module itself, never in a cycle in which that loads.
  /* verilator lint_off MULTIDRIVEN */
  for (genvar e = 0; e < 4; e++) begin : g_spoil
    always_ff @(posedge clk_i) begin
      if (spoil_i[e]) begin
        i_engines.gen_more.g_engine[e].i_engine.i_core.i_engine.i_supply.i_tables.limits_q[0][4] <=
            !i_engines.gen_more.g_engine[e].i_engine.i_core.i_engine.i_supply.i_tables.limits_q[0][4];
      end
    end
  end
  /* verilator lint_on MULTIDRIVEN */
endmodule
