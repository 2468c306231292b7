/// Registers of a node's network: its switch, the ports of its units, and its links.
/// Made by fpga/registers/generate.py from network.toml: change that.
///
/// AXI4-Lite in the clock `clk_i`; each block that has a clock of its own is in that. fpga/registers/README.md.
module stopbit_network_registers
  import stopbit_network_registers_pkg::*;
#(
  parameter int unsigned Patience = 256
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [15:0] awaddr_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  input  logic [31:0] wdata_i,
  input  logic [3:0]  wstrb_i,
  output logic        bvalid_o,
  input  logic        bready_i,
  output logic [1:0]  bresp_o,
  input  logic        arvalid_i,
  output logic        arready_o,
  input  logic [15:0] araddr_i,
  output logic        rvalid_o,
  input  logic        rready_i,
  output logic [31:0] rdata_o,
  output logic [1:0]  rresp_o,

  // A pulse for each answer that is an error: refused, or given up after `Patience` cycles.
  output logic        refused_o,
  output logic        gave_up_o,
  output logic        error_write_o,
  output logic [15:0] error_address_o,

  input  logic crossbar_clk_i,
  input  logic crossbar_rst_ni,

  input  logic [5:0] link_clk_i,
  input  logic [5:0] link_rst_ni,

  output bus_written_t bus_written_o,
  input  bus_shown_t bus_shown_i,
  input  bus_counted_t bus_counted_i,
  input  bus_kept_t bus_kept_i,
  output crossbar_written_t crossbar_written_o,
  output crossbar_command_t crossbar_command_o,
  input  crossbar_shown_t crossbar_shown_i,
  output crossbar_unit_written_t [3:0] crossbar_unit_written_o,
  input  crossbar_unit_counted_t [3:0] crossbar_unit_counted_i,
  input  crossbar_port_counted_t [9:0] crossbar_port_counted_i,
  output link_written_t [5:0] link_written_o,
  output link_command_t [5:0] link_command_o,
  input  link_shown_t [5:0] link_shown_i,
  input  link_raised_t [5:0] link_raised_i,
  input  link_counted_t [5:0] link_counted_i
);
  logic        access, write, done, refused;
  logic [15:0] address;
  logic [31:0] data, answer;
  stopbit_register_port #(.Patience(Patience)) i_port (
    .clk_i, .rst_ni, .awvalid_i, .awready_o, .awaddr_i, .wvalid_i, .wready_o, .wdata_i, .wstrb_i, .bvalid_o, .bready_i,
    .bresp_o, .arvalid_i, .arready_o, .araddr_i, .rvalid_o, .rready_i, .rdata_o, .rresp_o, .access_o(access),
    .write_o(write), .address_o(address), .data_o(data), .done_i(done), .refused_i(refused), .data_i(answer),
    .refused_o, .gave_up_o
  );
  assign error_write_o   = write;
  assign error_address_o = address;

  // Blocks by address, and the clocks that they are in.
  logic [7:0]       picked, domain_done, domain_refused;
  logic [7:0][31:0] domain_data;
  assign picked[0] = address[15:8] == 8'h0;
  assign picked[1] = address[15:14] == 2'h1;
  assign picked[2] = address[15:8] == 8'h80;
  assign picked[3] = address[15:8] == 8'h81;
  assign picked[4] = address[15:8] == 8'h82;
  assign picked[5] = address[15:8] == 8'h83;
  assign picked[6] = address[15:8] == 8'h84;
  assign picked[7] = address[15:8] == 8'h85;
  always_comb begin
    // An address without a block.
    done    = picked == '0 || (domain_done & picked) != '0;
    refused = picked == '0 || (domain_done & picked & domain_refused) != '0;
    answer  = '0;
    for (int unsigned i = 0; i < 8; i++) if (picked[i]) answer |= domain_data[i];
  end

  // The bus's clock.
  logic        bus_clock_access, bus_clock_write, bus_clock_refused;
  logic [15:0] bus_clock_address;
  logic [31:0] bus_clock_data, bus_clock_answer;
  logic        bus_clock_waits_q;
  always_ff @(posedge clk_i) begin
    bus_clock_waits_q <= rst_ni && bus_clock_access;
  end
  assign bus_clock_access        = access && picked[0] && !bus_clock_waits_q;
  assign bus_clock_write         = write;
  assign bus_clock_address       = address;
  assign bus_clock_data          = data;
  assign domain_done[0]    = bus_clock_waits_q;
  assign domain_refused[0] = bus_clock_refused;
  assign domain_data[0]    = bus_clock_answer;
  logic at_leaf_bus;
  logic        leaf_bus_refused;
  logic [31:0] leaf_bus_data;
  assign at_leaf_bus = bus_clock_address[15:8] == 8'h0;
  stopbit_network_bus_registers i_bus (
    .clk_i(clk_i), .rst_ni(rst_ni), .access_i(bus_clock_access && at_leaf_bus),
    .write_i(bus_clock_write), .address_i(bus_clock_address[7:0]), .write_data_i(bus_clock_data),
    .refused_o(leaf_bus_refused),
    .data_o(leaf_bus_data),
    .written_o(bus_written_o),
    .shown_i(bus_shown_i),
    .counted_i(bus_counted_i),
    .kept_i(bus_kept_i)
  );
  always_comb begin
    bus_clock_answer  = '0;
    bus_clock_refused = !(at_leaf_bus);
    if (at_leaf_bus) begin
      bus_clock_answer  |= leaf_bus_data;
      bus_clock_refused |= leaf_bus_refused;
    end
  end

  // Clock of crossbar.
  logic        clock_crossbar_access, clock_crossbar_write, clock_crossbar_refused;
  logic [15:0] clock_crossbar_address;
  logic [31:0] clock_crossbar_data, clock_crossbar_answer;
  stopbit_register_crossing clock_crossbar (
    .clk_i, .rst_ni, .access_i(access && picked[1]), .write_i(write), .address_i(address), .data_i(data),
    .done_o(domain_done[1]), .refused_o(domain_refused[1]), .data_o(domain_data[1]),
    .block_clk_i(crossbar_clk_i), .block_rst_ni(crossbar_rst_ni), .block_access_o(clock_crossbar_access),
    .block_write_o(clock_crossbar_write), .block_address_o(clock_crossbar_address), .block_data_o(clock_crossbar_data),
    .block_refused_i(clock_crossbar_refused), .block_data_i(clock_crossbar_answer)
  );
  logic at_leaf_crossbar,
    at_leaf_crossbar_unit_0,
    at_leaf_crossbar_unit_1,
    at_leaf_crossbar_unit_2,
    at_leaf_crossbar_unit_3,
    at_leaf_crossbar_port_0,
    at_leaf_crossbar_port_1,
    at_leaf_crossbar_port_2,
    at_leaf_crossbar_port_3,
    at_leaf_crossbar_port_4,
    at_leaf_crossbar_port_5,
    at_leaf_crossbar_port_6,
    at_leaf_crossbar_port_7,
    at_leaf_crossbar_port_8,
    at_leaf_crossbar_port_9;
  logic        leaf_crossbar_refused;
  logic [31:0] leaf_crossbar_data;
  assign at_leaf_crossbar = clock_crossbar_address[15:14] == 2'h1 &&
    !at_leaf_crossbar_unit_0 &&
    !at_leaf_crossbar_unit_1 &&
    !at_leaf_crossbar_unit_2 &&
    !at_leaf_crossbar_unit_3 &&
    !at_leaf_crossbar_port_0 &&
    !at_leaf_crossbar_port_1 &&
    !at_leaf_crossbar_port_2 &&
    !at_leaf_crossbar_port_3 &&
    !at_leaf_crossbar_port_4 &&
    !at_leaf_crossbar_port_5 &&
    !at_leaf_crossbar_port_6 &&
    !at_leaf_crossbar_port_7 &&
    !at_leaf_crossbar_port_8 &&
    !at_leaf_crossbar_port_9;
  stopbit_network_crossbar_registers i_crossbar (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[13:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_refused),
    .data_o(leaf_crossbar_data),
    .written_o(crossbar_written_o),
    .command_o(crossbar_command_o),
    .shown_i(crossbar_shown_i)
  );
  logic        leaf_crossbar_unit_0_refused;
  logic [31:0] leaf_crossbar_unit_0_data;
  assign at_leaf_crossbar_unit_0 = clock_crossbar_address[15:6] == 10'h120;
  stopbit_network_crossbar_unit_registers i_crossbar_unit_0 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_unit_0),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[5:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_unit_0_refused),
    .data_o(leaf_crossbar_unit_0_data),
    .written_o(crossbar_unit_written_o[0]),
    .counted_i(crossbar_unit_counted_i[0])
  );
  logic        leaf_crossbar_unit_1_refused;
  logic [31:0] leaf_crossbar_unit_1_data;
  assign at_leaf_crossbar_unit_1 = clock_crossbar_address[15:6] == 10'h121;
  stopbit_network_crossbar_unit_registers i_crossbar_unit_1 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_unit_1),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[5:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_unit_1_refused),
    .data_o(leaf_crossbar_unit_1_data),
    .written_o(crossbar_unit_written_o[1]),
    .counted_i(crossbar_unit_counted_i[1])
  );
  logic        leaf_crossbar_unit_2_refused;
  logic [31:0] leaf_crossbar_unit_2_data;
  assign at_leaf_crossbar_unit_2 = clock_crossbar_address[15:6] == 10'h122;
  stopbit_network_crossbar_unit_registers i_crossbar_unit_2 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_unit_2),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[5:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_unit_2_refused),
    .data_o(leaf_crossbar_unit_2_data),
    .written_o(crossbar_unit_written_o[2]),
    .counted_i(crossbar_unit_counted_i[2])
  );
  logic        leaf_crossbar_unit_3_refused;
  logic [31:0] leaf_crossbar_unit_3_data;
  assign at_leaf_crossbar_unit_3 = clock_crossbar_address[15:6] == 10'h123;
  stopbit_network_crossbar_unit_registers i_crossbar_unit_3 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_unit_3),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[5:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_unit_3_refused),
    .data_o(leaf_crossbar_unit_3_data),
    .written_o(crossbar_unit_written_o[3]),
    .counted_i(crossbar_unit_counted_i[3])
  );
  logic        leaf_crossbar_port_0_refused;
  logic [31:0] leaf_crossbar_port_0_data;
  assign at_leaf_crossbar_port_0 = clock_crossbar_address[15:5] == 11'h300;
  stopbit_network_crossbar_port_registers i_crossbar_port_0 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_port_0),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[4:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_port_0_refused),
    .data_o(leaf_crossbar_port_0_data),
    .counted_i(crossbar_port_counted_i[0])
  );
  logic        leaf_crossbar_port_1_refused;
  logic [31:0] leaf_crossbar_port_1_data;
  assign at_leaf_crossbar_port_1 = clock_crossbar_address[15:5] == 11'h301;
  stopbit_network_crossbar_port_registers i_crossbar_port_1 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_port_1),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[4:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_port_1_refused),
    .data_o(leaf_crossbar_port_1_data),
    .counted_i(crossbar_port_counted_i[1])
  );
  logic        leaf_crossbar_port_2_refused;
  logic [31:0] leaf_crossbar_port_2_data;
  assign at_leaf_crossbar_port_2 = clock_crossbar_address[15:5] == 11'h302;
  stopbit_network_crossbar_port_registers i_crossbar_port_2 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_port_2),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[4:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_port_2_refused),
    .data_o(leaf_crossbar_port_2_data),
    .counted_i(crossbar_port_counted_i[2])
  );
  logic        leaf_crossbar_port_3_refused;
  logic [31:0] leaf_crossbar_port_3_data;
  assign at_leaf_crossbar_port_3 = clock_crossbar_address[15:5] == 11'h303;
  stopbit_network_crossbar_port_registers i_crossbar_port_3 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_port_3),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[4:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_port_3_refused),
    .data_o(leaf_crossbar_port_3_data),
    .counted_i(crossbar_port_counted_i[3])
  );
  logic        leaf_crossbar_port_4_refused;
  logic [31:0] leaf_crossbar_port_4_data;
  assign at_leaf_crossbar_port_4 = clock_crossbar_address[15:5] == 11'h304;
  stopbit_network_crossbar_port_registers i_crossbar_port_4 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_port_4),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[4:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_port_4_refused),
    .data_o(leaf_crossbar_port_4_data),
    .counted_i(crossbar_port_counted_i[4])
  );
  logic        leaf_crossbar_port_5_refused;
  logic [31:0] leaf_crossbar_port_5_data;
  assign at_leaf_crossbar_port_5 = clock_crossbar_address[15:5] == 11'h305;
  stopbit_network_crossbar_port_registers i_crossbar_port_5 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_port_5),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[4:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_port_5_refused),
    .data_o(leaf_crossbar_port_5_data),
    .counted_i(crossbar_port_counted_i[5])
  );
  logic        leaf_crossbar_port_6_refused;
  logic [31:0] leaf_crossbar_port_6_data;
  assign at_leaf_crossbar_port_6 = clock_crossbar_address[15:5] == 11'h306;
  stopbit_network_crossbar_port_registers i_crossbar_port_6 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_port_6),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[4:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_port_6_refused),
    .data_o(leaf_crossbar_port_6_data),
    .counted_i(crossbar_port_counted_i[6])
  );
  logic        leaf_crossbar_port_7_refused;
  logic [31:0] leaf_crossbar_port_7_data;
  assign at_leaf_crossbar_port_7 = clock_crossbar_address[15:5] == 11'h307;
  stopbit_network_crossbar_port_registers i_crossbar_port_7 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_port_7),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[4:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_port_7_refused),
    .data_o(leaf_crossbar_port_7_data),
    .counted_i(crossbar_port_counted_i[7])
  );
  logic        leaf_crossbar_port_8_refused;
  logic [31:0] leaf_crossbar_port_8_data;
  assign at_leaf_crossbar_port_8 = clock_crossbar_address[15:5] == 11'h308;
  stopbit_network_crossbar_port_registers i_crossbar_port_8 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_port_8),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[4:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_port_8_refused),
    .data_o(leaf_crossbar_port_8_data),
    .counted_i(crossbar_port_counted_i[8])
  );
  logic        leaf_crossbar_port_9_refused;
  logic [31:0] leaf_crossbar_port_9_data;
  assign at_leaf_crossbar_port_9 = clock_crossbar_address[15:5] == 11'h309;
  stopbit_network_crossbar_port_registers i_crossbar_port_9 (
    .clk_i(crossbar_clk_i), .rst_ni(crossbar_rst_ni), .access_i(clock_crossbar_access && at_leaf_crossbar_port_9),
    .write_i(clock_crossbar_write), .address_i(clock_crossbar_address[4:0]), .write_data_i(clock_crossbar_data),
    .refused_o(leaf_crossbar_port_9_refused),
    .data_o(leaf_crossbar_port_9_data),
    .counted_i(crossbar_port_counted_i[9])
  );
  always_comb begin
    clock_crossbar_answer  = '0;
    clock_crossbar_refused = !(at_leaf_crossbar ||
      at_leaf_crossbar_unit_0 ||
      at_leaf_crossbar_unit_1 ||
      at_leaf_crossbar_unit_2 ||
      at_leaf_crossbar_unit_3 ||
      at_leaf_crossbar_port_0 ||
      at_leaf_crossbar_port_1 ||
      at_leaf_crossbar_port_2 ||
      at_leaf_crossbar_port_3 ||
      at_leaf_crossbar_port_4 ||
      at_leaf_crossbar_port_5 ||
      at_leaf_crossbar_port_6 ||
      at_leaf_crossbar_port_7 ||
      at_leaf_crossbar_port_8 ||
      at_leaf_crossbar_port_9);
    if (at_leaf_crossbar) begin
      clock_crossbar_answer  |= leaf_crossbar_data;
      clock_crossbar_refused |= leaf_crossbar_refused;
    end
    if (at_leaf_crossbar_unit_0) begin
      clock_crossbar_answer  |= leaf_crossbar_unit_0_data;
      clock_crossbar_refused |= leaf_crossbar_unit_0_refused;
    end
    if (at_leaf_crossbar_unit_1) begin
      clock_crossbar_answer  |= leaf_crossbar_unit_1_data;
      clock_crossbar_refused |= leaf_crossbar_unit_1_refused;
    end
    if (at_leaf_crossbar_unit_2) begin
      clock_crossbar_answer  |= leaf_crossbar_unit_2_data;
      clock_crossbar_refused |= leaf_crossbar_unit_2_refused;
    end
    if (at_leaf_crossbar_unit_3) begin
      clock_crossbar_answer  |= leaf_crossbar_unit_3_data;
      clock_crossbar_refused |= leaf_crossbar_unit_3_refused;
    end
    if (at_leaf_crossbar_port_0) begin
      clock_crossbar_answer  |= leaf_crossbar_port_0_data;
      clock_crossbar_refused |= leaf_crossbar_port_0_refused;
    end
    if (at_leaf_crossbar_port_1) begin
      clock_crossbar_answer  |= leaf_crossbar_port_1_data;
      clock_crossbar_refused |= leaf_crossbar_port_1_refused;
    end
    if (at_leaf_crossbar_port_2) begin
      clock_crossbar_answer  |= leaf_crossbar_port_2_data;
      clock_crossbar_refused |= leaf_crossbar_port_2_refused;
    end
    if (at_leaf_crossbar_port_3) begin
      clock_crossbar_answer  |= leaf_crossbar_port_3_data;
      clock_crossbar_refused |= leaf_crossbar_port_3_refused;
    end
    if (at_leaf_crossbar_port_4) begin
      clock_crossbar_answer  |= leaf_crossbar_port_4_data;
      clock_crossbar_refused |= leaf_crossbar_port_4_refused;
    end
    if (at_leaf_crossbar_port_5) begin
      clock_crossbar_answer  |= leaf_crossbar_port_5_data;
      clock_crossbar_refused |= leaf_crossbar_port_5_refused;
    end
    if (at_leaf_crossbar_port_6) begin
      clock_crossbar_answer  |= leaf_crossbar_port_6_data;
      clock_crossbar_refused |= leaf_crossbar_port_6_refused;
    end
    if (at_leaf_crossbar_port_7) begin
      clock_crossbar_answer  |= leaf_crossbar_port_7_data;
      clock_crossbar_refused |= leaf_crossbar_port_7_refused;
    end
    if (at_leaf_crossbar_port_8) begin
      clock_crossbar_answer  |= leaf_crossbar_port_8_data;
      clock_crossbar_refused |= leaf_crossbar_port_8_refused;
    end
    if (at_leaf_crossbar_port_9) begin
      clock_crossbar_answer  |= leaf_crossbar_port_9_data;
      clock_crossbar_refused |= leaf_crossbar_port_9_refused;
    end
  end

  // Clock of link_0.
  logic        clock_link_0_access, clock_link_0_write, clock_link_0_refused;
  logic [15:0] clock_link_0_address;
  logic [31:0] clock_link_0_data, clock_link_0_answer;
  stopbit_register_crossing clock_link_0 (
    .clk_i, .rst_ni, .access_i(access && picked[2]), .write_i(write), .address_i(address), .data_i(data),
    .done_o(domain_done[2]), .refused_o(domain_refused[2]), .data_o(domain_data[2]),
    .block_clk_i(link_clk_i[0]), .block_rst_ni(link_rst_ni[0]), .block_access_o(clock_link_0_access),
    .block_write_o(clock_link_0_write), .block_address_o(clock_link_0_address), .block_data_o(clock_link_0_data),
    .block_refused_i(clock_link_0_refused), .block_data_i(clock_link_0_answer)
  );
  logic at_leaf_link_0;
  logic        leaf_link_0_refused;
  logic [31:0] leaf_link_0_data;
  assign at_leaf_link_0 = clock_link_0_address[15:8] == 8'h80;
  stopbit_network_link_registers i_link_0 (
    .clk_i(link_clk_i[0]), .rst_ni(link_rst_ni[0]), .access_i(clock_link_0_access && at_leaf_link_0),
    .write_i(clock_link_0_write), .address_i(clock_link_0_address[7:0]), .write_data_i(clock_link_0_data),
    .refused_o(leaf_link_0_refused),
    .data_o(leaf_link_0_data),
    .written_o(link_written_o[0]),
    .command_o(link_command_o[0]),
    .shown_i(link_shown_i[0]),
    .raised_i(link_raised_i[0]),
    .counted_i(link_counted_i[0])
  );
  always_comb begin
    clock_link_0_answer  = '0;
    clock_link_0_refused = !(at_leaf_link_0);
    if (at_leaf_link_0) begin
      clock_link_0_answer  |= leaf_link_0_data;
      clock_link_0_refused |= leaf_link_0_refused;
    end
  end

  // Clock of link_1.
  logic        clock_link_1_access, clock_link_1_write, clock_link_1_refused;
  logic [15:0] clock_link_1_address;
  logic [31:0] clock_link_1_data, clock_link_1_answer;
  stopbit_register_crossing clock_link_1 (
    .clk_i, .rst_ni, .access_i(access && picked[3]), .write_i(write), .address_i(address), .data_i(data),
    .done_o(domain_done[3]), .refused_o(domain_refused[3]), .data_o(domain_data[3]),
    .block_clk_i(link_clk_i[1]), .block_rst_ni(link_rst_ni[1]), .block_access_o(clock_link_1_access),
    .block_write_o(clock_link_1_write), .block_address_o(clock_link_1_address), .block_data_o(clock_link_1_data),
    .block_refused_i(clock_link_1_refused), .block_data_i(clock_link_1_answer)
  );
  logic at_leaf_link_1;
  logic        leaf_link_1_refused;
  logic [31:0] leaf_link_1_data;
  assign at_leaf_link_1 = clock_link_1_address[15:8] == 8'h81;
  stopbit_network_link_registers i_link_1 (
    .clk_i(link_clk_i[1]), .rst_ni(link_rst_ni[1]), .access_i(clock_link_1_access && at_leaf_link_1),
    .write_i(clock_link_1_write), .address_i(clock_link_1_address[7:0]), .write_data_i(clock_link_1_data),
    .refused_o(leaf_link_1_refused),
    .data_o(leaf_link_1_data),
    .written_o(link_written_o[1]),
    .command_o(link_command_o[1]),
    .shown_i(link_shown_i[1]),
    .raised_i(link_raised_i[1]),
    .counted_i(link_counted_i[1])
  );
  always_comb begin
    clock_link_1_answer  = '0;
    clock_link_1_refused = !(at_leaf_link_1);
    if (at_leaf_link_1) begin
      clock_link_1_answer  |= leaf_link_1_data;
      clock_link_1_refused |= leaf_link_1_refused;
    end
  end

  // Clock of link_2.
  logic        clock_link_2_access, clock_link_2_write, clock_link_2_refused;
  logic [15:0] clock_link_2_address;
  logic [31:0] clock_link_2_data, clock_link_2_answer;
  stopbit_register_crossing clock_link_2 (
    .clk_i, .rst_ni, .access_i(access && picked[4]), .write_i(write), .address_i(address), .data_i(data),
    .done_o(domain_done[4]), .refused_o(domain_refused[4]), .data_o(domain_data[4]),
    .block_clk_i(link_clk_i[2]), .block_rst_ni(link_rst_ni[2]), .block_access_o(clock_link_2_access),
    .block_write_o(clock_link_2_write), .block_address_o(clock_link_2_address), .block_data_o(clock_link_2_data),
    .block_refused_i(clock_link_2_refused), .block_data_i(clock_link_2_answer)
  );
  logic at_leaf_link_2;
  logic        leaf_link_2_refused;
  logic [31:0] leaf_link_2_data;
  assign at_leaf_link_2 = clock_link_2_address[15:8] == 8'h82;
  stopbit_network_link_registers i_link_2 (
    .clk_i(link_clk_i[2]), .rst_ni(link_rst_ni[2]), .access_i(clock_link_2_access && at_leaf_link_2),
    .write_i(clock_link_2_write), .address_i(clock_link_2_address[7:0]), .write_data_i(clock_link_2_data),
    .refused_o(leaf_link_2_refused),
    .data_o(leaf_link_2_data),
    .written_o(link_written_o[2]),
    .command_o(link_command_o[2]),
    .shown_i(link_shown_i[2]),
    .raised_i(link_raised_i[2]),
    .counted_i(link_counted_i[2])
  );
  always_comb begin
    clock_link_2_answer  = '0;
    clock_link_2_refused = !(at_leaf_link_2);
    if (at_leaf_link_2) begin
      clock_link_2_answer  |= leaf_link_2_data;
      clock_link_2_refused |= leaf_link_2_refused;
    end
  end

  // Clock of link_3.
  logic        clock_link_3_access, clock_link_3_write, clock_link_3_refused;
  logic [15:0] clock_link_3_address;
  logic [31:0] clock_link_3_data, clock_link_3_answer;
  stopbit_register_crossing clock_link_3 (
    .clk_i, .rst_ni, .access_i(access && picked[5]), .write_i(write), .address_i(address), .data_i(data),
    .done_o(domain_done[5]), .refused_o(domain_refused[5]), .data_o(domain_data[5]),
    .block_clk_i(link_clk_i[3]), .block_rst_ni(link_rst_ni[3]), .block_access_o(clock_link_3_access),
    .block_write_o(clock_link_3_write), .block_address_o(clock_link_3_address), .block_data_o(clock_link_3_data),
    .block_refused_i(clock_link_3_refused), .block_data_i(clock_link_3_answer)
  );
  logic at_leaf_link_3;
  logic        leaf_link_3_refused;
  logic [31:0] leaf_link_3_data;
  assign at_leaf_link_3 = clock_link_3_address[15:8] == 8'h83;
  stopbit_network_link_registers i_link_3 (
    .clk_i(link_clk_i[3]), .rst_ni(link_rst_ni[3]), .access_i(clock_link_3_access && at_leaf_link_3),
    .write_i(clock_link_3_write), .address_i(clock_link_3_address[7:0]), .write_data_i(clock_link_3_data),
    .refused_o(leaf_link_3_refused),
    .data_o(leaf_link_3_data),
    .written_o(link_written_o[3]),
    .command_o(link_command_o[3]),
    .shown_i(link_shown_i[3]),
    .raised_i(link_raised_i[3]),
    .counted_i(link_counted_i[3])
  );
  always_comb begin
    clock_link_3_answer  = '0;
    clock_link_3_refused = !(at_leaf_link_3);
    if (at_leaf_link_3) begin
      clock_link_3_answer  |= leaf_link_3_data;
      clock_link_3_refused |= leaf_link_3_refused;
    end
  end

  // Clock of link_4.
  logic        clock_link_4_access, clock_link_4_write, clock_link_4_refused;
  logic [15:0] clock_link_4_address;
  logic [31:0] clock_link_4_data, clock_link_4_answer;
  stopbit_register_crossing clock_link_4 (
    .clk_i, .rst_ni, .access_i(access && picked[6]), .write_i(write), .address_i(address), .data_i(data),
    .done_o(domain_done[6]), .refused_o(domain_refused[6]), .data_o(domain_data[6]),
    .block_clk_i(link_clk_i[4]), .block_rst_ni(link_rst_ni[4]), .block_access_o(clock_link_4_access),
    .block_write_o(clock_link_4_write), .block_address_o(clock_link_4_address), .block_data_o(clock_link_4_data),
    .block_refused_i(clock_link_4_refused), .block_data_i(clock_link_4_answer)
  );
  logic at_leaf_link_4;
  logic        leaf_link_4_refused;
  logic [31:0] leaf_link_4_data;
  assign at_leaf_link_4 = clock_link_4_address[15:8] == 8'h84;
  stopbit_network_link_registers i_link_4 (
    .clk_i(link_clk_i[4]), .rst_ni(link_rst_ni[4]), .access_i(clock_link_4_access && at_leaf_link_4),
    .write_i(clock_link_4_write), .address_i(clock_link_4_address[7:0]), .write_data_i(clock_link_4_data),
    .refused_o(leaf_link_4_refused),
    .data_o(leaf_link_4_data),
    .written_o(link_written_o[4]),
    .command_o(link_command_o[4]),
    .shown_i(link_shown_i[4]),
    .raised_i(link_raised_i[4]),
    .counted_i(link_counted_i[4])
  );
  always_comb begin
    clock_link_4_answer  = '0;
    clock_link_4_refused = !(at_leaf_link_4);
    if (at_leaf_link_4) begin
      clock_link_4_answer  |= leaf_link_4_data;
      clock_link_4_refused |= leaf_link_4_refused;
    end
  end

  // Clock of link_5.
  logic        clock_link_5_access, clock_link_5_write, clock_link_5_refused;
  logic [15:0] clock_link_5_address;
  logic [31:0] clock_link_5_data, clock_link_5_answer;
  stopbit_register_crossing clock_link_5 (
    .clk_i, .rst_ni, .access_i(access && picked[7]), .write_i(write), .address_i(address), .data_i(data),
    .done_o(domain_done[7]), .refused_o(domain_refused[7]), .data_o(domain_data[7]),
    .block_clk_i(link_clk_i[5]), .block_rst_ni(link_rst_ni[5]), .block_access_o(clock_link_5_access),
    .block_write_o(clock_link_5_write), .block_address_o(clock_link_5_address), .block_data_o(clock_link_5_data),
    .block_refused_i(clock_link_5_refused), .block_data_i(clock_link_5_answer)
  );
  logic at_leaf_link_5;
  logic        leaf_link_5_refused;
  logic [31:0] leaf_link_5_data;
  assign at_leaf_link_5 = clock_link_5_address[15:8] == 8'h85;
  stopbit_network_link_registers i_link_5 (
    .clk_i(link_clk_i[5]), .rst_ni(link_rst_ni[5]), .access_i(clock_link_5_access && at_leaf_link_5),
    .write_i(clock_link_5_write), .address_i(clock_link_5_address[7:0]), .write_data_i(clock_link_5_data),
    .refused_o(leaf_link_5_refused),
    .data_o(leaf_link_5_data),
    .written_o(link_written_o[5]),
    .command_o(link_command_o[5]),
    .shown_i(link_shown_i[5]),
    .raised_i(link_raised_i[5]),
    .counted_i(link_counted_i[5])
  );
  always_comb begin
    clock_link_5_answer  = '0;
    clock_link_5_refused = !(at_leaf_link_5);
    if (at_leaf_link_5) begin
      clock_link_5_answer  |= leaf_link_5_data;
      clock_link_5_refused |= leaf_link_5_refused;
    end
  end
endmodule
