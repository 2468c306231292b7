/// Many FIFOs in one RAM, of which one is written and one is read in a cycle.
///
/// `mask_i` parts the RAM at run time: its set bits, from bit 0 up, count the words of a queue; the others select
/// the queue. With p set bits there are 2^(AddressWidth - p) queues of 2^p words, but no more than 2^QueueWidth. A queue's
/// number is bit-reversed at the top of the address, so that no shifter is needed. The mask may change only while all
/// queues are empty (`nonempty_o` is 0).
///
/// Write: `ready_o` says in the same cycle whether `write_queue_i` has room. Read: the word comes one cycle after
/// `read_i`, with `valid_o`; a queue whose bit of `nonempty_o` is low gives none. A word can be read in the cycle after it
/// was accepted. Pointers are kept in RAM: after a reset 2^QueueWidth cycles pass before anything is accepted.
module stopbit_multi_fifo #(
  parameter  int unsigned Width        = 8,
  parameter  int unsigned AddressWidth = 8,  // 2^AddressWidth words in all
  parameter  int unsigned QueueWidth   = 4,  // at most 2^QueueWidth queues
  localparam int unsigned NumQueues    = 1 << QueueWidth
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [AddressWidth-1:0] mask_i,

  input  logic                    valid_i,
  output logic                    ready_o,
  input  logic [QueueWidth-1:0]   write_queue_i,
  input  logic [Width-1:0]        data_i,

  output logic [NumQueues-1:0]    nonempty_o,
  input  logic                    read_i,
  input  logic [QueueWidth-1:0]   read_queue_i,
  output logic                    valid_o,
  output logic [Width-1:0]        data_o
);
  if (QueueWidth < 1 || QueueWidth >= AddressWidth) begin : g_check
    $fatal(1, "stopbit_multi_fifo: QueueWidth is %0d, needs 1 to AddressWidth - 1", QueueWidth);
  end

  // Pointers count words without end; an address is their masked part.
  logic [AddressWidth:0] write_pointers [0:NumQueues-1];
  logic [AddressWidth:0] read_pointers  [0:NumQueues-1];

  logic [QueueWidth:0]     clear_q;  // the next pointer to clear; its top bit: all are clear
  logic                    clear;
  logic                    put, take;
  logic [AddressWidth:0]   put_write, put_read, put_count, take_write, take_read;
  logic [AddressWidth-1:0] put_queue, take_queue, put_address, take_address;

  assign clear = !clear_q[QueueWidth];

  for (genvar i = 0; i < AddressWidth; i++) begin : g_reverse
    if (i < AddressWidth - QueueWidth) begin : g_low
      assign put_queue[i]  = 1'b0;
      assign take_queue[i] = 1'b0;
    end else begin : g_high
      assign put_queue[i]  = write_queue_i[AddressWidth-1-i];
      assign take_queue[i] = read_queue_i[AddressWidth-1-i];
    end
  end

  assign put_write   = write_pointers[write_queue_i];
  assign put_read    = read_pointers[write_queue_i];
  assign put_count   = put_write - put_read;
  assign put_address = (put_write[AddressWidth-1:0] & mask_i) | (put_queue & ~mask_i);
  assign ready_o     = !clear && put_count <= {1'b0, mask_i};
  assign put         = valid_i && ready_o;

  assign take_write   = write_pointers[read_queue_i];
  assign take_read    = read_pointers[read_queue_i];
  assign take_address = (take_read[AddressWidth-1:0] & mask_i) | (take_queue & ~mask_i);
  assign take         = read_i && nonempty_o[read_queue_i];

  always_ff @(posedge clk_i) begin
    if (clear || put) begin
      write_pointers[clear ? clear_q[QueueWidth-1:0] : write_queue_i] <= clear ? '0 : put_write + 1'b1;
    end
    if (clear || take) begin
      read_pointers[clear ? clear_q[QueueWidth-1:0] : read_queue_i] <= clear ? '0 : take_read + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clear_q    <= '0;
      valid_o    <= 1'b0;
      nonempty_o <= '0;
    end else begin
      clear_q <= clear_q + (QueueWidth + 1)'(clear);
      valid_o <= take;
      if (take && take_read + 1'b1 == take_write) nonempty_o[read_queue_i] <= 1'b0;
      if (put) nonempty_o[write_queue_i] <= 1'b1;
    end
  end

  stopbit_ram #(.Width(Width), .Depth(1 << AddressWidth)) ram (
    .write_clk_i    (clk_i),
    .write_i        (put),
    .write_address_i(put_address),
    .write_data_i   (data_i),
    .read_clk_i     (clk_i),
    .read_address_i (take_address),
    .read_data_o    (data_o)
  );

`ifndef SYNTHESIS
  logic [AddressWidth-1:0] mask_before;
  logic                    running;
  always_ff @(posedge clk_i) begin
    mask_before <= mask_i;
    running     <= rst_ni;
    if (rst_ni) begin
      mask_is_low_bits    : assert ((mask_i & (mask_i + 1'b1)) == 0);
      mask_leaves_queues  : assert ((~mask_i >> (AddressWidth - QueueWidth)) << (AddressWidth - QueueWidth) == ~mask_i);
      mask_keeps_words    : assert (!running || mask_i == mask_before || nonempty_o == 0);
      never_overfull      : assert (clear || put_count <= {1'b0, mask_i} + 1'b1);
      write_queue_exists  : assert (!valid_i || (put_queue & mask_i) == 0);
      read_queue_exists   : assert (!take || (take_queue & mask_i) == 0);
    end
  end
`endif
endmodule
