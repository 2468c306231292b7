/// Two queues of two words or one of four, as the mask says, which is any and stays.
module proof_multi_fifo (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       one_i,     // queue
  input logic       pick_i,
  input logic       queue_i,   // whose words are followed
  input logic       valid_i,
  input logic       write_queue_i,
  input logic       data_i,
  input logic       read_i,
  input logic       read_queue_i
);
  logic one_q, queue_q, begun_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    one_q   <= one_i;
    queue_q <= queue_i;
  end
  always_comb begin
    if (begun_q) assume (one_i == one_q && queue_i == queue_q);
    assume (!one_i || (!write_queue_i && !read_queue_i && !queue_i));
  end
  logic ready, valid, data, taken_q = 1'b0;
  logic [1:0] nonempty;
  logic [2:0] count;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_multi_fifo #(.Width(1), .AddressWidth(2), .QueueWidth(1)) i_dut (
    .clk_i, .rst_ni, .mask_i(one_i ? 2'b11 : 2'b01), .valid_i, .ready_o(ready), .write_queue_i, .data_i,
    .nonempty_o(nonempty), .read_i, .read_queue_i, .valid_o(valid), .data_o(data)
  );
  logic take;
  assign take = read_i && nonempty[read_queue_i];
  always_ff @(posedge clk_i) taken_q <= rst_ni && take;
  always_comb if (rst_ni) assert (valid == taken_q);
  // Of one queue, any: a word counts as taken when it is shown, one cycle after it was requested.
  logic own_q;
  always_ff @(posedge clk_i) own_q <= read_queue_i == queue_i;
  formal_order #(.Width(1), .Capacity(5)) i_order (
    .clk_i, .rst_ni, .pick_i, .put_i(valid_i && ready && write_queue_i == queue_i), .put_data_i(data_i),
    .take_i(valid && own_q), .take_data_i(data), .count_o(count)
  );
  always_comb if (rst_ni) assert (count - 3'(valid && own_q) <= (one_i ? 3'd4 : 3'd2));
endmodule
