/// Words come out in order and as they went in; a double take drops the word after the one shown, or says that there was only one.
module proof_double_fifo (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       pick_i,
  input logic       valid_i,
  input logic [1:0] data_i,
  input logic       ready_i,
  input logic       double_i
);
  logic ready, valid, single;
  logic [1:0] data;
  logic [2:0] count;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_fifo #(.Width(2), .Depth(4), .MaxTake(2)) i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .data_i, .valid_o(valid), .ready_i, .double_i, .single_o(single), .data_o(data), .count_o(count)
  );
  formal_stream #(.Width(2)) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i(data));

  logic [2:0] inside_q = '0, ahead_q, gone;
  logic       picked_q = 1'b0, take;
  logic [1:0] data_q;
  assign take = valid && ready_i;
  assign gone = !take ? 3'd0 : double_i && inside_q != 3'd1 ? 3'd2 : 3'd1;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= '0;
      picked_q <= 1'b0;
    end else begin
      inside_q <= inside_q + 3'(valid_i && ready) - gone;
      ahead_q  <= ahead_q - gone;
      if (picked_q && ahead_q < gone) picked_q <= 1'b0;
      if (!picked_q && valid_i && ready && pick_i) begin
        picked_q <= 1'b1;
        data_q   <= data_i;
        ahead_q  <= inside_q - gone;
      end
    end
  end
  always_comb begin
    if (rst_ni) begin
      assert (count == inside_q && inside_q <= 3'd4 && ready == (inside_q != 3'd4));
      assert (!valid || inside_q != '0);
      assert (single == (take && double_i && inside_q == 3'd1));
      assert (!(picked_q && valid && ahead_q == '0) || data == data_q);
    end
  end
endmodule
