/// Tag matching: records to the oldest receive that matches, receives to the oldest record. One command at a time; each
/// ends with one answer that is the last.
///
/// A bank for each mask walks its chain beside the others, and the oldest of their matches wins. The stamp of a receive is
/// the clock of the unit, one for all masks, which counts receives. When there is no room the unit says so and changes
/// nothing: software then takes everything out (Dump), matches by itself, and gives it back in its order (Load).
module stopbit_tag_unit
  import stopbit_nic_pkg::*;
  import stopbit_tag_pkg::*;
#(
  parameter  int unsigned Entries = 1024,     // receives, and records
  parameter  int unsigned Masks   = TagMasks,
  localparam int unsigned Width   = $clog2(Entries),
  localparam int unsigned MaskWidth = $clog2(Masks)
) (
  input  logic           clk_i,
  input  logic           rst_ni,

  input  logic           valid_i,
  output logic           ready_o,
  input  tag_command_t   command_i,

  output logic           valid_o,
  input  logic           ready_i,
  output tag_answer_t    answer_o,

  input  logic [Width:0] receive_limit_i,     // how many there may be; more than Entries is no limit
  input  logic [Width:0] record_limit_i,
  output logic [Width:0] receives_o,
  output logic [Width:0] records_o
);
  if (Entries < 4 || (Entries & (Entries - 1)) != 0) $fatal(1, "stopbit_tag_unit: Entries is %0d, needs a power of two", Entries);

  typedef enum logic [3:0] {
    Clear,   // after a reset
    Idle,
    Start,   // banks hash, the walk through records begins
    Head,    // a record: banks read the heads of chains,
    Look,    // compare,
    Step,    // and go on
    Choose,
    Walk,    // a receive: until a record matches or none is left
    Read,    // one receive after the other: Cancel, Dump
    Check,
    Found,
    Rest,    // Dump: records
    Answer
  } state_e;

  typedef struct packed {
    logic                 used;
    logic                 persistent;
    logic [MaskWidth-1:0] mask;
    logic [Width-1:0]     bucket;
    logic [63:0]          id;
  } receive_t;

  state_e           state_q;
  tag_command_t     command_q;
  logic [2:0]       kind_q;
  logic             last_q;
  logic [Width-1:0] scan_q;      // also counts through Clear
  logic [1:0]       prepared_q;  // Walk: what is known of the bank
  logic [Masks-1:0] bank_q;      // of the answer, or to store in
  logic             has_bank_q;
  logic [Width-1:0] slot_q;
  tag_stamp_t       clock_q;
  logic [Width:0]   receives_q;

  logic is_start, is_dump, loads, finds, takes_receive, clears, goes, removes;
  assign is_start      = state_q == Start;
  assign is_dump       = command_q.operation == TAG_DUMP;
  assign loads         = command_q.operation == TAG_LOAD;
  assign finds         = command_q.operation == TAG_FIND;
  assign takes_receive = command_q.operation == TAG_ARRIVE || command_q.operation == TAG_SERVE;
  assign clears        = state_q == Clear;
  assign ready_o       = state_q == Idle;
  assign valid_o       = state_q == Answer;
  assign goes          = valid_o && ready_i;

  // ---- receives, by mask
  logic [Masks-1:0]            fits, in_use, match, more, oldest, chosen;
  logic [Masks-1:0][Width-1:0] slots, buckets;
  tag_header_t [Masks-1:0]     wanted, masks;
  tag_stamp_t  [Masks-1:0]     stamps;
  logic                        any, stores, takes_mask;
  logic [Width-1:0]            free, goto_slot;
  tag_stamp_t                  stamp;
  receive_t                    common, stored;
  assign takes_mask = state_q == Walk && prepared_q == 2'd0;
  assign goto_slot  = state_q == Read ? scan_q : slot_q;
  assign stamp      = loads ? command_q.stamp : clock_q;
  for (genvar m = 0; m < Masks; m++) begin : gen_bank
    stopbit_tag_bank #(.Entries(Entries)) i_bank (
      .clk_i,
      .clear_i       (clears || (state_q == Read && is_dump)),
      .clear_bucket_i(scan_q),
      .header_i      (command_q.header),
      .mask_i        (command_q.mask),
      .fits_o        (fits[m]),
      .in_use_o      (in_use[m]),
      .take_mask_i   (takes_mask && chosen[m]),
      .start_i       (is_start || (state_q == Walk && prepared_q == 2'd1)),
      .head_i        (state_q == Head),
      .look_i        (state_q == Look),
      .step_i        (state_q == Step),
      .match_o       (match[m]),
      .more_o        (more[m]),
      .goto_i        (state_q == Read || state_q == Found),
      .goto_slot_i   (goto_slot),
      .goto_bucket_i (common.bucket),
      .slot_o        (slots[m]),
      .bucket_o      (buckets[m]),
      .wanted_o      (wanted[m]),
      .mask_o        (masks[m]),
      .stamp_o       (stamps[m]),
      .store_i       (stores && bank_q[m]),
      .store_slot_i  (free),
      .store_stamp_i (stamp),
      .remove_i      (removes && !is_dump && bank_q[m])
    );
  end
  stopbit_tag_oldest #(.Masks(Masks)) i_oldest (
    .clk_i, .stamp_i(stamps), .match_i(match), .oldest_o(oldest), .any_o(any)
  );

  // The bank for a mask: the one that has it, else one without receives.
  always_comb begin
    chosen = fits;
    if (fits == '0) chosen = ~in_use & (in_use + 1'b1);
  end

  // What the banks hold of the answer, and where.
  tag_header_t      bank_wanted, bank_mask;
  tag_stamp_t       bank_stamp;
  logic [Width-1:0] oldest_slot, bank_bucket;
  logic [MaskWidth-1:0] bank_index;
  always_comb begin
    bank_wanted = '0;
    bank_mask   = '0;
    bank_stamp  = '0;
    oldest_slot = '0;
    bank_bucket = '0;
    bank_index  = '0;
    for (int m = 0; m < Masks; m++) begin
      if (bank_q[m]) bank_wanted |= wanted[m];
      if (bank_q[m]) bank_mask   |= masks[m];
      if (bank_q[m]) bank_stamp  |= stamps[m];
      if (bank_q[m]) bank_bucket |= buckets[m];
      if (bank_q[m]) bank_index  |= MaskWidth'(m);
      if (oldest[m]) oldest_slot |= slots[m];
    end
  end

  // ---- receives, what all masks have in common
  logic             free_valid, free_ready, has_receive_room;
  logic [Width-1:0] read_slot;
  assign has_receive_room = !receives_q[Width] && receives_q < receive_limit_i;
  assign stored = '{used: 1'b1, persistent: command_q.persistent, mask: bank_index, bucket: bank_bucket, id: command_q.id};
  always_comb begin
    read_slot = slot_q;
    if (state_q == Choose) read_slot = oldest_slot;
    if (state_q == Read) read_slot = scan_q;
  end
  stopbit_ram #(.Width($bits(receive_t)), .Depth(Entries)) commons (
    .write_clk_i(clk_i), .write_i(clears || stores || removes), .write_address_i(clears ? scan_q : stores ? free : slot_q),
    .write_data_i(stores ? stored : '0),
    .read_clk_i (clk_i), .read_address_i(read_slot), .read_data_o(common)
  );
  stopbit_fifo #(.Width(Width), .Depth(Entries)) i_free (
    .clk_i, .rst_ni,
    .valid_i(clears || removes), .ready_o(free_ready), .data_i(clears ? scan_q : slot_q),
    .valid_o(free_valid), .ready_i(stores), .double_i(1'b0), .single_o(), .data_o(free), .count_o()
  );

  // ---- records
  logic           found, done, appends, takes_record, has_record_room;
  tag_record_t    record, own;
  logic [Width:0] count;
  assign own             = '{header: command_q.header, id: command_q.id};
  assign has_record_room = !count[Width] && count < record_limit_i;
  assign takes_record    = goes && kind_q == TAG_ANSWER_RECORD && !(finds && command_q.persistent);
  stopbit_tag_records #(.Entries(Entries)) i_records (
    .clk_i, .rst_ni, .clear_i(clears), .clear_slot_i(scan_q),
    .wanted_i(command_q.header), .mask_i(command_q.mask), .all_i(is_dump), .begin_i(is_start),
    .found_o(found), .done_o(done), .record_o(record), .take_i(takes_record),
    .append_i(appends), .append_record_i(own), .count_o(count)
  );

  // ---- decisions
  logic walked, has_stamp, misses;
  assign walked    = state_q == Walk && (loads || done) && prepared_q == 2'd2;
  assign has_stamp = !loads || command_q.stamp >= clock_q;
  assign stores    = walked && !finds && has_bank_q && has_receive_room && has_stamp;
  assign misses    = state_q == Choose && !(takes_receive && any);
  assign appends   = misses && command_q.operation != TAG_SERVE && has_record_room;
  assign removes   = goes && (kind_q == TAG_ANSWER_RECEIVE || (kind_q == TAG_ANSWER_MATCHED && !common.persistent));
  assign receives_o = receives_q;
  assign records_o  = count;

  state_e           state_d;
  logic [2:0]       kind_d;
  logic             last_d;
  logic [Width-1:0] scan_d;
  always_comb begin
    state_d = state_q;
    kind_d  = kind_q;
    last_d  = last_q;
    scan_d  = scan_q;
    case (state_q)
      Clear: begin
        scan_d = scan_q + 1'b1;
        if (&scan_q) state_d = Idle;
      end
      Idle: if (valid_i) state_d = Start;
      Start: begin
        last_d = 1'b1;
        scan_d = '0;
        kind_d = TAG_ANSWER_INVALID;
        case (command_q.operation)
          TAG_ARRIVE, TAG_SERVE: state_d = Head;
          TAG_POST, TAG_FIND:    state_d = Walk;
          TAG_CANCEL, TAG_DUMP:  state_d = Read;
          TAG_LOAD:              state_d = command_q.is_record ? Choose : Walk;
          default:               state_d = Answer;
        endcase
      end
      Head: state_d = Look;
      Look: state_d = Step;
      Step: state_d = more != '0 ? Look : Choose;
      Choose: begin
        state_d = Answer;
        kind_d  = TAG_ANSWER_MATCHED;
        if (misses) kind_d = command_q.operation == TAG_SERVE ? TAG_ANSWER_NONE : has_record_room ? TAG_ANSWER_STORED : TAG_ANSWER_FULL;
      end
      Walk: begin
        last_d = 1'b1;
        if (found && !loads) begin
          state_d = Answer;
          kind_d  = TAG_ANSWER_RECORD;
          last_d  = finds || !command_q.persistent;
        end else if (walked) begin
          state_d = Answer;
          kind_d  = stores ? TAG_ANSWER_STORED : finds ? TAG_ANSWER_NONE : has_stamp ? TAG_ANSWER_FULL : TAG_ANSWER_INVALID;
        end
      end
      Read: begin
        state_d = Check;
        scan_d  = scan_q + 1'b1;
      end
      Check: begin
        if (common.used && (is_dump || common.id == command_q.id)) state_d = Found;
        else if (scan_q != '0) state_d = Read;
        else if (is_dump) state_d = Rest;
        else begin
          state_d = Answer;
          kind_d  = TAG_ANSWER_NONE;
        end
      end
      Found: begin
        state_d = Answer;
        kind_d  = TAG_ANSWER_RECEIVE;
        last_d  = !is_dump;
      end
      Rest: begin
        state_d = Answer;
        kind_d  = done ? TAG_ANSWER_NONE : TAG_ANSWER_RECORD;
        last_d  = done;
      end
      default: begin  // Answer
        if (goes) begin
          if (last_q) state_d = Idle;
          else if (!is_dump) state_d = Walk;
          else state_d = kind_q == TAG_ANSWER_RECEIVE && scan_q != '0 ? Read : Rest;
        end
      end
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= Clear;
      scan_q     <= '0;
      receives_q <= '0;
      clock_q    <= '0;
    end else begin
      state_q    <= state_d;
      scan_q     <= scan_d;
      receives_q <= receives_q + (Width + 1)'(stores) - (Width + 1)'(removes);
      if (stores) clock_q <= stamp + 1'b1;
      if (state_q == Rest) clock_q <= '0;  // what software gives back has its old stamps
    end
  end
  always_ff @(posedge clk_i) begin
    kind_q <= kind_d;
    last_q <= last_d;
    if (ready_o) command_q <= command_i;
    if (is_start) prepared_q <= 2'd0;
    else if (state_q == Walk && prepared_q != 2'd2) prepared_q <= prepared_q + 1'b1;
    if (state_q == Read) slot_q <= scan_q;
    if (state_q == Choose) begin
      slot_q <= oldest_slot;
      bank_q <= oldest;
    end
    if (takes_mask) begin
      bank_q     <= chosen;
      has_bank_q <= chosen != '0;
    end
    if (state_q == Found) begin
      for (int m = 0; m < Masks; m++) bank_q[m] <= common.mask == MaskWidth'(m);
    end
  end

  // ---- answer
  logic is_bank;
  assign is_bank = kind_q == TAG_ANSWER_MATCHED || kind_q == TAG_ANSWER_RECEIVE;
  always_comb begin
    answer_o.kind       = kind_q;
    answer_o.last       = last_q;
    answer_o.persistent = is_bank ? common.persistent : command_q.persistent;
    answer_o.receive_id = is_bank ? common.id : command_q.id;
    answer_o.wanted     = is_bank ? bank_wanted : command_q.header;
    answer_o.mask       = is_bank ? bank_mask : command_q.mask;
    answer_o.stamp      = is_bank ? bank_stamp : command_q.stamp;
    answer_o.record     = kind_q == TAG_ANSWER_RECORD ? record : own;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      free_for_what_is_stored : assert (!stores || free_valid);
      room_for_what_is_freed  : assert (!(clears || removes) || free_ready);
      dump_finds_all          : assert (!(state_q == Rest) || receives_q == '0);
    end
  end
`ifdef FORMAL
  initial assume (!rst_ni);
`endif
`endif
endmodule
