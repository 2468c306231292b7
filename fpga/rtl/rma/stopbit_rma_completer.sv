/// Writes what comes for this node's ports to its memory, and notifies: puts and words of other nodes, answers to what its
/// own ports asked for.
///
/// Data and notification leave on one stream, in this order: whatever takes them keeps it. An answer is taken at any time;
/// a request only while an answer to it could leave at once, so that answers never wait for requests.
module stopbit_rma_completer
  import stopbit_nic_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter int unsigned Ports   = 256,
  parameter logic [2:0]  Unit    = 3'd1,
  parameter logic [3:0]  AtsPort = 4'd2,
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [15:0]          node_i,

  input  logic                 port_write_i,
  input  logic [PortWidth-1:0] port_index_i,
  input  rma_port_t            port_i,

  // A request for this unit, whose target is known, and an answer.
  input  logic                 low_valid_i,
  input  logic [15:0]          low_from_i,
  input  rma_header_t          low_header_i,
  input  words_t               low_words_i,
  input  rma_target_t          target_i,
  input  logic [63:0]          low_data_i,
  output logic                 low_take_o,
  input  logic                 high_valid_i,
  input  logic [15:0]          high_from_i,
  input  rma_header_t          high_header_i,
  input  words_t               high_words_i,
  input  logic [63:0]          high_data_i,
  output logic                 high_take_o,
  output words_t               read_o,        // of the data of either

  output logic [SlotWidth-1:0] slot_index_o,
  input  logic                 slot_used_i,
  input  logic                 slot_fresh_i,
  input  rma_slot_t            slot_i,
  output logic                 slot_touch_o,
  output logic                 slot_finish_o,

  // A node is lost, or a port is closed: nothing of it waits any more.
  input  logic                 end_valid_i,
  output logic                 end_ready_o,   // it is done
  input  logic                 end_is_port_i,
  input  logic [15:0]          end_index_i,

  output logic                 ats_valid_o,
  input  logic                 ats_ready_i,
  output logic [63:0]          ats_phit_o,
  input  logic                 ats_valid_i,
  output logic                 ats_ready_o,
  input  logic [63:0]          ats_phit_i,

  output logic                 word_valid_o,
  input  logic                 word_ready_i,
  output rma_word_t            word_o,

  output logic                 write_valid_o,
  input  logic                 write_ready_i,
  output rma_write_t           write_o,

  output logic                 served_o,
  output logic                 refused_o,
  output logic                 stale_o,      // an answer that no command waits for
  output logic                 strange_o,    // a packet that no honest unit sends
  output logic                 malformed_o   // a message of the translation unit
);
  typedef enum logic [3:0] {IDLE, SWEEP, LOOK, JUDGE, FIRST, SECOND, WRITE, END, TELL} state_t;

  state_t             state_q, state_d;
  logic               high_q, sweeps_q, sending, send_start_q, leaves;
  rma_header_t        h;
  logic [15:0]        from;
  words_t             packet_words;
  logic [63:0]        packet_data;
  logic [7:0]         kind;
  rma_modifiers_t     modifiers, slot_modifiers;
  assign h            = high_q ? high_header_i : low_header_i;
  assign from         = high_q ? high_from_i : low_from_i;
  assign packet_words = high_q ? high_words_i : low_words_i;
  assign packet_data  = high_q ? high_data_i : low_data_i;
  assign kind         = h.kind.kind;
  assign modifiers    = h.kind.modifiers;
  assign slot_modifiers = slot_i.modifiers;

  logic is_put, is_word, is_note, is_abandoned, is_data, is_result, is_refusal;
  assign is_put       = !high_q && kind == RMA_PUT;
  assign is_word      = !high_q && kind == RMA_IMMEDIATE_PUT;
  assign is_note      = !high_q && kind == RMA_NOTIFICATION_PUT;
  assign is_abandoned = !high_q && kind == RMA_ABANDONED;
  assign is_data      = high_q && kind == RMA_DATA;
  assign is_result    = high_q && kind == RMA_RESULT;
  assign is_refusal   = high_q && kind == RMA_REFUSAL;

  // A refusal is for the port as it was when the command left.
  rma_port_t port;
  stopbit_ram #(.Width($bits(rma_port_t)), .Depth(Ports)) i_ports (
    .write_clk_i(clk_i), .write_i(port_write_i), .write_address_i(port_index_i), .write_data_i(port_i),
    .read_clk_i(clk_i), .read_address_i(high_header_i.kind.target_vpid[PortWidth-1:0]), .read_data_o(port)
  );

  // Puts under way.
  logic        put_known, puts_begin, puts_update, puts_end;
  logic [31:0] put_next, packet_end;
  logic [4:0]  put_error;
  stopbit_rma_puts i_puts (
    .clk_i, .rst_ni, .node_i(low_from_i), .vpid_i(low_header_i.kind.source_vpid), .known_o(put_known), .next_o(put_next),
    .error_o(put_error), .begin_i(puts_begin), .update_i(puts_update), .end_i(puts_end), .next_i(packet_end), .error_i(error_q),
    .forget_i(state_q == SWEEP && !end_is_port_i), .forget_node_i(end_index_i)
  );

  // What the header says of the packet's place in the whole; a cycle before it is used.
  logic is_first_q, is_last_q, is_outside_q, is_odd_q, slot_matches_q, is_fitting_q;
  logic [4:0] port_error_q, window_error_q;
  assign packet_end = h.extent.at + {24'd0, packet_words, 3'd0};
  always_ff @(posedge clk_i) begin
    is_first_q   <= h.extent.at == '0;
    is_last_q    <= packet_end == h.extent.length;
    is_outside_q <= packet_words == '0 || h.extent.at > MaxLength || packet_end > h.extent.length ||
                    h.extent.length > MaxLength;
    is_odd_q     <= h.extent.length[2:0] != '0 || h.extent.at[2:0] != '0;
    is_fitting_q <= h.extent.length == slot_i.length;
    slot_matches_q <= slot_used_i && slot_i.generation == h.place.request[31:16] && h.place.request[15:SlotWidth] == '0 &&
                      slot_i.node == from && slot_i.target == h.kind.source_vpid && slot_i.vpid == h.kind.target_vpid;
    port_error_q <= target_i.port_error;
    window_error_q <= target_i.error != ERR_NOERR ? target_i.error : !target_i.writes ? ERR_TWINID :
                      target_i.locked ? ERR_TWINID_LOCKED : ERR_NOERR;
  end

  // How far each get is.
  typedef struct packed {
    logic [4:0]  error;
    logic [31:0] received;
  } progress_t;
  progress_t   progress, progress_q, progress_new;
  logic [SlotWidth-1:0] index_q, index;
  logic [31:0] received;
  logic        is_whole;
  assign index = sweeps_q ? index_q : high_header_i.place.request[SlotWidth-1:0];
  assign slot_index_o = index;
  assign progress     = slot_fresh_i ? '0 : progress_q;
  assign received     = progress.received + {24'd0, packet_words, 3'd0};
  assign progress_new = '{error: error_q, received: received};
  assign is_whole     = received >= slot_i.length;
  stopbit_ram #(.Width($bits(progress_t)), .Depth(RmaSlots)) i_progress (
    .write_clk_i(clk_i), .write_i(slot_touch_o), .write_address_i(index), .write_data_i(progress_new),
    .read_clk_i(clk_i), .read_address_i(index), .read_data_o(progress_q)
  );

  // What is written: where, and whose it is.
  logic [4:0]             error_q;
  logic [15:0]            owner_q;
  logic [NlaBits-1:0]     nla_q;
  logic [9:0]             in_page;   // words up to the end of the page
  logic                   crosses;
  logic [NumberBits-1:0]  number, number_q;
  words_t                 at_q, write_words;
  logic                   asks, found, lookup_failed, holds_q, in_second;
  rma_lookup_t            lookup;
  assign write_words = is_word ? 5'd1 : packet_words;
  assign in_page     = 10'd512 - {1'b0, nla_q[11:3]};
  assign crosses     = in_page < 10'(write_words);
  assign asks        = state_q == FIRST || state_q == SECOND;
  assign lookup      = '{vpid: owner_q, page: nla_q[NlaBits-1:PageBits] + NlaPageBits'(state_q == SECOND), access: 2'd2};
  stopbit_rma_lookup #(.Port(AtsPort)) i_lookup (
    .clk_i, .rst_ni, .ask_i(asks), .lookup_i(lookup), .done_o(found), .failed_o(lookup_failed), .number_o(number),
    .holds_i(holds_q || state_q == SECOND),
    .ats_valid_o, .ats_ready_i, .ats_phit_o, .ats_valid_i, .ats_ready_o, .ats_phit_i, .malformed_o
  );
  assign in_second  = 10'(at_q) >= in_page;

  logic       writes, wrote;
  rma_write_t data_write, notice_write;
  assign writes     = state_q == WRITE;
  assign data_write = '{is_notice: 1'b0, is_last: at_q == write_words - 5'd1,
                        address: {in_second ? number : number_q, 9'(nla_q[11:3] + 9'(at_q)), 3'd0},
                        strobe: '1, data: is_word ? h.word : packet_data};
  assign wrote  = writes && write_ready_i && data_write.is_last;
  assign read_o = writes ? at_q + 5'(write_ready_i) : '0;

  // Notifications.
  rma_notice_words_t notice, notice_q;
  logic              tells, told, notice_valid;
  stopbit_rma_teller i_teller (
    .clk_i, .rst_ni, .valid_i(state_q == TELL), .notice_i(notice_q), .done_o(told), .valid_o(notice_valid),
    .ready_i(write_ready_i), .write_o(notice_write)
  );
  assign write_valid_o = writes || notice_valid;
  assign write_o       = writes ? data_write : notice_write;

  // Answers.
  rma_header_t answer_q;
  logic [15:0] answer_to_q;
  stopbit_rma_sender #(.Unit(Unit), .Class(Answers)) i_sender (
    .clk_i, .rst_ni, .node_i, .start_i(send_start_q), .to_i(answer_to_q), .header_i(answer_q), .words_i('0), .busy_o(sending),
    .data_i('0), .take_o(), .valid_o(word_valid_o), .ready_i(word_ready_i), .word_o
  );
  logic [4:0] judged, ended_error;
  logic       writes_it, finishes, is_own_end, is_stale, is_strange, wants_answer, is_final;
  logic [7:0] said_error;
  assign said_error = h.kind.error < 8'd22 ? h.kind.error : 8'(ERR_CMD_INV);

  // The first error of a packet that is to be written.
  logic [4:0] low_error, put_judged;
  assign put_judged = is_outside_q ? ERR_CMD_INV : window_error_q != ERR_NOERR ? window_error_q :
                      is_odd_q ? ERR_TLENGTH : target_i.nla[2:0] != '0 ? ERR_TOFFSET : ERR_NOERR;
  assign low_error  = is_note ? port_error_q :
                      is_word ? (window_error_q != ERR_NOERR ? window_error_q : target_i.nla[2:0] != '0 ? ERR_TOFFSET : ERR_NOERR) :
                      is_first_q ? put_judged :
                      !put_known ? ERR_QUEUE_FULL : put_error != ERR_NOERR ? put_error :
                      put_next != h.extent.at ? ERR_CMD_INV : put_judged;
  assign judged     = high_q ? (progress.error != ERR_NOERR ? progress.error :
                                is_outside_q || !is_fitting_q || is_odd_q ? ERR_CMD_INV : ERR_NOERR) : low_error;
  assign is_stale   = (is_data || is_result) && (!slot_matches_q || (is_data && (slot_i.operation != RMA_GET || packet_words == '0)));
  assign is_strange = !(is_put || is_word || is_note || is_abandoned || is_data || is_result || is_refusal) ||
                      (is_refusal && (h.kind.error == '0 || h.kind.error > 8'd21 || h.word > 64'd18));
  assign writes_it  = (is_put || is_word || is_data) && judged == ERR_NOERR;

  // The end of a packet, in END: error_q is known.
  assign is_final     = !is_put || is_last_q;  // of a put
  assign is_own_end   = sweeps_q || is_result || (is_data && is_whole);
  assign finishes     = state_q == END && is_own_end;
  assign wants_answer = !high_q && !sweeps_q && !is_abandoned && is_final &&
                        (modifiers.acknowledge || (modifiers.refusal && error_q != ERR_NOERR));
  assign ended_error  = is_result && !sweeps_q ? (said_error == '0 && slot_i.operation == RMA_GET ? ERR_CMD_INV : said_error[4:0]) : error_q;
  assign puts_begin   = state_q == END && is_put && !sweeps_q && is_first_q && !is_last_q;
  assign puts_update  = state_q == END && is_put && !sweeps_q && !is_first_q && !is_last_q;
  assign puts_end     = state_q == END && !sweeps_q && ((is_put && is_last_q) || is_abandoned);
  assign slot_finish_o = finishes;
  assign slot_touch_o  = state_q == END && is_data && !sweeps_q;

  logic gives, told_of_end;
  assign gives = is_read(slot_i.operation);
  assign told_of_end = ended_error != ERR_NOERR || slot_modifiers.acknowledge || (gives && slot_modifiers.completer);
  always_comb begin
    notice = '{tells: 1'b1, event_number: '0, vpid: h.kind.target_vpid, length: h.extent.length, window: h.place.window,
               offset: h.offset, value: is_put || is_abandoned ? '0 : h.word, tag: h.tag,
               head: '{vpid: h.kind.source_vpid, node: from, success: '0, error: 8'(error_q), operation: kind,
                       teller: TELLER_COMPLETER}};
    tells  = 1'b0;
    if (sweeps_q || is_data || is_result) begin
      notice.vpid   = slot_i.vpid;
      notice.length = slot_i.operation == RMA_PUT || slot_i.operation == RMA_GET ? slot_i.length : '0;
      notice.window = slot_i.window;
      notice.offset = slot_i.offset;
      notice.value  = is_result && !sweeps_q ? h.word : '0;
      notice.tag    = slot_i.tag;
      notice.head   = '{vpid: slot_i.target, node: slot_i.node, success: 8'(is_result && !sweeps_q && h.place.window == 16'd1),
                        error: 8'(ended_error), operation: slot_i.operation,
                        teller: gives ? TELLER_COMPLETER : TELLER_ACKNOWLEDGE};
      tells         = is_own_end && told_of_end && !(sweeps_q && end_is_port_i);
    end else if (is_refusal) begin
      notice.value  = '0;
      notice.head   = '{vpid: h.kind.source_vpid, node: from, success: '0, error: h.kind.error, operation: h.word[7:0],
                        teller: TELLER_ACKNOWLEDGE};
      notice.length = h.word[7:0] == RMA_PUT || h.word[7:0] == RMA_GET || h.word[7:0] == RMA_PUT_WORDS ||
                      h.word[7:0] == RMA_GET_WORDS ? h.extent.length : '0;
      tells         = port.open && 32'(h.kind.target_vpid) < Ports && port.life == h.place.request;
    end else if (is_abandoned) begin
      notice.head.operation = RMA_PUT;
      notice.head.error     = said_error == '0 ? 8'(ERR_CMD_INV) : said_error;
      tells                 = modifiers.completer && window_error_q == ERR_NOERR;
    end else begin
      notice.tells        = modifiers.completer || is_note;
      notice.event_number = is_note ? '0 : event_of(h.more);
      tells               = is_final && error_q == ERR_NOERR && (notice.tells || notice.event_number != '0);
    end
  end

  logic answers_q, sweep_hit, may_low, asked_q, ends_packet;
  assign sweep_hit = slot_used_i && (end_is_port_i ? slot_i.vpid == end_index_i : slot_i.node == end_index_i);
  assign may_low   = low_valid_i && !sending && !send_start_q;
  assign leaves    = (state_q == END && !tells && wants_answer) || (state_q == TELL && told && answers_q);
  always_comb begin
    state_d     = state_q;
    ends_packet = 1'b0;
    unique case (state_q)
      IDLE:   if (end_valid_i && !sweeps_q) state_d = SWEEP;
              else if (high_valid_i || may_low) state_d = LOOK;
      // The slot asked for in the cycle before is here.
      SWEEP:  if (asked_q && sweep_hit) state_d = END;
              else if (asked_q && index_q == '1) state_d = IDLE;
      LOOK:   state_d = JUDGE;
      JUDGE:  state_d = is_stale || is_strange ? IDLE : writes_it ? FIRST : END;
      FIRST:  if (found) state_d = lookup_failed ? END : crosses ? SECOND : WRITE;
      SECOND: if (found) state_d = lookup_failed ? END : WRITE;
      WRITE:  if (wrote) state_d = END;
      END:    state_d = tells ? TELL : sweeps_q && index_q != '1 ? SWEEP : IDLE;
      TELL:   if (told) state_d = sweeps_q && index_q != '1 ? SWEEP : IDLE;
      default: state_d = IDLE;
    endcase
    ends_packet = state_d == IDLE && state_q != IDLE && !sweeps_q;
  end
  assign low_take_o  = ends_packet && !high_q;
  assign high_take_o = ends_packet && high_q;
  assign end_ready_o = sweeps_q && state_d == IDLE && state_q != IDLE;

  // In a sweep a slot is looked at in two cycles: asked for, and here.
  always_ff @(posedge clk_i) begin
    if (state_q == IDLE) begin
      high_q  <= high_valid_i;
      index_q <= '0;
      at_q    <= '0;
    end else if (sweeps_q && ((state_q == SWEEP && asked_q && !sweep_hit) || (state_d == SWEEP && state_q != SWEEP))) begin
      index_q <= index_q + 1'b1;
    end
    if (state_q == JUDGE) begin
      error_q <= judged;
      owner_q <= is_data ? slot_i.vpid : target_i.owner;
      nla_q   <= is_data ? slot_i.address + NlaBits'(h.extent.at) : target_i.nla + (is_put ? NlaBits'(h.extent.at) : '0);
    end
    if (state_q == SWEEP) error_q <= ERR_ROUTE_BROKEN;
    if (asks && found && lookup_failed) error_q <= is_data ? ERR_OWINID : ERR_TFAULT;
    if (state_q == FIRST && found) number_q <= number;
    if (writes && write_ready_i) at_q <= at_q + 5'd1;
    if (state_q == END) begin
      notice_q  <= notice;
      answers_q <= wants_answer;
    end
    if (state_q == END && wants_answer) begin
      answer_to_q <= from;
      answer_q    <= '0;
      if (modifiers.acknowledge) begin
        answer_q.kind  <= '{target_vpid: h.kind.source_vpid, source_vpid: h.kind.target_vpid, error: 8'(error_q), modifiers: '0,
                            kind: RMA_RESULT, service: Service};
        answer_q.place <= '{request: h.place.request, domain: '0, window: '0};
      end else begin
        answer_q            <= h;
        answer_q.kind       <= '{target_vpid: h.kind.source_vpid, source_vpid: h.kind.target_vpid, error: 8'(error_q),
                                 modifiers: h.kind.modifiers, kind: RMA_REFUSAL, service: Service};
        answer_q.capability <= '0;
        answer_q.word       <= 64'(kind);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= IDLE;
      sweeps_q    <= 1'b0;
      asked_q     <= 1'b0;
      holds_q     <= 1'b0;
      send_start_q <= 1'b0;
      served_o    <= 1'b0;
      refused_o   <= 1'b0;
      stale_o     <= 1'b0;
      strange_o   <= 1'b0;
    end else begin
      state_q     <= state_d;
      sweeps_q    <= state_q == IDLE ? end_valid_i && !end_ready_o : sweeps_q && state_d != IDLE;
      asked_q     <= state_d == SWEEP && state_q == SWEEP && !asked_q;
      holds_q     <= (asks && found && !lookup_failed) || (holds_q && writes && !wrote);
      send_start_q <= leaves;
      served_o    <= state_q == END && !high_q && !sweeps_q && !is_abandoned && is_final && error_q == ERR_NOERR;
      refused_o   <= state_q == END && !high_q && !sweeps_q && (is_abandoned || (is_final && error_q != ERR_NOERR));
      stale_o     <= (state_q == JUDGE && is_stale) || (state_q == END && is_refusal && !sweeps_q && !tells);
      strange_o   <= state_q == JUDGE && !is_stale && is_strange;
    end
  end
endmodule
