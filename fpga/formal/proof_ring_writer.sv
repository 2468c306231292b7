/// One ring, a memory that always answers at once, a host that always gives credit: whatever records come, and whenever the ring
/// begins, no slot waits longer than MaxWait cycles. Published slots never exceed claimed ones. Addresses and bursts
/// keep the rules. MaxWait is the longest wait of the cycles that the proof looks at: with one less it fails in cycle 19.
module proof_ring_writer
  import stopbit_ring_pkg::*;
#(
  parameter int unsigned MaxWait = 9
) (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        pick_i,
  input logic        start_i,
  input logic        long_i,     // 32 slots, not 16
  input logic [1:0]  mode_i,
  input logic [2:0]  max_slots_i,
  input logic        valid_i,
  input logic [2:0]  index_i,
  input logic [2:0]  count_i,    // as slot 0 tells it
  input logic        last_i,
  input logic        abort_i
);
  ring_setup_t  setup;
  ring_status_t status;
  logic [4:0]   slots_log2;
  assign slots_log2 = long_i ? 5'd5 : 5'd4;
  always_comb begin
    setup             = '0;
    setup.header      = 64'h1_0000;
    setup.descriptors = 64'h2_0000;
    setup.segments    = 32'd1;
    setup.slots_log2  = slots_log2;
    setup.max_slots   = 16'(max_slots_i);
    setup.mode        = mode_i;
    setup.credit      = 64'h7FFF_FFFF_FFFF_FFFF;
  end
  // The setup stays.
  logic       begun_q = 1'b0, long_q;
  logic [1:0] mode_q;
  logic [2:0] max_slots_q;
  always_ff @(posedge clk_i) begin
    begun_q     <= 1'b1;
    long_q      <= long_i;
    mode_q      <= mode_i;
    max_slots_q <= max_slots_i;
  end
  always_comb if (begun_q) assume (long_i == long_q && mode_i == mode_q && max_slots_i == max_slots_q);

  logic ready, awvalid, wvalid, wlast, bvalid, bready, arvalid, rvalid, rready;
  logic [63:0] awaddr, araddr;
  logic [7:0] awlen, complete_q = '0, reads_q = '0, wait_q = '0;
  formal_reset i_reset (.clk_i, .rst_ni);
  formal_stream #(.Width(8), .Assumed(1)) i_in (
    .clk_i, .rst_ni, .valid_i, .ready_i(ready), .data_i({index_i, count_i, last_i, abort_i})
  );
  assign bvalid = complete_q != '0;
  assign rvalid = reads_q != '0;
  stopbit_ring_writer #(.NumRings(1)) i_dut (
    .clk_i, .rst_ni, .start_i, .stop_i(1'b0), .setup_i(setup), .timeout_i('0), .status_o(status), .refused_o(), .broken_o(),
    .starved_o(), .write_error_o(), .idle_o(), .room_o(), .waits_i(1'b0), .valid_i, .ready_o(ready), .ring_i(1'b0), .data_i(512'(count_i) << 16),
    .index_i(16'(index_i)), .last_i, .abort_i, .awvalid_o(awvalid), .awready_i(1'b1), .awaddr_o(awaddr), .awlen_o(awlen),
    .wvalid_o(wvalid), .wready_i(1'b1), .wdata_o(), .wstrb_o(), .wlast_o(wlast), .bvalid_i(bvalid), .bready_o(bready),
    .bresp_i(2'b00), .arvalid_o(arvalid), .arready_i(1'b1), .araddr_o(araddr), .rvalid_i(rvalid), .rready_o(rready),
    .rdata_i({4{32'd0, 32'd1 << slots_log2, 64'h3_0000}}), .rresp_i(2'b00)
  );
  formal_axi_write #(.MaxBursts(64), .WithData(0)) i_rules (
    .clk_i, .rst_ni, .pick_i, .awvalid_i(awvalid), .awready_i(1'b1), .awaddr_i(awaddr), .awlen_i(awlen),
    .wvalid_i(wvalid), .wready_i(1'b1), .wdata_i('0), .wstrb_i('0), .wlast_i(wlast), .bvalid_i(bvalid), .bready_i(bready)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      complete_q <= '0;
      reads_q    <= '0;
      wait_q     <= '0;
    end else begin
      complete_q <= complete_q + 8'(wvalid && wlast) - 8'(bvalid && bready);
      reads_q    <= reads_q + 8'(arvalid) - 8'(rvalid && rready);
      wait_q     <= valid_i && !ready ? wait_q + 8'd1 : '0;
    end
  end
  always_comb begin
    if (rst_ni) begin
      assert (wait_q <= 8'(MaxWait));
      assert (!status.running || status.number <= status.claim);
    end
  end
endmodule
