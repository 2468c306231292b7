/// Notification rings of the ports, in their memory: 64 lines each, as NotificationWriter of host/nic/notify has them.
///
/// Software sets a ring when a port is opened, after what was for the last owner has been written. A port says with a trigger
/// how many notifications it has read; what it says wrongly harms its own ring only.
module stopbit_node_notices
  import stopbit_node_pkg::*;
#(
  parameter  int unsigned Ports     = 64,
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 set_valid_i,
  output logic                 set_ready_o,
  input  logic [PortWidth-1:0] set_port_i,
  input  logic                 set_open_i,
  input  logic [47:12]         set_ring_i,
  input  logic                 read_valid_i,   // how many notifications a port has read
  input  logic [15:0]          read_vpid_i,
  input  logic [4:0]           read_count_i,

  // The next line of a port, two cycles after its number.
  input  logic [15:0]          vpid_i,
  output logic                 room_o,
  output logic [47:6]          line_o,
  output logic [63:0]          number_o,       // absolute number, plus 1
  input  logic                 written_i
);
  logic [Ports-1:0]     open_q;
  logic [RingBits:0]    reads [0:Ports-1];  // modulo twice the ring
  logic [PortWidth-1:0] port, read_port;
  logic [35:0]          ring;
  logic [63:0]          written;
  logic [RingBits:0]    read_q, used;
  logic                 exists_q, sets;
  logic [RingBits-1:0]  at_q;
  assign port        = vpid_i[PortWidth-1:0];
  assign read_port   = read_vpid_i[PortWidth-1:0];
  assign set_ready_o = !written_i && !read_valid_i;
  assign sets        = set_valid_i && set_ready_o;
  stopbit_ram #(.Width(36), .Depth(Ports)) i_rings (
    .write_clk_i(clk_i), .write_i(sets), .write_address_i(set_port_i), .write_data_i(set_ring_i),
    .read_clk_i(clk_i), .read_address_i(port), .read_data_o(ring)
  );
  stopbit_ram #(.Width(64), .Depth(Ports)) i_written (
    .write_clk_i(clk_i), .write_i(sets || written_i), .write_address_i(sets ? set_port_i : port),
    .write_data_i(sets ? '0 : number_o), .read_clk_i(clk_i), .read_address_i(port), .read_data_o(written)
  );
  assign used = written[RingBits:0] - read_q;
  always_ff @(posedge clk_i) begin
    if (sets) reads[set_port_i] <= '0;
    else if (read_valid_i && 32'(read_vpid_i) < Ports) reads[read_port] <= reads[read_port] + (RingBits + 1)'(read_count_i);
    read_q   <= reads[port];
    exists_q <= open_q[port] && 32'(vpid_i) < Ports;
    room_o   <= exists_q && !used[RingBits];
    number_o <= written + 64'd1;
    at_q     <= written[RingBits-1:0];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) open_q <= '0;
    else if (sets) open_q[set_port_i] <= set_open_i;
  end
  // Both are of the same port as long as it is looked at.
  assign line_o = {ring, at_q};
endmodule
