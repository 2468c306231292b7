/// Records of two decoders to two rings, whatever they are, whatever room there is and whenever the output takes a cell.
/// What a ring wants of a decoder reaches it in its turn, whole, and once: neither lost, doubled nor overtaken, and it is
/// the record that came (one bit of its last cell is followed).
module proof_fanout (
  input logic       clk_i,
  input logic       rst_ni,
  input logic       pick_i,
  input logic       from_i,      // the decoder and the ring that are followed, any
  input logic       to_i,
  input logic [1:0] valid_i,
  input logic [1:0] cell_i,
  input logic [1:0] last_i,
  input logic [1:0] aborted_i,
  input logic [3:0] rings_i,
  input logic [1:0] room_i,
  input logic       ready_i
);
  localparam int unsigned Records = 2;

  logic from_q, to_q, begun_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q <= 1'b1;
    from_q  <= from_i;
    to_q    <= to_i;
  end
  always_comb if (begun_q) assume (from_i == from_q && to_i == to_q);
  formal_reset i_reset (.clk_i, .rst_ni);

  logic [1:0] ready, judged, waits;
  logic       valid, from_out, cell_out, last, ring, idle;  // each cell says whose it is
  for (genvar i = 0; i < 2; i++) begin : g_input
    formal_stream #(.Width(3), .Assumed(1)) i_in (
      .clk_i, .rst_ni, .valid_i(valid_i[i]), .ready_i(ready[i]), .data_i({cell_i[i], last_i[i], aborted_i[i]})
    );
  end
  // Whose a record is, is said in the cycle after its last cell, and stays until the next is taken.
  logic [1:0] took_q = '0;
  logic [3:0] rings_q;
  always_ff @(posedge clk_i) begin
    took_q  <= valid_i & ready;
    rings_q <= rings_i;
  end
  always_comb begin
    if (begun_q && !took_q[0]) assume (rings_i[1:0] == rings_q[1:0]);
    if (begun_q && !took_q[1]) assume (rings_i[3:2] == rings_q[3:2]);
  end

  stopbit_fanout #(.Width(2), .NumInputs(2), .NumRings(2), .Depth(4), .Records(Records)) i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .cell_i({1'b1, cell_i[1], 1'b0, cell_i[0]}), .last_i, .aborted_i, .rings_i,
    .room_i, .waits_o(waits), .valid_o(valid), .ready_i, .ring_o(ring), .cell_o({from_out, cell_out}), .last_o(last),
    .idle_o(idle), .judged_o(judged), .too_long_o()
  );

  // ---- in its turn, and once
  logic data_q;  // of the last cell
  logic [$clog2(Records + 2)-1:0] count;
  always_ff @(posedge clk_i) if (valid_i[from_i] && ready[from_i]) data_q <= cell_i[from_i];
  formal_order #(.Width(1), .Capacity(Records)) i_order (
    .clk_i, .rst_ni, .pick_i, .put_i(judged[from_i] && rings_i[{from_i, to_i}]), .put_data_i(data_q),
    .take_i(valid && ready_i && last && ring == to_i && from_out == from_i), .take_data_i(cell_out), .count_o(count)
  );

  // ---- whole: no cell of another record before its last one
  logic inside_q = 1'b0, ring_q, from_seen_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) inside_q <= 1'b0;
    else if (valid && ready_i) inside_q <= !last;
    if (valid) {ring_q, from_seen_q} <= {ring, from_out};
  end
  always_comb if (rst_ni && inside_q && valid) assert (ring == ring_q && from_out == from_seen_q);

`ifdef COVER
  // Both rings wait for a record of each decoder at once, and then no record is left.
  logic full_q = 1'b0;
  always_ff @(posedge clk_i) full_q <= rst_ni && (full_q || (waits == '1 && ready == '0));
  always_comb assert (!(full_q && idle));
`endif
endmodule
