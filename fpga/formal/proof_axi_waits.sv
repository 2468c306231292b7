/// The way to memory always goes on: if memory takes an offered address and offered data within two cycles, and answers a burst
/// whose data it has within two, in whatever order these come, then a beat waits at most MaxWait cycles, and MaxDrain cycles
/// after the last beat everything has its response.
module proof_axi_waits #(
  parameter int unsigned MaxWait  = 24,
  parameter int unsigned MaxDrain = 40
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       valid_i,
  input logic [1:0] line_i,  // of a page
  input logic       awready_i,
  input logic       wready_i,
  input logic       bvalid_i
);
  logic ready, idle, awvalid, wvalid, wlast;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_axi_writer #(.Depth(2), .MaxOutstanding(2)) i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .address_i(58'(line_i)), .data_i('0), .strobe_i('0), .idle_o(idle), .error_o(),
    .awvalid_o(awvalid), .awready_i, .awaddr_o(), .awlen_o(), .wvalid_o(wvalid), .wready_i, .wdata_o(), .wstrb_o(),
    .wlast_o(wlast), .bvalid_i, .bready_o(), .bresp_i(2'b00)
  );
  logic [2:0] complete_q;  // bursts that wait for their response
  logic [1:0] aw_q, w_q, b_q;  // cycles that memory has let pass
  logic [5:0] wait_q, drain_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      complete_q <= '0;
      {aw_q, w_q, b_q} <= '0;
      {wait_q, drain_q} <= '0;
    end else begin
      complete_q <= complete_q + 3'(wvalid && wready_i && wlast) - 3'(bvalid_i);
      aw_q       <= awvalid && !awready_i ? aw_q + 2'd1 : '0;
      w_q        <= wvalid && !wready_i ? w_q + 2'd1 : '0;
      b_q        <= complete_q != '0 && !bvalid_i ? b_q + 2'd1 : '0;
      wait_q     <= valid_i && !ready ? wait_q + 6'd1 : '0;
      drain_q    <= (valid_i && ready) || idle ? '0 : drain_q + 6'd1;
    end
  end
  always_comb begin
    assume (!bvalid_i || complete_q != '0);
    assume (awready_i || aw_q != 2'd2);
    assume (wready_i || w_q != 2'd2);
    assume (bvalid_i || complete_q == '0 || b_q != 2'd2);
    if (rst_ni) begin
      assert (wait_q <= 6'(MaxWait));
      assert (drain_q <= 6'(MaxDrain));
    end
  end
endmodule
