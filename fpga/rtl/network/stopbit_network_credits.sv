/// Slots of 64 bytes in a store, by channel: a reserve that only this channel can use, and a pool for all.
///
/// A slot is taken from the reserve of its channel while there is some, then from the pool, and goes back in the opposite
/// order. A packet may begin if its channel has room for the longest one; it uses slots one by one.
module stopbit_network_credits
  import stopbit_link_pkg::*;
#(
  parameter  int unsigned NumChannels = Channels,
  parameter  int unsigned Room        = 128,  // slots in all
  parameter  int unsigned Reserve     = 4,    // of these, for each channel
  localparam int unsigned Pool        = Room - NumChannels * Reserve
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  output logic [NumChannels-1:0] may_begin_o,  // the longest packet
  output logic [NumChannels-1:0] may_use_o,    // one more slot
  input  logic                   use_i,
  input  channel_t               use_channel_i,
  input  logic                   freed_i,
  input  channel_t               freed_channel_i,
  output logic                   excess_o      // freed that was not used: it does not count
);
  if (Room < NumChannels * Reserve || Reserve + Pool < MaxSlots) begin : gen_bad
    $fatal(1, "stopbit_network_credits: Room is %0d, needs %0d reserves and, in one and what is left, %0d", Room, NumChannels, MaxSlots);
  end
  localparam int unsigned Width = $clog2(Room + 1);
  typedef logic [Width-1:0] room_t;

  // A slot that was taken is counted a cycle later: what may be used follows from both.
  room_t [NumChannels-1:0] used_q;
  room_t                   pool_q;  // left of it
  logic                    use_q;
  channel_t                use_channel_q;

  logic [NumChannels-1:0] uses, frees, from_pool, to_pool;
  logic                   has_pool;  // something is left of it
  assign has_pool = from_pool != '0 ? pool_q > room_t'(1) : pool_q != '0;
  for (genvar i = 0; i < NumChannels; i++) begin : gen_channel
    room_t kept;  // of the reserve
    logic  has_kept;
    assign kept           = used_q[i] < room_t'(Reserve) ? room_t'(Reserve) - used_q[i] : '0;
    assign has_kept       = uses[i] ? kept > room_t'(1) : kept != '0;
    assign may_use_o[i]   = has_kept || has_pool;
    assign may_begin_o[i] = {1'b0, kept} + {1'b0, pool_q} >= (Width + 1)'(MaxSlots) + (Width + 1)'(use_q);
    assign uses[i]        = use_q && use_channel_q == channel_t'(i);
    assign frees[i]       = freed_i && freed_channel_i == channel_t'(i) && (used_q[i] != '0 || uses[i]);
    assign from_pool[i]   = uses[i] && used_q[i] >= room_t'(Reserve);
    assign to_pool[i]     = frees[i] && (uses[i] ? used_q[i] >= room_t'(Reserve) : used_q[i] > room_t'(Reserve));
    always_ff @(posedge clk_i) begin
      if (!rst_ni) used_q[i] <= '0;
      else used_q[i] <= used_q[i] + room_t'(uses[i]) - room_t'(frees[i]);
    end
  end
  always_ff @(posedge clk_i) begin
    use_channel_q <= use_channel_i;
    if (!rst_ni) use_q <= 1'b0;
    else use_q <= use_i;
  end
  assign excess_o = freed_i && frees == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) pool_q <= room_t'(Pool);
    else pool_q <= pool_q - room_t'(from_pool != '0) + room_t'(to_pool != '0);
  end

`ifndef SYNTHESIS
  room_t sum, beyond;
  always_comb begin
    sum    = '0;
    beyond = '0;
    for (int unsigned i = 0; i < NumChannels; i++) begin
      sum    = sum + used_q[i];
      beyond = beyond + (used_q[i] > room_t'(Reserve) ? used_q[i] - room_t'(Reserve) : '0);
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      never_beyond_room : assert (sum <= room_t'(Room));
      pool_is_conserved : assert (pool_q + beyond == room_t'(Pool));
      uses_what_is      : assert (!use_i || may_use_o[use_channel_i]);
    end
  end
`endif
endmodule
