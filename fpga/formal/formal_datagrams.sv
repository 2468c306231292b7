/// The rule of streams for datagrams: bytes of a beat beyond its count may change while it waits.
module formal_datagrams #(
  parameter bit Assumed = 0
) (
  input logic                           clk_i,
  input logic                           rst_ni,
  input logic                           valid_i,
  input logic                           ready_i,
  input stopbit_pkg::stopbit_beat_t     beat_i,
  input stopbit_pkg::stopbit_datagram_t datagram_i
);
  logic [127:0] data;
  always_comb begin
    for (int unsigned i = 0; i < 16; i++) data[8*i +: 8] = i < 32'(beat_i.count) ? beat_i.data[8*i +: 8] : 8'd0;
  end
  formal_stream #(.Width(134 + 242), .Assumed(Assumed)) i_stream (
    .clk_i, .rst_ni, .valid_i, .ready_i, .data_i({data, beat_i.count, beat_i.last, datagram_i})
  );
endmodule
