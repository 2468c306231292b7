/// An input: its cells into slots, routes, queues, and out again to the output that was agreed on.
module stopbit_crossbar_input
  import stopbit_link_pkg::*, stopbit_switch_pkg::*;
#(
  parameter  int unsigned Units      = 4,
  parameter  int unsigned Links      = 6,
  parameter  int unsigned NumClasses    = 4,
  parameter  int unsigned NumVcs        = 3,
  parameter  int unsigned Slots      = 128,
  parameter  int unsigned AlmostFull = 4,   // packets in a queue, from which on adaptive ones avoid it
  parameter  int unsigned Port       = 0,
  localparam int unsigned Ports      = Units + Links,
  localparam int unsigned NumChannels   = NumClasses * NumVcs,
  localparam int unsigned SlotWidth  = $clog2(Slots),
  localparam int unsigned CopyWidth  = $clog2(Ports + 1)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           up_i,
  input  logic [31:0]                    patience_i,
  input  logic                           config_i,
  input  table_t                         config_table_i,
  input  logic [9:0]                     config_address_i,
  input  logic [31:0]                    config_data_i,

  input  logic                           valid_i,
  input  cell_t                          cell_i,
  output logic                           ready_o,      // the slots are there: some cycles after a reset
  output logic                           freed_o,
  output channel_t                       freed_channel_o,

  // By output.
  output logic [Ports-1:0][NumChannels-1:0] waiting_o,
  input  logic [Ports-1:0][NumChannels-1:0] may_send_i,
  output logic [Ports-1:0]               has_o,        // something waits that may be sent
  output logic [Ports:0]                 wants_o,      // a cycle later: something did; the last output is none
  output logic                           busy_o,       // it sends a packet that does not end soon
  output logic [Ports-1:0]               outputs_o,    // ... to these outputs
  input  logic [Ports:0]                 agreed_i,     // a packet that it takes
  input  channel_t [Ports-1:0]           channels_i,   // ... its channel
  input  logic [Ports-1:0]               discards_i,   // ... it will be dropped
  output logic [Ports-1:0]               done_o,
  output channel_t                       done_channel_o,
  output logic [2:0]                     done_slots_o,
  output logic [Ports-1:0]               sends_o,
  output cell_t                          cell_o,

  output input_events_t                  events_o
);
  // Free slots. All of them are put in after a reset.
  localparam int unsigned Queues     = NumChannels > 1 ? 1 << $clog2(NumChannels) : 2;  // which need a cycle each
  localparam int unsigned Clear      = Slots > Queues ? Slots : Queues;
  localparam int unsigned ClearWidth = $clog2(Clear + 1);
  logic [ClearWidth-1:0] clear_q;
  logic                  fills, slot_shown, slot_take, freed;
  logic [SlotWidth-1:0]  slot, freed_slot;
  assign fills   = clear_q < ClearWidth'(Slots);
  assign ready_o = clear_q == ClearWidth'(Clear);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) clear_q <= '0;
    else if (!ready_o) clear_q <= clear_q + 1'b1;
  end
  stopbit_fifo #(.Width(SlotWidth), .Depth(Slots)) free_slots (
    .clk_i, .rst_ni, .valid_i(fills || freed), .ready_o(), .data_i(fills ? clear_q[SlotWidth-1:0] : freed_slot),
    .valid_o(slot_shown), .ready_i(slot_take), .double_i(1'b0), .single_o(), .data_o(slot), .count_o()
  );

  // In.
  logic                 write, chain, begins, closes, is_open;
  logic [SlotWidth-1:0] write_slot, open_first, open_last;
  logic [2:0]           write_cell;
  logic [63:0]          data;
  logic [5:0]           open_count;
  start_t               start;
  assign start = start_t'(data);
  // Any start begins a packet, so that its slots and credits come back; routing drops it.
  stopbit_cell_writer #(.Slots(Slots)) writer (
    .clk_i, .rst_ni, .up_i, .patience_i, .valid_i, .cell_i,
    .slot_valid_i(slot_shown && ready_o), .slot_i(slot), .refuse_i(1'b0), .take_o(slot_take),
    .begin_o(begins), .chain_o(chain), .store_o(write), .store_slot_o(write_slot), .store_cell_o(write_cell), .data_o(data),
    .channel_o(), .close_o(closes), .bad_o(),
    .open_o(is_open), .first_o(open_first), .last_o(open_last), .count_o(open_count), .fill_o(),
    .stray_o(events_o.stray), .cut_o(events_o.cut), .overrun_o(events_o.overrun), .malformed_o()
  );

  // Routes.
  logic                 routed;
  logic [SlotWidth-1:0] routed_slot;
  logic [Ports:0]       outputs;
  channel_t [Ports-1:0] channels;
  logic [CopyWidth-1:0] copies;
  logic [Links-1:0][1:0] link_free_q;
  stopbit_crossbar_routes #(.Units(Units), .Links(Links), .NumClasses(NumClasses), .NumVcs(NumVcs), .Port(Port), .Slots(Slots)) routes (
    .clk_i, .rst_ni, .config_i, .config_table_i, .config_address_i, .config_data_i,
    .start_i(begins), .cell_i(start), .slot_i(slot), .free_i(link_free_q),
    .route_o(routed), .slot_o(routed_slot), .outputs_o(outputs), .channels_o(channels), .copies_o(copies),
    .malformed_o(events_o.malformed), .unroutable_o(events_o.unroutable), .circled_o(events_o.circled)
  );

  // Queues.
  logic [SlotWidth-1:0] taken_slot;
  stopbit_crossbar_queues #(.Ports(Ports), .NumChannels(NumChannels), .Slots(Slots)) queues (
    .clk_i, .rst_ni, .put_i(routed), .put_slot_i(routed_slot), .put_outputs_i(outputs), .put_channels_i(channels),
    .waiting_o, .may_send_i, .has_o, .wants_o, .take_i(agreed_i), .take_channels_i(channels_i), .slot_o(taken_slot)
  );

  // How many packets wait on the channels of adaptive packets, of classes 0 and 1.
  for (genvar i = 0; i < Links; i++) begin : gen_link
    for (genvar k = 0; k < 2; k++) begin : gen_class
      if (k < NumClasses) begin : gen_count
        localparam int unsigned Channel = k * NumVcs + NumVcs - 1;
        logic [SlotWidth:0] length_q;
        logic               more, less;
        assign more = routed && outputs[Units+i] && channels[Units+i] == channel_t'(Channel);
        assign less = agreed_i[Units+i] && channels_i[Units+i] == channel_t'(Channel);
        always_ff @(posedge clk_i) begin
          if (!rst_ni) length_q <= '0;
          else length_q <= length_q + (SlotWidth+1)'(more) - (SlotWidth+1)'(less);
          link_free_q[i][k] <= length_q < (SlotWidth+1)'(AlmostFull) && may_send_i[Units+i][Channel];
        end
      end else begin : gen_none
        assign link_free_q[i][k] = 1'b0;
      end
    end
  end

  // The packet that was taken.
  channel_t channel;
  logic     discards;
  always_comb begin
    channel  = '0;
    discards = 1'b0;
    for (int unsigned i = 0; i < Ports; i++) begin
      channel  |= agreed_i[i] ? channels_i[i] : '0;
      discards |= agreed_i[i] && discards_i[i];
    end
  end
  assign events_o.discarded = discards;

  // Out.
  logic                 sent;
  logic [SlotWidth-1:0] load_slot, read_slot, send_slot, sent_slot, next_slot;
  logic [5:0]           load_count;
  logic [2:0]           read_cell;
  logic [CopyWidth-1:0] load_copies, load_sent, sent_count;
  logic [63:0]          start_data, end_data, payload_data;
  channel_t             load_channel, came_on;
  stopbit_crossbar_reader #(.Units(Units), .Links(Links), .NumVcs(NumVcs), .Slots(Slots)) reader (
    .clk_i, .rst_ni, .agreed_i, .discard_i(discards), .channel_i(channel), .slot_i(taken_slot),
    .busy_o, .busy_outputs_o(outputs_o),
    .open_i(is_open), .open_first_i(open_first), .open_count_i(open_count), .close_i(closes),
    .load_slot_o(load_slot), .load_count_i(load_count), .load_channel_i(load_channel), .load_copies_i(load_copies),
    .load_sent_i(load_sent), .sent_o(sent), .sent_slot_o(sent_slot), .sent_count_o(sent_count), .slot_o(send_slot), .next_i(next_slot),
    .read_slot_o(read_slot), .read_cell_o(read_cell), .start_i(start_data), .end_i(end_data), .payload_i(payload_data),
    .freed_o(freed), .freed_slot_o(freed_slot), .freed_channel_o(came_on),
    .done_o, .done_channel_o, .done_slots_o, .outputs_o(sends_o), .cell_o
  );

  channel_t begin_channel;
  assign begin_channel = 32'(start.channel) < NumVcs && 32'(start.traffic_class) < NumClasses ?
                         channel_t'(32'(start.traffic_class) * NumVcs + 32'(start.channel)) : '1;
  stopbit_crossbar_store #(.Slots(Slots), .Copies(1 << CopyWidth)) store (
    .clk_i,
    .write_i(write), .write_slot_i(write_slot), .write_cell_i(write_cell), .data_i(data),
    .chain_i(chain), .chain_slot_i(open_last), .chain_next_i(slot),
    .begin_i(begins), .begin_slot_i(slot), .begin_channel_i(begin_channel),
    .close_i(closes), .close_first_i(open_first), .close_last_i(open_last),
    .close_data_i(events_o.cut ? {1'b1, 63'd0} : data),
    .close_count_i(open_count),
    .copies_i(routed), .copies_slot_i(routed_slot), .copies_count_i(copies),
    .load_slot_i(load_slot), .load_count_o(load_count), .load_channel_o(load_channel), .load_copies_o(load_copies),
    .load_sent_o(load_sent), .sent_i(fills || sent), .sent_slot_i(fills ? clear_q[SlotWidth-1:0] : sent_slot),
    .sent_count_i(fills ? '0 : sent_count), .slot_i(send_slot), .next_o(next_slot),
    .read_slot_i(read_slot), .read_cell_i(read_cell), .start_o(start_data), .end_o(end_data), .payload_o(payload_data)
  );

  // Credits of a channel that does not exist are ignored.
  always_ff @(posedge clk_i) begin
    freed_channel_o <= came_on;
    if (!rst_ni) freed_o <= 1'b0;
    else freed_o <= freed && came_on != '1;
  end

`ifndef SYNTHESIS
  // Every slot is free, or in a packet: counted by what is taken and freed.
  logic [SlotWidth:0] used_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q <= '0;
    end else begin
      used_q <= used_q + (SlotWidth+1)'(slot_take) - (SlotWidth+1)'(freed);
      never_more_than_all  : assert (used_q <= (SlotWidth+1)'(Slots));
      frees_what_was_taken : assert (!freed || used_q != '0);
    end
  end
`endif
endmodule
