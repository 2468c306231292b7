/// A packet begins only where the network's port has room for one of its class, though two decide so: the unit, whose
/// requests and answers are joined before, and the records. Each packet leaves whole, and what is offered stays.
module proof_remote_turns
  import stopbit_link_pkg::start_t;
  import stopbit_rma_pkg::*;
(
  input logic       clk_i,
  input logic       rst_ni,
  input logic [2:0] valid_i,  // requests and answers of the unit, records
  input logic [2:0] last_i,
  input logic [2:0] bit_i,
  input logic [1:0] room_i,
  input logic       ready_i
);
  formal_reset i_reset (.clk_i, .rst_ni);

  // Words say whose they are, and their class.
  logic [2:0]      ready, inside_q;
  rma_word_t [2:0] word;
  start_t [2:0]    start;
  for (genvar i = 0; i < 3; i++) begin : g_in
    assign start[i] = '{crc: '0, vpid: '0, node: '0, unit: '0, traffic_class: i == 1 ? Answers : Requests, channel: '0,
                        multicast: 1'b0, marker: {11'd0, 2'(i), bit_i[i]}};
    assign word[i]  = '{is_first: !inside_q[i], is_last: last_i[i], data: start[i]};
    formal_stream #(.Width(2), .Assumed(1)) i_in (
      .clk_i, .rst_ni, .valid_i(valid_i[i]), .ready_i(ready[i]), .data_i({last_i[i], bit_i[i]})
    );
    // Packets have three words or more: the first has left the unit's buffer of two before the next packet is chosen.
    logic second_q;
    always_comb assume (!rst_ni || !valid_i[i] || !last_i[i] || (inside_q[i] && second_q));
    always_ff @(posedge clk_i) begin
      if (!rst_ni) inside_q[i] <= 1'b0;
      else if (valid_i[i] && ready[i]) inside_q[i] <= !last_i[i];
      if (valid_i[i] && ready[i]) second_q <= inside_q[i];
    end
  end

  logic       unit_valid, unit_ready, valid;
  logic [1:0] unit_room, has_room_q;
  rma_word_t  unit_word, out;
  start_t     out_start;
  stopbit_rma_merge #(.Inputs(2), .Width($bits(rma_word_t))) i_unit (
    .clk_i, .rst_ni, .may_i(unit_room), .valid_i(valid_i[1:0]), .ready_o(ready[1:0]), .last_i(last_i[1:0]),
    .data_i({word[1], word[0]}), .valid_o(unit_valid), .ready_i(unit_ready), .data_o(unit_word)
  );
  stopbit_remote_turns i_dut (
    .clk_i, .rst_ni, .unit_valid_i(unit_valid), .unit_ready_o(unit_ready), .unit_word_i(unit_word), .unit_room_o(unit_room),
    .record_valid_i(valid_i[2]), .record_ready_o(ready[2]), .record_word_i(word[2]), .valid_o(valid), .ready_i,
    .word_o(out), .room_i
  );
  formal_stream #(.Width($bits(rma_word_t))) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i(out));
  assign out_start = out.data;

  // Room comes at any time, and goes only with a packet of its class.
  logic       is_answer, begins;
  logic [1:0] owner, owner_q;
  logic       open_q;
  assign is_answer = out_start.traffic_class == Answers;
  assign owner     = out_start.marker[2:1];
  assign begins    = valid && ready_i && out.is_first;
  for (genvar c = 0; c < 2; c++) begin : g_room
    always_ff @(posedge clk_i) has_room_q[c] <= rst_ni && room_i[c] && !(begins && is_answer == 1'(c));
    always_comb assume (!rst_ni || !has_room_q[c] || room_i[c]);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= 1'b0;
    else if (valid && ready_i) open_q <= !out.is_last;
    if (valid && ready_i) owner_q <= owner;
  end
`ifdef COVER
  logic [2:0] seen_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) seen_q <= '0;
    else if (valid && ready_i && open_q && out.is_last) seen_q[owner] <= 1'b1;
  end
  always_comb if (rst_ni) assert (!(&seen_q));
`else
  always_comb begin
    if (rst_ni) begin
      assert (!valid || !out.is_first || room_i[is_answer]);
      assert (!valid || out.is_first == !open_q);
      assert (!valid || !open_q || owner == owner_q);
    end
  end
`endif
endmodule
