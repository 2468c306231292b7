/// Slots at the other end of an output, by channel: a reserve that only this channel can use, and a pool for all.
///
/// A packet may begin if its channel has room for the longest one, of what is left of its reserve and of the pool. All
/// that may be needed is taken then, and what was not needed comes back at its end. What a packet takes is seen by
/// `may_send_o` three cycles later.
module stopbit_crossbar_credits
  import stopbit_link_pkg::*;
#(
  parameter  int unsigned NumChannels = 12,
  parameter  int unsigned Room     = 128,  // slots in all
  parameter  int unsigned Reserve  = 4     // of each channel
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                restart_i,       // all slots are free
  input  logic                take_i,          // for the longest packet
  input  channel_t            take_channel_i,
  input  logic                done_i,          // the packet needed only this many
  input  channel_t            done_channel_i,
  input  logic [2:0]          done_slots_i,
  input  logic                freed_i,         // a slot
  input  channel_t            freed_channel_i,
  output logic [NumChannels-1:0] may_send_o,
  output logic                excess_o         // freed that was not used
);
  localparam int unsigned Width = $clog2(Room + 1);
  typedef logic [Width-1:0] room_t;
  if (Room < NumChannels * Reserve + MaxSlots || Reserve > MaxSlots) begin : gen_bad
    $fatal(1, "stopbit_crossbar_credits: Room is %0d, needs the reserves of %0d channels and %0d more", Room, NumChannels, MaxSlots);
  end

  room_t [NumChannels-1:0] used_q;
  room_t                free_q;

  // What a packet has not needed comes back a cycle after its end, as far as it is still taken: a peer may free too much.
  // Of an honest one more than that is taken, as it cannot have freed the last slot.
  logic [NumChannels-1:0] gives;
  logic                   given, same;
  room_t                  used_by_done;
  logic [2:0]             spare, most, back_d, back_q;
  channel_t               back_channel_q;
  always_comb begin
    used_by_done = '0;
    for (int unsigned i = 0; i < NumChannels; i++) begin
      gives[i] = freed_i && freed_channel_i == channel_t'(i) && used_q[i] != '0;
      if (done_channel_i == channel_t'(i)) used_by_done = used_q[i];
    end
    given  = gives != '0;
    same   = freed_i && freed_channel_i == done_channel_i;
    spare  = 3'(MaxSlots) - done_slots_i;
    most   = used_by_done >= room_t'(7) ? 3'd7 : used_by_done[2:0];
    most   = most <= 3'd1 + 3'(same) ? 3'd0 : most - 3'd1 - 3'(same);
    back_d = !done_i ? '0 : spare < most ? spare : most;
  end

  // What is left of each reserve, and of all: in two cycles, four channels in the first.
  localparam int unsigned Groups = (NumChannels + 3) / 4;
  room_t [NumChannels-1:0] unused, unused_q;
  room_t [Groups-1:0]      some, some_q;
  room_t                   free2_q, kept;
  always_comb begin
    some = '0;
    kept = '0;
    for (int unsigned i = 0; i < NumChannels; i++) begin
      unused[i] = used_q[i] >= room_t'(Reserve) ? '0 : room_t'(Reserve) - used_q[i];
      some[i/4] = some[i/4] + unused[i];
    end
    for (int unsigned i = 0; i < Groups; i++) kept = kept + some_q[i];
  end

  always_ff @(posedge clk_i) begin
    back_channel_q <= done_channel_i;
    excess_o       <= rst_ni && !restart_i && freed_i && !given;
    if (!rst_ni || restart_i) begin
      used_q     <= '0;
      free_q     <= room_t'(Room);
      unused_q   <= '0;
      some_q     <= '0;
      free2_q    <= '0;
      back_q     <= '0;
      may_send_o <= '0;
    end else begin
      for (int unsigned i = 0; i < NumChannels; i++) begin
        used_q[i] <= used_q[i] + (take_i && take_channel_i == channel_t'(i) ? room_t'(MaxSlots) : '0)
                   - (back_channel_q == channel_t'(i) ? room_t'(back_q) : '0) - room_t'(gives[i]);
      end
      free_q   <= free_q - (take_i ? room_t'(MaxSlots) : '0) + room_t'(back_q) + room_t'(given);
      back_q   <= back_d;
      unused_q <= unused;
      some_q   <= some;
      free2_q  <= free_q;
      for (int unsigned i = 0; i < NumChannels; i++) begin
        may_send_o[i] <= {1'b0, free2_q} + {1'b0, unused_q[i]} >= {1'b0, kept} + (Width+1)'(MaxSlots);
      end
    end
  end

`ifndef SYNTHESIS
  room_t sum;
  always_comb begin
    sum = '0;
    for (int unsigned i = 0; i < NumChannels; i++) sum = sum + used_q[i];
  end
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      none_is_lost : assert (free_q + sum == room_t'(Room));
      never_beyond : assert (free_q <= room_t'(Room));
      takes_a_free : assert (!take_i || free_q >= room_t'(MaxSlots));
    end
  end
`endif
endmodule
