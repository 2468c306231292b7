/// The bursts that the writer counts are those that were offered or taken and have no response: the count never goes
/// below none or above MaxOutstanding, whatever memory does but answer what it does not have.
module proof_axi_credit (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       valid_i,
  input logic [1:0] line_i,
  input logic       awready_i,
  input logic       wready_i,
  input logic       bvalid_i
);
  logic idle, awvalid, wvalid, wlast;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_axi_writer #(.Depth(2), .MaxOutstanding(3)) i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(), .address_i(58'(line_i)), .data_i('0), .strobe_i('0), .idle_o(idle), .error_o(),
    .awvalid_o(awvalid), .awready_i, .awaddr_o(), .awlen_o(), .wvalid_o(wvalid), .wready_i, .wdata_o(), .wstrb_o(),
    .wlast_o(wlast), .bvalid_i, .bready_o(), .bresp_i(2'b00)
  );
  logic [3:0] taken_q, complete_q;  // bursts whose address was taken, and of these, with all their data
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      taken_q    <= '0;
      complete_q <= '0;
    end else begin
      taken_q    <= taken_q + 4'(awvalid && awready_i) - 4'(bvalid_i);
      complete_q <= complete_q + 4'(wvalid && wready_i && wlast) - 4'(bvalid_i);
    end
  end
  always_comb begin
    assume (!bvalid_i || complete_q != '0);
    if (rst_ni) begin
      assert (4'(i_dut.outstanding_q) == taken_q + 4'(awvalid));
      assert (4'(i_dut.outstanding_q) <= 4'd3);
      assert (complete_q <= taken_q);
      assert (!idle || (taken_q == '0 && !awvalid && !wvalid));
    end
  end
endmodule
