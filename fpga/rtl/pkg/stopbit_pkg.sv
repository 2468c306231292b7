/// What the parts of the hardware agree on: the streams between them, how firmware is loaded, and the layout of
/// records (decoder/record/layout.hpp, microcode/base/error_code.def).
package stopbit_pkg;
  /// isa::Capability bits of the decode core; the same as firmware::kCapabilities.
  localparam logic [31:0] Capabilities = 32'h0000_03FF;

  /// Facts about a datagram before it is decoded. Comes with its first beat and keeps until its last.
  typedef struct packed {
    logic [63:0] arrival_ns;
    logic [63:0] number;        // of the packet in its source, from 1
    logic [31:0] sequence_number;
    logic [16:0] length_bytes;  // of the whole datagram, preamble included; at most 65,536
    logic [15:0] data_offset;   // bytes before the first message; may be more than length_bytes, which is error X9
    logic [15:0] channel;       // dictionary context
    logic [15:0] sender_epoch;
    logic [7:0]  source;        // record::SourceLine
    logic [7:0]  time_quality;  // record::TimeQuality
    logic        cut;           // the datagram was longer than length_bytes: error X1 after the last message
  } stopbit_datagram_t;

  localparam int unsigned BeatBytes = 16;

  /// A beat of a datagram. Only the last one may have fewer than 16 bytes, and that of an empty datagram none.
  typedef struct packed {
    logic [8*BeatBytes-1:0] data;  // byte 0 in bits 7:0
    logic [4:0]             count;
    logic                   last;
  } stopbit_beat_t;

  /// A beat of the record stream. Slots 1 to n-1 of a record come in order, slot 0 comes after them with `last`: its
  /// word 0 has the count. `aborted` has no slot: it takes back what came since the last `last`. Stamp and phase are 0.
  typedef struct packed {
    logic [511:0] data;
    logic [15:0]  index;
    logic         last;
    logic         aborted;
  } stopbit_slot_t;

  // Firmware: 32-bit words to addresses in one of two banks. The tables have entries of a power of two of words; an
  // entry is written when its highest word is. host/device/firmware makes the words of an image.
  localparam int unsigned LoadAddressBits = 20;
  typedef struct packed {
    logic                       valid;
    logic                       bank;     // no matter for TABLE_CHANNELS
    logic [LoadAddressBits-1:0] address;  // table in bits 19:16, then entry and word
    logic [31:0]                data;
  } stopbit_load_t;

  typedef enum logic [3:0] {
    TABLE_PROGRAM   = 4'd0,  // 2 words: an instruction as in microcode/isa
    TABLE_CONSTANTS = 4'd1,  // 8 words: see constant_t
    TABLE_BYTES     = 4'd2,  // 2 words: bytes of string constants
    TABLE_BLOCKS    = 4'd3,  // 1 word: see block_t
    TABLE_DISPATCH  = 4'd4,  // 4 words: see dispatch_t; entries of the first, then of the second way
    TABLE_SLOTS     = 4'd5,  // 1 word: see string_slot_t
    TABLE_LIMITS    = 4'd6,  // entry 0, 8 words: see limits_t
    TABLE_CHANNELS  = 4'd7,  // 2 words by channel: see channel_t; makes the channel's dictionary undefined
    TABLE_PROFILES  = 4'd8   // 4 words: see profile_t; entries of the first, then of the second way
  } table_e;

  // Sizes of a bank's tables, in entries; the same numbers are in host/device/firmware/device.hpp.
  localparam int unsigned ProgramBits  = 14;
  localparam int unsigned ConstantBits = 10;
  localparam int unsigned ByteBits     = 10;  // of 8 bytes
  localparam int unsigned BlockBits    = 12;
  localparam int unsigned DispatchBits = 9;   // of each of the two ways
  localparam int unsigned TableBits    = 10;  // tables of templates
  localparam int unsigned ProfileBits  = 9;   // of each of the two ways
  localparam int unsigned SlotBits     = 12;
  // Shared by the banks.
  localparam int unsigned ContextBits  = 12;  // dictionary entries of all channels
  localparam int unsigned StringBits   = 13;  // 8-byte words of all string slots
  localparam int unsigned ChannelBits  = 6;

  localparam int unsigned MaxMapBits  = 252;  // presence bits that an instruction can use; a map may be longer
  localparam int unsigned MaxMapDepth = 24;   // limits::kMaxPresenceMapDepth
  localparam int unsigned MaxLoopDepth = 8;   // limits::kMaxLoopDepth
  localparam int unsigned MaxCallDepth = 8;   // limits::kMaxCallDepth

  typedef enum logic [1:0] {
    LIMIT_NONE     = 2'd0,
    LIMIT_UNSIGNED = 2'd1,  // value <= bound
    LIMIT_SIGNED   = 2'd2   // -bound - 1 <= value <= bound
  } limit_e;

  /// A constant, made ready: the limit as a bound and the code of what is outside it.
  typedef struct packed {
    logic [15:0] min_bytes;  // of an element, where the instruction is the length of a sequence; 0 if such elements may take no bytes. Of a bit group: bit_group_t
    logic        may_be_empty;  // such an element may take no bytes
    logic [7:0]  code;       // 0: the code of the instruction for what is out of range (D2, R4, R1)
    limit_e      limit;
    logic        has_value;
    logic [63:0] bound;
    logic [63:0] value;      // strings: first word in TABLE_BYTES in bits 31:0, length in bits 63:32
  } constant_t;

  /// The size of a bit group, in constant_t::min_bytes; `bound` is the largest number that its entity can be.
  typedef struct packed {
    logic [5:0] used_bits;    // by its fields
    logic [2:0] unused_bits;  // of the last byte
    logic [3:0] bytes;
  } bit_group_t;

  typedef struct packed {
    logic [7:0] first_word;  // modulo 247
    logic [7:0] words;
  } block_t;

  typedef struct packed {
    block_t      root;
    logic [13:0] root_block;
    logic [13:0] entry;
    logic [TableBits-1:0] in_table;  // 0: a message's; others are those of dynamic references
    logic        reset;
    logic        valid;
    logic [15:0] template_index;
    logic [31:0] id;
  } dispatch_t;

  /// A profile program: what a segment is with a presence map.
  typedef struct packed {
    logic        valid;
    logic [5:0]  taken;    // bits of the map that it stands for
    logic [13:0] entry;
    logic [5:0]  segment;  // number that the constant column of its PMAP has; 0 for segments without programs
    logic [63:0] bits;     // the map's, the first on top
  } profile_t;

  typedef struct packed {
    logic [12:0] capacity;  // bytes; there are two places of as many where deltas or tails write
    logic [12:0] base;      // first 8-byte word, counted from the channel's
  } string_slot_t;

  typedef struct packed {
    logic        strict;        // R2, R6, R7, R8 and R9 are errors; with single_issue only
    logic        single_issue;  // pair bits count for nothing
    logic [31:0] string_bytes;
    logic [31:0] empty_elements;
    logic [31:0] elements;
    logic [15:0] nesting;
    logic [15:0] max_record_slots;
  } limits_t;

  typedef enum logic [1:0] {
    RESET_PACKET   = 2'd0,
    RESET_TEMPLATE = 2'd1,
    RESET_NEVER    = 2'd2
  } reset_rule_e;

  typedef struct packed {
    logic [15:0] image_generation;
    logic [12:0] string_base;   // first word of its string slots
    logic [11:0] context_base;  // first of its dictionary entries
    logic        bank;
    reset_rule_e reset_rule;
  } channel_t;

  // Records.
  localparam int unsigned SlotWords   = 8;
  localparam int unsigned ValueWords  = 7;
  localparam int unsigned HeaderWords = 4;
  localparam logic [15:0] EventIndex  = 16'hFFFE;
  localparam logic [7:0]  MaxValueTag = 8'd247;
  localparam logic [7:0]  HeaderTag   = 8'd248;
  localparam logic [7:0]  EventTag    = 8'd252;
  localparam logic [7:0]  StringTag   = 8'd253;
  localparam logic [7:0]  ReferenceTag = 8'd255;
  localparam logic [7:0]  LongString  = 8'h7F;
  localparam logic [7:0]  FlagLastOfPacket  = 8'd1;
  localparam logic [7:0]  EventDecodeError  = 8'd1;
  localparam logic [7:0]  EventDropped      = 8'd2;
  localparam logic [7:0]  NoWord      = 8'd255;
  localparam logic [15:0] NoBlock     = 16'hFFFF;
  localparam logic [15:0] NoTemplate  = 16'hFFFF;
  localparam int unsigned MaxStringSlots = 255;  // of 56 bytes, of a record
endpackage
