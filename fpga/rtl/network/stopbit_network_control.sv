/// The registers of stopbit_node_network, for a host on an AXI4-Lite bus. fpga/rtl/network/node.md.
///
/// The bus and the network have a clock each. Registers become settings, ports of the network's names with _o; its
/// events are counted. `network_rst_no` resets the network and these registers: while `network_rst_ni` is low or the
/// host wants it, and for at least four cycles. Settings of units that do not exist have no effect, and their counters
/// stay 0; links that do not exist refuse every access.
///
/// After a reset the inputs of the switch take packets for node 0 as their own, until the host has written the node's
/// number to them. So until then the link of an input has no signal, whatever the host has set, and its unit no channel.
module stopbit_network_control
  import stopbit_link_pkg::*, stopbit_switch_pkg::*, stopbit_network_registers_pkg::*;
#(
  parameter  int unsigned Units    = 4,
  parameter  int unsigned Links    = 6,
  parameter  int unsigned Patience = 256,  // cycles of the bus after which an access to a stopped clock is given up
  localparam int unsigned Ports    = Units + Links
) (
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
  output logic                           network_rst_no,
  input  logic                           ready_i,
  output logic [31:0]                    patience_o,
  output logic [15:0]                    last_node_o,
  output logic [2:0]                     last_unit_o,
  output logic [Units-1:0][Channels-1:0] channels_o,
  output logic [Units-1:0]               cut_through_o,
  output logic                           config_o,
  output logic [Ports-1:0]               config_ports_o,
  output logic [1:0]                     config_table_o,
  output logic [9:0]                     config_address_o,
  output logic [31:0]                    config_data_o,
  output logic                           debug_write_o,
  output logic [2:0]                     debug_unit_o,
  output logic [2:0]                     debug_address_o,
  output logic [63:0]                    debug_data_o,
  input  logic [63:0]                    debug_data_i,
  input  logic [Ports-1:0]               unroutable_i,
  input  logic [Ports-1:0]               circled_i,
  input  logic [Ports-1:0]               discarded_i,
  input  logic [Ports-1:0]               malformed_i,
  input  logic [Ports-1:0]               broken_i,
  input  logic [Units-1:0]               sent_i,
  input  logic [Units-1:0]               refused_i,
  input  logic [Units-1:0]               dropped_i,
  input  logic [Units-1:0]               unfit_i,

  output logic [Links-1:0]               links_on_o,  // without it the link has to act as if its wires had no signal
  input  link_state_t [Links-1:0]        links_i,
  input  logic [Links-1:0][Channels-1:0] links_may_send_i
);
  localparam int unsigned MostUnits = CrossbarUnitCount;
  localparam int unsigned MostLinks = LinkCount;
  localparam int unsigned MostPorts = CrossbarPortCount;
  if (Units > MostUnits || Links > MostLinks) begin : gen_bad
    $fatal(1, "stopbit_network_control: at most %0d units, %0d links", MostUnits, MostLinks);
  end

  bus_written_t                            bus_written;
  bus_shown_t                              bus_shown;
  bus_counted_t                            bus_counted;
  bus_kept_t                               bus_kept;
  crossbar_written_t                       written;
  crossbar_command_t                       command;
  crossbar_shown_t                         shown;
  crossbar_unit_written_t [MostUnits-1:0]  unit_written;
  crossbar_unit_counted_t [MostUnits-1:0]  unit_counted;
  crossbar_port_counted_t [MostPorts-1:0]  port_counted;
  logic [MostLinks-1:0]                    link_rst_n;
  link_written_t [MostLinks-1:0]           link_written;
  link_command_t [MostLinks-1:0]           link_command;
  link_shown_t [MostLinks-1:0]             link_shown;
  link_raised_t [MostLinks-1:0]            link_raised;
  link_counted_t [MostLinks-1:0]           link_counted;
  logic                                    refused, gave_up, error_write;
  logic [15:0]                             error_address;
  stopbit_network_registers #(.Patience(Patience)) registers (
    .clk_i, .rst_ni, .awvalid_i, .awready_o, .awaddr_i, .wvalid_i, .wready_o, .wdata_i, .wstrb_i, .bvalid_o, .bready_i,
    .bresp_o, .arvalid_i, .arready_o, .araddr_i, .rvalid_o, .rready_i, .rdata_o, .rresp_o, .refused_o(refused),
    .gave_up_o(gave_up), .error_write_o(error_write), .error_address_o(error_address), .crossbar_clk_i(network_clk_i),
    .crossbar_rst_ni(network_rst_no), .link_clk_i({MostLinks{network_clk_i}}), .link_rst_ni(link_rst_n),
    .bus_written_o(bus_written), .bus_shown_i(bus_shown), .bus_counted_i(bus_counted), .bus_kept_i(bus_kept),
    .crossbar_written_o(written), .crossbar_command_o(command), .crossbar_shown_i(shown),
    .crossbar_unit_written_o(unit_written), .crossbar_unit_counted_i(unit_counted),
    .crossbar_port_counted_i(port_counted), .link_written_o(link_written), .link_command_o(link_command),
    .link_shown_i(link_shown), .link_raised_i(link_raised), .link_counted_i(link_counted)
  );

  // ------------------------------------------------------------------------------------------------------ the bus
  assign bus_shown.shape           = {8'(Links), 8'(Units)};
  assign bus_counted.refused       = refused;
  assign bus_counted.gave_up       = gave_up;
  assign bus_kept.last_error_valid = refused || gave_up;
  assign bus_kept.last_error       = {gave_up, error_write, error_address};

  // The host's reset lasts until the network has been in it: its bit may be short, the network's clock stopped.
  localparam int unsigned ResetCycles = 4;
  logic                   host_rst_n, host_is_done, released_q, runs;
  logic [ResetCycles-1:0] was_reset_q;
  stopbit_reset_pair host_reset (
    .clk_i, .rst_ni(!bus_written.control), .rst_no(host_is_done), .other_clk_i(network_clk_i), .other_rst_no(host_rst_n)
  );
  always_ff @(posedge network_clk_i) begin
    was_reset_q <= {was_reset_q[ResetCycles-2:0], !network_rst_ni || !host_rst_n};
    released_q  <= network_rst_ni && host_rst_n && was_reset_q == '0;
  end
  assign network_rst_no = network_rst_ni && released_q;
  stopbit_sync #(.Width(1)) to_bus (.clk_i, .rst_ni(1'b1), .data_i(released_q), .data_o(runs));
  assign bus_shown.state = host_is_done && runs;

  // --------------------------------------------------------------------------------------------------- the switch
  assign shown.state     = ready_i;
  assign shown.tap_word  = debug_data_i;
  assign patience_o      = written.patience;
  assign last_node_o     = written.limits[CrossbarLimitsLastNodeBit +: 16];
  assign last_unit_o     = written.limits[CrossbarLimitsLastUnitBit +: 3];
  assign debug_write_o   = command.tap_store_valid;
  assign debug_unit_o    = written.tap_select[CrossbarTapSelectUnitBit +: 3];
  assign debug_address_o = written.tap_select[CrossbarTapSelectAddressBit +: 3];
  assign debug_data_o    = written.tap_data;

  // An entry of a table for each write, a cycle later.
  always_ff @(posedge network_clk_i) begin
    config_o         <= command.own_node_valid || command.globals_valid || command.locals_valid || command.groups_valid;
    config_ports_o   <= written.inputs[Ports-1:0];
    config_table_o   <= TABLE_OWN;
    config_address_o <= '0;
    config_data_o    <= {16'd0, command.own_node};
    if (command.globals_valid) begin
      config_table_o   <= TABLE_GLOBAL;
      config_address_o <= 10'(command.globals_index);
      config_data_o    <= command.globals;
    end
    if (command.locals_valid) begin
      config_table_o   <= TABLE_LOCAL;
      config_address_o <= command.locals_index;
      config_data_o    <= command.locals;
    end
    if (command.groups_valid) begin
      config_table_o   <= TABLE_GROUPS;
      config_address_o <= 10'(command.groups_index);
      config_data_o    <= command.groups;
    end
  end

  // Inputs that have the node's number, from the cycle on in which they have it.
  logic [Ports-1:0] numbered_q;
  always_ff @(posedge network_clk_i) begin
    if (!network_rst_no) numbered_q <= '0;
    else if (config_o && config_table_o == TABLE_OWN) numbered_q <= numbered_q | config_ports_o;
  end

  always_comb begin
    unit_counted = '0;
    port_counted = '0;
    for (int unsigned i = 0; i < Units; i++) begin
      channels_o[i]            = numbered_q[i] ? unit_written[i].channels : '0;
      cut_through_o[i]         = unit_written[i].cut_through;
      unit_counted[i].sent     = sent_i[i];
      unit_counted[i].refused  = refused_i[i];
      unit_counted[i].dropped  = dropped_i[i];
      unit_counted[i].unfit    = unfit_i[i];
    end
    for (int unsigned i = 0; i < Ports; i++) begin
      port_counted[i].unroutable = unroutable_i[i];
      port_counted[i].circled    = circled_i[i];
      port_counted[i].discarded  = discarded_i[i];
      port_counted[i].malformed  = malformed_i[i];
      port_counted[i].broken     = broken_i[i];
    end
  end

  // ---------------------------------------------------------------------------------------------------- the links
  for (genvar i = 0; i < MostLinks; i++) begin : gen_link
    if (i < Links) begin : gen_is
      logic       was_up_q;
      logic [3:0] starved_d, starved_q;
      always_comb begin
        starved_d = '0;
        for (int unsigned c = 0; c < Channels; c++) starved_d += 4'(links_i[i].up && !links_may_send_i[i][c]);
      end
      always_ff @(posedge network_clk_i) begin
        was_up_q  <= network_rst_no && links_i[i].up;
        starved_q <= network_rst_no ? starved_d : '0;
      end
      assign link_rst_n[i]            = network_rst_no;
      assign links_on_o[i]            = link_written[i].control && numbered_q[Units+i];
      assign link_shown[i].state      = {links_may_send_i[i], 14'd0, numbered_q[Units+i], links_i[i].up};
      assign link_counted[i].sent     = links_i[i].sent;
      assign link_counted[i].answered = links_i[i].answered;
      assign link_counted[i].resent   = links_i[i].resent;
      assign link_counted[i].damaged  = links_i[i].damaged;
      assign link_counted[i].dropped  = links_i[i].dropped;
      assign link_counted[i].excess   = links_i[i].excess;
      assign link_counted[i].ups      = links_i[i].up && !was_up_q;
      assign link_counted[i].downs    = !links_i[i].up && was_up_q;
      assign link_counted[i].starved  = starved_q;
      // In the order of the fields, from bit 0 on.
      assign link_raised[i].events = {
        links_i[i].excess, links_i[i].dropped, links_i[i].damaged, link_counted[i].downs, link_counted[i].ups
      };
    end else begin : gen_none
      // Always in reset: an access is refused.
      assign link_rst_n[i]   = 1'b0;
      assign link_shown[i]   = '0;
      assign link_counted[i] = '0;
      assign link_raised[i]  = '0;
    end
  end

  logic unused;
  assign unused = &{1'b0, command, written.inputs, unit_written, link_written, link_command};
endmodule
