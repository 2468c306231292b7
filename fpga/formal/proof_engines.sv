/// Two decode cores beside each other: each channel's datagrams go to one core, in their order, and what that core gives
/// leaves in its order, each slot once, records never mixed; a record that can leave waits for one of the other core at most.
/// What the cores do is open (formal_engine_core), the records' lengths as well; the rooms are small.
module proof_engines
  import stopbit_pkg::*;
(
  input logic              clk_i,
  input logic              rst_ni,
  input logic              valid_i,
  input stopbit_datagram_t datagram_i,
  input stopbit_beat_t     beat_i,
  input logic              ready_i
);
  localparam int unsigned NumberBits = 3;
  logic          ready, valid, idle, moves;
  logic [31:0]   back_data;
  logic [1:0]    done;
  logic [2:0]    issued;
  stopbit_slot_t slot;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_engines #(
    .Engines(2), .Beats(4), .Datagrams(2), .Slots(4)
  ) i_dut (
    .clk_i, .rst_ni, .load_i('0), .back_data_o(back_data), .valid_i, .ready_o(ready), .datagram_i, .beat_i,
    .valid_o(valid), .ready_i, .slot_o(slot), .idle_o(idle), .datagrams_done_o(done), .issued_o(issued)
  );
  assign moves = rst_ni && valid && ready_i;

  // Datagrams come with the count of those of their lane, all beats of one with the same header.
  logic                  within_q = 1'b0, lane_q;
  logic [NumberBits-1:0] count_q[2];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      within_q <= 1'b0;
      count_q  <= '{default: '0};
    end else if (valid_i && ready) begin
      within_q <= !beat_i.last;
      lane_q   <= datagram_i.channel[0];
      if (beat_i.last) count_q[datagram_i.channel[0]] <= count_q[datagram_i.channel[0]] + NumberBits'(1);
    end
  end
  always_comb begin
    assume (!within_q || datagram_i.channel[0] == lane_q);
    assume (datagram_i.number[NumberBits-1:0] == count_q[datagram_i.channel[0]]);
  end

  // Slots leave in the order of their core, and those of a record without another's among them.
  logic                  inside_q = 1'b0, owner_q;
  logic [NumberBits-1:0] left_q[2];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= 1'b0;
      left_q   <= '{default: '0};
    end else if (moves) begin
      inside_q <= !(slot.last || slot.aborted);
      owner_q  <= slot.data[0];
      left_q[slot.data[0]] <= left_q[slot.data[0]] + NumberBits'(1);
    end
  end
`ifdef COVER
  logic [1:0] long_q, more_q;  // by lane: a record of several slots has left; the second datagram has been taken
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      long_q <= '0;
      more_q <= '0;
    end else begin
      if (moves && inside_q && slot.last) long_q[slot.data[0]] <= 1'b1;
      if (valid_i && ready && beat_i.last && count_q[datagram_i.channel[0]] != '0) more_q[datagram_i.channel[0]] <= 1'b1;
    end
  end
  always_comb if (rst_ni) assert (!(&long_q && &more_q && idle));
`else
  always_comb begin
    if (rst_ni && valid) begin
      assert (slot.data[NumberBits:1] == left_q[slot.data[0]]);
      assert (!inside_q || slot.data[0] == owner_q);
    end
  end
  formal_stream #(.Width(NumberBits + 3)) i_slots (
    .clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i({slot.data[NumberBits:0], slot.last, slot.aborted})
  );
`endif

  logic unused;
  assign unused = &{1'b0, back_data, idle, done, issued};
endmodule
