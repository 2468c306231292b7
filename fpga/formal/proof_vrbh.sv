/// The read side of `m_axi_ring`, two queues whose ports keep to formal_fetches and request anything: an address stays until
/// it is taken, is that of a whole beat, and never more reads are on their way than there is room for. Of memory it is assumed
/// that it takes an address within two cycles and answers in order.
module proof_vrbh (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [1:0]  asks_i,     // the queues
  input logic [63:4] address_i,  // for what
  input logic [1:0]  pick_i,
  input logic        arready_i,
  input logic        rvalid_i
);
  logic        arvalid, rready;
  logic [63:0] araddr;
  logic [3:0][1:0] address_q;  // bits 7:6 of the reads on their way
  logic [2:0]      count_q, next;
  logic [1:0]      waits_q;
  logic [511:0]    data;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_vrbh #(.NumQueues(2), .Prefetch(2)) i_dut (
    .clk_i, .rst_ni, .start_i(asks_i), .stop_i(pick_i), .list_i(address_i[63:6]), .segments_i(32'(address_i[5:4])), .queue_i(1'b0), .valid_o(), .address_o(), .first_o(),
    .take_i(1'b0), .commit_i(1'b0), .revoke_i(1'b0), .skip_i(1'b0), .idle_o(), .error_o(), .arvalid_o(arvalid), .arready_i,
    .araddr_o(araddr), .rvalid_i, .rready_o(rready), .rdata_i(data), .rresp_i(2'b00)
  );
  formal_stream #(.Width(64)) i_address (.clk_i, .rst_ni, .valid_i(arvalid), .ready_i(arready_i), .data_i(araddr));
  always_comb begin
    for (int unsigned i = 0; i < 4; i++) data[128*i +: 128] = 128'({address_q[0], 2'(i)});
    next = count_q - 3'(rvalid_i);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
      waits_q <= '0;
    end else begin
      if (rvalid_i) address_q <= {2'b00, address_q[3:1]};
      if (arvalid && arready_i) address_q[next[1:0]] <= araddr[7:6];
      count_q <= next + 3'(arvalid && arready_i);
      waits_q <= arvalid && !arready_i ? waits_q + 2'd1 : '0;
    end
  end
  always_comb begin
    assume (!rvalid_i || count_q != '0);
    assume (arready_i || waits_q != 2'd2);
    if (rst_ni) begin
      assert (count_q + 3'(arvalid) <= 3'd4);
      assert (rready && araddr[5:0] == '0);
    end
  end
endmodule
