/// The kernel as XRT knows it: datagrams in at `s_axis_rx`, records out to rings in host memory at `m_axi_ring`, all else
/// through `s_axi_control` (fpga/kernel/registers.md). User-managed: it runs as long as it has a clock.
///
/// `s_axis_rx_tdest` is the datagram's channel; `s_axis_rx_tuser` its arrival, if clock_source says so.
module stopbit_decoder
  import stopbit_pkg::*;
  import stopbit_registers_pkg::*;
  import stopbit_ring_pkg::*;
(
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
  input  logic [63:0]  s_axis_rx_tuser
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

  // ---- datagrams in
  logic [63:0]       now;
  logic              datagram_valid, datagram_ready, input_idle, taken, dropped, oversized;
  logic [16:0]       length;
  stopbit_datagram_t datagram;
  stopbit_beat_t     beat;

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
    .receive_i       (written.control[ControlReceiveBit]),
    .side_band_i     (written.clock_source[ClockSourceSideBandBit]),
    .now_i           (now),
    .preamble_bytes_i(written.preamble_bytes),
    .source_i        (written.datagram_marks[DatagramMarksSourceBit +: 8]),
    .time_quality_i  (written.datagram_marks[DatagramMarksTimeQualityBit +: 8]),
    .tvalid_i        (s_axis_rx_tvalid),
    .tready_o        (s_axis_rx_tready),
    .tdata_i         (s_axis_rx_tdata),
    .tkeep_i         (s_axis_rx_tkeep),
    .tlast_i         (s_axis_rx_tlast),
    .tdest_i         (s_axis_rx_tdest),
    .tuser_i         (s_axis_rx_tuser),
    .valid_o         (datagram_valid),
    .ready_i         (datagram_ready),
    .datagram_o      (datagram),
    .beat_o          (beat),
    .idle_o          (input_idle),
    .taken_o         (taken),
    .length_o        (length),
    .dropped_o       (dropped),
    .oversized_o     (oversized)
  );

  // ---- decode
  stopbit_load_t load;
  stopbit_slot_t slot;
  logic          slot_valid, slot_ready, done, issued;

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
    .load_o         (load)
  );

  stopbit_core i_core (
    .clk_i          (ap_clk),
    .rst_ni         (rst_n_q),
    .load_i         (load),
    .valid_i        (datagram_valid),
    .ready_o        (datagram_ready),
    .datagram_i     (datagram),
    .beat_i         (beat),
    .valid_o        (slot_valid),
    .ready_i        (slot_ready),
    .slot_o         (slot),
    .datagram_done_o(done),
    .issued_o       (issued)
  );

  // ---- records out
  ring_setup_t  [Rings-1:0] setup;
  ring_status_t [Rings-1:0] status;
  logic         [Rings-1:0] start, stop, refused, broken;
  logic write_error, writer_idle;

  for (genvar r = 0; r < Rings; r++) begin : g_ring
    assign setup[r] = '{
      header: written.ring[r].header, descriptors: written.ring[r].descriptors, segments: written.ring[r].segments,
      slots_log2: written.ring[r].slots_log2, max_slots: written.ring[r].max_record_slots, mode: written.ring[r].mode,
      credit: written.ring[r].credit};
    assign start[r] = command.ring[r].command_valid && command.ring[r].command[RingCommandStartBit];
    assign stop[r]  = command.ring[r].command_valid && command.ring[r].command[RingCommandStopBit];
    assign shown.ring[r] = '{
      state: status[r].running, number: status[r].number, claim: status[r].claim, records: status[r].records,
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
    .write_error_o(write_error),
    .idle_o       (writer_idle),
    .valid_i      (slot_valid),
    .ready_o      (slot_ready),
    .ring_i       ('0),
    .data_i       (slot.data),
    .index_i      (slot.index),
    .last_i       (slot.last),
    .abort_i      (slot.aborted),
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

  // ---- what the host sees
  localparam int unsigned CalmBits = 6;
  logic [63:0] datagrams_q, bytes_q, dropped_q, records_q, withdrawn_q, decoded_q, instructions_q;
  logic [CalmBits:0] calm_q;  // cycles in which nothing was on its way
  logic calm;
  assign calm = input_idle && writer_idle && datagrams_q == decoded_q;

  always_ff @(posedge ap_clk) begin
    if (!rst_n_q) begin
      datagrams_q    <= '0;
      bytes_q        <= '0;
      dropped_q      <= '0;
      records_q      <= '0;
      withdrawn_q    <= '0;
      decoded_q      <= '0;
      instructions_q <= '0;
      calm_q         <= '0;
    end else begin
      datagrams_q    <= datagrams_q + 64'(taken);
      bytes_q        <= bytes_q + (taken ? 64'(length) : 64'd0);
      dropped_q      <= dropped_q + 64'(dropped);
      records_q      <= records_q + 64'(slot_valid && slot_ready && slot.last && !slot.aborted);
      withdrawn_q    <= withdrawn_q + 64'(slot_valid && slot_ready && slot.aborted);
      decoded_q      <= decoded_q + 64'(done);
      instructions_q <= instructions_q + 64'(issued);
      // A record may leave the core some cycles after its datagram is done.
      calm_q         <= !calm ? '0 : calm_q[CalmBits] ? calm_q : calm_q + 1'b1;
    end
  end
  assign shown.capabilities      = Capabilities;
  assign shown.clock_now         = now;
  assign shown.status            = calm && calm_q[CalmBits];
  assign shown.datagrams         = datagrams_q;
  assign shown.datagram_bytes    = bytes_q;
  assign shown.datagrams_dropped = dropped_q;
  assign shown.records           = records_q;
  assign shown.records_withdrawn = withdrawn_q;
  assign shown.datagrams_decoded = decoded_q;
  assign shown.instructions      = instructions_q;

  always_comb begin
    raised.errors = '0;
    raised.errors[ErrorsWriteErrorBit]  = write_error;
    raised.errors[ErrorsRingRefusedBit] = |refused;
    raised.errors[ErrorsRingBrokenBit]  = |broken;
    raised.errors[ErrorsOversizedBit]   = oversized;
  end
endmodule
