/// Requests of two ports, any of them, and places that are freed at any time. An answer says success exactly of a line that is in
/// the store, whole, and leaves nothing of one that was refused; a port has never more commands inside than its limit; and it is
/// refused for lack of room only if it has reached its limit itself, or the store is full: not because of the other port.
module proof_queue_requests
  import stopbit_htax_pkg::*;
  import stopbit_queue_pkg::*;
(
  input logic       clk_i,
  input logic       rst_ni,
  input logic       valid_i,
  input logic       vpid_i,
  input logic       state_i,
  input logic [3:0] length_i,
  input logic [2:0] count_i,
  input logic [1:0] data_i,
  input logic       ready_i,
  input logic       answer_i,
  input logic       trigger_i,
  input logic       free_i,
  input logic       free_port_i
);
  localparam logic [PlaceWidth-1:0] Limit = PlaceWidth'(2);

  logic           ready, is_header, sender_q;
  logic [3:0]     left_q, length_q;
  htax_header_t   header;
  queue_address_t address;
  logic [63:0]    phit;
  assign is_header = left_q == '0;
  always_comb begin
    address      = '0;
    address.vpid = 16'(vpid_i);
    if (length_i == 4'd1) {address.requester, address.code, address.offset} = {2'b00, count_i, 3'b000};
    header         = '0;
    header.channel = NONPOSTED;
    header.length  = length_i;
    header.address = 48'(address);
    assume (length_i == 4'd8 || length_i == 4'd1);
  end
  // Of a read the number of words, of a line the operation: no command, the message unit's, or another one.
  assign phit = is_header ? header : 64'(data_i);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) left_q <= '0;
    else if (valid_i && ready) begin
      left_q <= is_header ? header.length : left_q - 4'd1;
      if (is_header) {sender_q, length_q} <= {vpid_i, length_i};
    end
  end

  queue_port_t [1:0]     ports;
  logic [1:0]            put_valid, put_ready;
  logic                  put_last, put_drop, put_full, valid, out_valid, out_last, triggers, places_ready, port, add;
  logic [63:0]           put_data, answer, out;
  logic [PlaceWidth-1:0] count, add_count;
  logic                  freed_ready;
  queue_trigger_t        trigger;
  queue_reply_t          reply;
  assign ports     = {4'd2, state_i ? PORT_ENABLED : PORT_DISABLED, 4'd1, PORT_ENABLED};
  assign put_ready = {put_full, 1'b1};
  assign reply     = answer;
  formal_reset i_reset (.clk_i, .rst_ni);
  formal_stream #(.Width(64), .Assumed(1)) i_in (.clk_i, .rst_ni, .valid_i, .ready_i(ready), .data_i(phit));
  stopbit_queue_requests #(.Ports(2)) i_dut (
    .clk_i, .rst_ni, .ports_i(ports), .limit_i(Limit), .valid_i, .ready_o(ready), .phit_i(phit), .valid_o(valid),
    .ready_i(answer_i), .phit_o(answer), .put_valid_o(put_valid), .put_ready_i(put_ready), .put_last_o(put_last),
    .put_drop_o(put_drop), .put_data_o(put_data), .trigger_valid_o(triggers), .trigger_ready_i(trigger_i), .trigger_o(trigger),
    .places_ready_i(places_ready), .port_o(port), .count_i(count), .add_o(add), .add_count_o(add_count)
  );
  stopbit_queue_store #(.Depth(16)) i_store (
    .clk_i, .rst_ni, .valid_i(put_valid[Transfers]), .ready_o(put_full), .last_i(put_last), .data_i(put_data),
    .drop_i(put_drop), .valid_o(out_valid), .ready_i, .last_o(out_last), .data_o(out)
  );
  stopbit_queue_places #(.Ports(2), .Sources(1)) i_places (
    .clk_i, .rst_ni, .ready_o(places_ready), .port_i(port), .count_o(count), .add_i(add), .add_count_i(add_count),
    .free_valid_i(frees), .free_ready_o(freed_ready), .free_port_i(free_port_i)
  );
  formal_stream #(.Width(64)) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i(answer_i), .data_i(answer));

  // Commands inside, by what was accepted and freed; their number in the last cycles.
  logic [1:0][3:0]      inside_q;
  logic [3:0][1:0][3:0] before_q;
  logic                 frees, commits, accepted_q, crowded_q, was_full_q, in_data;
  logic [3:0]           answers_q;  // words of the answer that are left
  htax_header_t         answer_header;
  logic [4:0]           announced_q;
  assign answer_header = answer;
  assign in_data = answers_q != '0;
  assign frees   = free_i && inside_q[free_port_i] != '0;
  assign commits = |put_valid && put_last && !put_drop && (put_valid[Transfers] ? put_full : 1'b1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q  <= '0;
      before_q  <= '0;
      answers_q <= '0;
    end else begin
      before_q <= {before_q[2:0], inside_q};
      for (int p = 0; p < 2; p++) begin
        inside_q[p] <= inside_q[p] + (commits && sender_q == 1'(p) ? 4'd1 : 4'd0) +
                       (triggers && trigger_i && sender_q == 1'(p) ? trigger.count[3:0] : 4'd0) -
                       (frees && freed_ready && free_port_i == 1'(p) ? 4'd1 : 4'd0);
      end
      if (valid && answer_i) answers_q <= in_data ? answers_q - 4'd1 : answer_header.length;
      if (valid_i && ready && is_header) begin
        accepted_q  <= 1'b0;
        crowded_q   <= 1'b0;
        was_full_q  <= 1'b0;
        announced_q <= '0;
      end else begin
        accepted_q  <= accepted_q || commits;
        crowded_q   <= crowded_q || (!put_full && left_q != '0) || (!trigger_i && left_q != '0);
        if (triggers && trigger_i) announced_q <= trigger.count;
      end
      // When the port's commands were looked at.
      if (left_q == length_q && !is_header) begin
        if (inside_q[sender_q] >= 4'(Limit)) was_full_q <= 1'b1;
        for (int i = 0; i < 4; i++) if (before_q[i][sender_q] >= 4'(Limit)) was_full_q <= 1'b1;
      end
    end
  end
`ifdef COVER
  logic [2:0] seen_q;  // success, and refusals of either kind
  always_ff @(posedge clk_i) begin
    if (!rst_ni) seen_q <= '0;
    else if (valid && in_data && length_q == 4'd8) begin
      if (reply.code == REPLY_NOERR) seen_q[0] <= 1'b1;
      if (reply.code == REPLY_INVALID) seen_q[1] <= 1'b1;
    end else if (valid && in_data && reply.code == REPLY_PARTIAL) seen_q[2] <= 1'b1;
  end
  always_comb if (rst_ni) assert (!(&seen_q));
`else
  always_comb begin
    if (rst_ni) begin
      for (int p = 0; p < 2; p++) assert (inside_q[p] <= 4'(Limit));
      if (valid && in_data && length_q == 4'd8) begin
        assert ((reply.code == REPLY_NOERR) == accepted_q);
        assert (i_store.i_words.write_spec_q == i_store.i_words.write_done_q);
      end
      if (valid && in_data && length_q == 4'd1) assert (reply.count == announced_q && !accepted_q);
      if (valid && in_data && reply.code == REPLY_FULL) assert (was_full_q || crowded_q);
    end
  end
`endif
endmodule
