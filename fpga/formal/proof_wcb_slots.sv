/// Whatever parts two pages write, and whenever time goes on, pages open and close, and slots leave: a slot is written out
/// once, and no part gets into it until it has left; of a message that leaves whole each word, any one, was written once, and
/// of one that was cut a word is marked if, and only if, it was written, once; each part is answered once.
module proof_wcb_slots
  import stopbit_wcb_pkg::*;
#(
  parameter  int unsigned Patience = 2,
  localparam int unsigned Slots    = 4  // of two pages
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 tick_i,
  input logic                 set_valid_i,
  input logic                 set_page_i,
  input logic                 set_open_i,
  input logic                 valid_i,
  input logic                 page_i,
  input logic                 abort_i,
  input logic                 misshapen_i,
  input logic [5:0]           length_i,
  input logic                 message_i,
  input logic [11:0]          offset_i,
  input logic [11:0]          total_i,
  input logic                 leave_ready_i,
  input logic                 left_i,
  input logic [1:0]           left_slot_i,
  input logic [1:0]           watched_slot_i,
  input logic [WordWidth-1:0] watched_word_i
);
  localparam logic [2:0] Choose = 3'd1, Join = 3'd4;

  logic                 ready, set_ready, write, leaves, event_valid;
  logic [WordWidth+1:0] write_address;
  logic [1:0]           rows_slot, write_slot, leave_slot;
  wcb_part_t            part;
  wcb_row_t             even, odd;
  wcb_leave_t           leave;
  wcb_event_t           what;
  formal_reset i_reset (.clk_i, .rst_ni);

  always_comb begin
    part                       = '0;
    part.is_page               = 1'b1;
    part.misshapen             = misshapen_i;
    part.page                  = {1'b0, page_i, 10'd0};
    part.head.operation        = SendPart;
    part.head.modifiers[Abort] = abort_i;
    part.head.length           = 16'(length_i);
    part.tag.message           = 8'(message_i);
    part.tag.offset            = offset_i;
    part.tag.total             = total_i;
  end
  stopbit_wcb_slots #(.Ports(1)) i_dut (
    .clk_i, .rst_ni, .tick_i, .patience_i(16'(Patience)), .now_o(),
    .set_valid_i, .set_ready_o(set_ready), .set_page_i, .set_open_i, .valid_i, .ready_o(ready), .part_i(part),
    .write_o(write), .write_address_o(write_address), .write_data_o(), .rows_slot_o(rows_slot), .even_o(even), .odd_o(odd),
    .leave_valid_o(leaves), .leave_ready_i, .leave_o(leave), .left_i, .left_slot_i,
    .event_valid_o(event_valid), .event_o(what)
  );
  assign write_slot = write_address[WordWidth+1:WordWidth];
  assign leave_slot = {leave.page[0], leave.slot};

  formal_stream #(.Width(34), .Assumed(1)) i_parts (
    .clk_i, .rst_ni, .valid_i, .ready_i(ready),
    .data_i({page_i, abort_i, misshapen_i, length_i, message_i, offset_i, total_i})
  );
  formal_stream #(.Width(2), .Assumed(1)) i_sets (
    .clk_i, .rst_ni, .valid_i(set_valid_i), .ready_i(set_ready), .data_i({set_page_i, set_open_i})
  );

  // Messages that have left the unit, and not their slots. There is room for one until it is used.
  logic [Slots-1:0] leaving_q;
  logic             room_q;
  always_ff @(posedge clk_i) begin
    room_q <= rst_ni && leave_ready_i && !leaves;
    if (!rst_ni) begin
      leaving_q <= '0;
    end else begin
      if (left_i) leaving_q[left_slot_i] <= 1'b0;
      if (leaves) leaving_q[leave_slot] <= 1'b1;
    end
  end
  always_comb begin
    assume (!room_q || leave_ready_i);
    assume (!left_i || leaving_q[left_slot_i]);
  end

  // Any word of any slot: how often it was written since a message began there, and its mark.
  logic [1:0]           slot_q, count_q;
  logic [WordWidth-1:0] word_q;
  logic                 mark_q, begins, written, in_leave, due_q, check_q, tail_q, answered_q;
  assign begins   = i_dut.state_q == Choose && i_dut.chosen && i_dut.action == Join && i_dut.is_same == '0 &&
                    {i_dut.page_q, i_dut.index} == slot_q;
  assign written  = write && write_address == {slot_q, word_q};
  assign in_leave = leaves && leave_slot == slot_q && (WordWidth + 1)'(word_q) < leave.words;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      slot_q     <= watched_slot_i;
      word_q     <= watched_word_i;
      count_q    <= '0;
      due_q      <= 1'b0;
      check_q    <= 1'b0;
      tail_q     <= 1'b0;
      answered_q <= 1'b0;
    end else begin
      if (begins) count_q <= '0;
      else if (written && count_q != '1) count_q <= count_q + 2'd1;
      // The last words of a part may come after its message has left.
      due_q      <= ((in_leave && !leave.is_cut) || due_q) && !ready;
      check_q    <= ((in_leave && !leave.is_cut) || due_q) && ready;
      tail_q     <= (leaves || tail_q) && !ready;
      answered_q <= ((event_valid && !what.is_late) || answered_q) && !ready;
    end
    if (even.write && rows_slot == slot_q && {even.row, 1'b0} == word_q[WordWidth-1:4]) mark_q <= even.marks[word_q[3:0]];
    if (odd.write && rows_slot == slot_q && {odd.row, 1'b1} == word_q[WordWidth-1:4]) mark_q <= odd.marks[word_q[3:0]];
  end
`ifdef COVER
  // While one slot of a page leaves the other one does so, too; a message was cut; then all have left, and time took one.
  logic both_q, cut_q, late_q;
  always_ff @(posedge clk_i) begin
    both_q <= rst_ni && (both_q || leaving_q[1:0] == '1);
    cut_q  <= rst_ni && (cut_q || (leaves && leave.is_cut && count_q == 2'd1 && leave_slot == slot_q));
    late_q <= rst_ni && (late_q || (event_valid && what.is_late));
  end
  always_comb if (rst_ni) assert (!(both_q && cut_q && late_q && leaving_q == '0));
`else
  always_comb begin
    if (rst_ni) begin
      assert (!leaves || !leaving_q[leave_slot]);
      assert (!(write && leaving_q[write_slot]) || tail_q);
      assert (!check_q || count_q == 2'd1);
      if (in_leave && leave.is_cut) begin
        assert (count_q <= 2'd1 && (leave.rows[word_q[WordWidth-1:4]] && mark_q) == (count_q == 2'd1));
      end
      assert (!(event_valid && !what.is_late && answered_q));
      assert (!ready || answered_q || event_valid);
    end
  end
`endif
endmodule
