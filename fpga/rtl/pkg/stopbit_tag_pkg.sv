/// Commands to the tag unit and its answers. The class beside it: host/nic/tag.
package stopbit_tag_pkg;
  import stopbit_nic_pkg::*;

  // What a record is sorted by; as a mask, the bits of it that are compared.
  typedef struct packed {
    logic [31:0] channel;
    logic [31:0] template_id;
    logic [63:0] value;
  } tag_header_t;

  typedef struct packed {
    tag_header_t header;
    logic [63:0] id;  // where the record is
  } tag_record_t;

  typedef logic [TagStampBits-1:0] tag_stamp_t;

  typedef struct packed {
    logic [2:0]  operation;   // TAG_*
    logic        persistent;  // Post, Load: the receive stays after a match. Find: the record stays
    logic        is_record;   // Load
    logic [63:0] id;
    tag_header_t header;      // of a record, or what a receive wants
    tag_header_t mask;        // of a receive
    tag_stamp_t  stamp;       // Load of a receive
  } tag_command_t;

  // Fields without a meaning repeat the command's.
  typedef struct packed {
    logic [2:0]  kind;        // TAG_ANSWER_*
    logic        last;        // of this command
    logic        persistent;  // a receive:
    logic [63:0] receive_id;
    tag_header_t wanted;
    tag_header_t mask;
    tag_stamp_t  stamp;       // of Matched and Receive
    tag_record_t record;
  } tag_answer_t;
endpackage
