/// How many commands of each port are inside: for each port the number of those that came and of those that left, modulo 2^7,
/// with one writer each.
///
/// `count_o` is of the port asked for in the cycle before; a command that has left counts until its number is written. `add_i`
/// adds to that port, which must be the one asked for. A place is freed every two cycles. After a reset the numbers are cleared
/// first.
module stopbit_queue_places
  import stopbit_queue_pkg::PlaceWidth;
#(
  parameter  int unsigned Ports     = 64,
  parameter  int unsigned Sources   = 3,
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  output logic                              ready_o,

  input  logic [PortWidth-1:0]              port_i,
  output logic [PlaceWidth-1:0]             count_o,
  input  logic                              add_i,
  input  logic [PlaceWidth-1:0]             add_count_i,

  input  logic [Sources-1:0]                free_valid_i,
  output logic [Sources-1:0]                free_ready_o,
  input  logic [Sources-1:0][PortWidth-1:0] free_port_i
);
  logic                  clears_q, frees_q;
  logic [PortWidth-1:0]  clear_q, port_q, free_port, free_q;
  logic [PlaceWidth-1:0] came, left, freed;
  logic [Sources-1:0]    grant;
  logic                  any;
  assign ready_o = !clears_q;
  assign count_o = came - left;
  stopbit_arbiter #(.NumRequesters(Sources)) i_arbiter (
    .clk_i, .rst_ni, .stop_i(clears_q || frees_q), .accept_i(1'b1), .request_i(free_valid_i), .any_o(any), .grant_o(grant),
    .index_o()
  );
  assign free_ready_o = grant;
  always_comb begin
    free_port = '0;
    for (int unsigned i = 0; i < Sources; i++) free_port |= grant[i] ? free_port_i[i] : '0;
  end

  logic                  writes_left;
  logic [PortWidth-1:0]  left_address;
  logic [PlaceWidth-1:0] left_data;
  assign writes_left  = clears_q || frees_q;
  assign left_address = clears_q ? clear_q : free_q;
  assign left_data    = clears_q ? '0 : freed + PlaceWidth'(1);
  stopbit_ram #(.Width(PlaceWidth), .Depth(Ports)) i_came (
    .write_clk_i(clk_i), .write_i(clears_q || add_i), .write_address_i(clears_q ? clear_q : port_q),
    .write_data_i(clears_q ? '0 : came + add_count_i), .read_clk_i(clk_i), .read_address_i(port_i), .read_data_o(came)
  );
  stopbit_ram #(.Width(PlaceWidth), .Depth(Ports)) i_left (
    .write_clk_i(clk_i), .write_i(writes_left), .write_address_i(left_address), .write_data_i(left_data),
    .read_clk_i(clk_i), .read_address_i(port_i), .read_data_o(left)
  );
  stopbit_ram #(.Width(PlaceWidth), .Depth(Ports)) i_freed (
    .write_clk_i(clk_i), .write_i(writes_left), .write_address_i(left_address), .write_data_i(left_data),
    .read_clk_i(clk_i), .read_address_i(free_port), .read_data_o(freed)
  );
  always_ff @(posedge clk_i) begin
    port_q <= port_i;
    free_q <= free_port;
    if (!rst_ni) begin
      clears_q <= 1'b1;
      clear_q  <= '0;
      frees_q  <= 1'b0;
    end else begin
      clears_q <= clears_q && clear_q != PortWidth'(Ports - 1);
      clear_q  <= clear_q + PortWidth'(1);
      frees_q  <= any;
    end
  end
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      adds_what_was_asked : assert (!add_i || port_q == port_i);
    end
  end
`endif
endmodule
