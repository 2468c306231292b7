/// Descriptors come only on request; then there is always room for them. The address that is shown stays
/// until it is taken, or what is on trial is settled, or the queue begins anew.
module proof_vrbh_queue (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         start_i,
  input logic         stop_i,
  input logic [63:6]  list_i,
  input logic [31:0]  segments_i,
  input logic         take_i,
  input logic         commit_i,
  input logic         revoke_i,
  input logic         fetch_ready_i,
  input logic         descriptor_valid_i,
  input logic [127:0] descriptor_i,
  input logic         descriptor_error_i
);
  logic valid, first, idle, error, fetch_valid;
  logic [63:6] address, address_q;
  logic [63:4] fetch_address;
  logic [2:0] asked_q = '0;
  logic waits_q = 1'b0;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_vrbh_queue #(.Prefetch(2)) i_dut (
    .clk_i, .rst_ni, .start_i, .stop_i, .list_i, .segments_i, .valid_o(valid), .address_o(address), .first_o(first),
    .take_i, .commit_i, .revoke_i, .skip_i(1'b0), .idle_o(idle), .error_o(error), .fetch_valid_o(fetch_valid), .fetch_ready_i,
    .fetch_address_o(fetch_address), .descriptor_valid_i, .descriptor_i, .descriptor_error_i
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) asked_q <= '0;
    else asked_q <= asked_q + 3'(fetch_valid && fetch_ready_i) - 3'(descriptor_valid_i);
    waits_q   <= rst_ni && valid && !take_i && !revoke_i && !start_i && !stop_i && !error;
    address_q <= address;
  end
  always_comb begin
    if (rst_ni) begin
      assume (!descriptor_valid_i || asked_q != '0);
      assert (asked_q <= 3'd2);
      assert (idle == (asked_q == '0));
      assert (!waits_q || (valid && address == address_q));
    end
  end
endmodule
