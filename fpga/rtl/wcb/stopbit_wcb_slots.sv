/// Puts parts into the slots of their page, two for each, and decides when a message leaves: the rules of WriteCombiner.
///
/// A job is a part, a look at a page for messages that are late, or a page that is opened or closed. Idle reads what the page
/// has; Choose finds a slot; Rows reads which words of it have come; Verdict compares; Write stores. The words of a part are
/// written meanwhile, and after it if there are more than three. A slot that turns out spoiled is free again, so its words do
/// not matter.
///
/// A page's slot keeps its message until it has left. A part that finds no other slot waits for that, as it would be refused
/// only if both slots had incomplete messages.
module stopbit_wcb_slots
  import stopbit_nic_pkg::*;
  import stopbit_wcb_pkg::*;
#(
  parameter  int unsigned Ports     = 64,  // each has two pages
  localparam int unsigned Pages     = 2 * Ports,
  localparam int unsigned PageWidth = $clog2(Pages)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           tick_i,
  input  logic [15:0]                    patience_i,  // ticks; at most 65535 less the pages
  output logic [15:0]                    now_o,       // counts ticks in which a page was looked at

  // A page is opened, or closed: what was under way there is given up before `set_ready_o`.
  input  logic                           set_valid_i,
  output logic                           set_ready_o,
  input  logic [PageWidth-1:0]           set_page_i,
  input  logic                           set_open_i,

  input  logic                           valid_i,
  output logic                           ready_o,
  input  wcb_part_t                      part_i,

  output logic                           write_o,
  output logic [PageWidth+WordWidth:0]   write_address_o,
  output logic [63:0]                    write_data_o,
  output logic [PageWidth:0]             rows_slot_o,  // page and slot of the rows
  output wcb_row_t                       even_o,
  output wcb_row_t                       odd_o,

  output logic                           leave_valid_o,
  input  logic                           leave_ready_i,
  output wcb_leave_t                     leave_o,
  input  logic                           left_i,       // the slot is free
  input  logic [PageWidth:0]             left_slot_i,

  output logic                           event_valid_o,
  output wcb_event_t                     event_o
);
  if (Ports < 1 || Ports > 1024 || (Ports & (Ports - 1)) != 0) $fatal(1, "stopbit_wcb_slots: Ports is %0d", Ports);

  typedef enum logic [2:0] {Idle, Choose, Read, Verdict, Write, Tail} state_e;
  typedef enum logic [1:0] {Part, Look, Set} job_e;
  typedef enum logic [2:0] {Nothing, Late, Refuse, Cut, Join} action_e;
  state_e  state_q;
  job_e    job, job_q;
  action_e action, action_q;

  // ---- what pages have
  logic [2*Pages-1:0]   used_q, leaving_q;  // by page and slot
  logic [Pages-1:0]     open_q;
  logic [PageWidth-1:0] page, page_q, look_q;
  logic                 look_due_q;
  logic [1:0]           is_used_q, is_leaving_q;
  logic                 is_open_q;
  wcb_slot_t [1:0]      slots;
  wcb_slot_t            slot_q, slot_next;
  logic                 index, index_q;  // of the slot

  wcb_head_t head;
  wcb_tag_t  tag;
  assign head = part_i.head;
  assign tag  = part_i.tag;

  logic [PageWidth-1:0] part_page;
  if (Ports == 1) begin : gen_one
    assign part_page = part_i.page[10];
  end else begin : gen_more
    assign part_page = {part_i.page[10], part_i.page[PageWidth-2:0]};
  end
  assign job  = set_valid_i ? Set : look_due_q ? Look : Part;
  assign page = state_q != Idle ? page_q : job == Set ? set_page_i : job == Look ? look_q : part_page;
  for (genvar s = 0; s < 2; s++) begin : gen_slot
    stopbit_ram #(.Width($bits(wcb_slot_t)), .Depth(Pages)) i_slots (
      .write_clk_i(clk_i), .write_i(state_q == Write && action_q == Join && index_q == 1'(s)), .write_address_i(page_q),
      .write_data_i(slot_next), .read_clk_i(clk_i), .read_address_i(page), .read_data_o(slots[s])
    );
  end

  // ---- Choose
  logic [1:0]  is_late, is_same, is_free;
  logic        has_slot, shape_length, shape_offset;
  logic [12:0] end_at;
  logic [4:0]  error, error_q;
  assign end_at       = 13'(tag.offset) + 13'(head.length[5:0]);
  assign shape_length = head.length == '0 || head.length > 16'd40 || end_at > 13'(MessageWords * 8);
  assign shape_offset = tag.offset[2:0] != '0;
  always_comb begin
    for (int unsigned s = 0; s < 2; s++) begin
      is_late[s] = is_used_q[s] && (job_q == Set || now_o - slots[s].since >= patience_i);
      is_same[s] = is_used_q[s] && slots[s].message == tag.message;
      is_free[s] = !is_used_q[s] && !is_leaving_q[s];
    end
    has_slot = is_same != '0 || is_free != '0;
    index    = is_late != '0 ? !is_late[0] : is_same != '0 ? is_same[1] : !is_free[0];
    action   = Refuse;
    error    = ERR_NOERR;
    if (is_late != '0) action = Late;
    else if (job_q != Part) action = Nothing;
    else if (!is_open_q || !part_i.is_page) error = ERR_OVPID_INV;
    else if (head.operation != SendPart) error = ERR_CMD_INV;
    else if (part_i.misshapen) error = ERR_OLENGTH;
    else if (head.modifiers[Abort] && is_same == '0) error = ERR_CMD_INV;
    else if (head.modifiers[Abort]) action = Cut;
    else if (shape_length) error = ERR_OLENGTH;
    else if (shape_offset) error = ERR_OOFFSET;
    else if (has_slot) action = Join;
    else error = ERR_QUEUE_FULL;
  end
  logic chosen;  // else it waits: for the queue of messages that leave, or for a slot
  assign chosen = leave_ready_i && !(action == Refuse && error == ERR_QUEUE_FULL && is_leaving_q != '0);

  // ---- Read
  logic [2:0]          count;           // words of the part
  logic [WordWidth-1:0] first;
  logic [RowWidth-1:0] row;
  logic [RowWidth-2:0] even_row, odd_row;
  logic [Rows:0]       rows;
  logic [1:0]          is_valid_q;      // the row of the first word, and the next one
  logic [2*RowWords-1:0] mask_q;
  logic [11:0]         total_q, end_q, end_before_q;
  logic [WordWidth:0]  words_q, words_total_q;
  logic                is_first_q, whole_total_q;
  assign count    = 3'(words_of(12'(head.length[5:0])));
  assign first    = tag.offset[WordWidth+2:3];
  assign row      = first[WordWidth-1:4];
  assign even_row = row[RowWidth-1:1] + (RowWidth - 1)'(row[0]);
  assign odd_row  = row[RowWidth-1:1];
  assign rows     = {1'b0, slot_q.rows};
  always_ff @(posedge clk_i) begin
    if (state_q == Read) begin
      is_valid_q    <= {rows[(RowWidth+1)'(row) + 1'b1], rows[(RowWidth+1)'(row)]};
      mask_q        <= (((2 * RowWords)'(1) << count) - 1'b1) << first[3:0];
      is_first_q    <= tag.offset == '0;
      total_q       <= tag.offset == '0 ? tag.total : slot_q.total;
      words_total_q <= words_of(tag.offset == '0 ? tag.total : slot_q.total);
      whole_total_q <= tag.total != '0 && tag.total <= 12'(MessageWords * 8);
      words_q       <= slot_q.words + (WordWidth + 1)'(count);
      end_before_q  <= slot_q.end_at;
      end_q         <= end_at[11:0];
    end
  end

  // ---- Verdict
  logic [RowWords-1:0]   even, odd;
  logic [2*RowWords-1:0] marks, marks_q;
  logic                  part_ragged, was_ragged, is_beyond, fits, is_whole, end_matches, end_ragged;
  logic [11:0]           end_new, end_new_q;
  stopbit_ram #(.Width(RowWords), .Depth(Pages * Rows)) i_even (
    .write_clk_i(clk_i), .write_i(even_o.write), .write_address_i({rows_slot_o, even_o.row}), .write_data_i(even_o.marks),
    .read_clk_i(clk_i), .read_address_i({page_q, index_q, even_row}), .read_data_o(even)
  );
  stopbit_ram #(.Width(RowWords), .Depth(Pages * Rows)) i_odd (
    .write_clk_i(clk_i), .write_i(odd_o.write), .write_address_i({rows_slot_o, odd_o.row}), .write_data_i(odd_o.marks),
    .read_clk_i(clk_i), .read_address_i({page_q, index_q, odd_row}), .read_data_o(odd)
  );
  assign marks       = {row[0] ? even : odd, row[0] ? odd : even} & {{RowWords{is_valid_q[1]}}, {RowWords{is_valid_q[0]}}};
  assign part_ragged = end_q[2:0] != '0;
  assign was_ragged  = end_before_q[2:0] != '0;
  assign is_beyond   = end_q > end_before_q;
  assign end_new     = is_beyond ? end_q : end_before_q;
  assign end_matches = is_beyond ? end_q == total_q : end_before_q == total_q;
  assign end_ragged  = is_beyond ? part_ragged : was_ragged;
  // Only the last part may be ragged, and none may go beyond the message. (end < before: not beyond, and not equal, as words
  // come once)
  assign fits = !(is_first_q && !whole_total_q) && !(part_ragged && (was_ragged || !is_beyond)) && !(was_ragged && is_beyond) &&
                !(total_q != '0 && (end_q > total_q || end_before_q > total_q || (end_ragged && !end_matches)));
  assign is_whole = total_q != '0 && words_q == words_total_q;

  logic spoils_q, leaves_q;
  velo_command_t command, command_q;
  always_comb begin
    command        = slot_q.total != '0 ? slot_q.command : command_of(head, tag);
    command.length = slot_q.end_at;
    command.erroneous = 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (state_q == Verdict) begin
      marks_q   <= marks;
      end_new_q <= end_new;
      spoils_q  <= (marks & mask_q) != '0 || !fits || (is_whole && !end_matches);
      error_q   <= (marks & mask_q) != '0 ? ERR_OOFFSET : !fits || (is_whole && !end_matches) ? ERR_OLENGTH : ERR_NOERR;
      leaves_q  <= (marks & mask_q) == '0 && fits && is_whole && end_matches;
      command_q <= is_first_q ? command_of(head, tag) : slot_q.command;
    end else if (state_q == Choose) begin
      error_q   <= error;
      spoils_q  <= 1'b0;
    end
  end

  // ---- Write
  logic is_write, joins, leaves, ends;
  assign is_write = state_q == Write;
  assign joins    = is_write && action_q == Join;
  assign leaves   = (action_q == Join && leaves_q) || action_q == Cut || (action_q == Late && slot_q.total != '0);
  assign ends     = leaves || action_q == Late || (action_q == Join && spoils_q);
  always_comb begin
    slot_next         = slot_q;
    slot_next.message = tag.message;
    slot_next.total   = total_q;
    slot_next.words   = words_q;
    slot_next.end_at  = end_new_q;
    slot_next.command = command_q;
    for (int unsigned r = 0; r < Rows; r++) begin
      if (row == RowWidth'(r) || (mask_q[2*RowWords-1:RowWords] != '0 && row + 1'b1 == RowWidth'(r))) slot_next.rows[r] = 1'b1;
    end
  end
  logic [2*RowWords-1:0] marked;
  logic                  writes_next;
  assign marked      = marks_q | mask_q;
  assign writes_next = mask_q[2*RowWords-1:RowWords] != '0;
  // A cycle later, so that these memories have an address for writes: with one for both yosys makes them of LUTs with one port,
  // and cannot map what it made.
  always_ff @(posedge clk_i) begin
    rows_slot_o <= {page_q, index_q};
    even_o      <= '{write: joins && (!row[0] || writes_next), row: even_row,
                     marks: row[0] ? marked[2*RowWords-1:RowWords] : marked[RowWords-1:0]};
    odd_o       <= '{write: joins && (row[0] || writes_next), row: odd_row,
                     marks: row[0] ? marked[RowWords-1:0] : marked[2*RowWords-1:RowWords]};
  end
  assign leave_valid_o = is_write && leaves;
  assign leave_o       = '{page: page_t'(page_q), slot: index_q, is_cut: action_q != Join, rows: slot_q.rows,
                           words: action_q == Join ? words_q : words_of(slot_q.end_at),
                           command: action_q == Join ? command_q : command};
  logic [PageWidth-1:0] port;
  assign port          = page_q & PageWidth'(Ports - 1);
  assign event_valid_o = is_write && action_q != Nothing;
  assign event_o       = '{page: job_q == Part && action_q != Late ? part_i.page : {1'b0, page_q[PageWidth-1], 10'(port)},
                           is_late: action_q == Late,
                           error: action_q == Late || action_q == Cut ? ERR_NOERR : error_q,
                           gives_up: ends && !(action_q == Join && leaves_q),
                           leaves: leaves, message: action_q == Late ? slot_q.message : tag.message};
  assign set_ready_o   = is_write && action_q == Nothing && job_q == Set;

  // ---- words
  logic [2:0]       word_q;
  logic             is_last_word;
  logic [7:0][7:0]  bytes;
  assign is_last_word = word_q == count - 3'd1;
  assign bytes        = part_i.words[word_q];
  always_comb begin
    write_data_o = '0;  // after the end
    for (int unsigned b = 0; b < 8; b++) begin
      if (!is_last_word || head.length[2:0] == '0 || 3'(b) < head.length[2:0]) write_data_o[8*b+:8] = bytes[b];
    end
  end
  assign write_o         = action_q == Join && state_q != Idle && state_q != Choose && word_q < count;
  assign write_address_o = {page_q, index_q, first + WordWidth'(word_q)};
  assign ready_o         = (is_write && (action_q == Refuse || action_q == Cut || (action_q == Join && count <= 3'd3))) ||
                           (state_q == Tail && is_last_word);

  always_ff @(posedge clk_i) begin
    page_q       <= page;
    is_used_q    <= used_q[{page, 1'b0}+:2];
    is_leaving_q <= leaving_q[{page, 1'b0}+:2];
    is_open_q    <= open_q[page];
    word_q       <= state_q == Choose ? '0 : word_q + 3'd1;
    if (state_q == Idle) job_q <= job;
    if (state_q == Choose) begin
      action_q <= action;
      index_q  <= index;
      slot_q   <= slots[index];
      if (action == Join && is_same == '0) begin
        slot_q       <= '0;
        slot_q.since <= now_o;
      end
    end
    if (!rst_ni) begin
      state_q    <= Idle;
      used_q     <= '0;
      leaving_q  <= '0;
      open_q     <= '0;
      look_q     <= '0;
      look_due_q <= 1'b0;
      now_o      <= '0;
    end else begin
      unique case (state_q)
        Idle:    if (job != Part || valid_i) state_q <= Choose;
        Choose:  if (chosen) state_q <= action == Join ? Read : Write;
        Read:    state_q <= Verdict;
        Verdict: state_q <= Write;
        Write:   state_q <= action_q == Join && count > 3'd3 ? Tail : Idle;
        default: if (is_last_word) state_q <= Idle;
      endcase
      if (state_q == Idle && job == Set) open_q[set_page_i] <= set_open_i;
      if (left_i) leaving_q[left_slot_i] <= 1'b0;
      if (is_write) begin
        if (ends) used_q[{page_q, index_q}] <= 1'b0;
        else if (action_q == Join) used_q[{page_q, index_q}] <= 1'b1;
        if (leaves) leaving_q[{page_q, index_q}] <= 1'b1;
      end
      // Time goes on only when pages are looked at, so that no message grows older than its time can count.
      if (is_write && action_q == Nothing && job_q == Look) begin
        look_due_q <= tick_i;
        look_q     <= look_q + 1'b1;
        now_o      <= now_o + 1'b1;
      end else if (tick_i) begin
        look_due_q <= 1'b1;
      end
    end
  end

`ifndef SYNTHESIS
  logic [2*Pages-1:0] both;
  assign both = used_q & leaving_q;
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      leaves_once      : assert (both == '0);
      leaves_with_room : assert (!leave_valid_o || leave_ready_i);
      patience_counts  : assert (patience_i != '0 && 32'(patience_i) + Pages < 65536);
      left_was_leaving : assert (!left_i || leaving_q[left_slot_i]);
    end
  end
`endif
endmodule
