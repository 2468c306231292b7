/// What the parts that send records to subscribers of other nodes pass to each other. fpga/rtl/remote/README.md.
package stopbit_remote_pkg;
  // Of host/nic/channel and of host/remote/protocol.hpp.
  localparam int unsigned HeadWords   = 5;         // in front of the slots of a message
  localparam int unsigned Replenish   = 32;        // messages for which a credit comes back
  localparam logic [63:0] CreditEvent = 64'd1;     // that says so
  localparam logic [7:0]  BatchRecords = 8'd1;
  localparam logic [7:0]  BatchEnded   = 8'd2;
  localparam logic [20:0] PairBytes    = 21'd168;  // slots of a channel from here on hold two slots of a record

  // A place in the published ring: number of a slot, and the records before it.
  typedef struct packed {
    logic [63:0] records;
    logic [63:0] number;
  } position_t;

  // Of the first record of a ring: its numbers begin with the second lap.
  function automatic position_t first_position(logic [4:0] slots_log2);
    return '{records: '0, number: 64'd1 << slots_log2};
  endfunction

  // A record that was published.
  typedef struct packed {
    position_t   at;     // where it begins
    logic [15:0] slots;
    logic        phase;  // of its slots
    logic [15:0] store;  // where its slot 0 is kept
  } tapped_t;

  // A subscriber, as the software that spoke with it makes it known: its port, window and channel, and the port of this
  // node that its records come from.
  typedef struct packed {
    logic        open;
    logic [15:0] node;
    logic [15:0] vpid;
    logic [5:0]  event_number;  // signalled for each message
    logic [15:0] window;
    logic [63:0] capability;
    logic [16:0] slots;         // of the channel, from 33 on
    logic [20:0] slot_bytes;    // of each
    logic [15:0] port;          // of this node
    logic [15:0] domain;        // of that port
    logic [31:0] life;
  } subscriber_t;

  // How far a subscriber is. Records, slots, messages, lost: as SubscriptionStatus of host/remote counts them.
  typedef struct packed {
    logic [63:0] begun;     // records before it came
    logic [63:0] lost_from; // while it loses: the first record that is lost
    logic [63:0] sent;      // messages
    logic [16:0] index;     // of the channel's slot that comes next
    logic [31:0] offset;    // of it
    logic [63:0] records;
    logic [63:0] slots;
    logic [63:0] lost;
  } progress_t;

  // A message of a channel: up to two slots of a record, an event of lost records, or a position alone.
  typedef struct packed {
    logic        ends;      // the ring has ended,
    logic [7:0]  how;       // in this way
    logic        is_event;
    logic [63:0] lost;      // its records
    logic [1:0]  slots;
    logic        is_first;  // slot 0 is the first of them
    logic [15:0] store;     // where the first one is kept
    logic [31:0] stamp;
    logic        phase;
    position_t   reached;   // all before it was sent
    logic [63:0] number;    // of the message, from 1
    logic [31:0] offset;    // in the window
  } message_t;
endpackage
