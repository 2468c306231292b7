/// Registers of a node's network: its switch, the ports of its units, and its links.
/// Made by fpga/registers/generate.py from network.toml: change that.
package stopbit_network_registers_pkg;
  localparam int unsigned CrossbarUnitCount = 4;
  localparam int unsigned CrossbarPortCount = 10;
  localparam int unsigned LinkCount = 6;

  // Block bus: offsets from its base.
  localparam logic [15:0] REG_BUS_REVISION = 16'h0000;
  localparam logic [15:0] REG_BUS_SHAPE = 16'h0004;
  localparam logic [15:0] REG_BUS_CONTROL = 16'h0008;
  localparam logic [15:0] REG_BUS_STATE = 16'h000C;
  localparam logic [15:0] REG_BUS_REFUSED = 16'h0010;
  localparam logic [15:0] REG_BUS_GAVE_UP = 16'h0014;
  localparam logic [15:0] REG_BUS_LAST_ERROR = 16'h0018;
  localparam int unsigned BusShapeUnitsBit = 0;
  localparam int unsigned BusShapeLinksBit = 8;
  localparam int unsigned BusControlResetBit = 0;
  localparam int unsigned BusStateRunsBit = 0;
  localparam int unsigned BusLastErrorAddressBit = 0;
  localparam int unsigned BusLastErrorWriteBit = 16;
  localparam int unsigned BusLastErrorGaveUpBit = 17;

  /// What the host has written.
  typedef struct packed {
    logic control;
  } bus_written_t;

  /// What the unit says.
  typedef struct packed {
    logic [15:0] shape;
    logic state;
  } bus_shown_t;

  /// What the unit counts in this cycle.
  typedef struct packed {
    logic refused;
    logic gave_up;
  } bus_counted_t;

  /// What the unit writes in this cycle; `_valid` says that it does.
  typedef struct packed {
    logic last_error_valid;
    logic [17:0] last_error;
  } bus_kept_t;

  // Block crossbar: offsets from its base.
  localparam logic [15:0] REG_CROSSBAR_OWN_NODE = 16'h0000;
  localparam logic [15:0] REG_CROSSBAR_INPUTS = 16'h0004;
  localparam logic [15:0] REG_CROSSBAR_PATIENCE = 16'h0008;
  localparam logic [15:0] REG_CROSSBAR_LIMITS = 16'h000C;
  localparam logic [15:0] REG_CROSSBAR_STATE = 16'h0010;
  localparam logic [15:0] REG_CROSSBAR_TAP_SELECT = 16'h0014;
  localparam logic [15:0] REG_CROSSBAR_TAP_DATA = 16'h0018;
  localparam logic [15:0] REG_CROSSBAR_TAP_WORD = 16'h0020;
  localparam logic [15:0] REG_CROSSBAR_TAP_STORE = 16'h0028;
  localparam logic [15:0] REG_CROSSBAR_GLOBALS = 16'h0100;
  localparam logic [15:0] REG_CROSSBAR_GROUPS = 16'h0400;
  localparam logic [15:0] REG_CROSSBAR_LOCALS = 16'h1000;
  localparam int unsigned CrossbarLimitsLastNodeBit = 0;
  localparam int unsigned CrossbarLimitsLastUnitBit = 16;
  localparam int unsigned CrossbarStateReadyBit = 0;
  localparam int unsigned CrossbarTapSelectUnitBit = 0;
  localparam int unsigned CrossbarTapSelectAddressBit = 4;

  /// What the host has written.
  typedef struct packed {
    logic [9:0] inputs;
    logic [31:0] patience;
    logic [18:0] limits;
    logic [6:0] tap_select;
    logic [63:0] tap_data;
  } crossbar_written_t;

  /// What the host writes in this cycle; `_valid` says that it does.
  typedef struct packed {
    logic own_node_valid;
    logic [15:0] own_node;
    logic tap_store_valid;
    logic tap_store;
    logic globals_valid;
    logic [5:0] globals_index;
    logic [31:0] globals;
    logic groups_valid;
    logic [7:0] groups_index;
    logic [31:0] groups;
    logic locals_valid;
    logic [9:0] locals_index;
    logic [31:0] locals;
  } crossbar_command_t;

  /// What the unit says.
  typedef struct packed {
    logic state;
    logic [63:0] tap_word;
  } crossbar_shown_t;

  // Block crossbar_unit: offsets from its base.
  localparam logic [15:0] REG_CROSSBAR_UNIT_CHANNELS = 16'h0000;
  localparam logic [15:0] REG_CROSSBAR_UNIT_CUT_THROUGH = 16'h0004;
  localparam logic [15:0] REG_CROSSBAR_UNIT_SENT = 16'h0008;
  localparam logic [15:0] REG_CROSSBAR_UNIT_REFUSED = 16'h0010;
  localparam logic [15:0] REG_CROSSBAR_UNIT_DROPPED = 16'h0014;
  localparam logic [15:0] REG_CROSSBAR_UNIT_UNFIT = 16'h0018;

  /// What the host has written.
  typedef struct packed {
    logic [11:0] channels;
    logic cut_through;
  } crossbar_unit_written_t;

  /// What the unit counts in this cycle.
  typedef struct packed {
    logic sent;
    logic refused;
    logic dropped;
    logic unfit;
  } crossbar_unit_counted_t;

  // Block crossbar_port: offsets from its base.
  localparam logic [15:0] REG_CROSSBAR_PORT_UNROUTABLE = 16'h0000;
  localparam logic [15:0] REG_CROSSBAR_PORT_CIRCLED = 16'h0004;
  localparam logic [15:0] REG_CROSSBAR_PORT_DISCARDED = 16'h0008;
  localparam logic [15:0] REG_CROSSBAR_PORT_MALFORMED = 16'h000C;
  localparam logic [15:0] REG_CROSSBAR_PORT_BROKEN = 16'h0010;

  /// What the unit counts in this cycle.
  typedef struct packed {
    logic unroutable;
    logic circled;
    logic discarded;
    logic malformed;
    logic broken;
  } crossbar_port_counted_t;

  // Block link: offsets from its base.
  localparam logic [15:0] REG_LINK_CONTROL = 16'h0000;
  localparam logic [15:0] REG_LINK_STATE = 16'h0004;
  localparam logic [15:0] REG_LINK_EVENTS = 16'h0008;
  localparam logic [15:0] REG_LINK_SNAPSHOT = 16'h000C;
  localparam logic [15:0] REG_LINK_SENT = 16'h0010;
  localparam logic [15:0] REG_LINK_ANSWERED = 16'h0018;
  localparam logic [15:0] REG_LINK_RESENT = 16'h0020;
  localparam logic [15:0] REG_LINK_DAMAGED = 16'h0024;
  localparam logic [15:0] REG_LINK_DROPPED = 16'h0028;
  localparam logic [15:0] REG_LINK_EXCESS = 16'h002C;
  localparam logic [15:0] REG_LINK_UPS = 16'h0030;
  localparam logic [15:0] REG_LINK_DOWNS = 16'h0034;
  localparam logic [15:0] REG_LINK_STARVED = 16'h0038;
  localparam int unsigned LinkControlOnBit = 0;
  localparam int unsigned LinkStateUpBit = 0;
  localparam int unsigned LinkStateNumberedBit = 1;
  localparam int unsigned LinkStateCreditBit = 16;
  localparam int unsigned LinkEventsWentUpBit = 0;
  localparam int unsigned LinkEventsWentDownBit = 1;
  localparam int unsigned LinkEventsDamagedBit = 2;
  localparam int unsigned LinkEventsDroppedBit = 3;
  localparam int unsigned LinkEventsExcessBit = 4;

  /// What the host has written.
  typedef struct packed {
    logic control;
  } link_written_t;

  /// What the host writes in this cycle; `_valid` says that it does.
  typedef struct packed {
    logic snapshot_valid;
    logic snapshot;
  } link_command_t;

  /// What the unit says.
  typedef struct packed {
    logic [27:0] state;
  } link_shown_t;

  /// Bits that the unit sets.
  typedef struct packed {
    logic [4:0] events;
  } link_raised_t;

  /// What the unit counts in this cycle.
  typedef struct packed {
    logic sent;
    logic answered;
    logic resent;
    logic damaged;
    logic dropped;
    logic excess;
    logic ups;
    logic downs;
    logic [3:0] starved;
  } link_counted_t;

endpackage
