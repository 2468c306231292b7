/// Whatever memory does: look-ups leave in the order in which they came, each once and as it came; what is left with one is
/// what memory answered to its own read, never to an earlier one of its slot; and each leaves within twice `Patience`, and
/// the time that others take to leave.
module proof_atu_reorder
  import stopbit_nic_pkg::*;
  import stopbit_translation_pkg::*;
#(
  parameter int unsigned Slots     = 4,
  parameter int unsigned Patience  = 4,
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 take_i,   // a look-up comes, if there is room
  input logic                 reads_i,  // of what is put now
  input logic                 tag_i,
  input logic                 pick_i,
  input logic                 answer_i,
  input logic [SlotWidth-1:0] answer_slot_i,
  input logic                 answer_bit_i,
  input logic                 answer_error_i
);
  localparam int unsigned Bound     = 2 * Patience + Slots + 2;
  localparam int unsigned AgeWidth  = $clog2(Bound + 2);
  localparam int unsigned CountWidth = $clog2(Slots + 3);

  logic                 room, skip, allocate, is_void, valid, read, failed, late, unasked;
  logic [SlotWidth-1:0] slot, slot_c, slot_a;
  logic [Slots-1:0]     lost;
  logic                 valid_c, valid_a, lost_a, reads, cannot;
  atu_request_t         put_request, left_request;
  gat_entry_t           put_entry, answer_entry, left_entry;
  formal_reset i_reset (.clk_i, .rst_ni);

  // As stopbit_atu_lookup does it: a slot, and two cycles later what is in it; no read for a slot that is lost.
  assign is_void  = room && skip;
  assign allocate = is_void || (room && take_i);
  assign reads    = reads_i && !lost_a;
  assign cannot   = reads_i && lost_a;
  always_ff @(posedge clk_i) begin
    slot_c  <= slot;
    slot_a  <= slot_c;
    lost_a  <= lost[slot_c];
    valid_c <= rst_ni && allocate && !is_void;
    valid_a <= rst_ni && valid_c;
  end
  always_comb begin
    put_request      = '0;
    put_request.tag  = TagWidth'(tag_i);
    put_entry        = '0;
    answer_entry     = '0;
    answer_entry.present = answer_bit_i;
  end

  stopbit_atu_reorder #(.Slots(Slots), .Patience(Patience)) i_dut (
    .clk_i, .rst_ni,
    .room_o(room), .skip_o(skip), .slot_o(slot), .allocate_i(allocate), .void_i(is_void), .lost_o(lost),
    .put_i(valid_a), .put_slot_i(slot_a), .put_request_i(put_request), .put_entry_i(put_entry), .put_reads_i(reads),
    .put_failed_i(cannot),
    .answer_i, .answer_slot_i, .answer_entry_i(answer_entry), .answer_error_i,
    .valid_o(valid), .request_o(left_request), .entry_o(left_entry), .read_o(read), .failed_o(failed),
    .late_o(late), .unasked_o(unasked)
  );

  // Memory: at most one answer to each read, at any time, or none.
  logic [Slots-1:0] asked_q = '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) asked_q <= '0;
    else begin
      if (answer_i) asked_q[answer_slot_i] <= 1'b0;
      if (valid_a && reads) asked_q[slot_a] <= 1'b1;
    end
  end
  always_comb assume (!answer_i || asked_q[answer_slot_i]);

  logic [CountWidth-1:0] count;
  formal_order #(.Width(1), .Capacity(Slots + 1)) i_order (
    .clk_i, .rst_ni, .pick_i, .put_i(valid_a), .put_data_i(tag_i), .take_i(valid), .take_data_i(left_request.tag[0]), .count_o(count)
  );

  // Of the one that was picked: its slot, its read, what memory answered, how long ago.
  logic                 reads_q, answered_q, bit_q, error_q;
  logic [SlotWidth-1:0] slot_q;
  logic [AgeWidth-1:0]  age_q;
  logic                 is_picked, leaves;
  assign is_picked = valid_a && pick_i && !i_order.picked_q;
  assign leaves    = i_order.picked_q && valid && i_order.ahead_q == '0;
  always_ff @(posedge clk_i) begin
    if (is_picked) begin
      slot_q     <= slot_a;
      reads_q    <= reads;
      answered_q <= 1'b0;
      age_q      <= '0;
    end else begin
      if (age_q != '1) age_q <= age_q + 1'b1;
      if (answer_i && answer_slot_i == slot_q && !answered_q) begin
        answered_q <= 1'b1;
        bit_q      <= answer_bit_i;
        error_q    <= answer_error_i;
      end
    end
  end
`ifdef COVER
  logic was_late_q, overtook_q, all_lost_q;
  always_ff @(posedge clk_i) begin
    was_late_q <= rst_ni && (was_late_q || late);
    overtook_q <= rst_ni && (overtook_q || (leaves && answered_q && !error_q && reads_q && age_q > 2));
    all_lost_q <= rst_ni && (all_lost_q || (&lost));
  end
  always_comb if (rst_ni) assert (!(was_late_q && overtook_q && all_lost_q && count == '0));
`else
  always_comb begin
    if (rst_ni) begin
      assert (!unasked);
      assert (!(valid_a && reads) || !asked_q[slot_a]);
      assert (!leaves || read == reads_q);
      assert (!(leaves && reads_q && !failed) || (answered_q && !error_q && left_entry.present == bit_q));
      assert (!i_order.picked_q || 32'(age_q) <= Bound);
    end
  end
`endif
endmodule
