/// Rings in host memory as the ring writer sees them. Offsets and marks are those of host/ring/layout.hpp; the bench
/// compares what is written with what the software writes.
package stopbit_ring_pkg;

  localparam logic [1:0] MODE_LOSSY = 2'd1;  // waits for nothing
  localparam logic [1:0] MODE_STALL = 2'd2;  // waits for the host's credit
  localparam logic [1:0] MODE_DROP  = 2'd3;  // without credit, drops the record

  localparam logic [4:0]  MinSlotsLog2 = 5'd4;
  localparam logic [4:0]  MaxSlotsLog2 = 5'd28;
  localparam int unsigned MarksLog2    = 6;

  // Lines of 64 bytes in the header.
  localparam logic [63:6] HEAD_LINE  = 58'd4;  // head, records
  localparam logic [63:6] CLAIM_LINE = 58'd6;
  localparam logic [63:6] MARKS_LINE = 58'd8;  // four marks a line: number, records

  localparam logic [63:0] MARK_CHANGES    = 64'd1;
  localparam logic [15:0] PAD_INDEX       = 16'hFFFF;
  localparam logic [31:0] FIRST_SLOT_TAGS = 32'hFBFA_F9F8;  // the header's tags

  // An event record for readers: records were dropped in front of this ring.
  localparam logic [15:0] EVENT_INDEX = 16'hFFFE;
  localparam logic [63:0] EVENT_LOST  = 64'h00FF_FFFF_FFFF_0008;  // word 4
  localparam logic [55:0] EVENT_TAGS  = 56'hFC_FCFC_FBFA_F9F8;

  typedef struct packed {
    logic [63:0] header;      // address, a multiple of 4096
    logic [63:0] descriptors; // address of the list of segments, a multiple of 64
    logic [31:0] segments;
    logic [4:0]  slots_log2;  // of the number of slots
    logic [15:0] max_slots;   // of a record, at most an eighth of the ring
    logic [1:0]  mode;
    logic [31:0] credit_timeout;  // MODE_STALL: cycles a record waits for credit; 0: for ever
    logic [63:0] credit;      // slots below this number may be claimed; only grows
  } ring_setup_t;

  typedef struct packed {
    logic        running;
    logic        starved;    // MODE_STALL: drops, for there was no credit for too long
    logic [63:0] number;     // of the slot after the last record
    logic [63:0] claim;
    logic [63:0] records;    // published
    logic [63:0] dropped;    // records that found no ring or no room
    logic [63:0] withdrawn;  // records that were begun and taken back, for whatever reason
    logic [31:0] timeouts;   // of these, those whose slots did not come in time
    logic [31:0] malformed;  // of these, those whose slots contradicted each other
    logic [63:0] stalled;    // cycles without credit
  } ring_status_t;

endpackage
