module proof_axi_writer (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         pick_i,
  input logic         valid_i,
  input logic [63:6]  address_i,
  input logic [3:0]   data_i,  // bits that change; the others are 0
  input logic         strobe_i,
  input logic         awready_i,
  input logic         wready_i,
  input logic         bvalid_i,
  input logic [1:0]   bresp_i
);
  logic ready, idle, error, awvalid, wvalid, wlast, bready;
  logic [63:0] awaddr, wstrb;
  logic [7:0] awlen;
  logic [511:0] wdata;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_axi_writer #(.Depth(4), .MaxOutstanding(4)) i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .address_i, .data_i(512'(data_i)), .strobe_i(64'(strobe_i)), .idle_o(idle), .error_o(error),
    .awvalid_o(awvalid), .awready_i, .awaddr_o(awaddr), .awlen_o(awlen),
    .wvalid_o(wvalid), .wready_i, .wdata_o(wdata), .wstrb_o(wstrb), .wlast_o(wlast), .bvalid_i, .bready_o(bready), .bresp_i
  );
  formal_axi_write #(.MaxBursts(4)) i_rules (
    .clk_i, .rst_ni, .pick_i, .awvalid_i(awvalid), .awready_i, .awaddr_i(awaddr), .awlen_i(awlen),
    .wvalid_i(wvalid), .wready_i, .wdata_i(wdata), .wstrb_i(wstrb), .wlast_i(wlast), .bvalid_i, .bready_i(bready)
  );
endmodule
