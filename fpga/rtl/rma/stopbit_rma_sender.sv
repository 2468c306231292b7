/// Makes a packet of a header and data: start, source, eight words of the header, the data.
///
/// The first word leaves in the cycle after `start_i`, a packet of n words of data takes 10 + n cycles.
module stopbit_rma_sender
  import stopbit_link_pkg::start_t;
  import stopbit_nic_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter logic [2:0] Unit  = 3'd1,     // of the network, that takes the packets
  parameter logic [1:0] Class = Requests
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [15:0] node_i,    // this one

  input  logic        start_i,
  input  logic [15:0] to_i,      // this and the next two stay until the packet has left
  input  rma_header_t header_i,
  input  words_t      words_i,
  output logic        busy_o,
  input  logic [63:0] data_i,
  output logic        take_o,    // of a word of data

  output logic        valid_o,
  input  logic        ready_i,
  output rma_word_t   word_o
);
  localparam logic [3:0] FirstData = 4'd10;

  logic                        busy_q, is_data, goes;
  logic [3:0]                  at_q;
  words_t                      left_q;
  start_t                      start;
  rma_source_t                 source;
  logic [HeaderWords-1:0][63:0] header;
  assign header  = header_i;
  assign start   = '{crc: '0, vpid: header_i.kind.target_vpid[9:0], node: to_i, unit: Unit, traffic_class: Class,
                     channel: '0, multicast: 1'b0, marker: '0};
  assign source  = '{zero0: '0, node: node_i};
  assign is_data = at_q == FirstData;
  assign goes    = busy_q && ready_i;
  assign valid_o = busy_q;
  assign busy_o  = busy_q;
  assign take_o  = goes && is_data;
  assign word_o.is_first = at_q == '0;
  assign word_o.is_last  = is_data ? left_q == 5'd1 : at_q == FirstData - 4'd1 && left_q == '0;
  always_comb begin
    unique case (at_q)
      4'd0:      word_o.data = start;
      4'd1:      word_o.data = source;
      FirstData: word_o.data = data_i;
      default:   word_o.data = header[3'(at_q - 4'd2)];
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      at_q   <= '0;
      left_q <= words_i;
    end else if (goes) begin
      at_q   <= is_data ? at_q : at_q + 4'd1;
      left_q <= left_q - 5'(is_data);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) busy_q <= 1'b0;
    else busy_q <= start_i || (busy_q && !(ready_i && word_o.is_last));
  end
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) one_at_a_time : assert (!start_i || !busy_q);
  end
`endif
endmodule
