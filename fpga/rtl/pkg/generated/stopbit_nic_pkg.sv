/// What units share with the software. Made from host/nic/protocol/*.def and host/nic/error.def by `stopbit_nic_package`;
/// do not edit.
package stopbit_nic_pkg;
  localparam int unsigned PageBits = 12;  // byte in a page
  localparam int unsigned EntryBits = 18;  // entry in a table
  localparam int unsigned TableBits = 9;  // table of a network logical address
  localparam int unsigned NlaPageBits = 27;  // page of a network logical address: table and entry
  localparam int unsigned NumberBits = 40;  // number of a page of a node's memory
  localparam int unsigned Units = 3;  // units that hold translations: requester, responder, completer
  localparam int unsigned AtsTags = 32;  // translations that a unit may have asked for at a time
  localparam int unsigned AtsFlushes = 8;  // flushes under way at a time
  localparam int unsigned TagMasks = 8;  // different masks of receives that the tag unit can hold at a time
  localparam int unsigned TagStampBits = 56;  // clock of the tag unit, a step for each receive: more than 70 years

  // Operations of messages.
  localparam logic [2:0] ATS_TRANSLATE_REQUEST = 3'd1;  // unit to ATU: which page is this
  localparam logic [2:0] ATS_TRANSLATE_RESPONSE = 3'd2;  // ATU to unit: the page, or an error
  localparam logic [2:0] ATS_FLUSH_REQUEST = 3'd3;  // ATU to unit: keep no translation of this page
  localparam logic [2:0] ATS_FLUSH_RESPONSE = 3'd4;  // unit to ATU: none is kept or in use
  localparam logic [2:0] TAG_POST = 3'd1;  // a receive: takes the oldest record that matches, a persistent one all of them; else it stays
  localparam logic [2:0] TAG_ARRIVE = 3'd2;  // a record: goes to the oldest receive that matches; else it stays
  localparam logic [2:0] TAG_SERVE = 3'd3;  // a record that cannot stay
  localparam logic [2:0] TAG_FIND = 3'd4;  // the oldest record that a receive would take: out, or left in
  localparam logic [2:0] TAG_CANCEL = 3'd5;  // takes a receive out, by its name
  localparam logic [2:0] TAG_DUMP = 3'd6;  // takes everything out, for software
  localparam logic [2:0] TAG_LOAD = 3'd7;  // a receive with its stamp, or a record, back from software: stays, without a match
  localparam logic [2:0] TAG_ANSWER_STORED = 3'd1;  // it stays
  localparam logic [2:0] TAG_ANSWER_MATCHED = 3'd2;  // the receive for this record; taken out unless it is persistent
  localparam logic [2:0] TAG_ANSWER_RECORD = 3'd3;  // the record for this receive, or the next one of a dump
  localparam logic [2:0] TAG_ANSWER_RECEIVE = 3'd4;  // the receive that was cancelled, or the next one of a dump
  localparam logic [2:0] TAG_ANSWER_NONE = 3'd5;  // nothing matches; or the end of a dump
  localparam logic [2:0] TAG_ANSWER_FULL = 3'd6;  // no room: nothing was stored
  localparam logic [2:0] TAG_ANSWER_INVALID = 3'd7;  // no command, or a stamp that is not higher than all before

  // Codes of errors.
  localparam logic [4:0] ERR_NOERR = 5'd0;  // done
  localparam logic [4:0] ERR_CMD_INV = 5'd1;  // the command is unknown, or one of its fields is out of range
  localparam logic [4:0] ERR_OVPID_INV = 5'd2;  // the origin's port is not open
  localparam logic [4:0] ERR_ROUTE_INV = 5'd3;  // there is no such node
  localparam logic [4:0] ERR_OWINID_INV = 5'd4;  // the origin's window is not open
  localparam logic [4:0] ERR_OWINID = 5'd5;  // the origin's memory is not registered for this
  localparam logic [4:0] ERR_OOFFSET = 5'd6;  // misaligned offset at the origin
  localparam logic [4:0] ERR_OLENGTH = 5'd7;  // misaligned length at the origin
  localparam logic [4:0] ERR_TVPID_INV = 5'd8;  // the target's port is not open
  localparam logic [4:0] ERR_TWINID_INV = 5'd9;  // the target's window is not open
  localparam logic [4:0] ERR_TWINID_CAPA = 5'd10;  // wrong capability
  localparam logic [4:0] ERR_TWINID = 5'd11;  // outside the target's window, or without the right to it
  localparam logic [4:0] ERR_TOFFSET = 5'd12;  // misaligned offset at the target
  localparam logic [4:0] ERR_TLENGTH = 5'd13;  // misaligned length at the target
  localparam logic [4:0] ERR_ROUTE_BROKEN = 5'd14;  // the node does not answer
  localparam logic [4:0] ERR_POSTED_PA = 5'd15;  // physical address not allowed for a posted receive
  localparam logic [4:0] ERR_POSTED_PA_INV = 5'd16;  // invalid physical address of a posted receive
  localparam logic [4:0] ERR_POSTED_TRUNC = 5'd17;  // message truncated
  localparam logic [4:0] ERR_TWINID_LOCKED = 5'd18;  // the target's window is locked by another port
  localparam logic [4:0] ERR_QUEUE_FULL = 5'd19;  // no room in the target's mailbox or notification ring
  localparam logic [4:0] ERR_TFAULT = 5'd20;  // the target's memory is not registered, or no longer
  localparam logic [4:0] ERR_PDID = 5'd21;  // origin and target are of different protection domains

  // a message of address translation: a packet of HTAX that is a header alone (Nuessle 5.3)
  typedef struct packed {
    logic error;  // HTAX: no unit takes it
    logic [1:0] channel;  // HTAX: 3, the channel of translation (Nuessle 5.3)
    logic [3:0] length;  // HTAX: further phits, 0
    logic [3:0] origin;  // HTAX: the port to which a response goes
    logic [4:0] tag;  // HTAX: comes back with the response
    logic [2:0] operation;  // which of the four (ours)
    logic [44:0] body;  // by operation, below
  } ats_t;

  // body of a TranslateRequest; places are ours
  typedef struct packed {
    logic [1:0] access;  // 1 read, 2 write, 3 both (Nuessle 5.3)
    logic [15:0] vpid;  // port for which the unit asks (Nuessle 5.3)
    logic [26:0] page;  // network logical address without its byte (Nuessle 5.3)
  } translate_request_t;

  // body of a TranslateResponse; places are ours
  typedef struct packed {
    logic [4:0] error;  // code of error.def; 0: the page is valid
    logic [39:0] number;  // number of the page (Nuessle 5.3), 0 with an error
  } translate_response_t;

  // body of a FlushRequest and of its response; places are ours
  typedef struct packed {
    logic [17:0] zero0;
    logic [26:0] page;  // as in a request (Nuessle 5.3)
  } flush_t;

  // entry of a table in memory; all 0: none (Nuessle 5.3, figure 5-8)
  typedef struct packed {
    logic [15:0] owner;  // VPID that may use it (high-order bits: Nuessle 5.3)
    logic [4:0] zero0;
    logic [39:0] number;  // number of the page (Nuessle 5.3)
    logic [1:0] access;  // 1 read, 2 write, 3 both (lowest-order bits: Nuessle 5.3)
    logic present;  // an entry (ours)
  } gat_entry_t;

  // register of a table: where it is in memory (Nuessle 5.3: 32 bits)
  typedef struct packed {
    logic present;  // a table (ours)
    logic [30:0] address;  // bits 51 to 21 of its address: tables of 2 MiB, aligned (Nuessle 5.3)
  } gat_base_t;
endpackage
