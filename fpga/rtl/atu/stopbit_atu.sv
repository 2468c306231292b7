/// Address translation unit: which page of memory a port means by an address, if it owns it and may do this with it.
///
/// Units send messages (`stopbit_nic_pkg`, ats_t), one phit each, and get answers in the order of their look-ups. Tables are
/// in memory: each entry is a word that `read` asks for and `answer` brings, in any order. Software flushes a page after it has
/// removed it from its table: `flush_done_o` says, in the order of flushes, that no look-up from then on finds it and that
/// the units that were named hold it no more. A look-up before that may answer either way.
///
/// Cycles: a hit 9; a miss 12 and what memory takes; a flush 7 and what units take. README.md has the rest.
module stopbit_atu
  import stopbit_nic_pkg::*;
  import stopbit_translation_pkg::*;
#(
  parameter  int unsigned           CacheEntries = 1024,
  parameter  int unsigned           Requests     = 64,
  parameter  int unsigned           Slots        = 32,
  parameter  int unsigned           Patience     = 4096,  // cycles that a read of memory may take, once to twice
  parameter  logic [AtsUnits-1:0][3:0] Ports        = {4'd3, 4'd2, 4'd1, 4'd0},
  parameter  logic [3:0]            Port         = 4'd4,
  localparam int unsigned           SlotWidth    = $clog2(Slots)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   valid_i,
  output logic                   ready_o,
  input  logic [63:0]            phit_i,
  output logic [AtsUnits-1:0]       valid_o,
  input  logic [AtsUnits-1:0]       ready_i,
  output logic [AtsUnits-1:0][63:0] phit_o,

  output logic                   read_valid_o,
  input  logic                   read_ready_i,
  output logic [51:0]            read_address_o,
  output logic [SlotWidth-1:0]   read_id_o,
  input  logic                   answer_valid_i,
  input  logic [SlotWidth-1:0]   answer_id_i,
  input  logic [63:0]            answer_data_i,
  input  logic                   answer_error_i,

  input  logic                   base_write_i,
  input  logic [TableBits-1:0]   base_index_i,
  input  logic [31:0]            base_i,
  input  logic                   flush_valid_i,
  output logic                   flush_ready_o,
  input  logic [NlaPageBits-1:0] flush_page_i,
  input  logic                   flush_cache_i,  // drop what the cache has
  input  logic [AtsUnits-1:0]       flush_units_i,  // ask these
  output logic                   flush_done_o,
  output logic [AtsUnits-1:0]       flush_waits_o,  // units that the oldest flush waits for

  // Events, a cycle each.
  output logic                   hit_o,
  output logic                   miss_o,
  output logic                   fault_o,
  output logic                   drop_o,       // a flush found its page in the cache
  output logic                   failed_o,     // of the faults: memory did not answer, or with an error
  output logic                   malformed_o,  // a message that is none, left out
  output logic                   refused_o,    // more look-ups of a unit than it may have, left out
  output logic                   late_o,       // an answer of memory after its time, left out
  output logic                   unasked_o     // an answer of memory to nothing, left out
);
  localparam int unsigned ReadWidth = SlotWidth + 31 + EntryBits;
  localparam int unsigned RequestCountWidth = $clog2(Requests) + 1;

  logic                             running;
  logic                             request_put, request_has_room, request_valid, request_ready;
  logic [RequestCountWidth-1:0]     request_count;
  atu_request_t                     request_in, request;
  logic                             flush_answer, flush_known, flush_free, flush_passed;
  logic [UnitWidth-1:0]             flush_unit;
  logic [FlushWidth-1:0]            flush_answer_slot, flush_slot, flush_passed_slot;
  logic [AtsUnits-1:0]                 answered, sent;
  logic [AtsUnits-1:0][FlushWidth-1:0] sent_slot;
  logic                             room, skip, allocate, is_void;
  logic [SlotWidth-1:0]             slot, put_slot;
  logic [Slots-1:0]                 lost;
  logic                             put, put_reads, put_failed, read_has_room;
  atu_request_t                     put_request, left_request;
  gat_entry_t                       put_entry, left_entry;
  logic [30:0]                      put_base;
  logic                             left, left_read, left_failed, fill;

  // One message may be in the register before the queue.
  assign ready_o = running && request_count < RequestCountWidth'(Requests - 1);

  stopbit_atu_input #(.Ports(Ports)) i_input (
    .clk_i, .rst_ni,
    .valid_i        (valid_i && ready_o),
    .phit_i,
    .request_valid_o(request_put),
    .request_o      (request_in),
    .flush_answer_o (flush_answer),
    .flush_unit_o   (flush_unit),
    .flush_slot_o   (flush_answer_slot),
    .flush_known_i  (flush_known),
    .answered_i     (answered),
    .malformed_o, .refused_o
  );

  stopbit_fifo #(.Width($bits(atu_request_t)), .Depth(Requests)) i_requests (
    .clk_i, .rst_ni,
    .valid_i (request_put),
    .ready_o (request_has_room),
    .data_i  (request_in),
    .valid_o (request_valid),
    .ready_i (request_ready),
    .double_i(1'b0),
    .single_o(),
    .data_o  (request),
    .count_o (request_count)
  );

  stopbit_atu_flushes i_flushes (
    .clk_i, .rst_ni,
    .free_o       (flush_free),
    .slot_o       (flush_slot),
    .take_i       (flush_valid_i && flush_ready_o),
    .units_i      (flush_units_i),
    .passed_i     (flush_passed),
    .passed_slot_i(flush_passed_slot),
    .sent_i       (sent),
    .sent_slot_i  (sent_slot),
    .answer_i     (flush_answer),
    .answer_unit_i(flush_unit),
    .answer_slot_i(flush_answer_slot),
    .known_o      (flush_known),
    .done_o       (flush_done_o),
    .waits_o      (flush_waits_o)
  );

  stopbit_atu_lookup #(.CacheEntries(CacheEntries), .Slots(Slots)) i_lookup (
    .clk_i, .rst_ni,
    .running_o      (running),
    .request_valid_i(request_valid),
    .request_ready_o(request_ready),
    .request_i      (request),
    .flush_valid_i, .flush_ready_o, .flush_page_i, .flush_cache_i, .flush_units_i,
    .flush_free_i   (flush_free),
    .flush_slot_i   (flush_slot),
    .base_write_i, .base_index_i, .base_i,
    .room_i         (room),
    .skip_i         (skip),
    .slot_i         (slot),
    .allocate_o     (allocate),
    .void_o         (is_void),
    .lost_i         (lost),
    .put_o          (put),
    .put_slot_o     (put_slot),
    .put_request_o  (put_request),
    .put_entry_o    (put_entry),
    .put_reads_o    (put_reads),
    .put_failed_o   (put_failed),
    .put_base_o     (put_base),
    .flush_left_i   (flush_passed),
    .fill_i         (fill),
    .fill_page_i    (left_request.body.page),
    .fill_entry_i   (left_entry),
    .hit_o, .miss_o, .drop_o
  );

  stopbit_fifo #(.Width(ReadWidth), .Depth(Slots)) i_reads (
    .clk_i, .rst_ni,
    .valid_i (put && put_reads),
    .ready_o (read_has_room),
    .data_i  ({put_slot, put_base, put_request.body.page[EntryBits-1:0]}),
    .valid_o (read_valid_o),
    .ready_i (read_ready_i),
    .double_i(1'b0),
    .single_o(),
    .data_o  ({read_id_o, read_address_o[51:3]}),
    .count_o ()
  );
  assign read_address_o[2:0] = '0;

  stopbit_atu_reorder #(.Slots(Slots), .Patience(Patience)) i_reorder (
    .clk_i, .rst_ni,
    .room_o        (room),
    .skip_o        (skip),
    .slot_o        (slot),
    .allocate_i    (allocate),
    .void_i        (is_void),
    .lost_o        (lost),
    .put_i         (put),
    .put_slot_i    (put_slot),
    .put_request_i (put_request),
    .put_entry_i   (put_entry),
    .put_reads_i   (put_reads),
    .put_failed_i  (put_failed),
    .answer_i      (answer_valid_i),
    .answer_slot_i (answer_id_i),
    .answer_entry_i(answer_data_i),
    .answer_error_i,
    .valid_o       (left),
    .request_o     (left_request),
    .entry_o       (left_entry),
    .read_o        (left_read),
    .failed_o      (left_failed),
    .late_o, .unasked_o
  );

  stopbit_atu_responder #(.Port(Port)) i_responder (
    .clk_i, .rst_ni,
    .valid_i      (left),
    .request_i    (left_request),
    .entry_i      (left_entry),
    .read_i       (left_read),
    .failed_i     (left_failed),
    .valid_o, .ready_i, .phit_o,
    .answered_o   (answered),
    .sent_o       (sent),
    .sent_slot_o  (sent_slot),
    .passed_o     (flush_passed),
    .passed_slot_o(flush_passed_slot),
    .fill_o       (fill),
    .fault_o, .failed_o
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      requests_fit : assert (!request_put || request_has_room);
      reads_fit    : assert (!(put && put_reads) || read_has_room);
    end
  end
`endif
endmodule
