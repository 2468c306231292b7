/// Writes records as decoder/record/layout.md says, slot by slot: the open slot of the open block, slot 0 kept back until
/// the record is complete, long strings buffered because their area comes last.
///
/// One command a cycle, with up to two words, but for slots that are passed over (one cycle each), the end of a block of
/// several slots, and the end of a record. Slots leave as soon as they are complete. What a command asks for must fit: the engine counts
/// slots and strings.
module stopbit_record_packer
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  output logic              ready_o,
  input  command_t          command_i,
  input  record_header_t    header_i,  // read with the commands that open a root, and with events

  output logic              valid_o,
  input  logic              ready_i,
  output stopbit_slot_t     slot_o
);
  localparam int unsigned Row = 64 * ValueWords;
  typedef logic [ValueWords-1:0][63:0] words_t;
  typedef logic [ValueWords-1:0][7:0] tags_t;

  // Slot s and word w of the word at a place that is counted from the block's first slot.
  function automatic logic [5:0] slot_of(logic [8:0] place);
    return 6'(place / 9'(ValueWords));
  endfunction
  function automatic logic [2:0] word_of(logic [7:0] place);
    return 3'(place % 8'(ValueWords));
  endfunction
  // The words of a block before its own words.
  function automatic logic [7:0] words_before(logic is_root, logic is_reference);
    return is_root ? 8'(HeaderWords) : 8'(is_reference);
  endfunction
  // 1 + number mod 247; both summands are below 247.
  function automatic logic [7:0] value_tag(logic [7:0] first_word, logic [7:0] word);
    logic [8:0] number;
    number = 9'(first_word) + 9'(word);
    if (number >= 9'(MaxValueTag)) number -= 9'(MaxValueTag);
    if (number >= 9'(MaxValueTag)) number -= 9'(MaxValueTag);
    return number[7:0] + 8'd1;
  endfunction

  typedef enum logic [1:0] {
    RUN,      // commands
    STRINGS,  // the string area goes out
    FIRST     // slot 0 goes out
  } state_e;
  state_e state_d, state_q;

  // The command in work, and which parts of it are done.
  command_t command_q;
  logic busy_d, busy_q;
  logic opened_d, opened_q;
  logic stored_d, stored_q;  // the first word, or a piece
  logic second_d, second_q;

  // The record.
  record_header_t header_q;
  words_t first_words_d, first_words_q;
  tags_t first_tags_d, first_tags_q;
  logic [15:0] next_index_d, next_index_q;  // of the slot after the open block
  logic emitted_d, emitted_q;               // slots of this record went out

  // The open block and its open slot.
  logic live_d, live_q;        // there is one
  logic is_root_d, is_root_q;  // of the record: begins after the header
  logic is_reference_d, is_reference_q;  // of a dynamic reference: begins after the index of its template
  logic [7:0] words_d, words_q, first_word_d, first_word_q;
  logic [5:0] slot_d, slot_q, slots_d, slots_q;
  words_t open_words_d, open_words_q;
  tags_t open_tags_d, open_tags_q;

  // The string area.
  logic [7:0] string_slots_d, string_slots_q;  // complete strings
  logic [7:0] piece_slot_d, piece_slot_q;      // the string in work: where its next piece goes
  logic [2:0] piece_word_d, piece_word_q;
  logic [7:0] read_slot_d, read_slot_q;
  logic string_write;
  logic [ValueWords-1:0] string_write_word;
  logic [Row-1:0] string_row;
  logic [2:0] string_last_word;

  for (genvar i = 0; i < int'(ValueWords); i++) begin : g_string_ram
    stopbit_ram #(
      .Width(64),
      .Depth(256)
    ) i_ram (
      .write_clk_i    (clk_i),
      .write_i        (string_write && string_write_word[i]),
      .write_address_i(piece_slot_q),
      .write_data_i   (command_q.value),
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
    .write_address_i(piece_slot_q),
    .write_data_i   (piece_word_q),
    .read_clk_i     (clk_i),
    .read_address_i (read_slot_d),
    .read_data_o    (string_last_word)
  );

  // The output of this cycle.
  logic emit, may_emit;
  stopbit_slot_t out_d;
  logic out_valid_q;
  assign may_emit = !out_valid_q || ready_i;
  assign valid_o  = out_valid_q;
  assign ready_o  = !busy_q || !busy_d;

  function automatic logic [511:0] pack(words_t words, tags_t tags, logic [6:0] index);
    return {1'b0, index, tags, words};
  endfunction

  words_t header;
  logic [63:0] word_value;

  // The steps of a command.
  logic closes;  // the open block ends
  logic stores;  // a word that records hold
  logic rolls;   // the open slot is left for the next one of the block
  logic [7:0] place;
  always_comb begin
    header = first_words_q;
    header[0] = {32'b0, next_index_q, command_q.template_index};
    header[1] = header_q.arrival_ns;
    header[2] = {command_q.flags, string_slots_q, header_q.channel, header_q.sequence_number};
    header[3] = {header_q.time_quality, header_q.source, header_q.sender_epoch, command_q.message_index,
                 header_q.image_generation};
    if (command_q.event_valid) begin
      header[0] = {32'b0, 16'd1, EventIndex};
      header[2] = {16'b0, header_q.channel, header_q.sequence_number};
      header[4] = {8'b0, command_q.place.word, command_q.place.block, command_q.place.template_index, command_q.event_code,
                   command_q.event_kind};
      header[5] = {command_q.place.template_id, 15'b0, command_q.place.offset_bytes};
      header[6] = header_q.number;
    end
  end

  always_comb begin
    word_value = command_q.value;
    if (command_q.string_end) begin
      if (command_q.is_long) word_value = {LongString, 8'b0, 8'b0, string_slots_q, 15'b0, command_q.count};
      else if (command_q.count == 17'd8) word_value[63] = 1'b1;
      else word_value[63:56] = command_q.count[7:0];
    end
  end

  always_comb begin
    state_d        = state_q;
    busy_d         = busy_q;
    opened_d       = opened_q;
    stored_d       = stored_q;
    second_d       = second_q;
    first_words_d  = first_words_q;
    first_tags_d   = first_tags_q;
    next_index_d   = next_index_q;
    emitted_d      = emitted_q;
    live_d         = live_q;
    is_root_d      = is_root_q;
    is_reference_d = is_reference_q;
    words_d        = words_q;
    first_word_d   = first_word_q;
    slot_d         = slot_q;
    slots_d        = slots_q;
    open_words_d   = open_words_q;
    open_tags_d    = open_tags_q;
    string_slots_d = string_slots_q;
    piece_slot_d   = piece_slot_q;
    piece_word_d   = piece_word_q;
    read_slot_d    = read_slot_q;
    string_write   = 1'b0;
    string_write_word = '0;
    emit           = 1'b0;
    closes         = 1'b0;
    stores         = 1'b0;
    rolls          = 1'b0;
    place          = '0;
    out_d          = '0;
    out_d.data     = pack(open_words_q, open_tags_q, next_index_q[6:0]);
    out_d.index    = next_index_q;

    case (state_q)
      RUN: begin
        if (busy_q && may_emit) begin
          if (command_q.event_valid) begin
            // First takes back the slots that went out, then reports the error.
            if (emitted_q) begin
              emit          = 1'b1;
              out_d.data    = '0;
              out_d.index   = '0;
              out_d.aborted = 1'b1;
              emitted_d     = 1'b0;
            end else begin
              state_d = FIRST;
            end
          end else begin
            // The block before ends, and another is opened.
            if (!opened_q) begin
              emit   = live_q && !(is_root_q && slot_q == '0);
              closes = !live_q || slot_q + 6'd1 == slots_q;
              if (closes) begin
                opened_d     = 1'b1;
                is_root_d    = command_q.open_root;
                words_d      = command_q.block.words;
                first_word_d = command_q.block.first_word;
                is_reference_d = command_q.open_reference;
                slots_d      = slot_of(9'(command_q.block.words) + 9'(words_before(is_root_d, is_reference_d)) + 9'(ValueWords - 1));
                slot_d       = '0;
                live_d       = slots_d != '0;
                if (is_root_d) begin
                  first_words_d  = '0;
                  first_tags_d   = '0;
                  string_slots_d = '0;
                  piece_slot_d   = '0;
                  piece_word_d   = '0;
                end
              end else begin
                slot_d = slot_q + 6'd1;
              end
              open_words_d = '0;
              open_tags_d  = '0;
              if (opened_d && is_reference_d) begin
                open_words_d[0] = command_q.value;
                open_tags_d[0]  = ReferenceTag;
              end
            end
            // Words. Where one is in a slot farther on in the block the open one goes out, if nothing else does.
            for (int unsigned i = 0; i < 2; i++) begin
              place  = (i == 0 ? command_q.word : command_q.second_word) + words_before(is_root_d, is_reference_d);
              stores = i == 0 ? opened_d && !stored_q && command_q.store && command_q.word < words_d :
                       opened_d && stored_d && !second_q && command_q.second_word < words_d;
              // No verified program goes back in a block.
              stores = stores && slot_of(9'(place)) >= slot_d;
              rolls  = stores && slot_of(9'(place)) != slot_d && !emit;
              if (rolls) begin
                emit         = !(is_root_d && slot_d == '0);
                out_d.data   = pack(open_words_d, open_tags_d, next_index_q[6:0]);
                slot_d       = slot_d + 6'd1;
                open_words_d = '0;
                open_tags_d  = '0;
              end
              if (stores && slot_of(9'(place)) == slot_d) begin
                if (is_root_d && slot_d == '0) begin
                  first_words_d[word_of(place)] = i == 0 ? word_value : command_q.second_value;
                  first_tags_d[word_of(place)]  = value_tag(first_word_d, i == 0 ? command_q.word : command_q.second_word);
                end else begin
                  open_words_d[word_of(place)] = i == 0 ? word_value : command_q.second_value;
                  open_tags_d[word_of(place)]  = value_tag(first_word_d, i == 0 ? command_q.word : command_q.second_word);
                end
                stores = 1'b0;
              end
              if (i == 0) stored_d = stored_q || (opened_d && !stores);
              else second_d = second_q || (opened_d && stored_d && !stores);
            end
            if (command_q.piece && stored_d && !stored_q) begin
              // A piece of a long string goes to the area; with the last one its word goes to the block.
              string_write                    = 1'b1;
              string_write_word[piece_word_q] = 1'b1;
              piece_word_d = piece_word_q == 3'(ValueWords - 1) ? '0 : piece_word_q + 3'd1;
              piece_slot_d = piece_slot_q + 8'(piece_word_q == 3'(ValueWords - 1));
              if (command_q.string_end) begin
                string_slots_d = piece_slot_d + 8'(piece_word_d != '0);
                piece_slot_d   = string_slots_d;
                piece_word_d   = '0;
              end
            end
            if (!command_q.commit) begin
              busy_d = !(opened_d && stored_d && second_d);
            end else if (opened_d && stored_d && second_d && !emit && !string_write) begin
              // The record ends: the rest of the open block, then strings, which have to be written by then, and slot 0.
              emit         = live_d && !(is_root_d && slot_d == '0);
              out_d.data   = pack(open_words_d, open_tags_d, next_index_q[6:0]);
              slot_d       = slot_d + 6'd1;
              open_words_d = '0;
              open_tags_d  = '0;
              if (!live_d || slot_d == slots_d) begin
                live_d      = 1'b0;
                read_slot_d = '0;
                state_d     = string_slots_d == '0 ? FIRST : STRINGS;
              end
            end
          end
        end
      end

      STRINGS: begin
        out_d.index = next_index_q;
        begin
          words_t words;
          tags_t tags;
          for (int unsigned i = 0; i < ValueWords; i++) begin
            words[i] = 3'(i) <= string_last_word ? string_row[64*i+:64] : '0;
            tags[i]  = 3'(i) <= string_last_word ? StringTag : '0;
          end
          out_d.data = pack(words, tags, next_index_q[6:0]);
        end
        if (may_emit) begin
          emit        = 1'b1;
          read_slot_d = read_slot_q + 8'd1;
          if (read_slot_d == string_slots_q) state_d = FIRST;
        end
      end

      default: begin
        out_d.data  = pack(header, first_tags_q | {24'b0, HeaderTag + 8'd3, HeaderTag + 8'd2, HeaderTag + 8'd1, HeaderTag}, '0);
        if (command_q.event_valid) out_d.data[511-:64] = {8'b0, {3{EventTag}}, HeaderTag + 8'd3, HeaderTag + 8'd2,
                                                         HeaderTag + 8'd1, HeaderTag};
        out_d.index = '0;
        out_d.last  = 1'b1;
        if (may_emit) begin
          emit      = 1'b1;
          state_d   = RUN;
          busy_d    = 1'b0;
          live_d    = 1'b0;
        end
      end
    endcase

    if (emit && !out_d.last && !out_d.aborted) begin
      next_index_d = next_index_q + 16'd1;
      emitted_d    = 1'b1;
    end
    if (emit && out_d.last) begin
      next_index_d = 16'd1;
      emitted_d    = 1'b0;
    end
    if (emit && out_d.aborted) next_index_d = 16'd1;
  end

  logic take;
  assign take = valid_i && ready_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q      <= RUN;
      busy_q       <= 1'b0;
      out_valid_q  <= 1'b0;
      live_q       <= 1'b0;
      emitted_q    <= 1'b0;
      next_index_q <= 16'd1;
    end else begin
      state_q      <= state_d;
      busy_q       <= take || busy_d;
      live_q       <= live_d;
      emitted_q    <= emitted_d;
      next_index_q <= next_index_d;
      if (may_emit) out_valid_q <= emit;
    end
    opened_q       <= take ? !command_i.open : opened_d;
    stored_q       <= take ? !command_i.store && !command_i.piece : stored_d;
    second_q       <= take ? !command_i.second_store : second_d;
    first_words_q  <= first_words_d;
    first_tags_q   <= first_tags_d;
    is_root_q      <= is_root_d;
    is_reference_q <= is_reference_d;
    words_q        <= words_d;
    first_word_q   <= first_word_d;
    slot_q         <= slot_d;
    slots_q        <= slots_d;
    open_words_q   <= open_words_d;
    open_tags_q    <= open_tags_d;
    string_slots_q <= string_slots_d;
    piece_slot_q   <= piece_slot_d;
    piece_word_q   <= piece_word_d;
    read_slot_q    <= read_slot_d;
    if (take) command_q <= command_i;
    if (take && (command_i.open_root || command_i.event_valid)) begin
      header_q <= header_i;
    end
    if (may_emit) slot_o <= out_d;
  end
endmodule
