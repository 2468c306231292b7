/// One channel of the crossbar to the host. A request (`Tagged`) gets a tag of the host's pool when its header leaves;
/// while there is none, requests wait here, and nothing else does. Nor does a request leave before the writes that are
/// in the bridge when its turn comes (`writes_i`, `write_leaves_i`): those that its unit sent before it are among them.
module stopbit_htax_to_host
  import stopbit_htax_pkg::*;
#(
  parameter  bit Tagged     = 1'b0,
  localparam int unsigned Depth      = 128,
  localparam int unsigned CountWidth = $clog2(Depth) + 1
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        valid_i,
  input  logic        last_i,
  input  logic [63:0] phit_i,
  output logic        room_o,

  input  logic        free_i,    // of the pool
  input  logic [4:0]  tag_i,
  output logic        take_o,
  output logic [3:0]  origin_o,
  output logic [4:0]  unit_tag_o,

  input  logic [CountWidth-1:0] writes_i,        // of the channel of writes, both
  input  logic                  write_leaves_i,
  output logic [CountWidth-1:0] packets_o,
  output logic                  packet_leaves_o,

  output logic        valid_o,
  input  logic        ready_i,
  output logic [63:0] phit_o
);
  logic [CountWidth-1:0]  packets, owed_q, owed;
  logic                   counts_q;  // owed_q is of the request whose turn it is
  logic [63:0]            shown;
  logic                   shown_last, inside_q, leaves;
  htax_header_t           header, sent;
  stopbit_htax_queue #(.Depth(Depth)) i_phits (
    .clk_i,
    .rst_ni,
    .put_i    (valid_i),
    .phit_i,
    .last_i,
    .full_o   (),
    .room_o,
    .packets_o(packets),
    .phit_o   (shown),
    .last_o   (shown_last),
    .take_i   (leaves)
  );
  assign packets_o       = packets;
  assign packet_leaves_o = leaves && shown_last;
  assign header     = shown;
  assign owed       = !Tagged ? '0 : counts_q ? owed_q : writes_i;
  assign valid_o    = packets != '0 && (inside_q || !Tagged || (free_i && owed == '0));
  assign leaves     = valid_o && ready_i;
  assign take_o     = Tagged && leaves && !inside_q;
  assign origin_o   = header.origin;
  assign unit_tag_o = header.tag;
  always_comb begin
    sent = header;
    if (Tagged) sent.tag = tag_i;
  end
  assign phit_o = inside_q ? shown : sent;
  always_ff @(posedge clk_i) begin
    owed_q <= owed - CountWidth'(write_leaves_i && owed != '0);
    if (!rst_ni) begin
      inside_q <= 1'b0;
      counts_q <= 1'b0;
    end else begin
      if (leaves) inside_q <= !shown_last;
      counts_q <= packets != '0 && !inside_q && !leaves;
    end
  end
endmodule
