/// What a request is allowed to do here: tables of ports and windows, which software writes, and the check of a header.
///
/// All windows of a node are here, so there is no cache that could miss or be stale. `target_o` is known 3 cycles after
/// `here_i`, and follows the tables: what is closed is closed for the next packet. The tables keep through a reset.
module stopbit_rma_target
  import stopbit_nic_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter  int unsigned Ports       = 256,
  parameter  int unsigned Windows     = 1024,
  localparam int unsigned PortWidth   = $clog2(Ports),
  localparam int unsigned WindowWidth = $clog2(Windows)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   port_write_i,
  input  logic [PortWidth-1:0]   port_index_i,
  input  rma_port_t              port_i,
  input  logic                   window_write_i,
  input  logic [WindowWidth-1:0] window_index_i,
  input  rma_window_t            window_i,

  input  logic                   here_i,
  input  logic [15:0]            from_i,
  input  rma_header_t            header_i,
  input  logic [31:0]            length_i,  // what it needs of the window
  output logic                   known_o,
  output rma_target_t            target_o
);
  rma_port_t          port;
  rma_window_t        window;
  logic [1:0]         here_q;
  logic               known_q, is_port, is_window, is_capable, is_domain, is_short;
  logic               port_domain_q, port_open_q, window_open_q, capable_q, domain_q, short_q, bounds;
  logic [NlaBits+1:0] room_q;
  rma_target_t        target_q;
  stopbit_ram #(.Width($bits(rma_port_t)), .Depth(Ports)) i_ports (
    .write_clk_i(clk_i), .write_i(port_write_i), .write_address_i(port_index_i), .write_data_i(port_i),
    .read_clk_i(clk_i), .read_address_i(header_i.kind.target_vpid[PortWidth-1:0]), .read_data_o(port)
  );
  stopbit_ram #(.Width($bits(rma_window_t)), .Depth(Windows)) i_windows (
    .write_clk_i(clk_i), .write_i(window_write_i), .write_address_i(window_index_i), .write_data_i(window_i),
    .read_clk_i(clk_i), .read_address_i(header_i.place.window[WindowWidth-1:0]), .read_data_o(window)
  );
  assign is_port    = port.open && 32'(header_i.kind.target_vpid) < Ports;
  assign is_window  = window.open && 32'(header_i.place.window) < Windows && window.owner == header_i.kind.target_vpid;
  assign is_capable = window.capability == header_i.capability;
  assign is_domain  = header_i.place.domain == port.domain || (window.has_domain && header_i.place.domain == window.domain);
  assign is_short   = {1'b0, window.bytes} >= (NlaBits + 2)'(length_i);
  assign bounds     = short_q && header_i.offset[63:NlaBits+1] == '0 && (NlaBits + 2)'(header_i.offset[NlaBits:0]) <= room_q;
  always_ff @(posedge clk_i) begin
    // The entries of the tables are here.
    port_open_q   <= is_port;
    port_domain_q <= header_i.place.domain == port.domain;
    window_open_q <= is_window;
    capable_q     <= is_capable;
    domain_q      <= is_domain;
    short_q       <= is_short;
    room_q        <= {1'b0, window.bytes} - (NlaBits + 2)'(length_i);
    target_q.reads  <= window.access[0];
    target_q.writes <= window.access[1];
    target_q.locked <= window.locked && (window.holder_node != from_i || window.holder != header_i.kind.source_vpid);
    target_q.owner  <= window.owner;
    target_q.nla    <= window.first + header_i.offset[NlaBits-1:0];
    // The order of host/nic/rma.
    target_q.port_error <= !port_open_q ? ERR_TVPID_INV : !port_domain_q ? ERR_PDID : ERR_NOERR;
    target_q.error <= !port_open_q ? ERR_TVPID_INV : !window_open_q ? ERR_TWINID_INV : !capable_q ? ERR_TWINID_CAPA :
                      !domain_q ? ERR_PDID : !bounds ? ERR_TWINID : ERR_NOERR;
  end
  assign target_o = target_q;
  assign known_o  = known_q && !here_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      here_q  <= '0;
      known_q <= 1'b0;
    end else begin
      here_q  <= {here_q[0], here_i};
      known_q <= here_q[1] || (known_q && !here_i);
    end
  end
endmodule
