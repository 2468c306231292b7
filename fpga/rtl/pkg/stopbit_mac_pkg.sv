/// What the input from a MAC hands from the MAC's clock to the kernel's.
package stopbit_mac_pkg;
  /// Up to 64 bytes of a frame. `bad`, with `last`: the MAC found an error, or the frame was cut.
  typedef struct packed {
    logic [63:0]  arrival;  // ns, of the frame's first beat
    logic         bad;
    logic         last;
    logic [6:0]   bytes;
    logic [511:0] data;
  } mac_word_t;
endpackage
