/// The kernel's registers. Made by fpga/kernel/generate.py from registers.toml: change that.
package stopbit_registers_pkg;
  localparam int unsigned Verdicts = 18;
  localparam int unsigned Rings = 8;
  localparam int unsigned Filters = 16;
  localparam int unsigned Remotes = 1;
  localparam int unsigned Stations = 1;
  localparam int unsigned Pieces = 16;

  localparam logic [15:0] REG_ID = 16'h0010;
  localparam logic [15:0] REG_INTERFACE_VERSION = 16'h0014;
  localparam logic [15:0] REG_CAPABILITIES = 16'h0018;
  localparam logic [15:0] REG_ENGINES = 16'h001C;
  localparam logic [15:0] REG_CONTROL = 16'h0020;
  localparam logic [15:0] REG_STATUS = 16'h0024;
  localparam logic [15:0] REG_ERRORS = 16'h0028;
  localparam logic [15:0] REG_INTAKE = 16'h002C;
  localparam logic [15:0] REG_CLOCK_SOURCE = 16'h0030;
  localparam logic [15:0] REG_PREAMBLE_BYTES = 16'h0048;
  localparam logic [15:0] REG_DATAGRAM_MARKS = 16'h004C;
  localparam logic [15:0] REG_GROUP_SOURCE = 16'h0050;
  localparam logic [15:0] REG_GROUP_ADDRESS = 16'h0054;
  localparam logic [15:0] REG_GROUP_TARGET = 16'h0058;
  localparam logic [15:0] REG_GROUP_WRITE = 16'h005C;
  localparam logic [15:0] REG_FRAMING_FIELDS = 16'h0060;
  localparam logic [15:0] REG_FRAMING_WRITE = 16'h0064;
  localparam logic [15:0] REG_RULE_WRITE = 16'h0068;
  localparam logic [15:0] REG_ROUTING = 16'h006C;
  localparam logic [15:0] REG_CLOCK_RATE = 16'h0034;
  localparam logic [15:0] REG_CLOCK_OFFSET = 16'h0038;
  localparam logic [15:0] REG_CLOCK_NOW = 16'h0040;
  localparam logic [15:0] REG_FIRMWARE_BANK = 16'h0080;
  localparam logic [15:0] REG_FIRMWARE_ADDRESS = 16'h0084;
  localparam logic [15:0] REG_FIRMWARE_DATA = 16'h0088;
  localparam logic [15:0] REG_FIRMWARE_CRC = 16'h008C;
  localparam logic [15:0] REG_FIRMWARE_WORDS = 16'h0090;
  localparam logic [15:0] REG_FIRMWARE_CLEAR = 16'h0094;
  localparam logic [15:0] REG_FIRMWARE_VERIFY = 16'h0098;
  localparam logic [15:0] REG_VERIFY_LEFT = 16'h009C;
  localparam logic [15:0] REG_VERIFIED_CRC = 16'h00A0;
  localparam logic [15:0] REG_VERIFIED_WORD = 16'h00A4;
  localparam logic [15:0] REG_DATAGRAMS = 16'h0100;
  localparam logic [15:0] REG_DATAGRAM_BYTES = 16'h0108;
  localparam logic [15:0] REG_DATAGRAMS_DROPPED = 16'h0110;
  localparam logic [15:0] REG_RECORDS = 16'h0118;
  localparam logic [15:0] REG_RECORDS_WITHDRAWN = 16'h0120;
  localparam logic [15:0] REG_DATAGRAMS_DECODED = 16'h0128;
  localparam logic [15:0] REG_INSTRUCTIONS = 16'h0130;
  localparam logic [15:0] REG_CHUNKS = 16'h0138;
  localparam logic [15:0] REG_LINE_PASSED = 16'h0140;
  localparam logic [15:0] REG_LINE_DUPLICATES = 16'h0148;
  localparam logic [15:0] REG_LINE_LATE = 16'h0150;
  localparam logic [15:0] REG_GAPS = 16'h0158;
  localparam logic [15:0] REG_NUMBERS_MISSING = 16'h0160;
  localparam logic [15:0] REG_RECORDS_UNMATCHED = 16'h0168;
  localparam logic [15:0] REG_VERDICT_FRAMES = 16'h0200;
  localparam logic [15:0] REG_RING_COMMAND = 16'h0400;
  localparam logic [15:0] REG_RING_STATE = 16'h0404;
  localparam logic [15:0] REG_RING_HEADER = 16'h0408;
  localparam logic [15:0] REG_RING_DESCRIPTORS = 16'h0410;
  localparam logic [15:0] REG_RING_SEGMENTS = 16'h0418;
  localparam logic [15:0] REG_RING_SLOTS_LOG2 = 16'h041C;
  localparam logic [15:0] REG_RING_MAX_RECORD_SLOTS = 16'h0420;
  localparam logic [15:0] REG_RING_MODE = 16'h0424;
  localparam logic [15:0] REG_RING_CREDIT = 16'h0428;
  localparam logic [15:0] REG_RING_TIMEOUT = 16'h0430;
  localparam logic [15:0] REG_RING_CREDIT_TIMEOUT = 16'h0434;
  localparam logic [15:0] REG_RING_NUMBER = 16'h0440;
  localparam logic [15:0] REG_RING_CLAIM = 16'h0448;
  localparam logic [15:0] REG_RING_RECORDS = 16'h0450;
  localparam logic [15:0] REG_RING_DROPPED = 16'h0458;
  localparam logic [15:0] REG_RING_WITHDRAWN = 16'h0460;
  localparam logic [15:0] REG_RING_STALLED = 16'h0468;
  localparam logic [15:0] REG_RING_TIMEOUTS = 16'h0470;
  localparam logic [15:0] REG_RING_MALFORMED = 16'h0474;
  localparam logic [15:0] REG_FILTER_CONTROL = 16'h1000;
  localparam logic [15:0] REG_FILTER_KEY = 16'h1004;
  localparam logic [15:0] REG_FILTER_MASK = 16'h1008;
  localparam logic [15:0] REG_FILTER_VALUE = 16'h1010;
  localparam logic [15:0] REG_REMOTE_COMMAND = 16'h2000;
  localparam logic [15:0] REG_REMOTE_SUBSCRIBE = 16'h2004;
  localparam logic [15:0] REG_REMOTE_TELL = 16'h2008;
  localparam logic [15:0] REG_REMOTE_STATE = 16'h200C;
  localparam logic [15:0] REG_REMOTE_SUBSCRIBERS = 16'h2010;
  localparam logic [15:0] REG_REMOTE_NODE = 16'h2014;
  localparam logic [15:0] REG_REMOTE_GENERATION = 16'h2018;
  localparam logic [15:0] REG_REMOTE_SLOTS_LOG2 = 16'h201C;
  localparam logic [15:0] REG_REMOTE_MAX_RECORD_SLOTS = 16'h2020;
  localparam logic [15:0] REG_REMOTE_PEER = 16'h2024;
  localparam logic [15:0] REG_REMOTE_LANDING = 16'h2028;
  localparam logic [15:0] REG_REMOTE_CHANNEL_SLOTS = 16'h202C;
  localparam logic [15:0] REG_REMOTE_SLOT_BYTES = 16'h2030;
  localparam logic [15:0] REG_REMOTE_ORIGIN = 16'h2034;
  localparam logic [15:0] REG_REMOTE_LIFE = 16'h2038;
  localparam logic [15:0] REG_REMOTE_STATUS_INDEX = 16'h203C;
  localparam logic [15:0] REG_REMOTE_CAPABILITY = 16'h2040;
  localparam logic [15:0] REG_REMOTE_BEGUN_NUMBER = 16'h2048;
  localparam logic [15:0] REG_REMOTE_POSITION_NUMBER = 16'h2050;
  localparam logic [15:0] REG_REMOTE_POSITION_RECORDS = 16'h2058;
  localparam logic [15:0] REG_REMOTE_BEGUN = 16'h2060;
  localparam logic [15:0] REG_REMOTE_MESSAGES = 16'h2068;
  localparam logic [15:0] REG_REMOTE_RECORDS = 16'h2070;
  localparam logic [15:0] REG_REMOTE_SLOTS = 16'h2078;
  localparam logic [15:0] REG_REMOTE_LOST = 16'h2080;
  localparam logic [15:0] REG_REMOTE_OVERRUN = 16'h2088;
  localparam logic [15:0] REG_REMOTE_MALFORMED = 16'h2090;
  localparam logic [15:0] REG_REMOTE_SURPLUS = 16'h2094;
  localparam logic [15:0] REG_REMOTE_STRAY = 16'h2098;
  localparam logic [15:0] REG_STATION_CONTROL = 16'h2400;
  localparam logic [15:0] REG_STATION_STATE = 16'h2404;
  localparam logic [15:0] REG_STATION_ADDRESS = 16'h2408;
  localparam logic [15:0] REG_STATION_NEXT = 16'h240C;
  localparam logic [15:0] REG_STATION_MAC_HIGH = 16'h2410;
  localparam logic [15:0] REG_STATION_MAC_LOW = 16'h2414;
  localparam logic [15:0] REG_STATION_WORD = 16'h2418;
  localparam logic [15:0] REG_STATION_SEND = 16'h241C;
  localparam logic [15:0] REG_STATION_HEARD = 16'h2420;
  localparam logic [15:0] REG_STATION_LOST = 16'h2424;
  localparam logic [15:0] REG_STATION_SENT = 16'h2428;
  localparam logic [15:0] REG_PIECE_WORD = 16'h2500;

  localparam int unsigned ControlReceiveBit = 0;
  localparam int unsigned StatusIdleBit = 0;
  localparam int unsigned ErrorsBadAccessBit = 0;
  localparam int unsigned ErrorsWriteErrorBit = 1;
  localparam int unsigned ErrorsRingRefusedBit = 2;
  localparam int unsigned ErrorsRingBrokenBit = 3;
  localparam int unsigned ErrorsOversizedBit = 4;
  localparam int unsigned ErrorsRingStarvedBit = 5;
  localparam int unsigned ErrorsRecordTooLongBit = 6;
  localparam int unsigned ErrorsRemoteRefusedBit = 7;
  localparam int unsigned ErrorsSendRefusedBit = 8;
  localparam int unsigned IntakeFramesBit = 0;
  localparam int unsigned IntakeFcsBit = 1;
  localparam int unsigned IntakeCheckHeaderBit = 2;
  localparam int unsigned IntakeDropWhenFullBit = 3;
  localparam int unsigned IntakeCutThroughBit = 4;
  localparam int unsigned ClockSourceSideBandBit = 0;
  localparam int unsigned DatagramMarksSourceBit = 0;
  localparam int unsigned DatagramMarksTimeQualityBit = 8;
  localparam int unsigned GroupTargetPortBit = 0;
  localparam int unsigned GroupTargetChannelBit = 16;
  localparam int unsigned GroupWriteIndexBit = 0;
  localparam int unsigned GroupWriteLineBit = 8;
  localparam int unsigned GroupWriteAnySourceBit = 16;
  localparam int unsigned GroupWriteValidBit = 17;
  localparam int unsigned FramingFieldsSequenceOffsetBit = 0;
  localparam int unsigned FramingFieldsSequenceBytesBit = 6;
  localparam int unsigned FramingFieldsSequenceBigEndianBit = 10;
  localparam int unsigned FramingFieldsLengthOffsetBit = 16;
  localparam int unsigned FramingFieldsLengthBytesBit = 22;
  localparam int unsigned FramingFieldsLengthBigEndianBit = 26;
  localparam int unsigned FramingWriteChannelBit = 0;
  localparam int unsigned FramingWriteKindBit = 8;
  localparam int unsigned FramingWriteValidBit = 10;
  localparam int unsigned FramingWriteSkipBit = 16;
  localparam int unsigned RuleWriteChannelBit = 0;
  localparam int unsigned RuleWriteEnableBit = 8;
  localparam int unsigned RuleWriteCarouselBit = 9;
  localparam int unsigned RuleWriteWindowBit = 16;
  localparam int unsigned RoutingFilterBit = 0;
  localparam int unsigned RoutingUnmatchedBit = 1;
  localparam int unsigned RingCommandStartBit = 0;
  localparam int unsigned RingCommandStopBit = 1;
  localparam int unsigned RingStateRunningBit = 0;
  localparam int unsigned RingStateStarvedBit = 1;
  localparam int unsigned FilterControlEnableBit = 0;
  localparam int unsigned FilterControlAnyChannelBit = 1;
  localparam int unsigned FilterControlAnyTemplateBit = 2;
  localparam int unsigned FilterControlWordBit = 8;
  localparam int unsigned FilterControlRingsBit = 16;
  localparam int unsigned FilterControlSubscribersBit = 24;
  localparam int unsigned FilterKeyChannelBit = 0;
  localparam int unsigned FilterKeyTemplateIndexBit = 16;
  localparam int unsigned RemoteCommandStartBit = 0;
  localparam int unsigned RemoteSubscribeIndexBit = 0;
  localparam int unsigned RemoteSubscribeOpenBit = 8;
  localparam int unsigned RemoteTellIndexBit = 0;
  localparam int unsigned RemoteTellEndsBit = 8;
  localparam int unsigned RemoteTellHowBit = 16;
  localparam int unsigned RemoteStateStartingBit = 0;
  localparam int unsigned RemoteStateSubscribingBit = 1;
  localparam int unsigned RemoteStateTellingBit = 2;
  localparam int unsigned RemoteStateToldBit = 3;
  localparam int unsigned RemoteStateWaitingBit = 4;
  localparam int unsigned RemoteStateOpenBit = 8;
  localparam int unsigned RemoteStateLosingBit = 16;
  localparam int unsigned RemotePeerNodeBit = 0;
  localparam int unsigned RemotePeerVpidBit = 16;
  localparam int unsigned RemoteLandingWindowBit = 0;
  localparam int unsigned RemoteLandingEventBit = 16;
  localparam int unsigned RemoteOriginPortBit = 0;
  localparam int unsigned RemoteOriginDomainBit = 16;
  localparam int unsigned StationControlListenBit = 0;
  localparam int unsigned StationStateKeptBit = 0;
  localparam int unsigned StationStateLastBit = 1;
  localparam int unsigned StationStateSendingBit = 2;
  localparam int unsigned StationStateBytesBit = 8;
  localparam int unsigned StationSendBytesBit = 0;

  /// What the host has written. Of one ring.
  typedef struct packed {
    logic [63:0] header;
    logic [63:0] descriptors;
    logic [31:0] segments;
    logic [4:0] slots_log2;
    logic [15:0] max_record_slots;
    logic [1:0] mode;
    logic [63:0] credit;
    logic [31:0] timeout;
    logic [31:0] credit_timeout;
  } ring_written_t;

  /// What the host has written. Of one filter.
  typedef struct packed {
    logic [31:0] control;
    logic [31:0] key;
    logic [63:0] mask;
    logic [63:0] value;
  } filter_written_t;

  /// What the host has written. Of one remote.
  typedef struct packed {
    logic [15:0] node;
    logic [15:0] generation;
    logic [4:0] slots_log2;
    logic [15:0] max_record_slots;
    logic [31:0] peer;
    logic [21:0] landing;
    logic [16:0] channel_slots;
    logic [20:0] slot_bytes;
    logic [31:0] origin;
    logic [31:0] life;
    logic [2:0] status_index;
    logic [63:0] capability;
  } remote_written_t;

  /// What the host has written. Of one station.
  typedef struct packed {
    logic [0:0] control;
    logic [31:0] address;
    logic [15:0] mac_high;
    logic [31:0] mac_low;
  } station_written_t;

  /// What the host has written.
  typedef struct packed {
    logic [0:0] control;
    logic [4:0] intake;
    logic [0:0] clock_source;
    logic [15:0] preamble_bytes;
    logic [15:0] datagram_marks;
    logic [31:0] group_source;
    logic [31:0] group_address;
    logic [31:0] group_target;
    logic [26:0] framing_fields;
    logic [1:0] routing;
    logic [31:0] clock_rate;
    logic [63:0] clock_offset;
    logic [0:0] firmware_bank;
    ring_written_t [Rings-1:0] ring;
    filter_written_t [Filters-1:0] filter;
    remote_written_t [Remotes-1:0] remote;
    station_written_t [Stations-1:0] station;
  } written_t;

  /// What the host writes in this cycle; `_valid` says that it does. Of one ring.
  typedef struct packed {
    logic command_valid;
    logic [1:0] command;
  } ring_command_t;

  /// What the host writes in this cycle; `_valid` says that it does. Of one remote.
  typedef struct packed {
    logic command_valid;
    logic [0:0] command;
    logic subscribe_valid;
    logic [8:0] subscribe;
    logic tell_valid;
    logic [23:0] tell;
  } remote_command_t;

  /// What the host writes in this cycle; `_valid` says that it does. Of one station.
  typedef struct packed {
    logic next_valid;
    logic [0:0] next;
    logic word_valid;
    logic [31:0] word;
    logic send_valid;
    logic [11:0] send;
  } station_command_t;

  /// What the host writes in this cycle; `_valid` says that it does.
  typedef struct packed {
    logic group_write_valid;
    logic [17:0] group_write;
    logic framing_write_valid;
    logic [26:0] framing_write;
    logic rule_write_valid;
    logic [21:0] rule_write;
    logic firmware_address_valid;
    logic [19:0] firmware_address;
    logic firmware_data_valid;
    logic [31:0] firmware_data;
    logic firmware_clear_valid;
    logic [0:0] firmware_clear;
    logic firmware_verify_valid;
    logic [19:0] firmware_verify;
    ring_command_t [Rings-1:0] ring;
    remote_command_t [Remotes-1:0] remote;
    station_command_t [Stations-1:0] station;
  } command_t;

  /// What the hardware says. Of one verdict.
  typedef struct packed {
    logic [63:0] frames;
  } verdict_shown_t;

  /// What the hardware says. Of one ring.
  typedef struct packed {
    logic [1:0] state;
    logic [63:0] number;
    logic [63:0] claim;
    logic [63:0] records;
    logic [63:0] dropped;
    logic [63:0] withdrawn;
    logic [63:0] stalled;
    logic [31:0] timeouts;
    logic [31:0] malformed;
  } ring_shown_t;

  /// What the hardware says. Of one remote.
  typedef struct packed {
    logic [23:0] state;
    logic [31:0] subscribers;
    logic [63:0] begun_number;
    logic [63:0] position_number;
    logic [63:0] position_records;
    logic [63:0] begun;
    logic [63:0] messages;
    logic [63:0] records;
    logic [63:0] slots;
    logic [63:0] lost;
    logic [63:0] overrun;
    logic [31:0] malformed;
    logic [31:0] surplus;
    logic [31:0] stray;
  } remote_shown_t;

  /// What the hardware says. Of one station.
  typedef struct packed {
    logic [14:0] state;
    logic [31:0] heard;
    logic [31:0] lost;
    logic [31:0] sent;
  } station_shown_t;

  /// What the hardware says. Of one piece.
  typedef struct packed {
    logic [31:0] word;
  } piece_shown_t;

  /// What the hardware says.
  typedef struct packed {
    logic [31:0] capabilities;
    logic [2:0] engines;
    logic [0:0] status;
    logic [63:0] clock_now;
    logic [31:0] firmware_crc;
    logic [31:0] firmware_words;
    logic [19:0] verify_left;
    logic [31:0] verified_crc;
    logic [31:0] verified_word;
    logic [63:0] datagrams;
    logic [63:0] datagram_bytes;
    logic [63:0] datagrams_dropped;
    logic [63:0] records;
    logic [63:0] records_withdrawn;
    logic [63:0] datagrams_decoded;
    logic [63:0] instructions;
    logic [63:0] chunks;
    logic [63:0] line_passed;
    logic [63:0] line_duplicates;
    logic [63:0] line_late;
    logic [63:0] gaps;
    logic [63:0] numbers_missing;
    logic [63:0] records_unmatched;
    verdict_shown_t [Verdicts-1:0] verdict;
    ring_shown_t [Rings-1:0] ring;
    remote_shown_t [Remotes-1:0] remote;
    station_shown_t [Stations-1:0] station;
    piece_shown_t [Pieces-1:0] piece;
  } shown_t;

  /// Bits that the hardware sets.
  typedef struct packed {
    logic [8:0] errors;
  } raised_t;

endpackage
