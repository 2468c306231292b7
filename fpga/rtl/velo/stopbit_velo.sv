/// Message unit (VELO): messages of ports to ports of other nodes, and theirs into rings in memory.
///
/// The requester's side takes whole messages from ports, as the write-combining buffer gives them, and sends packets; the
/// completer's side takes packets and writes slots. The two share the tables, and nothing else. Writes are packets of HTAX;
/// descriptors are read by `read`, addresses of rings are translated by `look_up`, as ports' rings say. README.md has the rest.
module stopbit_velo
  import stopbit_nic_pkg::*;
  import stopbit_velo_pkg::*;
#(
  parameter  int unsigned Ports     = 64,
  parameter  int unsigned Groups    = 64,
  parameter  int unsigned Members   = 256,
  parameter  int unsigned Patience  = 4096,
  parameter  logic [2:0]  Unit      = 3'd0,
  localparam int unsigned RingWidth = $clog2(Ports) + 1,
  localparam int unsigned DataWidth = $bits(velo_ring_t)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  // Settings.
  input  logic [15:0]          node_i,
  input  logic [15:0]          last_node_i,
  input  logic                 tick_i,
  input  logic [15:0]          patience_i,     // ticks that an incomplete message waits for its next packet

  // Tables. A limit is a port's; the others are the supervisor's.
  input  logic                 write_i,
  output logic                 write_ready_o,
  input  velo_table_t          table_i,
  input  logic [11:0]          index_i,
  input  logic [DataWidth-1:0] table_data_i,

  // Messages of ports.
  input  logic                 send_valid_i,
  output logic                 send_ready_o,
  input  logic                 send_first_i,
  input  logic                 send_last_i,
  input  logic [63:0]          send_data_i,
  input  vpid_t                send_vpid_i,
  input  logic [1:0]           send_class_i,

  // The network.
  output logic                 packet_valid_o,
  input  logic                 packet_ready_i,
  output logic                 packet_first_o,
  output logic                 packet_last_o,
  output logic                 packet_bad_o,
  output logic [63:0]          packet_data_o,
  output logic [1:0]           accepts_o,      // packets of class 0 and 1 may begin
  input  logic                 come_valid_i,
  output logic                 come_ready_o,
  input  logic                 come_first_i,
  input  logic                 come_last_i,
  input  logic                 come_bad_i,
  input  logic [63:0]          come_data_i,

  // No message begins to use memory; something may still be read from it, or written to it.
  input  logic                 pause_i,
  output logic                 busy_o,

  // Memory.
  output logic                 phit_valid_o,
  input  logic                 phit_ready_i,
  output logic                 phit_last_o,
  output logic [63:0]          phit_o,
  output logic                 read_valid_o,
  input  logic                 read_ready_i,
  output logic [47:4]          read_address_o,
  output logic [1:0]           read_tag_o,
  input  logic                 answer_valid_i,
  input  logic [1:0]           answer_tag_i,
  input  logic [127:0]         answer_i,
  input  logic                 answer_error_i,
  output logic                 look_up_valid_o,
  input  logic                 look_up_ready_i,
  output translate_request_t   look_up_o,
  output logic [1:0]           look_up_tag_o,
  input  logic                 page_valid_i,
  input  logic [1:0]           page_tag_i,
  input  translate_response_t  page_i,

  // Events, a cycle each.
  output logic                 sent_o,
  output logic                 refused_o,
  output velo_refusal_t        refusal_o,
  output logic                 misshapen_o,    // a port's message: fewer or more words than it says
  output logic                 report_o,
  output velo_report_t         report_data_o,
  output logic                 ends_o,
  output logic [RingWidth-1:0] ends_ring_o,
  output logic [4:0]           ends_error_o,
  output logic [31:0]          ends_culprit_o,
  output logic                 foreign_o,
  output logic                 malformed_o,
  output logic                 crowded_o,
  output logic                 unfinished_o,
  output logic                 fetched_o,
  output logic                 revoked_o,
  output logic                 timed_out_o,
  output logic                 failed_o,
  output logic                 late_answer_o,
  output logic [1:0]           holds_o
);
  localparam int unsigned PlacesDepth = 2 * VeloMessageWords;  // the slots of two of the longest messages
  localparam int unsigned PlacesWidth = $clog2(PlacesDepth) + 1;

  velo_port_t  port_word;
  velo_group_t group_word;
  velo_ring_t  ring_word;
  logic        ring_ready, writes, write_ring;
  assign port_word     = table_data_i[$bits(velo_port_t)-1:0];
  assign group_word    = table_data_i[$bits(velo_group_t)-1:0];
  assign ring_word     = table_data_i;
  assign write_ring    = write_i && table_i == TABLE_RING;
  assign write_ready_o = table_i != TABLE_RING || ring_ready;
  assign writes        = write_i && write_ready_o;

  stopbit_velo_requester #(.Ports(Ports), .Groups(Groups), .Unit(Unit)) i_requester (
    .clk_i, .rst_ni, .node_i, .last_node_i,
    .write_i(writes), .table_i, .index_i, .port_i(port_word), .group_i(group_word),
    .valid_i(send_valid_i), .ready_o(send_ready_o), .first_i(send_first_i), .last_i(send_last_i), .data_i(send_data_i),
    .vpid_i(send_vpid_i), .class_i(send_class_i),
    .valid_o(packet_valid_o), .ready_i(packet_ready_i), .first_o(packet_first_o), .last_o(packet_last_o),
    .bad_o(packet_bad_o), .data_o(packet_data_o), .sent_o, .refused_o, .refusal_o, .malformed_o(misshapen_o)
  );

  logic [1:0]                     head_valid, head_ready;
  velo_head_t [1:0]               head;
  logic                           free, word_write;
  logic [BankWidth-1:0]           free_bank;
  logic [BankWidth+WordWidth-1:0] word_write_address, word_read_address;
  logic [63:0]                    word_write_data, word_read_data;
  stopbit_velo_receiver #(.Unit(Unit)) i_receiver (
    .clk_i, .rst_ni, .node_i, .tick_i, .patience_i,
    .valid_i(come_valid_i), .ready_o(come_ready_o), .first_i(come_first_i), .last_i(come_last_i), .bad_i(come_bad_i),
    .data_i(come_data_i), .accepts_o, .head_valid_o(head_valid), .head_ready_i(head_ready), .head_o(head),
    .free_i(free), .free_bank_i(free_bank),
    .write_o(word_write), .write_address_o(word_write_address), .write_data_o(word_write_data),
    .foreign_o, .malformed_o, .crowded_o, .unfinished_o
  );
  stopbit_ram #(.Width(64), .Depth(Banks * VeloMessageWords)) i_words (
    .write_clk_i(clk_i), .write_i(word_write), .write_address_i(word_write_address), .write_data_i(word_write_data),
    .read_clk_i(clk_i), .read_address_i(word_read_address), .read_data_o(word_read_data)
  );

  logic                 request, request_ready, slot_valid, slot_ready, done, late, commit, revoke;
  logic [RingWidth-1:0] request_ring;
  words_t               request_words, slots, places_count;
  velo_place_t          slot, place;
  logic [4:0]           ring_error;
  logic [1:0]           slot_size;
  logic [15:0]          hold;
  logic                 dump_put, dump_room, dump_valid, dump_ready, place_valid, place_ready, places_commit, places_revert;
  velo_dump_t           dump_in, dump;
  logic                 rings_busy, dump_busy;
  logic [2:0]           dumps;
  assign busy_o = rings_busy || dumps != '0 || dump_busy;
  stopbit_velo_completer #(.Ports(Ports), .Groups(Groups), .Members(Members)) i_completer (
    .clk_i, .rst_ni, .node_i, .tick_i,
    .write_i(writes), .table_i, .index_i, .port_i(port_word), .group_i(group_word), .member_i(table_data_i[VeloVpidBits-1:0]),
    .head_valid_i(head_valid), .head_ready_o(head_ready), .head_i(head),
    .request_o(request), .request_ready_i(request_ready), .request_ring_o(request_ring), .request_words_o(request_words),
    .done_i(done), .late_i(late), .ring_error_i(ring_error), .slot_size_i(slot_size), .hold_i(hold), .slots_i(slots),
    .commit_o(commit), .revoke_o(revoke),
    .dump_valid_o(dump_put), .dump_ready_i(dump_room), .dump_o(dump_in),
    .places_commit_o(places_commit), .places_revert_o(places_revert), .places_o(places_count),
    .report_o, .report_data_o, .holds_o
  );

  stopbit_velo_rings #(.Ports(Ports), .Patience(Patience)) i_rings (
    .clk_i, .rst_ni,
    .ring_write_i(write_ring), .ring_ready_o(ring_ready), .limit_write_i(writes && table_i == TABLE_LIMIT),
    .index_i(index_i[RingWidth:0]), .ring_i(ring_word), .limit_i(table_data_i[31:0]),
    .request_i(request), .ready_o(request_ready), .request_ring_i(request_ring), .request_words_i(request_words),
    .slot_valid_o(slot_valid), .slot_ready_i(slot_ready), .slot_o(slot),
    .done_o(done), .late_o(late), .error_o(ring_error), .slot_size_o(slot_size), .hold_o(hold), .slots_o(slots),
    .commit_i(commit), .revoke_i(revoke), .pause_i, .busy_o(rings_busy),
    .look_up_valid_o, .look_up_ready_i, .look_up_o, .look_up_tag_o, .page_valid_i, .page_tag_i, .page_i,
    .read_valid_o, .read_ready_i, .read_address_o, .read_tag_o, .answer_valid_i, .answer_tag_i, .answer_i, .answer_error_i,
    .fetched_o, .revoked_o, .timed_out_o, .failed_o, .late_answer_o,
    .ends_o, .ends_ring_o, .ends_error_o, .ends_culprit_o
  );

  // Slots on trial are not seen by the writer.
  stopbit_spec_fifo #(.Width($bits(velo_place_t)), .Depth(PlacesDepth)) i_places (
    .clk_i, .rst_ni,
    .valid_i(slot_valid), .ready_o(slot_ready), .data_i(slot),
    .write_commit_i(places_commit), .write_commit_count_i(PlacesWidth'(places_count)),
    .write_revert_i(places_revert), .write_revert_count_i(PlacesWidth'(places_count)),
    .valid_o(place_valid), .ready_i(place_ready), .data_o(place),
    .read_commit_i(place_valid && place_ready), .read_commit_count_i(PlacesWidth'(1)),
    .read_revert_i(1'b0), .read_revert_count_i('0)
  );
  stopbit_fifo #(.Width($bits(velo_dump_t)), .Depth(4)) i_dumps (
    .clk_i, .rst_ni,
    .valid_i(dump_put), .ready_o(dump_room), .data_i(dump_in),
    .valid_o(dump_valid), .ready_i(dump_ready), .double_i(1'b0), .single_o(), .data_o(dump), .count_o(dumps)
  );
  stopbit_velo_dump i_dump (
    .clk_i, .rst_ni,
    .dump_valid_i(dump_valid), .dump_ready_o(dump_ready), .dump_i(dump),
    .place_valid_i(place_valid), .place_ready_o(place_ready), .place_i(place),
    .read_address_o(word_read_address), .read_data_i(word_read_data), .busy_o(dump_busy), .free_o(free), .free_bank_o(free_bank),
    .valid_o(phit_valid_o), .ready_i(phit_ready_i), .last_o(phit_last_o), .phit_o
  );
endmodule
