/// What connects the units of a card with each other and with the host: crossbar, bridge, and the refuser.
///
/// Ports of the crossbar: 0 to 2 the host's channels (posted, non-posted, response), 3 the refuser, from 4 on the units.
module stopbit_htax_network
  import stopbit_htax_pkg::*;
#(
  parameter  int unsigned NumUnits  = 3,
  parameter  int unsigned Intervals = 8,
  localparam int unsigned HostPorts = 3,
  localparam int unsigned Ports     = HostPorts + 1 + NumUnits
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  htax_interval_t [Intervals-1:0]    intervals_i,

  input  logic [HostPorts-1:0]              host_valid_i,
  output logic [HostPorts-1:0]              host_ready_o,
  input  logic [HostPorts-1:0][63:0]        host_phit_i,
  output logic [HostPorts-1:0]              host_valid_o,
  input  logic [HostPorts-1:0]              host_ready_i,
  output logic [HostPorts-1:0][63:0]        host_phit_o,

  input  logic [NumUnits-1:0][Channels-1:0] request_i,
  input  logic [NumUnits-1:0][3:0]          target_i,
  output logic [NumUnits-1:0][Channels-1:0] grant_o,
  input  logic [NumUnits-1:0][63:0]         phit_i,
  input  logic [NumUnits-1:0][Channels-1:0] room_i,
  output logic [NumUnits-1:0]               valid_o,
  output logic [NumUnits-1:0]               first_o,
  output logic [NumUnits-1:0]               last_o,
  output logic [NumUnits-1:0][1:0]          channel_o,
  output logic [NumUnits-1:0][63:0]         phit_o,

  output logic [Ports-1:0]                  strayed_o,   // a packet to a port that does not exist
  output logic                              unasked_o,   // a response of the host to no request
  output logic                              refused_o,   // a packet that no unit takes
  output logic                              answered_o   // of them, a request
);
  localparam int unsigned Refuser = HostPorts;

  logic [HostPorts-1:0][Channels-1:0] host_request, host_grant, host_room;
  logic [HostPorts-1:0][3:0]          host_target;
  logic [HostPorts-1:0][63:0]         host_phit;
  logic [Channels-1:0]                refuser_request, refuser_grant, refuser_room;
  logic [3:0]                         refuser_target;
  logic [63:0]                        refuser_phit;
  logic [Ports-1:0]                   valid, first, last;
  logic [Ports-1:0][1:0]              channel;
  logic [Ports-1:0][63:0]             phit;

  stopbit_htax #(.NumInputs(Ports), .NumOutputs(Ports)) i_crossbar (
    .clk_i,
    .rst_ni,
    .request_i({request_i, refuser_request, host_request}),
    .target_i ({target_i, refuser_target, host_target}),
    .grant_o  ({grant_o, refuser_grant, host_grant}),
    .phit_i   ({phit_i, refuser_phit, host_phit}),
    .room_i   ({room_i, refuser_room, host_room}),
    .valid_o  (valid),
    .first_o  (first),
    .last_o   (last),
    .channel_o(channel),
    .phit_o   (phit),
    .strayed_o
  );
  assign valid_o   = valid[Ports-1:Refuser+1];
  assign first_o   = first[Ports-1:Refuser+1];
  assign last_o    = last[Ports-1:Refuser+1];
  assign channel_o = channel[Ports-1:Refuser+1];
  assign phit_o    = phit[Ports-1:Refuser+1];

  stopbit_htax_bridge #(.Intervals(Intervals), .RefusePort(4'(Refuser))) i_bridge (
    .clk_i,
    .rst_ni,
    .intervals_i,
    .host_valid_i,
    .host_ready_o,
    .host_phit_i,
    .host_valid_o,
    .host_ready_i,
    .host_phit_o,
    .request_o(host_request),
    .target_o (host_target),
    .grant_i  (host_grant),
    .phit_o   (host_phit),
    .room_o   (host_room),
    .valid_i  (valid[HostPorts-1:0]),
    .last_i   (last[HostPorts-1:0]),
    .phit_i   (phit[HostPorts-1:0]),
    .unasked_o
  );

  stopbit_htax_refuser i_refuser (
    .clk_i,
    .rst_ni,
    .room_o    (refuser_room),
    .valid_i   (valid[Refuser]),
    .first_i   (first[Refuser]),
    .last_i    (last[Refuser]),
    .channel_i (channel[Refuser]),
    .phit_i    (phit[Refuser]),
    .request_o (refuser_request),
    .target_o  (refuser_target),
    .grant_i   (refuser_grant),
    .phit_o    (refuser_phit),
    .refused_o,
    .answered_o
  );

  logic unused;  // the host's ports have one channel each
  assign unused = &{1'b0, first[HostPorts-1:0], channel[HostPorts-1:0]};
endmodule
