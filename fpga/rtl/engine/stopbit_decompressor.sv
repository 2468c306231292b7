/// Cuts the bytes of datagrams into entities: shows the next bytes and where the first two entities in them end.
///
/// A ring of two halves of 16 bytes, each filled by one beat; a datagram begins with a half. For every place of the
/// ring there are registers with the lengths of the two entities that begin there, where they end, and whether they are
/// zero, made when a beat is written: finding an entity is one look-up, and whether it has arrived one comparison with what
/// has; the way from position to position has no priority logic in it.
///
/// What is shown, but for the bytes, is in registers. What it will be is looked up for the three places at which the window may
/// be in the next cycle, where it is now and after one or both of its entities, and for the first place of the next datagram,
/// before `take_i` and `release_i` choose between them. So bytes are shown from the second cycle after their beat on, and
/// nothing is in the cycle after any other number of bytes was taken.
///
/// `take_i` says what is used up in this cycle; the window follows in the next one. `release_i` gives up what
/// is left of the datagram after them, or, at its end, goes on to the next. A datagram is never seen before it is
/// released from. A preamble of at most 15 bytes is passed over: the window begins after it.
///
/// A beat that comes while the ring is full is held, and is in the ring from the cycle after a half was left on: a look-up ahead
/// finds it as early as one in the cycle itself would find a beat that was asked for then.
///
/// `take_i` and `release_i` come late: what follows is known for each of the moves before, and they choose. A move that was not
/// foreseen is added up in the next cycle, which shows nothing.
module stopbit_decompressor
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  output logic              ready_o,
  input  stopbit_datagram_t datagram_i,
  input  stopbit_beat_t     beat_i,

  output logic              active_o,      // the window shows a datagram; the other outputs are of no use otherwise
  output stopbit_datagram_t datagram_o,
  output stopbit_datagram_t following_o,   // what datagram_o is in the next cycle, if there is such a datagram,
  output logic              follows_o,     // and this, which comes late; else it stays
  output window_t           window_o,
  input  take_t             take_i,        // at most window_o.available
  input  logic              release_i
);
  localparam int unsigned RingBytes = 2 * BeatBytes;

  // The ring, and the distances to the next stop bits, of the second from the first: 0 if there is none in the next ten bytes.
  logic [7:0] ring_d[RingBytes], ring_q[RingBytes];
  logic [3:0] next_stop_d[RingBytes], next_stop_q[RingBytes];
  logic [3:0] second_stop_d[RingBytes], second_stop_q[RingBytes];
  logic [4:0] second_place_d[RingBytes];
  // The bytes to the ends of both, from the first byte of the half in which the place is.
  logic [4:0] end_d[RingBytes], end_q[RingBytes];
  logic [5:0] second_end_d[RingBytes], second_end_q[RingBytes];
  // Whether the entities are zero.
  logic [RingBytes-1:0] zero_d, zero_q, second_zero_d, second_zero_q;
  logic [RingBytes-1:0] byte_zero_d, byte_zero_q;  // of the bytes, the lower seven bits

  logic [1:0] full_d, full_q;  // by half
  logic [1:0] last_d, last_q;
  logic [4:0] count_d[2], count_q[2];
  logic       write_half_d, write_half_q;
  logic       read_half_d, read_half_q;
  logic [4:0] offset_d, offset_q;      // in the half that is read; 16 at the end of one
  logic [4:0] moved_q;                 // bytes that were taken and are not in it yet
  logic       dropping_d, dropping_q;  // the datagram was released before its last beat came

  // Headers: of the datagram that is read, and of the one that waits after it.
  stopbit_datagram_t current_d, current_q, waiting_q;
  logic has_current_d, has_current_q, has_waiting_d, has_waiting_q;
  logic first_d, first_q;  // the next beat begins a datagram
  // What becomes current at the end of the one that is read: the waiting one, or the one that comes.
  stopbit_datagram_t next_header;
  logic [4:0] begin_offset;  // of its first message, after a preamble that is passed over

  // The window at a place. Offsets are from the first byte of the half in which the place will be.
  typedef struct packed {
    logic [4:0] available;
    logic [3:0] length;
    logic [3:0] second_length;
    logic [4:0] second_offset;  // of the second entity
    logic [5:0] offset_after;   // of what comes after both
    logic       is_zero;
    logic       second_is_zero;
    logic       is_whole;
    logic       byte_is_zero;
    logic       second_byte_is_zero;
  } sight_t;
  sight_t sight_q;
  sight_t [2:0] sight;  // if nothing is taken, if one entity is, if both are
  sight_t next_sight;   // if this datagram ends, and the next one's first beat has arrived

  logic       other_half, has_more;  // the datagram goes on in the other half
  logic [5:0] arrived, arrived_in_other;  // bytes, from the first byte of each half on
  logic       is_whole;
  always_comb begin
    other_half       = !read_half_q;
    has_more         = full_q[read_half_q] && !last_q[read_half_q] && full_q[other_half];
    arrived_in_other = has_more ? 6'(count_q[other_half]) : 6'd0;
    arrived          = full_q[read_half_q] ? arrived_in_other + 6'(count_q[read_half_q]) : 6'd0;
    is_whole         = full_q[read_half_q] && (last_q[read_half_q] || (has_more && last_q[other_half]));
  end

  // `there`: bytes from the first byte of the place's half on; `left`: from the place on.
  function automatic sight_t sight_at(logic [4:0] place, logic [5:0] there, logic [5:0] left);
    sight_at.available           = left > 6'(2 * WindowBytes) ? 5'(2 * WindowBytes) : left[4:0];
    sight_at.length              = 6'(end_q[place]) <= there ? next_stop_q[place] : 4'd0;
    sight_at.second_length       = second_end_q[place] <= there ? second_stop_q[place] : 4'd0;
    sight_at.second_offset       = end_q[place];
    sight_at.offset_after        = second_end_q[place];
    sight_at.is_zero             = zero_q[place];
    sight_at.second_is_zero      = second_zero_q[place];
    sight_at.byte_is_zero        = byte_zero_q[place];
    sight_at.second_byte_is_zero = byte_zero_q[5'(place + 5'd1)];
    sight_at.is_whole            = 1'b0;
  endfunction
  logic [2:0][5:0] offset;
  logic [3:0] next_offset;
  assign offset      = {sight_q.offset_after, 6'(sight_q.second_offset), 6'(offset_q) + 6'(moved_q)};
  assign next_offset = preamble_is_short(waiting_q.data_offset, waiting_q.length_bytes) ? waiting_q.data_offset[3:0] : 4'd0;
  always_comb begin
    for (int unsigned i = 0; i < 3; i++) begin
      sight[i] = sight_at({read_half_q ^ offset[i][4], offset[i][3:0]},
                          offset[i][5] ? 6'd0 : offset[i][4] ? arrived_in_other : arrived,
                          arrived < offset[i] ? 6'd0 : arrived - offset[i]);
      sight[i].is_whole = is_whole;
    end
    next_sight = '0;
    if (last_q[read_half_q] && full_q[other_half]) begin
      next_sight = sight_at({other_half, next_offset}, 6'(count_q[other_half]),
                            count_q[other_half] < 5'(next_offset) ? 6'd0 : 6'(count_q[other_half] - 5'(next_offset)));
      next_sight.is_whole = last_q[other_half];
    end
  end

  logic [4:0] place, second_place;
  always_comb begin
    place        = {read_half_q ^ offset_q[4], offset_q[3:0]};
    second_place = {read_half_q ^ sight_q.second_offset[4], sight_q.second_offset[3:0]};
    for (int unsigned i = 0; i < WindowBytes; i++) begin
      window_o.bytes[8*i+:8]        = ring_q[5'(place + 5'(i))];
      window_o.second_bytes[8*i+:8] = ring_q[5'(second_place + 5'(i))];
    end
    window_o.available           = sight_q.available;
    window_o.length              = sight_q.length;
    window_o.second_length       = sight_q.second_length;
    window_o.is_zero             = sight_q.is_zero;
    window_o.second_is_zero      = sight_q.second_is_zero;
    window_o.is_whole            = sight_q.is_whole;
    window_o.byte_is_zero        = sight_q.byte_is_zero;
    window_o.second_byte_is_zero = sight_q.second_byte_is_zero;
    active_o    = has_current_q && !dropping_q;
    datagram_o  = current_q;
    following_o = next_header;
    follows_o   = ends || !has_current_q;
  end

  // The beat that is held, or that comes.
  logic              held_valid_q;
  stopbit_beat_t     held_beat_q, beat;
  stopbit_datagram_t held_datagram_q, datagram;
  assign beat     = held_valid_q ? held_beat_q : beat_i;
  assign datagram = held_valid_q ? held_datagram_q : datagram_i;
  assign ready_o  = !held_valid_q;

  assign next_header  = has_waiting_q ? waiting_q : datagram;
  assign begin_offset = preamble_is_short(next_header.data_offset, next_header.length_bytes) ? next_header.data_offset[4:0] : 5'd0;

  // For each of the three places: the window leaves the half, and what its offset is then.
  logic [2:0] leaves_if;
  logic [2:0][4:0] offset_if;
  always_comb begin
    for (int unsigned i = 0; i < 3; i++) begin
      leaves_if[i] = full_q[read_half_q] && !last_q[read_half_q] && offset[i] >= 6'(BeatBytes);
      offset_if[i] = {leaves_if[i] ? offset[i][5] : offset[i][4], offset[i][3:0]};
    end
  end

  logic accept;
  logic gives_up, ends_if, ends;  // the datagram that is read, with this cycle
  logic leaves_half, leaves_both;
  always_comb begin
    gives_up     = dropping_q || release_i;
    ends_if      = full_q[read_half_q] && (last_q[read_half_q] || (full_q[other_half] && last_q[other_half]));
    ends         = gives_up && ends_if;
    leaves_both  = gives_up && (&full_q) && !last_q[read_half_q];
    leaves_half  = gives_up ? full_q[read_half_q] : take_i.two ? leaves_if[2] : take_i.one ? leaves_if[1] : leaves_if[0];
    offset_d     = take_i.two ? offset_if[2] : take_i.one ? offset_if[1] : offset_if[0];
    if (gives_up) offset_d = '0;
    if (ends || !has_current_q) offset_d = begin_offset;
    dropping_d   = gives_up && !ends_if;

    full_d       = full_q;
    last_d       = last_q;
    count_d      = count_q;
    write_half_d = write_half_q;
    read_half_d  = leaves_half && !leaves_both ? other_half : read_half_q;
    if (leaves_half) full_d[read_half_q] = 1'b0;
    if (leaves_both) full_d = '0;
    // A full ring is left first at the half that is written next. Of a third datagram no beat comes in: it has no header here.
    accept = held_valid_q ? !full_q[write_half_q] || (leaves_half && !(first_q && has_waiting_q)) :
             valid_i && !full_q[write_half_q];
    if (accept) begin
      full_d[write_half_q]  = 1'b1;
      last_d[write_half_q]  = beat.last;
      count_d[write_half_q] = beat.count;
      write_half_d          = !write_half_q;
    end
  end

  // What the headers hold without a datagram makes no difference.
  logic begins;
  always_comb begin
    begins        = accept && first_q;
    first_d       = accept ? beat.last : first_q;
    current_d     = follows_o ? next_header : current_q;
    has_current_d = ends ? has_waiting_q || begins : has_current_q || begins;
    has_waiting_d = !ends && (has_waiting_q || (begins && has_current_q));
  end

  always_comb begin
    for (int unsigned i = 0; i < RingBytes; i++) begin
      ring_d[i] = write_half_q == i[4] ? beat.data[8*i[3:0]+:8] : ring_q[i];
      byte_zero_d[i] = ring_d[i][6:0] == '0;
    end
    for (int unsigned i = 0; i < RingBytes; i++) begin
      next_stop_d[i] = '0;
      for (int unsigned k = WindowBytes; k > 0; k--) begin
        if (ring_d[5'(i+k-1)][7]) next_stop_d[i] = 4'(k);
      end
    end
    for (int unsigned i = 0; i < RingBytes; i++) begin
      zero_d[i] = 1'b1;
      for (int unsigned k = WindowBytes; k > 0; k--) begin
        zero_d[i] = byte_zero_d[5'(i+k-1)] && (ring_d[5'(i+k-1)][7] || zero_d[i]);
      end
    end
    for (int unsigned i = 0; i < RingBytes; i++) begin
      second_place_d[i] = 5'(i) + 5'(next_stop_d[i]);
      second_stop_d[i]  = next_stop_d[i] == '0 ? '0 : next_stop_d[second_place_d[i]];
      second_zero_d[i]  = zero_d[second_place_d[i]];
      end_d[i]          = 5'(i % BeatBytes) + 5'(next_stop_d[i]);
      second_end_d[i]   = 6'(end_d[i]) + 6'(second_stop_d[i]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      full_q        <= '0;
      write_half_q  <= 1'b0;
      read_half_q   <= 1'b0;
      offset_q      <= '0;
      dropping_q    <= 1'b0;
      has_current_q <= 1'b0;
      has_waiting_q <= 1'b0;
      first_q       <= 1'b1;
      held_valid_q  <= 1'b0;
    end else begin
      full_q        <= full_d;
      write_half_q  <= write_half_d;
      read_half_q   <= read_half_d;
      offset_q      <= offset_d;
      dropping_q    <= dropping_d;
      has_current_q <= has_current_d;
      has_waiting_q <= has_waiting_d;
      first_q       <= first_d;
      held_valid_q  <= held_valid_q ? !accept : valid_i && full_q[write_half_q];
    end
    if (!held_valid_q) begin
      held_beat_q     <= beat_i;
      held_datagram_q <= datagram_i;
    end
    // Nothing is shown after a number of bytes that was not foreseen, and before the first beat has made what is looked up.
    if (!rst_ni || !full_q[read_half_q]) sight_q <= '0;
    else if (gives_up) sight_q <= next_sight;
    else if (take_i.two) sight_q <= sight[2];
    else if (take_i.one) sight_q <= sight[1];
    else if (take_i.bytes != '0) sight_q <= '0;
    else sight_q <= sight[0];
    moved_q   <= !rst_ni || gives_up || take_i.one || take_i.two ? '0 : take_i.bytes;
    last_q    <= last_d;
    count_q   <= count_d;
    current_q <= current_d;
    if (!has_waiting_q) waiting_q <= datagram;
    if (accept) begin
      ring_q         <= ring_d;
      next_stop_q    <= next_stop_d;
      second_stop_q  <= second_stop_d;
      end_q          <= end_d;
      second_end_q   <= second_end_d;
      zero_q         <= zero_d;
      second_zero_q  <= second_zero_d;
      byte_zero_q    <= byte_zero_d;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!active_o || take_i.bytes <= window_o.available) else $fatal(1, "took %0d of %0d bytes", take_i.bytes,
                                                                           window_o.available);
      assert (!take_i.one || (!take_i.two && window_o.length != '0 && take_i.bytes == 5'(window_o.length)))
      else $fatal(1, "not the first entity");
      assert (!take_i.two || (window_o.second_length != '0 &&
                              take_i.bytes == 5'(window_o.length) + 5'(window_o.second_length)))
      else $fatal(1, "not both entities");
      assert (!release_i || active_o) else $fatal(1, "no datagram to release");
      assert (!accept || beat.count == 5'(BeatBytes) || beat.last) else $fatal(1, "a short beat that is not the last");
      assert (!accept || beat.count <= 5'(BeatBytes)) else $fatal(1, "a beat of %0d bytes", beat.count);
      assert (!full_q[read_half_q] || has_current_q) else $fatal(1, "a datagram without header");
    end
  end
`endif
endmodule
