/// The message unit (stopbit_velo) in a node, and the write-combining buffer (stopbit_wcb) in front of it: tables, a port of
/// HTAX, memory and translation.
///
/// Slots leave as posted packets by the stream of all writes, not by this port of HTAX, so that fences count them, too.
module stopbit_node_message
  import stopbit_htax_pkg::*;
  import stopbit_nic_pkg::translate_request_t;
  import stopbit_nic_pkg::translate_response_t;
  import stopbit_nic_pkg::VeloVpidBits;
  import stopbit_node_pkg::*;
  import stopbit_rma_pkg::rma_answer_t;
  import stopbit_rma_pkg::rma_read_t;
  import stopbit_velo_pkg::*;
  import stopbit_wcb_pkg::wcb_event_t;
#(
  parameter  int unsigned Ports     = 64,
  parameter  int unsigned Groups    = 64,
  parameter  int unsigned Members   = 256,
  parameter  int unsigned Patience  = 4096,
  localparam int unsigned OutWords  = 512,  // of whole messages in the write-combining buffer
  localparam int unsigned RingWidth = $clog2(Ports) + 1
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic [15:0]              node_i,
  input  logic [15:0]              last_node_i,
  input  logic                     tick_i,
  input  logic [15:0]              patience_i,

  // Tables: the supervisor's.
  input  logic                     table_valid_i,
  output logic                     table_ready_o,
  input  velo_table_t              table_i,
  input  logic [11:0]              table_index_i,
  input  velo_ring_t               table_data_i,

  // Pages of ports for parts of messages: class and port.
  input  logic                     page_valid_i,
  output logic                     page_ready_o,
  input  logic [RingWidth-1:0]     page_i,
  input  logic                     page_open_i,

  // From the queue of commands.
  input  logic                     send_valid_i,
  output logic                     send_ready_o,
  input  logic                     send_first_i,
  input  logic                     send_last_i,
  input  logic [63:0]              send_data_i,
  input  vpid_t                    send_vpid_i,
  input  logic [1:0]               send_class_i,

  // The network.
  output logic                     packet_valid_o,
  input  logic                     packet_ready_i,
  output logic                     packet_first_o,
  output logic                     packet_last_o,
  output logic                     packet_bad_o,
  output logic [63:0]              packet_data_o,
  output logic [1:0]               accepts_o,
  input  logic                     come_valid_i,
  output logic                     come_ready_o,
  input  logic                     come_first_i,
  input  logic                     come_last_i,
  input  logic                     come_bad_i,
  input  logic [63:0]              come_data_i,

  // Writes.
  output logic                     write_valid_o,
  input  logic                     write_ready_i,
  output logic                     write_last_o,
  output logic [63:0]              write_phit_o,

  // HTAX.
  output logic [Channels-1:0]      request_o,
  output logic [3:0]               target_o,
  input  logic [Channels-1:0]      grant_i,
  output logic [63:0]              phit_o,
  output logic [Channels-1:0]      room_o,
  input  logic                     valid_i,
  input  logic                     last_i,
  input  logic [1:0]               channel_i,
  input  logic [63:0]              phit_i,
  output logic                     stray_o,

  // What the supervisor has to know; pulses.
  output logic                     refused_o,
  output velo_refusal_t            refusal_o,
  output logic                     report_o,
  output velo_report_t             report_data_o,
  output logic                     ends_o,
  output logic [RingWidth-1:0]     ends_ring_o,
  output logic [4:0]               ends_error_o,
  output logic [31:0]              ends_culprit_o,
  output logic                     part_event_valid_o,
  output wcb_event_t               part_event_o,
  output logic [$clog2(OutWords):0] parts_level_o,
  output node_message_events_t     events_o
);
  logic [Channels-1:0]       in_valid, in_ready, in_last;
  logic [Channels-1:0][63:0] in_phit;

  // ---- tables: what the supervisor writes goes first, limits of ports wait
  logic                 limit_write, part_valid, part_ready, part_first, part_last, part_class;
  logic [RingWidth:0]   limit_index;
  logic [31:0]          limit;
  logic [63:0]          part_data;
  vpid_t                part_vpid;
  stopbit_node_stores #(.Ports(Ports)) i_stores (
    .clk_i, .rst_ni, .valid_i(in_valid[POSTED]), .ready_o(in_ready[POSTED]), .last_i(in_last[POSTED]),
    .phit_i(in_phit[POSTED]), .limit_valid_o(limit_write), .limit_ready_i(!table_valid_i), .limit_index_o(limit_index),
    .limit_o(limit), .part_valid_o(part_valid), .part_ready_i(part_ready), .part_first_o(part_first),
    .part_last_o(part_last), .part_data_o(part_data), .part_vpid_o(part_vpid), .part_class_o(part_class),
    .bad_o(events_o.bad_store)
  );

  // ---- messages: whole ones of the queue, and what parts have become, in turn
  localparam int unsigned SendWidth = 2 + 64 + VeloVpidBits + 2;
  logic        joined_valid, joined_ready, joined_first, joined_last, sum_valid, sum_ready, sum_first, sum_last;
  logic [63:0] joined_data, sum_data;
  vpid_t       joined_vpid, sum_vpid;
  logic [1:0]  joined_class, sum_class;
  stopbit_wcb #(.Ports(Ports), .OutDepth(OutWords)) i_wcb (
    .clk_i, .rst_ni, .tick_i, .patience_i, .now_o(), .set_valid_i(page_valid_i), .set_ready_o(page_ready_o),
    .set_page_i(page_i), .set_open_i(page_open_i), .valid_i(part_valid), .ready_o(part_ready), .first_i(part_first),
    .last_i(part_last), .data_i(part_data), .vpid_i(part_vpid), .class_i({1'b0, part_class}), .valid_o(joined_valid),
    .ready_i(joined_ready), .first_o(joined_first), .last_o(joined_last), .data_o(joined_data), .vpid_o(joined_vpid),
    .class_o(joined_class), .level_valid_o(), .level_ready_i(1'b1), .level_o(parts_level_o),
    .event_valid_o(part_event_valid_o), .event_o(part_event_o), .stray_o(events_o.stray_part)
  );
  stopbit_rma_merge #(.Inputs(2), .Width(SendWidth), .Cut(1'b0)) i_merge (
    .clk_i, .rst_ni, .may_i('1), .valid_i({joined_valid, send_valid_i}), .ready_o({joined_ready, send_ready_o}),
    .last_i({joined_last, send_last_i}),
    .data_i({joined_first, joined_last, joined_data, joined_vpid, joined_class,
             send_first_i, send_last_i, send_data_i, send_vpid_i, send_class_i}),
    .valid_o(sum_valid), .ready_i(sum_ready), .data_o({sum_first, sum_last, sum_data, sum_vpid, sum_class})
  );

  // ---- translation
  logic                look_up_valid, look_up_ready, page_valid, pause, busy;
  logic                ats_valid, ats_ready;
  logic [1:0]          look_up_tag;
  translate_request_t  look_up;
  translate_response_t page;
  logic [63:0]         ats_phit;
  stopbit_node_pages #(.Port(Messages)) i_pages (
    .clk_i, .rst_ni, .look_up_valid_i(look_up_valid), .look_up_ready_o(look_up_ready), .look_up_i(look_up),
    .page_valid_o(page_valid), .page_o(page), .pause_o(pause), .busy_i(busy), .ats_valid_o(ats_valid),
    .ats_ready_i(ats_ready), .ats_phit_o(ats_phit), .ats_valid_i(in_valid[TRANSLATION]),
    .ats_ready_o(in_ready[TRANSLATION]), .ats_phit_i(in_phit[TRANSLATION]), .malformed_o(events_o.bad_translation)
  );

  // ---- descriptors: two words, which software has written before it posts them
  logic         read_valid, read_ready, word_valid, lane_valid, lane_ready, lane_last;
  logic         second_q, first_error_q;
  logic [1:0]   read_tag;
  logic [47:4]  read_address;
  logic [63:0]  first_q, lane_phit;
  rma_read_t    read;
  rma_answer_t  word;
  assign read = '{tag: 5'(read_tag), address: {4'd0, read_address, 1'b0}, count: 3'd1};
  stopbit_node_reader #(.Port(Messages)) i_reader (
    .clk_i, .rst_ni, .writes_i('0), .read_valid_i(read_valid), .read_ready_o(read_ready), .read_i(read),
    .answer_valid_o(word_valid), .answer_o(word), .valid_o(lane_valid), .ready_i(lane_ready), .last_o(lane_last),
    .phit_o(lane_phit), .come_valid_i(in_valid[RESPONSE]), .come_ready_o(in_ready[RESPONSE]),
    .come_last_i(in_last[RESPONSE]), .come_phit_i(in_phit[RESPONSE])
  );
  always_ff @(posedge clk_i) begin
    if (word_valid) begin
      first_q       <= word.data;
      first_error_q <= word.error;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) second_q <= 1'b0;
    else second_q <= second_q ^ word_valid;
  end

  velo_table_t          index_table;
  logic [11:0]          index;
  velo_ring_t           data;
  assign index_table = table_valid_i ? table_i : TABLE_LIMIT;
  assign index       = table_valid_i ? table_index_i : 12'(limit_index);
  assign data        = table_valid_i ? table_data_i : velo_ring_t'(limit);
  stopbit_velo #(
    .Ports(Ports), .Groups(Groups), .Members(Members), .Patience(Patience), .Unit(3'(MessageUnit))
  ) i_velo (
    .clk_i, .rst_ni, .node_i, .last_node_i, .tick_i, .patience_i, .write_i(table_valid_i || limit_write),
    .write_ready_o(table_ready_o), .table_i(index_table), .index_i(index), .table_data_i(data), .send_valid_i(sum_valid),
    .send_ready_o(sum_ready), .send_first_i(sum_first), .send_last_i(sum_last), .send_data_i(sum_data),
    .send_vpid_i(sum_vpid), .send_class_i(sum_class), .packet_valid_o, .packet_ready_i,
    .packet_first_o, .packet_last_o, .packet_bad_o, .packet_data_o, .accepts_o, .come_valid_i, .come_ready_o, .come_first_i,
    .come_last_i, .come_bad_i, .come_data_i, .pause_i(pause), .busy_o(busy), .phit_valid_o(write_valid_o),
    .phit_ready_i(write_ready_i), .phit_last_o(write_last_o), .phit_o(write_phit_o), .read_valid_o(read_valid),
    .read_ready_i(read_ready), .read_address_o(read_address), .read_tag_o(read_tag), .answer_valid_i(word_valid && second_q),
    .answer_tag_i(word.tag[1:0]), .answer_i({word.data, first_q}), .answer_error_i(word.error || first_error_q),
    .look_up_valid_o(look_up_valid), .look_up_ready_i(look_up_ready), .look_up_o(look_up), .look_up_tag_o(look_up_tag),
    .page_valid_i(page_valid), .page_tag_i(look_up_tag), .page_i(page), .sent_o(events_o.sent), .refused_o, .refusal_o,
    .misshapen_o(events_o.misshapen), .report_o, .report_data_o, .ends_o, .ends_ring_o, .ends_error_o, .ends_culprit_o,
    .foreign_o(events_o.foreign), .malformed_o(events_o.malformed), .crowded_o(events_o.crowded),
    .unfinished_o(events_o.unfinished), .fetched_o(), .revoked_o(), .timed_out_o(), .failed_o(events_o.failed),
    .late_answer_o(events_o.late), .holds_o(events_o.holds)
  );

  stopbit_node_port #(
    .Lanes(2), .LaneChannel({NONPOSTED, TRANSLATION}), .LaneTarget({HostRequests, Translation}), .Takes(4'b1101)
  ) i_port (
    .clk_i, .rst_ni, .out_valid_i({lane_valid, ats_valid}), .out_ready_o({lane_ready, ats_ready}),
    .out_last_i({lane_last, 1'b1}), .out_phit_i({lane_phit, ats_phit}), .in_valid_o(in_valid), .in_ready_i(in_ready),
    .in_last_o(in_last), .in_phit_o(in_phit), .request_o, .target_o, .grant_i, .phit_o, .room_o, .valid_i, .last_i,
    .channel_i, .phit_i, .stray_o
  );
  assign in_ready[NONPOSTED] = 1'b0;
endmodule
