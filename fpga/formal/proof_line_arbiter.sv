module proof_line_arbiter (
  input logic                                      clk_i,
  input logic                                      rst_ni,
  input logic                                      write_i,
  input logic [stopbit_front_pkg::ChannelBits-1:0] write_channel_i,
  input stopbit_front_pkg::line_rule_t             write_rule_i,
  input logic                                      valid_i,
  input stopbit_pkg::stopbit_beat_t                beat_i,
  input stopbit_pkg::stopbit_datagram_t            datagram_i,
  input logic                                      ready_i,
  input logic                                      gap_ready_i
);
  logic ready, valid, gap_valid;
  stopbit_pkg::stopbit_beat_t     beat;
  stopbit_pkg::stopbit_datagram_t datagram;
  stopbit_front_pkg::gap_t        gap;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_line_arbiter i_dut (
    .clk_i, .rst_ni, .write_i, .write_channel_i, .write_rule_i, .valid_i, .ready_o(ready), .beat_i, .datagram_i,
    .valid_o(valid), .ready_i, .beat_o(beat), .datagram_o(datagram),
    .gap_valid_o(gap_valid), .gap_ready_i, .gap_o(gap), .passed_o(), .duplicate_o(), .late_o(), .idle_o()
  );
  formal_stream #(.Width(134 + 242)) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i({beat, datagram}));
  formal_stream #(.Width(96)) i_gap (.clk_i, .rst_ni, .valid_i(gap_valid), .ready_i(gap_ready_i), .data_i(gap));
endmodule
