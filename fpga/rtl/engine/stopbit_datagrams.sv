/// The datagram in work: its channel and the generation of the channel's dictionary, the place of the window, the bytes
/// before its first message and the error after its last one; and the headers of all that are in the stages.
module stopbit_datagrams
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              advance_i,   // the stages move
  input  logic              active_i,
  input  stopbit_datagram_t datagram_i,
  input  channel_t          head_i,      // the channel of it
  input  window_t           window_i,
  input  logic [3:0]        available_i, // bytes in the window
  input  consume_state_e    state_i,
  input  logic [4:0]        take_i,      // bytes go
  input  logic              resets_i,    // the dictionary is reset
  input  logic              is_settled_i,  // nothing is on its way to the packer
  input  logic              fails_i,     // the datagram in work is given up
  input  logic              load_i,      // of a channel
  input  logic [ChannelBits-1:0] loaded_channel_i,

  output logic              begins_o,    // a datagram
  output logic              starts_o,    // a message can begin
  output channel_t          channel_o,   // of the datagram that may begin in this cycle, else of that in work
  output channel_t          old_channel_o,  // of that in work or the last one
  output datagram_state_t   now_o,
  output logic [16:0]       place_o,     // of the window, in the datagram that may begin, else in that in work
  output logic [16:0]       next_place_o,  // of the window in the next cycle
  output logic [16:0]       left_o,      // bytes from there on
  output logic              outlives_o,  // something of the datagram in work outlives its last message
  output logic [GenerationBits-1:0] generation_o,  // of the dictionary
  output logic [GenerationBits-1:0] next_generation_o,  // in the next cycle
  output datagram_step_t    step_o,

  input  logic [1:0]        which_i,     // of the datagrams in the stages
  output record_header_t    header_o
);
  stopbit_datagram_t datagram_q;
  channel_t channel_q;
  logic [ChannelBits-1:0] channel_number, channel_number_q;
  logic [GenerationBits-1:0] generation_d, generation_q, generation, next_generation;
  logic [16:0] position_d, position_q, start_d, start_q;
  logic is_waiting_d, is_waiting_q, is_channel_waiting, is_channel_stale;
  logic [1:0] which, which_q;
  logic is_short;   // the decompressor passes over the preamble
  logic new_generation, renews;

  assign channel_number = datagram_i.channel[ChannelBits-1:0];
  assign begins_o       = state_i == STATE_IDLE && active_i;
  assign is_short       = preamble_is_short(datagram_i.data_offset, datagram_i.length_bytes);
  assign starts_o       = state_i == STATE_START || (begins_o && head_i.reset_rule == RESET_PACKET && is_short);
  assign channel_o      = state_i == STATE_IDLE ? head_i : channel_q;
  assign old_channel_o  = channel_q;
  assign which          = state_i == STATE_IDLE ? which_q + 2'd1 : which_q;
  assign now_o = '{number: which, is_waiting: is_waiting_q, start: start_q, position: position_q,
                   string_base: channel_q.string_base};
  assign outlives_o     = channel_q.reset_rule != RESET_PACKET || datagram_q.cut;

  // Bytes.
  always_comb begin
    place_o = position_q;
    left_o  = datagram_q.length_bytes - position_q;
    if (state_i == STATE_IDLE) begin
      place_o = is_short ? 17'(datagram_i.data_offset) : '0;
      left_o  = datagram_i.length_bytes - place_o;
    end
  end
  assign position_d   = place_o + 17'(take_i);
  assign next_place_o = position_d;
  always_comb begin
    start_d = start_q;
    if (begins_o) start_d = place_o;
    if (state_i == STATE_PREAMBLE) start_d = position_q;
  end

  // The dictionary.
  stopbit_channels i_channels (
    .clk_i,
    .rst_ni,
    .channel_i       (state_i == STATE_IDLE ? channel_number : channel_number_q),
    .generation_o    (generation),
    .next_o          (next_generation),
    .waits_o         (is_channel_waiting),
    .is_stale_o      (is_channel_stale),
    .reset_i         (new_generation && advance_i),
    .fail_i          (fails_i && channel_q.reset_rule != RESET_PACKET),
    .load_i,
    .loaded_channel_i
  );
  assign generation_o      = generation_q;
  assign next_generation_o = generation_d;
  always_comb begin
    renews         = head_i.reset_rule == RESET_PACKET || is_channel_stale;
    new_generation = (begins_o && renews) || resets_i;
    generation_d   = generation_q;
    is_waiting_d   = is_waiting_q;
    if (begins_o) begin
      generation_d = generation;
      is_waiting_d = is_channel_waiting && !renews;
    end
    if (new_generation) generation_d = next_generation;
    if (resets_i) is_waiting_d = 1'b0;
  end

  // Before the first message, and after the last.
  logic [16:0] preamble_left;
  assign preamble_left = 17'(datagram_q.data_offset) - position_q;
  always_comb begin
    step_o       = '0;
    step_o.state = state_i;
    case (state_i)
      STATE_IDLE: if (active_i) step_o.state = STATE_PREAMBLE;

      STATE_PREAMBLE:
      if (preamble_left == '0) begin
        step_o.state = STATE_START;
        // Tells that the datagram is dropped.
        if (is_waiting_q && channel_q.reset_rule == RESET_NEVER) step_o.code = ERROR_D5;
      end else if (available_i != '0) begin
        step_o.take = preamble_left < 17'(available_i) ? 5'(preamble_left) : 5'(available_i);
      end else if (window_i.is_whole) begin
        step_o.code = ERROR_X9;
      end

      STATE_FINISH:
      // The end of a datagram that was cut, or that ends before its length, is an error after its last message.
      if (is_settled_i && (datagram_q.cut || left_o != '0 || is_waiting_q)) begin
        step_o.code = ERROR_X1;
      end else if (is_settled_i) begin
        step_o.releases = 1'b1;
        step_o.state    = STATE_IDLE;
      end

      default: ;
    endcase
  end

  record_header_t headers_q[4];
  assign header_o = headers_q[which_i];
  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      generation_q <= generation_d;
      position_q   <= position_d;
      start_q      <= start_d;
      is_waiting_q <= is_waiting_d;
    end
    if (advance_i && begins_o) begin
      datagram_q       <= datagram_i;
      channel_q        <= head_i;
      channel_number_q <= channel_number;
      which_q          <= which;
      headers_q[which] <= '{
        arrival_ns: datagram_i.arrival_ns,
        number: datagram_i.number,
        sequence_number: datagram_i.sequence_number,
        channel: datagram_i.channel,
        image_generation: head_i.image_generation,
        sender_epoch: datagram_i.sender_epoch,
        source: datagram_i.source,
        time_quality: datagram_i.time_quality
      };
    end
  end
endmodule
