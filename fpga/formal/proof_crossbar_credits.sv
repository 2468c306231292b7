/// Two channels that take slots of the longest packet, give back what it did not need, and have the others freed by a peer.
/// Honest: it frees what it has; then it never gets more than it has room for, and is known to be empty when it is. Else it
/// frees what it likes; then the counts still add up, and a packet still takes only what is free.
module proof_crossbar_credits #(
  parameter bit Honest = 1'b1
) (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       take_i,
  input logic       take_channel_i,
  input logic       done_i,
  input logic [2:0] done_slots_i,
  input logic       freed_i,
  input logic       freed_channel_i
);
  localparam int unsigned Room = 8;
  logic [1:0] may_send, may_send_q;
  logic       done_channel;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_crossbar_credits #(.NumChannels(2), .Room(Room), .Reserve(2)) i_dut (
    .clk_i, .rst_ni, .restart_i(1'b0), .take_i, .take_channel_i(4'(take_channel_i)), .done_i, .done_channel_i(4'(done_channel)),
    .done_slots_i, .freed_i, .freed_channel_i(4'(freed_channel_i)), .may_send_o(may_send), .excess_o()
  );

  // Packets that have begun: at most two, the second one at least four cycles after the first; a packet has
  // two cells at least.
  logic [1:0] open_q;
  logic       done_q;
  logic       older_q, newer_q;
  logic [2:0] since_q;
  assign done_channel = open_q == 2'd2 ? older_q : newer_q;
  always_ff @(posedge clk_i) begin
    may_send_q <= may_send;
    done_q     <= rst_ni && done_i;
    if (!rst_ni) begin
      open_q  <= '0;
      since_q <= '0;
    end else begin
      open_q  <= open_q + 2'(take_i) - 2'(done_i);
      since_q <= take_i ? 3'd3 : since_q == '0 ? '0 : since_q - 1'b1;
      if (take_i) begin
        older_q <= newer_q;
        newer_q <= take_channel_i;
      end
    end
  end
  always_comb begin
    assume (!take_i || (may_send_q[take_channel_i] && since_q == '0 && open_q < 2'd2));
    assume (!done_i || (!done_q && open_q != '0 && done_slots_i >= 3'd1 && done_slots_i <= 3'd4));
  end

  // What the peer has.
  logic [1:0][4:0] has_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      has_q <= '0;
    end else begin
      for (int i = 0; i < 2; i++) begin
        has_q[i] <= has_q[i] + (done_i && done_channel == 1'(i) ? 5'(done_slots_i) : 5'd0)
                  - 5'(freed_i && freed_channel_i == 1'(i));
      end
    end
  end
  // What is taken beside that: for packets that have not ended, and what comes back a cycle after one has.
  logic [1:0][5:0] taken, back;
  always_comb begin
    for (int i = 0; i < 2; i++) begin
      taken[i] = (open_q != '0 && newer_q == 1'(i) ? 6'd4 : 6'd0) + (open_q == 2'd2 && older_q == 1'(i) ? 6'd4 : 6'd0);
      back[i]  = i_dut.back_channel_q == 4'(i) ? 6'(i_dut.back_q) : 6'd0;
    end
  end
  always_comb begin
    if (rst_ni) begin
`ifndef COVER
      assert (5'(i_dut.free_q) + 5'(i_dut.used_q[0]) + 5'(i_dut.used_q[1]) == 5'(Room));
      assert (!take_i || i_dut.free_q >= 4'd4);
`endif
    end
  end
  if (Honest) begin : gen_honest
    always_comb begin
      assume (!freed_i || has_q[freed_channel_i] != '0);
      if (rst_ni) begin
`ifdef COVER
        assert (has_q[0] < 5'd6);  // more than its reserve: also of the pool
`else
        assert (6'(has_q[0]) + 6'(has_q[1]) + 6'({open_q, 2'b00}) <= 6'(Room));
        for (int i = 0; i < 2; i++) assert (6'(i_dut.used_q[i]) == 6'(has_q[i]) + taken[i] + back[i]);
`endif
      end
    end
  end
endmodule
