/// Decides what each subscriber is sent, and keeps account of it: the work of FarSubscription (host/remote) by record.
///
/// Sends a record to each subscriber that wants it, one after the other, if that one has credit for all messages of the
/// record. Without credit the subscriber loses this record and all that follow until it has credit again; then an event
/// says how many records it lost, wanted or not. All subscribers lose a record that was not kept (a gap).
///
/// `set_i` opens or closes a subscriber, `begun_o` is where it begins. `tell_i` sends a position alone, or the ring's end
/// after all records; `told_o` says in the cycle of `tell_ready_o` whether it was sent. Both are taken between records.
module stopbit_record_sender
  import stopbit_remote_pkg::*;
#(
  parameter  int unsigned Subscribers = 8,
  localparam int unsigned IndexWidth  = Subscribers > 1 ? $clog2(Subscribers) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   start_i,
  input  logic [4:0]             slots_log2_i,

  input  logic                   set_valid_i,
  output logic                   set_ready_o,
  input  logic [IndexWidth-1:0]  set_index_i,
  input  subscriber_t            set_i,
  output position_t              begun_o,

  input  logic                   tell_valid_i,
  output logic                   tell_ready_o,
  input  logic [IndexWidth-1:0]  tell_index_i,
  input  logic                   tell_ends_i,
  input  logic [7:0]             tell_how_i,
  output logic                   told_o,

  input  logic [IndexWidth-1:0]  status_index_i,
  output progress_t              status_o,       // a cycle later; after the last record that was sent
  output logic [Subscribers-1:0] open_o,
  output logic [Subscribers-1:0] losing_o,

  input  logic                   valid_i,
  output logic                   take_o,
  input  tapped_t                record_i,
  input  logic [Subscribers-1:0] wants_i,
  input  position_t              position_i,
  input  logic                   is_empty_i,

  input  logic [Subscribers-1:0] credit_i,
  output logic                   surplus_o,      // a credit for more than the channel has

  output logic                   send_o,
  input  logic                   busy_i,
  output subscriber_t            to_o,
  output message_t               message_o
);
  typedef enum logic [2:0] {IDLE, PICK, LOAD, DECIDE, JUDGE, SAY, WAIT, STORE} state_t;
  typedef enum logic [1:0] {RECORD, GAP, EVENT, TELL} job_t;

  state_t                 state_q, state_d;
  job_t                   job_q, job;
  logic [Subscribers-1:0] todo_q, todo, open_q, losing_q, may_tell;
  logic [IndexWidth-1:0]  which_q, which;
  position_t              seen_q, gap_q, after;  // all before `seen_q` was sent, lost or not wanted
  progress_t              loaded, progress_q, next;
  subscriber_t            to;
  logic [Subscribers-1:0][16:0] credits_q, limit_q;
  logic [Subscribers-1:0] surplus;

  // ---- tables: written whole between records, or by the visit of a subscriber
  logic                  set, store;
  progress_t             fresh, written;
  logic [IndexWidth-1:0] write_index;
  assign set         = state_q == IDLE && set_valid_i;
  assign set_ready_o = state_q == IDLE;
  assign store       = state_q == STORE;
  assign begun_o     = position_i;
  always_comb begin
    fresh       = '0;
    fresh.begun = position_i.records;
  end
  assign written     = set ? fresh : progress_q;
  assign write_index = set ? set_index_i : which_q;
  stopbit_ram #(.Width($bits(subscriber_t)), .Depth(2 ** IndexWidth)) i_subscribers (
    .write_clk_i(clk_i), .write_i(set), .write_address_i(set_index_i), .write_data_i(set_i), .read_clk_i(clk_i),
    .read_address_i(which_q), .read_data_o(to)
  );
  stopbit_ram #(.Width($bits(progress_t)), .Depth(2 ** IndexWidth)) i_progress (
    .write_clk_i(clk_i), .write_i(set || store), .write_address_i(write_index), .write_data_i(written), .read_clk_i(clk_i),
    .read_address_i(which_q), .read_data_o(loaded)
  );
  stopbit_ram #(.Width($bits(progress_t)), .Depth(2 ** IndexWidth)) i_status (
    .write_clk_i(clk_i), .write_i(set || store), .write_address_i(write_index), .write_data_i(written), .read_clk_i(clk_i),
    .read_address_i(status_index_i), .read_data_o(status_o)
  );

  // ---- what is next
  logic      is_gap, is_tail_gap, tells;
  position_t gap;
  assign is_tail_gap = is_empty_i && position_i.records != seen_q.records;
  assign is_gap      = valid_i ? record_i.at.records != seen_q.records : is_tail_gap;
  assign gap         = valid_i ? record_i.at : position_i;
  // Records pass in between, however often positions or ends are requested.
  assign tells       = tell_valid_i && (!tell_ends_i || (is_empty_i && !is_tail_gap)) &&
                       !(job_q == TELL && (valid_i || is_gap));
  for (genvar s = 0; s < Subscribers; s++) begin : g_may_tell
    assign may_tell[s] = open_q[s] && losing_q[s] && credits_q[s] != '0;
  end
  always_comb begin
    job  = RECORD;
    todo = '0;
    if (tells) begin
      job  = TELL;
      todo = Subscribers'(1) << tell_index_i;
    end else if (is_gap) begin
      job  = GAP;
      todo = open_q;
    end else if (valid_i) begin
      todo = wants_i & open_q;
    end else begin
      job  = EVENT;
      todo = may_tell & (~may_tell + 1'b1);
    end
  end
  logic begins;
  assign begins = !set_valid_i && !start_i && (tells || is_gap || valid_i || may_tell != '0);

  // ---- the subscriber that is visited
  logic        losing, is_known, has_one, has_all, is_before, pair, is_done, says_lost_q, is_part;
  logic [16:0] credits, pieces;
  logic [15:0] left_q;
  logic [1:0]  part;
  logic [15:0] store_q;
  logic        first_q;
  logic [63:0] missed;
  assign losing    = losing_q[which_q];
  assign credits   = credits_q[which_q];
  assign is_known  = to.open && open_q[which_q];
  assign has_one   = credits != '0;
  assign pair      = to.slot_bytes >= PairBytes;
  assign pieces    = pair ? {1'b0, record_i.slots[15:1]} + 17'(record_i.slots[0]) : {1'b0, record_i.slots};
  assign has_all   = credits >= pieces;
  assign is_before = (job_q == GAP ? gap_q.records : seen_q.records) < progress_q.begun;
  assign part      = !pair || left_q == 16'd1 ? 2'd1 : 2'd2;
  assign is_part   = job_q == RECORD && !says_lost_q;
  assign missed    = seen_q.records - progress_q.lost_from;
  assign after     = '{records: record_i.at.records + 64'd1, number: record_i.at.number + 64'(record_i.slots)};

  assign send_o = state_q == SAY;
  assign to_o   = to;
  always_comb begin
    message_o          = '0;
    message_o.ends     = job_q == TELL && tell_ends_i;
    message_o.how      = tell_how_i;
    message_o.is_event = says_lost_q;
    message_o.lost     = missed;
    message_o.slots    = says_lost_q ? 2'd1 : job_q == TELL ? 2'd0 : part;
    message_o.is_first = first_q;
    message_o.store    = store_q;
    message_o.stamp    = record_i.at.number[31:0];
    message_o.phase    = record_i.phase;
    message_o.reached  = is_part && left_q == 16'(part) ? after : seen_q;
    message_o.number   = progress_q.sent + 64'd1;
    message_o.offset   = progress_q.offset;
  end
  assign is_done = state_q == WAIT && !busy_i;

  always_comb begin
    next        = progress_q;
    next.sent   = progress_q.sent + 64'd1;
    next.index  = progress_q.index + 17'd1;
    next.offset = progress_q.offset + 32'(to.slot_bytes);
    if (next.index == to.slots) begin
      next.index  = '0;
      next.offset = '0;
    end
    next.slots = progress_q.slots + 64'(message_o.slots);
    if (says_lost_q) next.lost = progress_q.lost + missed;
    if (says_lost_q || (is_part && left_q == 16'(part))) next.records = progress_q.records + 64'd1;
  end

  logic says, loses;
  always_comb begin
    state_d = state_q;
    says    = 1'b0;
    loses   = 1'b0;
    unique case (state_q)
      IDLE:    if (begins) state_d = PICK;
      PICK:    state_d = todo_q == '0 ? IDLE : LOAD;
      LOAD:    state_d = DECIDE;
      DECIDE:  state_d = JUDGE;
      JUDGE: begin
        unique case (job_q)
          RECORD:  if (is_known && !is_before) begin
            says  = losing ? has_one : has_all;
            loses = !losing && !has_all;
          end
          GAP:     loses = is_known && !losing && !is_before && gap_q.records != progress_q.begun;
          EVENT:   says = is_known && losing && has_one;
          default: says = is_known && !losing && has_one && !is_before;
        endcase
        state_d = says ? SAY : loses ? STORE : PICK;
      end
      SAY:     state_d = WAIT;
      WAIT:    if (!busy_i) state_d = is_part && left_q != 16'(part) ? SAY : says_lost_q && job_q == RECORD ? JUDGE : STORE;
      default: state_d = PICK;
    endcase
  end

  always_comb begin
    which = '0;
    for (int unsigned s = Subscribers; s > 0; s--) begin
      if (todo_q[s-1]) which = IndexWidth'(s - 1);
    end
  end
  assign take_o       = state_q == PICK && todo_q == '0 && job_q == RECORD;
  assign tell_ready_o = state_q == PICK && todo_q == '0 && job_q == TELL;

  always_ff @(posedge clk_i) begin
    if (state_q == IDLE) begin
      job_q  <= job;
      todo_q <= todo;
      gap_q  <= gap;
      told_o <= 1'b0;
    end
    if (state_q == PICK) begin
      which_q <= which;
      todo_q  <= todo_q & (todo_q - 1'b1);
    end
    if (state_q == DECIDE) progress_q <= loaded;
    if (state_q == JUDGE) begin
      left_q      <= record_i.slots;
      store_q     <= record_i.store;
      first_q     <= 1'b1;
      says_lost_q <= says && (job_q == EVENT || (job_q == RECORD && losing));
      if (loses) progress_q.lost_from <= job_q == GAP && seen_q.records < progress_q.begun ? progress_q.begun : seen_q.records;
    end
    if (is_done) begin
      progress_q <= next;
      told_o     <= job_q == TELL;
      if (is_part) begin
        left_q  <= left_q - 16'(part);
        store_q <= store_q + 16'(part);
        first_q <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q   <= IDLE;
      open_q    <= '0;
      losing_q  <= '0;
      seen_q    <= '0;
      surplus_o <= 1'b0;
    end else begin
      state_q   <= state_d;
      surplus_o <= surplus != '0;
      if (take_o) seen_q <= after;
      if (state_q == PICK && todo_q == '0 && job_q == GAP) seen_q <= gap_q;
      if (start_i) seen_q <= first_position(slots_log2_i);
      if (loses) losing_q[which_q] <= 1'b1;
      if (is_done && says_lost_q) losing_q[which_q] <= 1'b0;
      if (set) begin
        open_q[set_index_i]   <= set_i.open;
        losing_q[set_index_i] <= 1'b0;
      end
    end
  end
  assign open_o   = open_q;
  assign losing_o = losing_q & open_q;

  // ---- credits: no more than the channel has slots but one, whatever a subscriber says
  for (genvar s = 0; s < Subscribers; s++) begin : g_credits
    logic        uses, fits;
    logic [16:0] given;
    assign uses       = is_done && which_q == IndexWidth'(s);
    assign given      = credits_q[s] + 17'(Replenish);
    assign fits       = given <= limit_q[s];
    assign surplus[s] = credit_i[s] && !fits;
    always_ff @(posedge clk_i) begin
      if (set && set_index_i == IndexWidth'(s)) begin
        credits_q[s] <= set_i.slots - 17'd1;
        limit_q[s]   <= set_i.slots - 17'd1;
      end else begin
        credits_q[s] <= (credit_i[s] && fits ? given : credits_q[s]) - 17'(uses);
      end
    end
  end
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      has_credit : assert (!send_o || credits_q[which_q] != '0);
      in_order   : assert (!take_o || record_i.at.records == seen_q.records);
    end
  end
`endif
endmodule
