/// A node: what a process writes to its page becomes a transfer between its memory and that of other nodes.
///
/// The host's side are three streams each way, as HyperTransport, PCIe or AXI give them (stopbit_htax_axi_slave and _master).
/// The network's side are the wires of links. Tables are the supervisor's: each unit's page says what they mean.
/// README.md has the rest.
module stopbit_node
  import stopbit_htax_pkg::*;
  import stopbit_link_pkg::channel_t;
  import stopbit_link_pkg::link_state_t;
  import stopbit_node_pkg::*;
  import stopbit_queue_pkg::*;
  import stopbit_rma_pkg::*;
  import stopbit_translation_pkg::AtsUnits;
  import stopbit_velo_pkg::velo_refusal_t;
  import stopbit_velo_pkg::velo_report_t;
  import stopbit_velo_pkg::velo_ring_t;
  import stopbit_velo_pkg::velo_table_t;
  import stopbit_wcb_pkg::wcb_event_t;
#(
  parameter  int unsigned Ports        = 64,
  parameter  int unsigned Windows      = 1024,
  parameter  int unsigned Groups       = 64,
  parameter  int unsigned Members      = 256,
  parameter  int unsigned Links        = 6,
  parameter  int unsigned CacheEntries = 1024,
  parameter  int unsigned BufferCells  = 512,   // of a link
  parameter  int unsigned Timeout      = 1024,
  parameter  int unsigned Patience     = 4096,  // cycles that memory has for an answer
  localparam int unsigned NetPorts     = NetworkUnits + Links,
  localparam int unsigned NetChannels  = stopbit_link_pkg::Channels,
  localparam int unsigned PortWidth    = $clog2(Ports),
  localparam int unsigned WindowWidth  = $clog2(Windows)
) (
  input  logic                                     clk_i,
  input  logic                                     rst_ni,
  output logic                                     ready_o,  // of the network, a while after a reset

  // Settings.
  input  logic [15:0]                              node_i,
  input  logic [15:0]                              last_node_i,
  input  logic [PlaceWidth-1:0]                    limit_i,      // places of a port in the queue of commands
  input  logic [31:0]                              patience_i,   // of the switch
  input  logic [NetworkUnits-1:0][NetChannels-1:0] channels_i,
  input  logic                                     config_i,     // tables of the switch
  input  logic [NetPorts-1:0]                      config_ports_i,
  input  logic [1:0]                               config_table_i,
  input  logic [9:0]                               config_address_i,
  input  logic [31:0]                              config_data_i,
  input  htax_interval_t [7:0]                     intervals_i,  // addresses of the host that lead to units

  // Ports of processes: queue of commands, its ring in memory, ring of notifications.
  input  logic                                     set_valid_i,
  output logic                                     set_ready_o,
  input  logic [PortWidth-1:0]                     set_port_i,
  input  queue_port_t                              set_i,
  input  logic [AddressBits-1:6]                   set_ring_i,
  input  logic                                     ring_valid_i,
  output logic                                     ring_ready_o,
  input  logic [PortWidth-1:0]                     ring_port_i,
  input  logic                                     ring_open_i,
  input  logic [47:12]                             ring_i,

  // Remote memory access: ports, windows, what has ended.
  input  logic                                     port_write_i,
  input  logic [PortWidth-1:0]                     port_index_i,
  input  rma_port_t                                port_i,
  input  logic                                     window_write_i,
  input  logic [WindowWidth-1:0]                   window_index_i,
  input  rma_window_t                              window_i,
  input  logic                                     end_valid_i,
  output logic                                     end_ready_o,
  input  logic                                     end_is_port_i,
  input  logic [15:0]                              end_index_i,

  // Messages: tables as the message unit has them; a time in which incomplete ones wait, in ticks.
  input  logic                                     tick_i,
  input  logic [15:0]                              message_patience_i,
  input  logic                                     table_valid_i,
  output logic                                     table_ready_o,
  input  velo_table_t                              table_i,
  input  logic [11:0]                              table_index_i,
  input  velo_ring_t                               table_data_i,
  input  logic                                     page_valid_i,   // a port's pages for parts: class and port
  output logic                                     page_ready_o,
  input  logic [PortWidth:0]                       page_i,
  input  logic                                     page_open_i,

  // Translation.
  input  logic                                     base_write_i,
  input  logic [stopbit_nic_pkg::TableBits-1:0]    base_index_i,
  input  logic [31:0]                              base_i,
  input  logic                                     flush_valid_i,
  output logic                                     flush_ready_o,
  input  logic [stopbit_nic_pkg::NlaPageBits-1:0]  flush_page_i,
  output logic                                     flush_done_o,  // the host has all that was written to the page
  output logic [AtsUnits-1:0]                      flush_waits_o,

  // The host: posted, non-posted, response.
  input  logic [2:0]                               host_valid_i,
  output logic [2:0]                               host_ready_o,
  input  logic [2:0][63:0]                         host_phit_i,
  output logic [2:0]                               host_valid_o,
  input  logic [2:0]                               host_ready_i,
  output logic [2:0][63:0]                         host_phit_o,

  // An event of a port, when the host has what was written before it; a trigger that is not for a unit.
  output logic                                     event_valid_o,
  output logic [15:0]                              event_vpid_o,
  output logic [5:0]                               event_number_o,
  output logic                                     signal_valid_o,
  output queue_trigger_t                           signal_o,

  // What became of messages: of a port, refused; at a port, written or not; rings that have ended.
  output logic                                     refusal_valid_o,
  output velo_refusal_t                            refusal_o,
  output logic                                     report_valid_o,
  output velo_report_t                             report_o,
  output logic                                     ring_end_valid_o,
  output logic [PortWidth:0]                       ring_end_o,
  output logic [4:0]                               ring_end_error_o,
  output logic [31:0]                              ring_end_culprit_o,
  output logic                                     part_event_valid_o,
  output wcb_event_t                               part_event_o,
  output logic [9:0]                               parts_level_o,  // words of whole messages that wait

  // The wires.
  output logic [Links-1:0][1:0]                    link_kind_o,
  output logic [Links-1:0][63:0]                   link_data_o,
  input  logic [Links-1:0]                         link_signal_i,
  input  logic [Links-1:0][1:0]                    link_kind_i,
  input  logic [Links-1:0][63:0]                   link_data_i,
  output link_state_t [Links-1:0]                  links_o,

  // Counters: a pulse for each event.
  output node_events_t                             events_o
);
  localparam logic [2:0][3:0] RmaPorts = {Completer, Responder, Requester};
  localparam logic [3:0][3:0] AtsPorts = {Messages, RmaPorts};

  // ---- HTAX; units in the order of their ports
  logic [HtaxUnits-1:0][Channels-1:0]       request, grant, room, in_valid, in_ready, in_last;
  logic [HtaxUnits-1:0][3:0]                target;
  logic [HtaxUnits-1:0][63:0]               phit, come_phit;
  logic [HtaxUnits-1:0]                     come_valid, come_last, stray;
  logic [HtaxUnits-1:0][1:0]                come_channel;
  logic [HtaxUnits-1:0][Channels-1:0][63:0] in_phit;
  logic [HtaxUnits+3:0]                     strayed;
  stopbit_htax_network #(.NumUnits(HtaxUnits)) i_htax (
    .clk_i, .rst_ni, .intervals_i, .host_valid_i, .host_ready_o, .host_phit_i, .host_valid_o, .host_ready_i, .host_phit_o,
    .request_i(request), .target_i(target), .grant_o(grant), .phit_i(phit), .room_i(room), .valid_o(come_valid), .first_o(),
    .last_o(come_last), .channel_o(come_channel), .phit_o(come_phit), .strayed_o(strayed), .unasked_o(events_o.unasked),
    .refused_o(events_o.refused_packet), .answered_o()
  );
  assign events_o.stray_packet = |stray || |strayed;

  // ---- remote memory access
  logic                    command_valid, command_ready;
  logic [15:0]             command_vpid;
  rma_command_words_t      command;
  logic                    send_valid, send_ready, come_ready;
  rma_word_t               send_word;
  logic [1:0]              accepts;
  logic [2:0]              ats_valid, ats_ready, ats_in_valid, ats_in_ready;
  logic [2:0][63:0]        ats_phit, ats_in_phit;
  logic [1:0]              read_valid, read_ready, answer_valid;
  rma_read_t [1:0]         read;
  rma_answer_t [1:0]       answer;
  logic                    write_valid, write_ready;
  rma_write_t              write;
  node_writes_t            writes;

  logic [NetworkUnits-1:0]                              net_send_valid, net_send_ready, net_come_valid, net_come_ready;
  logic [NetworkUnits-1:0]                              net_come_first, net_come_last, net_come_bad;
  logic [NetworkUnits-1:0][stopbit_link_pkg::Classes-1:0] net_room;
  logic [NetworkUnits-1:0][NetChannels-1:0]             net_accepts;
  channel_t [NetworkUnits-1:0]                          net_channel;
  logic [NetworkUnits-1:0][63:0]                        net_come_data;
  logic                                                 is_request, is_answer;

  stopbit_rma #(
    .Ports(Ports), .Windows(Windows), .Patience(Patience), .Unit(3'(TransferUnit)), .AtsPorts(RmaPorts)
  ) i_rma (
    .clk_i, .rst_ni, .node_i, .last_node_i, .port_write_i, .port_index_i, .port_i, .window_write_i, .window_index_i,
    .window_i, .end_valid_i, .end_ready_o, .end_is_port_i, .end_index_i, .command_valid_i(command_valid),
    .command_ready_o(command_ready), .command_vpid_i(command_vpid), .command_i(command), .send_valid_o(send_valid),
    .send_ready_i(send_ready), .send_word_o(send_word), .send_room_i(net_room[TransferUnit][1:0]), .accepts_o(accepts),
    .come_valid_i(net_come_valid[TransferUnit] && (is_request || is_answer)), .come_ready_o(come_ready),
    .come_is_answer_i(is_answer),
    .come_word_i('{is_first: net_come_first[TransferUnit], is_last: net_come_last[TransferUnit],
                   data: net_come_data[TransferUnit]}),
    .come_bad_i(net_come_bad[TransferUnit]), .ats_valid_o(ats_valid), .ats_ready_i(ats_ready), .ats_phit_o(ats_phit),
    .ats_valid_i(ats_in_valid), .ats_ready_o(ats_in_ready), .ats_phit_i(ats_in_phit), .read_valid_o(read_valid),
    .read_ready_i(read_ready), .read_o(read), .answer_valid_i(answer_valid), .answer_i(answer), .write_valid_o(write_valid),
    .write_ready_i(write_ready), .write_o(write), .ended_o(events_o.ended), .error_o(events_o.error),
    .served_o(events_o.served), .refused_o(events_o.refused), .stale_o(events_o.stale), .strange_o(events_o.strange),
    .damaged_o(events_o.damaged), .malformed_o(events_o.malformed), .late_o(events_o.late), .expired_o(events_o.expired),
    .waits_o(events_o.waits)
  );

  // The class of what comes says which unit it is for. Of classes that have none, packets are taken and left out: they
  // would hold the room of others.
  assign is_request = net_channel[TransferUnit] < channel_t'(stopbit_link_pkg::VirtualChannels);
  assign is_answer  = !is_request && net_channel[TransferUnit] < channel_t'(2 * stopbit_link_pkg::VirtualChannels);
  assign net_accepts[TransferUnit]    = {6'h3F, {3{accepts[1]}}, {3{accepts[0]}}};
  assign net_come_ready[TransferUnit] = is_request || is_answer ? come_ready : 1'b1;
  assign events_o.foreign = net_come_valid[TransferUnit] && net_come_last[TransferUnit] && !is_request && !is_answer;

  // Requester and responder: reads of memory, and translation.
  for (genvar u = 0; u < 2; u++) begin : g_reads
    localparam logic [3:0] Port = u == 0 ? Requester : Responder;
    logic        lane_valid, lane_ready, lane_last;
    logic [63:0] lane_phit;
    stopbit_node_reader #(.Port(Port), .Ordered(1'b1)) i_reader (
      .clk_i, .rst_ni, .writes_i(writes), .read_valid_i(read_valid[u]), .read_ready_o(read_ready[u]), .read_i(read[u]),
      .answer_valid_o(answer_valid[u]), .answer_o(answer[u]), .valid_o(lane_valid), .ready_i(lane_ready),
      .last_o(lane_last), .phit_o(lane_phit), .come_valid_i(in_valid[u][RESPONSE]), .come_ready_o(in_ready[u][RESPONSE]),
      .come_last_i(in_last[u][RESPONSE]), .come_phit_i(in_phit[u][RESPONSE])
    );
    stopbit_node_port #(
      .Lanes(2), .LaneChannel({NONPOSTED, TRANSLATION}), .LaneTarget({HostRequests, Translation}), .Takes(4'b1100)
    ) i_port (
      .clk_i, .rst_ni, .out_valid_i({lane_valid, ats_valid[u]}), .out_ready_o({lane_ready, ats_ready[u]}),
      .out_last_i({lane_last, 1'b1}), .out_phit_i({lane_phit, ats_phit[u]}), .in_valid_o(in_valid[u]),
      .in_ready_i(in_ready[u]), .in_last_o(in_last[u]), .in_phit_o(in_phit[u]), .request_o(request[u]),
      .target_o(target[u]), .grant_i(grant[u]), .phit_o(phit[u]), .room_o(room[u]), .valid_i(come_valid[u]),
      .last_i(come_last[u]), .channel_i(come_channel[u]), .phit_i(come_phit[u]), .stray_o(stray[u])
    );
    assign in_ready[u][NONPOSTED:POSTED] = '0;
  end

  // Completer: its translation, and the writes of all.
  localparam int unsigned C = 32'(Completer) - 32'(Requester);
  logic        written_valid, written_ready, written_last, post_valid, post_ready, post_last, taken, handled, told_valid, told_ready, reads_notices;
  logic        slot_valid, slot_ready, slot_last;
  logic [63:0] written_phit, slot_phit, post_phit;
  logic [15:0] told_vpid;
  logic [5:0]  told_number;
  logic        signal_valid;
  queue_trigger_t signal;
  stopbit_node_port #(
    .Lanes(2), .LaneChannel({POSTED, TRANSLATION}), .LaneTarget({HostPosted, Translation}), .Takes(4'b1000)
  ) i_completer (
    .clk_i, .rst_ni, .out_valid_i({post_valid, ats_valid[2]}), .out_ready_o({post_ready, ats_ready[2]}),
    .out_last_i({post_last, 1'b1}), .out_phit_i({post_phit, ats_phit[2]}), .in_valid_o(in_valid[C]), .in_ready_i(in_ready[C]),
    .in_last_o(in_last[C]), .in_phit_o(in_phit[C]), .request_o(request[C]), .target_o(target[C]), .grant_i(grant[C]),
    .phit_o(phit[C]), .room_o(room[C]), .valid_i(come_valid[C]), .last_i(come_last[C]), .channel_i(come_channel[C]),
    .phit_i(come_phit[C]), .stray_o(stray[C])
  );
  assign in_ready[C][RESPONSE:POSTED] = '0;
  for (genvar u = 0; u < 3; u++) begin : g_ats
    assign ats_in_valid[u]           = in_valid[u][TRANSLATION];
    assign in_ready[u][TRANSLATION]  = ats_in_ready[u];
    assign ats_in_phit[u]            = in_phit[u][TRANSLATION];
  end
  assign reads_notices = signal_valid && signal.command == TriggerNotices;
  stopbit_node_writer #(.Ports(Ports)) i_writer (
    .clk_i, .rst_ni, .set_valid_i(ring_valid_i), .set_ready_o(ring_ready_o), .set_port_i(ring_port_i),
    .set_open_i(ring_open_i), .set_ring_i(ring_i), .read_valid_i(reads_notices), .read_vpid_i(signal.port),
    .read_count_i(signal.count), .valid_i(write_valid), .ready_o(write_ready), .write_i(write), .valid_o(written_valid),
    .ready_i(written_ready), .last_o(written_last), .phit_o(written_phit), .event_valid_o(told_valid), .event_ready_i(told_ready),
    .event_vpid_o(told_vpid), .event_number_o(told_number), .taken_o(taken), .handled_o(handled),
    .dropped_o(events_o.dropped_notice), .lost_o(events_o.lost_write)
  );
  // Slots of messages, too. What is taken is in the lane.
  stopbit_rma_merge #(.Inputs(2), .Width(65), .Cut(1'b0)) i_posts (
    .clk_i, .rst_ni, .may_i('1), .valid_i({slot_valid, written_valid}), .ready_o({slot_ready, written_ready}),
    .last_i({slot_last, written_last}), .data_i({slot_last, slot_phit, written_last, written_phit}), .valid_o(post_valid),
    .ready_i(post_ready), .data_o({post_last, post_phit})
  );
  assign signal_valid_o = signal_valid && !reads_notices;
  assign signal_o       = signal;

  logic flush_room, atu_flush_valid, atu_flush_ready, atu_flush_done;
  stopbit_node_order i_order (
    .clk_i, .rst_ni, .taken_i(taken), .handled_i(handled), .sent_i(post_valid && post_ready && post_last),
    .host_valid_i(host_valid_o[POSTED]), .host_ready_i(host_ready_i[POSTED]), .host_phit_i(host_phit_o[POSTED]),
    .writes_o(writes), .flush_room_o(flush_room), .flush_taken_i(atu_flush_valid && atu_flush_ready),
    .flush_done_i(atu_flush_done), .flush_done_o, .event_valid_i(told_valid), .event_ready_o(told_ready),
    .event_vpid_i(told_vpid), .event_number_i(told_number), .event_valid_o, .event_vpid_o, .event_number_o
  );
  assign atu_flush_valid = flush_valid_i && flush_room;
  assign flush_ready_o   = atu_flush_ready && flush_room;

  // ---- translation: a lane for each unit, so that none waits for another, and one for tables
  localparam int unsigned T = 32'(Translation) - 32'(Requester);
  logic [AtsUnits-1:0]       atu_valid, atu_ready;
  logic [AtsUnits-1:0][63:0] atu_phit;
  logic             entry_valid, entry_ready, entry_answer_valid, entry_lane_valid, entry_lane_ready, entry_lane_last;
  logic [51:0]      entry_address;
  logic [4:0]       entry_id;
  rma_answer_t      entry_answer;
  logic [63:0]      entry_lane_phit;
  stopbit_atu #(.CacheEntries(CacheEntries), .Patience(Patience), .Ports(AtsPorts), .Port(Translation)) i_atu (
    .clk_i, .rst_ni, .valid_i(in_valid[T][TRANSLATION]), .ready_o(in_ready[T][TRANSLATION]), .phit_i(in_phit[T][TRANSLATION]),
    .valid_o(atu_valid), .ready_i(atu_ready), .phit_o(atu_phit), .read_valid_o(entry_valid), .read_ready_i(entry_ready),
    .read_address_o(entry_address), .read_id_o(entry_id), .answer_valid_i(entry_answer_valid),
    .answer_id_i(entry_answer.tag), .answer_data_i(entry_answer.data), .answer_error_i(entry_answer.error), .base_write_i,
    .base_index_i, .base_i, .flush_valid_i(atu_flush_valid), .flush_ready_o(atu_flush_ready), .flush_page_i,
    .flush_cache_i(1'b1), .flush_units_i('1), .flush_done_o(atu_flush_done), .flush_waits_o, .hit_o(events_o.hit),
    .miss_o(events_o.miss), .fault_o(events_o.fault), .drop_o(), .failed_o(events_o.failed),
    .malformed_o(events_o.malformed_message), .refused_o(events_o.refused_message), .late_o(events_o.late_entry),
    .unasked_o(events_o.unasked_entry)
  );
  stopbit_node_reader #(.Port(Translation)) i_entries (
    .clk_i, .rst_ni, .writes_i(writes), .read_valid_i(entry_valid), .read_ready_o(entry_ready),
    .read_i('{tag: entry_id, address: entry_address[51:3], count: 3'd0}), .answer_valid_o(entry_answer_valid),
    .answer_o(entry_answer), .valid_o(entry_lane_valid), .ready_i(entry_lane_ready), .last_o(entry_lane_last),
    .phit_o(entry_lane_phit), .come_valid_i(in_valid[T][RESPONSE]), .come_ready_o(in_ready[T][RESPONSE]),
    .come_last_i(in_last[T][RESPONSE]), .come_phit_i(in_phit[T][RESPONSE])
  );
  stopbit_node_port #(
    .Lanes(AtsUnits + 1), .LaneChannel({NONPOSTED, {AtsUnits{TRANSLATION}}}), .LaneTarget({HostRequests, AtsPorts}), .Takes(4'b1100)
  ) i_translation (
    .clk_i, .rst_ni, .out_valid_i({entry_lane_valid, atu_valid}), .out_ready_o({entry_lane_ready, atu_ready}),
    .out_last_i({entry_lane_last, {AtsUnits{1'b1}}}), .out_phit_i({entry_lane_phit, atu_phit}), .in_valid_o(in_valid[T]),
    .in_ready_i(in_ready[T]), .in_last_o(in_last[T]), .in_phit_o(in_phit[T]), .request_o(request[T]), .target_o(target[T]),
    .grant_i(grant[T]), .phit_o(phit[T]), .room_o(room[T]), .valid_i(come_valid[T]), .last_i(come_last[T]),
    .channel_i(come_channel[T]), .phit_i(come_phit[T]), .stray_o(stray[T])
  );
  assign in_ready[T][NONPOSTED:POSTED] = '0;

  // ---- the queue of commands
  localparam int unsigned Q = 32'(Commands) - 32'(Requester);
  logic        fetch_valid, fetch_ready, fetch_answer_valid, fetch_lane_valid, fetch_lane_ready, fetch_lane_last;
  logic        reply_valid, reply_ready, reply_last, message_valid, message_ready, message_first, message_last;
  logic [63:0] message_data;
  logic [9:0]  message_vpid;
  logic [1:0]  message_class;
  rma_read_t   fetch;
  rma_answer_t fetch_answer;
  logic [63:0] fetch_lane_phit, reply_phit;
  stopbit_queue #(.Ports(Ports), .Patience(Patience)) i_queue (
    .clk_i, .rst_ni, .limit_i, .set_valid_i, .set_ready_o, .set_port_i, .set_i, .set_ring_i,
    .posted_valid_i(in_valid[Q][POSTED]), .posted_ready_o(in_ready[Q][POSTED]), .posted_phit_i(in_phit[Q][POSTED]),
    .request_valid_i(in_valid[Q][NONPOSTED]), .request_ready_o(in_ready[Q][NONPOSTED]), .request_phit_i(in_phit[Q][NONPOSTED]),
    .response_valid_o(reply_valid), .response_ready_i(reply_ready), .response_phit_o(reply_phit),
    .read_valid_o(fetch_valid), .read_ready_i(fetch_ready), .read_o(fetch), .answer_valid_i(fetch_answer_valid),
    .answer_i(fetch_answer), .command_valid_o(command_valid), .command_ready_i(command_ready), .command_vpid_o(command_vpid),
    .command_o(command), .send_valid_o(message_valid), .send_ready_i(message_ready), .send_first_o(message_first),
    .send_last_o(message_last), .send_data_o(message_data), .send_vpid_o(message_vpid), .send_class_o(message_class), .event_valid_o(events_o.bad_command), .event_o(),
    .signal_valid_o(signal_valid), .signal_o(signal), .stale_o(events_o.stale_command), .late_o(events_o.late_command),
    .expired_o(events_o.expired_command)
  );
  stopbit_node_reader #(.Port(Commands)) i_commands (
    .clk_i, .rst_ni, .writes_i(writes), .read_valid_i(fetch_valid), .read_ready_o(fetch_ready), .read_i(fetch),
    .answer_valid_o(fetch_answer_valid), .answer_o(fetch_answer), .valid_o(fetch_lane_valid), .ready_i(fetch_lane_ready),
    .last_o(fetch_lane_last), .phit_o(fetch_lane_phit), .come_valid_i(in_valid[Q][RESPONSE]),
    .come_ready_o(in_ready[Q][RESPONSE]), .come_last_i(in_last[Q][RESPONSE]), .come_phit_i(in_phit[Q][RESPONSE])
  );
  // An answer is a header and a word.
  logic reply_inside_q;
  assign reply_last = reply_inside_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) reply_inside_q <= 1'b0;
    else if (reply_valid && reply_ready) reply_inside_q <= !reply_inside_q;
  end
  stopbit_node_port #(
    .Lanes(2), .LaneChannel({NONPOSTED, RESPONSE}), .LaneTarget({HostRequests, HostResponses}), .Takes(4'b0111)
  ) i_queue_port (
    .clk_i, .rst_ni, .out_valid_i({fetch_lane_valid, reply_valid}), .out_ready_o({fetch_lane_ready, reply_ready}),
    .out_last_i({fetch_lane_last, reply_last}), .out_phit_i({fetch_lane_phit, reply_phit}), .in_valid_o(in_valid[Q]),
    .in_ready_i(in_ready[Q]), .in_last_o(in_last[Q]), .in_phit_o(in_phit[Q]), .request_o(request[Q]), .target_o(target[Q]),
    .grant_i(grant[Q]), .phit_o(phit[Q]), .room_o(room[Q]), .valid_i(come_valid[Q]), .last_i(come_last[Q]),
    .channel_i(come_channel[Q]), .phit_i(come_phit[Q]), .stray_o(stray[Q])
  );
  assign in_ready[Q][TRANSLATION] = 1'b0;

  // ---- messages
  localparam int unsigned M = 32'(Messages) - 32'(Requester);
  logic        packet_valid, packet_first, packet_last, packet_bad;
  logic [63:0] packet_data;
  logic [1:0]  message_accepts;
  stopbit_node_message #(.Ports(Ports), .Groups(Groups), .Members(Members), .Patience(Patience)) i_message (
    .clk_i, .rst_ni, .node_i, .last_node_i, .tick_i, .patience_i(message_patience_i), .table_valid_i, .table_ready_o, .table_i,
    .table_index_i, .table_data_i, .page_valid_i, .page_ready_o, .page_i, .page_open_i, .part_event_valid_o, .part_event_o,
    .parts_level_o, .send_valid_i(message_valid), .send_ready_o(message_ready), .send_first_i(message_first),
    .send_last_i(message_last), .send_data_i(message_data), .send_vpid_i(message_vpid), .send_class_i(message_class),
    .packet_valid_o(packet_valid), .packet_ready_i(net_send_ready[MessageUnit]), .packet_first_o(packet_first),
    .packet_last_o(packet_last), .packet_bad_o(packet_bad), .packet_data_o(packet_data), .accepts_o(message_accepts),
    .come_valid_i(net_come_valid[MessageUnit]), .come_ready_o(net_come_ready[MessageUnit]),
    .come_first_i(net_come_first[MessageUnit]), .come_last_i(net_come_last[MessageUnit]),
    .come_bad_i(net_come_bad[MessageUnit]), .come_data_i(net_come_data[MessageUnit]), .write_valid_o(slot_valid),
    .write_ready_i(slot_ready), .write_last_o(slot_last), .write_phit_o(slot_phit), .request_o(request[M]),
    .target_o(target[M]), .grant_i(grant[M]), .phit_o(phit[M]), .room_o(room[M]), .valid_i(come_valid[M]),
    .last_i(come_last[M]), .channel_i(come_channel[M]), .phit_i(come_phit[M]), .stray_o(stray[M]),
    .refused_o(refusal_valid_o), .refusal_o, .report_o(report_valid_o), .report_data_o(report_o), .ends_o(ring_end_valid_o),
    .ends_ring_o(ring_end_o), .ends_error_o(ring_end_error_o), .ends_culprit_o(ring_end_culprit_o),
    .events_o(events_o.messages)
  );
  // Of classes that are none, packets are taken and left out, as above.
  assign net_accepts[MessageUnit] = {6'h3F, {3{message_accepts[1]}}, {3{message_accepts[0]}}};

  // ---- the network
  logic [NetPorts-1:0]     unroutable, circled, discarded, malformed, broken;
  logic [NetworkUnits-1:0] net_sent, net_refused, net_dropped, net_unfit;
  assign events_o.sent         = |net_sent;
  assign events_o.network_loss = |{unroutable, circled, discarded, malformed, broken, net_refused, net_dropped, net_unfit};
  assign net_send_valid              = {send_valid, packet_valid};
  assign send_ready                  = net_send_ready[TransferUnit];
  stopbit_node_network #(
    .Units(NetworkUnits), .Links(Links), .BufferCells(BufferCells), .Timeout(Timeout)
  ) i_network (
    .clk_i, .rst_ni, .ready_o, .patience_i, .last_node_i, .last_unit_i(3'(NetworkUnits - 1)), .channels_i,
    .cut_through_i('1), .config_i, .config_ports_i, .config_table_i, .config_address_i, .config_data_i,
    .send_valid_i(net_send_valid), .send_ready_o(net_send_ready), .send_first_i({send_word.is_first, packet_first}),
    .send_last_i({send_word.is_last, packet_last}), .send_bad_i({1'b0, packet_bad}),
    .send_data_i({send_word.data, packet_data}), .send_room_o(net_room),
    .accepts_i(net_accepts), .come_valid_o(net_come_valid), .come_ready_i(net_come_ready), .come_first_o(net_come_first),
    .come_last_o(net_come_last), .come_bad_o(net_come_bad), .come_channel_o(net_channel), .come_data_o(net_come_data),
    .debug_write_i(1'b0), .debug_unit_i('0), .debug_address_i('0), .debug_data_i('0), .debug_data_o(),
    .link_kind_o, .link_data_o, .link_signal_i, .link_kind_i, .link_data_i, .unroutable_o(unroutable), .circled_o(circled),
    .discarded_o(discarded), .malformed_o(malformed), .broken_o(broken), .sent_o(net_sent), .refused_o(net_refused),
    .dropped_o(net_dropped), .unfit_o(net_unfit), .links_o, .links_may_send_o()
  );
endmodule
