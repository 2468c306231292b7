/// Sends records to rings: all to ring 0, or each to the rings of every filter that wants it.
///
/// Without filters slots go through as they come, no cycle later. With filters a record waits here until its slot 0 has
/// come, which says whose it is, and then leaves whole, for one ring after the other: a record that is given up
/// (`aborted`) or that no filter wants leaves nothing. `Depth` slots wait; a longer record is dropped (`too_long_o`). While one
/// ring holds up its record, the others get nothing: that is what mode Stall means.
///
/// A filter wants the records of a channel and a template, or of any, whose root block has a word with a value. The word
/// has to be there: its tag is that of the word, so no other block's word is taken for it. Event records are wanted by all
/// filters of their channel, whatever their template and value: each reader learns what it may have missed.
///
/// From slot 0 in to the record's first slot out: 3 cycles, if nothing waits. `filter_i`, `unmatched_i` and `filters_i`
/// change only while idle_o.
module stopbit_record_router
  import stopbit_pkg::*;
  import stopbit_registers_pkg::*;
#(
  parameter  int unsigned NumRings  = 1,
  parameter  int unsigned Depth     = 4096,  // slots; a power of two
  parameter  int unsigned Waiting   = 16,    // records; a power of two
  localparam int unsigned RingWidth = NumRings > 1 ? $clog2(NumRings) : 1,
  localparam int unsigned SlotWidth = $clog2(Depth)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,

  input  logic                           filter_i,
  input  logic                           unmatched_i,  // to ring 0; else nowhere
  input  filter_written_t [Filters-1:0]  filters_i,

  input  logic                           valid_i,
  output logic                           ready_o,
  input  stopbit_slot_t                  slot_i,

  output logic                           valid_o,
  input  logic                           ready_i,
  output logic [RingWidth-1:0]           ring_o,
  output stopbit_slot_t                  slot_o,

  output logic                           idle_o,
  output logic                           is_unmatched_o,  // a record that no filter wants
  output logic                           too_long_o
);
  if (Depth < 16 || (Depth & (Depth - 1)) != 0) begin : g_depth
    $fatal(1, "stopbit_record_router: Depth is %0d, needs a power of two from 16", Depth);
  end

  typedef logic [SlotWidth:0]  place_t;
  typedef logic [NumRings-1:0] rings_t;
  typedef struct packed {
    rings_t             rings;
    logic [SlotWidth:0] slots;
  } record_t;

  // ---- in: slots to memory, and what the filters say
  place_t write_q, begin_q, read_q;  // the next slot; of the record that comes; the oldest that is kept
  logic   dropping_q;                // up to the end of a record that is too long
  logic   take, keep, ends, full, too_long, record_room;
  assign full     = place_t'(write_q - read_q) == place_t'(Depth);
  assign too_long = full && begin_q == read_q;  // it alone fills the memory
  assign ends     = slot_i.last || slot_i.aborted;
  assign take     = valid_i && filter_i && (dropping_q || too_long || (!full && record_room));
  assign keep     = take && !dropping_q && !too_long && !slot_i.aborted;

  logic [Filters-1:0] hits, hits_q, wants;
  for (genvar f = 0; f < Filters; f++) begin : g_filter
    logic [7:0]  word, tag;
    logic [8:0]  place;  // counted from slot 0
    logic [2:0]  column;
    logic [63:0] value;
    logic        is_here, is_event;
    assign word     = filters_i[f].control[FilterControlWordBit +: 8];
    assign place    = 9'(word) + 9'(HeaderWords);
    assign column   = 3'(place % 9'(ValueWords));
    assign is_here  = slot_i.index == 16'(place) / 16'(ValueWords);
    assign value    = slot_i.data[64*column +: 64];
    assign tag      = slot_i.data[448 + 8*column +: 8];
    assign hits[f]  = is_here ? tag == word % MaxValueTag + 8'd1 &&
                                (value & filters_i[f].mask) == filters_i[f].value : hits_q[f];
    assign is_event = slot_i.data[15:0] == EventIndex;
    assign wants[f] = filters_i[f].control[FilterControlEnableBit] &&
                      (filters_i[f].control[FilterControlAnyChannelBit] ||
                       slot_i.data[175:160] == filters_i[f].key[FilterKeyChannelBit +: 16]) &&
                      (is_event || ((filters_i[f].control[FilterControlAnyTemplateBit] ||
                                     slot_i.data[15:0] == filters_i[f].key[FilterKeyTemplateIndexBit +: 16]) &&
                                    (filters_i[f].mask == '0 || hits[f])));
  end

  rings_t  rings;
  record_t record;
  logic    has_record;
  always_comb begin
    rings = '0;
    for (int unsigned f = 0; f < Filters; f++) begin
      if (wants[f]) rings |= rings_t'(filters_i[f].control[FilterControlRingsBit +: 8]);
    end
    if (rings == '0 && unmatched_i) rings = rings_t'(1);
  end
  assign is_unmatched_o = keep && slot_i.last && wants == '0;
  assign too_long_o     = take && too_long && !dropping_q && !slot_i.aborted;
  assign has_record     = keep && slot_i.last && rings != '0;
  assign record         = '{rings: rings, slots: place_t'(write_q - begin_q) + 1'b1};

  always_ff @(posedge clk_i) begin
    if (take) hits_q <= ends ? '0 : hits;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q    <= '0;
      begin_q    <= '0;
      dropping_q <= 1'b0;
    end else if (take) begin
      if (keep) write_q <= write_q + 1'b1;
      if (has_record) begin_q <= write_q + 1'b1;
      else if (ends || too_long) write_q <= begin_q;
      dropping_q <= !ends && (dropping_q || too_long);
    end
  end

  // ---- out: each record to each of its rings
  logic    next_valid, next_take;
  record_t next_record;
  logic [$clog2(Waiting):0] waiting;
  stopbit_fifo #(.Width($bits(record_t)), .Depth(Waiting)) i_records (
    .clk_i,
    .rst_ni,
    .valid_i(has_record),
    .ready_o(record_room),
    .data_i (record),
    .valid_o(next_valid),
    .ready_i(next_take),
    .double_i(1'b0),
    .single_o(),
    .data_o (next_record),
    .count_o(waiting)
  );

  // The slot at `at_q` is in `shown_q`'s data while shown_q; the one after it is read in the cycle in which it leaves.
  logic   open_q, shown_q, leaves, last_slot, last_ring;
  rings_t left_q, left;
  place_t at_q, at_d, slots_q, sent_q;
  logic [RingWidth-1:0] ring;
  logic [529:0]         data;

  always_comb begin
    ring = '0;
    left = left_q;
    for (int unsigned r = NumRings; r > 0; r--) begin
      if (left_q[r-1]) ring = RingWidth'(r - 1);
    end
    left[ring] = 1'b0;
  end
  assign leaves    = shown_q && ready_i && filter_i;
  assign last_slot = sent_q + 1'b1 == slots_q;
  assign last_ring = left == '0;
  assign next_take = next_valid && !open_q;

  always_comb begin
    at_d = at_q;
    if (next_take) at_d = read_q;
    else if (leaves) at_d = !last_slot ? at_q + 1'b1 : read_q;
  end

  stopbit_ram #(.Width(530), .Depth(Depth)) i_slots (
    .write_clk_i    (clk_i),
    .write_i        (keep),
    .write_address_i(write_q[SlotWidth-1:0]),
    .write_data_i   ({slot_i.last, 1'b0, slot_i.index, slot_i.data}),
    .read_clk_i     (clk_i),
    .read_address_i (at_d[SlotWidth-1:0]),
    .read_data_o    (data)
  );

  always_ff @(posedge clk_i) begin
    at_q <= at_d;
    if (next_take) begin
      slots_q <= next_record.slots;
      left_q  <= next_record.rings;
      sent_q  <= '0;
    end else if (leaves) begin
      sent_q <= last_slot ? '0 : sent_q + 1'b1;
      if (last_slot) left_q <= left;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q  <= 1'b0;
      shown_q <= 1'b0;
      read_q  <= '0;
    end else begin
      if (next_take) begin
        open_q  <= 1'b1;
        shown_q <= 1'b1;
      end else if (leaves && last_slot && last_ring) begin
        open_q  <= 1'b0;
        shown_q <= 1'b0;
        read_q  <= read_q + slots_q;
      end
    end
  end

  assign valid_o = filter_i ? shown_q : valid_i;
  assign ready_o = filter_i ? take : ready_i;
  assign ring_o  = filter_i ? ring : '0;
  assign slot_o  = filter_i ? '{data: data[511:0], index: data[527:512], last: data[529], aborted: data[528]} : slot_i;
  assign idle_o  = !valid_i && !open_q && waiting == '0 && write_q == begin_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && filter_i) begin
      assert (place_t'(write_q - read_q) <= place_t'(Depth)) else $error("more slots than there is memory");
      assert (!shown_q || slot_o.last == last_slot) else $error("a record does not end with its last slot");
    end
  end
`endif
endmodule
