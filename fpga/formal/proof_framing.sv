module proof_framing (
  input logic                                      clk_i,
  input logic                                      rst_ni,
  input logic                                      write_i,
  input logic [stopbit_front_pkg::ChannelBits-1:0] write_channel_i,
  input logic                                      write_valid_i,
  input stopbit_front_pkg::framing_t               write_framing_i,
  input logic                                      valid_i,
  input stopbit_pkg::stopbit_beat_t                beat_i,
  input stopbit_pkg::stopbit_datagram_t            datagram_i,
  input logic                                      ready_i
);
  logic ready, valid;
  stopbit_pkg::stopbit_beat_t     beat;
  stopbit_pkg::stopbit_datagram_t datagram;
  formal_reset i_reset (.clk_i, .rst_ni);
  formal_stream #(.Width(134 + 242), .Assumed(1)) i_in (
    .clk_i, .rst_ni, .valid_i, .ready_i(ready), .data_i({beat_i, datagram_i})
  );
  stopbit_framing i_dut (
    .clk_i, .rst_ni, .write_i, .write_channel_i, .write_valid_i, .write_framing_i, .valid_i, .ready_o(ready), .beat_i, .datagram_i,
    .valid_o(valid), .ready_i, .beat_o(beat), .datagram_o(datagram), .chunk_o(), .idle_o()
  );
  formal_stream #(.Width(134 + 242)) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i({beat, datagram}));
endmodule
