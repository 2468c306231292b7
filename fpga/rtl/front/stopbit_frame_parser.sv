/// Reads the headers of an Ethernet frame: up to two VLAN tags, IPv4 with options, UDP.
///
/// `head_i` is the begin of a frame, `bytes_i` how many bytes the frame has, or more than it takes if it has more. The answer comes two
/// cycles later (in cycles in which `go_i` is high), addresses and port one cycle later. Lengths
/// against the size of the frame are the user's business, for that is known only at its end: `total_bytes_o` are the bytes
/// that the IPv4 header announces from `body_o` on.
module stopbit_frame_parser (
  input  logic                   clk_i,
  input  logic                   go_i,
  input  logic [8*90-1:8*12]     head_i,  // bytes 12 to 89 of the frame
  input  logic [6:0]             bytes_i,
  input  logic                   check_i,  // the checksum of the IPv4 header

  output logic [4:0]             early_o,  // verdict before the frame's size is looked at
  output logic [4:0]             late_o,  // verdict if the size is right
  output logic [4:0]             body_o,    // where the IPv4 header begins: 14, 18 or 22
  output logic [15:0]            total_bytes_o,
  output logic [6:0]             payload_o,  // where the UDP data begin: 42 to 90, always 2 more than a multiple of 4
  output logic [15:0]            payload_bytes_o,
  output logic [31:0]            source_address_o,
  output logic [31:0]            address_o,
  output logic [15:0]            port_o
);
  localparam int unsigned IpBytes = 68;  // the longest IPv4 header and the UDP header

  function automatic logic is_vlan(input logic [15:0] ether_type);
    is_vlan = ether_type == 16'h8100 || ether_type == 16'h88A8 || ether_type == 16'h9100 || ether_type == 16'h9200;
  endfunction

  function automatic logic [18:0] sum_of_eight(input logic [127:0] words);
    logic [67:0] two;
    logic [35:0] four;
    for (int unsigned i = 0; i < 4; i++) two[17*i +: 17] = {1'b0, words[32*i +: 16]} + {1'b0, words[32*i+16 +: 16]};
    for (int unsigned i = 0; i < 2; i++) four[18*i +: 18] = {1'b0, two[34*i +: 17]} + {1'b0, two[34*i+17 +: 17]};
    sum_of_eight = {1'b0, four[17:0]} + {1'b0, four[35:18]};
  endfunction

  // ------------------------------------------------------------------------------------------------ cycle 1: link layer
  logic [15:0]          type0, type1, type2, ether_type;
  logic                 tag0, tag1;
  logic [4:0]           link_verdict, body;
  logic [8*IpBytes-1:0] ip;

  assign type0 = {head_i[8*12 +: 8], head_i[8*13 +: 8]};
  assign type1 = {head_i[8*16 +: 8], head_i[8*17 +: 8]};
  assign type2 = {head_i[8*20 +: 8], head_i[8*21 +: 8]};
  assign tag0  = is_vlan(type0);
  assign tag1  = tag0 && is_vlan(type1);

  always_comb begin
    if (tag1) begin
      ether_type = type2;
      body       = 5'd22;
      ip         = head_i[8*22 +: 8*IpBytes];
    end else if (tag0) begin
      ether_type = type1;
      body       = 5'd18;
      ip         = head_i[8*18 +: 8*IpBytes];
    end else begin
      ether_type = type0;
      body       = 5'd14;
      ip         = head_i[8*14 +: 8*IpBytes];
    end

    link_verdict = stopbit_front_pkg::VERDICT_ACCEPTED;
    if (bytes_i < 7'd14 || (tag0 && bytes_i < 7'd18) || (tag1 && bytes_i < 7'd22)) begin
      link_verdict = stopbit_front_pkg::VERDICT_LINK_HEADER_SHORT;
    end else if (is_vlan(ether_type)) begin
      link_verdict = stopbit_front_pkg::VERDICT_TOO_MANY_VLAN_TAGS;
    end else if (ether_type == 16'h86DD) begin
      link_verdict = stopbit_front_pkg::VERDICT_IPV6;
    end else if (ether_type != 16'h0800) begin
      link_verdict = stopbit_front_pkg::VERDICT_NOT_IP;
    end else if (bytes_i == {2'b00, body}) begin
      link_verdict = stopbit_front_pkg::VERDICT_IP_HEADER_SHORT;
    end
  end

  logic [8*IpBytes-1:0] ip_q;
  logic [4:0]           link_verdict_q, body_q;
  logic                 ip_short_q;
  always_ff @(posedge clk_i) begin
    if (go_i) begin
      ip_q           <= ip;
      link_verdict_q <= link_verdict;
      body_q         <= body;
      ip_short_q     <= bytes_i < {2'b00, body} + 7'd20;
    end
  end

  // ------------------------------------------------------------------------------------------------- cycle 2: IPv4, UDP
  logic [3:0]  version, words;
  logic [5:0]  header_bytes;
  logic [15:0] total_bytes, udp_room, udp_bytes, port;
  logic [4:0]  early, late;
  logic [511:0] counted;
  logic [75:0]  sums;

  assign version      = ip_q[7:4];
  assign words        = ip_q[3:0];
  assign header_bytes = {words, 2'b00};
  assign total_bytes  = {ip_q[8*2 +: 8], ip_q[8*3 +: 8]};
  assign udp_room     = total_bytes - {10'd0, header_bytes};

  always_comb begin
    port      = '0;
    udp_bytes = '0;
    for (int unsigned i = 5; i < 16; i++) begin
      if (words == 4'(i)) begin
        port      = {ip_q[8*(4*i+2) +: 8], ip_q[8*(4*i+3) +: 8]};
        udp_bytes = {ip_q[8*(4*i+4) +: 8], ip_q[8*(4*i+5) +: 8]};
      end
    end

    // The checksum's words, in four sums of eight: one chain of thirty would be the longest path of the front end.
    counted = '0;
    for (int unsigned i = 0; i < 30; i++) begin
      if (i < 10 || words > 4'(i / 2)) counted[16*i +: 16] = {ip_q[16*i +: 8], ip_q[16*i+8 +: 8]};
    end
    for (int unsigned i = 0; i < 4; i++) sums[19*i +: 19] = sum_of_eight(counted[128*i +: 128]);

    early = stopbit_front_pkg::VERDICT_ACCEPTED;
    if (link_verdict_q != stopbit_front_pkg::VERDICT_ACCEPTED) begin
      early = link_verdict_q;
    end else if (version != 4'd4) begin
      early = version == 4'd6 ? stopbit_front_pkg::VERDICT_IPV6 : stopbit_front_pkg::VERDICT_IP_VERSION_BAD;
    end else if (ip_short_q) begin
      early = stopbit_front_pkg::VERDICT_IP_HEADER_SHORT;
    end else if (words < 4'd5) begin
      early = stopbit_front_pkg::VERDICT_IP_HEADER_LENGTH_BAD;
    end else if (total_bytes < {10'd0, header_bytes}) begin
      early = stopbit_front_pkg::VERDICT_IP_TOTAL_LENGTH_BAD;
    end

    late = stopbit_front_pkg::VERDICT_ACCEPTED;
    if (ip_q[8*9 +: 8] != 8'd17) begin
      late = stopbit_front_pkg::VERDICT_NOT_UDP;
    end else if (ip_q[8*6 +: 6] != 6'd0 || ip_q[8*7 +: 8] != 8'd0) begin  // more fragments, or an offset
      late = stopbit_front_pkg::VERDICT_FRAGMENT;
    end else if (udp_room < 16'd8) begin
      late = stopbit_front_pkg::VERDICT_UDP_HEADER_SHORT;
    end else if (udp_bytes < 16'd8 || udp_bytes > udp_room) begin
      late = stopbit_front_pkg::VERDICT_UDP_LENGTH_BAD;
    end
  end

  logic [4:0]  late_q;
  logic [75:0] sums_q;
  always_ff @(posedge clk_i) begin
    if (go_i) begin
      early_o         <= early;
      late_q         <= late;
      body_o           <= body_q;
      total_bytes_o    <= total_bytes;
      payload_o        <= {2'b00, body_q} + {1'b0, header_bytes} + 7'd8;
      payload_bytes_o  <= udp_bytes - 16'd8;
      sums_q           <= sums;
    end
  end

  // Those that are looked up: a cycle before the others, so that the table has a register.
  assign source_address_o = {ip_q[8*12 +: 8], ip_q[8*13 +: 8], ip_q[8*14 +: 8], ip_q[8*15 +: 8]};
  assign address_o        = {ip_q[8*16 +: 8], ip_q[8*17 +: 8], ip_q[8*18 +: 8], ip_q[8*19 +: 8]};
  assign port_o           = port;

  // The one's complement sum of a right header is all ones.
  logic [20:0] sum_all;
  logic [16:0] sum_folded;
  logic        sum_wrong;
  assign sum_all    = ({2'd0, sums_q[18:0]} + {2'd0, sums_q[37:19]}) + ({2'd0, sums_q[56:38]} + {2'd0, sums_q[75:57]});
  assign sum_folded = {1'b0, sum_all[15:0]} + {12'd0, sum_all[20:16]};
  assign sum_wrong  = sum_folded != 17'h0FFFF;

  assign late_o = late_q == stopbit_front_pkg::VERDICT_ACCEPTED && check_i && sum_wrong
                        ? stopbit_front_pkg::VERDICT_CHECKSUM_BAD : late_q;
endmodule
