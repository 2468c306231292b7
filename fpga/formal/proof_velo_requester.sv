/// Whatever ports write: each packet is a start, the status and at most 31 words more, framed as the network port wants it,
/// and stays until it is taken; the status names this node, the port whose address the message was written to, and the domain
/// that the table had for this port, which is open and enabled. Any two ports, any tables, any change of them.
module proof_velo_requester
  import stopbit_nic_pkg::*;
  import stopbit_velo_pkg::*;
#(
  parameter int unsigned Ports = 2
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        write_i,
  input logic        group_write_i,
  input logic        index_i,
  input logic        open_i,
  input logic        enabled_i,
  input logic        domain_i,
  input logic        valid_i,
  input logic        first_i,
  input logic        last_i,
  input logic [63:0] data_i,
  input logic        vpid_i,
  input logic        class_i,
  input logic        ready_i
);
  logic          ready, valid, first, last, bad, sent, refused, malformed;
  logic [63:0]   data;
  velo_port_t    port;
  velo_group_t   group;
  velo_refusal_t refusal;
  formal_reset i_reset (.clk_i, .rst_ni);
  always_comb begin
    port            = '0;
    port.is_open    = open_i;
    port.is_enabled = enabled_i;
    port.domain     = {15'h1234, domain_i};
    group           = '0;
    group.is_used   = open_i;
    group.domain    = {15'h1234, domain_i};
  end
  stopbit_velo_requester #(.Ports(Ports), .Groups(2)) i_dut (
    .clk_i, .rst_ni, .node_i(16'hABCD), .last_node_i(16'd3),
    .write_i(write_i || group_write_i), .table_i(write_i ? TABLE_PORT : TABLE_GROUP), .index_i(12'(index_i)), .port_i(port),
    .group_i(group),
    .valid_i, .ready_o(ready), .first_i, .last_i, .data_i, .vpid_i(10'(vpid_i)), .class_i({1'b0, class_i}),
    .valid_o(valid), .ready_i, .first_o(first), .last_o(last), .bad_o(bad), .data_o(data),
    .sent_o(sent), .refused_o(refused), .refusal_o(refusal), .malformed_o(malformed)
  );

  // Words of a message stay until they are taken, as the write-combining buffer keeps them.
  formal_stream #(.Width(68), .Assumed(1)) i_in (
    .clk_i, .rst_ni, .valid_i, .ready_i(ready), .data_i({first_i, last_i, vpid_i, class_i, data_i})
  );
  formal_stream #(.Width(67)) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i({first, last, bad, data}));

  // The tables as they were written; who sent the message that is on its way, and what the tables had for it.
  logic [Ports-1:0] open_q, enabled_q, domain_q;
  logic             sender_q, sender_domain_q, sender_may_q, begins_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q   <= '0;
      begins_q <= 1'b0;
    end else begin
      if (write_i) begin
        open_q[index_i]    <= open_i;
        enabled_q[index_i] <= enabled_i;
        domain_q[index_i]  <= domain_i;
      end
      // The command is a message's first word: it is taken only while the unit has nothing else.
      if (valid_i && ready && first_i && !in_message_q) begin
        sender_q        <= vpid_i;
        sender_domain_q <= domain_q[vpid_i];
        sender_may_q    <= open_q[vpid_i] && enabled_q[vpid_i];
      end
    end
  end

  logic       in_message_q;  // words of a message follow
  logic       in_packet_q;
  logic [5:0] words_q;       // of the packet that leaves
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_message_q <= 1'b0;
      in_packet_q  <= 1'b0;
      words_q      <= '0;
    end else begin
      if (valid_i && ready) in_message_q <= in_message_q ? !last_i : first_i && !last_i;
      if (valid && ready_i) begin
        in_packet_q <= !last;
        words_q     <= first ? 6'd1 : words_q + 6'd1;
      end
    end
  end

  velo_wire_t status;
  assign status = data;
`ifdef COVER
  logic sent_q, refused_q, cut_q;
  always_ff @(posedge clk_i) begin
    sent_q    <= rst_ni && (sent_q || sent);
    refused_q <= rst_ni && (refused_q || (refused && refusal.error == ERR_PDID));
    cut_q     <= rst_ni && (cut_q || (malformed && sent_q));
  end
  always_comb if (rst_ni) assert (!(sent_q && refused_q && cut_q));
`else
  always_comb begin
    if (rst_ni && valid) begin
      assert (first == !in_packet_q);
      assert (first || words_q <= 6'd32);
      assert (!first || !last);
      if (in_packet_q && words_q == 6'd1) begin
        assert (status.node == 16'hABCD);
        assert (status.vpid == 10'(sender_q));
        assert (status.domain == {15'h1234, sender_domain_q});
        assert (sender_may_q);
      end
    end
  end
`endif
endmodule
