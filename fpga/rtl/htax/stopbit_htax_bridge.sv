/// Between the host and the crossbar: three channels each way (posted, non-posted, response), each with a port of its
/// own, so that none waits for another.
///
/// Writes and requests of the host go to the unit in whose interval their address is, if the channel may go there. What
/// no interval takes goes to `RefusePort`, marked (`error`): stopbit_htax_refuser discards it, and answers requests. Of
/// several intervals the first one counts. Responses of the host go back to the unit that asked, with the tag that it
/// had chosen; a response to no request goes to RefusePort. A unit's request does not pass the writes that the unit has
/// sent before it.
///
/// A route is known two cycles after its header came.
module stopbit_htax_bridge
  import stopbit_htax_pkg::*;
#(
  parameter int unsigned Intervals  = 8,
  parameter logic [3:0]  RefusePort = 4'd3
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  htax_interval_t [Intervals-1:0] intervals_i,  // changed only while the host sends nothing

  // Of posted, non-posted, response.
  input  logic [2:0]                     host_valid_i,
  output logic [2:0]                     host_ready_o,
  input  logic [2:0][63:0]               host_phit_i,
  output logic [2:0]                     host_valid_o,
  input  logic [2:0]                     host_ready_i,
  output logic [2:0][63:0]               host_phit_o,

  output logic [2:0][Channels-1:0]       request_o,
  output logic [2:0][3:0]                target_o,
  input  logic [2:0][Channels-1:0]       grant_i,
  output logic [2:0][63:0]               phit_o,
  output logic [2:0][Channels-1:0]       room_o,
  input  logic [2:0]                     valid_i,
  input  logic [2:0]                     last_i,
  input  logic [2:0][63:0]               phit_i,

  output logic                           unasked_o   // a response to no request
);
  logic       tag_free, tag_take, known, answered;
  logic [4:0] host_tag, asked_tag, unit_tag;
  logic [3:0] asked_origin, unit;
  htax_header_t response;
  assign response = host_phit_i[RESPONSE];
  stopbit_htax_tags i_tags (
    .clk_i,
    .rst_ni,
    .free_o      (tag_free),
    .tag_o       (host_tag),
    .take_i      (tag_take),
    .origin_i    (asked_origin),
    .unit_tag_i  (asked_tag),
    .return_i    (answered),
    .return_tag_i(response.tag),
    .known_o     (known),
    .origin_o    (unit),
    .unit_tag_o  (unit_tag)
  );

  logic [2:0][7:0] to_packets;
  logic [2:0]      to_leaves;
  for (genvar c = 0; c < 3; c++) begin : g_channel
    // ---- from the host
    htax_header_t header;
    logic         takes_header, asks, error_q;
    logic [3:0]   route_q;
    logic [4:0]   tag_q;
    assign header = host_phit_i[c];
    if (c == 32'(RESPONSE)) begin : g_response
      assign answered = takes_header;
      always_ff @(posedge clk_i) begin
        route_q   <= known ? unit : RefusePort;
        error_q   <= !known || header.error;
        tag_q     <= unit_tag;
        unasked_o <= rst_ni && takes_header && !known;
      end
    end else begin : g_request
      logic                 unused;
      logic [Intervals-1:0] hits;
      assign unused = takes_header;
      for (genvar i = 0; i < Intervals; i++) begin : g_interval
        assign hits[i] = intervals_i[i].enable && header.address >= intervals_i[i].first &&
                         header.address <= intervals_i[i].last;
      end
      always_ff @(posedge clk_i) begin
        route_q <= RefusePort;
        error_q <= 1'b1;
        tag_q   <= header.tag;
        for (int unsigned i = Intervals; i > 0; i--) begin
          if (hits[i-1]) begin
            route_q <= intervals_i[i-1].channels[c] ? intervals_i[i-1].target : RefusePort;
            error_q <= !intervals_i[i-1].channels[c] || header.error;
          end
        end
      end
    end
    stopbit_htax_from_host i_from (
      .clk_i,
      .rst_ni,
      .valid_i  (host_valid_i[c]),
      .ready_o  (host_ready_o[c]),
      .phit_i   (host_phit_i[c]),
      .header_o (takes_header),
      .route_i  (route_q),
      .error_i  (error_q),
      .tag_i    (tag_q),
      .request_o(asks),
      .target_o (target_o[c]),
      .grant_i  (grant_i[c][c]),
      .phit_o   (phit_o[c])
    );
    assign request_o[c] = Channels'(asks) << c;

    // ---- to the host
    logic       room, takes;
    logic [3:0] origin;
    logic [4:0] tag;
    stopbit_htax_to_host #(.Tagged(c == 32'(NONPOSTED))) i_to (
      .clk_i,
      .rst_ni,
      .valid_i   (valid_i[c]),
      .last_i    (last_i[c]),
      .phit_i    (phit_i[c]),
      .room_o    (room),
      .free_i    (tag_free),
      .tag_i     (host_tag),
      .take_o    (takes),
      .origin_o  (origin),
      .unit_tag_o(tag),
      .writes_i       (to_packets[POSTED]),
      .write_leaves_i (to_leaves[POSTED]),
      .packets_o      (to_packets[c]),
      .packet_leaves_o(to_leaves[c]),
      .valid_o   (host_valid_o[c]),
      .ready_i   (host_ready_i[c]),
      .phit_o    (host_phit_o[c])
    );
    assign room_o[c] = Channels'(room) << c;
    if (c == 32'(NONPOSTED)) begin : g_tagged
      assign tag_take     = takes;
      assign asked_origin = origin;
      assign asked_tag    = tag;
    end else begin : g_untagged
      logic unused;
      assign unused = &{1'b0, takes, origin, tag};
    end
  end

  logic unused_others;  // nothing waits for their packets
  assign unused_others = &{1'b0, to_packets[2:1], to_leaves[2:1]};
endmodule
