/// The sending half of a link port: packets go out with a number and a CRC, and stay in a buffer until the other side has
/// them. What it asks for again is sent again from there, and everything after it (go back N).
///
/// Control cells may come between any two cells. A new start in the middle of a packet replaces that packet.
module stopbit_link_sender
  import stopbit_link_pkg::*;
#(
  parameter int unsigned BufferCells = 512,   // of packets that have no answer yet
  parameter int unsigned Timeout     = 1024,  // cycles without an answer, then all is sent again
  parameter int unsigned Retries     = 1023   // so often in a row, then the link begins anew
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        valid_i,
  output logic        ready_o,
  input  cell_t       cell_i,
  input  logic        may_send_i,  // the channel of the first cell
  output logic        use_o,       // a slot of use_channel_o
  output channel_t    use_channel_o,

  // The link.
  input  logic        up_i,
  input  logic        restart_i,   // the other side has forgotten everything
  input  logic        resume_i,    // it expects `expected_i`: what follows is sent again
  input  logic        fresh_i,     // for TRAIN
  input  logic        seen_i,
  output logic        gave_up_o,

  // What the other side says.
  input  logic        report_i,
  input  sequence_t   expected_i,
  input  logic        is_lost_i,

  // What is to be said to it.
  input  sequence_t   here_i,      // the number expected here
  input  logic        ask_again_i, // a pulse
  input  channel_t    granted_channel_i,
  input  slots_t      granted_slots_i,
  output logic        told_o,      // the grant

  output cell_t       link_o,

  output logic        sent_o,      // a packet has left for the first time
  output logic        resent_o,    // ... again
  output logic        dropped_o,   // a packet is lost with the other side's memory
  output logic        answered_o   // a packet has arrived
);
  localparam int unsigned CountWidth   = $clog2(BufferCells) + 1;
  localparam int unsigned TimerWidth   = $clog2(Timeout + 1);
  localparam int unsigned RetriesWidth = $clog2(Retries + 1);
  localparam int unsigned MaxCells     = MaxPayload + 2;

  // Into the buffer. After a restart the rest of a packet that has come in part is taken and forgotten.
  logic       in_packet_q, swallow_q, put, fifo_ready, is_first, is_last;
  logic [5:0] in_cells_q;
  channel_t   in_channel_q;
  assign is_first = cell_i.kind == CELL_START;
  assign is_last  = cell_i.kind == CELL_END;
  assign ready_o  = swallow_q || (fifo_ready && (!is_first || may_send_i));
  assign put      = valid_i && ready_o && !swallow_q && !restart_i;

  assign use_o         = put && (is_first || (cell_i.kind == CELL_PAYLOAD && begins_slot(in_cells_q)));
  assign use_channel_o = is_first ? channel_of(start_t'(cell_i.data)) : in_channel_q;

  logic [CountWidth-1:0] waiting_q;  // packets in the buffer whose last cell has come
  logic [CountWidth-1:0] to_drop_q;
  logic                  retires;

  // The buffer.
  logic                  fifo_valid, take, rewind;
  cell_t                 fifo_cell;
  logic [CountWidth-1:0] retired_cells;
  stopbit_spec_fifo #(.Width($bits(cell_t)), .Depth(BufferCells)) buffer (
    .clk_i,
    .rst_ni              (rst_ni && !restart_i),
    .valid_i             (put),
    .ready_o             (fifo_ready),
    .data_i              (cell_i),
    .write_commit_i      (put),
    .write_commit_count_i(CountWidth'(1)),
    .write_revert_i      (1'b0),
    .write_revert_count_i('0),
    .valid_o             (fifo_valid),
    .ready_i             (take),
    .data_o              (fifo_cell),
    .read_commit_i       (retires),
    .read_commit_count_i (retired_cells),
    .read_revert_i       (rewind),
    .read_revert_count_i ('1)
  );

  // Numbers: the oldest packet without an answer, the next one to be sent in this pass, and the next one that was never
  // sent. What the other side expects is between the first and the last of them.
  sequence_t  oldest_q, next_q, newest_q, answered_q;
  logic [5:0] cells_q;  // of the packet that is being sent, so far
  logic [5:0] lengths [0:127];
  logic       is_valid_answer, is_full, wants_rewind_q;
  logic [TimerWidth-1:0]   timer_q;
  logic [RetriesWidth-1:0] retries_q;
  logic                    asks_q;

  assign is_valid_answer = sequence_t'(expected_i - answered_q) <= sequence_t'(newest_q - answered_q);
  assign retires         = oldest_q != answered_q && oldest_q != next_q && !rewind && !restart_i;
  assign retired_cells   = CountWidth'(lengths[oldest_q]);
  assign answered_o      = retires;
  assign is_full         = sequence_t'(next_q - oldest_q) >= sequence_t'(Window);  // not in the middle of a packet

  logic sends_packet, is_end;
  // What has an answer is out of the way first.
  assign rewind       = wants_rewind_q && !restart_i && up_i && (oldest_q == answered_q || oldest_q == next_q);
  assign sends_packet = up_i && fifo_valid && !asks_q && !wants_rewind_q && !is_full;
  assign take         = sends_packet;
  assign is_end       = fifo_cell.kind == CELL_END;

  // First stage: the cell without its CRC.
  cell_t    cell_d, cell_q;
  control_t control;
  end_t     ending;
  report_t  report;
  assign report = '{expected: here_i, channel: granted_channel_i, granted: granted_slots_i};
  always_comb begin
    control          = '0;
    control.report   = report;
    control.kind     = up_i ? CONTROL_REPORT : CONTROL_TRAIN;
    control.is_lost  = up_i && asks_q;
    control.is_fresh = !up_i && fresh_i;
    control.is_seen  = !up_i && seen_i;
    control.version  = Version;
    ending           = end_t'(fifo_cell.data);
    ending.number    = next_q;
    ending.report    = report;
    ending.unused    = 1'b0;
    ending.crc       = '0;
    cell_d           = sends_packet ? fifo_cell : cell_t'{kind: CELL_CONTROL, data: control};
    if (sends_packet && is_end) cell_d.data = ending;
  end
  assign told_o = up_i && (!sends_packet || is_end);

  // Second stage: with it.
  logic [31:0] crc_q, part, last;
  stopbit_link_crc crc (
    .crc_i  (crc_q),
    .first_i(cell_q.kind == CELL_START || cell_q.kind == CELL_CONTROL),
    .cell_i (cell_q),
    .part_o (part),
    .end_o  (last)
  );

  assign sent_o    = sends_packet && is_end && next_q == newest_q;
  assign resent_o  = sends_packet && is_end && next_q != newest_q;
  assign gave_up_o = up_i && retries_q == RetriesWidth'(Retries);
  assign dropped_o = to_drop_q != 0;

  always_ff @(posedge clk_i) begin
    cell_q      <= cell_d;
    link_o.kind <= cell_q.kind;
    link_o.data <= cell_q.data;
    if (cell_q.kind == CELL_END || cell_q.kind == CELL_CONTROL) link_o.data[31:0] <= last;
    if (cell_q.kind == CELL_START || cell_q.kind == CELL_PAYLOAD) crc_q <= part;
    if (sends_packet && is_end) lengths[next_q] <= cells_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_packet_q    <= 1'b0;
      in_cells_q     <= '0;
      in_channel_q   <= '0;
      swallow_q      <= 1'b0;
      waiting_q      <= '0;
      to_drop_q      <= '0;
      oldest_q       <= '0;
      next_q         <= '0;
      newest_q       <= '0;
      answered_q     <= '0;
      cells_q        <= '0;
      wants_rewind_q <= 1'b0;
      timer_q        <= '0;
      retries_q      <= '0;
      asks_q         <= 1'b0;
    end else begin
      if (valid_i && ready_o) begin
        in_packet_q <= !is_last;
        in_cells_q  <= is_first ? 6'd1 : in_cells_q + 1'b1;
        if (is_first) in_channel_q <= channel_of(start_t'(cell_i.data));
        if (is_last) swallow_q <= 1'b0;
      end
      waiting_q <= waiting_q + CountWidth'(put && is_last) - CountWidth'(retires);

      if (sends_packet) begin
        cells_q <= is_end ? '0 : cells_q + 1'b1;
        if (is_end) begin
          next_q <= next_q + 1'b1;
          if (next_q == newest_q) newest_q <= newest_q + 1'b1;
        end
      end
      if (retires) oldest_q <= oldest_q + 1'b1;
      if (report_i && is_valid_answer) answered_q <= expected_i;

      if ((report_i && is_lost_i && is_valid_answer) || (up_i && timer_q == TimerWidth'(Timeout)) || resume_i) wants_rewind_q <= 1'b1;
      if (rewind) begin
        wants_rewind_q <= 1'b0;
        next_q         <= oldest_q;
        cells_q        <= '0;
      end

      if (!up_i || oldest_q == newest_q || retires || rewind || timer_q == TimerWidth'(Timeout)) timer_q <= '0;
      else timer_q <= timer_q + 1'b1;
      if (!up_i || retires) retries_q <= '0;
      else if (timer_q == TimerWidth'(Timeout) && retries_q != RetriesWidth'(Retries)) retries_q <= retries_q + 1'b1;

      if (ask_again_i) asks_q <= 1'b1;
      else if (!sends_packet) asks_q <= 1'b0;

      if (to_drop_q != 0) to_drop_q <= to_drop_q - 1'b1;
      if (restart_i) begin
        swallow_q      <= swallow_q || (in_packet_q && !(valid_i && ready_o && is_last)) || (valid_i && ready_o && is_first && !is_last);
        to_drop_q      <= to_drop_q + waiting_q + CountWidth'(in_packet_q || (valid_i && ready_o && is_first));
        waiting_q      <= '0;
        oldest_q       <= '0;
        next_q         <= '0;
        newest_q       <= '0;
        answered_q     <= '0;
        cells_q        <= '0;
        wants_rewind_q <= 1'b0;
        asks_q         <= 1'b0;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && !restart_i) begin
      numbers_in_order  : assert (sequence_t'(next_q - oldest_q) <= sequence_t'(newest_q - oldest_q));
      answers_in_order  : assert (sequence_t'(answered_q - oldest_q) <= sequence_t'(newest_q - oldest_q));
      window_holds      : assert (sequence_t'(newest_q - oldest_q) <= sequence_t'(Window));
      packets_not_long  : assert (cells_q < 6'(MaxCells));
    end
  end
`endif
endmodule
