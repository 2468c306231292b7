/// Between a unit and its network port: packets of words of 64 bits. fpga/rtl/network/port.md.
package stopbit_network_pkg;
  import stopbit_link_pkg::channel_t;

  // The first word is a start_t, those after it are payload.
  typedef struct packed {
    channel_t    channel;  // of words that came; of those to be sent the port chooses it
    logic        is_bad;   // with the last word: the packet is damaged
    logic        is_last;
    logic        is_first;
    logic [63:0] data;
  } word_t;

  localparam int unsigned MaxWords = stopbit_link_pkg::MaxPayload + 1;

endpackage
