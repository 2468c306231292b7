/// Fan-out switch: records of one or several decoders to the rings that want them.
///
/// Each decoder's cells are kept once, whatever the number of rings, until the last ring has them. A record leaves whole,
/// for one ring after the other, and only for a ring that has room: a ring that stops holds up no other until the memory
/// is full of what it has not taken; then its decoder waits. Records of one decoder reach a ring in the order in
/// which they came; those of several are mixed record by record, in turns.
///
/// From a record's last cell in to its first cell out: 4 cycles, if nothing waits, whatever the number of rings.
module stopbit_fanout #(
  parameter  int unsigned Width      = 528,
  parameter  int unsigned NumInputs  = 1,
  parameter  int unsigned NumRings   = 8,
  parameter  int unsigned Depth      = 4096,  // cells of an input; a power of two
  parameter  int unsigned Records    = 64,    // of an input; a power of two
  localparam int unsigned RingWidth  = NumRings > 1 ? $clog2(NumRings) : 1,
  localparam int unsigned InputWidth = NumInputs > 1 ? $clog2(NumInputs) : 1,
  localparam int unsigned PlaceWidth = $clog2(Depth),
  localparam int unsigned IndexWidth = $clog2(Records)
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,

  input  logic [NumInputs-1:0]          valid_i,
  output logic [NumInputs-1:0]          ready_o,
  input  logic [NumInputs*Width-1:0]    cell_i,
  input  logic [NumInputs-1:0]          last_i,
  input  logic [NumInputs-1:0]          aborted_i,
  input  logic [NumInputs*NumRings-1:0] rings_i,  // from the cycle after a record's last cell on, until the next is taken

  // Whether a ring takes three more records of the greatest length. It may be known two cycles late.
  input  logic [NumRings-1:0]           room_i,
  output logic [NumRings-1:0]           waits_o,  // a record waits for it here
  output logic                          valid_o,
  input  logic                          ready_i,
  output logic [RingWidth-1:0]          ring_o,
  output logic [Width-1:0]              cell_o,
  output logic                          last_o,

  output logic                          idle_o,
  output logic [NumInputs-1:0]          judged_o,         // a whole record, and what rings_i says of it, are done with
  output logic [NumInputs-1:0]          too_long_o
);
  // ---- in
  logic [NumInputs-1:0]              record, announced, input_idle;
  logic [NumInputs*IndexWidth-1:0]   index;
  logic [NumInputs*PlaceWidth-1:0]   first;
  logic [NumInputs*(Width+1)-1:0]    data;
  logic [PlaceWidth-1:0]             address;
  logic                              done;
  logic [InputWidth-1:0]             from_q;
  logic [IndexWidth-1:0]             index_q;
  for (genvar i = 0; i < NumInputs; i++) begin : g_input
    stopbit_fanout_input #(.Width(Width), .NumRings(NumRings), .Depth(Depth), .Records(Records)) i_input (
      .clk_i,
      .rst_ni,
      .valid_i       (valid_i[i]),
      .ready_o       (ready_o[i]),
      .cell_i        (cell_i[i*Width +: Width]),
      .last_i        (last_i[i]),
      .aborted_i     (aborted_i[i]),
      .rings_i       (rings_i[i*NumRings +: NumRings]),
      .judged_o      (judged_o[i]),
      .record_o      (record[i]),
      .announced_i   (announced[i]),
      .index_o       (index[i*IndexWidth +: IndexWidth]),
      .first_o       (first[i*PlaceWidth +: PlaceWidth]),
      .read_address_i(address),
      .read_data_o   (data[i*(Width+1) +: Width+1]),
      .done_i        (done && from_q == InputWidth'(i)),
      .done_index_i  (index_q),
      .idle_o        (input_idle[i]),
      .too_long_o    (too_long_o[i])
    );
  end

  // ---- to the queues
  logic                  any;
  logic [InputWidth-1:0] from;
  logic [NumRings-1:0]   push;
  stopbit_arbiter #(.NumRequesters(NumInputs)) i_inputs (
    .clk_i,
    .rst_ni,
    .stop_i   (1'b0),
    .accept_i (1'b1),
    .request_i(record),
    .any_o    (any),
    .grant_o  (announced),
    .index_o  (from)
  );
  assign push = any ? rings_i[from*NumRings +: NumRings] : '0;

  logic                  next_valid, next_take, queues_idle;
  logic [RingWidth-1:0]  next_ring;
  logic [InputWidth-1:0] next_from;
  logic [IndexWidth-1:0] next_index;
  logic [PlaceWidth-1:0] next_first;
  stopbit_fanout_queues #(
    .NumRings(NumRings), .NumInputs(NumInputs), .IndexWidth(IndexWidth), .PlaceWidth(PlaceWidth)
  ) i_queues (
    .clk_i,
    .rst_ni,
    .push_i      (push),
    .push_input_i(from),
    .push_index_i(index[from*IndexWidth +: IndexWidth]),
    .push_first_i(first[from*PlaceWidth +: PlaceWidth]),
    .room_i,
    .waits_o,
    .valid_o     (next_valid),
    .ready_i     (next_take),
    .ring_o      (next_ring),
    .input_o     (next_from),
    .index_o     (next_index),
    .first_o     (next_first),
    .idle_o      (queues_idle)
  );

  // ---- out: the cell at `at_q` is shown; the one after it is read in the cycle in which it leaves
  logic                  open_q, leaves;
  logic [PlaceWidth-1:0] at_q;
  logic [RingWidth-1:0]  ring_q;
  assign {last_o, cell_o} = data[from_q*(Width+1) +: Width+1];
  assign valid_o   = open_q;
  assign ring_o    = ring_q;
  assign leaves    = open_q && ready_i;
  assign done      = leaves && last_o;
  assign next_take = next_valid && (!open_q || done);
  assign address   = next_take ? next_first : leaves ? at_q + 1'b1 : at_q;
  assign idle_o    = !open_q && queues_idle && (&input_idle);

  always_ff @(posedge clk_i) begin
    at_q <= address;
    if (next_take) begin
      ring_q  <= next_ring;
      from_q  <= next_from;
      index_q <= next_index;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= 1'b0;
    else if (next_take || done) open_q <= next_take;
  end
endmodule
