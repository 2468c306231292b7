/// What the stages of the microcode engine pass to each other.
package stopbit_uop_pkg;
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;

  typedef enum logic [1:0] {
    SOURCE_NONE     = 2'd0,  // the field is absent
    SOURCE_STREAM   = 2'd1,
    SOURCE_PREVIOUS = 2'd2,
    SOURCE_INITIAL  = 2'd3
  } source_e;

  /// Where a piece of a string comes from.
  typedef enum logic [1:0] {
    PIECE_STREAM   = 2'd0,
    PIECE_CONSTANT = 2'd1,
    PIECE_SLOT     = 2'd2,
    PIECE_KEPT     = 2'd3   // of the stream, some cycles ago
  } piece_e;

  localparam int unsigned KeepBits = 9;  // of 8 bytes; as many as a string slot can hold

  /// A piece for the string unit: up to eight bytes of a word, which go after the bytes that the result's word
  /// already has.
  typedef struct packed {
    piece_e     from;
    logic [StringBits-1:0] read_address;  // of PIECE_SLOT and PIECE_KEPT
    logic [2:0] skip;     // bytes of the word before those of the piece
    logic [3:0] bytes;
    logic [3:0] at;       // bytes of the result's word before it
    logic       emits;    // the result's word is complete, or the last
    logic       is_first; // of the string, the word is
    logic       is_last;
    logic       writes;   // the word goes to the dictionary
    logic [StringBits-1:0] write_address;
  } string_piece_t;

  /// A step of a string delta or tail: a piece of the base or of the addition.
  typedef struct packed {
    logic       is_base;
    logic [8:0] word;  // of the source
    logic [2:0] skip;
    logic [3:0] bytes;
    logic [3:0] at;
    logic       emits;
    logic       is_last;
    logic       probes;  // has no bytes, and waits until it is known whether the eight before it are wide
    logic [3:0] result_bytes;  // with `emits`: of the word
  } splice_step_t;

  localparam int unsigned WindowBytes = 10;  // the longest entity without padding

  /// What the decompressor shows: the next bytes, and where the first two entities in them end.
  typedef struct packed {
    logic [8*WindowBytes-1:0] bytes;         // byte 0 in bits 7:0
    logic [8*WindowBytes-1:0] second_bytes;  // after the first entity
    logic [4:0]               available;     // bytes that have arrived, counted to 20
    logic [3:0]               length;        // of the first entity; 0: it does not end in these bytes
    logic [3:0]               second_length; // of the second; 0 as above
    logic                     is_zero;       // the first one, if it ends in these bytes: all 0, but for the stop bit
    logic                     second_is_zero;
    logic                     is_whole;      // no bytes come after these
    logic                     byte_is_zero;  // the first byte, but for its top bit
    logic                     second_byte_is_zero;
  } window_t;

  /// How far the window moves: past its first entity, past both, or else `bytes`, after which it shows nothing for a cycle.
  typedef struct packed {
    logic       one;
    logic       two;
    logic [4:0] bytes;  // the number of bytes taken, however many entities they are
  } take_t;

  /// Whether the decompressor passes over the bytes before the first message.
  function automatic logic preamble_is_short(logic [15:0] data_offset, logic [16:0] length_bytes);
    return data_offset < 16'd16 && 17'(data_offset) <= length_bytes;
  endfunction

  /// The place of an error, as in event records.
  typedef struct packed {
    logic [31:0] template_id;     // of D9, else 0
    logic [16:0] offset_bytes;
    logic [15:0] template_index;
    logic [15:0] block;
    logic [7:0]  word;
  } place_t;

  /// The fields of a record's header that describe its datagram.
  typedef struct packed {
    logic [63:0] arrival_ns;
    logic [63:0] number;
    logic [31:0] sequence_number;
    logic [15:0] channel;
    logic [15:0] image_generation;
    logic [15:0] sender_epoch;
    logic [7:0]  source;
    logic [7:0]  time_quality;
  } record_header_t;

  /// Commands for the record packer, in the order of its bits from the top: open a block, store a word or a piece of a
  /// string, and after it a second word; complete the record; or give it up for an event.
  typedef struct packed {
    logic        open_root;  // of a record: begins it
    logic        open;
    logic        open_reference;  // its first word is `value`, the index of the template; words count from the next one
    block_t      block;
    logic        store;
    logic [7:0]  word;
    logic [63:0] value;      // of a string: its last piece
    logic        piece;      // 8 bytes, the last time fewer, of a string that is too long for its word
    logic        string_end; // store the word of a string: `count` is its length
    logic        is_long;
    logic [16:0] count;
    logic        second_store;  // never with a string
    logic [7:0]  second_word;   // above `word`, if that is stored
    logic [63:0] second_value;
    logic        commit;
    logic [15:0] template_index;
    logic [7:0]  flags;
    logic        event_valid;
    logic [7:0]  event_kind;
    logic [7:0]  event_code;
    place_t      place;
    logic [15:0] message_index;
  } command_t;

  /// A command with places, for the last stage of the record packer. A word that no record holds has no column.
  typedef struct packed {
    logic        is_root;       // a block is opened: of the record
    logic        is_reference;  // of a dynamic reference: begins with the index of its template
    logic [5:0]  slots;         // of the block
    logic [1:0][7:0]  tag;
    logic [1:0][63:0] value;
    logic [63:0] piece_value;   // of a long string
    logic [7:0]  piece_slot;
    logic [2:0]  piece_word;
    logic [7:0]  string_slots;  // of the record so far, this command included
    logic        commit;
    logic [15:0] template_index;
    logic [7:0]  flags;
    logic        event_valid;
    logic [7:0]  event_kind;
    logic [7:0]  event_code;
    place_t      place;
    logic [15:0] message_index;
  } pack_step_t;

  /// What of it is still to do.
  typedef struct packed {
    logic        opens;      // a block
    logic        piece;      // goes to the string area
    logic [1:0][5:0] rolls;  // slots from the word before to each word
    logic [1:0][ValueWords-1:0] column;
  } pack_todo_t;

  /// An integer, an exponent or a mantissa from the consume stage on. Everything but `bytes` is decided there.
  typedef struct packed {
    // The entity: `length` bytes, the first in bits 7:0. `padded`: more came before them, all of them sign bits of
    // `negative` unless `too_wide`.
    logic [79:0] bytes;
    logic [3:0]  length;
    logic        padded;
    logic        negative;
    logic        too_wide;
    // What to do with it.
    logic        is_value;
    source_e     source;
    logic [2:0]  operation;
    logic [3:0]  kind;      // type
    logic        optional;
    logic        is_base_previous;  // of a delta
    constant_t   constant;
    logic        uses_entry;
    logic        writes_entry;
    logic [ContextBits-1:0] entry;
    // For those who wait for a value: the length of a sequence or vector, a template identifier.
    logic        is_awaited;
    // A bit group, whose fields are taken out of it by the micro-operations that follow.
    logic        is_group;
    logic [2:0]  unused_bits;
    logic        is_field;
    logic [5:0]  field_behind;    // bits of the group after the field
    logic [5:0]  field_width;
    logic        is_subtraction;  // of a string delta: what is out of range has a code of its own
    // The error of a delta's base, which comes after those of the delta itself.
    logic [7:0]  base_code;
    logic [7:0]  source_code;     // why the second value has no source; that of the first goes with the micro-operation
  } value_uop_t;

  /// From the consume stage on: up to two values, or a piece of a string, and the command that comes of it.
  typedef struct packed {
    value_uop_t [1:0] lane;
    logic        is_piece;    // of a string: its value comes from the string unit
    logic        checks_utf8; // R2 if the string that ends here is not UTF-8, whatever `code` says
    logic [7:0]  code;        // an error found so far
    logic        checks_length;  // the loop of a sequence begins: X2 if its length is wrong, whatever `code` says
    logic        is_dropped;  // an error here only says that the datagram does not begin with a reset
    logic [1:0]  datagram;    // of those that may be in the stages at once
    logic [16:0] second_offset_bytes;  // of the second value's entity
    // For the trace.
    logic [13:0] pc;
    logic        is_pair;
    logic        begins;      // the first of its instruction
    command_t    command;
  } uop_t;

  /// What simulations compare with the interpreter: a micro-operation that leaves the operate stage. Lane 1 is the second
  /// of a pair, at `pc` + 1. fpga/sim/cosim/core.cpp reads it from the lowest bit on.
  typedef struct packed {
    logic [ContextBits-1:0] entry;  // of the dictionary, that it writes
    logic        writes_entry;
    logic [63:0] previous;          // what the dictionary had
    logic [63:0] value;
    source_e     source;
    logic        is_value;
    logic [16:0] offset_bytes;
    logic [7:0]  code;
  } trace_lane_t;
  typedef struct packed {
    trace_lane_t [1:0] lane;
    logic [63:0] string_word;       // its last
    logic [16:0] string_bytes;
    logic        string_end;
    logic [13:0] pc;                // 0 outside of instructions, and for those that begin a message
    logic        begins;
    logic        is_pair;
    logic        valid;
  } trace_t;

  /// State of a dictionary entry besides its value.
  typedef struct packed {
    logic        is_assigned;
    logic        is_empty;
    logic [3:0]  kind;
    logic [12:0] length;   // of a string
    logic        is_wide;  // of a string: eight bytes that are not all ASCII
    logic        in_second;  // of a string: it lies in the second half of its slot
  } entry_state_t;

  /// What an opcode alone says, in registers when its instruction is in the consume stage.
  typedef struct packed {
    logic       is_nop;
    logic       is_pmap;
    logic       is_tid;
    logic       is_special;       // no field's data-op, or the field of a bit group
    logic       is_text;          // ASCII
    logic       is_vector;        // byte vector, Unicode
    logic       is_optional;
    logic       is_group;         // a bit group
    logic       is_field;         // of one
    logic       is_value;         // an integer, an exponent, a mantissa
    logic       is_mantissa;
    logic       takes_signed;     // its entity has a sign
    logic       remembers;        // its value goes to the dictionary
    logic       takes_own_bit;    // of the presence map
    logic       takes_bit_if_exponent;  // is present
    logic       uses_entry;       // of the dictionary
    logic       always_streams;   // its value is in the stream, whatever the presence bit
    logic       never_streams;
    logic [3:0] dictionary_kind;  // the type that previous values have
  } traits_t;

  function automatic traits_t traits_of(logic [7:0] op);
    traits_of.is_nop         = op == OP_NOP;
    traits_of.is_pmap        = op == OP_PMAP;
    traits_of.is_tid         = op == OP_TID;
    traits_of.is_special     = op[7:5] == OPERATOR_SPECIAL;
    traits_of.is_text        = !traits_of.is_special && op[4:1] == TYPE_ASCII;
    traits_of.is_vector      = !traits_of.is_special && (op[4:1] == TYPE_UNI || op[4:1] == TYPE_BYTES);
    traits_of.is_optional    = op[0] && (!traits_of.is_special || op[4:1] >= TYPE_U64);
    traits_of.is_group       = !traits_of.is_special && op[4:1] == TYPE_BITS;
    traits_of.is_field       = traits_of.is_special && op[4:1] >= TYPE_U64;
    traits_of.is_value       = !traits_of.is_special && (op[4:1] < TYPE_ASCII || traits_of.is_group);
    traits_of.is_mantissa    = traits_of.is_value && (op[4:1] == TYPE_IMAN || op[4:1] == TYPE_DMAN);
    traits_of.takes_signed   = traits_of.is_value && (op[7:5] == OPERATOR_DEL ||
                                                      !(op[4:1] == TYPE_U32 || op[4:1] == TYPE_U64 || traits_of.is_group));
    traits_of.remembers      = op[7:5] == OPERATOR_COP || op[7:5] == OPERATOR_INC || op[7:5] == OPERATOR_DEL ||
                               op[7:5] == OPERATOR_TAI;
    traits_of.takes_own_bit  = takes_own_bit(op) || op == OP_TID;
    traits_of.takes_bit_if_exponent = takes_bit_if_exponent(op);
    traits_of.uses_entry     = uses_slot(op) || op == OP_TID;
    traits_of.always_streams = op != OP_TID && (op[7:5] == OPERATOR_NON || op[7:5] == OPERATOR_DEL ||
                                                op[7:5] == OPERATOR_SPECIAL);
    traits_of.never_streams  = op[7:5] == OPERATOR_CON;
    case (op[4:1])
      TYPE_IEXP: traits_of.dictionary_kind = TYPE_S32;
      TYPE_IMAN: traits_of.dictionary_kind = TYPE_S64;
      TYPE_DMAN: traits_of.dictionary_kind = TYPE_DEXP;
      default:   traits_of.dictionary_kind = op[4:1];
    endcase
  endfunction

  /// The dictionary entries that the two instructions of the consume stage read. A bank reads one of them: the first
  /// instruction's if it uses an entry in that bank, else the second one's. And the bank that each is in.
  typedef struct packed {
    logic [1:0][ContextBits-2:0] row;
    logic [1:0]                  bank;
  } read_entries_t;
  function automatic read_entries_t read_entries_of(logic first_uses, logic [1:0][ContextBits-1:0] entry);
    for (int unsigned b = 0; b < 2; b++) begin
      read_entries_of.row[b] = first_uses && entry[0][0] == 1'(b) ? entry[0][ContextBits-1:1] : entry[1][ContextBits-1:1];
    end
    read_entries_of.bank = {entry[1][0], entry[0][0]};
  endfunction

  /// What the data-op of an instruction means for the consume stage.
  typedef struct packed {
    logic [2:0] operation;
    logic [3:0] kind;             // type
    logic [3:0] dictionary_kind;  // the type that previous values have
    logic       is_optional;
    logic       is_text;          // ASCII
    logic       is_vector;        // byte vector, Unicode
    logic       is_value;         // an integer, an exponent, a mantissa
    logic       is_mantissa;
    logic       is_group;         // a bit group
    logic       is_field;         // of one
    logic       takes_signed;     // its entity has a sign
    logic       remembers;        // its value goes to the dictionary
    logic       takes_bit;        // of the presence map
    logic       is_streamed;      // its source is the stream: known before the state of its entry is
    source_e    known_source;     // where the value comes from, as far as control goes: SOURCE_PREVIOUS if its entry decides
    // Of the entry's state, known late: nothing of them decides what is done in this cycle.
    source_e    source;           // where the value comes from, but for a NULL in the stream
    logic [7:0] source_code;      // why there is none
    logic       base_is_previous; // of a delta
    logic [7:0] base_code;        // why it has no base
  } plan_t;

  /// What a string does in a cycle of the consume stage.
  typedef struct packed {
    logic [3:0]  take;         // bytes
    logic        takes_entity; // they are the first entity
    logic        done;         // the data-op
    logic        is_null;
    logic        wants_number; // the entity at the window's front is the length of a vector or a subtraction
    logic        asks_number;  // it goes through the later stages, which supply it
    logic        is_subtraction;
    logic        is_nullable;
    logic        checks_utf8;  // with the last piece: the string has to be UTF-8, or R2 is the code
    logic [7:0]  code;
    logic [7:0]  late_code;    // of the complete string: goes with its last piece, as an error of the later stages
    logic        keeps;        // the piece at the window's front is needed later
    logic [KeepBits-1:0] keep_address;
    logic        is_piece;
    string_piece_t piece;
    logic        in_second;    // the string lies in the second half of its slot
    logic        is_last;      // of the string
    logic        is_long;
    logic        is_wide;      // eight bytes that are not all ASCII
    logic [16:0] count;        // bytes of the string so far
    logic [7:0]  slots;        // of the record's string area that the string takes
  } text_step_t;

  // -------------------------------------------------------------------------------------------------------------------
  // Inside the consume stage

  localparam int unsigned GenerationBits = 56;  // of dictionaries

  typedef enum logic [3:0] {
    STATE_IDLE,        // no datagram; when one comes, a message can begin at once if its dictionary is reset
    STATE_PREAMBLE,    // the bytes before the first message are skipped
    STATE_START,       // a message begins
    STATE_RUN,         // an instruction at its beginning
    STATE_PMAP_MORE,   // the rest of a presence map of more than nine bytes
    STATE_PROFILE,     // a presence map was looked up: a profile program, or the general one
    STATE_CONTROL,     // the control-op of PMAP
    STATE_SEQ_WAIT,    // the length of a sequence is on its way
    STATE_SEQ,         // the loop begins
    STATE_TID_WAIT,    // a template identifier is on its way
    STATE_DISPATCH,    // its template has been found
    STATE_UNUSED_BITS, // a presence map has unused bits
    STATE_FINISH,      // the datagram is decoded, and what is on its way goes out
    STATE_FAILED       // an error is on its way: nothing more is done
  } consume_state_e;

  /// Where the program memory has the even one of two neighbours: half of the address, rounded up. It goes beside the address,
  /// so that nothing is added up after the choice between addresses.
  typedef logic [ProgramBits-2:0] even_t;
  function automatic even_t even_of(logic [ProgramBits-1:0] address);
    return address[ProgramBits-1:1] + even_t'(address[0]);
  endfunction

  /// Up to two instructions of a stage.
  typedef struct packed {
    logic                   valid;
    logic                   is_pair;
    insn_t [1:0]            insn;
    traits_t [1:0]          traits;
    logic [ProgramBits-1:0] pc;        // of the first
    logic [ProgramBits-1:0] foreseen;  // of what comes after them
  } instructions_t;

  /// What the instructions in the consume stage are with the present bytes, bits and states.
  typedef struct packed {
    plan_t [1:0]      plan;
    logic [1:0][79:0] bytes;       // from the entity of each on
    logic [1:0][3:0]  length;      // of the entity; 0: it does not end in these bytes
    logic [1:0]       is_null;     // in the stream
    logic [1:0]       is_ready;    // all of its entity has arrived
    logic [1:0]       uses_entry;  // of the dictionary
    source_e [1:0]    exponent;    // before a mantissa
    logic             both;        // go at once
    logic [1:0][1:0]  bits_taken;  // of the presence map, by the data-ops that go: of one, of both
    logic [1:0]       skip_bit;    // after these
  } pair_t;

  /// A step of the PMAP instruction.
  typedef struct packed {
    consume_state_e state;   // that follows
    logic [4:0]     take;    // bytes
    logic           takes_entity;  // they are the first entity
    logic [7:0]     code;
    logic           loads;   // bits from the window
    logic           pushes;  // the map is complete
    logic           done;
    logic           jumps;   // to a profile program
    logic [ProgramBits-1:0] address;
  } map_step_t;

  /// A step of a data-op.
  typedef struct packed {
    consume_state_e state;    // that follows, if the control-op has nothing against it
    take_t [1:0]    take;     // if the first goes alone, if both go
    logic [7:0]     code;
    logic [7:0]     source_code;  // an error, known late: it goes with the micro-operation, as those of the later stages
    logic           done;
    source_e        source;   // of the first value
    logic           is_text;  // a string is at work
    logic           pads;     // a byte is passed over that only makes a number longer
    map_step_t      pmap;     // all 0 if it is no PMAP
  } data_step_t;

  /// A step of a control-op, and of what waits for a number.
  typedef struct packed {
    consume_state_e state;        // that follows
    logic [7:0]     code;
    logic           done;         // all instructions in the stage
    logic           steps;        // the first of two is done
    logic           redirect;     // what was fetched is not what follows
    logic [ProgramBits-1:0] address;
    even_t          even;
    logic [1:0]     bits_taken;   // of the presence map
    logic           restores_map;
    logic [4:0]     map_depth;
    logic           push_loop;
    logic           end_element;
    logic           pop_call;
    logic           stores_presence;  // 1 goes to the record, for a group that is present
    logic           begins_length;    // of a sequence
    logic           awaits_length;    // which comes from the later stages
    logic           checks_length;    // it is looked at in the next cycle
    logic           uses_length;      // that was on its way: the loop begins if it is right
    logic           awaits_template;  // an identifier that the later stages supply
    logic [31:0]    awaited;          // the length or identifier that came, or came before
    logic           ends_message;
    logic           releases;         // the datagram: the next one can begin
  } control_step_t;

  /// A step of a message's or a dynamic reference's beginning.
  typedef struct packed {
    consume_state_e state;        // that follows
    logic [4:0]     take;         // bytes
    logic [7:0]     code;
    logic           is_quick;     // presence map and template identifier are taken at once
    logic [16:0]    entity;       // where the first instruction's entity begins, if they are
    logic           redirect;
    logic [ProgramBits-1:0] address;
    even_t          even;
    logic           opens;        // a template
    logic           is_call;      // of a dynamic reference
    dispatch_t      root;
    logic [5:0]     slots;        // of its root block
    logic           resets;       // the dictionary
  } start_step_t;

  /// A step before the first message of a datagram, and after its last one.
  typedef struct packed {
    consume_state_e state;     // that follows
    logic [4:0]     take;      // bytes
    logic [7:0]     code;
    logic           releases;  // the datagram
  } datagram_step_t;

  /// State of a datagram in the consume stage.
  typedef struct packed {
    logic [1:0]  number;       // of those that may be in the stages at once
    logic        is_waiting;   // the dictionary waits for a reset, which the first message may be
    logic [16:0] start;        // of the first message, bytes
    logic [16:0] position;     // of the window, bytes
    logic [12:0] string_base;  // of the channel
  } datagram_state_t;

  /// The top of the stacks.
  typedef struct packed {
    logic [MaxMapBits-1:0]  map_bits;  // the next one on top
    logic                   has_more;
    logic [16:0]            map_begin;
    logic [4:0]             map_depth;
    logic [3:0]             loop_depth;
    logic                   is_last_element;
    logic [4:0]             loop_map_depth;  // when the loop began
    logic [3:0]             call_depth;
    logic [ProgramBits-1:0] return_address;
    logic [15:0]            caller;          // template
  } stacks_t;

  /// Findings in a number before the last ten bytes.
  typedef struct packed {
    logic padded;    // something
    logic negative;
    logic too_wide;  // more than its sign
    logic nonzero;
  } padding_t;

  /// The value of an entity of one or two bytes.
  function automatic logic [13:0] short_value(logic [6:0] first_byte, logic [6:0] second_byte, logic [3:0] length);
    return length == 4'd1 ? {7'b0, first_byte} : {first_byte, second_byte};
  endfunction

  /// Slots that a block of `words` words takes.
  // Looked up, each bit of the number by itself: a division has eleven levels of LUTs.
  typedef logic [5:0][255:0] slots_table_t;
  function automatic slots_table_t slots_table(int unsigned words_before);
    for (int unsigned words = 0; words < 256; words++) begin
      for (int unsigned bit_number = 0; bit_number < 6; bit_number++) begin
        slots_table[bit_number][words] =
            1'(((words + words_before + ValueWords - 1) / ValueWords) >> bit_number);
      end
    end
  endfunction
  localparam slots_table_t SlotsOfBlock = slots_table(0);
  localparam slots_table_t SlotsOfCall  = slots_table(1);            // with the word that says which template it is
  localparam slots_table_t SlotsOfRoot  = slots_table(HeaderWords);
  function automatic logic [5:0] slots_of(slots_table_t of, logic [7:0] words);
    for (int unsigned i = 0; i < 6; i++) slots_of[i] = of[i][words];
  endfunction
endpackage
