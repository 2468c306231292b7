/// Takes cells from a port of the network and puts packets into slots: of a switch's input, and of a unit's port.
///
/// What is stored is well formed, whatever comes: a start, at most 32 cells of payload, an end. A packet that does not end
/// in order (a new start, too many cells, no slot, a port that goes down or falls silent) ends here, marked as damaged. The
/// rest of it is left out.
module stopbit_cell_writer
  import stopbit_link_pkg::*;
#(
  parameter  int unsigned Slots     = 128,
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 up_i,
  input  logic [31:0]          patience_i,    // cycles without a cell in a packet; 0: any number
  input  logic                 valid_i,
  input  cell_t                cell_i,

  // The next free slot, if channel_o may use it; and whether a start must not begin a packet.
  input  logic                 slot_valid_i,
  input  logic [SlotWidth-1:0] slot_i,
  input  logic                 refuse_i,
  output logic                 take_o,        // the slot is taken

  output logic                 begin_o,       // a packet begins in it
  output logic                 chain_o,       // ... or goes on there, after last_o
  output logic                 store_o,       // a cell of payload, to cell store_cell_o of store_slot_o
  output logic [SlotWidth-1:0] store_slot_o,
  output logic [2:0]           store_cell_o,
  output logic [63:0]          data_o,        // of this cell: start, payload or end
  output channel_t             channel_o,     // of the packet that begins, else of the open one
  output logic                 close_o,       // the open packet is complete
  output logic                 bad_o,         // ... and damaged

  // The open packet.
  output logic                 open_o,
  output logic [SlotWidth-1:0] first_o,
  output logic [SlotWidth-1:0] last_o,        // slot so far
  output logic [5:0]           count_o,       // cells of payload so far
  output logic [3:0]           fill_o,        // ... in the last slot

  output logic                 stray_o,
  output logic                 cut_o,
  output logic                 overrun_o,
  output logic                 malformed_o
);
  logic        up_q, valid_q, skip_q, late_q;
  cell_t       cell_q;
  channel_t    start_channel_q, channel_q;
  logic [31:0] silent_q;

  // Control cells are a link's own: here they are in no packet, and break no silence.
  logic is_start, is_payload, is_end, is_any, too_long, needs_slot, no_slot, breaks;
  assign is_start   = valid_q && cell_q.kind == CELL_START;
  assign is_payload = valid_q && cell_q.kind == CELL_PAYLOAD;
  assign is_end     = valid_q && cell_q.kind == CELL_END;
  assign is_any     = valid_q && cell_q.kind != CELL_CONTROL;
  assign channel_o  = is_start ? start_channel_q : channel_q;

  assign too_long     = is_payload && open_o && count_o == 6'(MaxPayload);
  assign needs_slot   = is_payload && open_o && !too_long && fill_o == 4'(SlotCells);
  assign no_slot      = needs_slot && !slot_valid_i;
  assign breaks       = open_o && !is_end && (is_start || too_long || no_slot || (late_q && !is_any) || !up_q);
  assign store_o      = is_payload && open_o && !too_long && !no_slot;
  assign store_slot_o = needs_slot ? slot_i : last_o;
  assign store_cell_o = needs_slot ? 3'd0 : fill_o[2:0];
  assign data_o       = cell_q.data;
  assign begin_o      = is_start && !refuse_i && slot_valid_i;
  assign chain_o      = needs_slot && slot_valid_i;
  assign take_o       = begin_o || chain_o;
  assign close_o      = is_end ? open_o : breaks;
  assign bad_o        = breaks || cell_q.data[63];

  assign stray_o     = valid_q && (cell_q.kind == CELL_CONTROL || (!is_start && !open_o && !skip_q));
  assign cut_o       = breaks;
  assign overrun_o   = no_slot || (is_start && !refuse_i && !slot_valid_i);
  assign malformed_o = is_start && refuse_i;

  always_ff @(posedge clk_i) begin
    cell_q          <= cell_i;
    start_channel_q <= channel_of(start_t'(cell_i.data));
    if (begin_o) begin
      first_o   <= slot_i;
      channel_q <= start_channel_q;
    end
    if (take_o) last_o <= slot_i;
    if (begin_o) count_o <= '0;
    else if (store_o) count_o <= count_o + 1'b1;
    if (begin_o) fill_o <= '0;
    else if (chain_o) fill_o <= 4'd1;
    else if (store_o) fill_o <= fill_o + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      up_q     <= 1'b0;
      valid_q  <= 1'b0;
      open_o   <= 1'b0;
      skip_q   <= 1'b0;
      late_q   <= 1'b0;
      silent_q <= '0;
    end else begin
      up_q    <= up_i;
      valid_q <= valid_i && up_i;

      if (begin_o) open_o <= 1'b1;
      else if (close_o) open_o <= 1'b0;

      // The rest of a packet that was cut or not taken is left out with it, up to its end or the next start.
      if (is_start) skip_q <= !begin_o;
      else if (is_end) skip_q <= 1'b0;
      else if (breaks) skip_q <= 1'b1;

      silent_q <= !open_o || is_any ? '0 : silent_q + 1'b1;
      late_q   <= open_o && !is_any && !close_o && patience_i != '0 && silent_q >= patience_i;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      never_too_long : assert (!open_o || (count_o <= 6'(MaxPayload) && fill_o <= 4'(SlotCells)));
    end
  end
`endif
endmodule
