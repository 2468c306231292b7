/// The network of a node: its switch, a port for each unit, and links to other nodes. fpga/rtl/network/node.md.
module stopbit_node_network
  import stopbit_link_pkg::*, stopbit_switch_pkg::*, stopbit_network_pkg::*;
#(
  parameter  int unsigned Units       = 4,
  parameter  int unsigned Links       = 6,
  parameter  int unsigned Slots       = 128,  // of each store
  parameter  int unsigned Reserve     = 4,    // of these, for each channel
  parameter  int unsigned QueueWords  = 128,  // of each unit and class, to be sent
  parameter  int unsigned BufferCells = 512,  // of a link, until they have arrived
  parameter  int unsigned Timeout     = 1024,
  parameter  int unsigned Retries     = 1023,
  localparam int unsigned Ports       = Units + Links
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  output logic                            ready_o,  // a while after a reset

  // Settings.
  input  logic [31:0]                     patience_i,
  input  logic [15:0]                     last_node_i,
  input  logic [2:0]                      last_unit_i,
  input  logic [Units-1:0][Channels-1:0]  channels_i,
  input  logic [Units-1:0]                cut_through_i,
  input  logic                            config_i,
  input  logic [Ports-1:0]                config_ports_i,
  input  logic [1:0]                      config_table_i,
  input  logic [9:0]                      config_address_i,
  input  logic [31:0]                     config_data_i,

  // The units; registers of one of their ports, debug_unit_i.
  input  logic [Units-1:0]                send_valid_i,
  output logic [Units-1:0]                send_ready_o,
  input  logic [Units-1:0]                send_first_i,
  input  logic [Units-1:0]                send_last_i,
  input  logic [Units-1:0]                send_bad_i,
  input  logic [Units-1:0][63:0]          send_data_i,
  output logic [Units-1:0][Classes-1:0]   send_room_o,
  input  logic [Units-1:0][Channels-1:0]  accepts_i,
  output logic [Units-1:0]                come_valid_o,
  input  logic [Units-1:0]                come_ready_i,
  output logic [Units-1:0]                come_first_o,
  output logic [Units-1:0]                come_last_o,
  output logic [Units-1:0]                come_bad_o,
  output channel_t [Units-1:0]            come_channel_o,
  output logic [Units-1:0][63:0]          come_data_o,
  input  logic                            debug_write_i,
  input  logic [2:0]                      debug_unit_i,
  input  logic [2:0]                      debug_address_i,
  input  logic [63:0]                     debug_data_i,
  output logic [63:0]                     debug_data_o,

  // The wires.
  output logic [Links-1:0][1:0]           link_kind_o,
  output logic [Links-1:0][63:0]          link_data_o,
  input  logic [Links-1:0]                link_signal_i,
  input  logic [Links-1:0][1:0]           link_kind_i,
  input  logic [Links-1:0][63:0]          link_data_i,

  // A pulse for each event, by port of the switch, unit, and link.
  output logic [Ports-1:0]                unroutable_o,
  output logic [Ports-1:0]                circled_o,
  output logic [Ports-1:0]                discarded_o,
  output logic [Ports-1:0]                malformed_o,  // at the switch, of what came over a link
  output logic [Ports-1:0]                broken_o,     // ... stray, cut, overrun, excess: a peer that broke rules
  output logic [Units-1:0]                sent_o,
  output logic [Units-1:0]                refused_o,
  output logic [Units-1:0]                dropped_o,
  output logic [Units-1:0]                unfit_o,      // a unit's words were no packet
  output link_state_t [Links-1:0]         links_o,
  output logic [Links-1:0][Channels-1:0]  links_may_send_o  // channels with credit on the other side
);
  // The streams into the switch and out of it, by port.
  logic [Ports-1:0]       in_valid, out_valid, in_freed, out_freed, stray, cut, overrun, excess;
  logic [Ports-1:0][1:0]  in_kind, out_kind;
  logic [Ports-1:0][63:0] in_data, out_data;
  channel_t [Ports-1:0]   in_freed_channel, out_freed_channel;
  stopbit_crossbar #(.Units(Units), .Links(Links), .Slots(Slots), .Room(Slots), .Reserve(Reserve)) switch (
    .clk_i, .rst_ni, .up_i('1), .patience_i, .config_i, .config_ports_i, .config_table_i, .config_address_i, .config_data_i,
    .ready_o, .valid_i(in_valid), .kind_i(in_kind), .data_i(in_data), .freed_o(in_freed), .freed_channel_o(in_freed_channel),
    .valid_o(out_valid), .kind_o(out_kind), .data_o(out_data), .freed_i(out_freed), .freed_channel_i(out_freed_channel),
    .stray_o(stray), .cut_o(cut), .overrun_o(overrun), .malformed_o, .unroutable_o, .circled_o, .discarded_o, .excess_o(excess)
  );
  assign broken_o = stray | cut | overrun | excess;

  logic [Units-1:0][63:0] debug_data;
  always_comb begin
    debug_data_o = '0;
    for (int unsigned i = 0; i < Units; i++) if (debug_unit_i == 3'(i)) debug_data_o = debug_data[i];
  end
  // Packets that stop are cut by the switch, as they come into it.
  for (genvar i = 0; i < Units; i++) begin : gen_unit
    logic valid, port_stray, port_cut, port_overrun, port_malformed, port_excess;
    stopbit_network_port #(.QueueWords(QueueWords), .SwitchRoom(Slots), .Room(Slots), .Reserve(Reserve)) port (
      .clk_i, .rst_ni, .last_node_i, .last_unit_i, .channels_i(channels_i[i]), .cut_through_i(cut_through_i[i]), .patience_i('0),
      .debug_write_i(debug_write_i && debug_unit_i == 3'(i)), .debug_address_i, .debug_data_i, .debug_data_o(debug_data[i]),
      .send_valid_i(send_valid_i[i]), .send_ready_o(send_ready_o[i]), .send_first_i(send_first_i[i]),
      .send_last_i(send_last_i[i]), .send_bad_i(send_bad_i[i]), .send_data_i(send_data_i[i]), .send_room_o(send_room_o[i]),
      .accepts_i(accepts_i[i]), .come_valid_o(come_valid_o[i]), .come_ready_i(come_ready_i[i]),
      .come_first_o(come_first_o[i]), .come_last_o(come_last_o[i]), .come_bad_o(come_bad_o[i]),
      .come_channel_o(come_channel_o[i]), .come_data_o(come_data_o[i]),
      .valid_o(valid), .ready_i(ready_o), .kind_o(in_kind[i]), .data_o(in_data[i]), .may_begin_i('1),
      .freed_i(in_freed[i]), .freed_channel_i(in_freed_channel[i]), .valid_i(out_valid[i]), .kind_i(out_kind[i]),
      .data_i(out_data[i]), .freed_o(out_freed[i]), .freed_channel_o(out_freed_channel[i]),
      .sent_o(sent_o[i]), .refused_o(refused_o[i]), .broken_o(unfit_o[i]), .excess_o(port_excess), .stray_o(port_stray),
      .cut_o(port_cut), .overrun_o(port_overrun), .malformed_o(port_malformed), .dropped_o(dropped_o[i])
    );
    assign in_valid[i] = valid && ready_o;
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        switch_and_port_agree : assert ({port_excess, port_stray, port_cut, port_overrun, port_malformed} == '0);
      end
    end
`endif
  end

  for (genvar i = 0; i < Links; i++) begin : gen_link
    cell_t in_cell, link_cell;
    assign {in_kind[Units+i], in_data[Units+i]} = {in_cell.kind, in_cell.data};
    assign {link_kind_o[i], link_data_o[i]}     = {link_cell.kind, link_cell.data};
    stopbit_switch_link #(
      .Slots(Slots), .Room(Slots), .Reserve(Reserve), .BufferCells(BufferCells), .Timeout(Timeout), .Retries(Retries)
    ) link (
      .clk_i, .rst_ni, .valid_i(out_valid[Units+i]), .cell_i('{kind: cell_kind_t'(out_kind[Units+i]), data: out_data[Units+i]}),
      .freed_o(out_freed[Units+i]), .freed_channel_o(out_freed_channel[Units+i]),
      .valid_o(in_valid[Units+i]), .cell_o(in_cell), .freed_i(in_freed[Units+i]), .freed_channel_i(in_freed_channel[Units+i]),
      .link_o(link_cell), .link_signal_i(link_signal_i[i]),
      .link_i('{kind: cell_kind_t'(link_kind_i[i]), data: link_data_i[i]}), .state_o(links_o[i]),
      .may_send_o(links_may_send_o[i])
    );
  end
endmodule
