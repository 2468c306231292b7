/// What the parts of the message unit (VELO) pass to each other, and its tables. fpga/rtl/velo/README.md.
package stopbit_velo_pkg;
  import stopbit_nic_pkg::*;

  localparam int unsigned AddressBits = 48;  // of memory
  localparam int unsigned Banks       = 8;   // messages that a unit holds
  localparam int unsigned BankWidth   = $clog2(Banks);
  localparam int unsigned WordWidth   = $clog2(VeloMessageWords);

  typedef logic [VeloVpidBits-1:0] vpid_t;
  typedef logic [WordWidth:0]      words_t;  // 1 to VeloMessageWords

  // ---- tables, which software writes
  typedef enum logic [2:0] {
    TABLE_PORT   = 3'd0,  // index: VPID
    TABLE_RING   = 3'd1,  // index: segments, VPID, priority
    TABLE_LIMIT  = 3'd2,  // index as of a ring
    TABLE_GROUP  = 3'd3,  // index: group
    TABLE_MEMBER = 3'd4   // index: place in the list of members
  } velo_table_t;

  typedef struct packed {
    logic        is_open;
    logic        is_enabled;
    logic [15:0] domain;
    logic        listens_to_one;
    logic [15:0] only_node;
    vpid_t       only_vpid;
  } velo_port_t;

  // A ring of slots. Without segments it is one piece of memory that goes round; with them it is a list of descriptors.
  typedef struct packed {
    logic        is_used;
    logic        is_virtual;   // addresses are translated, for the port
    logic [1:0]  slot_size;    // 16, 32, 64, 128 bytes
    logic [16:0] places;       // slots; of a ring of segments, descriptors
    logic [47:6] address;      // of the first slot; of the list
    logic [15:0] hold;         // ticks that a message waits for a segment; 0: not at all
  } velo_ring_t;

  typedef struct packed {
    logic        is_used;
    logic [15:0] domain;
    logic [9:0]  first;        // of its members
    logic [7:0]  members;
  } velo_group_t;

  // ---- a message that has arrived
  typedef struct packed {
    logic                 is_high;
    logic                 is_group;
    logic [15:0]          target;  // port, or group
    velo_wire_t           status;
    logic                 is_erroneous;
    logic [BankWidth-1:0] bank;
  } velo_head_t;

  // Where a slot is.
  typedef struct packed {
    logic [47:4] address;
    logic [7:0]  lap;
  } velo_place_t;

  // To be written: a copy of a message. Without slots there is none, and only the bank is given back.
  typedef struct packed {
    velo_wire_t           status;
    logic                 is_erroneous;
    logic [1:0]           slot_size;
    words_t               slots;
    logic                 frees;
    logic [BankWidth-1:0] bank;
  } velo_dump_t;

  // What became of a message at a port.
  typedef struct packed {
    logic [4:0]  error;
    logic        is_erroneous;
    vpid_t       target;
    velo_wire_t  status;
    logic        is_high;
  } velo_report_t;

  // A message that the requester has refused.
  typedef struct packed {
    logic [4:0]    error;
    vpid_t         origin;
    velo_command_t command;
  } velo_refusal_t;

  function automatic words_t words_of(input logic [10:0] length_minus_one);
    return words_t'(length_minus_one[10:3]) + words_t'(1);
  endfunction

endpackage
