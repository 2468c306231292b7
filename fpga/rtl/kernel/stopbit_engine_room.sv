/// A decode core with a FIFO for datagrams before it and one for slots after it: one of stopbit_engines. `valid_o` comes with a record that is
/// complete, or that fills the room of its slots; within a record that leaves (`inside_i`) with each slot.
module stopbit_engine_room
  import stopbit_pkg::*;
#(
  parameter int unsigned Beats      = 512,
  parameter int unsigned Datagrams  = 16,
  parameter int unsigned Slots      = 64
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  stopbit_load_t     load_i,
  output logic [31:0]       back_data_o,

  input  logic              valid_i,
  output logic              ready_o,
  input  stopbit_datagram_t datagram_i,
  input  stopbit_beat_t     beat_i,

  input  logic              inside_i,
  output logic              valid_o,
  input  logic              ready_i,
  output stopbit_slot_t     slot_o,

  output logic              idle_o,  // no slots are here
  output logic              datagram_done_o,
  output logic [1:0]        issued_o
);
  // ---- datagrams: their facts with the first beat
  logic              within_q, has_beat_room, has_datagram_room, put, has_beat, has_datagram, takes, core_ready;
  stopbit_beat_t     beat;
  stopbit_datagram_t datagram;
  assign ready_o = has_beat_room && has_datagram_room;
  assign put     = valid_i && ready_o;
  assign takes   = has_beat && has_datagram && core_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) within_q <= 1'b0;
    else if (put) within_q <= !beat_i.last;
  end

  logic [$clog2(Beats):0]     beats;
  logic [$clog2(Datagrams):0] datagrams;
  stopbit_fifo #(.Width($bits(stopbit_beat_t)), .Depth(Beats)) i_beats (
    .clk_i,
    .rst_ni,
    .valid_i (put),
    .ready_o (has_beat_room),
    .data_i  (beat_i),
    .valid_o (has_beat),
    .ready_i (takes),
    .double_i(1'b0),
    .single_o(),
    .data_o  (beat),
    .count_o (beats)
  );
  stopbit_fifo #(.Width($bits(stopbit_datagram_t)), .Depth(Datagrams)) i_datagrams (
    .clk_i,
    .rst_ni,
    .valid_i (put && !within_q),
    .ready_o (has_datagram_room),
    .data_i  (datagram_i),
    .valid_o (has_datagram),
    .ready_i (takes && beat.last),
    .double_i(1'b0),
    .single_o(),
    .data_o  (datagram),
    .count_o (datagrams)
  );

  logic          slot_valid, slot_ready;
  stopbit_slot_t slot;
  stopbit_core i_core (
    .clk_i,
    .rst_ni,
    .load_i,
    .back_data_o,
    .valid_i   (has_beat && has_datagram),
    .ready_o   (core_ready),
    .datagram_i(datagram),
    .beat_i    (beat),
    .valid_o   (slot_valid),
    .ready_i   (slot_ready),
    .slot_o    (slot),
    .datagram_done_o,
    .issued_o
  );

  // ---- records
  localparam int unsigned CountBits = $clog2(Slots);
  logic               has_slot, comes, goes;
  logic [CountBits:0] slots, ends_q;  // ends of records among them
  stopbit_fifo #(.Width($bits(stopbit_slot_t)), .Depth(Slots)) i_slots (
    .clk_i,
    .rst_ni,
    .valid_i (slot_valid),
    .ready_o (slot_ready),
    .data_i  (slot),
    .valid_o (has_slot),
    .ready_i,
    .double_i(1'b0),
    .single_o(),
    .data_o  (slot_o),
    .count_o (slots)
  );
  assign valid_o = has_slot && (inside_i || ends_q != '0 || slots[CountBits]);
  assign idle_o  = slots == '0;
  assign comes   = slot_valid && slot_ready && (slot.last || slot.aborted);
  assign goes    = valid_o && ready_i && (slot_o.last || slot_o.aborted);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) ends_q <= '0;
    else ends_q <= ends_q + (CountBits + 1)'(comes) - (CountBits + 1)'(goes);
  end

  logic unused;
  assign unused = &{1'b0, beats, datagrams};
endmodule
