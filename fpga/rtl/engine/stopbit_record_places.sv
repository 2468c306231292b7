/// Where the words of commands go: slots, columns and tags, and the area of long strings. A command leaves as a step for
/// stopbit_record_packer, one cycle later, if that is ready; both sides' ready come from registers or from `ready_i` alone.
///
/// Before the register: places in the open block. After it: how many slots each word is from the one before it, and what the
/// record has for a string.
module stopbit_record_places
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           valid_i,
  output logic           ready_o,
  input  command_t       command_i,
  input  record_header_t header_i,

  output logic           valid_o,
  input  logic           ready_i,
  output pack_step_t     step_o,
  output pack_todo_t     todo_o,
  output record_header_t header_o
);
  // A slot as a sum, which the next stage adds up.
  typedef struct packed {
    logic [5:0] eighth;
    logic [2:0] more;
  } slot_sum_t;
  // A word: whether its record has a place for it, slot and column of that place, counted from the block's first slot, and
  // what its tag is made of.
  typedef struct packed {
    logic       is_stored;
    slot_sum_t  slot;
    logic [2:0] column;
    logic [8:0] number;
  } word_t;
  typedef struct packed {
    word_t [1:0] words;
    slot_sum_t   slots;  // of a block that is opened
    command_t    command;
    record_header_t header;
  } placed_t;

  // ---- the block that is open with the command
  block_t block, block_q;
  logic [2:0] lead, lead_q;  // words of the block before its own
  logic is_open, is_open_q;  // there is one: a record's end and an error leave none. No verified program stores a word then.
  logic take;
  assign take = valid_i && ready_o;
  always_comb begin
    block   = command_i.open ? command_i.block : block_q;
    is_open = command_i.open || is_open_q;
    lead    = lead_q;
    if (command_i.open) lead = command_i.open_root ? 3'(HeaderWords) : 3'(command_i.open_reference);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) is_open_q <= 1'b0;
    else if (take) is_open_q <= is_open && !command_i.commit && !command_i.event_valid;
    if (take) begin
      block_q <= block;
      lead_q  <= lead;
    end
  end

  // 8a + b = 7a + (a + b): what is divided by 7 is a sum of six bits.
  function automatic logic [5:0] folded(logic [8:0] place);
    return place[8:3] + 6'(place[2:0]);
  endfunction
  function automatic slot_sum_t slot_of(logic [8:0] place);
    return '{eighth: place[8:3], more: 3'(folded(place) / 6'(ValueWords))};
  endfunction
  function automatic word_t word_at(logic is_wanted, logic [7:0] word);
    logic [8:0] place;
    place = 9'(word) + 9'(lead);
    return '{is_stored: is_wanted && is_open && word < block.words, slot: slot_of(place), column: 3'(folded(place) % 6'(ValueWords)),
             number: 9'(block.first_word) + 9'(word)};
  endfunction
  placed_t in, placed;
  always_comb begin
    in.words[0] = word_at(command_i.store && !command_i.event_valid, command_i.word);
    in.words[1] = word_at(command_i.second_store && !command_i.event_valid, command_i.second_word);
    in.slots    = slot_of(9'(command_i.block.words) + 9'(lead) + 9'(ValueWords - 1));
    in.command  = command_i;
    in.header   = header_i;
  end

  logic placed_valid;
  stopbit_skid #(
    .Width($bits(placed_t))
  ) i_skid (
    .clk_i,
    .rst_ni,
    .valid_i,
    .ready_o,
    .data_i (in),
    .valid_o(placed_valid),
    .ready_i,
    .data_o (placed)
  );
  assign valid_o  = placed_valid;
  assign header_o = placed.header;

  // ---- from word to word
  function automatic logic [5:0] sum_of(slot_sum_t sum);
    return sum.eighth + 6'(sum.more);
  endfunction
  // 1 + number mod 247; the number is below 3 * 247.
  function automatic logic [7:0] tag_of(logic [8:0] number);
    if (number >= 9'(2 * MaxValueTag)) return 8'(number - 9'(2 * MaxValueTag)) + 8'd1;
    if (number >= 9'(MaxValueTag)) return 8'(number - 9'(MaxValueTag)) + 8'd1;
    return number[7:0] + 8'd1;
  endfunction

  command_t command_q;
  assign command_q = placed.command;
  logic opens;
  logic [5:0] last_d, last_q;  // slot of the word before
  logic [1:0][5:0] slot;
  logic [1:0] goes_on;  // a word's slot is not before that of the word before it: no verified program goes back
  logic is_after_first;
  assign opens = command_q.open && !command_q.event_valid;
  always_comb begin
    for (int unsigned i = 0; i < 2; i++) slot[i] = sum_of(placed.words[i].slot);
    goes_on[0]     = placed.words[0].is_stored && (opens || slot[0] >= last_q);
    is_after_first = slot[1] >= slot[0];
    goes_on[1]     = placed.words[1].is_stored && (goes_on[0] ? is_after_first : opens || slot[1] >= last_q);
    last_d         = goes_on[1] ? slot[1] : goes_on[0] ? slot[0] : opens ? '0 : last_q;
  end

  // ---- strings
  logic [7:0] string_slots, string_slots_d, string_slots_q;  // of complete strings
  logic [7:0] piece_slot, piece_slot_d, piece_slot_q;        // of the string in work: where its next piece goes
  logic [2:0] piece_word, piece_word_d, piece_word_q;
  logic begins, ends, is_piece, fills;
  assign begins       = command_q.open && command_q.open_root && !command_q.event_valid;
  assign ends         = command_q.commit || command_q.event_valid;  // the record, and with it its strings
  assign is_piece     = command_q.piece && !command_q.event_valid;
  assign string_slots = begins ? '0 : string_slots_q;
  assign piece_slot   = begins ? '0 : piece_slot_q;
  assign piece_word   = begins ? '0 : piece_word_q;
  assign fills        = piece_word == 3'(ValueWords - 1);
  always_comb begin
    string_slots_d = string_slots;
    piece_slot_d   = piece_slot;
    piece_word_d   = piece_word;
    if (is_piece && command_q.string_end) begin
      string_slots_d = piece_slot + 8'd1;
      piece_slot_d   = piece_slot + 8'd1;
      piece_word_d   = '0;
    end else if (is_piece) begin
      piece_slot_d = piece_slot + 8'(fills);
      piece_word_d = fills ? '0 : piece_word + 3'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {string_slots_q, piece_slot_q, piece_word_q} <= '0;
    end else if (placed_valid && ready_i) begin
      last_q         <= last_d;
      string_slots_q <= ends ? '0 : string_slots_d;
      piece_slot_q   <= ends ? '0 : piece_slot_d;
      piece_word_q   <= ends ? '0 : piece_word_d;
    end
  end

  // ---- the step
  logic [63:0] string_word;
  always_comb begin
    string_word = command_q.value;
    if (command_q.is_long) string_word = {LongString, 8'b0, 8'b0, string_slots, 15'b0, command_q.count};
    else if (command_q.count == 17'd8) string_word[63] = 1'b1;
    else string_word[63:56] = command_q.count[7:0];
  end
  always_comb begin
    step_o              = '0;
    todo_o.opens        = opens;
    todo_o.piece        = is_piece;
    step_o.is_root      = command_q.open_root;
    step_o.is_reference = command_q.open_reference;
    step_o.slots        = sum_of(placed.slots);
    todo_o.rolls[0]     = !goes_on[0] ? '0 : opens ? slot[0] : slot[0] - last_q;
    todo_o.rolls[1]     = !goes_on[1] ? '0 : goes_on[0] ? slot[1] - slot[0] : opens ? slot[1] : slot[1] - last_q;
    step_o.value[0]     = command_q.string_end ? string_word : command_q.value;
    step_o.value[1]     = command_q.second_value;
    for (int unsigned i = 0; i < 2; i++) begin
      todo_o.column[i] = goes_on[i] ? ValueWords'(1) << placed.words[i].column : '0;
      step_o.tag[i]    = tag_of(placed.words[i].number);
    end
    step_o.piece_value    = command_q.value;
    step_o.piece_slot     = piece_slot;
    step_o.piece_word     = piece_word;
    step_o.string_slots   = string_slots_d;
    step_o.commit         = command_q.commit && !command_q.event_valid;
    step_o.template_index = command_q.template_index;
    step_o.flags          = command_q.flags;
    step_o.event_valid    = command_q.event_valid;
    step_o.event_kind     = command_q.event_kind;
    step_o.event_code     = command_q.event_code;
    step_o.place          = command_q.place;
    step_o.message_index  = command_q.message_index;
  end
endmodule
