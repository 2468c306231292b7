/// Takes cells from the network and puts packets into slots.
///
/// What is stored is well formed, whatever comes: a start, at most 32 cells of payload, an end. A packet that does not end
/// in order (a new start, too many cells, no room, or silence) ends here, marked as damaged. The rest of it is left out.
module stopbit_network_writer
  import stopbit_link_pkg::*, stopbit_network_pkg::*;
#(
  parameter  int unsigned Slots     = 128,
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [31:0]          patience_i,    // cycles without a cell in a packet; 0: any number

  input  logic                 valid_i,
  input  cell_t                cell_i,

  // The next free slot.
  input  logic                 slot_valid_i,
  input  logic [SlotWidth-1:0] slot_i,
  input  logic [Channels-1:0]  may_use_i,
  output logic                 take_o,        // it is taken, for channel_o

  output logic                 begin_o,       // a packet begins in it
  output logic                 chain_o,       // ... or goes on there, after last_o
  output logic                 store_o,       // a cell of payload, to cell store_cell_o of store_slot_o
  output logic [SlotWidth-1:0] store_slot_o,
  output logic [2:0]           store_cell_o,
  output logic [63:0]          data_o,        // of this cell, and of a start
  output channel_t             channel_o,     // of the packet that begins, else of the open one
  output logic                 close_o,       // the open packet is complete
  output logic                 bad_o,         // ... and damaged

  // The open packet.
  output logic                 open_o,
  output logic [SlotWidth-1:0] first_o,
  output logic [SlotWidth-1:0] last_o,        // slot so far
  output logic [3:0]           fill_o,        // cells in it

  output logic                 stray_o,
  output logic                 cut_o,
  output logic                 overrun_o,
  output logic                 malformed_o
);
  logic        valid_q, skip_q, late_q;
  cell_t       cell_q;
  channel_t    start_channel_q, channel_q;
  logic [5:0]  count_q;
  logic [31:0] silent_q;

  start_t   start;
  logic     is_start, is_payload, is_end, exists, has_slot, too_long, needs_slot, no_slot, breaks;
  assign start         = start_t'(cell_q.data);
  assign is_start      = valid_q && cell_q.kind == CELL_START;
  assign is_payload    = valid_q && cell_q.kind == CELL_PAYLOAD;
  assign is_end        = valid_q && cell_q.kind == CELL_END;
  assign exists        = start.channel != 2'd3;
  assign channel_o     = is_start ? start_channel_q : channel_q;
  assign has_slot      = slot_valid_i && may_use_i[channel_o];

  assign too_long     = is_payload && open_o && count_q == 6'(MaxPayload);
  assign needs_slot   = is_payload && open_o && !too_long && fill_o == 4'(SlotCells);
  assign no_slot      = needs_slot && !has_slot;
  assign breaks       = open_o && (is_start || too_long || no_slot || (late_q && !valid_q));
  assign store_o      = is_payload && open_o && !too_long && !no_slot;
  assign store_slot_o = needs_slot ? slot_i : last_o;
  assign store_cell_o = needs_slot ? 3'd0 : fill_o[2:0];
  assign data_o       = cell_q.data;
  assign begin_o      = is_start && exists && has_slot;
  assign chain_o      = needs_slot && has_slot;
  assign take_o       = begin_o || chain_o;
  assign close_o      = open_o && (is_end || breaks);
  assign bad_o        = breaks || cell_q.data[63];

  assign stray_o     = (is_payload || is_end) && !open_o && !skip_q;
  assign cut_o       = breaks;
  assign overrun_o   = no_slot || (is_start && exists && !has_slot);
  assign malformed_o = is_start && !exists;

  always_ff @(posedge clk_i) begin
    cell_q          <= cell_i;
    start_channel_q <= channel_of(start_t'(cell_i.data));
    if (begin_o) begin
      first_o   <= slot_i;
      channel_q <= start_channel_q;
    end
    if (take_o) last_o <= slot_i;
    if (begin_o) count_q <= '0;
    else if (store_o) count_q <= count_q + 1'b1;
    if (begin_o) fill_o <= '0;
    else if (chain_o) fill_o <= 4'd1;
    else if (store_o) fill_o <= fill_o + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q  <= 1'b0;
      open_o   <= 1'b0;
      skip_q   <= 1'b0;
      late_q   <= 1'b0;
      silent_q <= '0;
    end else begin
      valid_q <= valid_i && cell_i.kind != CELL_CONTROL;
      if (begin_o) open_o <= 1'b1;
      else if (close_o) open_o <= 1'b0;

      if (is_start) skip_q <= !begin_o;
      else if (is_end) skip_q <= 1'b0;
      else if (breaks) skip_q <= 1'b1;

      silent_q <= !open_o || valid_q ? '0 : silent_q + 1'b1;
      late_q   <= open_o && !valid_q && !close_o && patience_i != '0 && silent_q >= patience_i;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      never_too_long : assert (!open_o || (count_q <= 6'(MaxPayload) && fill_o <= 4'(SlotCells)));
    end
  end
`endif
endmodule
