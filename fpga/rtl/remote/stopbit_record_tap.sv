/// Keeps what the decoder publishes until it was sent, and numbers it as the published ring does.
///
/// It listens to the stream of records and never stops it. A record that finds no room is not kept, and shows as a gap
/// in the numbers of those after it. One whose slots do not come in order, that is longer than the ring's longest or has
/// another count than its slot 0 says is not published, as the ring writer does not.
///
/// `wants_o` goes with `record_o`: a bit for each subscriber one of whose filters wants the record; events are for all.
module stopbit_record_tap
  import stopbit_pkg::*;
  import stopbit_registers_pkg::*;
  import stopbit_remote_pkg::*;
#(
  parameter  int unsigned Subscribers  = 8,
  parameter  int unsigned Depth        = 512,  // slots, a power of two
  parameter  int unsigned Records      = 64,   // a power of two
  localparam int unsigned AddressWidth = $clog2(Depth)
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,

  input  filter_written_t [Filters-1:0] filters_i,
  input  logic                          start_i,       // a ring begins, of these sizes, which stay
  input  logic [4:0]                    slots_log2_i,
  input  logic [15:0]                   max_slots_i,   // of a record

  input  logic                          valid_i,       // it was taken by all that it is for
  input  stopbit_slot_t                 slot_i,

  output logic                          valid_o,
  input  logic                          take_i,        // and its slots are free
  output tapped_t                       record_o,
  output logic [Subscribers-1:0]        wants_o,
  output position_t                     position_o,    // after all that was published,
  output logic                          is_empty_o,    // and nothing of it waits

  input  logic [AddressWidth-1:0]       read_i,
  output logic [511:0]                  data_o,        // a cycle later

  output logic                          malformed_o,   // a record was not published
  output logic                          overrun_o      // one was not kept
);
  localparam int unsigned RecordWidth = $bits(tapped_t) + Subscribers;

  // ---- slots of the record that comes
  logic [AddressWidth:0]   base_q, free_q, used;
  logic [15:0]             count_q;  // of its slots that came, slot 0 counted from the beginning
  logic                    over_q, bad_q, is_bad, no_room, ends, published;
  logic [AddressWidth-1:0] write;
  assign used    = base_q - free_q;
  assign no_room = 32'(used) + 32'(slot_i.index) >= Depth;
  assign is_bad  = slot_i.last ? slot_i.index != '0 || slot_i.data[31:16] != count_q
                               : slot_i.index != count_q || count_q == max_slots_i;
  assign ends      = slot_i.last || slot_i.aborted;
  assign published = valid_i && slot_i.last && !slot_i.aborted && !bad_q && !is_bad;
  assign write   = base_q[AddressWidth-1:0] + slot_i.index[AddressWidth-1:0];

  stopbit_ram #(.Width(512), .Depth(Depth)) i_slots (
    .write_clk_i(clk_i), .write_i(valid_i && !slot_i.aborted && !no_room), .write_address_i(write),
    .write_data_i(slot_i.data), .read_clk_i(clk_i), .read_address_i(read_i), .read_data_o(data_o)
  );

  // ---- whose it is: a cycle after its last slot
  logic [Filters-1:0]     filters;
  logic [Subscribers-1:0] wants;
  logic                   whole_q, is_event_q, fits_q;
  logic [15:0]            slots_q;
  stopbit_record_filter i_filter (.clk_i, .rst_ni, .filters_i, .take_i(valid_i), .slot_i, .wants_o(filters));
  always_comb begin
    wants = '0;
    for (int unsigned f = 0; f < Filters; f++) begin
      if (filters[f]) wants |= Subscribers'(filters_i[f].control[FilterControlRingsBit +: 8]);
    end
    if (is_event_q) wants = '1;
  end

  // ---- its place in the ring
  position_t   position_q, at, after;
  logic [28:0] ring_slots, rest;
  logic        ends_short;
  assign ring_slots = 29'd1 << slots_log2_i;
  assign rest       = ring_slots - (position_q.number[28:0] & (ring_slots - 29'd1));
  assign ends_short = rest < 29'(max_slots_i);
  assign at         = '{records: position_q.records, number: position_q.number + (ends_short ? 64'(rest) : '0)};
  assign after      = '{records: position_q.records + 64'd1, number: at.number + 64'(slots_q)};
  assign position_o = position_q;

  // ---- records that wait. One that left frees its slots and all before them: those of a record that was not kept, too.
  logic                     put, ready;
  logic [$clog2(Records):0] count;
  tapped_t                  record;
  logic [AddressWidth:0]    begun_q;
  assign put    = whole_q && ready && fits_q;
  assign record = '{at: at, slots: slots_q, phase: at.number[6'(slots_log2_i)], store: 16'(begun_q)};

  stopbit_fifo #(.Width(RecordWidth), .Depth(Records)) i_records (
    .clk_i, .rst_ni, .valid_i(put), .ready_o(ready), .data_i({record, wants}), .valid_o, .ready_i(take_i),
    .double_i(1'b0), .single_o(), .data_o({record_o, wants_o}), .count_o(count)
  );
  assign is_empty_o = count == '0 && !whole_q;
  assign overrun_o  = whole_q && !put;

  always_ff @(posedge clk_i) begin
    slots_q    <= count_q;
    begun_q    <= base_q;
    is_event_q <= slot_i.data[15:0] == EventIndex;
    fits_q     <= !over_q && !no_room;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q     <= 16'd1;
      over_q      <= 1'b0;
      bad_q       <= 1'b0;
      whole_q     <= 1'b0;
      malformed_o <= 1'b0;
      base_q      <= '0;
      free_q      <= '0;
      position_q  <= '0;
    end else begin
      whole_q     <= published;
      malformed_o <= valid_i && slot_i.last && !slot_i.aborted && (bad_q || is_bad);
      if (valid_i) begin
        count_q <= ends ? 16'd1 : count_q + 16'd1;
        over_q  <= !ends && (over_q || no_room);
        bad_q   <= !ends && (bad_q || is_bad);
      end
      if (published && !over_q && !no_room) base_q <= base_q + (AddressWidth + 1)'(count_q);
      if (is_empty_o) free_q <= base_q;
      else if (take_i) free_q <= record_o.store[AddressWidth:0] + (AddressWidth + 1)'(record_o.slots);
      if (whole_q) position_q <= after;
      if (start_i) position_q <= first_position(slots_log2_i);
    end
  end
endmodule
