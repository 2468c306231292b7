/// First-in, first-out in a block RAM, all `Depth` words of it; the first word is shown before it is taken.
///
/// Pointers have one bit more than an address, so that full and empty differ. A word is shown two cycles after it was
/// accepted, and then a word a cycle. `count_o` is what was accepted and not yet taken.
///
/// With a `MaxTake` of 2 the reader may drop the word after the one shown: `double_i` with `ready_i` takes two words in a
/// cycle. If there is only one word, a double take takes that one and `single_o` says so in the same cycle, so that the
/// reader drops the next word itself when it comes. With 1, `double_i` is not looked at and `single_o` is 0.
module stopbit_fifo #(
  parameter  int unsigned Width        = 8,
  parameter  int unsigned Depth        = 16,
  parameter  int unsigned MaxTake      = 1,  // words a cycle: 1 or 2
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
  if (Depth < 2 || (Depth & (Depth - 1)) != 0) $fatal(1, "stopbit_fifo: Depth is %0d, needs a power of two", Depth);
  if (MaxTake != 1 && MaxTake != 2) $fatal(1, "stopbit_fifo: MaxTake is %0d, needs 1 or 2", MaxTake);

  logic [AddressWidth:0] write_q, read_d, read_q;
  logic                  put, take, wants_two, has_two;

  assign count_o   = write_q - read_q;
  assign ready_o   = !count_o[AddressWidth];
  assign put       = valid_i && ready_o;
  assign take      = valid_o && ready_i;
  assign wants_two = MaxTake == 2 && double_i;
  assign has_two   = count_o != (AddressWidth + 1)'(1);  // looked at only while there is a word
  assign single_o  = take && wants_two && !has_two;

  // Where reading may go on is known before `ready_i` is, and so is whether a word is there.
  logic [AddressWidth:0] after_one, after_two;
  logic                  takes_two;
  assign after_one = read_q + (AddressWidth + 1)'(1);
  assign after_two = read_q + (AddressWidth + 1)'(2);
  assign takes_two = wants_two && has_two;
  assign read_d    = !take ? read_q : takes_two ? after_two : after_one;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      valid_o <= 1'b0;
    end else begin
      write_q <= write_q + (AddressWidth + 1)'(put);
      read_q  <= read_d;
      valid_o <= !take ? read_q != write_q : takes_two ? after_two != write_q : after_one != write_q;
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
