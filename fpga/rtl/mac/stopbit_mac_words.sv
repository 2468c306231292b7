/// The 64-bit stream of a 10 or 25 Gbit/s MAC, in the MAC's clock, as words of 64 bytes.
///
/// A MAC has no ready: a word that finds no room is lost, and with it the rest of its frame. If a part of the frame has left
/// already, a word marked bad ends it before anything else leaves. A word leaves one cycle after the beat that completes it.
///
/// `keep_i` is all ones except in the last beat of a frame, where it is a run of ones from bit 0. Any other value makes the frame
/// bad. `abort_i` ends the open frame, for the link went down or the MAC was reset; one abort must precede the first frame. A
/// beat beside `abort_i` is dropped, and so is the rest of a frame that was open during `rst_ni`.
///
///     frames = passed_o + lost_o, one pulse for each frame        cut_o: of the lost ones, those that ended as bad
module stopbit_mac_words (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic [63:0]                time_ns_i,

  input  logic                       valid_i,
  input  logic [63:0]                data_i,
  input  logic [7:0]                 keep_i,
  input  logic                       last_i,
  input  logic                       error_i,  // with last_i: the MAC found an error, a bad FCS for instance
  input  logic                       abort_i,

  output logic                       valid_o,
  input  logic                       ready_i,
  output stopbit_mac_pkg::mac_word_t word_o,

  output logic                       passed_o,
  output logic                       lost_o,
  output logic                       cut_o
);
  // ------------------------------------------------------------------------------------------ beats, collected in a word
  logic         first_q;           // the next beat begins a frame; has no reset, because the MAC goes on meanwhile
  logic         skip_q;            // the open frame began during a reset
  logic         taken;
  logic [2:0]   place_q, place;
  logic         odd_q, odd;        // a beat of the frame had a keep that is not allowed
  logic [3:0]   bytes;
  logic         keep_bad, complete;
  logic         word_valid_q, word_first_q, word_last_q, word_bad_q, aborted_q;
  logic         begun_q;           // a word of the open frame is complete
  logic [6:0]   word_bytes_q;
  logic [511:0] data_q;
  logic [63:0]  arrival_q;

  always_comb begin
    case (keep_i)
      8'h01:   bytes = 4'd1;
      8'h03:   bytes = 4'd2;
      8'h07:   bytes = 4'd3;
      8'h0F:   bytes = 4'd4;
      8'h1F:   bytes = 4'd5;
      8'h3F:   bytes = 4'd6;
      8'h7F:   bytes = 4'd7;
      default: bytes = 4'd8;
    endcase
  end
  assign keep_bad = keep_i != 8'hFF && (bytes == 4'd8 || !last_i);
  assign odd      = keep_bad || (odd_q && !first_q);
  assign place    = first_q ? 3'd0 : place_q;
  assign taken    = valid_i && !abort_i && (first_q || !skip_q);
  assign complete = taken && (last_i || place == 3'd7);

  always_ff @(posedge clk_i) begin
    if (abort_i) first_q <= 1'b1;
    else if (valid_i) first_q <= last_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      skip_q       <= 1'b1;
      begun_q      <= 1'b0;
      word_valid_q <= 1'b0;
      aborted_q    <= 1'b0;
    end else begin
      word_valid_q <= complete;
      aborted_q    <= abort_i && !first_q && !skip_q;
      if (taken) skip_q <= 1'b0;
      if (abort_i || (valid_i && last_i)) begun_q <= 1'b0;
      else if (complete) begun_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (taken) begin
      data_q[64*place +: 64] <= data_i;
      place_q                <= place + 3'd1;
      odd_q                  <= odd;
      if (first_q) arrival_q <= time_ns_i;
    end
    word_first_q <= !begun_q;
    word_last_q  <= last_i;
    word_bad_q   <= last_i && (error_i || odd);
    word_bytes_q <= last_i ? {1'b0, place, 3'd0} + 7'(bytes) : 7'd64;
  end

  // -------------------------------------------------------------------------------------------------- words that find room
  logic drop_q;     // the rest of the frame is lost
  logic owes_q;     // a frame that has begun to leave was lost: its end is to follow
  logic blocked, put, misses;

  assign blocked = owes_q || !ready_i;
  assign put     = word_valid_q && !blocked && (word_first_q || !drop_q);
  assign misses  = word_valid_q && blocked && (word_first_q || !drop_q);

  assign valid_o        = owes_q || (word_valid_q && (word_first_q || !drop_q));
  assign word_o.data    = data_q;
  assign word_o.bytes   = owes_q ? 7'd1 : word_bytes_q;
  assign word_o.last    = owes_q || word_last_q;
  assign word_o.bad     = owes_q || word_bad_q;
  assign word_o.arrival = arrival_q;

  // An abort follows the words before it. A frame that is dropped is lost already.
  logic abort_loses, abort_cuts, inside_q;  // inside_q: a frame has begun to leave and has not ended
  assign abort_loses = aborted_q && !drop_q;
  assign abort_cuts  = abort_loses && inside_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      drop_q   <= 1'b0;
      owes_q   <= 1'b0;
      inside_q <= 1'b0;
      passed_o <= 1'b0;
      lost_o   <= 1'b0;
      cut_o    <= 1'b0;
    end else begin
      if (misses) drop_q <= !word_last_q;
      else if (aborted_q || (word_valid_q && (word_last_q || word_first_q))) drop_q <= 1'b0;

      if (owes_q) owes_q <= !ready_i;
      else owes_q <= (misses && !word_first_q) || abort_cuts;

      if (put) inside_q <= !word_last_q;
      else if (misses || aborted_q) inside_q <= 1'b0;

      passed_o <= put && word_last_q;
      lost_o   <= misses || abort_loses;
      cut_o    <= (misses && !word_first_q) || abort_cuts;
    end
  end

`ifndef SYNTHESIS
  // The words of a frame leave in one run, after the end of the frame before.
  logic open_q;  // by what left
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= 1'b0;
    end else if (valid_o && ready_i) begin
      open_q <= !word_o.last;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      begins_after_the_end : assert (!(put && word_first_q) || !open_q);
      belongs_to_its_frame : assert (!(put && !word_first_q) || open_q);
      an_end_ends_a_frame  : assert (!owes_q || open_q);
      open_is_accounted    : assert (open_q == (inside_q || owes_q));
      has_bytes            : assert (!valid_o || (word_o.bytes != '0 && word_o.bytes <= 7'd64 && (word_o.last || word_o.bytes == 7'd64)));
      inside_is_begun      : assert (!(word_valid_q && !word_first_q) || drop_q || inside_q);
      one_fate             : assert (!(passed_o && lost_o));
    end
  end
`endif
endmodule
