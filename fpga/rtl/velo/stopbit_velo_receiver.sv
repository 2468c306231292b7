/// Takes packets of messages from the network into banks of memory, joins those of one message, and hands over what is whole.
///
/// A packet is a start, a velo_wire_t, a velo_part_t if its message needs several, and words. Packets of one sender and
/// priority come in order; those of others may come between them. A message of several packets takes a bank from its first
/// packet on; two of each priority may be incomplete at a time. Whatever is not as it has to be is left out and counted, with
/// what came of its message.
///
/// From the last word of a message to its head: 3 cycles. A message of 8 bytes takes 3 cycles.
module stopbit_velo_receiver
  import stopbit_link_pkg::start_t;
  import stopbit_nic_pkg::*;
  import stopbit_velo_pkg::*;
#(
  parameter  logic [2:0]  Unit     = 3'd0,
  localparam int unsigned MostOpen = 2  // incomplete messages of a priority
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic [15:0]                    node_i,
  input  logic                           tick_i,
  input  logic [15:0]                    patience_i,   // ticks that an incomplete message waits for its next packet, once to twice

  input  logic                           valid_i,
  output logic                           ready_o,
  input  logic                           first_i,
  input  logic                           last_i,
  input  logic                           bad_i,
  input  logic [63:0]                    data_i,
  output logic [1:0]                     accepts_o,    // by priority: a packet may begin

  output logic [1:0]                     head_valid_o, // by priority
  input  logic [1:0]                     head_ready_i,
  output velo_head_t [1:0]               head_o,
  input  logic                           free_i,
  input  logic [BankWidth-1:0]           free_bank_i,

  output logic                           write_o,
  output logic [BankWidth+WordWidth-1:0] write_address_o,
  output logic [63:0]                    write_data_o,

  // Events, a cycle each.
  output logic                           foreign_o,    // of another unit, or for another node
  output logic                           malformed_o,  // a packet that is none, or does not go on with its message
  output logic                           crowded_o,    // a message of several packets, beyond those that may be open
  output logic                           unfinished_o  // a message whose packets did not all come
);
  typedef enum logic [1:0] {Idle, Status, Part, Data} state_e;
  typedef struct packed {
    logic        is_high;
    logic        is_group;
    logic [15:0] target;
    velo_wire_t  status;
  } name_t;

  state_e                           state_q;
  logic                             dropped_q;   // the rest of this packet is left out
  start_t                           start, start_q;
  velo_wire_t                       status, status_q;
  velo_part_t                       part;
  words_t                           words, left_q;  // words of this packet that have not come
  logic [WordWidth-1:0]             at_q;
  logic [BankWidth-1:0]             bank_q, bank;
  logic                             ends_message_q, is_open_q, split;

  // Banks.
  logic [Banks-1:0]                 used_q, open_q, aged_q, due_q, bad_q, spoilt;
  name_t [Banks-1:0]                name_q;
  logic [Banks-1:0][WordWidth:0]    next_q;      // words of it that have come
  logic [BankWidth:0]               free_count;
  logic                             any_free;
  logic [15:0]                      ticks_q;
  logic                             ages;

  assign start  = data_i;
  assign status = data_i;
  assign part   = data_i;
  assign words  = words_of(status.length);
  assign split  = words > words_t'(VeloPacketWords);

  always_comb begin
    free_count = '0;
    bank       = '0;
    any_free   = 1'b0;
    for (int unsigned b = 0; b < Banks; b++) begin
      free_count = free_count + (BankWidth + 1)'(!used_q[b]);
      if (!used_q[b] && !any_free) begin
        bank     = BankWidth'(b);
        any_free = 1'b1;
      end
    end
  end

  // The bank that has the message of this packet, by sender and priority; by the rest of its name, too.
  name_t                name;
  logic                 known, same;
  logic [BankWidth-1:0] known_bank;
  logic [2:0]           open_count;
  assign name = '{is_high: start_q.traffic_class[0], is_group: start_q.multicast,
                  target: start_q.multicast ? start_q.node : 16'(start_q.vpid), status: status_q};
  always_comb begin
    known      = 1'b0;
    same       = 1'b0;
    known_bank = '0;
    open_count = '0;
    for (int unsigned b = 0; b < Banks; b++) begin
      if (open_q[b] && name_q[b].is_high == name.is_high) begin
        open_count = open_count + 3'd1;
        if (name_q[b].status.node == name.status.node && name_q[b].status.vpid == name.status.vpid) begin
          known      = 1'b1;
          same       = name_q[b] == name;
          known_bank = BankWidth'(b);
        end
      end
    end
  end

  // What the third word of a packet makes of it.
  logic       is_first, continues, opens, crowds, take, ends, fits;
  words_t     remaining, share;
  assign is_first  = part.offset == '0 && part.zero0 == '0;
  assign continues = known && same && part.offset != '0 && part.zero0 == '0 && words_t'(part.offset) == next_q[known_bank] &&
                     !spoilt[known_bank] && !last_i;
  assign opens     = is_first && !last_i && (known || open_count < 3'(MostOpen));
  assign crowds    = is_first && !last_i && !opens;
  assign remaining = words_of(status_q.length) - words_t'(part.offset);
  assign share     = remaining > words_t'(VeloPartWords) ? words_t'(VeloPartWords) : remaining;

  assign ready_o = any_free || state_q != Idle || !first_i;
  assign take    = valid_i && ready_o;
  assign ends    = take && last_i;
  assign fits    = state_q == Data && left_q == words_t'(1) && !first_i;

  // The last word of a message: bytes beyond it are 0.
  logic        last_word;
  logic [63:0] mask;
  assign last_word = ends_message_q && left_q == words_t'(1);
  always_comb begin
    for (int unsigned i = 0; i < 8; i++) mask[8*i +: 8] = {8{!last_word || 32'(status_q.length[2:0]) >= i}};
  end

  // A message is whole with this word.
  logic                 whole_q, erroneous_q;
  logic [BankWidth-1:0] whole_bank_q;
  name_t                whole_name_q;
  velo_head_t           head;
  assign head = '{is_high: whole_name_q.is_high, is_group: whole_name_q.is_group, target: whole_name_q.target,
                  status: whole_name_q.status, is_erroneous: erroneous_q, bank: whole_bank_q};

  // One of those that are due a cycle.
  logic [BankWidth-1:0] look_q;
  always_comb begin
    spoilt         = '0;
    spoilt[look_q] = due_q[look_q] && open_q[look_q];
  end
  assign ages   = tick_i && ticks_q + 16'd1 >= patience_i;

  always_ff @(posedge clk_i) begin
    write_o         <= take && state_q == Data && !first_i && !dropped_q && left_q != '0;
    write_address_o <= {bank_q, at_q};
    write_data_o    <= data_i & mask;
    whole_bank_q    <= bank_q;
    whole_name_q    <= name;
    erroneous_q     <= bad_i || (is_open_q && bad_q[bank_q]);
    if (take && first_i) start_q <= start;
    if (take && state_q == Status) begin
      status_q       <= status;
      left_q         <= words;
      at_q           <= '0;
      bank_q         <= bank;
      ends_message_q <= 1'b1;
      is_open_q      <= 1'b0;
    end
    if (take && state_q == Part) begin
      left_q         <= share;
      at_q           <= part.offset;
      bank_q         <= is_first ? bank : known_bank;
      ends_message_q <= remaining <= words_t'(VeloPartWords);
      is_open_q      <= 1'b1;
    end
    if (take && state_q == Data && left_q != '0) begin
      left_q <= left_q - words_t'(1);
      at_q   <= at_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    foreign_o    <= 1'b0;
    malformed_o  <= 1'b0;
    crowded_o    <= 1'b0;
    unfinished_o <= 1'b0;
    whole_q      <= 1'b0;
    if (!rst_ni) begin
      state_q   <= Idle;
      dropped_q <= 1'b0;
      used_q    <= '0;
      open_q    <= '0;
      ticks_q   <= '0;
      due_q     <= '0;
      look_q    <= '0;
    end else begin
      if (tick_i) ticks_q <= ages ? '0 : ticks_q + 16'd1;
      look_q <= look_q + 1'b1;
      if (ages) begin
        aged_q <= open_q;
        due_q  <= open_q & aged_q;
      end
      if (free_i) used_q[free_bank_i] <= 1'b0;
      // The bank of this packet is not given back while the packet comes.
      for (int unsigned b = 0; b < Banks; b++) begin
        if (spoilt[b] && !(state_q != Idle && is_open_q && bank_q == BankWidth'(b))) begin
          open_q[b]    <= 1'b0;
          used_q[b]    <= 1'b0;
          due_q[b]     <= 1'b0;
          unfinished_o <= 1'b1;
        end
      end
      if (take) begin
        if (first_i) begin
          // Also in the middle of a packet, whose rest is lost then.
          state_q     <= last_i ? Idle : Status;
          dropped_q   <= start.unit != Unit || (!start.multicast && start.node != node_i) || start.traffic_class > 2'd1;
          foreign_o   <= start.unit != Unit || (!start.multicast && start.node != node_i);
          malformed_o <= last_i || state_q != Idle || start.traffic_class > 2'd1;
          if (state_q == Data && !dropped_q) begin
            used_q[bank_q] <= 1'b0;
            open_q[bank_q] <= 1'b0;
          end
        end else begin
          unique case (state_q)
            Idle: malformed_o <= 1'b1;
            Status: begin
              state_q <= last_i ? Idle : split ? Part : Data;
              if (last_i) malformed_o <= !dropped_q;
              else if (!dropped_q && !split) used_q[bank] <= 1'b1;
            end
            Part: begin
              state_q <= last_i ? Idle : Data;
              if (!dropped_q) begin
                dropped_q   <= !(continues || opens);
                crowded_o   <= crowds;
                malformed_o <= !(continues || opens || crowds);
                // An older message of this sender ends here.
                if (known && !continues) begin
                  open_q[known_bank] <= 1'b0;
                  used_q[known_bank] <= 1'b0;
                  unfinished_o       <= 1'b1;
                end
                if (opens) begin
                  open_q[bank] <= 1'b1;
                  used_q[bank] <= 1'b1;
                  aged_q[bank] <= 1'b0;
                  due_q[bank]  <= 1'b0;
                  bad_q[bank]  <= 1'b0;
                  name_q[bank] <= name;
                  next_q[bank] <= '0;
                end
              end
            end
            default: begin
              if (ends) state_q <= Idle;
              if (!dropped_q) begin
                if (is_open_q) begin
                  aged_q[bank_q] <= 1'b0;
                  due_q[bank_q]  <= 1'b0;
                  next_q[bank_q] <= words_t'(at_q) + words_t'(1);
                  bad_q[bank_q]  <= bad_q[bank_q] || bad_i;
                end
                if (ends != fits) begin
                  // Too few words, or too many.
                  dropped_q      <= 1'b1;
                  malformed_o    <= 1'b1;
                  used_q[bank_q] <= 1'b0;
                  open_q[bank_q] <= 1'b0;
                end else if (ends && ends_message_q) begin
                  whole_q        <= 1'b1;
                  open_q[bank_q] <= 1'b0;
                end
              end
            end
          endcase
        end
      end
    end
  end

  // Whole messages, a queue for each priority. Each has a bank, so there is room.
  for (genvar p = 0; p < 2; p++) begin : g_heads
    logic has_room, puts;
    assign puts = whole_q && head.is_high == 1'(p);
    stopbit_fifo #(.Width($bits(velo_head_t)), .Depth(Banks)) i_queue (
      .clk_i, .rst_ni,
      .valid_i(puts), .ready_o(has_room), .data_i(head),
      .valid_o(head_valid_o[p]), .ready_i(head_ready_i[p]), .double_i(1'b0), .single_o(), .data_o(head_o[p]), .count_o()
    );
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) if (rst_ni) never_full : assert (!puts || has_room);
`endif
  end

  // Low messages leave banks for high ones, and for packets that are on their way already.
  assign accepts_o = {free_count >= (BankWidth + 1)'(2), free_count >= (BankWidth + 1)'(4)};
endmodule
