/// FIFO whose reader may drop the word after the one shown: `double_i` with `ready_i` takes two words in a cycle.
///
/// If there is only one word, a double take takes that one and `single_o` says so in the same cycle, so that the reader
/// drops the next word itself when it comes. Otherwise as stopbit_fifo.
module stopbit_double_fifo #(
  parameter  int unsigned Width        = 8,
  parameter  int unsigned Depth        = 16,
  localparam int unsigned AddressWidth = $clog2(Depth)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  valid_i,
  output logic                  ready_o,
  input  logic [Width-1:0]      data_i,
  output logic                  valid_o,
  input  logic                  ready_i,
  input  logic                  double_i,
  output logic                  single_o,
  output logic [Width-1:0]      data_o,
  output logic [AddressWidth:0] count_o
);
  if (Depth < 2 || (Depth & (Depth - 1)) != 0) $fatal(1, "stopbit_double_fifo: Depth is %0d, needs a power of two", Depth);

  logic [AddressWidth:0] write_q, read_d, read_q;
  logic                  put, take, two;

  assign count_o  = write_q - read_q;
  assign ready_o  = !count_o[AddressWidth];
  assign put      = valid_i && ready_o;
  assign take     = valid_o && ready_i;
  assign two      = count_o != (AddressWidth + 1)'(1);  // looked at only while there is a word
  assign single_o = take && double_i && !two;
  assign read_d   = read_q + {{(AddressWidth - 1) {1'b0}}, take && double_i && two, take && !(double_i && two)};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      valid_o <= 1'b0;
    end else begin
      write_q <= write_q + (AddressWidth + 1)'(put);
      read_q  <= read_d;
      valid_o <= read_d != write_q;
    end
  end

  stopbit_ram #(.Width(Width), .Depth(Depth)) ram (
    .write_clk_i    (clk_i),
    .write_i        (put),
    .write_address_i(write_q[AddressWidth-1:0]),
    .write_data_i   (data_i),
    .read_clk_i     (clk_i),
    .read_address_i (read_d[AddressWidth-1:0]),
    .read_data_o    (data_o)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      never_overfull   : assert (count_o <= (AddressWidth + 1)'(Depth));
      shown_is_counted : assert (!valid_o || count_o != 0);
    end
  end
`ifdef FORMAL
  initial assume (!rst_ni);
`endif
`endif
endmodule
