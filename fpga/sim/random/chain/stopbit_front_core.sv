/// Front end and core in a row, for the bench.
module stopbit_front_core
  import stopbit_pkg::*;
(
  input  logic                                      clk_i,
  input  logic                                      rst_ni,
  input  stopbit_load_t                             load_i,

  input  logic                                      group_write_i,
  input  logic [stopbit_front_pkg::GroupBits-1:0]   group_index_i,
  input  stopbit_front_pkg::group_t                 group_i,
  input  logic                                      framing_write_i,
  input  stopbit_front_pkg::framing_t               framing_i,
  input  logic [stopbit_front_pkg::ChannelBits-1:0] channel_i,

  input  logic                                      valid_i,
  output logic                                      ready_o,
  input  logic [511:0]                              data_i,
  input  logic [63:0]                               keep_i,
  input  logic                                      last_i,
  input  logic                                      bad_i,
  input  logic [63:0]                               arrival_ns_i,

  output logic                                      valid_o,
  input  logic                                      ready_i,
  output stopbit_slot_t                             slot_o,
  output logic                                      verdict_valid_o
);
  logic              valid, ready;
  stopbit_beat_t     beat;
  stopbit_datagram_t datagram;

  stopbit_front i_front (
    .clk_i,
    .rst_ni,
    .group_write_i,
    .group_index_i,
    .group_i,
    .framing_write_i,
    .framing_valid_i (1'b1),
    .framing_i,
    .rule_write_i    (1'b0),
    .rule_i          ('0),
    .channel_i,
    .time_quality_i  (8'd1),
    .fcs_i           (1'b0),
    .check_header_i  (1'b0),
    .drop_when_full_i(1'b0),
    .cut_through_i   (1'b0),
    .frames_i        (1'b1),
    .valid_i,
    .ready_o,
    .data_i,
    .keep_i,
    .last_i,
    .bad_i,
    .arrival_ns_i,
    .plain_valid_i   (1'b0),
    .plain_ready_o   (),
    .plain_beat_i    ('0),
    .plain_datagram_i('0),
    .valid_o         (valid),
    .ready_i         (ready),
    .beat_o          (beat),
    .datagram_o      (datagram),
    .gap_valid_o     (),
    .gap_ready_i     (1'b1),
    .gap_o           (),
    .verdict_valid_o,
    .verdict_o       (),
    .taken_o         (),
    .taken_bytes_o   (),
    .chunk_o         (),
    .passed_o        (),
    .duplicate_o     (),
    .late_o          (),
    .idle_o          ()
  );

  stopbit_core i_core (
    .clk_i,
    .rst_ni,
    .load_i,
    .back_data_o    (),
    .valid_i        (valid),
    .ready_o        (ready),
    .datagram_i     (datagram),
    .beat_i         (beat),
    .valid_o,
    .ready_i,
    .slot_o,
    .datagram_done_o(),
    .issued_o       ()
  );
endmodule
