/// The switch of a node: packets of cells from any port to any port, or to several. fpga/rtl/crossbar/README.md.
///
/// Ports 0 to Units - 1 lead to the units of the node, the others are links. Cells come and go without a ready: a packet
/// may be sent to a port only with credits, slots of 64 bytes of its store, by channel. A slot is used as a packet begins,
/// and one more with each eighth cell of payload; `freed_o` gives one back. `freed_i` does so for an output.
module stopbit_crossbar
  import stopbit_link_pkg::*, stopbit_switch_pkg::*;
#(
  parameter  int unsigned Units      = 4,
  parameter  int unsigned Links      = 6,
  parameter  int unsigned NumClasses    = 4,
  parameter  int unsigned NumVcs        = 3,    // virtual channels; adaptive packets use the last one
  parameter  int unsigned Slots      = 128,  // of an input
  parameter  int unsigned Room       = 128,  // slots at the other end of an output
  parameter  int unsigned Reserve    = 4,    // of these, for each channel
  parameter  int unsigned AlmostFull = 4,
  localparam int unsigned Ports      = Units + Links
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic [Ports-1:0]           up_i,          // a port that is down takes and sends nothing
  input  logic [31:0]                patience_i,    // cycles, see output and writer; 0: for ever

  input  logic                       config_i,      // an entry of a table
  input  logic [Ports-1:0]           config_ports_i,
  input  logic [1:0]                 config_table_i,
  input  logic [9:0]                 config_address_i,
  input  logic [31:0]                config_data_i,

  output logic                       ready_o,       // a while after a reset: packets may come
  input  logic [Ports-1:0]           valid_i,
  input  logic [Ports-1:0][1:0]      kind_i,
  input  logic [Ports-1:0][63:0]     data_i,
  output logic [Ports-1:0]           freed_o,
  output logic [Ports-1:0][3:0]      freed_channel_o,

  output logic [Ports-1:0]           valid_o,
  output logic [Ports-1:0][1:0]      kind_o,
  output logic [Ports-1:0][63:0]     data_o,
  input  logic [Ports-1:0]           freed_i,
  input  logic [Ports-1:0][3:0]      freed_channel_i,

  // A pulse for each event, by port.
  output logic [Ports-1:0]           stray_o,
  output logic [Ports-1:0]           cut_o,
  output logic [Ports-1:0]           overrun_o,
  output logic [Ports-1:0]           malformed_o,
  output logic [Ports-1:0]           unroutable_o,
  output logic [Ports-1:0]           circled_o,
  output logic [Ports-1:0]           discarded_o,
  output logic [Ports-1:0]           excess_o       // a credit for a slot that was not used
);
  localparam int unsigned NumChannels = NumClasses * NumVcs;
  if (Links > EntryLinks || Units > 8 || NumClasses > 4 || NumVcs > 3 || NumChannels > 15) begin : gen_bad
    $fatal(1, "stopbit_crossbar: at most 8 units, %0d links, 4 classes, 3 channels", EntryLinks);
  end

  logic [Ports-1:0]                           ready, busy;
  logic [Ports-1:0][Ports:0]                  wants, agrees, agreed;                     // by input, then output or none
  logic [Ports-1:0][Ports-1:0]                has, outputs, done, sends;                 // by input, then output
  logic [Ports-1:0][Ports-1:0]                grants;                                    // by output, then input
  logic [Ports-1:0][Ports-1:0][NumChannels-1:0]  waiting;                                   // by input, then output
  logic [Ports-1:0][NumChannels-1:0]             may_send;
  logic [Ports-1:0]                           discards;
  channel_t [Ports-1:0]                       channels, done_channels;
  logic [Ports-1:0][2:0]                      done_slots;
  cell_t [Ports-1:0]                          cells;
  assign ready_o = ready == '1;

  stopbit_crossbar_grants #(.Ports(Ports)) i_grants (
    .clk_i, .rst_ni, .wants_i(wants), .has_i(has), .busy_i(busy), .outputs_i(outputs), .agrees_o(agrees),
    .agreed_o(agreed), .grants_o(grants)
  );

  for (genvar p = 0; p < Ports; p++) begin : gen_port
    logic [Ports-1:0]               my_wants, my_agrees, my_done, my_sends;
    logic [Ports-1:0][NumChannels-1:0] my_waiting;
    for (genvar i = 0; i < Ports; i++) begin : gen_turned
      assign my_wants[i]   = wants[i][p];
      assign my_agrees[i]  = agrees[i][p];
      assign my_done[i]    = done[i][p];
      assign my_sends[i]   = sends[i][p];
      assign my_waiting[i] = waiting[i][p];
    end

    input_events_t events;
    assign stray_o[p]      = events.stray;
    assign cut_o[p]        = events.cut;
    assign overrun_o[p]    = events.overrun;
    assign malformed_o[p]  = events.malformed;
    assign unroutable_o[p] = events.unroutable;
    assign circled_o[p]    = events.circled;
    assign discarded_o[p]  = events.discarded;
    stopbit_crossbar_input #(
      .Units(Units), .Links(Links), .NumClasses(NumClasses), .NumVcs(NumVcs), .Slots(Slots), .AlmostFull(AlmostFull), .Port(p)
    ) i_input (
      .clk_i, .rst_ni, .up_i(up_i[p]), .patience_i,
      .config_i(config_i && config_ports_i[p]), .config_table_i(table_t'(config_table_i)), .config_address_i, .config_data_i,
      .valid_i(valid_i[p]), .cell_i('{kind: cell_kind_t'(kind_i[p]), data: data_i[p]}), .ready_o(ready[p]),
      .freed_o(freed_o[p]), .freed_channel_o(freed_channel_o[p]),
      .waiting_o(waiting[p]), .may_send_i(may_send), .has_o(has[p]), .wants_o(wants[p]), .busy_o(busy[p]), .outputs_o(outputs[p]),
      .agreed_i(agreed[p]), .channels_i(channels), .discards_i(discards),
      .done_o(done[p]), .done_channel_o(done_channels[p]), .done_slots_o(done_slots[p]), .sends_o(sends[p]), .cell_o(cells[p]),
      .events_o(events)
    );

    cell_t cell_out;
    assign {kind_o[p], data_o[p]} = {cell_out.kind, cell_out.data};
    stopbit_crossbar_output #(.Ports(Ports), .NumChannels(NumChannels), .Room(Room), .Reserve(Reserve)) i_output (
      .clk_i, .rst_ni, .up_i(up_i[p]), .patience_i,
      .waiting_i(my_waiting), .may_send_o(may_send[p]), .wants_i(my_wants), .grant_i(grants[p]), .agrees_i(my_agrees), .channel_o(channels[p]),
      .discard_o(discards[p]), .done_i(my_done), .done_channels_i(done_channels), .done_slots_i(done_slots),
      .sends_i(my_sends), .cells_i(cells), .valid_o(valid_o[p]), .cell_o(cell_out),
      .freed_i(freed_i[p]), .freed_channel_i(freed_channel_i[p]), .excess_o(excess_o[p])
    );
  end
endmodule
