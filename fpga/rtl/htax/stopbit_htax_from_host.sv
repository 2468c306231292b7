/// One channel of the host to the crossbar: keeps packets until they are whole, finds out where they go, and asks for
/// it. `route_i` is of the header that was taken in the cycle before (`header_o`).
///
/// A packet of two phits or more follows the one before without a gap, if it is whole by then.
module stopbit_htax_from_host
  import stopbit_htax_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         valid_i,
  output logic         ready_o,
  input  logic [63:0]  phit_i,

  output logic         header_o,  // phit_i is one, and taken
  input  logic [3:0]   route_i,
  input  logic         error_i,
  input  logic [4:0]   tag_i,

  output logic         request_o,
  output logic [3:0]   target_o,
  input  logic         grant_i,
  output logic [63:0]  phit_o
);
  localparam int unsigned Depth      = 64;
  localparam int unsigned PlaceWidth = $clog2(Depth);

  // ---- in
  htax_header_t header, sent;
  logic         inside_q, full, is_last, take;
  logic [3:0]   left_q;  // after this one
  assign header   = phit_i;
  assign ready_o  = !full;
  assign take     = valid_i && ready_o;
  assign header_o = take && !inside_q;
  assign is_last  = inside_q ? left_q == '0 : header.length == '0;
  always_ff @(posedge clk_i) begin
    if (take) left_q <= (inside_q ? left_q : header.length) - 4'd1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) inside_q <= 1'b0;
    else if (take) inside_q <= !is_last;
  end

  logic [PlaceWidth:0] packets;
  logic [63:0]         shown;
  logic                shown_last, sends, sending_q;
  stopbit_htax_queue #(.Depth(Depth)) i_phits (
    .clk_i,
    .rst_ni,
    .put_i    (take),
    .phit_i,
    .last_i   (is_last),
    .full_o   (full),
    .room_o   (),
    .packets_o(packets),
    .phit_o   (shown),
    .last_o   (shown_last),
    .take_i   (sends)
  );

  // ---- where: a route for each header, of which there are never more than phits
  logic [9:0]          routes [0:Depth-1];
  logic [PlaceWidth:0] write_q, read_q;
  logic                routed_q, has_route;
  assign has_route = write_q != read_q;
  always_ff @(posedge clk_i) begin
    if (routed_q) routes[write_q[PlaceWidth-1:0]] <= {tag_i, error_i, route_i};
  end

  // ---- the next packet, and the one that is sent
  logic       asks_q, loads, is_ahead;
  logic [3:0] target_q;
  logic [4:0] tag_q;
  logic       error_q;
  assign sends     = grant_i || sending_q;
  assign is_ahead  = packets > (PlaceWidth + 1)'(sends);  // a whole packet after the one that is sent
  assign loads     = (!asks_q || grant_i) && has_route && is_ahead;
  assign request_o = asks_q && !grant_i;
  assign target_o  = target_q;
  always_comb begin
    sent       = shown;
    sent.error = error_q;
    sent.tag   = tag_q;
  end
  assign phit_o = grant_i ? sent : shown;

  always_ff @(posedge clk_i) begin
    if (loads) {tag_q, error_q, target_q} <= routes[read_q[PlaceWidth-1:0]];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q   <= '0;
      read_q    <= '0;
      routed_q  <= 1'b0;
      asks_q    <= 1'b0;
      sending_q <= 1'b0;
    end else begin
      routed_q  <= header_o;
      write_q   <= write_q + (PlaceWidth + 1)'(routed_q);
      read_q    <= read_q + (PlaceWidth + 1)'(loads);
      asks_q    <= loads || (asks_q && !grant_i);
      sending_q <= sends && !shown_last;
    end
  end
endmodule
