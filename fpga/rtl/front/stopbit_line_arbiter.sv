/// Of the copies of a datagram that come over two lines, passes the first: by channel, as its line_rule_t says.
///
/// The highest sequence number passed and which of the 64 up to it have passed are kept by channel and sender's epoch. A
/// higher number passes; if it leaves some out, `gap_valid_o` reports them before the datagram leaves. A number that has
/// passed is a duplicate; a number that was left out comes too late, for no reader may see numbers go back: both are dropped.
/// Numbers more than `window` below it count as late, whichever it was. Another epoch begins anew; so
/// does number 1 on a carousel, unless it has just passed. Datagrams whose preamble was refused pass unseen. Waiting for
/// the other line belongs to software.
///
/// One cycle from input to output; a datagram a cycle, also of the same channel.
module stopbit_line_arbiter (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,  // forgets rules and numbers

  input  logic                                      write_i,
  input  logic [stopbit_front_pkg::ChannelBits-1:0] write_channel_i,
  input  stopbit_front_pkg::line_rule_t             write_rule_i,

  input  logic                                      valid_i,
  output logic                                      ready_o,
  input  stopbit_pkg::stopbit_beat_t                beat_i,
  input  stopbit_pkg::stopbit_datagram_t            datagram_i,

  output logic                                      valid_o,
  input  logic                                      ready_i,
  output stopbit_pkg::stopbit_beat_t                beat_o,
  output stopbit_pkg::stopbit_datagram_t            datagram_o,

  output logic                                      gap_valid_o,
  input  logic                                      gap_ready_i,
  output stopbit_front_pkg::gap_t                   gap_o,

  // One cycle for each datagram that is looked at, exactly one of three.
  output logic                                      passed_o,
  output logic                                      duplicate_o,
  output logic                                      late_o,
  output logic                                      idle_o
);
  localparam int unsigned ChannelBits = stopbit_front_pkg::ChannelBits;
  localparam int unsigned NumChannels = stopbit_front_pkg::NumChannels;
  localparam int unsigned Window      = 64;

  // Of a channel: highest number passed; bit i of `seen`: number highest - i has passed.
  typedef struct packed {
    logic              begun;
    logic [15:0]       epoch;
    logic [31:0]       highest;
    logic [Window-1:0] seen;
  } state_t;
  localparam int unsigned StateBits = 1 + 16 + 32 + Window;

  logic [StateBits-1:0]   states [0:NumChannels-1];
  logic [NumChannels-1:0] begun_q, enable_q, carousel_q;
  logic [5:0]             windows [0:NumChannels-1];

  // ------------------------------------------------------------------------------------- in: the beat and its channel's state
  stopbit_pkg::stopbit_beat_t     beat_q;
  stopbit_pkg::stopbit_datagram_t datagram_q;
  state_t                         state, state_q, state_d;
  logic                           valid_q, first_q, next_first_q, enable_q1, carousel_q1;
  logic [5:0]                     window_q;
  logic                           take, move, update;
  logic [ChannelBits-1:0]         channel, channel_q;

  assign channel   = datagram_i.channel[ChannelBits-1:0];
  assign channel_q = datagram_q.channel[ChannelBits-1:0];
  assign ready_o   = !valid_q || move;
  assign take      = valid_i && ready_o;

  always_comb begin
    state       = states[channel];
    state.begun = begun_q[channel];
    if (update && channel == channel_q) state = state_d;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q      <= 1'b0;
      next_first_q <= 1'b1;
    end else begin
      if (ready_o) valid_q <= valid_i;
      if (take) next_first_q <= beat_i.last;
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      beat_q      <= beat_i;
      datagram_q  <= datagram_i;
      first_q     <= next_first_q;
      state_q     <= state;
      enable_q1   <= enable_q[channel];
      carousel_q1 <= carousel_q[channel];
      window_q    <= windows[channel];
    end
  end

  // --------------------------------------------------------------------------------------------------------- what becomes of it
  logic        look, anew, ahead, in_window, seen, pass, gap, told_q, drop_q, drop;
  logic [31:0] sequence_number, ahead_by, behind_by;

  assign sequence_number = datagram_q.sequence_number;
  assign ahead_by        = sequence_number - state_q.highest;  // numbers may wrap around
  assign behind_by       = state_q.highest - sequence_number;
  assign in_window       = behind_by <= {26'd0, window_q};
  assign seen            = in_window && state_q.seen[behind_by[5:0]];
  assign look            = enable_q1 && {1'b0, datagram_q.data_offset} <= datagram_q.length_bytes;
  assign anew            = !state_q.begun || state_q.epoch != datagram_q.sender_epoch ||
                           (carousel_q1 && sequence_number == 32'd1 && !seen);
  assign ahead           = !ahead_by[31] && ahead_by != '0;
  assign pass            = !look || anew || ahead;
  assign gap             = look && !anew && ahead && ahead_by != 32'd1;

  always_comb begin
    state_d         = state_q;
    state_d.begun   = 1'b1;
    state_d.epoch   = datagram_q.sender_epoch;
    state_d.highest = sequence_number;
    if (anew || ahead_by > 32'(Window - 1)) state_d.seen = Window'(1);
    else state_d.seen = (state_q.seen << ahead_by[5:0]) | Window'(1);
  end

  assign drop    = first_q ? !pass : drop_q;
  assign valid_o = valid_q && !drop && !(first_q && gap && !told_q && !gap_ready_i);
  assign move    = drop || (ready_i && valid_o);
  assign update  = valid_q && move && first_q && look && pass;

  assign gap_valid_o        = valid_q && first_q && gap && !told_q;
  assign gap_o.channel      = datagram_q.channel;
  assign gap_o.sender_epoch = datagram_q.sender_epoch;
  assign gap_o.first        = state_q.highest + 32'd1;
  assign gap_o.count        = ahead_by - 32'd1;

  assign passed_o    = valid_q && move && first_q && look && pass;
  assign duplicate_o = valid_q && move && first_q && !pass && seen;
  assign late_o      = valid_q && move && first_q && !pass && !seen;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) told_q <= 1'b0;
    else told_q <= valid_q && !move && (told_q || (gap_valid_o && gap_ready_i));
  end
  always_ff @(posedge clk_i) begin
    if (valid_q && move && first_q) drop_q <= !pass;
    if (update) states[channel_q] <= state_d;
    if (write_i) windows[write_channel_i] <= write_rule_i.window;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      begun_q    <= '0;
      enable_q   <= '0;
      carousel_q <= '0;
    end else begin
      if (update) begun_q[channel_q] <= 1'b1;
      if (write_i) begin
        begun_q[write_channel_i]    <= 1'b0;
        enable_q[write_channel_i]   <= write_rule_i.enable;
        carousel_q[write_channel_i] <= write_rule_i.carousel;
      end
    end
  end

  assign idle_o     = !valid_q && next_first_q;
  assign beat_o     = beat_q;
  assign datagram_o = datagram_q;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      a_gap_has_numbers : assert (!gap_valid_o || (gap_o.count != 0 && pass));
      highest_was_seen  : assert (!(valid_q && first_q && look && state_q.begun) || state_q.seen[0]);
    end
  end
`endif
endmodule
