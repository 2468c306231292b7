/// The receiving half of a link port: lets packets through that are whole, right and the next in their order. Of others the
/// expected one is asked for once, until it has come or something else is wrong.
module stopbit_link_receiver
  import stopbit_link_pkg::*;
#(
  parameter int unsigned BufferCells = 128  // for a packet whose CRC has not come, and for those that are not taken yet
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  cell_t       link_i,
  input  logic        up_i,       // packets count
  input  logic        restart_i,  // the other side has forgotten everything: a control cell says so

  output logic        valid_o,
  input  logic        ready_i,
  output cell_t       cell_o,

  // What the other side says; the outputs belong together.
  output logic        control_o,
  output control_t    control_data_o,
  output logic        report_o,     // from a control cell or from a packet's end
  output report_t     report_data_o,
  output logic        is_lost_o,

  output sequence_t   expected_o,
  output logic        ask_again_o,

  output logic        taken_o,      // a packet has come, if it has room
  output channel_t    taken_channel_o,
  output logic [2:0]  taken_slots_o,
  input  logic        has_room_i,

  output logic        damaged_o     // a cell or packet with a wrong CRC, or cells that are none
);
  localparam int unsigned CountWidth = $clog2(BufferCells) + 1;
  localparam int unsigned MaxCells   = MaxPayload + 2;

  // First stage: CRC.
  cell_t       first_q, second_q;
  logic [31:0] crc_q, part, last;
  logic        closes, closes_q, is_right, right_q;
  stopbit_link_crc crc (
    .crc_i  (crc_q),
    .first_i(first_q.kind == CELL_START || first_q.kind == CELL_CONTROL),
    .cell_i (first_q),
    .part_o (part),
    .end_o  (last)
  );
  assign closes   = first_q.kind == CELL_END || first_q.kind == CELL_CONTROL;
  assign is_right = last == first_q.data[31:0];

  always_ff @(posedge clk_i) begin
    first_q  <= link_i;
    second_q <= first_q;
    if (first_q.kind == CELL_START || first_q.kind == CELL_PAYLOAD) crc_q <= part;
  end

  // Second stage: what the cell means. The next one is looked at, too: a packet that begins ends one that is open.
  logic       valid_q, next_q, open_q, next_starts;
  logic [5:0] cells_q;
  logic [2:0] slots_q;
  channel_t   channel_q;
  sequence_t  expected_q;
  logic       asked_q, is_cell, ends, is_good, is_next, is_early, fits, write, fifo_ready;
  end_t       ending;

  assign ending      = end_t'(second_q.data);
  assign is_cell     = valid_q && up_i && (second_q.kind == CELL_START || (open_q && second_q.kind != CELL_CONTROL));
  assign ends        = is_cell && second_q.kind == CELL_END;
  assign fits        = fifo_ready && (second_q.kind == CELL_START || cells_q < 6'(MaxCells));
  assign is_next     = ending.number == expected_q;
  assign is_early    = sequence_t'(ending.number - expected_q) <= sequence_t'(Window);
  assign is_good     = ends && right_q && fits;
  assign next_starts = next_q && first_q.kind == CELL_START;
  assign write       = is_cell && fits;

  logic commits, reverts;
  assign commits = is_good && is_next && has_room_i;
  assign reverts = !commits && (ends || next_starts || !up_i || (is_cell && !fits));

  stopbit_spec_fifo #(.Width($bits(cell_t)), .Depth(BufferCells)) buffer (
    .clk_i,
    .rst_ni,
    .valid_i             (write),
    .ready_o             (fifo_ready),
    .data_i              (second_q),
    .write_commit_i      (commits),
    .write_commit_count_i('1),
    .write_revert_i      (reverts),
    .write_revert_count_i('1),
    .valid_o,
    .ready_i,
    .data_o              (cell_o),
    .read_commit_i       (valid_o && ready_i),
    .read_commit_count_i (CountWidth'(1)),
    .read_revert_i       (1'b0),
    .read_revert_count_i ('0)
  );

  logic is_control;
  assign is_control      = valid_q && second_q.kind == CELL_CONTROL && right_q;
  assign control_data_o  = control_t'(second_q.data);
  assign control_o       = is_control && control_data_o.version == Version;
  assign report_o        = up_i && ((control_o && control_data_o.kind == CONTROL_REPORT) || (ends && right_q));
  assign report_data_o   = second_q.kind == CELL_CONTROL ? control_data_o.report : ending.report;
  assign is_lost_o       = second_q.kind == CELL_CONTROL && control_data_o.is_lost;
  assign expected_o      = expected_q;
  assign taken_o         = commits;
  assign taken_channel_o = channel_q;
  assign taken_slots_o   = slots_q;
  assign damaged_o       = valid_q && up_i && ((closes_q && !right_q) || (!open_q && (second_q.kind == CELL_PAYLOAD || second_q.kind == CELL_END)) || (is_cell && !fits));

  // The packet that is expected did not come as it should have.
  logic is_missing;
  assign is_missing  = valid_q && up_i && !commits && (second_q.kind == CELL_END ? !right_q || !open_q || !fits || is_early : is_cell && !fits);
  assign ask_again_o = is_missing && !asked_q;

  always_ff @(posedge clk_i) begin
    right_q  <= is_right;
    closes_q <= closes;
    if (!rst_ni) begin
      next_q       <= 1'b0;
      valid_q      <= 1'b0;
      open_q       <= 1'b0;
      cells_q      <= '0;
      slots_q      <= '0;
      channel_q    <= '0;
      expected_q   <= '0;
      asked_q      <= 1'b0;
    end else begin
      next_q  <= 1'b1;
      valid_q <= next_q;
      if (is_cell) begin
        open_q  <= second_q.kind != CELL_END && fits;
        cells_q <= second_q.kind == CELL_END || !fits ? '0 : cells_q + 1'b1;
        unique case (second_q.kind)
          CELL_START: begin
            channel_q    <= channel_of(start_t'(second_q.data));
            cells_q      <= 6'd1;
            slots_q      <= 3'd1;
          end
          CELL_PAYLOAD: slots_q <= slots_q + 3'(begins_slot(cells_q));
          default: ;
        endcase
      end
      if (commits) begin
        expected_q <= expected_q + 1'b1;
        asked_q    <= 1'b0;
      end else if (ask_again_o) begin
        asked_q    <= 1'b1;
      end
      if (!up_i) begin
        open_q  <= 1'b0;
        asked_q <= 1'b0;
      end
      if (restart_i) begin
        open_q     <= 1'b0;
        asked_q    <= 1'b0;
        expected_q <= '0;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      commits_are_whole : assert (!commits || (cells_q >= 6'd1 && cells_q < 6'(MaxCells)));
    end
  end
`endif
endmodule
