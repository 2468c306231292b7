/// What a queue of stopbit_vrbh sees of the port that all share: its turn comes within MaxWait cycles, and the descriptors that come are
/// those it asked for, in their order. Assumes of the queue that it never asks for more than Prefetch, and of memory that it
/// answers in each quarter of a beat with the address of that quarter.
module formal_fetches #(
  parameter int unsigned Prefetch = 2,
  parameter int unsigned MaxWait  = 8
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         pick_i,
  input logic         fetch_valid_i,
  input logic         fetch_ready_i,
  input logic [63:4]  fetch_address_i,
  input logic         descriptor_valid_i,
  input logic [127:0] descriptor_i
);
  logic [3:0] wait_q;
  logic [$clog2(Prefetch + 2)-1:0] asked;
  formal_order #(.Width(4), .Capacity(Prefetch)) i_order (
    .clk_i, .rst_ni, .pick_i, .put_i(fetch_valid_i && fetch_ready_i), .put_data_i(fetch_address_i[7:4]),
    .take_i(descriptor_valid_i), .take_data_i(descriptor_i[3:0]), .count_o(asked)
  );
  always_ff @(posedge clk_i) wait_q <= rst_ni && fetch_valid_i && !fetch_ready_i ? wait_q + 4'd1 : '0;
  always_comb begin
    assume (!fetch_valid_i || 32'(asked) < Prefetch);
    if (rst_ni) assert (wait_q <= 4'(MaxWait));
  end
endmodule
