/// Whatever messages leave, and whatever memory holds: each leaves once, as its command and all its words, read from
/// their places in its slot, each shown until it is taken; words of rows without marks are 0 in a message that was cut.
module proof_wcb_mover
  import stopbit_wcb_pkg::*;
#(
  localparam int unsigned SlotWidth = 2  // one port: two pages, two slots each
) (
  input logic               clk_i,
  input logic               rst_ni,
  input logic               valid_i,
  input logic               page_i,
  input logic               slot_i,
  input logic               is_cut_i,
  input logic [Rows-1:0]    rows_i,
  input logic [WordWidth:0] words_i,
  input logic               kind_i,
  input logic               ready_i
);
  logic                           taken, left, valid, first, last;
  logic [SlotWidth-1:0]           left_slot;
  logic [63:0]                    data;
  page_t                          page;
  wcb_leave_t                     leave;
  logic [SlotWidth+WordWidth-1:0] read_q;
  logic [SlotWidth+WordWidth-6:0] even_q, odd_q;
  logic [WordWidth:0]             word_q;  // of the message: 0 is the command
  logic [WordWidth-1:0]           at;
  formal_reset i_reset (.clk_i, .rst_ni);

  always_comb begin
    leave              = '0;
    leave.page         = page_t'(page_i);
    leave.slot         = slot_i;
    leave.is_cut       = is_cut_i;
    leave.rows         = rows_i;
    leave.words        = words_i;
    leave.command.kind = {1'b1, kind_i};
  end
  stopbit_wcb_mover #(.Ports(1)) i_dut (
    .clk_i, .rst_ni, .write_i(1'b0), .write_address_i('0), .write_data_i('0), .rows_slot_i('0), .even_i('0), .odd_i('0),
    .leave_valid_i(valid_i), .leave_ready_o(taken), .leave_i(leave), .left_o(left), .left_slot_o(left_slot),
    .valid_o(valid), .ready_i, .first_o(first), .last_o(last), .data_o(data), .page_o(page)
  );
  formal_stream #(.Width(5 + Rows + WordWidth), .Assumed(1)) i_in (
    .clk_i, .rst_ni, .valid_i, .ready_i(taken), .data_i({page_i, slot_i, is_cut_i, rows_i, words_i, kind_i})
  );
  formal_stream #(.Width(3)) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i({first, last, page[0]}));
  always_comb assume (words_i != '0 && words_i <= (WordWidth + 1)'(MessageWords));

  always_ff @(posedge clk_i) begin
    read_q <= i_dut.i_words.read_address_i;
    even_q <= i_dut.i_even.read_address_i;
    odd_q  <= i_dut.i_odd.read_address_i;
    if (!rst_ni) word_q <= '0;
    else if (valid && ready_i) word_q <= last ? '0 : word_q + 1'b1;
  end
  assign at = WordWidth'(word_q - 1'b1);
`ifdef COVER
  // Two messages, one right after the other, the first of them cut, with a word in its gap.
  logic gap_q, cut_q, next_q;
  always_ff @(posedge clk_i) begin
    gap_q  <= rst_ni && (gap_q || (valid && !first && is_cut_i && !rows_i[at[WordWidth-1:4]]));
    cut_q  <= rst_ni && gap_q && taken;
    next_q <= rst_ni && (next_q || (cut_q && valid && first));
  end
  always_comb if (rst_ni) assert (!(next_q && left && !is_cut_i && words_i == (WordWidth + 1)'(3)));
`else
  always_comb begin
    if (rst_ni && valid) begin
      assert (first == (word_q == '0));
      assert (last == (word_q == words_i));
      assert (page == leave.page && left_slot == {page_i, slot_i});
      assert (!first || data == leave.command);
      if (!first) begin
        assert (read_q == {page_i, slot_i, at});
        assert (even_q == {page_i, slot_i, at[WordWidth-1:5]} && odd_q == even_q);
        assert (!(is_cut_i && !rows_i[at[WordWidth-1:4]]) || data == '0);
      end
    end
    if (rst_ni) assert (taken == (valid && ready_i && last) && left == taken);
  end
`endif
endmodule
