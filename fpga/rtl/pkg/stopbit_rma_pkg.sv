/// What the parts of the units of remote memory access pass to each other. fpga/rtl/rma/README.md.
package stopbit_rma_pkg;
  import stopbit_nic_pkg::*;

  localparam int unsigned SlotWidth   = $clog2(RmaSlots);
  localparam int unsigned HeaderWords = 8;
  localparam int unsigned AddressBits = PageBits + NumberBits;  // of a node's memory
  localparam int unsigned NlaBits     = PageBits + NlaPageBits;
  localparam logic [31:0] MaxLength   = 32'h10_0000;            // of a transfer, in bytes
  localparam logic [7:0]  Service     = 8'd1;
  localparam logic [1:0]  Requests    = 2'd0;                   // traffic classes
  localparam logic [1:0]  Answers     = 2'd1;

  typedef logic [4:0] words_t;  // of data in a packet, up to RmaDataWords

  // The words of a header, the first one lowest.
  typedef struct packed {
    logic [63:0] more;
    logic [63:0] word;
    rma_extent_t extent;
    logic [63:0] offset;
    logic [63:0] capability;
    logic [63:0] tag;
    rma_place_t  place;
    rma_kind_t   kind;
  } rma_header_t;

  // The words of a command, the first one lowest; the last one of software's is not among them.
  typedef struct packed {
    logic [63:0]  more;
    logic [31:0]  mask;
    logic [31:0]  length;
    logic [63:0]  offset;
    logic [63:0]  address;
    logic [63:0]  capability;
    logic [63:0]  tag;
    rma_command_t kind;
  } rma_command_words_t;

  // A port of this node. `life` counts its owners: a late refusal is not for another one.
  typedef struct packed {
    logic        open;
    logic [15:0] domain;
    logic [31:0] life;
  } rma_port_t;

  // A window: the descriptor of Froening (5.5), with the lock and the domains of host/nic/rma.
  typedef struct packed {
    logic               open;
    logic               locked;
    logic [15:0]        owner;
    logic [1:0]         access;
    logic [15:0]        holder_node;
    logic [15:0]        holder;
    logic [NlaBits-1:0] first;
    logic [NlaBits:0]   bytes;
    logic [63:0]        capability;
    logic               has_domain;  // it is open to this one, too
    logic [15:0]        domain;
  } rma_window_t;

  // What is known of a request's target when its header is here.
  typedef struct packed {
    logic [4:0]         port_error;  // of the port alone
    logic [4:0]         error;       // of port, window and bounds; for rights see below
    logic               reads;       // the window may be read,
    logic               writes;      // or written
    logic               locked;      // by another port: counts after the rights
    logic [15:0]        owner;
    logic [NlaBits-1:0] nla;         // where the whole begins
  } rma_target_t;

  // A command that waits for its answer.
  typedef struct packed {
    logic [15:0]        generation;
    logic [15:0]        vpid;
    logic [7:0]         operation;
    logic [7:0]         modifiers;
    logic [15:0]        node;
    logic [15:0]        target;
    logic [15:0]        window;
    logic [31:0]        length;
    logic [NlaBits-1:0] address;
    logic [63:0]        offset;
    logic [63:0]        tag;
  } rma_slot_t;

  // A notification for a port of this node, an event, or both; its words, the first one lowest.
  typedef struct packed {
    logic        tells;
    logic [5:0]  event_number;  // 0: none
    logic [15:0] vpid;
    logic [31:0] length;
    logic [15:0] window;
    logic [63:0] offset;
    logic [63:0] value;
    logic [63:0] tag;
    rma_notice_t head;
  } rma_notice_words_t;
  localparam int unsigned NoticeWords = 5;

  // A word for memory, or of a notification; then the address says for whom it is.
  typedef struct packed {
    logic                   is_notice;
    logic                   is_last;   // of what belongs together
    logic [AddressBits-1:0] address;
    logic [7:0]             strobe;
    logic [63:0]            data;
  } rma_write_t;
  typedef struct packed {
    logic [AddressBits-24:0] zero;
    logic                    tells;
    logic [5:0]              event_number;
    logic [15:0]             vpid;
  } rma_notice_address_t;

  // A word for the network port.
  typedef struct packed {
    logic        is_first;
    logic        is_last;
    logic [63:0] data;
  } rma_word_t;

  // A look-up of the address translation unit.
  typedef struct packed {
    logic [15:0]            vpid;
    logic [NlaPageBits-1:0] page;
    logic [1:0]             access;
  } rma_lookup_t;

  // A read of memory: a line of up to eight words, and an answer's word.
  typedef struct packed {
    logic [4:0]             tag;
    logic [AddressBits-1:3] address;
    logic [2:0]             count;  // of words, less one
  } rma_read_t;
  typedef struct packed {
    logic [4:0]  tag;
    logic        error;
    logic [63:0] data;
  } rma_answer_t;

  function automatic logic is_atomic(logic [7:0] operation);
    return operation == RMA_FETCH_ADD || operation == RMA_COMPARE_SWAP || operation == RMA_FETCH_COMPARE_ADD ||
           operation == RMA_SWAP;
  endfunction
  // Gives something of the target back to its origin.
  function automatic logic is_read(logic [7:0] operation);
    return operation == RMA_GET || is_atomic(operation);
  endfunction
  // The number of an event, or 0: there are 63.
  function automatic logic [5:0] event_of(logic [63:0] more);
    return more < 64'd64 ? more[5:0] : 6'd0;
  endfunction
endpackage
