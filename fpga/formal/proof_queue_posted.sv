/// Posted writes of two ports, and a queue of remote memory access that has room at any time or not. A store of 16 bytes and a
/// line that comes whole leave as they came: each word once, in order, after an entry with the port of its page, and stay while
/// there is no room. With `Pieces` lines come in pieces, in any order: no entry has a word that its port did not write.
module proof_queue_posted
  import stopbit_htax_pkg::*;
  import stopbit_queue_pkg::*;
#(
  parameter bit Pieces = 1'b0
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       pick_i,
  input logic       valid_i,
  input logic       vpid_i,
  input logic       short_i,
  input logic [2:0] code_i,
  input logic [1:0] line_i,
  input logic [2:0] word_i,
  input logic [3:0] length_i,
  input logic [1:0] data_i,
  input logic       room_i
);
  // Packets, one after the other.
  logic           ready, is_header, sender_q, counts, counts_q, is_line_q;
  logic [3:0]     left_q;
  htax_header_t   header;
  queue_address_t address;
  assign is_header = left_q == '0;
  always_comb begin
    address          = '0;
    address.vpid     = 16'(vpid_i);
    address.is_short = short_i;
    {address.by_lines, address.responder, address.completer, address.requester, address.code, address.offset} =
      short_i ? {4'd0, code_i, 4'd0} : {3'd0, line_i, word_i, 3'd0};
    header         = '0;
    header.length  = length_i;
    header.origin  = 4'd7;
    header.tag     = '1;
    header.address = 48'(address);
  end
  // What leaves for remote memory access: operations from 4 to 7.
  assign counts = short_i ? length_i == 4'd2 && code_i != 3'd0 && code_i < SHORT_MESSAGE : length_i == 4'd8 && word_i == 3'd0;
  always_comb begin
    if (!Pieces) assume (short_i || length_i == 4'd8 || length_i == 4'd0);
    else assume (!short_i);
    if (Pieces && !is_header) assume (data_i[0] == sender_q);
  end
  logic [63:0] phit;
  assign phit = is_header ? header : {56'd0, 6'd1, data_i};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) left_q <= '0;
    else if (valid_i && ready) begin
      left_q <= is_header ? header.length : left_q - 4'd1;
      if (is_header) begin
        sender_q  <= vpid_i;
        counts_q  <= counts;
        is_line_q <= !short_i;
      end
    end
  end

  queue_port_t [1:0] ports;
  logic [1:0]        put_valid;
  logic              is_last, event_valid;
  logic [63:0]       word;
  queue_event_t      what;
  assign ports = {4'd2, PORT_ENABLED, 4'd1, PORT_ENABLED};
  formal_reset i_reset (.clk_i, .rst_ni);
  formal_stream #(.Width(64), .Assumed(1)) i_in (.clk_i, .rst_ni, .valid_i, .ready_i(ready), .data_i(phit));
  stopbit_queue_posted #(.Ports(2)) i_dut (
    .clk_i, .rst_ni, .ports_i(ports), .clear_valid_i(1'b0), .clear_ready_o(), .clear_port_i(1'b0), .valid_i, .ready_o(ready),
    .phit_i(phit), .valid_o(put_valid), .ready_i({room_i, 1'b1}), .last_o(is_last), .data_o(word), .event_valid_o(event_valid),
    .event_o(what)
  );
  formal_stream #(.Width(65)) i_out (.clk_i, .rst_ni, .valid_i(shown), .ready_i(room_i), .data_i({is_last, word}));

  // What leaves: an entry, then its words; each a cycle later, as words pass through.
  logic         inside_q, owner_q, shown, leaves, leaves_q;
  logic [2:0]   left_word_q;
  logic [3:0]   words_q;
  queue_entry_t entry;
  assign shown  = put_valid[Transfers];
  assign leaves = shown && room_i;
  assign entry  = word;
  always_ff @(posedge clk_i) begin
    left_word_q <= inside_q ? {1'b0, word[1:0]} : {2'b10, entry.vpid[0]};
    if (!rst_ni) begin
      inside_q <= 1'b0;
      leaves_q <= 1'b0;
    end else begin
      leaves_q <= leaves;
      if (leaves) begin
        inside_q <= !is_last;
        words_q  <= inside_q ? words_q + 4'd1 : 4'd1;
        if (!inside_q) owner_q <= entry.vpid[0];
      end
    end
  end
`ifndef COVER
  if (!Pieces) begin : g_order
    logic       put;
    logic [2:0] count;
    // The header comes as the entry; the last word of a line is left out.
    assign put = valid_i && ready && (is_header ? counts : counts_q && !(is_line_q && left_q == 4'd1));
    formal_order #(.Width(3), .Capacity(3)) i_order (
      .clk_i, .rst_ni, .pick_i, .put_i(put), .put_data_i(is_header ? {2'b10, vpid_i} : {1'b0, data_i}),
      .take_i(leaves_q), .take_data_i(left_word_q), .count_o(count)
    );
  end
  always_comb begin
    if (rst_ni && shown && !inside_q) assert (entry.life == (entry.vpid[0] ? 4'd2 : 4'd1) && !entry.is_counted && !is_last);
    if (rst_ni && shown && inside_q) begin
      assert (word[7:2] == 6'd1 && words_q <= 4'd7);
      if (Pieces) assert (word[0] == owner_q && is_last == (words_q == 4'd7));
      else assert (!is_last || words_q == 4'd7 || words_q == 4'd2);
    end
  end
`else
  // Something waits for room, and whole entries of both ports leave; a line from pieces does.
  logic [1:0] left_of_q;
  logic       waited_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_of_q <= '0;
      waited_q  <= 1'b0;
    end else begin
      if (leaves && is_last) left_of_q[owner_q] <= 1'b1;
      if (shown && !room_i) waited_q <= 1'b1;
    end
  end
  always_comb if (rst_ni) assert (!(Pieces ? leaves && is_last && i_dut.copies_q : &left_of_q && waited_q));
`endif
endmodule
