/// Finds the outputs of a packet from its start: the tables of a port, and what makes a packet undeliverable.
///
/// Five cycles. The outputs are ports, and one more that is none: what cannot be delivered leaves there, so that it gives
/// its slots and credits back as any other packet does.
module stopbit_crossbar_routes
  import stopbit_link_pkg::*, stopbit_switch_pkg::*;
#(
  parameter  int unsigned Units     = 4,
  parameter  int unsigned Links     = 6,
  parameter  int unsigned NumClasses   = 4,
  parameter  int unsigned NumVcs       = 3,
  parameter  int unsigned Port      = 0,    // whose tables these are
  parameter  int unsigned Slots     = 128,
  localparam int unsigned Ports     = Units + Links,
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,

  input  logic                             config_i,
  input  table_t                           config_table_i,
  input  logic [9:0]                       config_address_i,
  input  logic [31:0]                      config_data_i,

  input  logic                             start_i,
  input  start_t                           cell_i,
  input  logic [SlotWidth-1:0]             slot_i,
  input  logic [Links-1:0][1:0]          free_i,        // adaptive packets of class 0, 1 may choose this link

  output logic                             route_o,
  output logic [SlotWidth-1:0]             slot_o,
  output logic [Ports:0]                   outputs_o,
  output channel_t [Ports-1:0]             channels_o,    // by output
  output logic [$clog2(Ports+1)-1:0]       copies_o,      // outputs

  output logic                             malformed_o,
  output logic                             unroutable_o,
  output logic                             circled_o
);
  logic [15:0] own_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) own_q <= '0;
    else if (config_i && config_table_i == TABLE_OWN) own_q <= config_data_i[15:0];
  end

  // 1 and 2: all tables are read, and what they say is kept in a register behind the RAM.
  logic [31:0] global_data, local_data, group_data;
  stopbit_ram #(.Width(32), .Depth(GlobalEntries)) globals (
    .write_clk_i(clk_i), .write_i(config_i && config_table_i == TABLE_GLOBAL), .write_address_i(config_address_i[5:0]),
    .write_data_i(config_data_i), .read_clk_i(clk_i), .read_address_i(cell_i.node[15:10]), .read_data_o(global_data)
  );
  stopbit_ram #(.Width(32), .Depth(LocalEntries)) locals (
    .write_clk_i(clk_i), .write_i(config_i && config_table_i == TABLE_LOCAL), .write_address_i(config_address_i),
    .write_data_i(config_data_i), .read_clk_i(clk_i), .read_address_i(cell_i.node[9:0]), .read_data_o(local_data)
  );
  stopbit_ram #(.Width(32), .Depth(Groups)) groups (
    .write_clk_i(clk_i), .write_i(config_i && config_table_i == TABLE_GROUPS), .write_address_i(config_address_i[7:0]),
    .write_data_i(config_data_i), .read_clk_i(clk_i), .read_address_i(cell_i.node[7:0]), .read_data_o(group_data)
  );

  logic [4:1] valid_q;  // by cycle
  typedef struct packed {
    logic [SlotWidth-1:0] slot;
    start_t               start;
    logic                 is_bad;     // its CRC, or its channel
    logic                 is_far;     // in another part of the network
    logic                 is_here;
  } looked_t;
  looked_t first_d, first_q, second_q, third_q;
  always_comb begin
    first_d         = '0;
    first_d.slot    = slot_i;
    first_d.start   = cell_i;
    first_d.is_bad  = cell_i.crc != start_crc(cell_i[47:0]) || 32'(cell_i.channel) >= NumVcs || 32'(cell_i.traffic_class) >= NumClasses;
    first_d.is_far  = cell_i.node[15:10] != own_q[15:10];
    first_d.is_here = cell_i.node == own_q;
  end
  route_t near_q, far_q;
  group_t group2_q;
  always_ff @(posedge clk_i) begin
    first_q  <= first_d;
    second_q <= first_q;
    far_q    <= global_data;
    near_q   <= local_data;
    group2_q <= group_data;
  end

  // 3: one entry, and of it the part of the packet's class.
  route_t                entry;
  way_t                  way_d, way_q;
  logic [EntryLinks-1:0] adaptive_d, adaptive_q;
  group_t                group_q;
  always_comb begin
    entry      = second_q.is_far ? far_q : near_q;
    adaptive_d = '0;
    unique case (second_q.start.traffic_class)
      2'd0: begin
        way_d      = entry.class0;
        adaptive_d = entry.adaptive0;
      end
      2'd1: begin
        way_d      = entry.class1;
        adaptive_d = entry.adaptive1;
      end
      2'd2: way_d = entry.class2;
      2'd3: way_d = entry.class3;
    endcase
  end
  always_ff @(posedge clk_i) begin
    third_q    <= second_q;
    way_q      <= way_d;
    adaptive_q <= adaptive_d;
    group_q    <= group2_q;
  end

  // 4: outputs and their channels.
  logic [Ports-1:0]      outputs_d, outputs_q;
  logic [Ports-1:0][1:0] vcs_d, vcs_q;
  looked_t               fourth_q;
  logic [Links-1:0]      candidates, chosen;
  logic                  is_adaptive;
  always_comb begin
    for (int unsigned i = 0; i < Links; i++) begin
      candidates[i] = i < EntryLinks && adaptive_q[i] && free_i[i][third_q.start.traffic_class[0]];
    end
  end
  stopbit_arbiter #(.NumRequesters(Links)) turns (
    .clk_i, .rst_ni, .stop_i(1'b0), .accept_i(valid_q[3] && is_adaptive), .request_i(candidates), .any_o(), .grant_o(chosen),
    .index_o()
  );
  assign is_adaptive = !third_q.start.multicast && !third_q.is_here && candidates != '0;
  always_comb begin
    outputs_d = '0;
    vcs_d     = '0;
    if (third_q.start.multicast) begin
      for (int unsigned i = 0; i < Links; i++) begin
        vcs_d[Units+i]     = {1'b0, third_q.start.channel[0] ? group_q.channel1[i] : group_q.channel0[i]};
        // Not back to where it came from, whatever the table says: the tree would be none.
        outputs_d[Units+i] = i < EntryLinks && group_q.links[i] && Units + i != Port;
      end
      for (int unsigned i = 0; i < Units; i++) begin
        vcs_d[i]     = group_q.unit_channel;
        outputs_d[i] = group_q.to_unit && third_q.start.unit == 3'(i) && 32'(group_q.unit_channel) < NumVcs;
      end
      if (!group_q.is_valid || third_q.start.channel[1]) outputs_d = '0;
    end else if (third_q.is_here) begin
      for (int unsigned i = 0; i < Units; i++) begin
        vcs_d[i]     = third_q.start.channel;
        outputs_d[i] = third_q.start.unit == 3'(i);
      end
    end else begin
      for (int unsigned i = 0; i < Links; i++) begin
        vcs_d[Units+i]     = is_adaptive ? 2'(NumVcs - 1) : way_q.channel;
        outputs_d[Units+i] = is_adaptive ? chosen[i] : way_q.link == 3'(i) && 32'(way_q.channel) < NumVcs;
      end
    end
  end

  // 5: what is left of it.
  logic [Ports-1:0] outputs;
  logic             is_circling;
  assign is_circling = fourth_q.start.marker[7:0] == MostHops;
  assign outputs     = fourth_q.is_bad || is_circling ? '0 : outputs_q;
  always_ff @(posedge clk_i) begin
    fourth_q  <= third_q;
    outputs_q <= outputs_d;
    vcs_q     <= vcs_d;
    slot_o    <= fourth_q.slot;
    outputs_o <= {outputs == '0, outputs};
    copies_o  <= outputs == '0 ? 'd1 : $clog2(Ports+1)'($countones(outputs));
    for (int unsigned i = 0; i < Ports; i++) begin
      channels_o[i] <= channel_t'(32'(fourth_q.start.traffic_class) * NumVcs + 32'(vcs_q[i]));
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q      <= '0;
      route_o      <= 1'b0;
      malformed_o  <= 1'b0;
      unroutable_o <= 1'b0;
      circled_o    <= 1'b0;
    end else begin
      valid_q      <= {valid_q[3:1], start_i};
      route_o      <= valid_q[4];
      malformed_o  <= valid_q[4] && fourth_q.is_bad;
      circled_o    <= valid_q[4] && !fourth_q.is_bad && is_circling;
      unroutable_o <= valid_q[4] && !fourth_q.is_bad && !is_circling && outputs_q == '0;
    end
  end
endmodule
