/// Functional units that all contexts share. Any unit works for any context and does every kind of request; none belongs
/// to a process.
///
/// Ports have equal shares of the pool if all of them have requests, and one of them may have all of it. A context's
/// requests always come by the same port: then requests with equal keys (context, destination, type) leave in their order.
/// `in_order_i` may be changed only while the pool is empty. (Fröning 3.2.2, 3.2.6, 3.4.1)
module stopbit_unit_pool #(
  parameter int unsigned NumPorts  = 4,
  parameter int unsigned NumUnits  = 4,
  parameter int unsigned NumStages = 5,
  parameter int unsigned WaitDepth = 4,
  parameter int unsigned NumHeads  = 2,
  parameter int unsigned NumIssues = 2,
  parameter int unsigned KeyWidth  = 34,  // context 16, destination 16, type 2
  parameter int unsigned DataWidth = 64
) (
  input  logic                                              clk_i,
  input  logic                                              rst_ni,
  input  logic                                              in_order_i,

  input  logic [NumPorts-1:0]                               valid_i,
  output logic [NumPorts-1:0]                               ready_o,
  input  logic [NumPorts-1:0][KeyWidth-1:0]                 key_i,
  input  logic [NumPorts-1:0][DataWidth-1:0]                data_i,

  // What the stages of each unit work on, as in stopbit_pool_unit.
  output logic [NumUnits-1:0][NumStages-1:0]                stage_valid_o,
  output logic [NumUnits-1:0][NumStages-1:0][KeyWidth-1:0]  stage_key_o,
  output logic [NumUnits-1:0][NumStages-1:0][DataWidth-1:0] stage_data_o,
  input  logic [NumUnits-1:0][NumStages-1:0]                stage_done_i,
  input  logic [NumUnits-1:0][NumStages-1:0][DataWidth-1:0] stage_data_i,
  input  logic [NumUnits-1:0]                               ready_i
);
  localparam int unsigned NumHeld = NumStages + WaitDepth;

  // Two ports a cycle, in turns.
  logic [1:0]                valid, ready;
  logic [NumPorts-1:0]       first, second;
  logic [1:0][KeyWidth-1:0]  key;
  logic [1:0][DataWidth-1:0] data;
  stopbit_arbiter #(.NumRequesters(NumPorts)) i_first (
    .clk_i, .rst_ni, .stop_i(!ready[0]), .accept_i(1'b1), .request_i(valid_i), .any_o(valid[0]), .grant_o(first), .index_o()
  );
  stopbit_arbiter #(.NumRequesters(NumPorts)) i_second (
    .clk_i, .rst_ni, .stop_i(!ready[1]), .accept_i(1'b1), .request_i(valid_i & ~first), .any_o(valid[1]), .grant_o(second),
    .index_o()
  );
  assign ready_o = first | second;
  always_comb begin
    key  = '0;
    data = '0;
    for (int unsigned p = 0; p < NumPorts; p++) begin
      key[0]  = key[0] | (first[p] ? key_i[p] : '0);
      key[1]  = key[1] | (second[p] ? key_i[p] : '0);
      data[0] = data[0] | (first[p] ? data_i[p] : '0);
      data[1] = data[1] | (second[p] ? data_i[p] : '0);
    end
  end

  logic [NumUnits-1:0]                            room, idle, put;
  logic [NumUnits-1:0][NumHeld-1:0]               held;
  logic [NumUnits-1:0][NumHeld-1:0][KeyWidth-1:0] keys;
  logic [NumUnits-1:0][KeyWidth-1:0]              unit_key;
  logic [NumUnits-1:0][DataWidth-1:0]             unit_data;
  stopbit_pool_issue #(
    .NumUnits(NumUnits), .NumHeld(NumHeld), .NumHeads(NumHeads), .NumIssues(NumIssues), .KeyWidth(KeyWidth), .DataWidth(DataWidth)
  ) i_issue (
    .clk_i, .rst_ni, .in_order_i, .valid_i(valid), .ready_o(ready), .key_i(key), .data_i(data), .room_i(room), .idle_i(idle),
    .held_i(held), .keys_i(keys), .put_o(put), .key_o(unit_key), .data_o(unit_data)
  );

  for (genvar u = 0; u < NumUnits; u++) begin : gen_unit
    stopbit_pool_unit #(
      .NumStages(NumStages), .WaitDepth(WaitDepth), .KeyWidth(KeyWidth), .DataWidth(DataWidth)
    ) i_unit (
      .clk_i, .rst_ni, .put_i(put[u]), .key_i(unit_key[u]), .data_i(unit_data[u]), .room_o(room[u]), .idle_o(idle[u]),
      .stage_valid_o(stage_valid_o[u]), .stage_key_o(stage_key_o[u]), .stage_data_o(stage_data_o[u]),
      .stage_done_i(stage_done_i[u]), .stage_data_i(stage_data_i[u]), .ready_i(ready_i[u]), .held_o(held[u]), .keys_o(keys[u])
    );
  end
endmodule
