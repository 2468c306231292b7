/// What the parts before the decompressor agree on among themselves and with the host that sets them up.
package stopbit_front_pkg;
  localparam int unsigned NumGroups   = 64;
  localparam int unsigned GroupBits   = 6;
  localparam int unsigned NumChannels = 64;
  localparam int unsigned ChannelBits = 6;

  /// A group that frames are taken from: destination, sender if only one is wanted, and what its datagrams are.
  typedef struct packed {
    logic        valid;
    logic        any_source;
    logic [31:0] source_address;
    logic [31:0] address;
    logic [15:0] port;
    logic [15:0] channel;
    logic [7:0]  line;  // record::SourceLine
  } group_t;

  // What becomes of a frame: the numbers of host/feed/packet/verdict.def, then those only hardware has.
  localparam logic [4:0] VERDICT_ACCEPTED             = 5'd0;
  localparam logic [4:0] VERDICT_NOT_IP               = 5'd1;
  localparam logic [4:0] VERDICT_IPV6                 = 5'd2;
  localparam logic [4:0] VERDICT_NOT_UDP              = 5'd3;
  localparam logic [4:0] VERDICT_LINK_HEADER_SHORT    = 5'd4;
  localparam logic [4:0] VERDICT_TOO_MANY_VLAN_TAGS   = 5'd5;  // more than two
  localparam logic [4:0] VERDICT_IP_HEADER_SHORT      = 5'd6;
  localparam logic [4:0] VERDICT_IP_VERSION_BAD       = 5'd7;
  localparam logic [4:0] VERDICT_IP_HEADER_LENGTH_BAD = 5'd8;
  localparam logic [4:0] VERDICT_IP_TOTAL_LENGTH_BAD  = 5'd9;
  localparam logic [4:0] VERDICT_FRAGMENT             = 5'd10;
  localparam logic [4:0] VERDICT_UDP_HEADER_SHORT     = 5'd11;
  localparam logic [4:0] VERDICT_UDP_LENGTH_BAD       = 5'd12;
  localparam logic [4:0] VERDICT_CHECKSUM_BAD         = 5'd14;  // of the IPv4 header
  localparam logic [4:0] VERDICT_FRAME_BAD            = 5'd15;  // the MAC says so: FCS
  localparam logic [4:0] VERDICT_FILTERED             = 5'd16;  // of no group in the table
  localparam logic [4:0] VERDICT_OVERFLOW             = 5'd17;  // no room

  localparam logic [1:0] FRAMING_FIXED = 2'd0;
  localparam logic [1:0] FRAMING_B3    = 2'd1;
  localparam logic [1:0] FRAMING_T7    = 2'd2;

  localparam int unsigned PreambleBytes = 48;  // fields must end in here

  /// An unsigned integer at a fixed place of the datagram; `bytes` is 0 (none), 2, 4 or 8.
  typedef struct packed {
    logic       big_endian;
    logic [3:0] bytes;
    logic [5:0] offset;
  } field_t;

  /// net::Framing of a channel. Fields and skip are of FRAMING_FIXED.
  typedef struct packed {
    logic [1:0]  kind;
    logic [10:0] skip;
    field_t      sequence_field;
    field_t      length_field;
  } framing_t;

  /// How the copies of a channel's datagrams are chosen.
  typedef struct packed {
    logic       enable;    // else every datagram passes
    logic       carousel;  // sequence number 1 after a higher one begins a cycle
    logic [5:0] window;    // numbers at most this far below the highest are known; older ones count as late
  } line_rule_t;

  /// Numbers of a channel that were not sent, or that come too late: first to first + count - 1.
  typedef struct packed {
    logic [15:0] channel;
    logic [15:0] sender_epoch;
    logic [31:0] first;
    logic [31:0] count;
  } gap_t;
endpackage
