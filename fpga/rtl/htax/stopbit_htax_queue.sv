/// Phits of whole packets, in order: what comes with gaps leaves without one. The first phit is shown while there is one.
///
/// `packets_o` packets are whole. `room_o`: three packets of the greatest length find room.
module stopbit_htax_queue
  import stopbit_htax_pkg::*;
#(
  parameter  int unsigned Depth      = 128,  // phits; a power of two, at least three packets of the greatest length
  localparam int unsigned CountWidth = $clog2(Depth) + 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  put_i,     // only while not full_o
  input  logic [63:0]           phit_i,
  input  logic                  last_i,
  output logic                  full_o,
  output logic                  room_o,
  output logic [CountWidth-1:0] packets_o,
  output logic [63:0]           phit_o,
  output logic                  last_o,
  input  logic                  take_i     // only while a packet is whole
);
  if (Depth < 3 * MaxPhits || (Depth & (Depth - 1)) != 0) begin : g_depth
    $fatal(1, "stopbit_htax_queue: Depth is %0d, needs a power of two from %0d", Depth, 3 * MaxPhits);
  end
  logic [64:0]           phits [0:Depth-1];
  logic [CountWidth-1:0] write_q, read_q, count;
  assign count  = write_q - read_q;
  assign full_o = count == CountWidth'(Depth);
  assign {last_o, phit_o} = phits[read_q[CountWidth-2:0]];

  always_ff @(posedge clk_i) begin
    if (put_i) phits[write_q[CountWidth-2:0]] <= {last_i, phit_i};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q   <= '0;
      read_q    <= '0;
      packets_o <= '0;
      room_o    <= 1'b0;
    end else begin
      write_q   <= write_q + CountWidth'(put_i);
      read_q    <= read_q + CountWidth'(take_i);
      packets_o <= packets_o + CountWidth'(put_i && last_i) - CountWidth'(take_i && last_o);
      room_o    <= count <= CountWidth'(Depth - 3 * MaxPhits);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      fits     : assert (!put_i || !full_o);
      is_whole : assert (!take_i || packets_o != '0);
    end
  end
`endif
endmodule
