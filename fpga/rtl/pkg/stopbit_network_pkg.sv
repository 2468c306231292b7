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
  localparam int unsigned Groups   = 256;  // of multicast

  // CRC-16 (polynomial 0x1021, all ones at first) of a start cell without its own 16 bits, the highest bit first.
  function automatic logic [15:0] start_crc(logic [47:0] bits);
    logic [15:0] crc;
    crc = '1;
    for (int i = 47; i >= 0; i--) crc = {crc[14:0], 1'b0} ^ ((crc[15] ^ bits[i]) ? 16'h1021 : 16'h0000);
    return crc;
  endfunction

endpackage
