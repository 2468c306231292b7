/// Commands on their way from the pages of ports to the units. fpga/rtl/queue/README.md.
package stopbit_queue_pkg;

  localparam int unsigned LineWords  = 8;  // a command of software: queue/command.hpp
  localparam int unsigned EntryWords = 7;  // of it in an entry: the last one is a number of software
  localparam int unsigned LifeWidth  = 4;  // counts the owners of a port
  localparam int unsigned Targets    = 2;  // units that take commands
  localparam int unsigned Messages   = 0;  // the message unit
  localparam int unsigned Transfers  = 1;  // remote memory access
  localparam logic [7:0]  FastSend    = 8'd1;   // operations of a command: the one for the message unit,
  localparam logic [7:0]  LastCommand = 8'd18;  // and the last that is one

  // An address in the window of the queue; higher bits are the window's place. The page is the port, so the mapping says who
  // writes. With `is_short` the rest is a command whose operands are 16 bytes, else `code` and the bits above are of the line.
  // (Nuessle 7.5.2; the place of `is_short` is ours)
  typedef struct packed {
    logic [15:0] vpid;
    logic        is_short;
    logic        by_lines;   // lengths of transfers are in 64 bytes, else in 8
    logic        responder;  // notifications
    logic        completer;
    logic        requester;  // of a message: high priority
    logic [2:0]  code;
    logic [3:0]  offset;
  } queue_address_t;

  // Codes of commands of 16 bytes (Nuessle 7.5.2; the numbers are ours).
  localparam logic [2:0] SHORT_PUT       = 3'd1;
  localparam logic [2:0] SHORT_GET       = 3'd2;
  localparam logic [2:0] SHORT_LOCK      = 3'd3;
  localparam logic [2:0] SHORT_IMMEDIATE = 3'd4;
  localparam logic [2:0] SHORT_NOTIFY    = 3'd5;
  localparam logic [2:0] SHORT_MESSAGE   = 3'd6;  // words: velo_command_t, and one of the message

  // The first word of all others; `rest`: put and get: size 15:10, lock and immediate put: place in the window in units of 4
  // and 8 bytes, notification put: with `window`, the tag.
  typedef struct packed {
    logic [15:0] node;
    logic [15:0] vpid;
    logic [15:0] window;
    logic [15:0] rest;
  } queue_target_t;
  // The second word of put and get, both in units of 8 bytes.
  typedef struct packed {
    logic [27:0] offset;   // in the window
    logic [35:0] address;  // of the origin
  } queue_memory_t;

  // The first word of an entry: what the address and the port's table say. A line has 7 words more, a short command 2.
  typedef struct packed {
    logic [20:0]          zero0;
    logic                 is_counted;  // it takes one of its port's places
    logic [LifeWidth-1:0] life;
    logic                 is_short;
    logic                 by_lines;
    logic                 responder;
    logic                 completer;
    logic                 requester;
    logic [2:0]           code;
    logic [9:0]           zero1;
    logic [15:0]          vpid;
    logic [3:0]           zero2;
  } queue_entry_t;

  // Ports, as the supervisor sets them.
  typedef enum logic [1:0] {PORT_CLOSED = 2'd0, PORT_ENABLED = 2'd1, PORT_DISABLED = 2'd2} queue_state_t;
  typedef struct packed {
    logic [LifeWidth-1:0] life;
    queue_state_t         state;
  } queue_port_t;

  localparam int unsigned PlaceWidth = 7;  // commands of a port that are inside, up to 64

  // Commands in the address of a read, bits 11 to 8; bits 7 to 3 are the parameter (Froening table 4.3).
  localparam logic [3:0] TRIGGER_ISSUE = 4'd0;  // that many commands are in the port's ring in memory
  localparam logic [3:0] TRIGGER_LAST  = 4'd4;  // 1 to 4: snapshot, two pointers, barrier; passed on
  typedef struct packed {
    logic [15:0]          port;
    logic [LifeWidth-1:0] life;
    logic [3:0]           command;
    logic [4:0]           count;
  } queue_trigger_t;

  // The answer to a request: codes of Froening's table 4.4, for both forms.
  localparam logic [3:0] REPLY_NOERR     = 4'd0;
  localparam logic [3:0] REPLY_PARTIAL   = 4'd1;
  localparam logic [3:0] REPLY_FULL      = 4'd2;  // again later
  localparam logic [3:0] REPLY_INVALID   = 4'd3;
  localparam logic [3:0] REPLY_BURST     = 4'd4;  // a read of more or less than one word
  localparam logic [3:0] REPLY_FORBIDDEN = 4'd5;
  localparam logic [3:0] REPLY_DISABLED  = 4'd6;
  typedef struct packed {
    logic [31:0] zero0;
    logic [15:0] room;   // places of the port that are free now
    logic [6:0]  zero1;
    logic [4:0]  count;  // commands that were accepted
    logic [3:0]  code;
  } queue_reply_t;

  // What became of a write that is no command.
  typedef struct packed {
    logic [15:0] vpid;
    logic [4:0]  error;
    logic        gives_up;  // a line that was begun
  } queue_event_t;

endpackage
