/// Decides what becomes of messages that have arrived: checks, a copy for each port, and its slots.
///
/// Slots are requested while the checks are made, and committed or revoked by their result. Checks, in this order: the port is
/// open; the sender's domain is the port's; the port listens to the sender; it is enabled. A message for a group is checked for
/// each member, but the sender itself. A full ring drops the message, or holds it for a time (`hold`): then its priority waits,
/// once, until the ring has taken something again; the other priority goes on.
///
/// A message for one port takes 6 cycles, one for a group 6 for each member and 4.
module stopbit_velo_completer
  import stopbit_nic_pkg::*;
  import stopbit_velo_pkg::*;
#(
  parameter  int unsigned Ports      = 64,
  parameter  int unsigned Groups     = 64,
  parameter  int unsigned Members    = 256,
  localparam int unsigned PortWidth  = $clog2(Ports),
  localparam int unsigned GroupWidth = $clog2(Groups),
  localparam int unsigned MemberWidth = $clog2(Members)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [15:0]       node_i,
  input  logic              tick_i,

  input  logic              write_i,
  input  velo_table_t       table_i,
  input  logic [11:0]       index_i,
  input  velo_port_t        port_i,
  input  velo_group_t       group_i,
  input  vpid_t             member_i,

  input  logic [1:0]        head_valid_i,
  output logic [1:0]        head_ready_o,
  input  velo_head_t [1:0]  head_i,

  output logic              request_o,
  input  logic              request_ready_i,
  output logic [PortWidth:0] request_ring_o,
  output words_t            request_words_o,
  input  logic              done_i,
  input  logic              late_i,
  input  logic [4:0]        ring_error_i,
  input  logic [1:0]        slot_size_i,
  input  logic [15:0]       hold_i,
  input  words_t            slots_i,
  output logic              commit_o,
  output logic              revoke_o,

  output logic              dump_valid_o,
  input  logic              dump_ready_i,
  output velo_dump_t        dump_o,
  output logic              places_commit_o,  // all slots of this request
  output logic              places_revert_o,
  output words_t            places_o,

  output logic              report_o,      // a copy was delivered, or not
  output velo_report_t      report_data_o,
  output logic [1:0]        holds_o        // by priority
);
  typedef enum logic [2:0] {Idle, Group, Member, Port, Slots, Next, Free} state_e;
  state_e            state_q;
  logic              priority_q, turn_q, choice;
  logic [1:0]        ready_heads, holds_q, paused_q;
  logic [1:0][15:0]  held_q;           // ticks
  velo_head_t        head, head_q;
  vpid_t             target, target_q;
  logic              exists_q;
  logic [2*Ports-1:0] has_held_q;      // has held up others, and has taken nothing since
  logic [7:0]        members_q;
  logic [9:0]        member_at_q;

  // ---- tables
  velo_port_t         port;
  velo_group_t        group;
  vpid_t              member;
  logic [Ports-1:0]   open_q;
  logic [Groups-1:0]  group_used_q;
  stopbit_ram #(.Width($bits(velo_port_t)), .Depth(Ports)) ports (
    .write_clk_i(clk_i), .write_i(write_i && table_i == TABLE_PORT), .write_address_i(index_i[PortWidth-1:0]),
    .write_data_i(port_i), .read_clk_i(clk_i), .read_address_i(target[PortWidth-1:0]), .read_data_o(port)
  );
  stopbit_ram #(.Width($bits(velo_group_t)), .Depth(Groups)) groups (
    .write_clk_i(clk_i), .write_i(write_i && table_i == TABLE_GROUP), .write_address_i(index_i[GroupWidth-1:0]),
    .write_data_i(group_i), .read_clk_i(clk_i), .read_address_i(head.target[GroupWidth-1:0]), .read_data_o(group)
  );
  stopbit_ram #(.Width(VeloVpidBits), .Depth(Members)) members (
    .write_clk_i(clk_i), .write_i(write_i && table_i == TABLE_MEMBER), .write_address_i(index_i[MemberWidth-1:0]),
    .write_data_i(member_i), .read_clk_i(clk_i), .read_address_i(member_at_q[MemberWidth-1:0]), .read_data_o(member)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q       <= '0;
      group_used_q <= '0;
    end else if (write_i) begin
      if (table_i == TABLE_PORT) open_q[index_i[PortWidth-1:0]] <= port_i.is_open;
      if (table_i == TABLE_GROUP) group_used_q[index_i[GroupWidth-1:0]] <= group_i.is_used;
    end
  end

  // ---- which message, and which port
  assign ready_heads = head_valid_i & ~paused_q;
  assign choice      = ready_heads[1] && (!ready_heads[0] || !turn_q);
  assign head        = head_i[choice];
  assign target      = state_q == Idle ? head.target[VeloVpidBits-1:0] : member;

  logic exists, asks, own, starts, known_group;
  assign known_group = group_used_q[head_q.target[GroupWidth-1:0]] && 32'(head_q.target) < Groups;
  assign starts  = state_q == Idle && ready_heads != '0 && request_ready_i;
  assign exists  = open_q[target[PortWidth-1:0]] && 32'(target) < Ports;
  assign own     = head_q.status.node == node_i && head_q.status.vpid == member;
  assign asks    = state_q == Idle ? ready_heads != '0 && !head.is_group : state_q == Member && !own;
  assign request_o       = asks;
  assign request_ring_o  = {target[PortWidth-1:0], state_q == Idle ? choice : priority_q};
  assign request_words_o = words_of(state_q == Idle ? head.status.length : head_q.status.length);

  // ---- checks
  logic [4:0] error_q, verdict;
  always_comb begin
    if (!exists_q) verdict = ERR_TVPID_INV;
    else if (port.domain != head_q.status.domain) verdict = ERR_PDID;
    else if (port.listens_to_one && {port.only_node, port.only_vpid} != {head_q.status.node, head_q.status.vpid}) verdict = ERR_PDID;
    else verdict = port.is_enabled ? ERR_NOERR : ERR_TVPID_INV;
  end

  logic        answers, may_hold, holds, delivered, lost;
  logic [4:0]  error;
  logic [PortWidth:0] ring;
  assign ring      = {target_q[PortWidth-1:0], priority_q};
  assign answers   = state_q == Slots && done_i && dump_ready_i;
  assign may_hold  = !head_q.is_group && hold_i != '0 && !has_held_q[ring];
  // The request was revoked by time: it comes again.
  assign lost      = state_q == Slots && request_ready_i;
  // A ring that is late is not an error: the message waits, until it has waited long enough.
  assign holds     = error_q == ERR_NOERR && ring_error_i == ERR_NOERR && late_i && may_hold && held_q[priority_q] < hold_i;
  assign error     = error_q != ERR_NOERR ? error_q : ring_error_i != ERR_NOERR ? ring_error_i : late_i ? ERR_QUEUE_FULL : ERR_NOERR;
  assign delivered = error == ERR_NOERR;
  assign commit_o  = answers && error_q == ERR_NOERR;
  assign revoke_o  = answers && error_q != ERR_NOERR;

  assign dump_o = '{status: head_q.status, is_erroneous: head_q.is_erroneous, slot_size: slot_size_i,
                    slots: answers && delivered ? slots_i : '0, frees: !(answers && head_q.is_group), bank: head_q.bank};
  assign dump_valid_o    = (answers && (head_q.is_group ? delivered : !holds)) || state_q == Free;
  assign places_commit_o = answers && delivered;
  assign places_revert_o = (answers && !delivered) || lost;
  assign places_o        = slots_i;

  logic leaves;
  assign leaves       = (answers && !head_q.is_group && !holds) || (state_q == Free && dump_ready_i);
  assign head_ready_o = {leaves && priority_q, leaves && !priority_q};
  assign holds_o      = holds_q;

  always_ff @(posedge clk_i) begin
    report_data_o <= '{error: state_q == Group ? ERR_TVPID_INV : error, is_erroneous: head_q.is_erroneous,
                       target: state_q == Group ? head_q.target[VeloVpidBits-1:0] : target_q, status: head_q.status,
                       is_high: priority_q};
    if (state_q == Idle) begin
      priority_q <= choice;
      head_q     <= head;
    end
    if (state_q == Idle || state_q == Member) begin
      target_q <= target;
      exists_q <= exists;
    end
    if (state_q == Port) error_q <= verdict;
    if (state_q == Group) begin
      members_q   <= group.members;
      member_at_q <= group.first;
    end else if (state_q == Member && (own || request_ready_i)) begin
      members_q   <= members_q - 8'd1;
      member_at_q <= member_at_q + 10'd1;
    end else if (lost) begin
      members_q   <= members_q + 8'd1;
      member_at_q <= member_at_q - 10'd1;
    end
    if (answers && delivered) has_held_q[ring] <= 1'b0;
    else if (answers && error_q == ERR_NOERR && late_i && !holds && may_hold) has_held_q[ring] <= 1'b1;
    if (write_i && table_i == TABLE_RING) has_held_q[index_i[PortWidth:0]] <= 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      turn_q   <= 1'b0;
      holds_q  <= '0;
      paused_q <= '0;
      report_o <= 1'b0;
    end else begin
      report_o <= (answers && !holds) || (state_q == Group && !known_group);
      // A message that is held is looked at again each tick, and when its port may have posted something.
      if (tick_i || write_i) paused_q <= '0;
      for (int unsigned p = 0; p < 2; p++) begin
        if (tick_i && held_q[p] != '1) held_q[p] <= held_q[p] + 16'd1;
      end
      unique case (state_q)
        Idle: if (starts) begin
          turn_q  <= choice;
          state_q <= head.is_group ? Group : Port;
          if (!holds_q[choice]) held_q[choice] <= '0;
        end
        Group: state_q <= known_group && group.members != '0 ? Next : Free;
        Member: state_q <= own ? Next : request_ready_i ? Port : Member;
        Port: state_q <= Slots;
        Slots: if (lost) begin
          state_q <= head_q.is_group ? Next : Idle;
        end else if (answers) begin
          state_q <= head_q.is_group ? Next : Idle;
          holds_q[priority_q] <= holds;
          if (holds) paused_q[priority_q] <= 1'b1;
        end
        Next: state_q <= members_q == '0 ? Free : Member;
        default: if (dump_ready_i) state_q <= Idle;
      endcase
    end
  end
endmodule
