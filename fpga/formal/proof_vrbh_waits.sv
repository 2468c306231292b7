/// The list of segments always goes on: with descriptors that make sense, of up to three segments of up to three slots, which are
/// requested within two cycles and come within two, a queue that runs has no address for at most MaxWait cycles after what made it
/// go elsewhere: a start, a way back, a way to the ring's first slot.
module proof_vrbh_waits #(
  parameter int unsigned MaxWait = 30
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       start_i,
  input logic       stop_i,
  input logic [1:0] segments_i,
  input logic       take_i,
  input logic       commit_i,
  input logic       revoke_i,
  input logic       skip_i,
  input logic       fetch_ready_i,
  input logic       descriptor_valid_i,
  input logic [1:0] slots_i
);
  logic valid, fetch_valid;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_vrbh_queue #(.Prefetch(2)) i_dut (
    .clk_i, .rst_ni, .start_i, .stop_i, .list_i('0), .segments_i(32'(segments_i)), .valid_o(valid), .address_o(), .first_o(),
    .take_i, .commit_i, .revoke_i, .skip_i, .idle_o(), .error_o(), .fetch_valid_o(fetch_valid), .fetch_ready_i,
    .fetch_address_o(), .descriptor_valid_i, .descriptor_i({32'd0, 32'(slots_i), 64'd0}), .descriptor_error_i(1'b0)
  );
  logic [1:0] asked_q, fetch_q, answer_q;
  logic [5:0] wait_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {asked_q, fetch_q, answer_q} <= '0;
      wait_q <= '0;
    end else begin
      asked_q  <= asked_q + 2'(fetch_valid && fetch_ready_i) - 2'(descriptor_valid_i);
      fetch_q  <= fetch_valid && !fetch_ready_i ? fetch_q + 2'd1 : '0;
      answer_q <= asked_q != '0 && !descriptor_valid_i ? answer_q + 2'd1 : '0;
      wait_q   <= !i_dut.active_q || valid || start_i || stop_i || revoke_i || skip_i ? '0 : wait_q + 6'd1;
    end
  end
  always_comb begin
    assume (segments_i != '0 && slots_i != '0);
    assume (!(skip_i && i_dut.trial_q && !commit_i) && !(skip_i && revoke_i));
    assume (!descriptor_valid_i || asked_q != '0);
    assume (fetch_ready_i || fetch_q != 2'd2);
    assume (descriptor_valid_i || asked_q == '0 || answer_q != 2'd2);
    if (rst_ni) assert (wait_q <= 6'(MaxWait));
  end
endmodule
