/// Takes cells from a port and puts packets into slots.
///
/// What is stored is well formed, whatever comes: a start, at most 32 cells of payload, an end. A packet that does not end
/// in order (a new start, too many cells, no slot, a port that goes down or falls silent) ends here, marked as damaged.
module stopbit_crossbar_writer
  import stopbit_link_pkg::*, stopbit_switch_pkg::*;
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

  // The next free slot.
  input  logic                 slot_valid_i,
  input  logic [SlotWidth-1:0] slot_i,
  output logic                 slot_take_o,

  output logic                 write_o,       // a cell of payload
  output logic [SlotWidth-1:0] write_slot_o,
  output logic [2:0]           write_cell_o,
  output logic [63:0]          data_o,        // of this cell, and of a start
  output logic                 chain_o,       // slot_i comes after chain_slot_o
  output logic [SlotWidth-1:0] chain_slot_o,
  output logic                 begin_o,       // a packet begins in slot_i
  output logic                 close_o,       // the open packet is complete
  output logic [63:0]          close_data_o,  // its end

  // The open packet.
  output logic                 open_o,
  output logic [SlotWidth-1:0] first_o,
  output logic [SlotWidth-1:0] last_o,        // slot so far
  output logic [5:0]           count_o,       // cells of payload so far

  output logic                 stray_o,
  output logic                 cut_o,
  output logic                 overrun_o
);
  logic  up_q, valid_q, skip_q, late_q;
  cell_t cell_q;
  logic [31:0] silent_q;

  logic is_start, is_payload, is_end, too_long, needs_slot, no_slot, stores, breaks;
  assign is_start   = valid_q && cell_q.kind == CELL_START;
  assign is_payload = valid_q && cell_q.kind == CELL_PAYLOAD;
  assign is_end     = valid_q && cell_q.kind == CELL_END;

  assign too_long   = is_payload && open_o && count_o == 6'(MaxPayload);
  assign needs_slot = is_payload && open_o && !too_long && count_o[2:0] == 3'd0 && count_o != '0;
  assign no_slot    = needs_slot && !slot_valid_i;
  assign stores     = is_payload && open_o && !too_long && !no_slot;
  assign breaks     = open_o && (is_start || too_long || no_slot || late_q || !up_q) && !is_end;

  assign write_o      = stores;
  assign write_slot_o = needs_slot ? slot_i : last_o;
  assign write_cell_o = count_o[2:0];
  assign data_o       = cell_q.data;
  assign chain_o      = needs_slot && slot_valid_i;
  assign chain_slot_o = last_o;
  assign begin_o      = is_start && slot_valid_i;
  assign slot_take_o  = begin_o || chain_o;
  assign close_o      = open_o && (is_end || breaks);
  assign close_data_o = breaks ? {1'b1, 63'd0} : cell_q.data;

  assign stray_o   = valid_q && !is_start && !open_o && !skip_q;
  assign cut_o     = breaks;
  assign overrun_o = (is_start && !slot_valid_i) || no_slot;

  always_ff @(posedge clk_i) begin
    cell_q <= cell_i;
    if (begin_o) first_o <= slot_i;
    if (slot_take_o) last_o <= slot_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      up_q     <= 1'b0;
      valid_q  <= 1'b0;
      open_o   <= 1'b0;
      skip_q   <= 1'b0;
      late_q   <= 1'b0;
      silent_q <= '0;
      count_o  <= '0;
    end else begin
      up_q    <= up_i;
      valid_q <= valid_i && up_i;
      if (begin_o) count_o <= '0;
      else if (stores) count_o <= count_o + 1'b1;

      if (begin_o) open_o <= 1'b1;
      else if (close_o) open_o <= 1'b0;

      // The rest of a packet that was cut or not taken is left out with it, up to its end or the next start.
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
      never_too_long : assert (!open_o || count_o <= 6'(MaxPayload));
    end
  end
`endif
endmodule
