/// FIFO between two clocks.
///
/// Each side sees the other's pointer as a Gray code through two flip-flops, so it may see it late, never wrong. The resets
/// belong to their clocks; they must be low together for at least four cycles of the slower clock. A word is shown four
/// reader's cycles after it was accepted, at the latest.
module stopbit_async_fifo #(
  parameter  int unsigned Width        = 8,
  parameter  int unsigned Depth        = 16,
  localparam int unsigned AddressWidth = $clog2(Depth)
) (
  input  logic             write_clk_i,
  input  logic             write_rst_ni,
  input  logic             valid_i,
  output logic             ready_o,
  input  logic [Width-1:0] data_i,

  input  logic             read_clk_i,
  input  logic             read_rst_ni,
  output logic             valid_o,
  input  logic             ready_i,
  output logic [Width-1:0] data_o
);
  if (Depth < 4 || (Depth & (Depth - 1)) != 0) $fatal(1, "stopbit_async_fifo: Depth is %0d, needs a power of two from 4", Depth);

  logic [AddressWidth:0] write_d, write_q, write_gray_q;
  logic [AddressWidth:0] read_d, read_q, read_gray_d, read_gray_q;
  logic [AddressWidth:0] read_seen, write_seen;  // Gray, by the other side
  logic                  put, take;

  // Full: the reader's pointer lags by Depth, which in Gray code differs in the two top bits.
  assign ready_o = write_gray_q != {~read_seen[AddressWidth:AddressWidth-1], read_seen[AddressWidth-2:0]};
  assign put     = valid_i && ready_o;
  assign write_d = write_q + (AddressWidth + 1)'(put);

  always_ff @(posedge write_clk_i) begin
    if (!write_rst_ni) begin
      write_q      <= '0;
      write_gray_q <= '0;
    end else begin
      write_q      <= write_d;
      write_gray_q <= write_d ^ (write_d >> 1);
    end
  end

  assign take        = valid_o && ready_i;
  assign read_d      = read_q + (AddressWidth + 1)'(take);
  assign read_gray_d = read_d ^ (read_d >> 1);

  always_ff @(posedge read_clk_i) begin
    if (!read_rst_ni) begin
      read_q      <= '0;
      read_gray_q <= '0;
      valid_o     <= 1'b0;
    end else begin
      read_q      <= read_d;
      read_gray_q <= read_gray_d;
      valid_o     <= read_gray_d != write_seen;
    end
  end

  stopbit_sync #(.Width(AddressWidth + 1)) to_write (
    .clk_i (write_clk_i),
    .rst_ni(write_rst_ni),
    .data_i(read_gray_q),
    .data_o(read_seen)
  );
  stopbit_sync #(.Width(AddressWidth + 1)) to_read (
    .clk_i (read_clk_i),
    .rst_ni(read_rst_ni),
    .data_i(write_gray_q),
    .data_o(write_seen)
  );

  stopbit_ram #(.Width(Width), .Depth(Depth)) ram (
    .write_clk_i    (write_clk_i),
    .write_i        (put),
    .write_address_i(write_q[AddressWidth-1:0]),
    .write_data_i   (data_i),
    .read_clk_i     (read_clk_i),
    .read_address_i (read_d[AddressWidth-1:0]),
    .read_data_o    (data_o)
  );

`ifndef SYNTHESIS
  // One bit changes at a time: what makes a late look a right one.
  logic [AddressWidth:0] write_gray_before, read_gray_before;
  logic [AddressWidth:0] write_turned, read_turned;
  logic                  write_running, read_running;
  assign write_turned = write_gray_q ^ write_gray_before;
  assign read_turned  = read_gray_q ^ read_gray_before;
  always_ff @(posedge write_clk_i) begin
    write_gray_before <= write_gray_q;
    write_running     <= write_rst_ni;
    if (write_running && write_rst_ni) begin
      write_turns_one_bit : assert ((write_turned & (write_turned - 1'b1)) == 0);
    end
  end
  always_ff @(posedge read_clk_i) begin
    read_gray_before <= read_gray_q;
    read_running     <= read_rst_ni;
    if (read_running && read_rst_ni) begin
      read_turns_one_bit : assert ((read_turned & (read_turned - 1'b1)) == 0);
    end
  end
`endif
endmodule
