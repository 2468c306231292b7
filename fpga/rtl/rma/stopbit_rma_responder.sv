/// Answers requests of other nodes: gets from this node's memory, and atomic operations on a word of it.
///
/// One request at a time, so an atomic operation is not interleaved with any other. A read waits for the writes before it,
/// as those have left before the next request begins. Operations that are not carried out here are refused.
module stopbit_rma_responder
  import stopbit_nic_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter int unsigned Patience = 4096,
  parameter logic [2:0]  Unit     = 3'd1,
  parameter logic [3:0]  AtsPort  = 4'd1
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [15:0] node_i,

  input  logic        valid_i,   // a request for this unit, whose target is known
  input  logic [15:0] from_i,
  input  rma_header_t header_i,
  input  rma_target_t target_i,
  output logic        take_o,

  output logic        ats_valid_o,
  input  logic        ats_ready_i,
  output logic [63:0] ats_phit_o,
  input  logic        ats_valid_i,
  output logic        ats_ready_o,
  input  logic [63:0] ats_phit_i,

  output logic        read_valid_o,
  input  logic        read_ready_i,
  output rma_read_t   read_o,
  input  logic        answer_valid_i,
  input  rma_answer_t answer_i,

  output logic        word_valid_o,
  input  logic        word_ready_i,
  output rma_word_t   word_o,

  output logic        write_valid_o,
  input  logic        write_ready_i,
  output rma_write_t  write_o,

  output logic        served_o,
  output logic        refused_o,
  output logic        malformed_o,
  output logic        late_o,
  output logic        expired_o
);
  typedef enum logic [3:0] {IDLE, CHECK, JUDGE, LOOKUP, READ, CHANGE, WRITE, SEND, NEXT, TELL} state_t;

  state_t         state_q, state_d;
  logic [7:0]     kind;
  rma_modifiers_t modifiers;
  logic           is_get, is_change, is_small, is_answered;
  assign kind      = header_i.kind.kind;
  assign modifiers = header_i.kind.modifiers;
  assign is_get    = kind == RMA_GET;
  assign is_change = is_atomic(kind);
  assign is_small  = kind == RMA_FETCH_COMPARE_ADD;
  // Of the others, those give something back.
  assign is_answered = is_read(kind) || kind == RMA_GET_WORDS || kind == RMA_SYNCHRONIZE || kind == RMA_LOCK_WINDOW ||
                       kind == RMA_UNLOCK_WINDOW || modifiers.acknowledge;

  // The target follows its tables: of a long get each packet is checked.
  logic [4:0] allowed_q, judged;
  logic       bad_length_q;
  always_ff @(posedge clk_i) begin
    bad_length_q <= is_get && (header_i.extent.length == '0 || header_i.extent.length > MaxLength);
    allowed_q    <= target_i.error != ERR_NOERR ? target_i.error :
                    !target_i.reads || (is_change && !target_i.writes) ? ERR_TWINID :
                    target_i.locked ? ERR_TWINID_LOCKED : ERR_NOERR;
  end
  assign judged = !is_get && !is_change ? ERR_CMD_INV : bad_length_q ? ERR_TLENGTH : allowed_q != ERR_NOERR ? allowed_q :
                  is_get && header_i.extent.length[2:0] != '0 ? ERR_TLENGTH :
                  target_i.nla[1:0] != '0 || (!is_small && target_i.nla[2]) ? ERR_TOFFSET : ERR_NOERR;

  logic [NlaBits-1:0]    at_q;
  logic [31:0]           done_q;
  logic [17:0]           left_q;
  words_t                words, words_left, words_q;
  logic [9:0]            page_room;
  logic [4:0]            error_q;
  logic                  success_q, found, lookup_failed, holds_q, read_start, read_done, read_failed, send_start, has_begun_q;
  logic                  sending, take, is_sent, is_data;
  logic [NumberBits-1:0] number;
  logic [63:0]           data, value_q;
  rma_lookup_t           lookup;
  rma_header_t           header;
  assign page_room  = 10'd512 - {1'b0, at_q[11:3]};
  assign words_left = !is_get ? 5'd1 : left_q < 18'(RmaDataWords) ? left_q[4:0] : 5'(RmaDataWords);
  assign words      = page_room < 10'(words_left) ? page_room[4:0] : words_left;
  assign lookup     = '{vpid: target_i.owner, page: at_q[NlaBits-1:PageBits], access: is_change ? 2'd3 : 2'd1};
  assign read_start = state_q == LOOKUP && found && !lookup_failed;
  assign send_start = state_q == SEND && !has_begun_q;
  assign is_sent    = state_q == SEND && has_begun_q && !sending;
  assign is_data    = is_get && error_q == ERR_NOERR;
  stopbit_rma_lookup #(.Port(AtsPort)) i_lookup (
    .clk_i, .rst_ni, .ask_i(state_q == LOOKUP), .lookup_i(lookup), .done_o(found), .failed_o(lookup_failed),
    .number_o(number), .holds_i(holds_q), .ats_valid_o, .ats_ready_i, .ats_phit_o, .ats_valid_i, .ats_ready_o, .ats_phit_i,
    .malformed_o
  );
  stopbit_rma_reader #(.Patience(Patience)) i_reader (
    .clk_i, .rst_ni, .start_i(read_start), .address_i({number, at_q[11:3]}), .words_i(words_q), .done_o(read_done),
    .failed_o(read_failed), .data_o(data), .take_i(take), .read_valid_o, .read_ready_i, .read_o, .answer_valid_i, .answer_i,
    .late_o, .expired_o
  );
  stopbit_rma_sender #(.Unit(Unit), .Class(Answers)) i_sender (
    .clk_i, .rst_ni, .node_i, .start_i(send_start), .to_i(from_i), .header_i(header), .words_i(is_data ? words_q : '0),
    .busy_o(sending), .data_i(data), .take_o(take), .valid_o(word_valid_o), .ready_i(word_ready_i), .word_o
  );
  logic is_refusal;
  assign is_refusal = !is_answered;
  always_comb begin
    header      = '0;
    header.kind = '{target_vpid: header_i.kind.source_vpid, source_vpid: header_i.kind.target_vpid, error: 8'(error_q),
                    modifiers: '0, kind: is_data ? RMA_DATA : RMA_RESULT, service: Service};
    header.place.request = header_i.place.request;
    if (is_refusal) begin
      header                = header_i;
      header.kind           = '{target_vpid: header_i.kind.source_vpid, source_vpid: header_i.kind.target_vpid,
                                error: 8'(error_q), modifiers: header_i.kind.modifiers, kind: RMA_REFUSAL, service: Service};
      header.capability     = '0;
      header.tag            = kind == RMA_PUT_WORDS && header_i.extent.length > 32'd16 ? '0 : header_i.tag;
      header.word           = 64'(kind);
    end else if (is_data) begin
      header.extent = '{at: done_q, length: header_i.extent.length};
    end else begin
      header.word         = value_q;
      header.place.window = {15'd0, success_q};
    end
  end

  // The word: what it was, and what it becomes.
  logic [31:0] half, sum_half;
  logic [63:0] old_q, new_q;
  logic        upper;
  assign upper    = at_q[2];
  assign half     = upper ? old_q[63:32] : old_q[31:0];
  assign sum_half = half + header_i.more[31:0];
  logic is_below_q;
  logic [1:0] step_q;
  always_ff @(posedge clk_i) begin
    if (state_q == READ) begin
      old_q  <= data;
      step_q <= '0;
    end else begin
      step_q <= {step_q[0], 1'b1};
    end
    // A cycle after the word is here.
    is_below_q <= is_small ? $signed(half) <= $signed(header_i.word[31:0]) : old_q == header_i.word;
    unique case (kind)
      RMA_FETCH_ADD:         new_q <= old_q + header_i.word;
      RMA_COMPARE_SWAP:      new_q <= header_i.more;
      RMA_FETCH_COMPARE_ADD: new_q <= {sum_half, sum_half};
      default:               new_q <= header_i.word;
    endcase
  end

  rma_notice_words_t notice;
  rma_write_t        notice_write;
  logic              notice_valid, told, tells;
  assign notice = '{tells: 1'b1, event_number: '0, vpid: target_i.owner, length: header_i.extent.length,
                    window: header_i.place.window, offset: header_i.offset, value: is_get ? '0 : value_q, tag: header_i.tag,
                    head: '{vpid: header_i.kind.source_vpid, node: from_i, success: '0, error: '0, operation: kind,
                            teller: TELLER_RESPONDER}};
  assign tells = error_q == ERR_NOERR && modifiers.responder;
  stopbit_rma_teller i_teller (
    .clk_i, .rst_ni, .valid_i(state_q == TELL), .notice_i(notice), .done_o(told), .valid_o(notice_valid),
    .ready_i(write_ready_i), .write_o(notice_write)
  );
  assign write_valid_o = state_q == WRITE || notice_valid;
  assign write_o = state_q == WRITE ? '{is_notice: 1'b0, is_last: 1'b1, address: {number, at_q[11:3], 3'd0},
                                        strobe: !is_small ? 8'hFF : upper ? 8'hF0 : 8'h0F, data: new_q} : notice_write;

  logic is_whole;
  assign is_whole = !is_data || left_q == 18'(words_q);
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE:    if (valid_i) state_d = CHECK;
      CHECK:   state_d = JUDGE;
      JUDGE:   state_d = judged == ERR_NOERR ? LOOKUP : is_answered || modifiers.refusal ? SEND : NEXT;
      LOOKUP:  if (found) state_d = lookup_failed ? SEND : READ;
      READ:    if (read_done) state_d = read_failed ? SEND : is_get ? SEND : CHANGE;
      // Two cycles: the word is here, and what it becomes.
      CHANGE:  if (step_q[1]) state_d = is_small || kind == RMA_COMPARE_SWAP ? (is_below_q ? WRITE : SEND) : WRITE;
      WRITE:   if (write_ready_i) state_d = SEND;
      SEND:    if (is_sent) state_d = NEXT;
      NEXT:    state_d = !is_whole ? CHECK : tells ? TELL : IDLE;
      TELL:    if (told) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end
  assign take_o = state_q != IDLE && state_d == IDLE;
  logic is_done;
  assign is_done = state_q == NEXT && is_whole;
  always_ff @(posedge clk_i) begin
    if (state_q == IDLE) begin
      done_q    <= '0;
      left_q    <= header_i.extent.length[20:3];
      success_q <= 1'b0;
      value_q   <= '0;
    end
    if (state_q == JUDGE) begin
      error_q <= judged;
      at_q    <= target_i.nla + NlaBits'(done_q);
    end
    if (state_q == LOOKUP) words_q <= words;
    if ((state_q == LOOKUP && found && lookup_failed) || (state_q == READ && read_done && read_failed)) error_q <= ERR_TFAULT;
    if (state_q == CHANGE && step_q[1]) begin
      success_q <= !(is_small || kind == RMA_COMPARE_SWAP) || is_below_q;
      value_q   <= is_small ? {32'd0, is_below_q ? new_q[31:0] : half} : old_q;
    end
    if (state_q == NEXT) begin
      done_q <= done_q + {24'd0, words_q, 3'd0};
      left_q <= left_q - 18'(words_q);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= IDLE;
      holds_q     <= 1'b0;
      has_begun_q <= 1'b0;
      served_o    <= 1'b0;
      refused_o   <= 1'b0;
    end else begin
      state_q     <= state_d;
      holds_q     <= read_start || (holds_q && !(state_q == READ ? read_done && (is_get || read_failed) : state_d == SEND));
      has_begun_q <= send_start || (has_begun_q && !is_sent);
      served_o    <= is_done && error_q == ERR_NOERR;
      refused_o   <= is_done && error_q != ERR_NOERR;
    end
  end
endmodule
