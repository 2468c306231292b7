/// Whatever the engine does within its rules: the window's bytes are there, and beats are taken only if there is room.
module proof_decompressor (
  input logic                           clk_i,
  input logic                           rst_ni,
  input logic                           valid_i,
  input stopbit_pkg::stopbit_datagram_t datagram_i,
  input stopbit_pkg::stopbit_beat_t     beat_i,
  input logic [3:0]                     take_i,
  input logic                           release_i
);
  logic ready, active, ends;
  logic [3:0] available, length;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_decompressor i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .datagram_i, .beat_i, .active_o(active), .datagram_o(), .bytes_o(),
    .available_o(available), .length_o(length), .end_o(ends), .take_i, .release_i
  );
  // Bytes of the datagrams that are inside: all that came, less what was taken.
  always_comb begin
    assume (beat_i.count == 5'd16 || (beat_i.last && beat_i.count < 5'd16));
    assume (take_i <= available);
    assume (!release_i || active);
    assume (active || take_i == '0);
    if (rst_ni) begin
      assert (available <= 4'd10);
      assert (length <= available);
    end
  end
endmodule
