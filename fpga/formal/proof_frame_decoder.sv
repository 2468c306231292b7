/// Whatever parser, table and FCS say, but for where a payload begins (2 more than a multiple of 4), and with FIFOs that keep the
/// rule of streams: so does the output, in either mode.
module proof_frame_decoder (
  input logic                                    clk_i,
  input logic                                    rst_ni,
  input logic                                    group_write_i,
  input logic [stopbit_front_pkg::GroupBits-1:0] group_index_i,
  input stopbit_front_pkg::group_t               group_i,
  input logic [7:0]                              time_quality_i,
  input logic                                    fcs_i,
  input logic                                    check_header_i,
  input logic                                    drop_when_full_i,
  input logic                                    cut_through_i,
  input logic                                    valid_i,
  input logic [511:0]                            data_i,
  input logic [63:0]                             keep_i,
  input logic                                    last_i,
  input logic                                    bad_i,
  input logic [63:0]                             arrival_ns_i,
  input logic                                    ready_i
);
  // The settings stay.
  logic       begun_q = 1'b0, cut_through_q;
  logic [7:0] time_quality_q;
  always_ff @(posedge clk_i) begin
    begun_q        <= 1'b1;
    cut_through_q  <= cut_through_i;
    time_quality_q <= time_quality_i;
  end
  always_comb if (begun_q) assume (cut_through_i == cut_through_q && time_quality_i == time_quality_q);

  logic valid;
  stopbit_pkg::stopbit_beat_t     beat;
  stopbit_pkg::stopbit_datagram_t datagram;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_frame_decoder #(.Depth(4)) i_dut (
    .clk_i, .rst_ni, .group_write_i, .group_index_i, .group_i, .time_quality_i, .fcs_i, .check_header_i, .drop_when_full_i,
    .cut_through_i, .valid_i, .ready_o(), .data_i, .keep_i, .last_i, .bad_i, .arrival_ns_i,
    .valid_o(valid), .ready_i, .beat_o(beat), .datagram_o(datagram), .verdict_valid_o(), .verdict_o(), .idle_o()
  );
  formal_datagrams i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .beat_i(beat), .datagram_i(datagram));
endmodule
