/// What the parts of the write-combining buffer pass to each other. fpga/rtl/wcb/README.md.
package stopbit_wcb_pkg;
  import stopbit_nic_pkg::*;

  localparam int unsigned PartWords    = 5;                 // of 64 bits, after head and tag
  localparam int unsigned MessageWords = VeloMessageWords;  // in a slot
  localparam int unsigned RowWords     = 16;                // whose marks lie in one row of memory
  localparam int unsigned Rows         = MessageWords / RowWords;
  localparam int unsigned WordWidth    = $clog2(MessageWords);
  localparam int unsigned RowWidth     = $clog2(Rows);
  localparam int unsigned NumberWidth  = 12;                // of a page's number, however many there are

  typedef logic [NumberWidth-1:0] page_t;

  // The first two words of a part: Command and PartHead of host/nic.
  localparam logic [7:0]  SendPart = 8'd7;
  localparam int unsigned NotifyCompleter = 1, Group = 5, Abort = 6;  // bits of the modifiers
  typedef struct packed {
    logic [15:0] length;  // bytes, 1 to 40
    logic [15:0] node;
    logic [15:0] target;  // port, or group
    logic [7:0]  modifiers;
    logic [7:0]  operation;
  } wcb_head_t;
  typedef struct packed {
    logic [21:0] zero0;
    logic [1:0]  kind;
    logic [11:0] total;   // bytes of the message; read from the part with offset 0
    logic [11:0] offset;  // in bytes
    logic [7:0]  message;
    logic [7:0]  tag;
  } wcb_tag_t;

  // A part, whole.
  typedef struct packed {
    logic                       is_page;    // else its address was no page
    logic                       misshapen;  // its words are fewer or more than its length says
    page_t                      page;
    wcb_head_t                  head;
    wcb_tag_t                   tag;
    logic [PartWords-1:0][63:0] words;
  } wcb_part_t;

  // A message under way.
  typedef struct packed {
    logic [7:0]         message;
    logic [11:0]        total;    // 0: not known yet
    logic [WordWidth:0] words;    // that have come
    logic [11:0]        end_at;   // the furthest byte that has come
    logic [15:0]        since;
    velo_command_t      command;  // if the total is known
    logic [Rows-1:0]    rows;     // whose marks are valid
  } wcb_slot_t;

  // A message that leaves its slot.
  typedef struct packed {
    page_t              page;
    logic               slot;
    logic               is_cut;   // words that are not marked are 0
    logic [Rows-1:0]    rows;
    logic [WordWidth:0] words;
    velo_command_t      command;
  } wcb_leave_t;

  // What became of a part (its page: class and VPID, as its address had them), or of a message that was late.
  typedef struct packed {
    page_t       page;
    logic        is_late;   // no part came: time, or its page was closed
    logic [4:0]  error;
    logic        gives_up;  // a message, whole or not
    logic        leaves;    // a message
    logic [7:0]  message;
  } wcb_event_t;

  // Marks of words that have come: rows with even and odd numbers have a memory each.
  typedef struct packed {
    logic                write;
    logic [RowWidth-2:0] row;
    logic [RowWords-1:0] marks;
  } wcb_row_t;

  function automatic logic [WordWidth:0] words_of(input logic [11:0] bytes);
    words_of = bytes[WordWidth+3:3] + (WordWidth + 1)'(bytes[2:0] != '0);
  endfunction

  // Ports above 1022 are none to the message unit.
  function automatic velo_command_t command_of(input wcb_head_t head, input wcb_tag_t tag);
    logic is_group;
    is_group   = head.modifiers[Group];
    command_of = '{target: is_group ? head.target : head.node, multicast: is_group,
                   vpid: is_group ? '0 : head.target >= 16'd1023 ? '1 : head.target[9:0],
                   kind: tag.kind, tag: tag.tag, announce: head.modifiers[NotifyCompleter], erroneous: 1'b0, zero0: '0,
                   length: tag.total};
  endfunction
endpackage
