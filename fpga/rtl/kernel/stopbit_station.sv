/// The card as a station of its network: frames that concern it go to the host, and the host's frames leave.
///
/// From the network: each beat that moves at `s_axis_rx`; it never makes the network wait. A frame is kept for the host if
/// it is a query of IGMP (an IPv4 header of 20 or 24 bytes, no VLAN tag) to a group or to `mac_i`, or a request of ARP for
/// `address_i`; `on_i` counts at its first beat. A frame that the MAC calls bad, or that finds no room, leaves nothing; the
/// latter is counted. The host looks at one word of 64 bytes after the other.
///
/// To the network: one frame at a time. The host writes words of 4 bytes and then how many bytes it is; it leaves without a
/// gap. Refused, with everything that was written for it: more than there is room for, more bytes than were written, none,
/// and what is written while the last frame waits.
module stopbit_station #(
  parameter  int unsigned KeptWords = 64,  // of 64 bytes
  parameter  int unsigned SendWords = 32,  // of 64 bytes: the longest frame
  localparam int unsigned BytesWidth = $clog2(SendWords) + 7
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  on_i,
  input  logic [47:0]           mac_i,      // the first byte is the highest, as people write it
  input  logic [31:0]           address_i,  // IPv4, likewise

  input  logic                  moves_i,
  input  logic [511:0]          data_i,
  input  logic [63:0]           keep_i,
  input  logic                  last_i,
  input  logic                  bad_i,      // beside the last beat

  output logic                  kept_valid_o,
  output logic                  kept_last_o,
  output logic [6:0]            kept_bytes_o,
  output logic [511:0]          kept_data_o,
  input  logic                  kept_take_i,
  output logic                  heard_o,    // a frame was kept
  output logic                  lost_o,     // one found no room

  input  logic                  word_valid_i,
  input  logic [31:0]           word_i,     // the first byte is the lowest
  input  logic                  send_valid_i,
  input  logic [BytesWidth-1:0] send_bytes_i,
  output logic                  sending_o,
  output logic                  sent_o,     // a frame has left
  output logic                  refused_o,

  output logic                  tx_valid_o,
  input  logic                  tx_ready_i,
  output logic [511:0]          tx_data_o,
  output logic [63:0]           tx_keep_o,
  output logic                  tx_last_o
);
  localparam int unsigned Word = 512;
  localparam int unsigned KeptCount = $clog2(KeptWords) + 1;
  localparam int unsigned BeatWidth = $clog2(SendWords);
  localparam int unsigned Lanes = 16;
  localparam int unsigned WordsWidth = BeatWidth + 5;  // counts up to SendWords * Lanes

  // ---- from the network: a beat as it came
  logic            beat_valid_q, beat_first_q, beat_last_q, beat_bad_q, inside_q;
  logic [Word-1:0] beat_q;
  logic [63:0]     keep_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beat_valid_q <= 1'b0;
      inside_q     <= 1'b0;
    end else begin
      beat_valid_q <= moves_i;
      if (moves_i) inside_q <= !last_i;
    end
  end
  always_ff @(posedge clk_i) begin
    beat_first_q <= !inside_q;
    beat_last_q  <= last_i;
    beat_bad_q   <= bad_i;
    beat_q       <= data_i;
    keep_q       <= keep_i;
  end

  // Bytes of a beat as a number, the first one highest.
  function automatic logic [7:0] byte_at(logic [Word-1:0] from, int unsigned at);
    return from[8*at +: 8];
  endfunction
  function automatic logic [31:0] four_at(logic [Word-1:0] from, int unsigned at);
    return {byte_at(from, at), byte_at(from, at + 1), byte_at(from, at + 2), byte_at(from, at + 3)};
  endfunction
  function automatic logic [15:0] two_at(logic [Word-1:0] from, int unsigned at);
    return {byte_at(from, at), byte_at(from, at + 1)};
  endfunction

  // Bytes of a beat, whose keep has no holes: by halves.
  function automatic logic [6:0] bytes_of(logic [63:0] keep);
    logic [30:0] half5;
    logic [14:0] half4;
    logic [6:0]  half3;
    logic [2:0]  half2;
    logic        half1;
    half5 = keep[31]  ? keep[62:32]  : keep[30:0];
    half4 = half5[15] ? half5[30:16] : half5[14:0];
    half3 = half4[7]  ? half4[14:8]  : half4[6:0];
    half2 = half3[3]  ? half3[6:4]   : half3[2:0];
    half1 = half2[1]  ? half2[2]     : half2[0];
    return keep[63] ? 7'd64 : {1'b0, keep[31], half5[15], half4[7], half3[3], half2[1], half1};
  endfunction

  logic ours, query, request;
  assign ours    = beat_q[0] || {two_at(beat_q, 0), four_at(beat_q, 2)} == mac_i;
  assign query   = two_at(beat_q, 12) == 16'h0800 && byte_at(beat_q, 23) == 8'd2 &&
                   (byte_at(beat_q, 14) == 8'h45 && byte_at(beat_q, 34) == 8'h11 ||
                    byte_at(beat_q, 14) == 8'h46 && byte_at(beat_q, 38) == 8'h11);
  assign request = two_at(beat_q, 12) == 16'h0806 && two_at(beat_q, 20) == 16'd1 && four_at(beat_q, 38) == address_i &&
                   address_i != '0;

  // ---- whether it is one for the host
  logic            valid_q, first_q, last_q, bad_q, ours_q, query_q, request_q, on_q, wanted_q, spoilt_q;
  logic [Word-1:0] data_q;
  logic [6:0]      bytes_q;
  always_ff @(posedge clk_i) valid_q <= rst_ni && beat_valid_q;
  always_ff @(posedge clk_i) begin
    first_q   <= beat_first_q;
    last_q    <= beat_last_q;
    bad_q     <= beat_bad_q;
    data_q    <= beat_q;
    bytes_q   <= bytes_of(keep_q);
    ours_q    <= ours;
    query_q   <= query;
    request_q <= request;
    on_q      <= on_i;
  end

  logic wanted, put, put_ready, full, accept;
  assign wanted = first_q ? on_q && ours_q && (query_q || request_q) : wanted_q && !spoilt_q;
  assign put    = valid_q && wanted;
  assign full   = put && !put_ready;
  assign accept = put && put_ready && last_q && !bad_q;
  assign heard_o = accept;
  assign lost_o  = full;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wanted_q <= 1'b0;
      spoilt_q <= 1'b0;
    end else if (valid_q) begin
      wanted_q <= wanted && !last_q;
      spoilt_q <= full && !last_q;
    end
  end

  stopbit_spec_fifo #(.Width(Word + 8), .Depth(KeptWords)) kept (
    .clk_i,
    .rst_ni,
    .valid_i             (put),
    .ready_o             (put_ready),
    .data_i              ({last_q, bytes_q, data_q}),
    .write_commit_i      (accept),
    .write_commit_count_i({KeptCount{1'b1}}),
    .write_revert_i      (full || (put && last_q && bad_q)),
    .write_revert_count_i({KeptCount{1'b1}}),
    .valid_o             (kept_valid_o),
    .ready_i             (kept_take_i),
    .data_o              ({kept_last_o, kept_bytes_o, kept_data_o}),
    .read_commit_i       (kept_take_i && kept_valid_o),
    .read_commit_count_i ({KeptCount{1'b1}}),
    .read_revert_i       (1'b0),
    .read_revert_count_i ('0)
  );

  // ---- to the network
  logic [WordsWidth-1:0] words_q;  // written for the next frame
  logic                  sending_q, spoils_q;
  logic [BytesWidth-1:0] left_q;   // bytes of the frame that leaves
  logic [BeatWidth-1:0]  beat_at_q, beat_at_d;
  logic                  store, begins, take, has_room;

  assign has_room  = !words_q[WordsWidth-1];
  assign store     = word_valid_i && !sending_q && has_room;
  assign begins    = send_valid_i && !sending_q && !spoils_q && send_bytes_i != '0 &&
                     send_bytes_i <= {words_q, 2'b00};
  assign refused_o = (send_valid_i && !begins) || (word_valid_i && !store);
  assign take      = sending_q && tx_ready_i;
  assign sending_o = sending_q;
  assign sent_o    = take && tx_last_o;
  assign beat_at_d = !take ? beat_at_q : tx_last_o ? '0 : beat_at_q + 1'b1;

  assign tx_valid_o = sending_q;
  assign tx_last_o  = left_q <= BytesWidth'(64);
  for (genvar i = 0; i < 64; i++) begin : g_keep
    assign tx_keep_o[i] = left_q > BytesWidth'(i);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      words_q   <= '0;
      spoils_q  <= 1'b0;
      sending_q <= 1'b0;
      beat_at_q <= '0;
    end else begin
      beat_at_q <= beat_at_d;
      if (begins) sending_q <= 1'b1;
      else if (sent_o) sending_q <= 1'b0;
      if (send_valid_i) begin
        words_q  <= '0;
        spoils_q <= 1'b0;
      end else begin
        words_q  <= words_q + WordsWidth'(store);
        spoils_q <= spoils_q || (word_valid_i && !store);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (begins) left_q <= send_bytes_i;
    else if (take) left_q <= left_q - BytesWidth'(64);
  end

  for (genvar lane = 0; lane < Lanes; lane++) begin : g_lane
    stopbit_ram #(.Width(32), .Depth(SendWords)) ram (
      .write_clk_i    (clk_i),
      .write_i        (store && words_q[3:0] == 4'(lane)),
      .write_address_i(words_q[4 +: BeatWidth]),
      .write_data_i   (word_i),
      .read_clk_i     (clk_i),
      .read_address_i (beat_at_d),
      .read_data_o    (tx_data_o[32*lane +: 32])
    );
  end

`ifndef SYNTHESIS
  logic            waits_q, waiting_last_q;
  logic [63:0]     waiting_keep_q;
  always_ff @(posedge clk_i) begin
    waits_q        <= rst_ni && tx_valid_o && !tx_ready_i;
    waiting_last_q <= tx_last_o;
    waiting_keep_q <= tx_keep_o;
    if (rst_ni) begin
      a_beat_waits : assert (!waits_q || (tx_valid_o && tx_last_o == waiting_last_q && tx_keep_o == waiting_keep_q));
      beats_are_whole : assert (!tx_valid_o || tx_last_o || &tx_keep_o);
      never_empty : assert (!tx_valid_o || tx_keep_o[0]);
      one_fate : assert (!(accept && full));
    end
  end
`endif
endmodule
