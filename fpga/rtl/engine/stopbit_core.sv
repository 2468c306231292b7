/// The decode core: datagrams in, slots of records out, firmware beside them. It takes none for 2048 cycles after a reset.
module stopbit_core
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
#(
  parameter int unsigned WatchdogBits = 28  // of the cycles that a datagram may take
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  stopbit_load_t     load_i,
  output logic [31:0]       back_data_o,  // the word at load_i.address one cycle earlier

  input  logic              valid_i,
  output logic              ready_o,
  input  stopbit_datagram_t datagram_i,
  input  stopbit_beat_t     beat_i,

  output logic              valid_o,
  input  logic              ready_i,
  output stopbit_slot_t     slot_o,

  // For counters, each for one cycle.
  output logic              datagram_done_o,
  output logic [1:0]        issued_o   // number of instructions
);
  logic active, release_window, is_ready, has_room;
  assign ready_o = has_room && is_ready;
  stopbit_datagram_t datagram, following;
  logic follows;
  window_t window;
  take_t take;
  stopbit_decompressor i_decompressor (
    .clk_i,
    .rst_ni,
    .valid_i    (valid_i && is_ready),
    .ready_o    (has_room),
    .datagram_i,
    .beat_i,
    .active_o   (active),
    .datagram_o (datagram),
    .following_o(following),
    .follows_o  (follows),
    .window_o   (window),
    .take_i     (take),
    .release_i  (release_window)
  );

  logic command_valid, command_ready;
  command_t command;
  record_header_t header;
  stopbit_microcode_engine #(
    .WatchdogBits(WatchdogBits)
  ) i_engine (
    .clk_i,
    .rst_ni,
    .load_i,
    .back_data_o,
    .is_ready_o (is_ready),
    .active_i   (active),
    .datagram_i (datagram),
    .following_i(following),
    .follows_i  (follows),
    .window_i   (window),
    .take_o     (take),
    .release_o  (release_window),
    .valid_o    (command_valid),
    .ready_i    (command_ready),
    .command_o  (command),
    .header_o   (header),
    .datagram_done_o,
    .issued_o
  );

  stopbit_record_packer i_packer (
    .clk_i,
    .rst_ni,
    .valid_i  (command_valid),
    .ready_o  (command_ready),
    .command_i(command),
    .header_i (header),
    .valid_o,
    .ready_i,
    .slot_o
  );
endmodule
