/// Records of the kernel to other nodes, as its registers have it: requests of the host, counters, and two streams of
/// the network's words.
///
/// A start, a subscribe and a tell each wait until the sender takes them; the host asks for one of a kind at a time.
/// What makes no sense is refused and changes nothing. Of what comes from the network only credits count, so it is
/// always taken.
module stopbit_kernel_remote
  import stopbit_link_pkg::start_t;
  import stopbit_pkg::*;
  import stopbit_registers_pkg::*;
  import stopbit_remote_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter int unsigned Depth   = 512,  // as stopbit_remote's
  parameter int unsigned Records = 64
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,

  input  logic [63:0]                   time_i,
  input  remote_written_t               written_i,
  input  remote_command_t               command_i,
  output remote_shown_t                 shown_o,
  output logic                          refused_o,

  input  filter_written_t [Filters-1:0] filters_i,
  input  logic                          slot_valid_i,  // it was taken
  input  stopbit_slot_t                 slot_i,

  output logic                          send_valid_o,
  input  logic                          send_ready_i,
  output logic [63:0]                   send_data_o,
  output logic                          send_last_o,

  input  logic                          come_valid_i,
  input  logic [63:0]                   come_data_i,
  input  logic                          come_last_i,
  input  logic                          come_bad_i     // with the last word
);
  // As many as a filter has bits for.
  localparam int unsigned Subscribers = 8;
  localparam int unsigned IndexWidth  = $clog2(Subscribers);
  localparam logic [20:0] MinBytes    = 21'd104;  // of a message with one slot
  localparam logic [16:0] MinSlots    = 17'(Replenish) + 17'd1;
  localparam logic [16:0] MaxSlots    = 17'h1_0000;
  localparam logic [4:0]  MinLog2     = 5'd4;
  localparam logic [4:0]  MaxLog2     = 5'd28;

  // ---- the ring: its sizes and names stay while it is there. Before that, records go to no subscriber.
  logic                   starting_q, sized_q, started_q, start_asked, start_fits, start_ends, start, empty;
  logic [4:0]             log2_q;
  logic [15:0]            max_q, node_q, generation_q;
  logic [25:0]            eighth;
  logic [Subscribers-1:0] open, losing;
  assign start_asked = command_i.command_valid && command_i.command[RemoteCommandStartBit];
  assign eighth      = 26'd1 << (written_i.slots_log2 - 5'd3);
  assign start_fits  = written_i.slots_log2 >= MinLog2 && written_i.slots_log2 <= MaxLog2 && open == '0 &&
                       written_i.max_record_slots != '0 && 26'(written_i.max_record_slots) <= eighth;
  // First the sizes, then the numbers that follow from them, while no record waits that has another.
  assign start       = sized_q && empty;
  assign start_ends  = sized_q ? empty : !start_fits;

  // ---- requests
  logic                  setting_q, telling_q, told_q, set_open_q, tell_ends_q, set_fits, set_valid, set_ready,
                         set_done, tell_ready, told;
  logic [IndexWidth-1:0] set_index_q, tell_index_q;
  logic [7:0]            tell_how_q;
  subscriber_t           subscriber;
  position_t             begun, position;
  logic [63:0]           begun_q;
  assign subscriber = '{
    open: set_open_q, node: written_i.peer[RemotePeerNodeBit +: 16], vpid: written_i.peer[RemotePeerVpidBit +: 16],
    event_number: written_i.landing[RemoteLandingEventBit +: 6],
    window: written_i.landing[RemoteLandingWindowBit +: 16],
    capability: written_i.capability, slots: written_i.channel_slots, slot_bytes: written_i.slot_bytes,
    port: written_i.origin[RemoteOriginPortBit +: 16], domain: written_i.origin[RemoteOriginDomainBit +: 16],
    life: written_i.life};
  // Looked at until it is taken: the host may write the registers at any time.
  assign set_fits  = !set_open_q || (started_q && !starting_q && written_i.channel_slots >= MinSlots &&
                                     written_i.channel_slots <= MaxSlots && written_i.slot_bytes >= MinBytes);
  assign set_valid = setting_q && set_fits;
  assign set_done  = set_valid && set_ready;

  always_ff @(posedge clk_i) begin
    if (command_i.subscribe_valid && !setting_q) begin
      set_index_q <= command_i.subscribe[RemoteSubscribeIndexBit +: IndexWidth];
      set_open_q  <= command_i.subscribe[RemoteSubscribeOpenBit];
    end
    if (command_i.tell_valid && !telling_q) begin
      tell_index_q <= command_i.tell[RemoteTellIndexBit +: IndexWidth];
      tell_ends_q  <= command_i.tell[RemoteTellEndsBit];
      tell_how_q   <= command_i.tell[RemoteTellHowBit +: 8];
    end
    if (set_done && set_open_q) begun_q <= begun.number;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      starting_q   <= 1'b0;
      sized_q      <= 1'b0;
      started_q    <= 1'b0;
      setting_q    <= 1'b0;
      telling_q    <= 1'b0;
      told_q       <= 1'b0;
      refused_o    <= 1'b0;
      log2_q       <= MaxLog2;
      max_q        <= '1;
      node_q       <= '0;
      generation_q <= '0;
    end else begin
      starting_q <= starting_q ? !start_ends : start_asked;
      sized_q    <= sized_q ? !empty : starting_q && start_fits;
      setting_q  <= setting_q ? !(set_done || !set_fits) : command_i.subscribe_valid;
      telling_q  <= telling_q ? !tell_ready : command_i.tell_valid;
      refused_o  <= (starting_q && (start_asked || (!sized_q && !start_fits))) ||
                    (setting_q && (command_i.subscribe_valid || !set_fits)) || (telling_q && command_i.tell_valid);
      if (start) started_q <= 1'b1;
      if (starting_q && !sized_q && start_fits) begin
        log2_q       <= written_i.slots_log2;
        max_q        <= written_i.max_record_slots;
        node_q       <= written_i.node;
        generation_q <= written_i.generation;
      end
      if (telling_q && tell_ready) told_q <= told;
    end
  end

  // ---- records, a cycle later: that they are taken shows late, after all that may hold them up
  logic          slot_valid_q;
  stopbit_slot_t slot_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) slot_valid_q <= 1'b0;
    else         slot_valid_q <= slot_valid_i;
    slot_q <= slot_i;
  end

  filter_written_t [Filters-1:0] filters;
  progress_t                     progress;
  rma_word_t                     send, come;
  logic                          malformed, overrun, surplus, stray;
  always_comb begin
    filters = filters_i;
    for (int unsigned f = 0; f < Filters; f++) begin
      filters[f].control[FilterControlRingsBit +: 8] = filters_i[f].control[FilterControlSubscribersBit +: 8];
    end
  end
  // A packet of the network begins with its start, which names its class.
  logic   come_inside_q, come_request_q, come_request;
  start_t come_start;
  assign come_start   = come_data_i;
  assign come_request = come_inside_q ? come_request_q : come_start.traffic_class == Requests;
  assign come         = '{is_first: !come_inside_q, is_last: come_last_i, data: come_data_i};
  assign send_data_o  = send.data;
  assign send_last_o  = send.is_last;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) come_inside_q <= 1'b0;
    else if (come_valid_i) come_inside_q <= !come_last_i;
    if (come_valid_i) come_request_q <= come_request;
  end

  stopbit_remote #(.Subscribers(Subscribers), .Depth(Depth), .Records(Records)) i_remote (
    .clk_i, .rst_ni, .node_i(node_q), .time_i, .generation_i(generation_q), .start_i(start),
    .slots_log2_i(log2_q), .max_slots_i(max_q), .filters_i(filters), .slot_valid_i(slot_valid_q), .slot_i(slot_q),
    .set_valid_i(set_valid), .set_ready_o(set_ready), .set_index_i(set_index_q), .set_i(subscriber), .begun_o(begun),
    .tell_valid_i(telling_q), .tell_ready_o(tell_ready), .tell_index_i(tell_index_q), .tell_ends_i(tell_ends_q),
    .tell_how_i(tell_how_q), .told_o(told), .status_index_i(written_i.status_index), .status_o(progress),
    .position_o(position), .open_o(open), .losing_o(losing), .empty_o(empty), .unit_valid_i(1'b0), .unit_ready_o(),
    .unit_word_i('0), .unit_room_o(),
    .come_valid_i(come_valid_i && come_request), .come_word_i(come), .come_bad_i, .send_valid_o, .send_ready_i,
    .send_word_o(send), .send_room_i('1), .malformed_o(malformed), .overrun_o(overrun), .surplus_o(surplus),
    .stray_o(stray)
  );

  // ---- what the host sees
  logic [63:0] overrun_q;
  logic [31:0] malformed_q, surplus_q, stray_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      overrun_q   <= '0;
      malformed_q <= '0;
      surplus_q   <= '0;
      stray_q     <= '0;
    end else begin
      overrun_q   <= overrun_q + 64'(overrun);
      malformed_q <= malformed_q + 32'(malformed);
      surplus_q   <= surplus_q + 32'(surplus);
      stray_q     <= stray_q + 32'(stray);
    end
  end
  always_comb begin
    shown_o = '0;
    shown_o.state[RemoteStateStartingBit]             = starting_q;
    shown_o.state[RemoteStateSubscribingBit]            = setting_q;
    shown_o.state[RemoteStateTellingBit]               = telling_q;
    shown_o.state[RemoteStateToldBit]                  = told_q;
    shown_o.state[RemoteStateWaitingBit]               = !empty;
    shown_o.state[RemoteStateOpenBit +: Subscribers]   = open;
    shown_o.state[RemoteStateLosingBit +: Subscribers] = losing;
    shown_o.subscribers      = 32'(Subscribers);
    shown_o.begun_number     = begun_q;
    shown_o.position_number  = position.number;
    shown_o.position_records = position.records;
    shown_o.begun            = progress.begun;
    shown_o.messages         = progress.sent;
    shown_o.records          = progress.records;
    shown_o.slots            = progress.slots;
    shown_o.lost             = progress.lost;
    shown_o.overrun          = overrun_q;
    shown_o.malformed        = malformed_q;
    shown_o.surplus          = surplus_q;
    shown_o.stray            = stray_q;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      no_reader : assert (!start || open == '0);
      has_ring  : assert (open == '0 || started_q);
    end
  end
`endif
endmodule
