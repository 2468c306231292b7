/// The register port: answers stay until they are taken, and each request has one.
module proof_axil (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        awvalid_i,
  input logic [15:0] awaddr_i,
  input logic        wvalid_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input logic        bready_i,
  input logic        arvalid_i,
  input logic [15:0] araddr_i,
  input logic        rready_i,
  input logic [31:0] read_data_i
);
  logic awready, wready, bvalid, arready, rvalid, write, read;
  logic [1:0] bresp, rresp;
  logic [31:0] rdata;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_axil_slave i_dut (
    .clk_i, .rst_ni, .awvalid_i, .awready_o(awready), .awaddr_i, .wvalid_i, .wready_o(wready), .wdata_i, .wstrb_i,
    .bvalid_o(bvalid), .bready_i, .bresp_o(bresp), .arvalid_i, .arready_o(arready), .araddr_i, .rvalid_o(rvalid), .rready_i,
    .rdata_o(rdata), .rresp_o(rresp), .write_o(write), .write_address_o(), .write_data_o(), .write_strobe_o(),
    .read_o(read), .read_address_o(), .read_data_i
  );
  formal_stream #(.Width(2)) i_b (.clk_i, .rst_ni, .valid_i(bvalid), .ready_i(bready_i), .data_i(bresp));
  // The register block keeps what was read until the next read.
  logic read_q = 1'b0;
  logic [31:0] read_data_q;
  always_ff @(posedge clk_i) begin
    read_q      <= read;
    read_data_q <= read_data_i;
  end
  always_comb if (!read_q) assume (read_data_i == read_data_q);
  formal_stream #(.Width(34)) i_r (.clk_i, .rst_ni, .valid_i(rvalid), .ready_i(rready_i), .data_i({rdata, rresp}));
  logic [1:0] writes_q = '0, reads_q = '0;  // without answer
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      writes_q <= '0;
      reads_q  <= '0;
    end else begin
      writes_q <= writes_q + 2'(awvalid_i && awready) - 2'(bvalid && bready_i);
      reads_q  <= reads_q + 2'(arvalid_i && arready) - 2'(rvalid && rready_i);
    end
  end
  always_comb begin
    if (rst_ni) begin
      assert ((awvalid_i && awready) == (wvalid_i && wready) && (awvalid_i && awready) == write);
      assert ((arvalid_i && arready) == read);
      assert (writes_q == 2'(bvalid) && reads_q == 2'(rvalid));
    end
  end
endmodule
