/// Packets between the units of a card, in phits of 64 bits: a header, and as many further phits as its length says. So
/// no packet has more than MaxPhits, whatever a unit does. Fields and their places are ours; channels, tags and origins
/// are those of HTAX's packets (HToC).
package stopbit_htax_pkg;

  localparam int unsigned Channels = 4;
  localparam int unsigned MaxPhits = 16;
  localparam int unsigned Tags     = 32;
  localparam int unsigned TagWidth = 5;
  localparam int unsigned WritePhits = 8;  // of data, in a packet to or from the host's bus

  localparam logic [1:0] POSTED      = 2'd0;
  localparam logic [1:0] NONPOSTED   = 2'd1;
  localparam logic [1:0] RESPONSE    = 2'd2;
  localparam logic [1:0] TRANSLATION = 2'd3;  // to and from the address translation unit

  // Posted packets have no response: there {origin[2:0], tag} is the mask of bytes, if they have one phit of data. The
  // phit of a request says how many are wanted.
  typedef struct packed {
    logic        error;    // no unit takes it; of a response: refused
    logic [1:0]  channel;
    logic [3:0]  length;   // further phits
    logic [3:0]  origin;   // port to which a response goes
    logic [4:0]  tag;
    logic [47:0] address;  // of bytes
  } htax_header_t;

  typedef struct packed {
    logic        enable;
    logic [47:0] first;
    logic [47:0] last;     // the last byte, too, is in it
    logic [3:0]  target;
    logic [3:0]  channels; // that may go there
  } htax_interval_t;

endpackage
