/// Commands of all ports, as processes write them to their pages, for the units that carry them out. README.md has the rest.
module stopbit_queue
  import stopbit_queue_pkg::*;
  import stopbit_rma_pkg::rma_command_words_t;
#(
  parameter  int unsigned Ports     = 64,
  parameter  int unsigned Depth     = 512,  // words of posted commands for each unit: 3 a short one, 8 a line
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,

  // Ports: what the supervisor sets when one is opened, stopped or closed. `life` is another one for each owner.
  input  logic                     set_valid_i,
  output logic                     set_ready_o,
  input  logic [PortWidth-1:0]     set_port_i,
  input  queue_port_t              set_i,

  // The host's posted writes, packets of HTAX.
  input  logic                     posted_valid_i,
  output logic                     posted_ready_o,
  input  logic [63:0]              posted_phit_i,

  // The requester of remote memory access.
  output logic                     command_valid_o,
  input  logic                     command_ready_i,
  output logic [15:0]              command_vpid_o,
  output rma_command_words_t       command_o,

  // The requester of the message unit.
  output logic                     send_valid_o,
  input  logic                     send_ready_i,
  output logic                     send_first_o,
  output logic                     send_last_o,
  output logic [63:0]              send_data_o,
  output logic [9:0]               send_vpid_o,
  output logic [1:0]               send_class_o,

  // Events, a cycle each.
  output logic                     event_valid_o,
  output queue_event_t             event_o,
  output logic [Targets-1:0]       stale_o   // a command of an owner that its port does not have any more
);
  queue_port_t [Ports-1:0]    ports_q;
  logic [Targets-1:0]         put_valid, put_ready, valid, ready, last;
  logic                       put_last;
  logic [63:0]                put_data;
  logic [Targets-1:0][63:0]   data;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) ports_q <= '0;
    else if (set_valid_i && set_ready_o) ports_q[set_port_i] <= set_i;
  end

  stopbit_queue_posted #(.Ports(Ports)) i_posted (
    .clk_i, .rst_ni, .ports_i(ports_q), .clear_valid_i(set_valid_i), .clear_ready_o(set_ready_o), .clear_port_i(set_port_i),
    .valid_i(posted_valid_i), .ready_o(posted_ready_o), .phit_i(posted_phit_i),
    .valid_o(put_valid), .ready_i(put_ready), .last_o(put_last), .data_o(put_data), .event_valid_o, .event_o
  );
  for (genvar t = 0; t < Targets; t++) begin : g_store
    stopbit_queue_store #(.Depth(Depth)) i_posted (
      .clk_i, .rst_ni, .valid_i(put_valid[t]), .ready_o(put_ready[t]), .last_i(put_last), .data_i(put_data), .drop_i(1'b0),
      .valid_o(valid[t]), .ready_i(ready[t]), .last_o(last[t]), .data_o(data[t])
    );
  end
  stopbit_queue_message #(.Ports(Ports)) i_message (
    .clk_i, .rst_ni, .ports_i(ports_q), .valid_i(valid[Messages]), .ready_o(ready[Messages]), .last_i(last[Messages]),
    .data_i(data[Messages]), .valid_o(send_valid_o), .ready_i(send_ready_i), .first_o(send_first_o), .last_o(send_last_o),
    .data_o(send_data_o), .vpid_o(send_vpid_o), .class_o(send_class_o),
    .freed_valid_o(freed[0]), .freed_ready_i(1'b1), .freed_port_o(freed_port[0]), .stale_o(stale_o[Messages])
  );
  stopbit_queue_transfer #(.Ports(Ports)) i_transfer (
    .clk_i, .rst_ni, .ports_i(ports_q), .valid_i(valid[Transfers]), .ready_o(ready[Transfers]), .last_i(last[Transfers]),
    .data_i(data[Transfers]), .valid_o(command_valid_o), .ready_i(command_ready_i), .vpid_o(command_vpid_o), .command_o,
    .freed_valid_o(freed[1]), .freed_ready_i(1'b1), .freed_port_o(freed_port[1]), .stale_o(stale_o[Transfers])
  );

  logic                      unused;  // posted commands take no places of their ports
  logic [1:0]                freed;
  logic [1:0][PortWidth-1:0] freed_port;
  assign unused = &{1'b0, freed, freed_port};
endmodule
