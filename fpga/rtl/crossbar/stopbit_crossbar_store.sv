/// The packets of a port: payload in slots of 64 bytes, and beside them what belongs to a whole packet, at its first slot
/// (start, length, channel that it came on, copies) or its last one (end). Slots of a packet form a chain.
///
/// A read of a cell takes one cycle; the other reads follow their address in the same cycle.
module stopbit_crossbar_store
  import stopbit_link_pkg::*;
#(
  parameter  int unsigned Slots     = 128,
  parameter  int unsigned Copies    = 16,  // of a packet, more than
  localparam int unsigned SlotWidth = $clog2(Slots),
  localparam int unsigned CopyWidth = $clog2(Copies)
) (
  input  logic                 clk_i,

  // From the writer.
  input  logic                 write_i,
  input  logic [SlotWidth-1:0] write_slot_i,
  input  logic [2:0]           write_cell_i,
  input  logic [63:0]          data_i,
  input  logic                 chain_i,
  input  logic [SlotWidth-1:0] chain_slot_i,
  input  logic [SlotWidth-1:0] chain_next_i,
  input  logic                 begin_i,
  input  logic [SlotWidth-1:0] begin_slot_i,
  input  channel_t             begin_channel_i,
  input  logic                 close_i,
  input  logic [SlotWidth-1:0] close_first_i,
  input  logic [SlotWidth-1:0] close_last_i,
  input  logic [63:0]          close_data_i,
  input  logic [5:0]           close_count_i,

  // From routing: how many copies will leave.
  input  logic                 copies_i,
  input  logic [SlotWidth-1:0] copies_slot_i,
  input  logic [CopyWidth-1:0] copies_count_i,

  // To the reader, by the first slot of a packet that it begins to send.
  input  logic [SlotWidth-1:0] load_slot_i,
  output logic [5:0]           load_count_o,
  output channel_t             load_channel_o,
  output logic [CopyWidth-1:0] load_copies_o,
  output logic [CopyWidth-1:0] load_sent_o,    // copies that have begun to leave before
  input  logic                 sent_i,         // sets that, also after a reset
  input  logic [SlotWidth-1:0] sent_slot_i,
  input  logic [CopyWidth-1:0] sent_count_i,

  // By the slot that it sends.
  input  logic [SlotWidth-1:0] slot_i,
  output logic [SlotWidth-1:0] next_o,
  input  logic [SlotWidth-1:0] read_slot_i,
  input  logic [2:0]           read_cell_i,
  output logic [63:0]          start_o,        // of slot_i, a cycle later
  output logic [63:0]          end_o,          // ... of slot_i
  output logic [63:0]          payload_o       // ... of read_slot_i
);
  stopbit_ram #(.Width(64), .Depth(Slots * SlotCells)) payload (
    .write_clk_i(clk_i), .write_i, .write_address_i({write_slot_i, write_cell_i}), .write_data_i(data_i),
    .read_clk_i (clk_i), .read_address_i({read_slot_i, read_cell_i}), .read_data_o(payload_o)
  );
  stopbit_ram #(.Width(64), .Depth(Slots)) starts (
    .write_clk_i(clk_i), .write_i(begin_i), .write_address_i(begin_slot_i), .write_data_i(data_i),
    .read_clk_i (clk_i), .read_address_i(slot_i), .read_data_o(start_o)
  );
  stopbit_ram #(.Width(64), .Depth(Slots)) ends (
    .write_clk_i(clk_i), .write_i(close_i), .write_address_i(close_last_i), .write_data_i(close_data_i),
    .read_clk_i (clk_i), .read_address_i(slot_i), .read_data_o(end_o)
  );

  logic [SlotWidth-1:0] nexts    [0:Slots-1];
  logic [5:0]           counts   [0:Slots-1];
  channel_t             channels [0:Slots-1];
  logic [CopyWidth-1:0] copies   [0:Slots-1];
  logic [CopyWidth-1:0] sent     [0:Slots-1];
  assign next_o         = nexts[slot_i];
  assign load_count_o   = counts[load_slot_i];
  assign load_channel_o = channels[load_slot_i];
  assign load_copies_o  = copies[load_slot_i];
  assign load_sent_o    = sent[load_slot_i];
  always_ff @(posedge clk_i) begin
    if (chain_i) nexts[chain_slot_i] <= chain_next_i;
    if (close_i) counts[close_first_i] <= close_count_i;
    if (begin_i) channels[begin_slot_i] <= begin_channel_i;
    if (copies_i) copies[copies_slot_i] <= copies_count_i;
    if (sent_i) sent[sent_slot_i] <= sent_count_i;
  end
endmodule
