/// Virtual ring buffer handler: the addresses of the slots of several rings, each of many memory segments.
///
/// One `stopbit_vrbh_queue` per ring; they share one port that reads descriptors from memory, in turns. A read is one
/// beat of 64 bytes, of which 16 are used. Requests are for one ring at a time, `queue_i`: a slot's address each cycle
/// inside a segment and from one to the next, if its descriptor has arrived; if not, `valid_o` is low, and the unit that
/// asks waits or gives up, as with a ring that is full.
module stopbit_vrbh #(
  parameter  int unsigned NumQueues  = 1,
  parameter  int unsigned Prefetch   = 4,
  localparam int unsigned QueueWidth = NumQueues > 1 ? $clog2(NumQueues) : 1,
  localparam int unsigned MaxReads   = NumQueues * Prefetch,
  localparam int unsigned ReadWidth  = $clog2(MaxReads)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic [NumQueues-1:0]  start_i,
  input  logic [NumQueues-1:0]  stop_i,
  input  logic [63:6]           list_i,      // of the queue that starts
  input  logic [31:0]           segments_i,

  input  logic [QueueWidth-1:0] queue_i,
  output logic                  valid_o,
  output logic [63:6]           address_o,
  output logic                  first_o,
  input  logic                  take_i,
  input  logic                  commit_i,
  input  logic                  revoke_i,
  input  logic                  skip_i,
  output logic                  idle_o,
  output logic [NumQueues-1:0]  error_o,

  output logic                  arvalid_o,
  input  logic                  arready_i,
  output logic [63:0]           araddr_o,
  input  logic                  rvalid_i,
  output logic                  rready_o,
  input  logic [511:0]          rdata_i,
  input  logic [1:0]            rresp_i
);
  if (NumQueues < 1 || NumQueues > 8) begin : g_queues
    $fatal(1, "stopbit_vrbh: NumQueues is %0d, needs 1 to 8", NumQueues);
  end
  if (Prefetch < 2 || (Prefetch & (Prefetch - 1)) != 0) begin : g_prefetch
    $fatal(1, "stopbit_vrbh: Prefetch is %0d, needs a power of two from 2", Prefetch);
  end

  logic [NumQueues-1:0]       valid, first, idle, fetch_valid, fetch_ready, descriptor_valid;
  logic [NumQueues-1:0][63:6] address;
  logic [NumQueues-1:0][63:4] fetch_address;
  logic [127:0]               descriptor;

  for (genvar q = 0; q < NumQueues; q++) begin : g_queue
    logic selected;
    assign selected = queue_i == QueueWidth'(q);
    stopbit_vrbh_queue #(
      .Prefetch(Prefetch)
    ) i_queue (
      .clk_i,
      .rst_ni,
      .start_i           (start_i[q]),
      .stop_i            (stop_i[q]),
      .list_i,
      .segments_i,
      .valid_o           (valid[q]),
      .address_o         (address[q]),
      .first_o           (first[q]),
      .take_i            (take_i && selected),
      .commit_i          (commit_i && selected),
      .revoke_i          (revoke_i && selected),
      .skip_i            (skip_i && selected),
      .idle_o            (idle[q]),
      .error_o           (error_o[q]),
      .fetch_valid_o     (fetch_valid[q]),
      .fetch_ready_i     (fetch_ready[q]),
      .fetch_address_o   (fetch_address[q]),
      .descriptor_valid_i(descriptor_valid[q]),
      .descriptor_i      (descriptor),
      .descriptor_error_i(rresp_i != 2'b00)
    );
  end

  assign valid_o   = valid[queue_i];
  assign address_o = address[queue_i];
  assign first_o   = first[queue_i];
  assign idle_o    = &idle;

  // The next reader: the queue after the last one, in turns.
  logic [QueueWidth-1:0] turn_q, winner;
  logic                  any;
  always_comb begin
    winner = turn_q;
    any    = 1'b0;
    for (int unsigned i = 1; i <= NumQueues; i++) begin
      if (!any && fetch_valid[QueueWidth'((32'(turn_q) + i) % NumQueues)]) begin
        winner = QueueWidth'((32'(turn_q) + i) % NumQueues);
        any    = 1'b1;
      end
    end
  end

  // Reads on their way, in order: whose, and which quarter of the beat. Each queue has at most Prefetch of them.
  typedef struct packed {
    logic [QueueWidth-1:0] owner;
    logic [1:0]            quarter;
  } read_t;
  read_t                reads_mem [MaxReads];
  logic [ReadWidth-1:0] write_q, read_q;

  function automatic logic [ReadWidth-1:0] next(input logic [ReadWidth-1:0] index);
    return index == ReadWidth'(MaxReads - 1) ? '0 : index + 1'b1;
  endfunction

  logic        arvalid_q, grant;
  logic [63:6] araddr_q;
  assign grant     = any && (!arvalid_q || arready_i);
  assign arvalid_o = arvalid_q;
  assign araddr_o  = {araddr_q, 6'b0};
  assign rready_o  = 1'b1;

  always_comb begin
    fetch_ready                       = '0;
    fetch_ready[winner]               = grant;
    descriptor_valid                  = '0;
    descriptor_valid[reads_mem[read_q].owner] = rvalid_i;
    descriptor                        = rdata_i[reads_mem[read_q].quarter*128 +: 128];
  end

  always_ff @(posedge clk_i) begin
    if (grant) begin
      araddr_q           <= fetch_address[winner][63:6];
      reads_mem[write_q] <= '{owner: winner, quarter: fetch_address[winner][5:4]};
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      arvalid_q <= 1'b0;
      turn_q    <= '0;
      write_q   <= '0;
      read_q    <= '0;
    end else begin
      if (grant) begin
        arvalid_q <= 1'b1;
        turn_q    <= winner;
        write_q   <= next(write_q);
      end else if (arready_i) begin
        arvalid_q <= 1'b0;
      end
      if (rvalid_i) read_q <= next(read_q);
    end
  end
endmodule
