/// Makes the words of a notification for the stream of writes, after the data that it is about.
module stopbit_rma_teller
  import stopbit_rma_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,   // stays, with the notice, until done
  input  rma_notice_words_t notice_i,
  output logic              done_o,    // with the last word
  output logic              valid_o,
  input  logic              ready_i,
  output rma_write_t        write_o
);
  logic [2:0]                   at_q;
  logic [NoticeWords-1:0][63:0] words;
  rma_notice_address_t          address;
  assign words   = {{16'd0, notice_i.window, notice_i.length}, notice_i.offset, notice_i.value, notice_i.tag, notice_i.head};
  assign address = '{zero: '0, tells: notice_i.tells, event_number: notice_i.event_number, vpid: notice_i.vpid};
  assign valid_o = valid_i;
  assign write_o = '{is_notice: 1'b1, is_last: at_q == 3'(NoticeWords - 1), address: address, strobe: '1,
                     data: words[at_q]};
  assign done_o  = valid_i && ready_i && write_o.is_last;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || done_o) at_q <= '0;
    else at_q <= at_q + 3'(valid_i && ready_i);
  end
endmodule
