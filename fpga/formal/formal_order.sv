/// Words go in and come out: none comes that is not inside, never more than Capacity are inside, and a word that `pick_i`
/// chose on its way in, any word, comes out in its turn as it went in. So none is lost, doubled, changed or overtaken.
module formal_order #(
  parameter  int unsigned Width      = 1,
  parameter  int unsigned Capacity   = 4,
  localparam int unsigned CountWidth = $clog2(Capacity + 2)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  pick_i,
  input  logic                  put_i,
  input  logic [Width-1:0]      put_data_i,
  input  logic                  take_i,
  input  logic [Width-1:0]      take_data_i,
  output logic [CountWidth-1:0] count_o
);
  logic [CountWidth-1:0] count_q = '0, ahead_q = '0;
  logic                  picked_q = 1'b0;
  logic [Width-1:0]      data_q;
  assign count_o = count_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q  <= '0;
      picked_q <= 1'b0;
    end else begin
      count_q <= count_q + CountWidth'(put_i) - CountWidth'(take_i);
      if (picked_q && take_i) begin
        ahead_q  <= ahead_q - 1'b1;
        picked_q <= ahead_q != '0;
      end
      if (!picked_q && put_i && pick_i) begin
        picked_q <= 1'b1;
        data_q   <= put_data_i;
        ahead_q  <= count_q - CountWidth'(take_i);
      end
    end
  end
  always_comb begin
    if (rst_ni) begin
      assert (count_q <= CountWidth'(Capacity));
      assert (!take_i || count_q != '0);
      assert (!(picked_q && take_i && ahead_q == '0) || take_data_i == data_q);
    end
  end
endmodule
