/// Reorder buffer: slots are taken in the order of look-ups and flushes, filled by the cache or by memory in any order, and
/// leave in the order in which they were taken.
///
/// A read that memory has not answered within one to two times `Patience` cycles ends as failed. Its slot stays lost until
/// the answer comes: an answer that is late never fills a slot of another look-up. A slot that is `void` leaves nothing.
///
/// What memory answers fills its slot one cycle later (`answer_i` at the port of the unit is registered here).
module stopbit_atu_reorder
  import stopbit_nic_pkg::*;
  import stopbit_translation_pkg::*;
#(
  parameter  int unsigned Slots     = 32,
  parameter  int unsigned Patience  = 4096,
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  output logic                 room_o,
  output logic                 skip_o,  // the next slot is lost, and others are not
  output logic [SlotWidth-1:0] slot_o,
  input  logic                 allocate_i,
  input  logic                 void_i,
  output logic [Slots-1:0]     lost_o,

  input  logic                 put_i,
  input  logic [SlotWidth-1:0] put_slot_i,
  input  atu_request_t         put_request_i,
  input  gat_entry_t           put_entry_i,
  input  logic                 put_reads_i,
  input  logic                 put_failed_i,

  input  logic                 answer_i,
  input  logic [SlotWidth-1:0] answer_slot_i,
  input  gat_entry_t           answer_entry_i,
  input  logic                 answer_error_i,

  output logic                 valid_o,
  output atu_request_t         request_o,
  output gat_entry_t           entry_o,
  output logic                 read_o,    // the entry is from memory
  output logic                 failed_o,  // memory did not answer, or with an error

  output logic                 late_o,
  output logic                 unasked_o
);
  if (Slots < 2 || (Slots & (Slots - 1)) != 0) $fatal(1, "stopbit_atu_reorder: Slots is %0d, needs a power of two", Slots);
  localparam int unsigned TimeWidth = $clog2(Patience);

  logic [SlotWidth:0]   put_q, take_q;
  logic [SlotWidth-1:0] oldest;
  logic [Slots-1:0]     done_q, void_q, waits_q, aged_q, lost_q, read_q, failed_q;
  logic [TimeWidth-1:0] time_q;
  logic                 ticks, goes;
  assign oldest = take_q[SlotWidth-1:0];
  assign slot_o = put_q[SlotWidth-1:0];
  assign room_o = put_q - take_q != (SlotWidth + 1)'(Slots);
  assign skip_o = lost_q[slot_o] && !(&lost_q);
  assign lost_o = lost_q;
  assign ticks  = time_q == TimeWidth'(Patience - 1);
  assign goes   = put_q != take_q && done_q[oldest];

  logic                 answer_q, error_q, fills, is_late;
  logic [SlotWidth-1:0] answer_slot_q;
  gat_entry_t           answer_entry_q;
  assign fills   = answer_q && waits_q[answer_slot_q];
  assign is_late = answer_q && lost_q[answer_slot_q];
  always_ff @(posedge clk_i) begin
    answer_slot_q  <= answer_slot_i;
    answer_entry_q <= answer_entry_i;
    error_q        <= answer_error_i;
  end

  logic [Slots-1:0] answered, expired;
  always_comb begin
    answered = '0;
    if (answer_q) answered[answer_slot_q] = 1'b1;
    expired = ticks ? waits_q & aged_q & ~answered : '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      put_q     <= '0;
      take_q    <= '0;
      time_q    <= '0;
      waits_q   <= '0;
      lost_q    <= '0;
      answer_q  <= 1'b0;
      valid_o   <= 1'b0;
      late_o    <= 1'b0;
      unasked_o <= 1'b0;
    end else begin
      put_q     <= put_q + (SlotWidth + 1)'(allocate_i);
      take_q    <= take_q + (SlotWidth + 1)'(goes);
      time_q    <= ticks ? '0 : time_q + 1'b1;
      answer_q  <= answer_i;
      valid_o   <= goes && !void_q[oldest];
      late_o    <= is_late;
      unasked_o <= answer_q && !fills && !is_late;
      waits_q   <= waits_q & ~expired & ~answered;
      lost_q    <= (lost_q & ~answered) | expired;
      if (put_i) waits_q[put_slot_i] <= put_reads_i;
    end
  end
  always_ff @(posedge clk_i) begin
    done_q <= done_q | expired | (waits_q & answered);
    if (put_i) done_q[put_slot_i] <= !put_reads_i;
    if (allocate_i) done_q[slot_o] <= void_i;
    if (ticks) aged_q <= waits_q;
    for (int unsigned s = 0; s < Slots; s++) begin
      if (expired[s]) failed_q[s] <= 1'b1;
    end
    if (fills) failed_q[answer_slot_q] <= error_q;
    if (put_i) begin
      read_q[put_slot_i]   <= put_reads_i;
      failed_q[put_slot_i] <= put_failed_i;
      aged_q[put_slot_i]   <= 1'b0;
    end
    if (allocate_i) void_q[slot_o] <= void_i;
    read_o   <= read_q[oldest];
    failed_o <= failed_q[oldest];
  end

  gat_entry_t cached, from_memory;
  stopbit_ram #(.Width($bits(atu_request_t)), .Depth(Slots)) i_requests (
    .write_clk_i(clk_i), .write_i(put_i), .write_address_i(put_slot_i), .write_data_i(put_request_i),
    .read_clk_i(clk_i), .read_address_i(oldest), .read_data_o(request_o)
  );
  stopbit_ram #(.Width(64), .Depth(Slots)) i_cached (
    .write_clk_i(clk_i), .write_i(put_i), .write_address_i(put_slot_i), .write_data_i(put_entry_i),
    .read_clk_i(clk_i), .read_address_i(oldest), .read_data_o(cached)
  );
  stopbit_ram #(.Width(64), .Depth(Slots)) i_read (
    .write_clk_i(clk_i), .write_i(fills), .write_address_i(answer_slot_q), .write_data_i(answer_entry_q),
    .read_clk_i(clk_i), .read_address_i(oldest), .read_data_o(from_memory)
  );
  assign entry_o = read_o ? from_memory : cached;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      takes_a_free_slot : assert (!allocate_i || room_o);
      waits_or_is_done  : assert ((waits_q & done_q) == '0);
      waits_or_is_lost  : assert ((waits_q & lost_q) == '0);
    end
  end
`endif
endmodule
