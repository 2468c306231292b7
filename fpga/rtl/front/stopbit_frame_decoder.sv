/// Takes Ethernet frames of 64-byte beats, gives the UDP datagrams of the groups in its table in 16-byte beats.
///
/// Store and forward: a frame waits in a speculative FIFO until it is whole. One with a bad FCS, a wrong length, or for
/// which there was no room is reverted and leaves nothing; one that is not for us is never written. `verdict_o` tells of
/// each frame, once, what became of it. With `drop_when_full_i` the input never waits, and frames without room are lost
/// and counted; else the input waits. From the last beat of a frame in to the first of its datagram out: 6 cycles if
/// nothing waits.
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
  input  logic                                    check_header_i,  // the checksum of IPv4 headers
  input  logic                                    drop_when_full_i,

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
  output logic [4:0]                              verdict_o
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
    .bytes_i         (p1_last_q ? p1_bytes_q : 7'd127),
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

  frame_t               seen, frame, frame_q;  // as the first beat tells it; of this beat; of the beats behind the first
  logic [63:0]          frames_q;
  logic [16:0]          bytes_q, bytes;  // of the frame, saturating: before and with this beat
  logic [CountBits-1:0] beats_q, beats;
  logic                 lost_q, lost;
  logic                 put_wanted, put_ready, finish, accept;
  logic [4:0]           verdict;
  logic [17:0]          sum_bytes;

  always_comb begin
    seen.early        = early;
    seen.late        = late;
    seen.found         = found;
    seen.wanted        = early == stopbit_front_pkg::VERDICT_ACCEPTED &&
                         late == stopbit_front_pkg::VERDICT_ACCEPTED && found;
    seen.needed        = {1'b0, total_bytes} + {12'd0, body};
    seen.payload       = payload;
    seen.payload_bytes = payload_bytes;
    seen.channel       = channel;
    seen.line          = line;
    seen.arrival_ns    = p3_arrival_q;
    seen.number        = frames_q + 64'd1;
    frame              = p3_first_q ? seen : frame_q;
  end

  assign sum_bytes  = {1'b0, p3_first_q ? 17'd0 : bytes_q} + {11'd0, p3_bytes_q};
  assign bytes      = sum_bytes[17] ? 17'h1FFFF : sum_bytes[16:0];
  assign lost       = (!p3_first_q && lost_q) || (put_wanted && !put_ready);
  assign beats      = (p3_first_q ? '0 : beats_q) + CountBits'(put_wanted && put_ready);
  assign put_wanted = p3_valid_q && frame.wanted && (p3_first_q || !lost_q);
  assign finish     = p3_valid_q && p3_last_q && go;
  assign accept     = finish && verdict == stopbit_front_pkg::VERDICT_ACCEPTED;

  // Waiting for room makes no sense once the FIFO holds nothing but this frame.
  assign go = !put_wanted || put_ready || drop_when_full_i || (!p3_first_q && beats_q[CountBits-1]);

  always_comb begin
    if (p3_bad_q) verdict = stopbit_front_pkg::VERDICT_FRAME_BAD;
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
    end else begin
      if (finish) frames_q <= frames_q + 64'd1;
      verdict_valid_o <= finish;
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

  // ------------------------------------------------------------------------------------------------ frames that are whole
  logic                 word_valid, word_take;
  logic [511:0]         word;
  logic [CountBits-1:0] no_count;
  assign no_count = '0;

  stopbit_spec_fifo #(.Width(512), .Depth(Depth)) frames (
    .clk_i,
    .rst_ni,
    .valid_i             (put_wanted && go),
    .ready_o             (put_ready),
    .data_i              (p3_data_q),
    .write_commit_i      (accept),
    .write_commit_count_i(beats),
    .write_revert_i      (finish && !accept),
    .write_revert_count_i({CountBits{1'b1}}),
    .valid_o             (word_valid),
    .ready_i             (word_take),
    .data_o              (word),
    .read_commit_i       (word_take),
    .read_commit_count_i (CountBits'(1)),
    .read_revert_i       (1'b0),
    .read_revert_count_i (no_count)
  );

  // As many as frames, of which none is shorter than a beat: always room.
  localparam int unsigned TicketBits = 7 + 16 + 16 + 8 + 64 + 64 + CountBits;
  logic                  ticket_valid, ticket_ready, ticket_take;
  logic [TicketBits-1:0] ticket;
  logic [CountBits-1:0]  ticket_count;

  stopbit_fifo #(.Width(TicketBits), .Depth(Depth)) tickets (
    .clk_i,
    .rst_ni,
    .valid_i(accept),
    .ready_o(ticket_ready),
    .data_i ({frame.payload, frame.payload_bytes, frame.channel, frame.line, frame.arrival_ns, frame.number, beats}),
    .valid_o(ticket_valid),
    .ready_i(ticket_take),
    .data_o (ticket),
    .count_o(ticket_count)
  );

  // ------------------------------------------------------------------------------------- datagrams, in beats of 16 bytes
  // The bytes of a beat lie in `low_q`, the word early, and `word`, the one shown by the FIFO. A frame's words are all
  // there before its ticket is.
  logic [6:0]           out_payload;
  logic [15:0]          out_bytes, out_channel;
  logic [7:0]           out_line;
  logic [63:0]          out_arrival, out_number;
  logic [CountBits-1:0] out_words;

  assign {out_payload, out_bytes, out_channel, out_line, out_arrival, out_number, out_words} = ticket;

  typedef enum logic [1:0] {
    IDLE,  // no frame is open
    SEEK,  // the word in which the payload begins is not yet in low_q
    SEND,
    SKIP   // words behind the payload
  } state_e;
  state_e               state_q;
  logic [511:0]         low_q;
  logic [5:0]           at_q;    // where the next beat begins in low_q
  logic [15:0]          left_q;  // bytes to send
  logic [CountBits-1:0] words_q;  // words of the frame still in the FIFO
  logic                 last_beat, crosses, needs_word, send;
  logic [6:0]           next_at;
  logic [4:0]           count;

  assign last_beat  = left_q <= 16'd16;
  assign count      = last_beat ? left_q[4:0] : 5'd16;
  assign next_at    = {1'b0, at_q} + 7'd16;
  assign crosses    = {1'b0, at_q} + {2'b00, count} > 7'd64;
  assign needs_word = crosses || (!last_beat && next_at >= 7'd64);  // in this beat, or moved along with it
  assign valid_o    = state_q == SEND && (!needs_word || word_valid);
  assign send       = valid_o && ready_i;

  always_comb begin
    case (state_q)
      IDLE:    word_take = ticket_valid && word_valid;
      SEEK:    word_take = word_valid;
      SEND:    word_take = send && needs_word;
      default: word_take = word_valid && words_q != '0;
    endcase
  end
  assign ticket_take = (state_q == SKIP && words_q == '0) ||
                       (send && last_beat && words_q == CountBits'(needs_word));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= IDLE;
    end else begin
      case (state_q)
        IDLE: if (word_take) state_q <= out_payload[6] ? SEEK : SEND;
        SEEK: if (word_take) state_q <= SEND;
        SEND: if (send && last_beat) state_q <= ticket_take ? IDLE : SKIP;
        default: if (ticket_take) state_q <= IDLE;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (word_take) low_q <= word;
    if (state_q == IDLE) begin
      at_q    <= out_payload[5:0];
      left_q  <= out_bytes;
      words_q <= out_words - CountBits'(1);
    end else begin
      if (send) begin
        at_q   <= next_at[5:0];
        left_q <= left_q - {11'd0, count};
      end
      if (word_take) words_q <= words_q - CountBits'(1);
    end
  end

  // A beat begins 2, 6, 10 or 14 bytes behind a multiple of 16.
  logic [639:0]      both;
  logic [8*30-1:8*2] near;
  assign both = {word[127:0], low_q};
  assign near = both[128*at_q[5:4] + 16 +: 224];

  always_comb begin
    beat_o.count = count;
    beat_o.last  = last_beat;
    case (at_q[3:2])
      2'd0:    beat_o.data = near[8*2 +: 128];
      2'd1:    beat_o.data = near[8*6 +: 128];
      2'd2:    beat_o.data = near[8*10 +: 128];
      default: beat_o.data = near[8*14 +: 128];
    endcase

    datagram_o                 = '0;
    datagram_o.arrival_ns      = out_arrival;
    datagram_o.number          = out_number;
    datagram_o.length_bytes    = {1'b0, out_bytes};
    datagram_o.channel         = out_channel;
    datagram_o.source          = out_line;
    datagram_o.time_quality    = time_quality_i;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      ticket_has_room    : assert (!accept || ticket_ready);
      keep_is_a_run      : assert (!valid_i || (keep_i & (keep_i + 1'b1)) == 0);
      beats_are_full     : assert (!valid_i || last_i || keep_i[63]);
      words_of_the_frame : assert (!(word_take && state_q != IDLE) || words_q != '0);
      beat_place         : assert (state_q != SEND || at_q[1:0] == 2'd2);
      tickets_for_words  : assert (ticket_count <= CountBits'(Depth));
    end
  end
`endif
endmodule
