/// Writes records as decoder/record/layout.md says, slot by slot: the open slot of the open block, slot 0 kept back until
/// the record is complete, long strings buffered because their area comes last.
///
/// One command a cycle, with up to two words, but for slots that are passed over (one cycle each), the end of a block of
/// several slots, and the end of a record. Slots leave as soon as they are complete. What a command asks for must fit: the
/// engine counts slots and strings.
///
/// stopbit_record_places says where words go; here they are put there, by counting down the slots that are passed over.
/// `ready_o` is a register, and so is what `ready_i` goes to.
module stopbit_record_packer
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  output logic              ready_o,
  input  command_t          command_i,
  input  record_header_t    header_i,  // of the command's datagram

  output logic              valid_o,
  input  logic              ready_i,
  output stopbit_slot_t     slot_o
);
  localparam int unsigned Row = 64 * ValueWords;
  typedef logic [ValueWords-1:0][63:0] words_t;
  typedef logic [ValueWords-1:0][7:0] tags_t;

  typedef enum logic [1:0] {
    RUN,      // commands
    STRINGS,  // the string area goes out
    FIRST     // slot 0 goes out
  } state_e;
  state_e state_d, state_q;

  // The command in work, and what of it is still to do.
  logic step_valid, take, finishes, busy_q;
  pack_step_t step_in, step_q;
  record_header_t header_in, header_q;
  pack_todo_t todo_in, todo_d, todo_q;
  assign take = step_valid && (!busy_q || finishes);
  stopbit_record_places i_places (
    .clk_i,
    .rst_ni,
    .valid_i,
    .ready_o,
    .command_i,
    .header_i,
    .valid_o (step_valid),
    .ready_i (!busy_q || finishes),
    .step_o  (step_in),
    .todo_o  (todo_in),
    .header_o(header_in)
  );

  // The record.
  words_t first_words_d, first_words_q;
  tags_t first_tags_d, first_tags_q;
  logic [15:0] next_index_d, next_index_q;  // of the slot after the open block
  logic emitted_d, emitted_q;               // slots of this record went out

  // The open block and its open slot.
  logic live_d, live_q;            // there is one
  logic is_first_d, is_first_q;    // it is slot 0 of the record
  logic [5:0] left_d, left_q;      // slots of the block, from the open one on
  words_t open_words_d, open_words_q;
  tags_t open_tags_d, open_tags_q;

  // The string area.
  logic [7:0] read_slot_d, read_slot_q;
  logic string_write;
  logic [Row-1:0] string_row;
  logic [2:0] string_last_word;
  for (genvar i = 0; i < int'(ValueWords); i++) begin : g_string_ram
    stopbit_ram #(
      .Width(64),
      .Depth(256)
    ) i_ram (
      .write_clk_i    (clk_i),
      .write_i        (string_write && step_q.piece_word == 3'(i)),
      .write_address_i(step_q.piece_slot),
      .write_data_i   (step_q.piece_value),
      .read_clk_i     (clk_i),
      .read_address_i (read_slot_d),
      .read_data_o    (string_row[64*i+:64])
    );
  end
  stopbit_ram #(
    .Width(3),
    .Depth(256)
  ) i_string_count (
    .write_clk_i    (clk_i),
    .write_i        (string_write),
    .write_address_i(step_q.piece_slot),
    .write_data_i   (step_q.piece_word),
    .read_clk_i     (clk_i),
    .read_address_i (read_slot_d),
    .read_data_o    (string_last_word)
  );

  // The output of this cycle.
  logic emit, may_emit;
  stopbit_slot_t out;
  stopbit_skid #(
    .Width($bits(stopbit_slot_t))
  ) i_out (
    .clk_i,
    .rst_ni,
    .valid_i(emit),
    .ready_o(may_emit),
    .data_i (out),
    .valid_o,
    .ready_i,
    .data_o (slot_o)
  );

  function automatic logic [511:0] pack(words_t words, tags_t tags, logic [6:0] index);
    return {1'b0, index, tags, words};
  endfunction

  // ---- What is done in this cycle, from few bits that say how far the words are.
  logic [1:0] is_here, is_next;  // the word, in the slot after that of the word before
  logic works, ends_block, begins_block, rolls, settles, ends_record;
  logic [1:0] stores_here, stores_next;  // in the open slot; in the one after it
  always_comb begin
    for (int unsigned i = 0; i < 2; i++) begin
      is_here[i] = todo_q.rolls[i] == 6'd0;
      is_next[i] = todo_q.rolls[i] == 6'd1;
    end
    works        = state_q == RUN && busy_q && may_emit && !step_q.event_valid;
    ends_block   = !live_q || left_q == 6'd1;
    begins_block = todo_q.opens && ends_block;
    rolls        = todo_q.opens || !(&is_here);
    stores_here  = {!todo_q.opens && (&is_here), !todo_q.opens && is_here[0]};
    stores_next  = {todo_q.opens ? ends_block && (&is_here) : (is_here[0] && is_next[1]) || (is_next[0] && is_here[1]),
                    todo_q.opens ? ends_block && is_here[0] : is_next[0]};
    settles      = begins_block ? &is_here : !todo_q.opens && (is_here[0] ? is_here[1] || is_next[1] : is_next[0] && is_here[1]);
    ends_record  = step_q.commit && !rolls && !todo_q.piece;
  end

  // What is still to do of the command after this cycle.
  always_comb begin
    todo_d       = todo_q;
    todo_d.opens = todo_q.opens && !begins_block;
    todo_d.piece = 1'b0;
    if (!todo_q.opens && !is_here[0]) todo_d.rolls[0] = todo_q.rolls[0] - 6'd1;
    if (!todo_q.opens && is_here[0] && !is_here[1]) todo_d.rolls[1] = todo_q.rolls[1] - 6'd1;
    for (int unsigned i = 0; i < 2; i++) begin
      if (stores_here[i] || stores_next[i]) todo_d.column[i] = '0;
    end
    string_write = works && todo_q.piece;
    finishes     = (works && !step_q.commit && settles) || (state_q == FIRST && may_emit);
  end

  // The words of the open slot, and of the one after it.
  words_t shown_words, coming_words;
  tags_t shown_tags, coming_tags;
  always_comb begin
    for (int unsigned c = 0; c < ValueWords; c++) begin
      shown_words[c]  = open_words_q[c];
      shown_tags[c]   = open_tags_q[c];
      coming_words[c] = '0;
      coming_tags[c]  = '0;
      for (int unsigned i = 0; i < 2; i++) begin
        if (stores_here[i] && todo_q.column[i][c]) {shown_tags[c], shown_words[c]} = {step_q.tag[i], step_q.value[i]};
        if (stores_next[i] && todo_q.column[i][c]) {coming_tags[c], coming_words[c]} = {step_q.tag[i], step_q.value[i]};
      end
    end
    if (begins_block && step_q.is_reference) {coming_tags[0], coming_words[0]} = {ReferenceTag, step_q.value[0]};
  end

  // ---- The slot that leaves.
  words_t header_words, string_words;
  tags_t header_tags, string_tags;
  always_comb begin
    header_words    = first_words_q;
    header_words[0] = {32'b0, next_index_q, step_q.template_index};
    header_words[1] = header_q.arrival_ns;
    header_words[2] = {step_q.flags, step_q.string_slots, header_q.channel, header_q.sequence_number};
    header_words[3] = {header_q.time_quality, header_q.source, header_q.sender_epoch, step_q.message_index,
                       header_q.image_generation};
    header_tags     = first_tags_q;
    for (int unsigned i = 0; i < HeaderWords; i++) header_tags[i] = HeaderTag + 8'(i);
    if (step_q.event_valid) begin
      header_words[0] = {32'b0, 16'd1, EventIndex};
      header_words[2] = {16'b0, header_q.channel, header_q.sequence_number};
      header_words[4] = {8'b0, step_q.place.word, step_q.place.block, step_q.place.template_index, step_q.event_code,
                         step_q.event_kind};
      header_words[5] = {step_q.place.template_id, 15'b0, step_q.place.offset_bytes};
      header_words[6] = header_q.number;
      for (int unsigned i = HeaderWords; i < ValueWords; i++) header_tags[i] = EventTag;
    end
    for (int unsigned i = 0; i < ValueWords; i++) begin
      string_words[i] = 3'(i) <= string_last_word ? string_row[64*i+:64] : '0;
      string_tags[i]  = 3'(i) <= string_last_word ? StringTag : '0;
    end
  end

  logic takes_back;  // an error: first the slots that went out
  assign takes_back = busy_q && step_q.event_valid && emitted_q;
  always_comb begin
    out = '{data: pack(shown_words, shown_tags, next_index_q[6:0]), index: next_index_q, default: '0};
    case (state_q)
      RUN: if (step_q.event_valid) out = '{aborted: 1'b1, default: '0};
      STRINGS: out.data = pack(string_words, string_tags, next_index_q[6:0]);
      default: out = '{data: pack(header_words, header_tags, '0), last: 1'b1, default: '0};
    endcase
  end

  logic leaves;  // the open slot, which is not slot 0
  assign leaves = busy_q && !step_q.event_valid && live_q && !is_first_q && (rolls || ends_record);
  always_comb begin
    state_d       = state_q;
    live_d        = live_q;
    is_first_d    = is_first_q;
    left_d        = left_q;
    first_words_d = first_words_q;
    first_tags_d  = first_tags_q;
    open_words_d  = open_words_q;
    open_tags_d   = open_tags_q;
    next_index_d  = next_index_q;
    emitted_d     = emitted_q;
    read_slot_d   = '0;
    case (state_q)
      RUN: begin
        emit = leaves || takes_back;
        if (works && leaves) begin
          next_index_d = next_index_q + 16'd1;
          emitted_d    = 1'b1;
        end
        if (may_emit && busy_q && step_q.event_valid) begin
          emitted_d = 1'b0;
          if (emitted_q) next_index_d = 16'd1;
          else state_d = FIRST;
        end
        if (works) begin
          for (int unsigned c = 0; c < ValueWords; c++) begin
            if (is_first_q && stores_here[0] && todo_q.column[0][c]) {first_tags_d[c], first_words_d[c]} = {step_q.tag[0], step_q.value[0]};
            if (is_first_q && stores_here[1] && todo_q.column[1][c]) {first_tags_d[c], first_words_d[c]} = {step_q.tag[1], step_q.value[1]};
          end
          if (rolls || ends_record) begin
            open_words_d = coming_words;
            open_tags_d  = coming_tags;
            is_first_d   = 1'b0;
            left_d       = left_q - 6'd1;
          end else begin
            open_words_d = shown_words;
            open_tags_d  = shown_tags;
          end
          if (begins_block) begin
            live_d     = step_q.slots != '0;
            left_d     = step_q.slots;
            is_first_d = step_q.is_root;
            if (step_q.is_root) begin
              first_words_d = coming_words;
              first_tags_d  = coming_tags;
            end
          end
          if (ends_record && ends_block) begin
            live_d  = 1'b0;
            state_d = step_q.string_slots == '0 ? FIRST : STRINGS;
          end
        end
      end

      STRINGS: begin
        emit        = 1'b1;
        read_slot_d = read_slot_q + 8'(may_emit);
        if (may_emit) begin
          next_index_d = next_index_q + 16'd1;
          emitted_d    = 1'b1;
          if (read_slot_d == step_q.string_slots) state_d = FIRST;
        end
      end

      default: begin
        emit = 1'b1;
        if (may_emit) begin
          state_d       = RUN;
          live_d        = 1'b0;
          first_words_d = '0;
          first_tags_d  = '0;
          next_index_d  = 16'd1;
          emitted_d     = 1'b0;
        end
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q      <= RUN;
      busy_q       <= 1'b0;
      live_q       <= 1'b0;
      emitted_q    <= 1'b0;
      next_index_q <= 16'd1;
    end else begin
      state_q      <= state_d;
      busy_q       <= take || (busy_q && !finishes);
      live_q       <= live_d;
      emitted_q    <= emitted_d;
      next_index_q <= next_index_d;
    end
    if (!rst_ni) {first_words_q, first_tags_q} <= '0;
    else {first_words_q, first_tags_q} <= {first_words_d, first_tags_d};
    is_first_q    <= is_first_d;
    left_q        <= left_d;
    open_words_q  <= open_words_d;
    open_tags_q   <= open_tags_d;
    read_slot_q   <= read_slot_d;
    if (take) begin
      step_q   <= step_in;
      todo_q   <= todo_in;
      header_q <= header_in;
    end else if (works) begin
      todo_q <= todo_d;
    end
  end
endmodule
