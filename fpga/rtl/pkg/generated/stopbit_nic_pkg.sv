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
  localparam int unsigned VeloVpidBits = 10;  // port of a message
  localparam int unsigned VeloPacketWords = 31;  // of a message in one packet: 248 bytes
  localparam int unsigned VeloPartWords = 30;  // of a message in each packet but the last, if it needs several
  localparam int unsigned VeloMessageWords = 256;  // of the longest message
  localparam int unsigned RmaSlots = 64;  // commands of a node that wait for an answer, in hardware
  localparam int unsigned RmaDataWords = 23;  // of data in a packet between units in hardware: 256 bytes with header and source
  localparam int unsigned TagMasks = 8;  // different masks of receives that the tag unit can hold at a time
  localparam int unsigned TagStampBits = 56;  // clock of the tag unit, a step for each receive: more than 70 years

  // Operations of messages.
  localparam logic [2:0] ATS_TRANSLATE_REQUEST = 3'd1;  // unit to ATU: which page is this
  localparam logic [2:0] ATS_TRANSLATE_RESPONSE = 3'd2;  // ATU to unit: the page, or an error
  localparam logic [2:0] ATS_FLUSH_REQUEST = 3'd3;  // ATU to unit: keep no translation of this page
  localparam logic [2:0] ATS_FLUSH_RESPONSE = 3'd4;  // unit to ATU: none is kept or in use
  localparam logic [7:0] RMA_PUT = 8'd3;  // registered memory into a window (Nuessle 7.5.3)
  localparam logic [7:0] RMA_IMMEDIATE_PUT = 8'd4;  // a word into a window (Nuessle 7.5.3)
  localparam logic [7:0] RMA_NOTIFICATION_PUT = 8'd5;  // a word into a notification (Nuessle 7.5.3)
  localparam logic [7:0] RMA_GET = 8'd6;  // from a window into registered memory (Nuessle 7.5.3)
  localparam logic [7:0] RMA_FETCH_ADD = 8'd8;  // adds to a word, gives what it was (Froening table 2.2)
  localparam logic [7:0] RMA_COMPARE_SWAP = 8'd9;  // changes a word if it is what was expected (Froening table 2.2)
  localparam logic [7:0] RMA_FETCH_COMPARE_ADD = 8'd10;  // the lock: adds if not above a limit (Nuessle 7.5.6)
  localparam logic [7:0] RMA_LOCK_WINDOW = 8'd11;  // refuses a window to others; not carried out in hardware
  localparam logic [7:0] RMA_UNLOCK_WINDOW = 8'd12;  // not carried out in hardware
  localparam logic [7:0] RMA_SIGNAL = 8'd13;  // not carried out in hardware
  localparam logic [7:0] RMA_SWAP = 8'd15;  // changes a word, gives what it was
  localparam logic [7:0] RMA_SYNCHRONIZE = 8'd16;  // not carried out in hardware
  localparam logic [7:0] RMA_PUT_WORDS = 8'd17;  // not carried out in hardware
  localparam logic [7:0] RMA_GET_WORDS = 8'd18;  // not carried out in hardware
  localparam logic [7:0] RMA_ABANDONED = 8'd64;  // packet: the put under way will not go on
  localparam logic [7:0] RMA_DATA = 8'd128;  // packet: a piece of what a get asked for
  localparam logic [7:0] RMA_RESULT = 8'd129;  // packet: of everything else, and of a get that was refused
  localparam logic [7:0] RMA_REFUSAL = 8'd130;  // packet: a command that waits for no answer was refused; its word is the kind
  localparam logic [7:0] TELLER_REQUESTER = 8'd1;  // the memory of the origin may be used again, or its command was refused
  localparam logic [7:0] TELLER_COMPLETER = 8'd2;  // data have arrived here
  localparam logic [7:0] TELLER_RESPONDER = 8'd3;  // memory here was read, or changed
  localparam logic [7:0] TELLER_ACKNOWLEDGE = 8'd4;  // the target has carried out the command, or refused it
  localparam logic [2:0] TAG_POST = 3'd1;  // a receive: takes the oldest matching record, or all if persistent; else it stays
  localparam logic [2:0] TAG_ARRIVE = 3'd2;  // a record: goes to the oldest receive that matches; else it stays
  localparam logic [2:0] TAG_SERVE = 3'd3;  // a record that cannot stay
  localparam logic [2:0] TAG_FIND = 3'd4;  // the oldest record that a receive would take: out, or left in
  localparam logic [2:0] TAG_CANCEL = 3'd5;  // takes a receive out, by its name
  localparam logic [2:0] TAG_DUMP = 3'd6;  // takes everything out, for software
  localparam logic [2:0] TAG_LOAD = 3'd7;  // a receive with its stamp, or a record, back from software: stays
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

  // first word of a message as its port writes it (Geib 4.6.3, figure 4.17); places are ours
  typedef struct packed {
    logic [15:0] target;  // node, or group
    logic multicast;  // the target is a group
    logic [9:0] vpid;  // port of that node
    logic [1:0] kind;  // message type tag
    logic [7:0] tag;  // user tag
    logic announce;  // interrupt request; here a notification
    logic erroneous;  // the sender cut it short (ours)
    logic [12:0] zero0;
    logic [11:0] length;  // bytes, 1 to 2048
  } velo_command_t;

  // second word of a packet, after its start (Geib 4.6.3, figure 4.18); places are ours
  typedef struct packed {
    logic [15:0] node;  // the sender's; its node writes it
    logic [9:0] vpid;  // the sender's port; its node writes it
    logic [1:0] kind;  // message type tag
    logic [7:0] tag;  // user tag
    logic announce;  // interrupt request
    logic [10:0] length;  // of the message, bytes minus 1
    logic [15:0] domain;  // protection domain of the sender; its node writes it
  } velo_wire_t;

  // third word of the packets of a message that needs several (ours)
  typedef struct packed {
    logic [55:0] zero0;
    logic [7:0] offset;  // of its first word in the message, in words
  } velo_part_t;

  // status word, the last of a slot in memory (Geib 4.6.4, figure 4.22); places are ours
  typedef struct packed {
    logic [7:0] lap;  // 1 to 255, changes each time around (ours; the source has a bit that is 1)
    logic erroneous;  // EOR
    logic is_last;  // EOM: the last slot of the message
    logic [1:0] kind;  // message type tag
    logic [11:0] length;  // bytes
    logic [7:0] tag;  // user tag
    logic [15:0] vpid;  // the sender's port
    logic [15:0] node;  // the sender's node
  } velo_slot_t;

  // word before the header: where the packet is from (ours; links in software say it)
  typedef struct packed {
    logic [47:0] zero0;
    logic [15:0] node;  // node
  } rma_source_t;

  // options of a command (Nuessle 7.5.2: three for notifications)
  typedef struct packed {
    logic refusal;  // the origin is notified if the target refuses (ours)
    logic [2:0] zero0;
    logic acknowledge;  // the origin is notified when it is done (Froening 4.2)
    logic responder;  // notification by the responder (Nuessle 7.5.2)
    logic completer;  // notification by the completer (Nuessle 7.5.2)
    logic requester;  // notification by the requester (Nuessle 7.5.2)
  } rma_modifiers_t;

  // word 0 of a header; places are ours
  typedef struct packed {
    logic [15:0] target_vpid;  // port that it is for (Nuessle 7.5.2)
    logic [15:0] source_vpid;  // port that it is from (Nuessle 7.5.2)
    logic [7:0] error;  // of an answer: a code of error.def
    logic [7:0] modifiers;  // RmaModifiers
    logic [7:0] kind;  // an operation of the group Rma
    logic [7:0] service;  // 1: remote memory access (ours)
  } rma_kind_t;

  // word 1 of a header; places are ours
  typedef struct packed {
    logic [31:0] request;  // comes back with the answer (ours)
    logic [15:0] domain;  // protection domain of the origin (Froening 5.1)
    logic [15:0] window;  // of the target (Froening 5.5); of a result: 1 if the word was changed
  } rma_place_t;

  // word 5 of a header; places are ours
  typedef struct packed {
    logic [31:0] at;  // where the data of this packet are in the whole, in bytes
    logic [31:0] length;  // of the whole, in bytes
  } rma_extent_t;

  // word 0 of a command (queue/command.hpp); places are ours
  typedef struct packed {
    logic [15:0] window;  // of the target (Froening 5.5)
    logic [15:0] node;  // that it goes to (Nuessle 7.5.2)
    logic [15:0] vpid;  // that it is for (Nuessle 7.5.2)
    logic [7:0] modifiers;  // RmaModifiers
    logic [7:0] operation;  // an operation of the group Rma
  } rma_command_t;

  // word 0 of a notification (notify/notification.hpp); places are ours
  typedef struct packed {
    logic [15:0] vpid;  // port of the other side (Nuessle 7.5.4)
    logic [15:0] node;  // the other side (Nuessle 7.5.4)
    logic [7:0] success;  // of an atomic operation: 1 if the word was changed (Nuessle 7.5.6)
    logic [7:0] error;  // a code of error.def
    logic [7:0] operation;  // of the command
    logic [7:0] teller;  // a code of the group Teller (Nuessle 7.5.4: class)
  } rma_notice_t;
endpackage
