/// Takes Ethernet frames of 64-byte beats, gives the UDP datagrams of the groups in its table in 16-byte beats.
///
/// Store and forward: a frame waits in a speculative FIFO until it is whole. One with a bad FCS, a wrong length, or for
/// which there was no room is reverted and leaves nothing; a frame for others is never written. `verdict_o` reports
/// the outcome of each frame, once. With `drop_when_full_i` the input never waits, and frames without room are lost
/// and counted; else the input waits. From the last beat of a frame in to the first of its datagram out: 4 cycles for a
/// frame of one beat, else 6, if nothing waits.
///
/// Cut-through: the bytes of a frame go on as they come, 3 cycles from its second beat in (4 from its only one) to the
/// first of its datagram out. The last beat of a datagram waits for the end of its frame; if that is bad, the datagram ends with
/// a beat of no bytes, so that it is shorter than its length says (nothing at all leaves if that was to be its first beat).
///
/// `keep_i` is a run of ones from bit 0, all ones unless `last_i`. `arrival_ns_i` belongs to the first beat of a frame.
/// `number` of a datagram counts all frames since reset, from 1. Lengths come from the IPv4 and UDP headers; what follows
/// them in a frame (padding, trailers, FCS) is not looked at. A frame that is longer than Depth beats counts as one
/// without room.
module stopbit_frame_decoder #(
  parameter int unsigned Depth = 256  // beats of 64 bytes
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,

  input  logic                                    group_write_i,
  input  logic [stopbit_front_pkg::GroupBits-1:0] group_index_i,
  input  stopbit_front_pkg::group_t               group_i,
  input  logic [7:0]                              time_quality_i,
  input  logic                                    fcs_i,           // frames end with their FCS, which is checked
  input  logic                                    check_header_i,  // the checksum of IPv4 headers
  input  logic                                    drop_when_full_i,
  input  logic                                    cut_through_i,  // changes only while idle_o

  input  logic                                    valid_i,
  output logic                                    ready_o,
  input  logic [511:0]                            data_i,
  input  logic [63:0]                             keep_i,
  input  logic                                    last_i,
  input  logic                                    bad_i,  // with last_i: the MAC found an error
  input  logic [63:0]                             arrival_ns_i,

  output logic                                    valid_o,
  input  logic                                    ready_i,
  output stopbit_pkg::stopbit_beat_t              beat_o,
  output stopbit_pkg::stopbit_datagram_t          datagram_o,

  output logic                                    verdict_valid_o,
  output logic [4:0]                              verdict_o,
  output logic                                    idle_o
);
  localparam int unsigned CountBits = $clog2(Depth) + 1;

  // ------------------------------------------------------------------------- beats on their way: in, p1, p2, p3, FIFO
  logic         go;  // all stages may move
  logic         p1_valid_q, p1_first_q, p1_last_q, p1_bad_q, p1_leave;
  logic [6:0]   p1_bytes_q, bytes_in;
  logic [511:0] p1_data_q, p2_data_q, p3_data_q;
  logic [63:0]  p1_arrival_q, p2_arrival_q, p3_arrival_q;
  logic         p2_valid_q, p2_first_q, p2_last_q, p2_bad_q;
  logic         p3_valid_q, p3_first_q, p3_last_q, p3_bad_q;
  logic [6:0]   p2_bytes_q, p3_bytes_q;
  logic         first_q;  // the next beat in begins a frame

  always_comb begin
    bytes_in = '0;
    for (int unsigned i = 0; i < 64; i++) begin
      if (keep_i[i]) bytes_in = 7'(i + 1);
    end
  end

  // The first beat of a frame waits in p1 for the second, for headers may reach into it.
  assign p1_leave = p1_valid_q && (valid_i || p1_last_q || !p1_first_q);
  assign ready_o  = go;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      p1_valid_q <= 1'b0;
      p2_valid_q <= 1'b0;
      p3_valid_q <= 1'b0;
      first_q    <= 1'b1;
    end else if (go) begin
      p1_valid_q <= valid_i || (p1_valid_q && !p1_leave);
      p2_valid_q <= p1_leave;
      p3_valid_q <= p2_valid_q;
      if (valid_i) first_q <= last_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (go) begin
      if (valid_i) begin
        p1_first_q   <= first_q;
        p1_last_q    <= last_i;
        p1_bad_q     <= bad_i;
        p1_bytes_q   <= bytes_in;
        p1_data_q    <= data_i;
        p1_arrival_q <= arrival_ns_i;
      end
      {p2_first_q, p2_last_q, p2_bad_q, p2_bytes_q, p2_data_q, p2_arrival_q} <=
          {p1_first_q, p1_last_q, p1_bad_q, p1_bytes_q, p1_data_q, p1_arrival_q};
      {p3_first_q, p3_last_q, p3_bad_q, p3_bytes_q, p3_data_q, p3_arrival_q} <=
          {p2_first_q, p2_last_q, p2_bad_q, p2_bytes_q, p2_data_q, p2_arrival_q};
    end
  end

  logic fcs_bad;
  stopbit_fcs check_sequence (
    .clk_i,
    .go_i   (go),
    .valid_i(p1_leave),
    .first_i(p1_first_q),
    .last_i (p1_last_q),
    .bytes_i(p1_bytes_q),
    .data_i (p1_data_q),
    .bad_o  (fcs_bad)
  );

  // What the parser says of the frame whose first beat is in p3.
  logic [4:0]  early, late, body;
  logic [15:0] total_bytes, payload_bytes, port, channel;
  logic [6:0]  payload;
  logic [31:0] source_address, address;
  logic [7:0]  line;
  logic        found;

  stopbit_frame_parser parser (
    .clk_i,
    .go_i            (go),
    .head_i          ({data_i[8*26-1:0], p1_data_q[511:8*12]}),
    .bytes_i         (!p1_last_q ? 7'd127 : !fcs_i ? p1_bytes_q : p1_bytes_q < 7'd4 ? 7'd0 : p1_bytes_q - 7'd4),
    .check_i         (check_header_i),
    .early_o        (early),
    .late_o        (late),
    .body_o          (body),
    .total_bytes_o   (total_bytes),
    .payload_o       (payload),
    .payload_bytes_o (payload_bytes),
    .source_address_o(source_address),
    .address_o       (address),
    .port_o          (port)
  );

  stopbit_group_table groups (
    .clk_i,
    .rst_ni,
    .write_i         (group_write_i),
    .write_index_i   (group_index_i),
    .write_group_i   (group_i),
    .go_i            (go),
    .source_address_i(source_address),
    .address_i       (address),
    .port_i          (port),
    .found_o         (found),
    .channel_o       (channel),
    .line_o          (line)
  );

  // -------------------------------------------------------------------------------------------- the frame in p3, by beat
  typedef struct packed {
    logic [4:0]  early;
    logic [4:0]  late;
    logic        wanted;
    logic        found;
    logic [16:0] needed;  // bytes that the frame must have
    logic [6:0]  payload;
    logic [15:0] payload_bytes;
    logic [15:0] channel;
    logic [7:0]  line;
    logic [63:0] arrival_ns;
    logic [63:0] number;
  } frame_t;

  frame_t               seen, frame, frame_q;  // as read from the first beat; of this beat; of the beats after the first
  logic [63:0]          frames_q;
  logic [16:0]          bytes_q, bytes;  // of the frame, saturating: before and with this beat
  logic [CountBits-1:0] beats_q, beats;
  logic                 lost_q, lost;
  logic                 put_wanted, put_ready, put, finish, accept;
  logic [4:0]           verdict;
  logic [17:0]          sum_bytes;

  always_comb begin
    seen.early         = early;
    seen.late          = late;
    seen.found         = found;
    seen.wanted        = early == stopbit_front_pkg::VERDICT_ACCEPTED &&
                         late == stopbit_front_pkg::VERDICT_ACCEPTED && found;
    seen.needed        = {1'b0, total_bytes} + {12'd0, body} + (fcs_i ? 17'd4 : 17'd0);
    seen.payload       = payload;
    seen.payload_bytes = payload_bytes;
    seen.channel       = channel;
    seen.line          = line;
    seen.arrival_ns    = p3_arrival_q;
    seen.number        = frames_q + 64'd1;
    frame              = p3_first_q ? seen : frame_q;
  end

  // Cut-through: a frame that lost a beat must get its end before another frame is written.
  logic owes_end_q, begins;
  assign begins = p3_valid_q && p3_first_q && frame.wanted && !owes_end_q;  // it may be written

  assign sum_bytes  = {1'b0, p3_first_q ? 17'd0 : bytes_q} + {11'd0, p3_bytes_q};
  assign bytes      = sum_bytes[17] ? 17'h1FFFF : sum_bytes[16:0];
  assign lost       = (!p3_first_q && lost_q) || (put_wanted && !put_ready) ||
                      (p3_first_q && frame.wanted && owes_end_q);
  assign beats      = (p3_first_q ? '0 : beats_q) + CountBits'(put_wanted && put_ready);
  assign put_wanted = begins || (p3_valid_q && !p3_first_q && frame.wanted && !lost_q);
  assign finish     = p3_valid_q && p3_last_q && go;
  assign accept     = finish && verdict == stopbit_front_pkg::VERDICT_ACCEPTED;

  // Waiting for room makes no sense once the FIFO holds nothing but this frame.
  assign go = !put_wanted || put_ready || drop_when_full_i || (!cut_through_i && !p3_first_q && beats_q[CountBits-1]);

  always_comb begin
    if (p3_bad_q || (fcs_i && fcs_bad)) verdict = stopbit_front_pkg::VERDICT_FRAME_BAD;
    else if (frame.early != stopbit_front_pkg::VERDICT_ACCEPTED) verdict = frame.early;
    else if (bytes < frame.needed) verdict = stopbit_front_pkg::VERDICT_IP_TOTAL_LENGTH_BAD;
    else if (frame.late != stopbit_front_pkg::VERDICT_ACCEPTED) verdict = frame.late;
    else if (!frame.found) verdict = stopbit_front_pkg::VERDICT_FILTERED;
    else if (lost) verdict = stopbit_front_pkg::VERDICT_OVERFLOW;
    else verdict = stopbit_front_pkg::VERDICT_ACCEPTED;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      frames_q        <= '0;
      verdict_valid_o <= 1'b0;
      owes_end_q      <= 1'b0;
    end else begin
      if (finish) frames_q <= frames_q + 64'd1;
      verdict_valid_o <= finish;
      if (owes_end_q) owes_end_q <= !put_ready;
      else owes_end_q <= cut_through_i && go && put_wanted && !put_ready && !p3_first_q;
    end
  end
  always_ff @(posedge clk_i) begin
    verdict_o <= verdict;
    if (p3_valid_q && go) begin
      frame_q <= frame;
      bytes_q <= bytes;
      beats_q <= beats;
      lost_q  <= lost;
    end
  end

  // ------------------------------------------------------------------------------------------------------- frames that go on
  // A word of a frame, and whether it is the frame's last one and the frame is bad.
  localparam int unsigned WordBits = 2 + 512;
  localparam int unsigned TicketBits = 7 + 16 + 16 + 8 + 64 + 64;
  logic                  word_valid, word_take, word_last, word_bad;
  logic [511:0]          word;
  logic                  ticket_valid, ticket_ready, ticket_take, ticket_put;
  logic [TicketBits-1:0] ticket, ticket_in;
  logic                  straight;  // past the FIFOs, which are empty, into the idle output
  logic [CountBits-1:0]  no_count, ticket_count;
  assign no_count = '0;

  assign put        = put_wanted && go;
  assign ticket_in  = {frame.payload, frame.payload_bytes, frame.channel, frame.line, frame.arrival_ns, frame.number};
  assign ticket_put = cut_through_i ? begins && put_ready && go : accept;

  stopbit_spec_fifo #(.Width(WordBits), .Depth(Depth)) frames (
    .clk_i,
    .rst_ni,
    .valid_i             ((put && !straight) || owes_end_q),
    .ready_o             (put_ready),
    .data_i              ({owes_end_q || p3_last_q, owes_end_q || (p3_last_q && !accept), p3_data_q}),
    .write_commit_i      (cut_through_i || accept),
    .write_commit_count_i(cut_through_i ? CountBits'(1) : straight ? '0 : beats),
    .write_revert_i      (!cut_through_i && finish && !accept),
    .write_revert_count_i({CountBits{1'b1}}),
    .valid_o             (word_valid),
    .ready_i             (word_take),
    .data_o              ({word_last, word_bad, word}),
    .read_commit_i       (word_take),
    .read_commit_count_i ({CountBits{1'b1}}),
    .read_revert_i       (1'b0),
    .read_revert_count_i (no_count)
  );

  // As many as frames, of which none is shorter than a beat: always room.
  stopbit_fifo #(.Width(TicketBits), .Depth(Depth)) tickets (
    .clk_i,
    .rst_ni,
    .valid_i(ticket_put && !straight),
    .ready_o(ticket_ready),
    .data_i (ticket_in),
    .valid_o(ticket_valid),
    .ready_i(ticket_take),
    .double_i(1'b0),
    .single_o(),
    .data_o (ticket),
    .count_o(ticket_count)
  );

  // ------------------------------------------------------------------------------------- datagrams, in beats of 16 bytes
  // The bytes of a beat lie in `low_q`, the word early, and `word`, the one shown by the FIFO.
  typedef enum logic [2:0] {
    IDLE,  // no frame is open
    SEEK,  // the word in which the payload begins is not yet in low_q
    SEND,
    WAIT,  // cut-through: the last beat is in last_q and waits for the end of the frame
    SKIP   // words after the payload
  } state_e;
  // A beat: whether it is the last one, whether the next word is needed, in this beat or moved along with it, and its bytes.
  localparam int unsigned PlaceBits = 7;
  function automatic logic [PlaceBits-1:0] place_of(input logic [5:0] at, input logic [15:0] left);
    logic       last_one, needs_next;
    logic [6:0] after;
    last_one   = left <= 16'd16;
    after      = {1'b0, at} + {2'b00, left[4:0]};
    needs_next = last_one ? after > 7'd64 : at >= 6'd48;
    place_of   = {last_one, needs_next, last_one ? left[4:0] : 5'd16};
  endfunction
  state_e       state_q;
  logic [511:0] low_q;
  logic         low_last_q, low_bad_q;  // it is the frame's last word; and the frame is bad
  logic         sent_q;                 // a beat of the datagram has left
  logic [127:0] last_q;
  logic [5:0]   at_q;                   // where the next beat begins in low_q
  logic [15:0]  left_q;                 // bytes to send
  logic [PlaceBits-1:0] place_q;        // what follows from these two
  logic [15:0]  channel_q, length_q;
  logic [7:0]   line_q;
  logic [63:0]  arrival_q, number_q;
  logic         last_beat, needs_word, is_short, end_seen, end_bad, send, shown, idle_in_front;
  logic [4:0]   count;

  assign {last_beat, needs_word, count} = place_q;
  assign is_short   = needs_word && low_last_q;  // what the headers announce is not there
  assign end_seen   = !cut_through_i || low_last_q || (needs_word && word_valid && word_last);
  assign end_bad    = cut_through_i && (low_last_q ? low_bad_q || is_short : word_bad);

  // What may leave in this cycle: a beat of the datagram, or its end without bytes.
  logic whole, cut_off;
  always_comb begin
    whole   = 1'b0;
    cut_off = 1'b0;
    case (state_q)
      SEND: begin
        whole   = !is_short && (!needs_word || word_valid) && (!last_beat || (end_seen && !end_bad));
        cut_off = is_short || (last_beat && end_seen && end_bad);
      end
      WAIT: begin
        whole   = low_last_q && !low_bad_q;
        cut_off = low_last_q && low_bad_q;
      end
      default: ;
    endcase
  end
  assign shown   = whole || (cut_off && sent_q);
  assign valid_o = shown;
  assign send    = shown ? ready_i : cut_off;  // the step is done; what never began need not be taken

  assign straight = state_q == IDLE && !ticket_valid && ticket_count == '0 && ticket_put && p3_first_q &&
                    (cut_through_i || p3_last_q);

  always_comb begin
    case (state_q)
      IDLE:       word_take = ticket_valid && word_valid;
      SEEK, SKIP: word_take = word_valid && !low_last_q;
      SEND:       word_take = send && needs_word && !is_short;
      default:    word_take = word_valid && !low_last_q;
    endcase
    // The last beat's bytes are put aside: what follows is only looked at for its end.
    if (state_q == SEND && last_beat && !end_seen) word_take = needs_word && word_valid;
  end
  assign ticket_take = state_q == IDLE && word_take;

  logic ends;  // the frame is over with this step
  assign ends = low_last_q || (word_take && word_last);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= IDLE;
    end else begin
      case (state_q)
        IDLE: begin
          if (straight) state_q <= payload[6] ? SEEK : SEND;
          else if (word_take) state_q <= ticket[TicketBits-1] ? SEEK : SEND;
        end
        SEEK: begin
          if (word_take) state_q <= SEND;
          else if (low_last_q) state_q <= IDLE;  // it ends before its payload begins
        end
        SEND: begin
          if (send && (last_beat || is_short)) state_q <= ends ? IDLE : SKIP;
          else if (last_beat && !end_seen && (!needs_word || word_valid)) state_q <= WAIT;
        end
        WAIT:    if (send) state_q <= IDLE;
        default: if (ends) state_q <= IDLE;  // SKIP
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (straight) begin
      low_q      <= p3_data_q;
      low_last_q <= p3_last_q;
      low_bad_q  <= p3_last_q && !accept;
    end else if (word_take) begin
      low_q      <= word;
      low_last_q <= word_last;
      low_bad_q  <= word_bad;
    end
    if (state_q == IDLE) begin
      {at_q, left_q, channel_q, line_q, arrival_q, number_q} <=
          straight ? ticket_in[TicketBits-2:0] : ticket[TicketBits-2:0];
      place_q  <= straight ? place_of(payload[5:0], payload_bytes)
                           : place_of(ticket[TicketBits-2 -: 6], ticket[TicketBits-8 -: 16]);
      length_q <= straight ? payload_bytes : ticket[TicketBits-8 -: 16];
      sent_q   <= 1'b0;
    end else if (send) begin
      at_q    <= at_q + 6'd16;
      left_q  <= left_q - 16'd16;
      place_q <= place_of(at_q + 6'd16, left_q - 16'd16);
      sent_q  <= 1'b1;
    end
    if (state_q == SEND) last_q <= beat_data;
  end
  assign idle_in_front = !p1_valid_q && !p2_valid_q && !p3_valid_q && first_q;
  assign idle_o        = idle_in_front && state_q == IDLE && ticket_count == '0 && !ticket_valid && !owes_end_q;

  // A beat begins 2, 6, 10 or 14 bytes after a multiple of 16.
  logic [639:0]      both;
  logic [8*30-1:8*2] near;
  logic [127:0]      beat_data;
  assign both = {word[127:0], low_q};
  assign near = both[128*at_q[5:4] + 16 +: 224];

  always_comb begin
    case (at_q[3:2])
      2'd0:    beat_data = near[8*2 +: 128];
      2'd1:    beat_data = near[8*6 +: 128];
      2'd2:    beat_data = near[8*10 +: 128];
      default: beat_data = near[8*14 +: 128];
    endcase
    beat_o.data  = state_q == WAIT ? last_q : beat_data;
    beat_o.count = whole ? count : 5'd0;
    beat_o.last  = last_beat || cut_off;

    datagram_o              = '0;
    datagram_o.arrival_ns   = arrival_q;
    datagram_o.number       = number_q;
    datagram_o.length_bytes = {1'b0, length_q};
    datagram_o.channel      = channel_q;
    datagram_o.source       = line_q;
    datagram_o.time_quality = time_quality_i;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      ticket_has_room    : assert (!ticket_put || ticket_ready);
      keep_is_a_run      : assert (!valid_i || (keep_i & (keep_i + 1'b1)) == 0);
      beats_are_full     : assert (!valid_i || last_i || keep_i[63]);
      whole_frames_only  : assert (cut_through_i || !cut_off);
      beat_place         : assert (state_q != SEND || at_q[1:0] == 2'd2);
      tickets_for_words  : assert (ticket_count <= CountBits'(Depth));
    end
  end
`endif
endmodule
