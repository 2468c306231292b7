/// Decode cores beside each other, as one: a datagram goes to the core with the number of its channel modulo `Engines`, so a
/// channel's datagrams and records keep their order, and its dictionary is in one core. Records of different cores are in
/// no order, and never mixed.
///
/// With one it is the core itself. With more, each has room for `Datagrams` and `Beats`, so that a slow core holds up the
/// others only when its room is full; and for `Slots` of records: a record leaves once it is complete, or once it fills
/// them. So a core that waits in the middle of a record for its bytes holds up no other, unless the record has more than
/// `Slots`. A record of n slots is out n + 2 cycles later than of one core, at least 4.
///
/// All take the same firmware, and read back the same; words in which they differ read back wrong.
module stopbit_engines
  import stopbit_pkg::*;
#(
  parameter  int unsigned Engines    = 1,    // 1, 2 or 4
  parameter  int unsigned Beats      = 512,  // of 16 bytes; both are powers of two
  parameter  int unsigned Datagrams  = 16,
  parameter  int unsigned Slots      = 64,   // a power of two
  localparam int unsigned DoneBits   = $clog2(Engines + 1),
  localparam int unsigned IssuedBits = $clog2(3 * Engines + 1)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  stopbit_load_t         load_i,
  output logic [31:0]           back_data_o,

  input  logic                  valid_i,
  output logic                  ready_o,
  input  stopbit_datagram_t     datagram_i,
  input  stopbit_beat_t         beat_i,

  output logic                  valid_o,
  input  logic                  ready_i,
  output stopbit_slot_t         slot_o,

  output logic                  idle_o,  // none waits to leave; a core may still be at work

  // For counters.
  output logic [DoneBits-1:0]   datagrams_done_o,
  output logic [IssuedBits-1:0] issued_o
);
  if (Engines != 1 && Engines != 2 && Engines != 4) $fatal(1, "stopbit_engines: %0d Engines, needs 1, 2 or 4", Engines);

  if (Engines == 1) begin : gen_one
    assign idle_o = 1'b1;
    stopbit_core i_core (
      .clk_i,
      .rst_ni,
      .load_i,
      .back_data_o,
      .valid_i,
      .ready_o,
      .datagram_i,
      .beat_i,
      .valid_o,
      .ready_i,
      .slot_o,
      .datagram_done_o(datagrams_done_o),
      .issued_o
    );
  end else begin : gen_more
    localparam int unsigned IndexBits = $clog2(Engines);

    logic [Engines-1:0]          put, has_room, wants, moves, idle, done;
    logic [Engines-1:0][1:0]     issued;
    logic [Engines-1:0][31:0]    back_data;
    stopbit_slot_t [Engines-1:0] slot;

    logic [IndexBits-1:0] target;
    assign target  = datagram_i.channel[IndexBits-1:0];
    assign ready_o = has_room[target];

    // Of the record that leaves, from the cycle in which its first slot is offered: what is offered stays.
    logic                 any, inside_q;
    logic [IndexBits-1:0] chosen, granted, owner_q;
    logic [Engines-1:0]   grant;
    assign chosen  = inside_q ? owner_q : granted;
    assign valid_o = inside_q ? wants[owner_q] : any;
    assign slot_o  = slot[chosen];

    // A record that fills the room of its slots wants to leave, and then each slot as it comes.
    logic ends;
    assign ends = slot_o.last || slot_o.aborted;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) inside_q <= 1'b0;
      else if (valid_o) inside_q <= !(ready_i && ends);
    end
    always_ff @(posedge clk_i) begin
      if (!inside_q) owner_q <= granted;
    end

    stopbit_arbiter #(.NumRequesters(Engines)) i_turns (
      .clk_i,
      .rst_ni,
      .stop_i   (inside_q),
      .accept_i (1'b1),
      .request_i(wants),
      .any_o    (any),
      .grant_o  (grant),
      .index_o  (granted)
    );

    for (genvar e = 0; e < Engines; e++) begin : g_engine
      assign put[e]   = valid_i && target == IndexBits'(e);
      assign moves[e] = valid_o && ready_i && chosen == IndexBits'(e);

      stopbit_engine_room #(
        .Beats(Beats), .Datagrams(Datagrams), .Slots(Slots)
      ) i_engine (
        .clk_i,
        .rst_ni,
        .load_i,
        .back_data_o    (back_data[e]),
        .valid_i        (put[e]),
        .ready_o        (has_room[e]),
        .datagram_i,
        .beat_i,
        .inside_i       (inside_q && owner_q == IndexBits'(e)),
        .valid_o        (wants[e]),
        .ready_i        (moves[e]),
        .slot_o         (slot[e]),
        .idle_o         (idle[e]),
        .datagram_done_o(done[e]),
        .issued_o       (issued[e])
      );
    end

    assign idle_o = &idle;
    logic is_same;
    always_comb begin
      is_same          = 1'b1;
      datagrams_done_o = '0;
      issued_o         = '0;
      for (int unsigned e = 0; e < Engines; e++) begin
        is_same &= back_data[e] == back_data[0];
        datagrams_done_o += DoneBits'(done[e]);
        issued_o += IssuedBits'(issued[e]);
      end
    end
    assign back_data_o = is_same ? back_data[0] : ~back_data[0];

    logic unused;
    assign unused = &{1'b0, grant};

`ifndef SYNTHESIS
    logic [Engines-1:0][IndexBits:0] passed_q;  // records of others that have begun while one of this core could
    always_ff @(posedge clk_i) begin
      for (int unsigned e = 0; e < Engines; e++) begin
        if (!rst_ni || !wants[e] || (valid_o && chosen == IndexBits'(e))) passed_q[e] <= '0;
        else if (any) passed_q[e] <= passed_q[e] + 1'b1;
        if (rst_ni) leaves_in_turn : assert (passed_q[e] < (IndexBits + 1)'(Engines));
      end
    end
`endif
  end
endmodule
