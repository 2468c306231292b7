/// Remote memory access of a node: requester, responder and completer, and what they share.
///
/// Commands of this node's ports come in, packets go to the network and come from it. Memory is read by lines; what is
/// written, and notifications, leave as one stream whose order is to be kept. README.md has the rest.
module stopbit_rma
  import stopbit_nic_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter  int unsigned           Ports       = 256,
  parameter  int unsigned           Windows     = 1024,
  parameter  int unsigned           Patience    = 4096,  // cycles that a read of memory may take
  parameter  logic [2:0]            Unit        = 3'd1,  // of the network: that of the other nodes, too
  parameter  logic [Units-1:0][3:0] AtsPorts    = {4'd2, 4'd1, 4'd0},
  localparam int unsigned           PortWidth   = $clog2(Ports),
  localparam int unsigned           WindowWidth = $clog2(Windows)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [15:0]            node_i,
  input  logic [15:0]            last_node_i,

  // Tables. They keep through a reset.
  input  logic                   port_write_i,
  input  logic [PortWidth-1:0]   port_index_i,
  input  rma_port_t              port_i,
  input  logic                   window_write_i,
  input  logic [WindowWidth-1:0] window_index_i,
  input  rma_window_t            window_i,
  input  logic                   end_valid_i,    // a node is lost, or a port is closed
  output logic                   end_ready_o,
  input  logic                   end_is_port_i,
  input  logic [15:0]            end_index_i,

  input  logic                   command_valid_i,
  output logic                   command_ready_o,
  input  logic [15:0]            command_vpid_i,
  input  rma_command_words_t     command_i,

  // The network port: requests are of class 0, answers of class 1.
  output logic                   send_valid_o,
  input  logic                   send_ready_i,
  output rma_word_t              send_word_o,
  input  logic [1:0]             send_room_i,    // of both classes: a packet may begin
  output logic [1:0]             accepts_o,      // of which a packet may begin to come
  input  logic                   come_valid_i,
  output logic                   come_ready_o,
  input  logic                   come_is_answer_i,
  input  rma_word_t              come_word_i,
  input  logic                   come_bad_i,

  // Address translation: requester, responder, completer.
  output logic [Units-1:0]       ats_valid_o,
  input  logic [Units-1:0]       ats_ready_i,
  output logic [Units-1:0][63:0] ats_phit_o,
  input  logic [Units-1:0]       ats_valid_i,
  output logic [Units-1:0]       ats_ready_o,
  input  logic [Units-1:0][63:0] ats_phit_i,

  // Reads of memory: requester, responder.
  output logic [1:0]             read_valid_o,
  input  logic [1:0]             read_ready_i,
  output rma_read_t [1:0]        read_o,
  input  logic [1:0]             answer_valid_i,
  input  rma_answer_t [1:0]      answer_i,

  output logic                   write_valid_o,
  input  logic                   write_ready_i,
  output rma_write_t             write_o,

  // Events, a cycle each.
  output logic                   ended_o,      // a command of this node has left, or was refused:
  output logic [4:0]             error_o,      // with it
  output logic [1:0]             served_o,     // a request of another was carried out: responder, completer
  output logic [1:0]             refused_o,    // or not
  output logic                   stale_o,      // an answer that no command waits for
  output logic [1:0]             strange_o,    // a packet that no honest unit sends: request, or answer or unknown
  output logic [1:0]             damaged_o,    // what is no packet, of each class
  output logic [Units-1:0]       malformed_o,  // of the translation unit
  output logic [1:0]             late_o,       // an answer of memory after its time
  output logic [1:0]             expired_o,    // memory did not answer
  output logic                   waits_o       // commands wait for answers
);
  logic                 free_valid, slot_take, slot_drop, slot_used, slot_fresh, slot_touch, slot_finish;
  logic [SlotWidth-1:0] free, slot_index, drop_index;
  logic [15:0]          generation;
  rma_slot_t            new_slot, slot;

  logic [1:0]              in_valid, in_ready, accepts, here, full, take, damaged;
  logic [1:0][15:0]        from;
  rma_header_t [1:0]       header;
  words_t [1:0]            words;
  logic [1:0][63:0]        in_data;
  words_t                  read_word;
  rma_target_t             target;
  logic                    known, completer_take, responder_take, is_responder, is_completer, low_strange, drops;
  logic [7:0]              kind;
  logic [31:0]             needs;

  logic [2:0]              out_valid, out_ready, out_last, put_valid, put_ready, put_last;
  rma_word_t [2:0]         out_word;
  rma_write_t [2:0]        put_write;

  assign in_valid     = {come_valid_i && come_is_answer_i, come_valid_i && !come_is_answer_i};
  assign come_ready_o = come_is_answer_i ? in_ready[1] : in_ready[0];
  // A packet that the network port has begun to give out holds up all after it, answers, too. So a request begins only when
  // the one before is done: a get waits for room for its data, which are answers. An answer waits for no request.
  assign accepts_o    = {in_ready[1], accepts[0]};
  for (genvar c = 0; c < 2; c++) begin : g_input
    stopbit_rma_input i_input (
      .clk_i, .rst_ni, .valid_i(in_valid[c]), .ready_o(in_ready[c]), .accepts_o(accepts[c]), .word_i(come_word_i),
      .bad_i(come_bad_i), .here_o(here[c]), .valid_o(full[c]), .from_o(from[c]), .header_o(header[c]), .words_o(words[c]),
      .read_i(read_word), .data_o(in_data[c]), .take_i(take[c]), .malformed_o(damaged[c])
    );
  end
  assign damaged_o = damaged;

  // Which unit a request is for. What none takes is dropped.
  assign kind         = header[0].kind.kind;
  assign is_completer = kind == RMA_PUT || kind == RMA_IMMEDIATE_PUT || kind == RMA_NOTIFICATION_PUT || kind == RMA_ABANDONED;
  assign is_responder = is_read(kind) || kind == RMA_GET_WORDS || kind == RMA_SYNCHRONIZE || kind == RMA_LOCK_WINDOW ||
                        kind == RMA_UNLOCK_WINDOW || kind == RMA_PUT_WORDS || kind == RMA_SIGNAL;
  assign drops        = full[0] && known && !is_completer && !is_responder;
  assign take         = {completer_take_high, completer_take || responder_take || drops};
  logic completer_take_high;
  assign needs = kind == RMA_PUT || kind == RMA_GET || kind == RMA_ABANDONED ? header[0].extent.length :
                 kind == RMA_FETCH_COMPARE_ADD ? 32'd4 : 32'd8;
  assign strange_o[0] = low_strange;
  always_ff @(posedge clk_i) low_strange <= rst_ni && drops;

  stopbit_rma_target #(.Ports(Ports), .Windows(Windows)) i_target (
    .clk_i, .rst_ni, .port_write_i, .port_index_i, .port_i, .window_write_i, .window_index_i, .window_i,
    .here_i(here[0]), .from_i(from[0]), .header_i(header[0]), .length_i(needs), .known_o(known), .target_o(target)
  );

  stopbit_rma_slots i_slots (
    .clk_i, .rst_ni, .free_valid_o(free_valid), .free_o(free), .generation_o(generation), .take_i(slot_take), .slot_i(new_slot),
    .drop_i(slot_drop), .drop_index_i(drop_index), .index_i(slot_index), .used_o(slot_used), .fresh_o(slot_fresh),
    .slot_o(slot), .touch_i(slot_touch), .finish_i(slot_finish), .waits_o
  );

  stopbit_rma_requester #(.Ports(Ports), .Patience(Patience), .Unit(Unit), .AtsPort(AtsPorts[0])) i_requester (
    .clk_i, .rst_ni, .node_i, .last_node_i, .port_write_i, .port_index_i, .port_i,
    .command_valid_i, .command_ready_o, .command_vpid_i, .command_i,
    .free_valid_i(free_valid), .free_i(free), .generation_i(generation), .slot_take_o(slot_take), .slot_o(new_slot),
    .slot_drop_o(slot_drop), .slot_drop_index_o(drop_index),
    .ats_valid_o(ats_valid_o[0]), .ats_ready_i(ats_ready_i[0]), .ats_phit_o(ats_phit_o[0]),
    .ats_valid_i(ats_valid_i[0]), .ats_ready_o(ats_ready_o[0]), .ats_phit_i(ats_phit_i[0]),
    .read_valid_o(read_valid_o[0]), .read_ready_i(read_ready_i[0]), .read_o(read_o[0]),
    .answer_valid_i(answer_valid_i[0]), .answer_i(answer_i[0]),
    .word_valid_o(out_valid[0]), .word_ready_i(out_ready[0]), .word_o(out_word[0]),
    .write_valid_o(put_valid[0]), .write_ready_i(put_ready[0]), .write_o(put_write[0]),
    .ended_o, .error_o, .malformed_o(malformed_o[0]), .late_o(late_o[0]), .expired_o(expired_o[0])
  );

  stopbit_rma_responder #(.Patience(Patience), .Unit(Unit), .AtsPort(AtsPorts[1])) i_responder (
    .clk_i, .rst_ni, .node_i, .valid_i(full[0] && known && is_responder), .from_i(from[0]), .header_i(header[0]),
    .target_i(target), .take_o(responder_take),
    .ats_valid_o(ats_valid_o[1]), .ats_ready_i(ats_ready_i[1]), .ats_phit_o(ats_phit_o[1]),
    .ats_valid_i(ats_valid_i[1]), .ats_ready_o(ats_ready_o[1]), .ats_phit_i(ats_phit_i[1]),
    .read_valid_o(read_valid_o[1]), .read_ready_i(read_ready_i[1]), .read_o(read_o[1]),
    .answer_valid_i(answer_valid_i[1]), .answer_i(answer_i[1]),
    .word_valid_o(out_valid[1]), .word_ready_i(out_ready[1]), .word_o(out_word[1]),
    .write_valid_o(put_valid[1]), .write_ready_i(put_ready[1]), .write_o(put_write[1]),
    .served_o(served_o[0]), .refused_o(refused_o[0]), .malformed_o(malformed_o[1]), .late_o(late_o[1]), .expired_o(expired_o[1])
  );

  stopbit_rma_completer #(.Ports(Ports), .Unit(Unit), .AtsPort(AtsPorts[2])) i_completer (
    .clk_i, .rst_ni, .node_i, .port_write_i, .port_index_i, .port_i,
    .low_valid_i(full[0] && known && is_completer), .low_from_i(from[0]), .low_header_i(header[0]), .low_words_i(words[0]),
    .target_i(target), .low_data_i(in_data[0]), .low_take_o(completer_take),
    .high_valid_i(full[1]), .high_from_i(from[1]), .high_header_i(header[1]), .high_words_i(words[1]),
    .high_data_i(in_data[1]), .high_take_o(completer_take_high), .read_o(read_word),
    .slot_index_o(slot_index), .slot_used_i(slot_used), .slot_fresh_i(slot_fresh), .slot_i(slot), .slot_touch_o(slot_touch),
    .slot_finish_o(slot_finish), .end_valid_i, .end_ready_o, .end_is_port_i, .end_index_i,
    .ats_valid_o(ats_valid_o[2]), .ats_ready_i(ats_ready_i[2]), .ats_phit_o(ats_phit_o[2]),
    .ats_valid_i(ats_valid_i[2]), .ats_ready_o(ats_ready_o[2]), .ats_phit_i(ats_phit_i[2]),
    .word_valid_o(out_valid[2]), .word_ready_i(out_ready[2]), .word_o(out_word[2]),
    .write_valid_o(put_valid[2]), .write_ready_i(put_ready[2]), .write_o(put_write[2]),
    .served_o(served_o[1]), .refused_o(refused_o[1]), .stale_o, .strange_o(strange_o[1]), .malformed_o(malformed_o[2])
  );

  for (genvar u = 0; u < 3; u++) begin : g_last
    assign out_last[u] = out_word[u].is_last;
    assign put_last[u] = put_write[u].is_last;
  end
  stopbit_rma_merge #(.Inputs(3), .Width($bits(rma_word_t))) i_packets (
    .clk_i, .rst_ni, .may_i({{2{send_room_i[1]}}, send_room_i[0]}), .valid_i(out_valid), .ready_o(out_ready), .last_i(out_last),
    .data_i(out_word), .valid_o(send_valid_o), .ready_i(send_ready_i), .data_o(send_word_o)
  );
  stopbit_rma_merge #(.Inputs(3), .Width($bits(rma_write_t)), .Cut(1'b0)) i_writes (
    .clk_i, .rst_ni, .may_i('1), .valid_i(put_valid), .ready_o(put_ready), .last_i(put_last), .data_i(put_write),
    .valid_o(write_valid_o), .ready_i(write_ready_i), .data_o(write_o)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) no_request_holds_up_answers : assert (!in_valid[0] || !come_word_i.is_first || in_ready[0]);
  end
`endif
endmodule
