/// Tables and events of the crossbar. fpga/rtl/crossbar/README.md.
package stopbit_switch_pkg;

  localparam int unsigned GlobalEntries = 64;
  localparam int unsigned LocalEntries  = 1024;
  localparam int unsigned Groups        = 256;
  localparam int unsigned EntryLinks    = 6;    // that an entry can name
  localparam logic [7:0]  MostHops      = 8'd255;

  // Where a node's packets go, by traffic class (Geib 3.8.1). Link l is the port after the units: Units + l.
  typedef struct packed {
    logic [2:0] link;
    logic [1:0] channel;
  } way_t;
  typedef struct packed {
    way_t                  class3;
    way_t                  class2;
    way_t                  class1;
    logic [EntryLinks-1:0] adaptive1;
    way_t                  class0;
    logic [EntryLinks-1:0] adaptive0;
  } route_t;

  // Where a group's packets go (Geib 3.8.4).
  typedef struct packed {
    logic [5:0]            reserved;
    logic                  is_valid;
    logic [3:0]            repetitions;   // not looked at: copies are counted here
    logic [1:0]            unit_channel;
    logic                  to_unit;
    logic [EntryLinks-1:0] channel1;      // by link: the channel out, if it came on channel 1
    logic [EntryLinks-1:0] channel0;      // ... on channel 0
    logic [EntryLinks-1:0] links;
  } group_t;

  typedef enum logic [1:0] {
    TABLE_OWN    = 2'd0,  // the number of this node
    TABLE_GLOBAL = 2'd1,
    TABLE_LOCAL  = 2'd2,
    TABLE_GROUPS = 2'd3
  } table_t;

  // Of an input.
  typedef struct packed {
    logic stray;       // a cell outside of a packet, left out
    logic cut;         // a packet was ended before its end, and marked as damaged
    logic overrun;     // no slot for a cell that the sender had no credit for: the packet is left out, or cut
    logic malformed;   // dropped: a wrong CRC of the start, or a channel that does not exist
    logic unroutable;  // dropped: no such port, or no such group
    logic circled;     // dropped: it has made the most hops
    logic discarded;   // dropped, for a port that is down or stopped
  } input_events_t;

  // CRC-16 (polynomial 0x1021, all ones at first) of a start cell without its own 16 bits, the highest bit first.
  function automatic logic [15:0] start_crc(logic [47:0] bits);
    logic [15:0] crc;
    crc = '1;
    for (int i = 47; i >= 0; i--) crc = {crc[14:0], 1'b0} ^ ((crc[15] ^ bits[i]) ? 16'h1021 : 16'h0000);
    return crc;
  endfunction

endpackage
