/// A queue of records for each ring, and the choice of the next record: of the rings that have one and have room for it,
/// each in its turn.
///
/// A record is pushed to any number of queues at once. `Room` entries are as many as there can be records, so no queue is
/// ever full. A ring without room (`room_i`) is passed over.
module stopbit_fanout_queues #(
  parameter  int unsigned NumRings   = 2,
  parameter  int unsigned NumInputs  = 1,
  parameter  int unsigned IndexWidth = 2,
  parameter  int unsigned PlaceWidth = 4,
  localparam int unsigned RingWidth  = NumRings > 1 ? $clog2(NumRings) : 1,
  localparam int unsigned InputWidth = NumInputs > 1 ? $clog2(NumInputs) : 1,
  localparam int unsigned RoomWidth  = IndexWidth + $clog2(NumInputs),
  localparam int unsigned EntryWidth = InputWidth + IndexWidth + PlaceWidth
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,

  input  logic [NumRings-1:0]             push_i,
  input  logic [InputWidth-1:0]           push_input_i,
  input  logic [IndexWidth-1:0]           push_index_i,
  input  logic [PlaceWidth-1:0]           push_first_i,

  input  logic [NumRings-1:0]             room_i,
  output logic [NumRings-1:0]             waits_o,  // it has a record here

  output logic                            valid_o,
  input  logic                            ready_i,
  output logic [RingWidth-1:0]            ring_o,
  output logic [InputWidth-1:0]           input_o,
  output logic [IndexWidth-1:0]           index_o,
  output logic [PlaceWidth-1:0]           first_o,
  output logic                            idle_o
);
  localparam int unsigned Room = 1 << RoomWidth;

  logic [NumRings-1:0]            pop, eligible_q;
  logic [NumRings*EntryWidth-1:0] heads;
  for (genvar r = 0; r < NumRings; r++) begin : g_ring
    logic [EntryWidth-1:0] entries [0:Room-1];
    logic [RoomWidth:0]    write_q, read_q;
    assign heads[r*EntryWidth +: EntryWidth] = entries[read_q[RoomWidth-1:0]];
    assign waits_o[r] = write_q != read_q;
    always_ff @(posedge clk_i) begin
      if (push_i[r]) entries[write_q[RoomWidth-1:0]] <= {push_input_i, push_index_i, push_first_i};
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        write_q       <= '0;
        read_q        <= '0;
        eligible_q[r] <= 1'b0;
      end else begin
        if (push_i[r]) write_q <= write_q + 1'b1;
        if (pop[r]) read_q <= read_q + 1'b1;
        eligible_q[r] <= room_i[r] && (push_i[r] || write_q != read_q + (RoomWidth + 1)'(pop[r]));
      end
    end
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        assert (write_q - read_q <= (RoomWidth + 1)'(Room));
        assert (!pop[r] || waits_o[r]);
      end
    end
`endif
  end

  // ---- the choice
  logic                  any, chosen_q;
  logic [RingWidth-1:0]  ring;
  logic [EntryWidth-1:0] head;
  stopbit_arbiter #(.NumRequesters(NumRings)) i_turns (
    .clk_i,
    .rst_ni,
    .stop_i   (chosen_q && !ready_i),
    .accept_i (1'b1),
    .request_i(eligible_q),
    .any_o    (any),
    .grant_o  (pop),
    .index_o  (ring)
  );
  always_comb begin
    head = '0;
    for (int unsigned r = 0; r < NumRings; r++) begin
      if (pop[r]) head = head | heads[r*EntryWidth +: EntryWidth];
    end
  end
  always_ff @(posedge clk_i) begin
    if (any) begin
      ring_o                      <= ring;
      {input_o, index_o, first_o} <= head;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) chosen_q <= 1'b0;
    else if (any || ready_i) chosen_q <= any;
  end
  assign valid_o = chosen_q;
  assign idle_o  = !chosen_q && waits_o == '0;
endmodule
