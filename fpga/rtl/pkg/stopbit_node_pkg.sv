/// How the units of a node are joined. fpga/rtl/node/README.md.
package stopbit_node_pkg;
  import stopbit_htax_pkg::*;

  // Ports of HTAX. The first three are the host's channels, the fourth is the refuser's.
  localparam logic [3:0] HostPosted    = 4'd0;
  localparam logic [3:0] HostRequests  = 4'd1;
  localparam logic [3:0] HostResponses = 4'd2;
  localparam logic [3:0] Requester     = 4'd4;
  localparam logic [3:0] Responder     = 4'd5;
  localparam logic [3:0] Completer     = 4'd6;
  localparam logic [3:0] Translation   = 4'd7;
  localparam logic [3:0] Commands      = 4'd8;
  localparam logic [3:0] Messages      = 4'd9;
  localparam int unsigned HtaxUnits    = 6;

  // Units of the network.
  localparam int unsigned NetworkUnits  = 2;
  localparam int unsigned MessageUnit   = 0;
  localparam int unsigned TransferUnit  = 1;

  // Writes on their way to the host, counted modulo 2^WriteBits; always fewer than half of that.
  localparam int unsigned WriteBits = 10;
  typedef logic [WriteBits-1:0] writes_t;
  typedef struct packed {
    writes_t taken;    // entries that the units have begun
    writes_t handled;  // of these, packets that were sent or dropped
    writes_t sent;     // packets that were sent
    writes_t gone;     // of these, those that the host has
  } node_writes_t;

  // What belongs together in the stream of writes: words of one line of memory, or a notification.
  typedef struct packed {
    logic        is_notice;
    logic [3:0]  count;    // words
    logic [7:0]  mask;     // bytes of the word, if it is one
    logic [51:0] address;
  } node_entry_t;

  // Notification rings: host/nic/queue/page.hpp.
  localparam int unsigned RingBits = 6;  // 64 lines

  localparam logic [3:0] TriggerNotices = 4'd2;  // a port has read notifications (Froening table 4.3)

  // What the message unit counts: a pulse each, besides `holds`.
  typedef struct packed {
    logic       sent;
    logic       misshapen;        // a port's message: fewer or more words than it says
    logic       foreign;          // a packet for another node or unit
    logic       malformed;
    logic       crowded;          // a long message beyond those that may be incomplete
    logic       unfinished;
    logic       failed;           // memory or translation did not answer
    logic       late;
    logic       bad_store;        // a write to a port's page that is neither limit nor part
    logic       stray_part;       // words outside of a part
    logic       bad_translation;
    logic [1:0] holds;            // by priority: a message waits for a segment
  } node_message_events_t;

  // What a node counts: a pulse each, besides `error`, `waits` and what is said above.
  typedef struct packed {
    logic       ended;            // remote memory access, stopbit_rma
    logic [4:0] error;            // with it
    logic [1:0] served;
    logic [1:0] refused;
    logic       stale;
    logic [1:0] strange;
    logic [1:0] damaged;
    logic [2:0] malformed;
    logic [1:0] late;
    logic [1:0] expired;
    logic       waits;
    logic       hit;              // translation, stopbit_atu
    logic       miss;
    logic       fault;
    logic       failed;
    logic       malformed_message;
    logic       refused_message;
    logic       late_entry;
    logic       unasked_entry;
    logic [1:0] bad_command;      // queue of commands, stopbit_queue
    logic [2:0] stale_command;
    logic       late_command;
    logic       expired_command;
    node_message_events_t messages;
    logic       dropped_notice;   // no room in a port's ring
    logic       lost_write;       // beyond the addresses of HTAX
    logic       foreign;          // a packet of a class that the unit does not have
    logic       unasked;          // of the host: a response to no request
    logic       refused_packet;   // ... for no unit
    logic       stray_packet;     // for a channel or port that does not exist
    logic       sent;             // network: a packet of a unit
    logic       network_loss;     // one that the network dropped or refused, or a peer that broke its rules
  } node_events_t;

  // A header of a posted packet: a mask takes the places of origin and tag.
  function automatic htax_header_t posted(logic [47:0] address, logic [3:0] count, logic [7:0] mask);
    return '{error: 1'b0, channel: POSTED, length: count, origin: {1'b0, mask[7:5]}, tag: mask[4:0], address: address};
  endfunction
endpackage
