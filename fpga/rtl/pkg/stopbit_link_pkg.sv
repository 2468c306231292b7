/// What goes over a link between two nodes: one cell of 64 bits and its kind a cycle. fpga/rtl/network/README.md.
package stopbit_link_pkg;

  typedef enum logic [1:0] {
    CELL_CONTROL = 2'd0,  // of the link itself, between packets or in one
    CELL_START   = 2'd1,
    CELL_PAYLOAD = 2'd2,
    CELL_END     = 2'd3
  } cell_kind_t;

  typedef struct packed {
    cell_kind_t  kind;
    logic [63:0] data;
  } cell_t;

  // First cell of a packet (Geib table 3.5). The order of the fields is ours, as the source leaves it open.
  typedef struct packed {
    logic [15:0] crc;   // of this cell; the switch's
    logic [9:0]  vpid;
    logic [15:0] node;
    logic [2:0]  unit;
    logic [1:0]  traffic_class;
    logic [1:0]  channel;  // virtual channel, 0 to 2
    logic        multicast;
    logic [13:0] marker;
  } start_t;

  localparam int unsigned Classes         = 4;
  localparam int unsigned VirtualChannels = 3;
  localparam int unsigned Channels        = Classes * VirtualChannels;  // flow control is by channel
  localparam int unsigned MaxPayload      = 32;                         // cells, 256 bytes
  localparam int unsigned SlotCells       = 8;                          // room is counted in slots of 64 bytes
  localparam int unsigned MaxSlots        = MaxPayload / SlotCells;     // of a packet

  typedef logic [3:0]  channel_t;
  typedef logic [6:0]  sequence_t;  // of packets on a link
  typedef logic [11:0] slots_t;     // all slots of a channel that were ever granted or used, modulo 2^12

  localparam int unsigned Window = 63;  // packets without an answer

  // What goes with each packet's end, and with control cells in between.
  typedef struct packed {
    sequence_t expected;  // packets before this one are here
    channel_t  channel;
    slots_t    granted;   // to that channel
  } report_t;

  // Last cell of a packet.
  typedef struct packed {
    logic        is_bad;  // the packet was damaged before this link: EOP_E
    sequence_t   number;
    report_t     report;
    logic        unused;
    logic [31:0] crc;     // of all cells with their kinds, this one without it
  } end_t;

  typedef enum logic [3:0] {
    CONTROL_REPORT = 4'd1,
    CONTROL_TRAIN  = 4'd2
  } control_kind_t;

  typedef struct packed {
    control_kind_t kind;
    logic          is_lost;  // REPORT: the expected packet has to be sent again
    logic          is_fresh; // TRAIN: was never up since its reset
    logic          is_seen;  // TRAIN: the other side's TRAIN has come
    report_t       report;
    logic [1:0]    version;
    logic [31:0]   crc;      // of this cell with its kind, without it
  } control_t;

  localparam logic [1:0] Version = 2'd1;

  // What a link port tells: whether it is up, and a pulse for each event.
  typedef struct packed {
    logic up;
    logic sent;      // a packet left for the first time
    logic resent;    // ... again
    logic answered;  // ... has arrived
    logic dropped;   // ... is lost: the other side was reset
    logic damaged;   // what came was damaged
    logic excess;    // the other side granted more than there can be
  } link_state_t;

  function automatic channel_t channel_of(start_t start);
    return channel_t'(start.traffic_class) * channel_t'(VirtualChannels) + channel_t'(start.channel);
  endfunction

  // Whether a cell of payload needs a slot of its own, after `cells` cells of its packet: the first one has it with the start.
  function automatic logic begins_slot(logic [5:0] cells);
    return cells[2:0] == 3'd1 && cells != 6'd1;
  endfunction

endpackage
