/// Takes what no unit does: writes and responses are discarded, requests get a response that says so (`error`), at the
/// port that their header names. Requests wait for the way back; nothing else does.
module stopbit_htax_refuser
  import stopbit_htax_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  output logic [Channels-1:0] room_o,
  input  logic                valid_i,
  input  logic                first_i,
  input  logic                last_i,
  input  logic [1:0]          channel_i,
  input  logic [63:0]         phit_i,

  output logic [Channels-1:0] request_o,
  output logic [3:0]          target_o,
  input  logic [Channels-1:0] grant_i,
  output logic [63:0]         phit_o,

  output logic                refused_o,   // a packet
  output logic                answered_o   // of them, a request
);
  // A header is all that is needed of a request.
  logic [7:0]   packets;
  logic [63:0]  shown;
  logic         room;
  htax_header_t asked, answer;
  stopbit_htax_queue #(.Depth(128)) i_requests (
    .clk_i,
    .rst_ni,
    .put_i    (valid_i && first_i && channel_i == NONPOSTED),
    .phit_i,
    .last_i   (1'b1),
    .full_o   (),
    .room_o   (room),
    .packets_o(packets),
    .phit_o   (shown),
    .last_o   (),
    .take_i   (grant_i[RESPONSE])
  );
  assign asked    = shown;
  assign room_o   = {3'b111, 1'b1} & ~(Channels'(!room) << NONPOSTED);
  assign target_o = asked.origin;
  always_comb begin
    answer         = '0;
    answer.error   = 1'b1;
    answer.channel = RESPONSE;
    answer.origin  = asked.origin;
    answer.tag     = asked.tag;
  end
  assign phit_o    = answer;
  // In the cycle of a grant the head is the one that leaves.
  assign request_o = Channels'(packets != '0 && !grant_i[RESPONSE]) << RESPONSE;
  assign refused_o  = valid_i && last_i;
  assign answered_o = grant_i[RESPONSE];
endmodule
