/// Sends messages of ports: checks who may send what to whom, writes the sender's identity, and cuts long ones into packets.
///
/// A message is a velo_command_t and its words, whole, with the port and the class that its address named: so a port can
/// neither choose its name nor its domain. What is refused is taken and left out, with a code. A message with fewer words than
/// its command says leaves with the mark of a damaged packet; surplus words are left out.
///
/// A message of 8 bytes takes 5 cycles, its first word out comes 2 cycles after its first word in.
module stopbit_velo_requester
  import stopbit_link_pkg::start_t;
  import stopbit_nic_pkg::*;
  import stopbit_velo_pkg::*;
#(
  parameter  int unsigned Ports      = 64,
  parameter  int unsigned Groups     = 64,
  parameter  logic [2:0]  Unit       = 3'd0,
  localparam int unsigned PortWidth  = $clog2(Ports),
  localparam int unsigned GroupWidth = $clog2(Groups)
) (
  input  logic          clk_i,
  input  logic          rst_ni,

  input  logic [15:0]   node_i,
  input  logic [15:0]   last_node_i,

  input  logic          write_i,
  input  velo_table_t   table_i,
  input  logic [11:0]   index_i,
  input  velo_port_t    port_i,
  input  velo_group_t   group_i,

  input  logic          valid_i,
  output logic          ready_o,
  input  logic          first_i,
  input  logic          last_i,
  input  logic [63:0]   data_i,
  input  vpid_t         vpid_i,   // with the first word
  input  logic [1:0]    class_i,

  output logic          valid_o,
  input  logic          ready_i,
  output logic          first_o,
  output logic          last_o,
  output logic          bad_o,
  output logic [63:0]   data_o,

  output logic          sent_o,
  output logic          refused_o,
  output velo_refusal_t refusal_o,
  output logic          malformed_o  // the message has fewer or more words than its command says
);
  typedef enum logic [2:0] {Idle, Check, Start, Status, Part, Data, Drain} state_e;
  state_e        state_q;
  velo_command_t command, command_q;
  vpid_t         vpid_q;
  logic [1:0]    class_q;
  logic          alone_q;   // the command is the last word
  words_t        left_q;    // words not sent
  logic [4:0]    packet_q;  // of these, in this packet
  logic [7:0]    offset_q;
  logic          split_q;
  logic [15:0]   domain_q;

  // Tables.
  velo_port_t           port;
  velo_group_t          group;
  logic [Ports-1:0]     open_q;
  logic [Groups-1:0]    used_q;
  logic                 is_open_q, is_group_q;
  assign command = data_i;
  stopbit_ram #(.Width($bits(velo_port_t)), .Depth(Ports)) ports (
    .write_clk_i(clk_i), .write_i(write_i && table_i == TABLE_PORT), .write_address_i(index_i[PortWidth-1:0]),
    .write_data_i(port_i), .read_clk_i(clk_i), .read_address_i(vpid_i[PortWidth-1:0]), .read_data_o(port)
  );
  stopbit_ram #(.Width($bits(velo_group_t)), .Depth(Groups)) groups (
    .write_clk_i(clk_i), .write_i(write_i && table_i == TABLE_GROUP), .write_address_i(index_i[GroupWidth-1:0]),
    .write_data_i(group_i), .read_clk_i(clk_i), .read_address_i(command.target[GroupWidth-1:0]), .read_data_o(group)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q <= '0;
      used_q <= '0;
    end else if (write_i) begin
      if (table_i == TABLE_PORT) open_q[index_i[PortWidth-1:0]] <= port_i.is_open;
      if (table_i == TABLE_GROUP) used_q[index_i[GroupWidth-1:0]] <= group_i.is_used;
    end
  end

  // The rules, in the order of the class.
  logic [4:0] error;
  always_comb begin
    if (!is_open_q || !port.is_enabled) error = ERR_OVPID_INV;
    else if (class_q > 2'd1) error = ERR_CMD_INV;
    else if (command_q.length == '0 || command_q.length > 12'd2048) error = ERR_OLENGTH;
    else if (command_q.multicast) error = !is_group_q ? ERR_TVPID_INV : group.domain != port.domain ? ERR_PDID : ERR_NOERR;
    else error = command_q.target > last_node_i ? ERR_ROUTE_INV : ERR_NOERR;
  end

  logic [11:0] length_less;
  words_t      words;
  velo_wire_t  status;
  start_t      start;
  assign length_less = command_q.length - 12'd1;
  assign words       = words_of(length_less[10:0]);
  assign status      = '{node: node_i, vpid: vpid_q, kind: command_q.kind, tag: command_q.tag,
                         announce: command_q.announce, length: length_less[10:0], domain: domain_q};
  assign start       = '{crc: '0, vpid: command_q.vpid, node: command_q.target, unit: Unit, traffic_class: class_q, channel: '0,
                         multicast: command_q.multicast, marker: '0};

  // In Data words pass through; one that is missing ends the packet.
  logic passes, ends_packet, ends_message, out;
  assign passes       = state_q == Data && valid_i;
  assign ends_packet  = packet_q == 5'd1 || last_i;
  assign ends_message = left_q == words_t'(1) || last_i;
  assign out          = valid_o && ready_i;
  always_comb begin
    valid_o = state_q == Start || state_q == Status || state_q == Part || passes;
    first_o = state_q == Start;
    last_o  = (state_q == Status && alone_q) || (state_q == Data && ends_packet);
    bad_o   = last_o && (alone_q || (ends_message && command_q.erroneous) || (last_i && left_q != words_t'(1)));
    unique case (state_q)
      Start:   data_o = start;
      Status:  data_o = status;
      Part:    data_o = {56'b0, offset_q};
      default: data_o = data_i;
    endcase
  end
  assign ready_o = state_q == Idle || (state_q == Data && ready_i) || state_q == Drain;

  always_ff @(posedge clk_i) begin
    if (state_q == Check) domain_q <= port.domain;
    if (state_q == Idle) begin
      command_q  <= command;
      vpid_q     <= vpid_i;
      class_q    <= class_i;
      alone_q    <= last_i;
      is_open_q  <= open_q[vpid_i[PortWidth-1:0]] && 32'(vpid_i) < Ports;
      is_group_q <= used_q[command.target[GroupWidth-1:0]] && 32'(command.target) < Groups;
    end
    if (state_q == Check) begin
      left_q   <= words;
      offset_q <= '0;
      split_q  <= words > words_t'(VeloPacketWords);
    end else if (passes && ready_i) begin
      left_q   <= left_q - words_t'(1);
      offset_q <= offset_q + 8'd1;
    end
    if (state_q == Status || state_q == Part) begin
      packet_q <= split_q && left_q > words_t'(VeloPartWords) ? 5'(VeloPartWords) : left_q[4:0];
    end else if (passes && ready_i) begin
      packet_q <= packet_q - 5'd1;
    end
  end

  always_ff @(posedge clk_i) begin
    sent_o      <= 1'b0;
    refused_o   <= 1'b0;
    malformed_o <= 1'b0;
    refusal_o   <= '{error: error, origin: vpid_q, command: command_q};
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: begin
          if (valid_i && first_i) state_q <= Check;
          malformed_o <= valid_i && !first_i;
        end
        Check: begin
          if (error == ERR_NOERR) state_q <= Start;
          else state_q <= alone_q ? Idle : Drain;
          refused_o <= error != ERR_NOERR;
        end
        Start: if (ready_i) state_q <= Status;
        Status: if (ready_i) begin
          state_q     <= alone_q ? Idle : split_q ? Part : Data;
          malformed_o <= alone_q;
        end
        Part: if (ready_i) state_q <= Data;
        Data: if (out) begin
          if (last_i) state_q <= Idle;
          else if (left_q == words_t'(1)) state_q <= Drain;
          else if (ends_packet) state_q <= Start;
          sent_o      <= ends_message;
          malformed_o <= last_i != (left_q == words_t'(1));
        end
        default: if (valid_i && last_i) state_q <= Idle;
      endcase
    end
  end
endmodule
