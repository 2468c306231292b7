/// What a port stores to its page of the message unit, as posted writes of whole words: limits of rings, and parts of messages.
///
/// The page is the port, so its mapping says who writes. Words 0 to 3 are the limits of its rings: low, high, and both with
/// segments. A limit is how many slots a port has read, or how many segments it has posted (PageWord, host/nic/queue); a
/// write has one to four of them. The upper half of the page takes parts, a write each; bit 10 of the address is their class.
/// Any other write is left out.
module stopbit_node_stores
  import stopbit_htax_pkg::*;
#(
  parameter  int unsigned Ports      = 64,
  localparam int unsigned PortWidth  = $clog2(Ports),
  localparam int unsigned LimitWidth = PortWidth + 2  // segments, port, priority
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  valid_i,
  output logic                  ready_o,
  input  logic                  last_i,
  input  logic [63:0]           phit_i,

  output logic                  limit_valid_o,
  input  logic                  limit_ready_i,
  output logic [LimitWidth-1:0] limit_index_o,
  output logic [31:0]           limit_o,
  output logic                  part_valid_o,
  input  logic                  part_ready_i,
  output logic                  part_first_o,
  output logic                  part_last_o,
  output logic [63:0]           part_data_o,
  output logic [9:0]            part_vpid_o,
  output logic                  part_class_o,
  output logic                  bad_o
);
  htax_header_t         header;
  logic                 inside_q, first_q, is_whole, is_limit, is_part, limit_q, part_q, takes;
  logic [1:0]           at_q;
  logic [PortWidth-1:0] port_q;
  logic                 class_q;
  assign header   = phit_i;
  assign is_whole = !header.error && header.length != '0 && header.address[2:0] == '0 && 32'(header.address[27:12]) < Ports &&
                    (header.length != 4'd1 || {header.origin[2:0], header.tag} == '1);
  assign is_limit = is_whole && header.address[11:5] == '0 && 5'(header.length) + 5'(header.address[4:3]) <= 5'd4;
  assign is_part  = is_whole && header.address[11];

  assign ready_o       = !inside_q || (limit_q ? limit_ready_i : part_q ? part_ready_i : 1'b1);
  assign takes         = valid_i && ready_o;
  assign limit_valid_o = inside_q && limit_q && valid_i;
  assign limit_index_o = {at_q[1], port_q, at_q[0]};
  assign limit_o       = phit_i[31:0];
  assign part_valid_o  = inside_q && part_q && valid_i;
  assign part_first_o  = first_q;
  assign part_last_o   = last_i;
  assign part_data_o   = phit_i;
  assign part_vpid_o   = 10'(port_q);
  assign part_class_o  = class_q;
  always_ff @(posedge clk_i) begin
    if (!inside_q) begin
      limit_q <= is_limit;
      part_q  <= is_part;
      at_q    <= header.address[4:3];
      port_q  <= header.address[12+:PortWidth];
      class_q <= header.address[10];
    end else if (takes) at_q <= at_q + 2'd1;
    first_q <= takes ? !inside_q : first_q;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= 1'b0;
      bad_o    <= 1'b0;
    end else begin
      if (takes) inside_q <= !last_i;
      bad_o <= valid_i && !inside_q && !is_limit && !is_part;
    end
  end
endmodule
