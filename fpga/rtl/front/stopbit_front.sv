/// From Ethernet frames, or from datagrams that another unit took out of them, to the datagrams the engine decodes:
/// stopbit_frame_decoder, stopbit_framing and, for channels that want it, stopbit_line_arbiter.
module stopbit_front #(
  parameter int unsigned Depth = 256  // beats of 64 bytes that wait in front of the engine
) (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,

  input  logic                                      group_write_i,
  input  logic [stopbit_front_pkg::GroupBits-1:0]   group_index_i,
  input  stopbit_front_pkg::group_t                 group_i,
  input  logic                                      framing_write_i,
  input  logic                                      framing_valid_i,
  input  stopbit_front_pkg::framing_t               framing_i,
  input  logic                                      rule_write_i,
  input  stopbit_front_pkg::line_rule_t             rule_i,
  input  logic [stopbit_front_pkg::ChannelBits-1:0] channel_i,  // of framing and rule
  input  logic [7:0]                                time_quality_i,
  input  logic                                      fcs_i,
  input  logic                                      check_header_i,
  input  logic                                      drop_when_full_i,
  input  logic                                      cut_through_i,
  input  logic                                      frames_i,  // frames; else datagrams. Changes only while idle_o

  input  logic                                      valid_i,
  output logic                                      ready_o,
  input  logic [511:0]                              data_i,
  input  logic [63:0]                               keep_i,
  input  logic                                      last_i,
  input  logic                                      bad_i,
  input  logic [63:0]                               arrival_ns_i,

  input  logic                                      plain_valid_i,
  output logic                                      plain_ready_o,
  input  stopbit_pkg::stopbit_beat_t                plain_beat_i,
  input  stopbit_pkg::stopbit_datagram_t            plain_datagram_i,

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
  output logic                                      taken_o,  // a datagram, by whichever way
  output logic [16:0]                               taken_bytes_o,
  output logic                                      chunk_o,
  output logic                                      passed_o,
  output logic                                      duplicate_o,
  output logic                                      late_o,
  output logic                                      idle_o
);
  logic                           frame_valid, found_valid, found_ready, framed_valid, framed_ready;
  stopbit_pkg::stopbit_beat_t     frame_beat, found_beat, framed_beat;
  stopbit_pkg::stopbit_datagram_t frame_datagram, found_datagram, framed_datagram;
  logic                           decoder_idle, framing_idle, arbiter_idle;

  stopbit_frame_decoder #(.Depth(Depth)) decode_frames (
    .clk_i,
    .rst_ni,
    .group_write_i,
    .group_index_i,
    .group_i,
    .time_quality_i,
    .fcs_i,
    .check_header_i,
    .drop_when_full_i,
    .cut_through_i,
    .valid_i,
    .ready_o,
    .data_i,
    .keep_i,
    .last_i,
    .bad_i,
    .arrival_ns_i,
    .valid_o   (frame_valid),
    .ready_i   (found_ready && frames_i),
    .beat_o    (frame_beat),
    .datagram_o(frame_datagram),
    .verdict_valid_o,
    .verdict_o,
    .idle_o    (decoder_idle)
  );

  assign found_valid    = frames_i ? frame_valid : plain_valid_i;
  assign found_beat     = frames_i ? frame_beat : plain_beat_i;
  assign found_datagram = frames_i ? frame_datagram : plain_datagram_i;
  assign plain_ready_o  = found_ready && !frames_i;
  assign taken_o        = found_valid && found_ready && found_beat.last;
  assign taken_bytes_o  = found_datagram.length_bytes;
  assign idle_o         = decoder_idle && framing_idle && arbiter_idle;

  stopbit_framing read_preamble (
    .clk_i,
    .rst_ni,
    .write_i        (framing_write_i),
    .write_channel_i(channel_i),
    .write_valid_i  (framing_valid_i),
    .write_framing_i(framing_i),
    .valid_i        (found_valid),
    .ready_o        (found_ready),
    .beat_i         (found_beat),
    .datagram_i     (found_datagram),
    .valid_o        (framed_valid),
    .ready_i        (framed_ready),
    .beat_o         (framed_beat),
    .datagram_o     (framed_datagram),
    .chunk_o,
    .idle_o         (framing_idle)
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
    .late_o,
    .idle_o         (arbiter_idle)
  );
endmodule
