/// Two channels of a sender, and the same counters at the receiver, whose slots come back some time later. Honest: the
/// receiver frees what it has; then the sender never uses more than there is room for, both agree on what is used, and a
/// channel with an empty store may begin, whatever the other one holds. Otherwise the receiver frees any slots; then no
/// channel is ever believed to have more than its reserve and the pool.
module proof_network_credits #(
  parameter bit Honest = 1'b1
) (
  input logic clk_i,
  input logic rst_ni,
  input logic use_i,
  input logic use_channel_i,
  input logic freed_i,
  input logic freed_channel_i
);
  localparam int unsigned Room    = 11;
  localparam int unsigned Reserve = 4;
  localparam int unsigned Pool    = Room - 2 * Reserve;
  logic [1:0] may_begin, may_use, their_may_use;
  logic       freed_q, freed_channel_q;  // on its way to the sender
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_network_credits #(.NumChannels(2), .Room(Room), .Reserve(Reserve)) i_sender (
    .clk_i, .rst_ni, .may_begin_o(may_begin), .may_use_o(may_use), .use_i, .use_channel_i(4'(use_channel_i)),
    .freed_i(freed_q), .freed_channel_i(4'(freed_channel_q)), .excess_o()
  );
  stopbit_network_credits #(.NumChannels(2), .Room(Room), .Reserve(Reserve)) i_receiver (
    .clk_i, .rst_ni, .may_begin_o(), .may_use_o(their_may_use), .use_i(use_i && their_may_use[use_channel_i]),
    .use_channel_i(4'(use_channel_i)), .freed_i, .freed_channel_i(4'(freed_channel_i)), .excess_o()
  );
  always_ff @(posedge clk_i) begin
    freed_channel_q <= freed_channel_i;
    freed_q         <= rst_ni && freed_i;
  end

  // A packet begins with room for the longest one, and then uses at most four slots; the other channel waits for its end.
  logic [2:0] left_q;
  logic       channel_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) left_q <= '0;
    else if (use_i && left_q == '0) left_q <= 3'd3;
    else if (use_i) left_q <= left_q - 1'b1;
    else if (freed_channel_i) left_q <= '0;  // it has ended, at any time
    if (use_i) channel_q <= use_channel_i;
  end
  always_comb assume (!use_i || (left_q == '0 ? may_begin[use_channel_i] : use_channel_i == channel_q));

  logic [1:0][3:0] has, used;  // what the receiver has, and what the sender believes, with the slot of the cycle before
  always_comb begin
    for (int i = 0; i < 2; i++) begin
      has[i]  = i_receiver.used_q[i] + 4'(i_receiver.uses[i]);
      used[i] = i_sender.used_q[i] + 4'(i_sender.uses[i]);
    end
  end
  if (Honest) begin : gen_honest
    always_comb begin
      assume (!freed_i || has[freed_channel_i] != '0);
      if (rst_ni) begin
`ifdef COVER
        // One channel has its reserve and the whole pool, the other one still may begin, and then has its reserve.
        assert (!(has[0] == 4'(Reserve + Pool) && has[1] == 4'(Reserve)));
`else
        assert (5'(has[0]) + 5'(has[1]) <= 5'(Room));
        for (int i = 0; i < 2; i++) begin
          assert (used[i] == has[i] + 4'(freed_q && freed_channel_q == 1'(i)));
          assert (used[i] != '0 || may_begin[i]);
        end
        assert (!use_i || (may_use[use_channel_i] && their_may_use[use_channel_i]));
`endif
      end
    end
  end else begin : gen_any
    always_comb begin
      if (rst_ni) begin
        for (int i = 0; i < 2; i++) begin
          assert (used[i] <= 4'(Reserve + Pool));
          assert (has[i] <= 4'(Reserve + Pool));
        end
        assert (5'(has[0]) + 5'(has[1]) <= 5'(Room));
        assert (5'(used[0]) + 5'(used[1]) <= 5'(Room));
        assert (!use_i || may_use[use_channel_i]);
      end
    end
  end
endmodule
