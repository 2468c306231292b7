/// Reads what an exchange puts before the first FAST message (host/feed/framing/framing.hpp): fills in the sequence number, where
/// the data begins and ends, and the sender's epoch.
///
/// Datagrams in, the same datagrams out, cut after their data. One whose preamble cannot be right passes whole, with a
/// `data_offset` of one more than its bytes: the engine reports it (X9). Chunks of a message that spans several datagrams
/// are not put together: only the preamble passes, marked as cut, so that the engine reports it (X1), and `chunk_o`
/// marks each. A truncated datagram is forwarded truncated.
///
/// A datagram waits until its preamble has arrived: one beat if that ends within 16 bytes, at most three. It leaves in the
/// next cycle if a sequence number is all that is read from the first beat, and if it is FRAMING_B3. Else reading takes one
/// cycle for each field of FRAMING_FIXED, or six to seven (FRAMING_T7). The framing of a channel is written while no
/// datagram of the channel is on its way, and forgets its sender. A channel without framing keeps the offset and the
/// sequence number that its datagrams come with. Only the lower bits of a channel's number count.
module stopbit_framing (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,  // also forgets framings and senders

  input  logic                                      write_i,
  input  logic [stopbit_front_pkg::ChannelBits-1:0] write_channel_i,
  input  logic                                      write_valid_i,  // else the channel has none
  input  stopbit_front_pkg::framing_t               write_framing_i,

  input  logic                                      valid_i,
  output logic                                      ready_o,
  input  stopbit_pkg::stopbit_beat_t                beat_i,
  input  stopbit_pkg::stopbit_datagram_t            datagram_i,

  output logic                                      valid_o,
  input  logic                                      ready_i,
  output stopbit_pkg::stopbit_beat_t                beat_o,
  output stopbit_pkg::stopbit_datagram_t            datagram_o,

  output logic                                      chunk_o,
  output logic                                      idle_o
);
  localparam int unsigned ChannelBits = stopbit_front_pkg::ChannelBits;
  localparam int unsigned NumChannels = stopbit_front_pkg::NumChannels;
  localparam int unsigned KeptBits    = 8 * stopbit_front_pkg::PreambleBytes;
  localparam int unsigned SenderBits  = 35;  // five stop-bit bytes
  localparam int unsigned FramingBits = 35;  // of framing_t

  typedef enum logic [2:0] {
    GATHER,
    FIRST,   // FRAMING_FIXED: the sequence number. FRAMING_T7: an entity a cycle
    SECOND,  // FRAMING_FIXED: the length
    AFTER3,  // FRAMING_T7: the byte vectors after four entities (with PartitionID)
    AFTER2,  // FRAMING_T7: those after three
    SETTLE,  // FRAMING_T7: is it another sender?
    SEND,
    DROP
  } state_e;

  state_e state_q;

  // ------------------------------------------------------------------------------ the first beats, and what belongs to them
  stopbit_pkg::stopbit_datagram_t info_q;
  stopbit_front_pkg::framing_t    framing, framing_q;
  logic [FramingBits-1:0]         framings [0:NumChannels-1];
  logic [NumChannels-1:0]         has_framing_q;
  logic [ChannelBits-1:0]         channel;
  logic [KeptBits-1:0]            kept_q;  // the first beat at the bottom
  logic [1:0]                     kept_count_q;
  logic                           kept_last_q;
  logic [4:0]                     kept_last_count_q;  // bytes of the last kept beat
  logic                           has_framing;
  logic                           direct;  // all is read from the first beat
  logic [1:0]                     wanted, wanted_q;  // beats, less one
  logic                           enough;

  function automatic logic [1:0] last_beat_of(input logic [5:0] offset, input logic [3:0] bytes);
    last_beat_of = bytes == 4'd0 ? 2'd0 : 2'(({1'b0, offset} + {3'b000, bytes} - 7'd1) >> 4);
  endfunction

  assign channel = datagram_i.channel[ChannelBits-1:0];

  always_ff @(posedge clk_i) begin
    if (write_i) framings[write_channel_i] <= write_framing_i;
    if (!rst_ni) has_framing_q <= '0;
    else if (write_i) has_framing_q[write_channel_i] <= write_valid_i;
  end

  logic [1:0] sequence_beat, length_beat;
  always_comb begin
    has_framing   = has_framing_q[channel];
    framing       = has_framing ? framings[channel] : '0;
    sequence_beat = last_beat_of(framing.sequence_field.offset, framing.sequence_field.bytes);
    length_beat   = last_beat_of(framing.length_field.offset, framing.length_field.bytes);
    if (framing.kind == stopbit_front_pkg::FRAMING_T7) wanted = 2'd2;
    else if (framing.kind == stopbit_front_pkg::FRAMING_B3) wanted = 2'd0;
    else wanted = sequence_beat > length_beat ? sequence_beat : length_beat;
  end
  assign direct = kept_count_q == 2'd0 &&
                  (framing.kind == stopbit_front_pkg::FRAMING_B3 ||
                   (framing.kind == stopbit_front_pkg::FRAMING_FIXED && framing.length_field.bytes == 4'd0 && wanted == 2'd0));
  assign enough = kept_count_q >= (kept_count_q == 2'd0 ? wanted : wanted_q) || beat_i.last;

  // ------------------------------------------------------------------------------------------------- reading the preamble
  logic [16:0]           bytes, bytes_q;  // of the datagram; once its end was seen, those that came
  logic [5:0]            at, at_q;  // place looked at; FRAMING_T7: the next entity
  logic [5:0]            at2_q;     // FRAMING_T7: after the third entity
  logic [1:0]            entity_q;  // FRAMING_T7: number of the next
  logic [111:0]          view;      // 14 bytes from `at`
  logic [SenderBits-1:0] sender2_q, sender3_q;
  logic [31:0]           sequence_q;
  logic [15:0]           begin_q;
  logic [16:0]           left_q;    // bytes to send; in all, until state SEND
  logic [16:0]           end_q;
  logic [15:0]           epoch_q;

  // Bytes are counted where the end is in sight: a datagram may end before its length.
  logic        in_gather;
  logic [16:0] came;
  assign in_gather = state_q == GATHER;
  assign came      = {11'd0, kept_count_q, 4'd0} + {12'd0, beat_i.count};
  assign bytes     = !in_gather ? bytes_q : beat_i.last ? came : datagram_i.length_bytes;

  stopbit_front_pkg::field_t looked_at;
  assign looked_at = in_gather ? framing.sequence_field
                               : state_q == SECOND ? framing_q.length_field : framing_q.sequence_field;

  always_comb begin
    case (state_q)
      AFTER2:  at = at2_q;
      AFTER3:  at = at_q;
      default: at = !in_gather && framing_q.kind == stopbit_front_pkg::FRAMING_T7 ? at_q : looked_at.offset;
    endcase
  end
  // In two steps, for the area's sake: to a multiple of 16 bytes, then to a byte.
  logic [239:0] near;
  always_comb begin
    if (in_gather) near = {112'd0, beat_i.data};
    else case (at[5:4])
      2'd0:    near = kept_q[0 +: 240];
      2'd1:    near = kept_q[128 +: 240];
      default: near = {112'd0, kept_q[256 +: 128]};
    endcase
    view = near[{1'b0, at[3:0], 3'b000} +: 112];
  end

  // An unsigned integer of 2, 4 or 8 bytes at `view`.
  logic        big_endian;
  logic [3:0]  field_bytes;
  logic [63:0] field;
  logic        field_there;
  assign big_endian  = looked_at.big_endian;
  assign field_bytes = looked_at.bytes;
  assign field_there = bytes >= {11'd0, at} + {13'd0, field_bytes};
  always_comb begin
    case (field_bytes)
      4'd0:    field = '0;
      4'd2:    field = big_endian ? {48'd0, view[7:0], view[15:8]} : {48'd0, view[15:0]};
      4'd4:    field = big_endian ? {32'd0, view[7:0], view[15:8], view[23:16], view[31:24]} : {32'd0, view[31:0]};
      default: field = big_endian ? {view[7:0], view[15:8], view[23:16], view[31:24],
                                     view[39:32], view[47:40], view[55:48], view[63:56]} : view[63:0];
    endcase
  end

  // FRAMING_FIXED: what a sequence number and skip say; and what a length leaves.
  logic [10:0] skip;
  logic [16:0] room;
  logic        fixed_refused;
  assign skip          = in_gather ? framing.skip : framing_q.skip;
  assign fixed_refused = !field_there || bytes < {6'd0, skip};
  assign room          = bytes - {6'd0, skip};

  // FRAMING_B3: in the first beat.
  logic [15:0] b3_chunks, b3_chunk, b3_length;
  logic        b3_whole, b3_refused;
  assign b3_chunks  = {beat_i.data[8*4 +: 8], beat_i.data[8*5 +: 8]};
  assign b3_chunk   = {beat_i.data[8*6 +: 8], beat_i.data[8*7 +: 8]};
  assign b3_length  = {beat_i.data[8*8 +: 8], beat_i.data[8*9 +: 8]};
  assign b3_whole   = {1'b0, b3_length} == bytes;  // the length counts the preamble
  assign b3_refused = bytes < 17'd10 || b3_chunk == 16'd0 || b3_chunk > b3_chunks ||
                      (!b3_whole && {1'b0, b3_length} > bytes - 17'd10);
  logic b3_is_chunk;
  assign b3_is_chunk = !b3_refused && b3_chunks != 16'd1;

  // FRAMING_T7: a stop-bit entity of at most five bytes, and two byte vectors of four and eight bytes.
  logic [2:0]            entity_bytes;  // 0: it does not end
  logic [SenderBits-1:0] entity;
  logic [5:0]            entity_end;
  logic                  entity_there, vectors_there;
  always_comb begin
    entity_bytes = 3'd0;
    entity       = '0;
    for (int unsigned i = 5; i > 0; i--) begin
      if (view[8*i-1]) entity_bytes = 3'(i);
    end
    for (int unsigned i = 0; i < 5; i++) begin
      if (3'(i) < entity_bytes) entity = {entity[SenderBits-8:0], view[8*i +: 7]};
    end
  end
  assign entity_end    = at + {3'b000, entity_bytes};
  assign entity_there  = entity_bytes != 3'd0 && bytes >= {11'd0, entity_end};
  assign vectors_there = view[7:0] == 8'h84 && view[47:40] == 8'h88 && bytes >= {11'd0, at} + 17'd14;

  // ---------------------------------------------------------------------------------------------------------- senders
  logic [SenderBits+15:0] senders [0:NumChannels-1];  // sender, epoch
  logic [NumChannels-1:0] has_sender_q;
  logic [ChannelBits-1:0] own_channel;
  logic [SenderBits-1:0]  sender, sender_q;
  logic [15:0]            old_epoch, epoch;
  logic                   refused_q, chunk_q;

  assign own_channel         = info_q.channel[ChannelBits-1:0];
  assign {sender, old_epoch} = has_sender_q[own_channel] ? senders[own_channel] : {sender_q, 16'd0};
  assign epoch               = old_epoch + 16'(!refused_q && sender != sender_q);

  always_ff @(posedge clk_i) begin
    if (state_q == SETTLE && !refused_q) senders[own_channel] <= {sender_q, epoch};
    if (!rst_ni) begin
      has_sender_q <= '0;
    end else begin
      if (state_q == SETTLE && !refused_q) has_sender_q[own_channel] <= 1'b1;
      if (write_i) has_sender_q[write_channel_i] <= 1'b0;
    end
  end

  // ------------------------------------------------------------------------------------------------------------- the way
  logic       take, send, from_input, last_out, last_in, ends;
  logic [4:0] there;  // bytes of the beat in hand

  assign from_input = kept_count_q == 2'd0;
  assign ready_o    = state_q == GATHER || state_q == DROP || (state_q == SEND && from_input && ready_i);
  assign take       = valid_i && ready_o;
  assign valid_o    = state_q == SEND && (!from_input || valid_i);
  assign send       = valid_o && ready_i;
  assign last_in    = kept_last_q || (from_input && beat_i.last);  // nothing comes after what is in hand
  assign ends       = from_input ? beat_i.last : kept_last_q && kept_count_q == 2'd1;  // what is in hand is the last
  assign there      = !ends ? 5'd16 : from_input ? beat_i.count : kept_last_count_q;
  assign last_out   = ends || left_q <= 17'd16;
  assign chunk_o    = take && in_gather && framing.kind == stopbit_front_pkg::FRAMING_B3 && b3_is_chunk;
  assign idle_o     = in_gather && from_input;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q      <= GATHER;
      kept_count_q <= 2'd0;
    end else begin
      case (state_q)
        GATHER: begin
          if (take) begin
            kept_count_q <= kept_count_q + 2'd1;
            if (enough) state_q <= direct ? SEND : FIRST;
          end
        end
        FIRST: begin
          case (framing_q.kind)
            stopbit_front_pkg::FRAMING_T7: begin
              if (entity_there && (entity_q != 2'd0 || kept_q[6])) begin
                if (entity_q == 2'd3) state_q <= AFTER3;
              end else begin
                state_q <= entity_q == 2'd3 ? AFTER2 : SETTLE;
              end
            end
            default: state_q <= framing_q.length_field.bytes != 4'd0 ? SECOND : SEND;
          endcase
        end
        AFTER3:  state_q <= vectors_there ? SETTLE : AFTER2;
        SECOND:  state_q <= SEND;
        AFTER2:  state_q <= SETTLE;
        SETTLE:  state_q <= SEND;
        SEND: begin
          if (send) begin
            if (last_out) begin
              kept_count_q <= 2'd0;
              state_q      <= last_in ? GATHER : DROP;
            end else if (!from_input) begin
              kept_count_q <= kept_count_q - 2'd1;
            end
          end
        end
        default: if (take && beat_i.last) state_q <= GATHER;  // DROP
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    case (state_q)
      GATHER: begin
        if (take) begin
          case (kept_count_q)
            2'd0:    kept_q[0 +: 128]   <= beat_i.data;
            2'd1:    kept_q[128 +: 128] <= beat_i.data;
            default: kept_q[256 +: 128] <= beat_i.data;
          endcase
          kept_last_q       <= beat_i.last;
          kept_last_count_q <= beat_i.count;
          if (kept_count_q == 2'd0) begin
            info_q    <= datagram_i;
            framing_q <= framing;
            wanted_q  <= wanted;
          end
          if (kept_count_q == 2'd0 || beat_i.last) bytes_q <= bytes;
          chunk_q   <= 1'b0;
          refused_q <= 1'b0;
          end_q     <= kept_count_q == 2'd0 ? datagram_i.length_bytes : info_q.length_bytes;
          left_q    <= kept_count_q == 2'd0 ? datagram_i.length_bytes : info_q.length_bytes;
          if (!has_framing) begin
            sequence_q <= datagram_i.sequence_number;
            begin_q    <= datagram_i.data_offset;
          end else if (framing.kind == stopbit_front_pkg::FRAMING_B3) begin
            chunk_q    <= b3_is_chunk;
            sequence_q <= b3_refused ? '0 : {beat_i.data[7:0], beat_i.data[15:8], beat_i.data[23:16], beat_i.data[31:24]};
            begin_q    <= b3_refused ? bytes[15:0] + 16'd1 : 16'd10;
            if (b3_is_chunk) begin
              end_q  <= 17'd10;
              left_q <= 17'd10;
            end else if (!b3_refused && !b3_whole) begin
              end_q  <= {1'b0, b3_length} + 17'd10;
              left_q <= {1'b0, b3_length} + 17'd10;
            end
          end else begin
            sequence_q <= fixed_refused ? '0 : field[31:0];
            begin_q    <= fixed_refused ? bytes[15:0] + 16'd1 : {5'd0, skip};
          end
        end
        at_q     <= '0;
        entity_q <= 2'd0;
        epoch_q  <= '0;
      end
      FIRST: begin
        case (framing_q.kind)
          stopbit_front_pkg::FRAMING_T7: begin
            at_q      <= entity_end;
            entity_q  <= entity_q + 2'd1;
            sender3_q <= entity;
            if (entity_q == 2'd2) begin
              at2_q     <= entity_end;
              sender2_q <= entity;
            end
            refused_q  <= 1'b1;  // until the vectors are found
            sequence_q <= '0;
          end
          default: begin
            refused_q  <= fixed_refused;
            sequence_q <= fixed_refused ? '0 : field[31:0];
            begin_q    <= fixed_refused ? bytes[15:0] + 16'd1 : {5'd0, skip};
          end
        endcase
      end
      SECOND: begin
        if (!refused_q) begin
          if (!field_there || field > {47'd0, room}) begin
            refused_q  <= 1'b1;
            sequence_q <= '0;
            begin_q    <= bytes[15:0] + 16'd1;
          end else begin
            end_q  <= field[16:0] + {6'd0, framing_q.skip};
            left_q <= field[16:0] + {6'd0, framing_q.skip};
          end
        end
      end
      AFTER3, AFTER2: begin
        sender_q <= state_q == AFTER3 ? sender3_q : sender2_q;
        if (vectors_there) begin
          refused_q  <= 1'b0;
          sequence_q <= {view[15:8], view[23:16], view[31:24], view[39:32]};
        end
      end
      SETTLE: begin
        begin_q <= refused_q ? bytes[15:0] + 16'd1 : '0;
        epoch_q <= epoch;
      end
      SEND: begin
        if (send) begin
          left_q <= left_q - 17'd16;
          if (!from_input) kept_q <= kept_q >> 128;
        end
      end
      default: ;
    endcase
  end

  always_comb begin
    beat_o.data  = from_input ? beat_i.data : kept_q[127:0];
    beat_o.count = left_q < {12'd0, there} ? left_q[4:0] : there;
    beat_o.last  = last_out;

    datagram_o                 = info_q;
    datagram_o.sequence_number = sequence_q;
    datagram_o.data_offset     = begin_q;
    datagram_o.length_bytes    = end_q;
    datagram_o.sender_epoch    = epoch_q;
    datagram_o.cut             = info_q.cut || chunk_q;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      data_within_datagram : assert (state_q != SEND || end_q <= info_q.length_bytes);
      beats_for_the_data   : assert (!send || last_out || !last_in || kept_count_q > 2'd1);
      fields_within_view   : assert (!write_i || write_framing_i.kind != stopbit_front_pkg::FRAMING_FIXED ||
          ({1'b0, write_framing_i.sequence_field.offset} + {3'd0, write_framing_i.sequence_field.bytes} <= 7'd48 &&
           {1'b0, write_framing_i.length_field.offset} + {3'd0, write_framing_i.length_field.bytes} <= 7'd48));
    end
  end
`endif
endmodule
