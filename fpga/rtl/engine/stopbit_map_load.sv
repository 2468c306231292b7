/// Presence maps on their way from the window to their stack, nine bytes a cycle; and what comes of those of segments that
/// have profile programs: the map that the segment had before, or a look-up.
module stopbit_map_load
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic            clk_i,
  input  logic            rst_ni,
  input  logic            advance_i,  // the stages move
  input  logic            forget_i,   // firmware is being loaded
  input  logic            bank_i,
  input  logic            strict_i,   // R7 is an error

  // Of the instructions that are fetched.
  input  logic            next_i,     // they enter the consume stage
  input  logic [5:0]      next_segment_i,
  output profile_t        guess_o,    // what the first of them leads to, it is thought, if it is a PMAP

  // Of the instruction in the consume stage.
  input  consume_state_e  state_i,
  input  logic            starts_i,   // a message may begin without instructions
  input  logic            loads_i,    // the step shown is done
  input  logic            learns_i,   // what was looked up is remembered
  input  insn_t           insn_i,
  input  logic [ProgramBits-1:0] behind_i,  // address of the next one
  input  window_t         window_i,
  input  logic [3:0]      available_i,
  input  logic            is_full_i,  // the stack
  output logic [63:0]     lookup_o,   // the map, to the table of profile programs
  input  profile_t        profile_i,  // what the table had for that of the cycle before

  output map_step_t       step_o,
  output logic [MaxMapBits-1:0] map_o,  // complete, without the bits that were used already
  output logic            has_more_o    // set bits after those that can be used
);
  localparam int unsigned MapChunk  = 63;  // of nine bytes
  localparam int unsigned MapChunks = MaxMapBits / MapChunk;
  typedef logic [$clog2(MapChunks+1)-1:0] chunk_t;
  logic [MaxMapBits-1:0] loading_d, loading_q;
  logic has_more_d, has_more_q;
  chunk_t chunk, chunk_d, chunk_q;  // MapChunks: after the bits that can be used
  assign has_more_o = has_more_d;
  assign chunk      = state_i == STATE_RUN ? '0 : chunk_q;

  profile_t guess_q, lesson;
  stopbit_map_predictor i_predictor (
    .clk_i,
    .rst_ni,
    .forget_i,
    .bank_i,
    .segment_i(next_segment_i),
    .guess_o,
    .learn_i  (learns_i && advance_i),
    .profile_i(lesson)
  );
  always_comb begin
    lesson         = profile_i;
    lesson.segment = insn_i.constant[5:0];
    lesson.bits    = loading_q[MaxMapBits-1-:64];
    lesson.valid   = 1'b1;
    if (!profile_i.valid) begin
      lesson.entry = behind_i;
      lesson.taken = '0;
    end
  end

  // Bits of up to nine bytes, and those of the last byte.
  logic [MapChunk-1:0] map_bits;
  logic [6:0] last_byte;
  always_comb begin
    map_bits  = '0;
    last_byte = '0;
    for (int unsigned i = 0; i < 9; i++) begin
      if (window_i.length == '0 || 4'(i) < window_i.length) map_bits[7*(8-i)+:7] = window_i.bytes[8*i+:7];
    end
    for (int unsigned i = 0; i < 10; i++) begin
      if (4'(i) + 4'd1 == window_i.length) last_byte = window_i.bytes[8*i+:7];
    end
  end

  logic is_profiled, is_guessed;
  assign is_profiled = insn_i.constant[5:0] != '0;  // the segment has profile programs
  // The guess, byte by byte: the map's length, which is known late, only chooses.
  logic [8:0] is_same;        // the map's byte as the guess's
  logic [9:0] is_zero_after;  // the guess, after so many bytes
  always_comb begin
    is_guessed = 1'b0;
    for (int unsigned i = 0; i < 9; i++) is_same[i] = guess_q.bits[63-7*i-:7] == window_i.bytes[8*i+:7];
    for (int unsigned i = 0; i < 10; i++) is_zero_after[i] = (guess_q.bits << (7 * i)) == '0;
    for (int unsigned i = 1; i < 10; i++) begin
      if (window_i.length == 4'(i)) is_guessed = guess_q.valid && is_zero_after[i] && (is_same | 9'(9'h1FF << i)) == '1;
    end
  end
  assign lookup_o    = state_i == STATE_PROFILE ? loading_q[MaxMapBits-1-:64] : {map_bits, 1'b0};

  always_comb begin
    step_o         = '0;
    step_o.state   = state_i;
    step_o.address = guess_q.entry;
    if (state_i == STATE_PROFILE) begin
      step_o.pushes  = 1'b1;
      step_o.done    = 1'b1;
      step_o.jumps   = profile_i.valid;
      step_o.address = profile_i.entry;
    end else if (is_full_i) begin
      step_o.code = ERROR_X7;
    end else if (window_i.length == '0 && available_i < 4'd9) begin
      if (window_i.is_whole) step_o.code = ERROR_X1;
    end else begin
      step_o.loads = 1'b1;
      if (window_i.length == '0 || window_i.length == 4'd10) begin
        step_o.take  = 5'd9;
        step_o.state = STATE_PMAP_MORE;
      end else begin
        step_o.take   = 5'(window_i.length);
        step_o.takes_entity = 1'b1;
        step_o.pushes = 1'b1;
        if (strict_i && (chunk != '0 || window_i.length != 4'd1) && last_byte == '0) step_o.code = ERROR_R7;
        step_o.done = insn_i.control == CONTROL_NEXT || insn_i.control == CONTROL_BLOCK;
        if (!step_o.done) begin
          step_o.state = STATE_CONTROL;
        end else if (is_profiled && state_i == STATE_RUN) begin
          // It is looked up, unless it is the one that was looked up last.
          step_o.pushes = is_guessed;
          step_o.done   = is_guessed;
          step_o.jumps  = 1'b1;
          if (!is_guessed) step_o.state = STATE_PROFILE;
        end
      end
    end
  end

  always_comb begin
    loading_d  = loading_q;
    chunk_d    = chunk_q;
    has_more_d = has_more_q;
    if (starts_i) begin
      loading_d = {map_bits, {MaxMapBits - MapChunk{1'b0}}};
    end else if (loads_i && step_o.loads) begin
      if (chunk == '0) {loading_d, has_more_d} = '0;
      if (chunk == chunk_t'(MapChunks) && map_bits != '0) has_more_d = 1'b1;
      for (int unsigned i = 0; i < MapChunks; i++) begin
        if (chunk == chunk_t'(i)) loading_d[MapChunk*(MapChunks-1-i)+:MapChunk] = map_bits;
      end
      if (!step_o.pushes) chunk_d = chunk == chunk_t'(MapChunks) ? chunk : chunk + 1'b1;
    end
  end

  // The map that is pushed: after the bit of a template identifier, or the bits that a profile program assumes.
  logic [5:0] used_bits;
  always_comb begin
    map_o     = state_i == STATE_PROFILE ? loading_q : loading_d;
    used_bits = is_guessed ? guess_q.taken : '0;
    if (starts_i) used_bits = 6'd1;
    if (state_i == STATE_PROFILE) used_bits = profile_i.valid ? profile_i.taken : '0;
    if (state_i == STATE_PROFILE || starts_i || (is_profiled && window_i.length inside {[4'd1:4'd9]} && state_i == STATE_RUN)) begin
      map_o[MaxMapBits-1-:MapChunk] = map_o[MaxMapBits-1-:MapChunk] << used_bits;
    end
  end

  always_ff @(posedge clk_i) begin
    if (next_i) guess_q <= guess_o;
    if (advance_i) begin
      loading_q  <= loading_d;
      chunk_q    <= chunk_d;
      has_more_q <= has_more_d;
    end
  end
endmodule
