/// Words of the stream of writes, gathered to what becomes a packet: words of one line of memory, or a notification.
///
/// Units write words that follow each other, up to `is_last`; one that is not whole is alone. An entry ends at the end of a
/// line: so no packet has more than 8 words, or crosses a page.
module stopbit_node_gather
  import stopbit_node_pkg::*;
  import stopbit_rma_pkg::rma_write_t;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  output logic        ready_o,
  input  rma_write_t  write_i,

  output logic        entry_valid_o,
  input  logic        entry_ready_i,
  output node_entry_t entry_o,
  output logic        word_valid_o,
  input  logic        word_ready_i,
  output logic [63:0] word_o,
  output logic        begins_o  // an entry
);
  logic        open_q, takes, ends, words_ready, entries_ready;
  logic [3:0]  count_q, count;
  logic [51:0] first_q;
  node_entry_t entry;
  assign ready_o  = words_ready && entries_ready;
  assign takes    = valid_i && ready_o;
  assign begins_o = takes && !open_q;
  assign ends     = write_i.is_last || (!write_i.is_notice && write_i.address[5:3] == '1);
  assign count    = open_q ? count_q + 4'd1 : 4'd1;
  assign entry    = '{is_notice: write_i.is_notice, count: count, mask: write_i.strobe,
                      address: open_q ? first_q : write_i.address};
  always_ff @(posedge clk_i) begin
    if (begins_o) first_q <= write_i.address;
    if (takes) count_q <= count;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= 1'b0;
    else if (takes) open_q <= !ends;
  end
  stopbit_fifo #(.Width($bits(node_entry_t)), .Depth(16)) i_entries (
    .clk_i, .rst_ni, .valid_i(takes && ends), .ready_o(entries_ready), .data_i(entry), .valid_o(entry_valid_o),
    .ready_i(entry_ready_i), .double_i(1'b0), .single_o(), .data_o(entry_o), .count_o()
  );
  stopbit_fifo #(.Width(64), .Depth(32)) i_words (
    .clk_i, .rst_ni, .valid_i(takes), .ready_o(words_ready), .data_i(write_i.data), .valid_o(word_valid_o),
    .ready_i(word_ready_i), .double_i(1'b0), .single_o(), .data_o(word_o), .count_o()
  );

`ifndef SYNTHESIS
  logic        notice_q;
  logic [51:0] last_q;
  always_ff @(posedge clk_i) begin
    if (takes) begin
      notice_q <= write_i.is_notice;
      last_q   <= write_i.address;
    end
    if (rst_ni && takes && open_q) begin
      words_follow : assert (write_i.is_notice == notice_q && (notice_q || write_i.address == last_q + 52'd8));
      words_whole  : assert (write_i.strobe == '1);
    end
    if (rst_ni && takes && !ends) first_whole : assert (write_i.strobe == '1);
  end
`endif
endmodule
