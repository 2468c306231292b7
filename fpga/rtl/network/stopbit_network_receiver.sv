/// The receiving half of a network port: cells of the network become packets for a unit.
///
/// A store of slots that is shared by the channels, each of which has a reserve: what is not read holds up its own channel
/// only. A neighbour that sends without credits takes nothing of what others may use.
module stopbit_network_receiver
  import stopbit_link_pkg::*, stopbit_network_pkg::*;
#(
  parameter  int unsigned Room      = 128,  // slots that the neighbour may use
  parameter  int unsigned Reserve   = 4,    // of these, for each channel
  localparam int unsigned SlotWidth = $clog2(Room)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                cut_through_i,  // packets leave as they come; else when they are complete and right
  input  logic [31:0]         patience_i,

  input  logic                valid_i,
  input  cell_t               cell_i,
  output logic                freed_o,
  output channel_t            freed_channel_o,

  input  logic [Channels-1:0] accepts_i,
  output logic                valid_o,
  input  logic                ready_i,
  output word_t               word_o,

  output logic                stray_o,
  output logic                cut_o,
  output logic                overrun_o,
  output logic                malformed_o,
  output logic                dropped_o
);
  localparam int unsigned Slots = 1 << SlotWidth;
  localparam logic [3:0] Dropped = 4'(Channels);

  // Slots: each of them once in order, then those that were freed.
  logic [SlotWidth:0]   fresh_q;
  logic                 is_fresh, again_valid, take, freed;
  logic [SlotWidth-1:0] again, slot, freed_slot;
  assign is_fresh = fresh_q < (SlotWidth + 1)'(Room);
  assign slot     = is_fresh ? fresh_q[SlotWidth-1:0] : again;
  stopbit_fifo #(.Width(SlotWidth), .Depth(Slots)) free_slots (
    .clk_i, .rst_ni, .valid_i(freed), .ready_o(), .data_i(freed_slot), .valid_o(again_valid), .ready_i(take && !is_fresh),
    .double_i(1'b0), .single_o(), .data_o(again), .count_o()
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) fresh_q <= '0;
    else if (take && is_fresh) fresh_q <= fresh_q + 1'b1;
  end

  // What the neighbour has used, as it should count itself.
  logic [Channels-1:0] may_use;
  channel_t            channel, freed_channel;
  stopbit_network_credits #(.Room(Room), .Reserve(Reserve)) room (
    .clk_i, .rst_ni, .may_begin_o(), .may_use_o(may_use), .use_i(take), .use_channel_i(channel), .freed_i(freed),
    .freed_channel_i(freed_channel), .excess_o()
  );
  always_ff @(posedge clk_i) begin
    freed_channel_o <= freed_channel;
    if (!rst_ni) freed_o <= 1'b0;
    else freed_o <= freed;
  end

  // In. Queues have room for all slots; after a reset they need some cycles.
  logic                 begins, chains, stores, closes, bad, is_open, queues_ready, ready_q;
  logic [SlotWidth-1:0] store_slot, first, last;
  logic [2:0]           store_cell;
  logic [3:0]           fill;
  logic [63:0]          data;
  start_t start;
  assign start = start_t'(data);
  stopbit_cell_writer #(.Slots(Slots)) writer (
    .clk_i, .rst_ni, .up_i(1'b1), .patience_i, .valid_i, .cell_i,
    .slot_valid_i((is_fresh || again_valid) && ready_q && may_use[channel]), .slot_i(slot),
    .refuse_i(32'(start.channel) >= VirtualChannels), .take_o(take),
    .begin_o(begins), .chain_o(chains), .store_o(stores), .store_slot_o(store_slot), .store_cell_o(store_cell), .data_o(data),
    .channel_o(channel), .close_o(closes), .bad_o(bad), .open_o(is_open), .first_o(first), .last_o(last), .count_o(), .fill_o(fill),
    .stray_o, .cut_o, .overrun_o, .malformed_o
  );

  // Packets that may be read, by channel, and those that are to be dropped. A change of the setting waits for a packet
  // that begins while none is open: so one packet is queued a cycle.
  logic     cut_through_q, cut_through;
  channel_t open_channel_q;
  assign cut_through = is_open ? cut_through_q : cut_through_i;
  always_ff @(posedge clk_i) begin
    cut_through_q <= cut_through;
    if (begins) open_channel_q <= channel;
    ready_q <= rst_ni && (ready_q || queues_ready);
  end
  logic                 put_q, read, first_valid;
  logic [3:0]           put_queue_q, read_queue;
  logic [15:0]          waiting;
  logic [SlotWidth-1:0] put_slot_q, read_first;
  always_ff @(posedge clk_i) begin
    put_queue_q <= cut_through ? channel : bad ? Dropped : open_channel_q;
    put_slot_q  <= cut_through ? slot : first;
    if (!rst_ni) put_q <= 1'b0;
    else put_q <= cut_through ? begins : closes;
  end
  stopbit_multi_fifo #(.Width(SlotWidth), .AddressWidth(4 + SlotWidth), .QueueWidth(4)) queues (
    .clk_i, .rst_ni, .mask_i((4 + SlotWidth)'(Slots - 1)), .valid_i(put_q), .ready_o(queues_ready), .write_queue_i(put_queue_q),
    .data_i(put_slot_q), .nonempty_o(waiting), .read_i(read), .read_queue_i(read_queue), .valid_o(first_valid),
    .data_o(read_first)
  );

  // The store.
  typedef struct packed {
    channel_t   channel;
    logic       is_bad;
    logic       is_last;
    logic [3:0] fill;
  } meta_t;
  meta_t                metas [0:Slots-1];
  logic [SlotWidth-1:0] nexts [0:Slots-1];
  logic [SlotWidth-1:0] slot_read, cell_slot;
  logic [2:0]           cell_index;
  logic [63:0]          start_data, payload_data;
  meta_t                meta;
  always_ff @(posedge clk_i) begin
    if (chains || closes) metas[last] <= '{channel: open_channel_q, is_bad: bad, is_last: !chains, fill: fill};
    if (chains) nexts[last] <= slot;
  end
  assign meta = metas[slot_read];
  stopbit_ram #(.Width(64), .Depth(Slots)) starts (
    .write_clk_i(clk_i), .write_i(begins), .write_address_i(slot), .write_data_i(data),
    .read_clk_i(clk_i), .read_address_i(cell_slot), .read_data_o(start_data)
  );
  stopbit_ram #(.Width(64), .Depth(Slots * SlotCells)) payloads (
    .write_clk_i(clk_i), .write_i(stores), .write_address_i({store_slot, store_cell}), .write_data_i(data),
    .read_clk_i(clk_i), .read_address_i({cell_slot, cell_index}), .read_data_o(payload_data)
  );

  // Out.
  stopbit_network_reader #(.Slots(Slots)) reader (
    .clk_i, .rst_ni, .accepts_i, .waiting_i(waiting[Channels:0]), .read_o(read), .queue_o(read_queue),
    .first_valid_i(first_valid), .first_i(read_first),
    .open_i(is_open), .open_slot_i(last), .open_fill_i(fill),
    .slot_o(slot_read), .next_i(nexts[slot_read]), .fill_i(meta.fill), .last_i(meta.is_last), .bad_i(meta.is_bad),
    .channel_i(meta.channel), .read_slot_o(cell_slot), .read_cell_o(cell_index), .start_i(start_data), .payload_i(payload_data),
    .freed_o(freed), .freed_slot_o(freed_slot), .freed_channel_o(freed_channel), .dropped_o,
    .valid_o, .ready_i, .word_o
  );

`ifndef SYNTHESIS
  // Every slot is free, or in a packet.
  logic [SlotWidth:0] used_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
    end else begin
      used_q <= used_q + (SlotWidth + 1)'(take) - (SlotWidth + 1)'(freed);
      never_more_than_all  : assert (used_q <= (SlotWidth + 1)'(Room));
      frees_what_was_taken : assert (!freed || used_q != '0);
      queue_has_room       : assert (!put_q || queues_ready);
    end
  end
`endif
endmodule
