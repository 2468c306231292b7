/// From Ethernet frames to the datagrams the engine decodes: stopbit_frame_decoder, stopbit_framing and, for channels that
/// want it, stopbit_line_arbiter.
module stopbit_front #(
  parameter int unsigned Depth = 256  // beats of 64 bytes that wait in front
) (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,

  input  logic                                      group_write_i,
  input  logic [stopbit_front_pkg::GroupBits-1:0]   group_index_i,
  input  stopbit_front_pkg::group_t                 group_i,
  input  logic                                      framing_write_i,
  input  stopbit_front_pkg::framing_t               framing_i,
  input  logic                                      rule_write_i,
  input  stopbit_front_pkg::line_rule_t             rule_i,
  input  logic [stopbit_front_pkg::ChannelBits-1:0] channel_i,  // of framing and rule
  input  logic [7:0]                                time_quality_i,
  input  logic                                      check_header_i,
  input  logic                                      drop_when_full_i,

  input  logic                                      valid_i,
  output logic                                      ready_o,
  input  logic [511:0]                              data_i,
  input  logic [63:0]                               keep_i,
  input  logic                                      last_i,
  input  logic                                      bad_i,
  input  logic [63:0]                               arrival_ns_i,

  output logic                                      valid_o,
  input  logic                                      ready_i,
  output stopbit_pkg::stopbit_beat_t                beat_o,
  output stopbit_pkg::stopbit_datagram_t            datagram_o,

  output logic                                      gap_valid_o,
  input  logic                                      gap_ready_i,
  output stopbit_front_pkg::gap_t                   gap_o,

  // For counters.
  output logic                                      verdict_valid_o,
  output logic [4:0]                                verdict_o,
  output logic                                      chunk_o,
  output logic                                      passed_o,
  output logic                                      duplicate_o,
  output logic                                      late_o
);
  logic                           frame_valid, frame_ready, framed_valid, framed_ready;
  stopbit_pkg::stopbit_beat_t     frame_beat, framed_beat;
  stopbit_pkg::stopbit_datagram_t frame_datagram, framed_datagram;

  stopbit_frame_decoder #(.Depth(Depth)) decode_frames (
    .clk_i,
    .rst_ni,
    .group_write_i,
    .group_index_i,
    .group_i,
    .time_quality_i,
    .check_header_i,
    .drop_when_full_i,
    .valid_i,
    .ready_o,
    .data_i,
    .keep_i,
    .last_i,
    .bad_i,
    .arrival_ns_i,
    .valid_o   (frame_valid),
    .ready_i   (frame_ready),
    .beat_o    (frame_beat),
    .datagram_o(frame_datagram),
    .verdict_valid_o,
    .verdict_o
  );

  stopbit_framing read_preamble (
    .clk_i,
    .rst_ni,
    .write_i        (framing_write_i),
    .write_channel_i(channel_i),
    .write_framing_i(framing_i),
    .valid_i        (frame_valid),
    .ready_o        (frame_ready),
    .beat_i         (frame_beat),
    .datagram_i     (frame_datagram),
    .valid_o        (framed_valid),
    .ready_i        (framed_ready),
    .beat_o         (framed_beat),
    .datagram_o     (framed_datagram),
    .chunk_o
  );

  stopbit_line_arbiter choose_line (
    .clk_i,
    .rst_ni,
    .write_i        (rule_write_i),
    .write_channel_i(channel_i),
    .write_rule_i   (rule_i),
    .valid_i        (framed_valid),
    .ready_o        (framed_ready),
    .beat_i         (framed_beat),
    .datagram_i     (framed_datagram),
    .valid_o,
    .ready_i,
    .beat_o,
    .datagram_o,
    .gap_valid_o,
    .gap_ready_i,
    .gap_o,
    .passed_o,
    .duplicate_o,
    .late_o
  );
endmodule
