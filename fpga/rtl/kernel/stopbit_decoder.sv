/// The kernel as XRT knows it: Ethernet frames or datagrams in at `s_axis_rx`, records out to rings in host memory at
/// `m_axi_ring`, all else through `s_axi_control` (fpga/kernel/generated/registers.md). User-managed: it runs as long as it has a clock.
///
/// `s_axis_rx_tdest` is a datagram's channel. `s_axis_rx_tuser[63:0]` is its or the frame's arrival, beside the first beat,
/// if clock_source says so; bit 64, beside the last beat of a frame, that the MAC found an error.
///
/// Frames of the host, reports of its groups for the switch, leave at `m_axis_tx`, for the MAC that `s_axis_rx` comes from.
///
/// With `Remote`, records also leave to other nodes at `m_axis_net`, as packets of the network's words, whose readers' credits
/// come at `s_axis_net`; its tuser marks a packet as damaged, beside the last word.
module stopbit_decoder
  import stopbit_pkg::*;
  import stopbit_front_pkg::*;
  import stopbit_registers_pkg::*;
  import stopbit_ring_pkg::*;
#(
  parameter bit          Remote  = 1'b1,
  parameter int unsigned Engines = 1      // 1, 2 or 4 decode cores, by channel
) (
  input  logic         ap_clk,
  input  logic         ap_rst_n,

  input  logic         s_axi_control_awvalid,
  output logic         s_axi_control_awready,
  input  logic [15:0]  s_axi_control_awaddr,
  input  logic         s_axi_control_wvalid,
  output logic         s_axi_control_wready,
  input  logic [31:0]  s_axi_control_wdata,
  input  logic [3:0]   s_axi_control_wstrb,
  output logic         s_axi_control_bvalid,
  input  logic         s_axi_control_bready,
  output logic [1:0]   s_axi_control_bresp,
  input  logic         s_axi_control_arvalid,
  output logic         s_axi_control_arready,
  input  logic [15:0]  s_axi_control_araddr,
  output logic         s_axi_control_rvalid,
  input  logic         s_axi_control_rready,
  output logic [31:0]  s_axi_control_rdata,
  output logic [1:0]   s_axi_control_rresp,

  output logic         m_axi_ring_awvalid,
  input  logic         m_axi_ring_awready,
  output logic [63:0]  m_axi_ring_awaddr,
  output logic [0:0]   m_axi_ring_awid,
  output logic [7:0]   m_axi_ring_awlen,
  output logic [2:0]   m_axi_ring_awsize,
  output logic [1:0]   m_axi_ring_awburst,
  output logic         m_axi_ring_wvalid,
  input  logic         m_axi_ring_wready,
  output logic [511:0] m_axi_ring_wdata,
  output logic [63:0]  m_axi_ring_wstrb,
  output logic         m_axi_ring_wlast,
  input  logic         m_axi_ring_bvalid,
  output logic         m_axi_ring_bready,
  input  logic [0:0]   m_axi_ring_bid,
  input  logic [1:0]   m_axi_ring_bresp,
  output logic         m_axi_ring_arvalid,
  input  logic         m_axi_ring_arready,
  output logic [63:0]  m_axi_ring_araddr,
  output logic [0:0]   m_axi_ring_arid,
  output logic [7:0]   m_axi_ring_arlen,
  output logic [2:0]   m_axi_ring_arsize,
  output logic [1:0]   m_axi_ring_arburst,
  input  logic         m_axi_ring_rvalid,
  output logic         m_axi_ring_rready,
  input  logic [511:0] m_axi_ring_rdata,
  input  logic         m_axi_ring_rlast,
  input  logic [0:0]   m_axi_ring_rid,
  input  logic [1:0]   m_axi_ring_rresp,

  input  logic         s_axis_rx_tvalid,
  output logic         s_axis_rx_tready,
  input  logic [511:0] s_axis_rx_tdata,
  input  logic [63:0]  s_axis_rx_tkeep,
  input  logic         s_axis_rx_tlast,
  input  logic [15:0]  s_axis_rx_tdest,
  input  logic [64:0]  s_axis_rx_tuser,

  output logic         m_axis_tx_tvalid,
  input  logic         m_axis_tx_tready,
  output logic [511:0] m_axis_tx_tdata,
  output logic [63:0]  m_axis_tx_tkeep,
  output logic         m_axis_tx_tlast,

  output logic         m_axis_net_tvalid,
  input  logic         m_axis_net_tready,
  output logic [63:0]  m_axis_net_tdata,
  output logic         m_axis_net_tlast,
  input  logic         s_axis_net_tvalid,
  output logic         s_axis_net_tready,
  input  logic [63:0]  s_axis_net_tdata,
  input  logic         s_axis_net_tlast,
  input  logic [0:0]   s_axis_net_tuser
);
  // The reset comes from far; a register of its own is near.
  logic rst_n_q;
  always_ff @(posedge ap_clk) rst_n_q <= ap_rst_n;

  // ---- registers
  written_t written;
  command_t command;
  shown_t   shown;
  raised_t  raised;
  logic        write, read;
  logic [15:0] write_address, read_address;
  logic [31:0] write_data, read_data;
  logic [3:0]  write_strobe;

  stopbit_axil_slave i_slave (
    .clk_i          (ap_clk),
    .rst_ni         (rst_n_q),
    .awvalid_i      (s_axi_control_awvalid),
    .awready_o      (s_axi_control_awready),
    .awaddr_i       (s_axi_control_awaddr),
    .wvalid_i       (s_axi_control_wvalid),
    .wready_o       (s_axi_control_wready),
    .wdata_i        (s_axi_control_wdata),
    .wstrb_i        (s_axi_control_wstrb),
    .bvalid_o       (s_axi_control_bvalid),
    .bready_i       (s_axi_control_bready),
    .bresp_o        (s_axi_control_bresp),
    .arvalid_i      (s_axi_control_arvalid),
    .arready_o      (s_axi_control_arready),
    .araddr_i       (s_axi_control_araddr),
    .rvalid_o       (s_axi_control_rvalid),
    .rready_i       (s_axi_control_rready),
    .rdata_o        (s_axi_control_rdata),
    .rresp_o        (s_axi_control_rresp),
    .write_o        (write),
    .write_address_o(write_address),
    .write_data_o   (write_data),
    .write_strobe_o (write_strobe),
    .read_o         (read),
    .read_address_o (read_address),
    .read_data_i    (read_data)
  );

  stopbit_registers i_registers (
    .clk_i          (ap_clk),
    .rst_ni         (rst_n_q),
    .write_i        (write),
    .write_address_i(write_address),
    .write_data_i   (write_data),
    .write_strobe_i (write_strobe),
    .read_i         (read),
    .read_address_i (read_address),
    .read_data_o    (read_data),
    .written_o      (written),
    .command_o      (command),
    .shown_i        (shown),
    .raised_i       (raised)
  );

  // ---- frames or datagrams in
  logic [63:0]       now, arrival;
  logic              receive, side_band, frames;
  logic              plain_valid, plain_ready, plain_idle, plain_dropped, oversized, plain_tready;
  logic [7:0]        time_quality;
  stopbit_beat_t     plain_beat;
  stopbit_datagram_t plain_datagram;

  assign receive      = written.control[ControlReceiveBit];
  assign side_band    = written.clock_source[ClockSourceSideBandBit];
  assign frames       = written.intake[IntakeFramesBit];
  assign time_quality = written.datagram_marks[DatagramMarksTimeQualityBit +: 8];
  assign arrival      = side_band ? s_axis_rx_tuser[63:0] : now;

  stopbit_clock i_clock (
    .clk_i   (ap_clk),
    .rst_ni  (rst_n_q),
    .rate_i  (written.clock_rate),
    .offset_i(written.clock_offset),
    .now_o   (now)
  );

  stopbit_datagram_input i_input (
    .clk_i           (ap_clk),
    .rst_ni          (rst_n_q),
    .receive_i       (receive),
    .preamble_bytes_i(written.preamble_bytes),
    .source_i        (written.datagram_marks[DatagramMarksSourceBit +: 8]),
    .time_quality_i  (time_quality),
    .tvalid_i        (s_axis_rx_tvalid && !frames),
    .tready_o        (plain_tready),
    .tdata_i         (s_axis_rx_tdata),
    .tkeep_i         (s_axis_rx_tkeep),
    .tlast_i         (s_axis_rx_tlast),
    .tdest_i         (s_axis_rx_tdest),
    .arrival_ns_i    (arrival),
    .valid_o         (plain_valid),
    .ready_i         (plain_ready),
    .datagram_o      (plain_datagram),
    .beat_o          (plain_beat),
    .idle_o          (plain_idle),
    .dropped_o       (plain_dropped),
    .oversized_o     (oversized)
  );

  // Frames are dropped from their first beat on while the kernel does not receive.
  logic frame_inside_q, frame_dropping_q, frame_drop, frame_ready, frame_moves, frame_dropped;
  assign frame_drop    = frame_inside_q ? frame_dropping_q : !receive;
  assign frame_moves   = frames && s_axis_rx_tvalid && s_axis_rx_tready;
  assign frame_dropped = frame_moves && s_axis_rx_tlast && frame_drop;
  assign s_axis_rx_tready = frames ? frame_drop || frame_ready : plain_tready;
  always_ff @(posedge ap_clk) begin
    if (!rst_n_q) frame_inside_q <= 1'b0;
    else if (frame_moves) frame_inside_q <= !s_axis_rx_tlast;
  end
  always_ff @(posedge ap_clk) begin
    if (frame_moves) frame_dropping_q <= frame_drop;
  end

  // ---- the card as a station
  logic         station_heard, station_lost, station_sent, station_refused, kept_valid, kept_last, sending;
  logic [6:0]   kept_bytes;
  logic [511:0] kept_word;
  logic [31:0]  heard_q, lost_q, sent_q;
  stopbit_station i_station (
    .clk_i       (ap_clk),
    .rst_ni      (rst_n_q),
    .on_i        (written.station[0].control[StationControlListenBit]),
    .mac_i       ({written.station[0].mac_high, written.station[0].mac_low}),
    .address_i   (written.station[0].address),
    .moves_i     (frame_moves && !frame_drop),
    .data_i      (s_axis_rx_tdata),
    .keep_i      (s_axis_rx_tkeep),
    .last_i      (s_axis_rx_tlast),
    .bad_i       (s_axis_rx_tlast && s_axis_rx_tuser[64]),
    .kept_valid_o(kept_valid),
    .kept_last_o (kept_last),
    .kept_bytes_o(kept_bytes),
    .kept_data_o (kept_word),
    .kept_take_i (command.station[0].next_valid && command.station[0].next[0]),
    .heard_o     (station_heard),
    .lost_o      (station_lost),
    .word_valid_i(command.station[0].word_valid),
    .word_i      (command.station[0].word),
    .send_valid_i(command.station[0].send_valid),
    .send_bytes_i(command.station[0].send[StationSendBytesBit +: 12]),
    .sending_o   (sending),
    .sent_o      (station_sent),
    .refused_o   (station_refused),
    .tx_valid_o  (m_axis_tx_tvalid),
    .tx_ready_i  (m_axis_tx_tready),
    .tx_data_o   (m_axis_tx_tdata),
    .tx_keep_o   (m_axis_tx_tkeep),
    .tx_last_o   (m_axis_tx_tlast)
  );
  always_ff @(posedge ap_clk) begin
    if (!rst_n_q) begin
      heard_q <= '0;
      lost_q  <= '0;
      sent_q  <= '0;
    end else begin
      heard_q <= heard_q + 32'(station_heard);
      lost_q  <= lost_q + 32'(station_lost);
      sent_q  <= sent_q + 32'(station_sent);
    end
  end
  always_comb begin
    shown.station[0].state = '0;
    shown.station[0].state[StationStateKeptBit] = kept_valid;
    shown.station[0].state[StationStateLastBit] = kept_last;
    shown.station[0].state[StationStateSendingBit] = sending;
    shown.station[0].state[StationStateBytesBit +: 7] = kept_bytes;
    shown.station[0].heard = heard_q;
    shown.station[0].lost = lost_q;
    shown.station[0].sent = sent_q;
  end
  for (genvar i = 0; i < Pieces; i++) begin : g_piece
    assign shown.piece[i].word = kept_word[32*i +: 32];
  end

  // ---- datagrams of the groups, their preambles, of two lines the first
  logic              front_valid, front_ready, front_idle, gap_valid, gap_ready;
  logic              verdict_valid, taken, chunk, passed, duplicate, late;
  logic [4:0]        verdict;
  logic [16:0]       taken_bytes;
  stopbit_beat_t     front_beat;
  stopbit_datagram_t front_datagram;
  gap_t              gap;
  group_t            group;
  framing_t          framing;
  line_rule_t        rule;

  assign group = '{
    valid: command.group_write[GroupWriteValidBit], any_source: command.group_write[GroupWriteAnySourceBit],
    source_address: written.group_source, address: written.group_address,
    port: written.group_target[GroupTargetPortBit +: 16], channel: written.group_target[GroupTargetChannelBit +: 16],
    line: command.group_write[GroupWriteLineBit +: 8]};
  assign framing = '{
    kind: command.framing_write[FramingWriteKindBit +: 2], skip: command.framing_write[FramingWriteSkipBit +: 11],
    sequence_field: '{big_endian: written.framing_fields[FramingFieldsSequenceBigEndianBit],
                      bytes: written.framing_fields[FramingFieldsSequenceBytesBit +: 4],
                      offset: written.framing_fields[FramingFieldsSequenceOffsetBit +: 6]},
    length_field: '{big_endian: written.framing_fields[FramingFieldsLengthBigEndianBit],
                    bytes: written.framing_fields[FramingFieldsLengthBytesBit +: 4],
                    offset: written.framing_fields[FramingFieldsLengthOffsetBit +: 6]}};
  assign rule = '{
    enable: command.rule_write[RuleWriteEnableBit], carousel: command.rule_write[RuleWriteCarouselBit],
    window: command.rule_write[RuleWriteWindowBit +: 6]};

  stopbit_front i_front (
    .clk_i           (ap_clk),
    .rst_ni          (rst_n_q),
    .group_write_i   (command.group_write_valid),
    .group_index_i   (command.group_write[GroupWriteIndexBit +: 6]),
    .group_i         (group),
    .framing_write_i (command.framing_write_valid),
    .framing_valid_i (command.framing_write[FramingWriteValidBit]),
    .framing_i       (framing),
    .rule_write_i    (command.rule_write_valid),
    .rule_i          (rule),
    .channel_i       (command.framing_write_valid ? command.framing_write[FramingWriteChannelBit +: 6]
                                                  : command.rule_write[RuleWriteChannelBit +: 6]),
    .time_quality_i  (time_quality),
    .fcs_i           (written.intake[IntakeFcsBit]),
    .check_header_i  (written.intake[IntakeCheckHeaderBit]),
    .drop_when_full_i(written.intake[IntakeDropWhenFullBit]),
    .cut_through_i   (written.intake[IntakeCutThroughBit]),
    .frames_i        (frames),
    .valid_i         (s_axis_rx_tvalid && frames && !frame_drop),
    .ready_o         (frame_ready),
    .data_i          (s_axis_rx_tdata),
    .keep_i          (s_axis_rx_tkeep),
    .last_i          (s_axis_rx_tlast),
    .bad_i           (s_axis_rx_tlast && s_axis_rx_tuser[64]),
    .arrival_ns_i    (arrival),
    .plain_valid_i   (plain_valid),
    .plain_ready_o   (plain_ready),
    .plain_beat_i    (plain_beat),
    .plain_datagram_i(plain_datagram),
    .valid_o         (front_valid),
    .ready_i         (front_ready),
    .beat_o          (front_beat),
    .datagram_o      (front_datagram),
    .gap_valid_o     (gap_valid),
    .gap_ready_i     (gap_ready),
    .gap_o           (gap),
    .verdict_valid_o (verdict_valid),
    .verdict_o       (verdict),
    .taken_o         (taken),
    .taken_bytes_o   (taken_bytes),
    .chunk_o         (chunk),
    .passed_o        (passed),
    .duplicate_o     (duplicate),
    .late_o          (late),
    .idle_o          (front_idle)
  );

  logic              datagram_valid, datagram_ready;
  stopbit_datagram_t datagram;
  stopbit_beat_t     beat;
  stopbit_slot_t     core_slot, slot;
  logic              slot_valid, slot_ready;
  stopbit_gap_events i_gaps (
    .gap_valid_i    (gap_valid),
    .gap_ready_o    (gap_ready),
    .gap_i          (gap),
    .valid_i        (front_valid),
    .ready_o        (front_ready),
    .beat_i         (front_beat),
    .datagram_i     (front_datagram),
    .core_valid_o   (datagram_valid),
    .core_ready_i   (datagram_ready),
    .core_beat_o    (beat),
    .core_datagram_o(datagram),
    .slot_i         (core_slot),
    .slot_o         (slot)
  );

  // ---- decode
  stopbit_load_t load;
  logic [31:0]   back_data;
  logic                               engines_idle;
  logic [$clog2(Engines + 1)-1:0]     done;
  logic [$clog2(3 * Engines + 1)-1:0] issued;

  stopbit_loader i_loader (
    .clk_i          (ap_clk),
    .rst_ni         (rst_n_q),
    .bank_i         (written.firmware_bank[0]),
    .address_valid_i(command.firmware_address_valid),
    .address_i      (command.firmware_address),
    .data_valid_i   (command.firmware_data_valid),
    .data_i         (command.firmware_data),
    .clear_i        (command.firmware_clear_valid && command.firmware_clear[0]),
    .crc_o          (shown.firmware_crc),
    .words_o        (shown.firmware_words),
    .verify_valid_i (command.firmware_verify_valid),
    .verify_words_i (command.firmware_verify),
    .back_crc_o     (shown.verified_crc),
    .back_word_o    (shown.verified_word),
    .back_left_o    (shown.verify_left),
    .load_o         (load),
    .back_data_i    (back_data)
  );

  stopbit_engines #(
    .Engines(Engines)
  ) i_engines (
    .clk_i           (ap_clk),
    .rst_ni          (rst_n_q),
    .load_i          (load),
    .back_data_o     (back_data),
    .valid_i         (datagram_valid),
    .ready_o         (datagram_ready),
    .datagram_i      (datagram),
    .beat_i          (beat),
    .valid_o         (slot_valid),
    .ready_i         (slot_ready),
    .slot_o          (core_slot),
    .idle_o          (engines_idle),
    .datagrams_done_o(done),
    .issued_o        (issued)
  );

  // ---- records out
  ring_setup_t  [Rings-1:0] setup;
  ring_status_t [Rings-1:0] status;
  logic         [Rings-1:0] start, stop, refused, broken, starved;
  logic write_error, writer_idle;

  localparam int unsigned RingWidth = $clog2(Rings);
  logic [Rings-1:0]     room, waits;
  logic                 routed_valid, routed_ready, router_idle, unmatched, too_long;
  logic [RingWidth-1:0] routed_ring;
  stopbit_slot_t        routed_slot;
  stopbit_record_router #(
    .NumRings(Rings)
  ) i_router (
    .clk_i         (ap_clk),
    .rst_ni        (rst_n_q),
    .filter_i      (written.routing[RoutingFilterBit]),
    .unmatched_i   (written.routing[RoutingUnmatchedBit]),
    .filters_i     (written.filter),
    .valid_i       (slot_valid),
    .ready_o       (slot_ready),
    .slot_i        (slot),
    .room_i        (room),
    .waits_o       (waits),
    .valid_o       (routed_valid),
    .ready_i       (routed_ready),
    .ring_o        (routed_ring),
    .slot_o        (routed_slot),
    .idle_o        (router_idle),
    .is_unmatched_o(unmatched),
    .too_long_o    (too_long)
  );

  for (genvar r = 0; r < Rings; r++) begin : g_ring
    assign setup[r] = '{
      header: written.ring[r].header, descriptors: written.ring[r].descriptors, segments: written.ring[r].segments,
      slots_log2: written.ring[r].slots_log2, max_slots: written.ring[r].max_record_slots, mode: written.ring[r].mode,
      credit_timeout: written.ring[r].credit_timeout, credit: written.ring[r].credit};
    assign start[r] = command.ring[r].command_valid && command.ring[r].command[RingCommandStartBit];
    assign stop[r]  = command.ring[r].command_valid && command.ring[r].command[RingCommandStopBit];
    assign shown.ring[r] = '{
      state: {status[r].starved, status[r].running}, number: status[r].number, claim: status[r].claim, records: status[r].records,
      dropped: status[r].dropped, withdrawn: status[r].withdrawn, stalled: status[r].stalled,
      timeouts: status[r].timeouts, malformed: status[r].malformed};
  end

  stopbit_ring_writer #(
    .NumRings(Rings)
  ) i_writer (
    .clk_i        (ap_clk),
    .rst_ni       (rst_n_q),
    .start_i      (start),
    .stop_i       (stop),
    .setup_i      (setup),
    .timeout_i    (written.ring[0].timeout),
    .status_o     (status),
    .refused_o    (refused),
    .broken_o     (broken),
    .starved_o    (starved),
    .write_error_o(write_error),
    .idle_o       (writer_idle),
    .room_o       (room),
    .waits_i      (waits),
    .valid_i      (routed_valid),
    .ready_o      (routed_ready),
    .ring_i       (routed_ring),
    .data_i       (routed_slot.data),
    .index_i      (routed_slot.index),
    .last_i       (routed_slot.last),
    .abort_i      (routed_slot.aborted),
    .awvalid_o    (m_axi_ring_awvalid),
    .awready_i    (m_axi_ring_awready),
    .awaddr_o     (m_axi_ring_awaddr),
    .awlen_o      (m_axi_ring_awlen),
    .wvalid_o     (m_axi_ring_wvalid),
    .wready_i     (m_axi_ring_wready),
    .wdata_o      (m_axi_ring_wdata),
    .wstrb_o      (m_axi_ring_wstrb),
    .wlast_o      (m_axi_ring_wlast),
    .bvalid_i     (m_axi_ring_bvalid),
    .bready_o     (m_axi_ring_bready),
    .bresp_i      (m_axi_ring_bresp),
    .arvalid_o    (m_axi_ring_arvalid),
    .arready_i    (m_axi_ring_arready),
    .araddr_o     (m_axi_ring_araddr),
    .rvalid_i     (m_axi_ring_rvalid),
    .rready_o     (m_axi_ring_rready),
    .rdata_i      (m_axi_ring_rdata),
    .rresp_i      (m_axi_ring_rresp)
  );

  // One ID for everything: order is what makes a record whole. Beats are whole lines, bursts go up.
  assign m_axi_ring_awid    = '0;
  assign m_axi_ring_awsize  = 3'd6;
  assign m_axi_ring_awburst = 2'b01;
  assign m_axi_ring_arid    = '0;
  assign m_axi_ring_arlen   = '0;
  assign m_axi_ring_arsize  = 3'd6;
  assign m_axi_ring_arburst = 2'b01;

  logic unused;
  assign unused = &{1'b0, m_axi_ring_bid, m_axi_ring_rid, m_axi_ring_rlast};

  // ---- records to other nodes: all that the core gives, whatever rings take them
  logic remote_refused;
  assign s_axis_net_tready = 1'b1;
  if (Remote) begin : gen_remote
    stopbit_kernel_remote i_remote (
      .clk_i       (ap_clk),
      .rst_ni      (rst_n_q),
      .time_i      (now),
      .written_i   (written.remote[0]),
      .command_i   (command.remote[0]),
      .shown_o     (shown.remote[0]),
      .refused_o   (remote_refused),
      .filters_i   (written.filter),
      .slot_valid_i(slot_valid && slot_ready),
      .slot_i      (slot),
      .send_valid_o(m_axis_net_tvalid),
      .send_ready_i(m_axis_net_tready),
      .send_data_o (m_axis_net_tdata),
      .send_last_o (m_axis_net_tlast),
      .come_valid_i(s_axis_net_tvalid),
      .come_data_i (s_axis_net_tdata),
      .come_last_i (s_axis_net_tlast),
      .come_bad_i  (s_axis_net_tuser[0])
    );
  end else begin : gen_no_remote
    logic unused_net;
    assign unused_net = &{1'b0, written.remote, command.remote, m_axis_net_tready, s_axis_net_tvalid, s_axis_net_tdata,
                          s_axis_net_tlast, s_axis_net_tuser};
    assign shown.remote[0]   = '0;
    assign remote_refused    = command.remote[0].command_valid || command.remote[0].subscribe_valid ||
                               command.remote[0].tell_valid;
    assign m_axis_net_tvalid = 1'b0;
    assign m_axis_net_tdata  = '0;
    assign m_axis_net_tlast  = 1'b0;
  end

  // ---- what the host sees
  localparam int unsigned CalmBits = 6;
  localparam int unsigned InsideBits = 8;
  logic [63:0] datagrams_q, bytes_q, dropped_q, records_q, withdrawn_q, decoded_q, instructions_q, chunks_q, passed_q,
               duplicates_q, late_q, gaps_q, missing_q, unmatched_q;
  logic [Verdicts-1:0][63:0] verdicts_q;
  logic [InsideBits-1:0]     inside_q;  // datagrams in the decode core
  logic [CalmBits:0] calm_q;  // cycles in which nothing was on its way
  logic calm;
  assign calm = plain_idle && !s_axis_rx_tvalid && front_idle && !gap_valid && inside_q == '0 &&
                engines_idle && router_idle && writer_idle;

  always_ff @(posedge ap_clk) begin
    if (!rst_n_q) begin
      datagrams_q    <= '0;
      bytes_q        <= '0;
      dropped_q      <= '0;
      records_q      <= '0;
      withdrawn_q    <= '0;
      decoded_q      <= '0;
      instructions_q <= '0;
      chunks_q       <= '0;
      passed_q       <= '0;
      duplicates_q   <= '0;
      late_q         <= '0;
      gaps_q         <= '0;
      missing_q      <= '0;
      unmatched_q    <= '0;
      verdicts_q     <= '0;
      inside_q       <= '0;
      calm_q         <= '0;
    end else begin
      datagrams_q    <= datagrams_q + 64'(taken);
      bytes_q        <= bytes_q + (taken ? 64'(taken_bytes) : 64'd0);
      dropped_q      <= dropped_q + 64'(plain_dropped || frame_dropped);
      records_q      <= records_q + 64'(slot_valid && slot_ready && slot.last && !slot.aborted);
      withdrawn_q    <= withdrawn_q + 64'(slot_valid && slot_ready && slot.aborted);
      decoded_q      <= decoded_q + 64'(done);
      instructions_q <= instructions_q + 64'(issued);
      chunks_q       <= chunks_q + 64'(chunk);
      passed_q       <= passed_q + 64'(passed);
      duplicates_q   <= duplicates_q + 64'(duplicate);
      late_q         <= late_q + 64'(late);
      gaps_q         <= gaps_q + 64'(gap_valid && gap_ready);
      missing_q      <= missing_q + (gap_valid && gap_ready ? 64'(gap.count) : 64'd0);
      inside_q       <= inside_q + InsideBits'(datagram_valid && datagram_ready && beat.last) - InsideBits'(done);
      unmatched_q    <= unmatched_q + 64'(unmatched);
      for (int unsigned v = 0; v < Verdicts; v++) begin
        if (verdict_valid && verdict == 5'(v)) verdicts_q[v] <= verdicts_q[v] + 64'd1;
      end
      // A record may leave the core some cycles after its datagram is done.
      calm_q         <= !calm ? '0 : calm_q[CalmBits] ? calm_q : calm_q + 1'b1;
    end
  end
  assign shown.capabilities      = Capabilities;
  assign shown.engines           = 3'(Engines);
  assign shown.clock_now         = now;
  assign shown.status            = calm && calm_q[CalmBits];
  assign shown.datagrams         = datagrams_q;
  assign shown.datagram_bytes    = bytes_q;
  assign shown.datagrams_dropped = dropped_q;
  assign shown.records           = records_q;
  assign shown.records_withdrawn = withdrawn_q;
  assign shown.datagrams_decoded = decoded_q;
  assign shown.instructions      = instructions_q;
  assign shown.chunks            = chunks_q;
  assign shown.line_passed       = passed_q;
  assign shown.line_duplicates   = duplicates_q;
  assign shown.line_late         = late_q;
  assign shown.gaps              = gaps_q;
  assign shown.numbers_missing   = missing_q;
  assign shown.records_unmatched = unmatched_q;
  for (genvar v = 0; v < Verdicts; v++) begin : g_verdict
    assign shown.verdict[v].frames = verdicts_q[v];
  end

  always_comb begin
    raised.errors = '0;
    raised.errors[ErrorsWriteErrorBit]  = write_error;
    raised.errors[ErrorsRingRefusedBit] = |refused;
    raised.errors[ErrorsRingBrokenBit]  = |broken;
    raised.errors[ErrorsOversizedBit]   = oversized;
    raised.errors[ErrorsRingStarvedBit] = |starved;
    raised.errors[ErrorsRecordTooLongBit] = too_long;
    raised.errors[ErrorsRemoteRefusedBit] = remote_refused;
    raised.errors[ErrorsSendRefusedBit]   = station_refused;
  end
endmodule
