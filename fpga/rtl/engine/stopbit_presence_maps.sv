/// The stack of presence maps: the map on top with its next bit first, where it begins in the datagram, and what waits
/// below.
module stopbit_presence_maps
  import stopbit_pkg::*;
(
  input  logic                  clk_i,
  input  logic                  advance_i,  // what follows is done in this cycle
  input  logic                  clear_i,    // before anything else: the stack is empty
  input  logic                  push_i,
  input  logic [MaxMapBits-1:0] map_i,
  input  logic                  has_more_i,  // set bits after these
  input  logic [16:0]           begin_i,
  input  logic [1:0]            take_i,     // bits off the top
  input  logic                  restore_i,  // to a depth
  input  logic [4:0]            restore_depth_i,
  output logic [MaxMapBits-1:0] map_o,      // what lies after its end is 0
  output logic                  has_more_o, // as it was pushed
  output logic [16:0]           begin_o,
  output logic [4:0]            depth_o     // after clear_i
);
  typedef struct packed {
    logic [16:0]           first_byte;
    logic                  has_more;
    logic [MaxMapBits-1:0] bits;
  } map_t;
  map_t map_d, map_q, maps[MaxMapDepth+1];
  logic [4:0] depth_d, depth_q;
  assign map_o   = map_q.bits;
  assign has_more_o = map_q.has_more;
  assign begin_o    = map_q.first_byte;
  assign depth_o = clear_i ? '0 : depth_q;

  always_comb begin
    depth_d = depth_o;
    map_d      = map_q;
    map_d.bits = map_q.bits << take_i;
    if (push_i) begin
      depth_d = depth_o + 5'd1;
      map_d   = '{first_byte: begin_i, has_more: has_more_i, bits: map_i};
    end else if (restore_i) begin
      depth_d = restore_depth_i;
      if (restore_depth_i < depth_o) map_d = maps[restore_depth_i];
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance_i) begin
      map_q   <= map_d;
      depth_q <= depth_d;
      if (push_i) maps[depth_o] <= map_q;
    end
  end
endmodule
