/// The network of a node and its registers: stopbit_node_network, set and watched by a host over AXI4-Lite. node.md.
///
/// The bus has a clock of its own, `clk_i`; all else is in `network_clk_i`. After a reset no unit sends anything and no
/// link has a signal before the host has written the node's number, set channels and switched links on.
module stopbit_managed_network
  import stopbit_link_pkg::*, stopbit_switch_pkg::*;
#(
  parameter  int unsigned Units       = 4,
  parameter  int unsigned Links       = 6,
  parameter  int unsigned Patience    = 256,  // cycles of the bus after which an access to a stopped clock is given up
  parameter  int unsigned Slots       = 128,  // these as in stopbit_node_network
  parameter  int unsigned Reserve     = 4,
  parameter  int unsigned QueueWords  = 128,
  parameter  int unsigned BufferCells = 512,
  parameter  int unsigned Timeout     = 1024,
  parameter  int unsigned Retries     = 1023,
  localparam int unsigned Ports       = Units + Links
) (
  // The registers: fpga/registers/generated/network.md.
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           awvalid_i,
  output logic                           awready_o,
  input  logic [15:0]                    awaddr_i,
  input  logic                           wvalid_i,
  output logic                           wready_o,
  input  logic [31:0]                    wdata_i,
  input  logic [3:0]                     wstrb_i,
  output logic                           bvalid_o,
  input  logic                           bready_i,
  output logic [1:0]                     bresp_o,
  input  logic                           arvalid_i,
  output logic                           arready_o,
  input  logic [15:0]                    araddr_i,
  output logic                           rvalid_o,
  input  logic                           rready_i,
  output logic [31:0]                    rdata_o,
  output logic [1:0]                     rresp_o,

  input  logic                           network_clk_i,
  input  logic                           network_rst_ni,
  output logic                           network_rst_no,  // of the network, by network_rst_ni or by the host
  output logic                           ready_o,         // a while after a reset

  // The units.
  input  logic [Units-1:0]               send_valid_i,
  output logic [Units-1:0]               send_ready_o,
  input  logic [Units-1:0]               send_first_i,
  input  logic [Units-1:0]               send_last_i,
  input  logic [Units-1:0]               send_bad_i,
  input  logic [Units-1:0][63:0]         send_data_i,
  output logic [Units-1:0][Classes-1:0]  send_room_o,
  input  logic [Units-1:0][Channels-1:0] accepts_i,
  output logic [Units-1:0]               come_valid_o,
  input  logic [Units-1:0]               come_ready_i,
  output logic [Units-1:0]               come_first_o,
  output logic [Units-1:0]               come_last_o,
  output logic [Units-1:0]               come_bad_o,
  output channel_t [Units-1:0]           come_channel_o,
  output logic [Units-1:0][63:0]         come_data_o,

  // The wires.
  output logic [Links-1:0][1:0]          link_kind_o,
  output logic [Links-1:0][63:0]         link_data_o,
  input  logic [Links-1:0]               link_signal_i,
  input  logic [Links-1:0][1:0]          link_kind_i,
  input  logic [Links-1:0][63:0]         link_data_i,

  // A pulse for each event, as the registers count it.
  output logic [Ports-1:0]               unroutable_o,
  output logic [Ports-1:0]               circled_o,
  output logic [Ports-1:0]               discarded_o,
  output logic [Ports-1:0]               malformed_o,
  output logic [Ports-1:0]               broken_o,
  output logic [Units-1:0]               sent_o,
  output logic [Units-1:0]               refused_o,
  output logic [Units-1:0]               dropped_o,
  output logic [Units-1:0]               unfit_o,
  output link_state_t [Links-1:0]        links_o,
  output logic [Links-1:0][Channels-1:0] links_may_send_o
);
  logic [31:0]                    patience, config_data;
  logic [15:0]                    last_node;
  logic [2:0]                     last_unit, debug_unit, debug_address;
  logic [Units-1:0][Channels-1:0] channels;
  logic [Units-1:0]               cut_through;
  logic                           config_write, debug_write;
  logic [Ports-1:0]               config_ports;
  logic [1:0]                     config_table;
  logic [9:0]                     config_address;
  logic [63:0]                    debug_written, debug_read;
  logic [Links-1:0]               links_on;

  stopbit_network_control #(.Units(Units), .Links(Links), .Patience(Patience)) control (
    .clk_i, .rst_ni, .awvalid_i, .awready_o, .awaddr_i, .wvalid_i, .wready_o, .wdata_i, .wstrb_i, .bvalid_o, .bready_i,
    .bresp_o, .arvalid_i, .arready_o, .araddr_i, .rvalid_o, .rready_i, .rdata_o, .rresp_o, .network_clk_i,
    .network_rst_ni, .network_rst_no, .ready_i(ready_o), .patience_o(patience), .last_node_o(last_node),
    .last_unit_o(last_unit), .channels_o(channels), .cut_through_o(cut_through), .config_o(config_write),
    .config_ports_o(config_ports), .config_table_o(config_table), .config_address_o(config_address),
    .config_data_o(config_data), .debug_write_o(debug_write), .debug_unit_o(debug_unit),
    .debug_address_o(debug_address), .debug_data_o(debug_written), .debug_data_i(debug_read),
    .unroutable_i(unroutable_o), .circled_i(circled_o), .discarded_i(discarded_o), .malformed_i(malformed_o),
    .broken_i(broken_o), .sent_i(sent_o), .refused_i(refused_o), .dropped_i(dropped_o), .unfit_i(unfit_o),
    .links_on_o(links_on), .links_i(links_o), .links_may_send_i(links_may_send_o)
  );
  stopbit_node_network #(
    .Units(Units), .Links(Links), .Slots(Slots), .Reserve(Reserve), .QueueWords(QueueWords), .BufferCells(BufferCells),
    .Timeout(Timeout), .Retries(Retries)
  ) network (
    .clk_i(network_clk_i), .rst_ni(network_rst_no), .ready_o, .patience_i(patience), .last_node_i(last_node),
    .last_unit_i(last_unit), .channels_i(channels), .cut_through_i(cut_through), .config_i(config_write),
    .config_ports_i(config_ports), .config_table_i(config_table), .config_address_i(config_address),
    .config_data_i(config_data), .debug_write_i(debug_write), .debug_unit_i(debug_unit),
    .debug_address_i(debug_address), .debug_data_i(debug_written), .debug_data_o(debug_read), .send_valid_i,
    .send_ready_o, .send_first_i, .send_last_i, .send_bad_i, .send_data_i, .send_room_o, .accepts_i, .come_valid_o,
    .come_ready_i, .come_first_o, .come_last_o, .come_bad_o, .come_channel_o, .come_data_o, .link_kind_o, .link_data_o,
    .link_signal_i(link_signal_i & links_on), .link_kind_i, .link_data_i, .unroutable_o, .circled_o, .discarded_o,
    .malformed_o, .broken_o, .sent_o, .refused_o, .dropped_o, .unfit_o, .links_o, .links_may_send_o
  );
endmodule
