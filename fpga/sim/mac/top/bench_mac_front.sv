/// A MAC's input before the frame decoder, as v++ links it before the kernel.
module bench_mac_front (
  input  logic                                    mac_clk_i,
  input  logic [63:0]                             mac_time_ns_i,
  input  logic                                    mac_valid_i,
  input  logic [63:0]                             mac_data_i,
  input  logic [7:0]                              mac_keep_i,
  input  logic                                    mac_last_i,
  input  logic                                    mac_error_i,
  input  logic                                    mac_abort_i,
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  input  logic                                    group_write_i,
  input  logic [stopbit_front_pkg::GroupBits-1:0] group_index_i,
  input  stopbit_front_pkg::group_t               group_i,
  output logic                                    valid_o,
  input  logic                                    ready_i,
  output stopbit_pkg::stopbit_beat_t              beat_o,
  output stopbit_pkg::stopbit_datagram_t          datagram_o,
  output logic                                    verdict_valid_o,
  output logic [4:0]                              verdict_o,
  output logic                                    idle_o,
  output logic [31:0]                             passed_o,
  output logic [31:0]                             lost_o,
  output logic [31:0]                             cut_o
);
  logic         valid, ready, last, bad;
  logic [511:0] data;
  logic [63:0]  keep, arrival_ns;

  stopbit_mac_input #(.Depth(64)) mac (
    .mac_clk_i, .mac_time_ns_i, .mac_valid_i, .mac_data_i, .mac_keep_i, .mac_last_i, .mac_error_i, .mac_abort_i,
    .clk_i, .rst_ni, .valid_o(valid), .ready_i(ready), .data_o(data), .keep_o(keep), .last_o(last), .bad_o(bad),
    .arrival_ns_o(arrival_ns), .passed_o, .lost_o, .cut_o
  );
  stopbit_frame_decoder #(.Depth(64)) decoder (
    .clk_i, .rst_ni, .group_write_i, .group_index_i, .group_i, .time_quality_i(8'd1), .fcs_i(1'b0), .check_header_i(1'b0),
    .drop_when_full_i(1'b0), .cut_through_i(1'b0),
    .valid_i(valid), .ready_o(ready), .data_i(data), .keep_i(keep), .last_i(last), .bad_i(bad), .arrival_ns_i(arrival_ns),
    .valid_o, .ready_i, .beat_o, .datagram_o, .verdict_valid_o, .verdict_o, .idle_o
  );
endmodule
