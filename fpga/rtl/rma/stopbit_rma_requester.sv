/// Carries out commands of this node's ports, one after the other: checks, translates, reads memory, sends packets.
///
/// A put of more than a page is translated as a whole before its first byte leaves: a command that is refused changes
/// nothing. If a page is taken from the port later, or the port is closed, the put ends with a packet
/// that says so; nothing of a closed port leaves with the domain of the next one. A command that waits for an
/// answer has a slot; with all in use it waits. Every command ends with `ended_o`, and with a notification if it failed or
/// asked for one.
module stopbit_rma_requester
  import stopbit_nic_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter int unsigned Ports    = 256,
  parameter int unsigned Patience = 4096,
  parameter logic [2:0]  Unit     = 3'd1,
  parameter logic [3:0]  AtsPort  = 4'd0,
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [15:0]           node_i,
  input  logic [15:0]           last_node_i,  // there is none after it

  input  logic                  port_write_i,
  input  logic [PortWidth-1:0]  port_index_i,
  input  rma_port_t             port_i,

  input  logic                  command_valid_i,
  output logic                  command_ready_o,
  input  logic [15:0]           command_vpid_i,
  input  rma_command_words_t    command_i,

  input  logic                  free_valid_i,
  input  logic [SlotWidth-1:0]  free_i,
  input  logic [15:0]           generation_i,
  output logic                  slot_take_o,
  output rma_slot_t             slot_o,
  output logic                  slot_drop_o,
  output logic [SlotWidth-1:0]  slot_drop_index_o,

  output logic                  ats_valid_o,
  input  logic                  ats_ready_i,
  output logic [63:0]           ats_phit_o,
  input  logic                  ats_valid_i,
  output logic                  ats_ready_o,
  input  logic [63:0]           ats_phit_i,

  output logic                  read_valid_o,
  input  logic                  read_ready_i,
  output rma_read_t             read_o,
  input  logic                  answer_valid_i,
  input  rma_answer_t           answer_i,

  output logic                  word_valid_o,
  input  logic                  word_ready_i,
  output rma_word_t             word_o,

  output logic                  write_valid_o,
  input  logic                  write_ready_i,
  output rma_write_t            write_o,

  output logic                  ended_o,    // a command
  output logic [4:0]            error_o,    // with it
  output logic                  malformed_o,
  output logic                  late_o,
  output logic                  expired_o
);
  typedef enum logic [3:0] {IDLE, PORT, CHECK, JUDGE, WALK, LOOKUP, READ, SLOT, SEND, TELL} state_t;

  state_t             state_q, state_d;
  rma_command_words_t command_q;
  logic [15:0]        vpid_q;
  rma_port_t          port;
  rma_modifiers_t     modifiers;
  logic [7:0]         operation;
  logic               is_put, is_get, is_known, needs_slot;
  assign modifiers  = command_q.kind.modifiers;
  assign operation  = command_q.kind.operation;
  assign is_put     = operation == RMA_PUT;
  assign is_get     = operation == RMA_GET;
  assign is_known   = operation == RMA_PUT || operation == RMA_IMMEDIATE_PUT || operation == RMA_NOTIFICATION_PUT ||
                      is_read(operation);
  assign needs_slot = is_read(operation) || modifiers.acknowledge;

  stopbit_ram #(.Width($bits(rma_port_t)), .Depth(Ports)) i_ports (
    .write_clk_i(clk_i), .write_i(port_write_i), .write_address_i(port_index_i), .write_data_i(port_i),
    .read_clk_i(clk_i), .read_address_i(vpid_q[PortWidth-1:0]), .read_data_o(port)
  );

  // Checks: in CHECK what the command says, in JUDGE the first that fails.
  logic               bad_vpid_q, bad_command_q, bad_node_q, bad_length_q, bad_range_q, bad_align_q, bad_odd_q;
  logic [NlaBits:0]   end_q;  // last byte
  logic [4:0]         judged;
  always_ff @(posedge clk_i) begin
    bad_vpid_q    <= !port.open || 32'(vpid_q) >= Ports;
    bad_command_q <= !is_known || modifiers.zero0 != '0;
    bad_node_q    <= command_q.kind.node > last_node_i;
    bad_length_q  <= (is_put || is_get) && (command_q.length == '0 || command_q.length > MaxLength);
    end_q         <= {1'b0, command_q.address[NlaBits-1:0]} + (NlaBits + 1)'(command_q.length) - 1'b1;
    bad_range_q   <= (is_put || is_get) && command_q.address[63:NlaBits] != '0;
    bad_align_q   <= (is_put || is_get) && command_q.address[2:0] != '0;
    bad_odd_q     <= (is_put || is_get) && command_q.length[2:0] != '0;
  end
  assign judged = bad_vpid_q ? ERR_OVPID_INV : bad_command_q ? ERR_CMD_INV : bad_node_q ? ERR_ROUTE_INV :
                  bad_length_q || bad_odd_q ? ERR_OLENGTH :
                  bad_range_q || ((is_put || is_get) && end_q[NlaBits]) ? ERR_OWINID :
                  bad_align_q ? ERR_OOFFSET : ERR_NOERR;

  // Progress of a transfer.
  logic [NlaBits-1:0]    at_q;      // of the next byte
  logic [NlaPageBits-1:0] walk_q;
  logic [31:0]           sent_q;
  logic [17:0]           left_q;    // words
  words_t                words_q;
  logic [9:0]            page_room;
  logic                  abandons_q, has_slot_q, gone_q, denied, drops;
  logic [31:0]           life_q;    // of the port, when the command was taken, as the domain
  logic [15:0]           domain_q;
  logic [4:0]            error_q;
  logic [SlotWidth-1:0]  slot_q;
  logic [31:0]           request_q;
  words_t                words_left, words;
  assign page_room  = 10'd512 - {1'b0, at_q[11:3]};
  assign words_left = left_q < 18'(RmaDataWords) ? left_q[4:0] : 5'(RmaDataWords);
  assign words      = page_room < 10'(words_left) ? page_room[4:0] : words_left;

  logic                  asks, found, lookup_failed, holds_q, read_start, read_done, read_failed, send_start, sending, take;
  logic [NumberBits-1:0] number;
  logic [63:0]           data;
  rma_lookup_t           lookup;
  rma_header_t           header;
  logic                  tells, told, is_walked, has_begun_q, is_sent, fails;
  assign lookup     = '{vpid: vpid_q, page: state_q == WALK ? walk_q : at_q[NlaBits-1:PageBits], access: is_put ? 2'd1 : 2'd2};
  assign asks       = state_q == WALK || state_q == LOOKUP;
  assign is_walked  = walk_q == end_q[NlaBits-1:PageBits];
  assign denied     = lookup_failed || gone_q;
  assign drops      = state_q == SLOT && gone_q && sent_q == '0;
  assign read_start = state_q == LOOKUP && found && !denied;
  assign send_start = state_q == SEND && !sending && !has_begun_q;
  assign tells      = state_q == TELL && (error_q != ERR_NOERR || modifiers.requester);

  stopbit_rma_lookup #(.Port(AtsPort)) i_lookup (
    .clk_i, .rst_ni, .ask_i(asks), .lookup_i(lookup), .done_o(found), .failed_o(lookup_failed), .number_o(number),
    .holds_i(holds_q || read_start),
    .ats_valid_o, .ats_ready_i, .ats_phit_o, .ats_valid_i, .ats_ready_o, .ats_phit_i, .malformed_o
  );
  stopbit_rma_reader #(.Patience(Patience)) i_reader (
    .clk_i, .rst_ni, .start_i(read_start), .address_i({number, at_q[11:3]}), .words_i(words_q), .done_o(read_done),
    .failed_o(read_failed), .data_o(data), .take_i(take), .read_valid_o, .read_ready_i, .read_o, .answer_valid_i, .answer_i,
    .late_o, .expired_o
  );
  stopbit_rma_sender #(.Unit(Unit), .Class(Requests)) i_sender (
    .clk_i, .rst_ni, .node_i, .start_i(send_start), .to_i(command_q.kind.node), .header_i(header),
    .words_i(is_put && !abandons_q ? words_q : '0), .busy_o(sending), .data_i(data), .take_o(take), .valid_o(word_valid_o),
    .ready_i(word_ready_i), .word_o
  );
  always_comb begin
    header.kind  = '{target_vpid: command_q.kind.vpid, source_vpid: vpid_q, error: abandons_q ? 8'(error_q) : '0,
                     modifiers: command_q.kind.modifiers, kind: abandons_q ? RMA_ABANDONED : operation, service: Service};
    header.place = '{request: request_q, domain: domain_q, window: command_q.kind.window};
    header.tag        = command_q.tag;
    header.capability = command_q.capability;
    header.offset     = command_q.offset;
    header.extent     = '{at: sent_q, length: is_put || is_get ? command_q.length :
                                              operation == RMA_FETCH_COMPARE_ADD ? 32'd4 : 32'd8};
    header.word       = command_q.address;
    header.more       = command_q.more;
  end

  // As host/nic/rma has them, also of commands that are not carried out here.
  rma_notice_words_t notice;
  logic              has_length;
  logic [63:0]       notice_tag;
  assign has_length = is_put || is_get || operation == RMA_PUT_WORDS || operation == RMA_GET_WORDS;
  assign notice_tag = operation == RMA_PUT_WORDS && command_q.length > 32'd16 ? '0 : command_q.tag;
  assign notice = '{tells: 1'b1, event_number: '0, vpid: vpid_q, length: has_length ? command_q.length : '0,
                    window: command_q.kind.window, offset: command_q.offset, value: '0, tag: notice_tag,
                    head: '{vpid: command_q.kind.vpid, node: command_q.kind.node, success: '0, error: 8'(error_q),
                            operation: operation, teller: TELLER_REQUESTER}};
  stopbit_rma_teller i_teller (
    .clk_i, .rst_ni, .valid_i(tells), .notice_i(notice), .done_o(told), .valid_o(write_valid_o), .ready_i(write_ready_i), .write_o
  );

  assign slot_take_o = state_q == SLOT && needs_slot && !has_slot_q && free_valid_i && !drops;
  assign slot_o = '{generation: generation_i, vpid: vpid_q, operation: operation, modifiers: command_q.kind.modifiers,
                    node: command_q.kind.node, target: command_q.kind.vpid, window: command_q.kind.window,
                    length: command_q.length, address: command_q.address[NlaBits-1:0], offset: command_q.offset,
                    tag: command_q.tag};
  assign slot_drop_o       = state_q == TELL && has_slot_q && error_q != ERR_NOERR;
  assign slot_drop_index_o = slot_q;
  assign command_ready_o   = state_q == IDLE;
  assign ended_o           = state_q == TELL && (!tells || told);
  assign error_o           = error_q;

  assign is_sent = state_q == SEND && has_begun_q && !sending;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE:    if (command_valid_i) state_d = PORT;
      PORT:    state_d = CHECK;
      CHECK:   state_d = JUDGE;
      JUDGE:   state_d = judged != ERR_NOERR ? TELL :
                         is_get || (is_put && at_q[NlaBits-1:PageBits] != end_q[NlaBits-1:PageBits]) ? WALK :
                         is_put ? LOOKUP : SLOT;
      WALK:    if (found) state_d = denied ? TELL : !is_walked ? WALK : is_put ? LOOKUP : SLOT;
      LOOKUP:  if (found) state_d = !denied ? READ : sent_q == '0 ? TELL : SEND;
      READ:    if (read_done) state_d = !read_failed ? SLOT : sent_q == '0 ? TELL : SEND;
      SLOT:    if (drops) state_d = TELL;
               else if (!needs_slot || has_slot_q || free_valid_i) state_d = SEND;
      SEND:    if (is_sent) state_d = is_put && !abandons_q && left_q != 18'(words_q) ? LOOKUP : TELL;
      TELL:    if (ended_o) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end
  assign fails = (state_q == LOOKUP || state_q == WALK) ? found && denied :
                 drops || (state_q == READ && read_done && read_failed);
  always_ff @(posedge clk_i) begin
    gone_q <= !port.open || port.life != life_q;
    if (command_ready_o) begin
      command_q <= command_i;
      vpid_q    <= command_vpid_i;
    end
    if (state_q == CHECK) begin
      at_q       <= command_q.address[NlaBits-1:0];
      walk_q     <= command_q.address[NlaBits-1:PageBits];
      sent_q     <= '0;
      left_q     <= command_q.length[20:3];
      abandons_q <= 1'b0;
      has_slot_q <= 1'b0;
      error_q    <= ERR_NOERR;
      request_q  <= port.life;
      life_q     <= port.life;
      domain_q   <= port.domain;
    end
    if (state_q == JUDGE) error_q <= judged;
    if (state_q == WALK && found) walk_q <= walk_q + 1'b1;
    if (state_q == LOOKUP) words_q <= words;
    if (fails) begin
      error_q    <= gone_q ? ERR_OVPID_INV : ERR_OWINID;
      abandons_q <= sent_q != '0;
    end
    if (slot_take_o) begin
      has_slot_q <= 1'b1;
      slot_q     <= free_i;
      request_q  <= {generation_i, 10'd0, free_i};
    end
    if (is_sent && is_put) begin
      sent_q <= sent_q + {24'd0, words_q, 3'd0};
      at_q   <= at_q + {31'd0, words_q, 3'd0};
      left_q <= left_q - 18'(words_q);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= IDLE;
      holds_q     <= 1'b0;
      has_begun_q <= 1'b0;
    end else begin
      state_q     <= state_d;
      holds_q     <= read_start || (holds_q && !read_done);
      has_begun_q <= send_start || (has_begun_q && !is_sent);
    end
  end
endmodule
