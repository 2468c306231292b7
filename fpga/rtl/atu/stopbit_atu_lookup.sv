/// From look-ups and flushes, in their order, to slots of the reorder buffer and reads of memory.
///
/// | cycle | |
/// |---|---|
/// | P | takes a flush or a look-up, and its slot; the cache and the table's register are read |
/// | C | a hit, or none; a flush drops what the cache has |
/// | A | the slot gets what is known; a miss asks memory |
///
/// Nothing is taken in the cycle after a flush, which sees what the flush has dropped only one cycle later. While a flush is
/// between here and its turn to leave (`flush_left_i`) nothing is filled into the cache: look-ups before it may have read from
/// memory what it revokes, and look-ups after it must not find that.
///
/// A slot whose read memory has never answered is left out (`skip_i`), unless there is no other: then misses fail.
module stopbit_atu_lookup
  import stopbit_nic_pkg::*;
  import stopbit_translation_pkg::*;
#(
  parameter  int unsigned CacheEntries = 1024,
  parameter  int unsigned Slots        = 32,
  localparam int unsigned SlotWidth    = $clog2(Slots)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  output logic                   running_o,

  input  logic                   request_valid_i,
  output logic                   request_ready_o,
  input  atu_request_t           request_i,

  input  logic                   flush_valid_i,
  output logic                   flush_ready_o,
  input  logic [NlaPageBits-1:0] flush_page_i,
  input  logic                   flush_cache_i,
  input  logic [AtsUnits-1:0]       flush_units_i,
  input  logic                   flush_free_i,
  input  logic [FlushWidth-1:0]  flush_slot_i,

  input  logic                   base_write_i,
  input  logic [TableBits-1:0]   base_index_i,
  input  gat_base_t              base_i,

  input  logic                   room_i,
  input  logic                   skip_i,
  input  logic [SlotWidth-1:0]   slot_i,
  output logic                   allocate_o,
  output logic                   void_o,
  input  logic [Slots-1:0]       lost_i,

  output logic                   put_o,
  output logic [SlotWidth-1:0]   put_slot_o,
  output atu_request_t           put_request_o,
  output gat_entry_t             put_entry_o,
  output logic                   put_reads_o,   // what the slot gets comes from memory
  output logic                   put_failed_o,  // memory cannot be asked
  output logic [30:0]            put_base_o,

  input  logic                   flush_left_i,
  input  logic                   fill_i,
  input  logic [NlaPageBits-1:0] fill_page_i,
  input  gat_entry_t             fill_entry_i,

  output logic                   hit_o,
  output logic                   miss_o,
  output logic                   drop_o
);
  // ---- P
  logic         hold_q, after_flush_q, may, takes_flush, takes_request;
  atu_request_t flush, taken;
  assign may             = running_o && room_i && !skip_i && !hold_q;
  assign flush_ready_o   = may && flush_free_i && !(after_flush_q && request_valid_i);
  assign takes_flush     = flush_valid_i && flush_ready_o;
  assign request_ready_o = may && !takes_flush;
  assign takes_request   = request_valid_i && request_ready_o;
  assign void_o          = running_o && room_i && skip_i;
  assign allocate_o      = takes_flush || takes_request || void_o;
  assign flush           = '{is_flush: 1'b1, drops: flush_cache_i, from: '0, units: flush_units_i,
                             tag: TagWidth'(flush_slot_i), body: '{access: '0, vpid: '0, page: flush_page_i}};
  assign taken           = takes_flush ? flush : request_i;

  // ---- C
  logic                 valid_c;
  atu_request_t         request_c;
  logic [SlotWidth-1:0] slot_c;
  logic                 hit, drops, reads, is_lost;
  gat_entry_t           entry;
  gat_base_t            base;
  assign drops   = valid_c && request_c.is_flush && request_c.drops;
  assign is_lost = lost_i[slot_c];
  assign reads   = !request_c.is_flush && !hit && base.present && !is_lost;

  logic [FlushWidth:0] flushes_q;  // from P to their turn to leave
  logic                fills;
  assign fills = fill_i && flushes_q == '0 && !takes_flush;
  stopbit_atu_cache #(.Entries(CacheEntries)) i_cache (
    .clk_i, .rst_ni, .running_o, .base_write_i, .base_index_i, .base_i,
    .page_i       (taken.body.page),
    .looked_page_i(request_c.body.page),
    .hit_o        (hit),
    .entry_o      (entry),
    .base_o       (base),
    .drop_i       (drops),
    .fill_i       (fills),
    .fill_page_i,
    .fill_entry_i
  );

  // ---- A
  logic valid_a;
  assign put_o = valid_a;
  always_ff @(posedge clk_i) begin
    request_c     <= taken;
    slot_c        <= slot_i;
    put_slot_o    <= slot_c;
    put_request_o <= request_c;
    put_entry_o   <= hit ? entry : '0;
    put_reads_o   <= reads;
    put_failed_o  <= !request_c.is_flush && !hit && base.present && is_lost;
    put_base_o    <= base.address;
    if (takes_flush || takes_request) after_flush_q <= takes_flush;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      hold_q    <= 1'b0;
      valid_c   <= 1'b0;
      valid_a   <= 1'b0;
      flushes_q <= '0;
      hit_o     <= 1'b0;
      miss_o    <= 1'b0;
      drop_o    <= 1'b0;
    end else begin
      hold_q    <= takes_flush;
      valid_c   <= takes_flush || takes_request;
      valid_a   <= valid_c;
      flushes_q <= flushes_q + (FlushWidth + 1)'(takes_flush) - (FlushWidth + 1)'(flush_left_i);
      hit_o     <= valid_c && !request_c.is_flush && hit;
      miss_o    <= valid_c && !request_c.is_flush && !hit;
      drop_o    <= drops && hit;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      one_writes : assert (!drops || !fills);
      counts_flushes : assert (!flush_left_i || flushes_q != '0);
    end
  end
`endif
endmodule
