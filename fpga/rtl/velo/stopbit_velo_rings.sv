/// Virtual ring buffer handler: the slots of many rings, each in one piece of memory or in a list of segments.
///
/// A request names a ring and a number of words; its slots come one after the other, on trial, until `commit_i` settles them or
/// `revoke_i` gives them back, over any number of segments. What is neither committed nor revoked in time is revoked.
/// There are all slots that a message needs, or none: `late_o`. A descriptor that makes no sense, and memory that may not be
/// used, end a ring: no slot is handed out that its list does not name, until software sets the ring anew.
///
/// Rings without segments go round; the port says how many slots it has read. Rings with segments take descriptors as far as
/// the port has posted them, up to four ahead. Both are the `limit` of a ring, which only grows.
///
/// A request that is committed although it is late, or its ring has ended, changes no slot; a revoked one changes nothing.
/// State is in memory, a word for each ring; nothing is kept for the unit that asks. From a request to its first slot 3 cycles,
/// then one a cycle; a request each 6 cycles. A segment costs 2 more, a descriptor and a translation what they take.
module stopbit_velo_rings
  import stopbit_nic_pkg::*;
  import stopbit_velo_pkg::*;
#(
  parameter  int unsigned Ports     = 64,
  parameter  int unsigned Patience  = 4096,  // cycles for memory, for a translation, and for commit or revoke
  localparam int unsigned RingWidth = $clog2(Ports) + 1  // port, priority
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 ring_write_i,  // stays until ready
  output logic                 ring_ready_o,
  input  logic                 limit_write_i,
  input  logic [RingWidth:0]   index_i,       // segments, port, priority
  input  velo_ring_t           ring_i,
  input  logic [31:0]          limit_i,

  input  logic                 request_i,
  output logic                 ready_o,
  input  logic [RingWidth-1:0] request_ring_i,
  input  words_t               request_words_i,

  output logic                 slot_valid_o,
  input  logic                 slot_ready_i,
  output velo_place_t          slot_o,

  output logic                 done_o,        // all slots have come, or there are none; until commit or revoke
  output logic                 late_o,        // of a full ring: later again
  output logic [4:0]           error_o,       // of a ring that has ended
  output logic [1:0]           slot_size_o,
  output logic [15:0]          hold_o,
  output words_t               slots_o,
  input  logic                 commit_i,
  input  logic                 revoke_i,
  input  logic                 pause_i,       // no request begins
  output logic                 busy_o,        // a request has not come to its end

  output logic                 look_up_valid_o,
  input  logic                 look_up_ready_i,
  output translate_request_t   look_up_o,
  output logic [1:0]           look_up_tag_o,
  input  logic                 page_valid_i,
  input  logic [1:0]           page_tag_i,
  input  translate_response_t  page_i,

  output logic                 read_valid_o,
  input  logic                 read_ready_i,
  output logic [47:4]          read_address_o,
  output logic [1:0]           read_tag_o,
  input  logic                 answer_valid_i,
  input  logic [1:0]           answer_tag_i,
  input  logic [127:0]         answer_i,
  input  logic                 answer_error_i,

  // Events, a cycle each.
  output logic                 fetched_o,     // a descriptor
  output logic                 revoked_o,
  output logic                 timed_out_o,   // revoked, because nothing came
  output logic                 failed_o,      // memory or translation did not answer
  output logic                 late_answer_o, // an answer to nothing, or after its time: left out
  output logic                 ends_o,        // a ring has ended, with these
  output logic [RingWidth-1:0] ends_ring_o,
  output logic [4:0]           ends_error_o,
  output logic [31:0]          ends_culprit_o // number of the descriptor at fault
);
  localparam int unsigned Ahead         = 4;
  localparam int unsigned MaxSlots      = 65536;
  localparam int unsigned PatienceWidth = $clog2(Patience + 1);
  localparam int unsigned Rings         = 2 << RingWidth;
  localparam logic [48:0] VirtualEnd    = 49'h80_0000_0000;
  localparam logic [48:0] PhysicalEnd   = 49'h1_0000_0000_0000;

  typedef struct packed {
    logic        valid;         // a segment is in use
    logic [47:4] address;       // of the next slot
    logic [16:0] left;          // slots, that one included
    logic [31:0] number;        // of the segment; before the first one: -1
    logic [7:0]  lap;
    logic [6:0]  place;         // of its descriptor in the list
    logic [1:0]  next_first;
    logic [2:0]  next_count;
    logic [31:0] fetch_number;  // of a ring that goes round: slots written
    logic [6:0]  fetch_place;
    logic        used_up;       // there may be something to fetch
    logic [4:0]  error;
    logic [31:0] culprit;
  } state_t;
  typedef struct packed {
    logic [47:6] address;
    logic [16:0] slots;
  } segment_t;

  // Page, Find, First and Last look a page up: of a slot; of the list; the first and the last one of a segment.
  typedef enum logic [3:0] {
    Idle, Load, Prepare, Walk, Begin, Page, Find, Read, Answer, Judge, First, Last, Done, Fetch, Undo, Store
  } step_e;
  step_e step_q;

  // ---- memories
  logic [RingWidth:0]    ring_q, ring_in, read_at;
  logic [2*Ports-1:0]    segments_q;  // the ring of segments is the one in use
  logic [2*Ports-1:0]    used_q;
  logic [Rings-1:0]      fresh_q;     // nothing of it is in memory yet
  velo_ring_t            ring_word, setup_q;
  logic [31:0]           limit_word, limit_q;
  state_t                state_word, settled, fresh, s_q, stored;
  segment_t              segment_word, segment_new;
  logic                  put_state, put_segment, is_fresh_q, is_used_q, sets;
  assign sets         = ring_write_i && ring_ready_o;
  assign ring_ready_o = step_q == Idle;
  assign ready_o      = step_q == Idle && !ring_write_i && !pause_i;
  assign busy_o       = step_q != Idle;
  assign ring_in      = {segments_q[request_ring_i], request_ring_i};
  assign read_at      = step_q == Idle ? ring_in : ring_q;
  stopbit_ram #(.Width($bits(velo_ring_t)), .Depth(Rings)) setups (
    .write_clk_i(clk_i), .write_i(sets), .write_address_i(index_i), .write_data_i(ring_i),
    .read_clk_i(clk_i), .read_address_i(read_at), .read_data_o(ring_word)
  );
  stopbit_ram #(.Width(32), .Depth(Rings)) limits (
    .write_clk_i(clk_i), .write_i(limit_write_i), .write_address_i(index_i), .write_data_i(limit_i),
    .read_clk_i(clk_i), .read_address_i(read_at), .read_data_o(limit_word)
  );
  stopbit_ram #(.Width($bits(state_t)), .Depth(Rings)) states (
    .write_clk_i(clk_i), .write_i(put_state), .write_address_i(ring_q), .write_data_i(stored),
    .read_clk_i(clk_i), .read_address_i(read_at), .read_data_o(state_word)
  );
  stopbit_ram #(.Width($bits(segment_t)), .Depth(Ahead * 2 * Ports)) segments (
    .write_clk_i(clk_i), .write_i(put_segment),
    .write_address_i({ring_q[RingWidth-1:0], s_q.next_first + s_q.next_count[1:0]}), .write_data_i(segment_new),
    .read_clk_i(clk_i), .read_address_i({ring_q[RingWidth-1:0], s_q.next_first}), .read_data_o(segment_word)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      segments_q <= '0;
      used_q     <= '0;
    end else if (sets) begin
      // A ring of segments takes the place of the other one, and gives it back.
      if (index_i[RingWidth]) segments_q[index_i[RingWidth-1:0]] <= ring_i.is_used;
      else used_q[index_i[RingWidth-1:0]] <= ring_i.is_used;
    end
  end
  always_ff @(posedge clk_i) begin
    if (put_state) fresh_q[ring_q] <= 1'b0;
    if (sets) fresh_q[index_i] <= 1'b1;
  end

  function automatic logic [6:0] after(input logic [6:0] place, input logic [16:0] places);
    return 17'(place) + 17'd1 >= places ? 7'd0 : place + 7'd1;
  endfunction
  function automatic logic [7:0] next_lap(input logic [7:0] lap);
    return lap == 8'd255 ? 8'd1 : lap + 8'd1;
  endfunction

  always_comb begin
    fresh         = '0;
    fresh.number  = '1;
    fresh.place   = 7'(ring_word.places - 17'd1);
    fresh.used_up = 1'b1;
  end
  // The memory shows the ring's state until it is stored.
  assign settled = is_fresh_q ? fresh : state_word;

  // ---- slots
  logic        is_list, on_page, has_room, slot_take, trial_ends, round;
  logic        has_page_q, crossed_q, ahead_q, late_q;
  logic [3:0]  capacity;           // words of a message in a slot
  words_t      left_q, slots_q;    // words without a slot; slots of this request
  logic [16:0] room_q;
  logic [31:0] used, posted;
  logic        can_fetch;
  logic [47:12] page_q, paged_q;   // of memory, and as the ring has it
  assign is_list    = ring_q[RingWidth];
  assign capacity   = 4'((5'd2 << setup_q.slot_size) - 5'd1);
  assign used       = s_q.fetch_number - limit_q;
  assign posted     = limit_q - s_q.fetch_number;
  // A limit that makes no sense leaves no room.
  assign can_fetch  = posted != '0 && posted <= 32'(setup_q.places);
  assign on_page    = !setup_q.is_virtual || (has_page_q && s_q.address[47:12] == paged_q);
  assign has_room   = s_q.valid && (is_list || room_q != '0);
  assign slot_valid_o = step_q == Walk && s_q.error == ERR_NOERR && has_room && on_page;
  assign slot_o       = '{address: {setup_q.is_virtual ? page_q : s_q.address[47:12], s_q.address[11:4]}, lap: s_q.lap};
  assign slot_take    = slot_valid_o && slot_ready_i;
  assign trial_ends   = left_q <= words_t'(capacity);
  assign round        = step_q == Prepare && !is_list && s_q.left == '0;

  // ---- descriptors
  logic [127:0] descriptor_q;
  logic         memory_failed_q, bad, accepts;
  logic [47:4]  list_at;
  logic [23:0]  bytes;
  logic [48:0]  end_address;
  logic [47:0]  last_byte;
  logic [4:0]   judged;
  assign list_at     = {setup_q.address, 2'b00} + 44'(s_q.fetch_place);
  assign bytes       = 24'(descriptor_q[80:64]) << (3'(setup_q.slot_size) + 3'd4);
  assign end_address = {1'b0, descriptor_q[47:0]} + 49'(bytes);
  assign last_byte   = 48'(end_address - 49'd1);
  assign segment_new = '{address: descriptor_q[47:6], slots: descriptor_q[80:64]};
  always_comb begin
    if (memory_failed_q) judged = ERR_TFAULT;
    else if (descriptor_q[127:96] != '0) judged = ERR_CMD_INV;
    else if (descriptor_q[95:64] == '0 || descriptor_q[95:64] > 32'(MaxSlots)) judged = ERR_TLENGTH;
    else if (descriptor_q[5:0] != '0 || (setup_q.slot_size == 2'd3 && descriptor_q[6])) judged = ERR_TOFFSET;
    else if (descriptor_q[63:48] != '0 || end_address > (setup_q.is_virtual ? VirtualEnd : PhysicalEnd)) judged = ERR_TFAULT;
    else judged = ERR_NOERR;
  end

  // ---- requests to memory and translation: one at a time, each with a number. One that is not taken stays.
  logic                     looks, look_q, look_valid_q, read_valid_q, page_comes, answer_comes, gives_up, granted, refused;
  logic [1:0]               tag_q, look_tag_q, read_tag_q;
  logic [PatienceWidth-1:0] waited_q;
  translate_request_t       look_up_q;
  logic [47:4]              read_address_q;
  assign looks           = step_q == Page || step_q == Find || step_q == First || step_q == Last;
  assign look_up_valid_o = look_valid_q;
  assign look_up_o       = look_up_q;
  assign look_up_tag_o   = look_tag_q;
  assign read_valid_o    = read_valid_q;
  assign read_address_o  = read_address_q;
  assign read_tag_o      = read_tag_q;
  assign page_comes      = page_valid_i && look_q && page_tag_i == tag_q;
  assign answer_comes    = answer_valid_i && step_q == Answer && answer_tag_i == tag_q;
  assign gives_up        = waited_q == PatienceWidth'(Patience) && !page_comes && !answer_comes;
  assign granted         = page_comes && page_i.error == ERR_NOERR && page_i.number[39:36] == '0;
  assign refused         = (page_comes && !granted) || (looks && gives_up);
  assign accepts         = (step_q == Judge && judged == ERR_NOERR && !setup_q.is_virtual) || (step_q == Last && granted);
  assign bad             = (step_q == Judge && judged != ERR_NOERR) || (looks && step_q != Page && refused);
  assign put_segment     = accepts && ahead_q;

  logic [26:0] wanted;
  always_comb begin
    unique case (step_q)
      Find:    wanted = list_at[38:12];
      First:   wanted = descriptor_q[38:12];
      Last:    wanted = last_byte[38:12];
      default: wanted = s_q.address[38:12];
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (looks && !look_valid_q && !look_q) begin
      look_up_q  <= '{access: step_q == Find ? 2'd1 : 2'd2, vpid: 16'(ring_q[RingWidth-1:1]), page: wanted};
      look_tag_q <= tag_q;
    end
    if (step_q == Read && !read_valid_q) begin
      read_address_q <= {setup_q.is_virtual ? page_q : list_at[47:12], list_at[11:4]};
      read_tag_q     <= tag_q;
    end
    if (granted && step_q != First && step_q != Last) begin
      page_q  <= page_i.number[35:0];
      paged_q <= s_q.address[47:12];
    end
    if (step_q == Read) memory_failed_q <= 1'b1;
    if (answer_comes) begin
      descriptor_q    <= answer_i;
      memory_failed_q <= answer_error_i;
    end
  end

  // ---- what the request has come to
  assign done_o      = step_q == Done;
  assign late_o      = late_q;
  assign error_o     = is_used_q ? s_q.error : ERR_TVPID_INV;
  assign slot_size_o = setup_q.slot_size;
  assign hold_o      = is_list ? setup_q.hold : '0;
  assign slots_o     = slots_q;

  logic succeeds, is_over, settles;
  assign succeeds  = !late_q && s_q.error == ERR_NOERR && is_used_q;
  assign is_over   = !is_list || !s_q.used_up || s_q.error != ERR_NOERR || s_q.next_count == 3'(Ahead) || !can_fetch;
  assign settles   = step_q == Fetch && is_over;
  assign put_state = settles || (step_q == Store && is_used_q);
  always_comb begin
    stored = s_q;
    if (settles) stored.used_up = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    ends_o         <= rst_ni && put_state && s_q.error != ERR_NOERR && settled.error == ERR_NOERR;
    ends_ring_o    <= ring_q[RingWidth-1:0];
    ends_error_o   <= s_q.error;
    ends_culprit_o <= s_q.culprit;
    fetched_o      <= rst_ni && answer_comes && !answer_error_i;
    revoked_o      <= rst_ni && step_q == Done && !commit_i && (revoke_i || gives_up);
    timed_out_o    <= rst_ni && step_q == Done && !commit_i && !revoke_i && gives_up;
    failed_o       <= rst_ni && gives_up && (looks || step_q == Read || step_q == Answer);
    late_answer_o  <= rst_ni && ((page_valid_i && !page_comes) || (answer_valid_i && !answer_comes));
  end

  always_ff @(posedge clk_i) begin
    unique case (step_q)
      Idle: begin
        ring_q     <= ring_in;
        left_q     <= request_words_i;
        is_fresh_q <= fresh_q[ring_in];
        is_used_q  <= segments_q[request_ring_i] || used_q[request_ring_i];
        has_page_q <= 1'b0;
        crossed_q  <= 1'b0;
        ahead_q    <= 1'b0;
        late_q     <= 1'b0;
      end
      Load: begin
        slots_q <= '0;
        setup_q <= ring_word;
        limit_q <= limit_word;
        s_q     <= settled;
      end
      Prepare: room_q <= used > 32'(setup_q.places) ? 17'd0 : setup_q.places - used[16:0];
      Walk: if (!has_room && (!is_list || (s_q.next_count == '0 && !can_fetch))) late_q <= 1'b1;
      Page: has_page_q <= granted;
      Find: has_page_q <= 1'b0;
      Done: begin
        ahead_q    <= 1'b1;
        has_page_q <= 1'b0;
      end
      default: ;
    endcase
    // A ring that goes round begins its piece of memory anew.
    if (round || (slot_take && !is_list && s_q.left == 17'd1 && !trial_ends)) begin
      s_q.valid   <= 1'b1;
      s_q.address <= {setup_q.address, 2'b00};
      s_q.left    <= setup_q.places;
      s_q.lap     <= next_lap(s_q.lap);
    end else if (slot_take) begin
      s_q.address <= s_q.address + (44'd1 << setup_q.slot_size);
      s_q.left    <= s_q.left - 17'd1;
      s_q.valid   <= !is_list || s_q.left != 17'd1;
    end
    if (slot_take) begin
      left_q  <= left_q - words_t'(capacity);
      slots_q <= slots_q + words_t'(1);
      room_q  <= room_q - 17'd1;
      if (!is_list) s_q.fetch_number <= s_q.fetch_number + 32'd1;
    end
    // The next segment: one that was fetched ahead, or the one that has just come. So what was ahead stays until it is settled.
    if (step_q == Begin || (accepts && !ahead_q)) begin
      s_q.valid   <= 1'b1;
      s_q.address <= step_q == Begin ? {segment_word.address, 2'b00} : {segment_new.address, 2'b00};
      s_q.left    <= step_q == Begin ? segment_word.slots : segment_new.slots;
      s_q.number  <= s_q.number + 32'd1;
      s_q.lap     <= next_lap(s_q.lap);
      s_q.place   <= after(s_q.place, setup_q.places);
      s_q.used_up <= 1'b1;
      crossed_q   <= 1'b1;
    end
    if (step_q == Begin) begin
      s_q.next_first <= s_q.next_first + 2'd1;
      s_q.next_count <= s_q.next_count - 3'd1;
    end
    if (put_segment) s_q.next_count <= s_q.next_count + 3'd1;
    if (accepts) begin
      s_q.fetch_number <= s_q.fetch_number + 32'd1;
      s_q.fetch_place  <= after(s_q.fetch_place, setup_q.places);
    end
    if (bad) begin
      s_q.error      <= looks ? ERR_TFAULT : judged;
      s_q.culprit    <= s_q.fetch_number;
      s_q.next_count <= '0;
    end
    if (step_q == Page && refused) begin
      s_q.error      <= ERR_TFAULT;
      s_q.culprit    <= s_q.number;
      s_q.next_count <= '0;
    end
    if (step_q == Undo) begin
      s_q.valid   <= settled.valid;
      s_q.address <= settled.address;
      s_q.left    <= settled.left;
      s_q.number  <= settled.number;
      s_q.lap     <= settled.lap;
      s_q.place   <= settled.place;
      if (!is_list) s_q.fetch_number <= settled.fetch_number;
      else if (crossed_q) begin
        // What follows has to be fetched again.
        s_q.next_count   <= '0;
        s_q.fetch_number <= settled.number + 32'd1;
        s_q.fetch_place  <= after(settled.place, setup_q.places);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      step_q       <= Idle;
      tag_q        <= '0;
      look_q       <= 1'b0;
      look_valid_q <= 1'b0;
      read_valid_q <= 1'b0;
      waited_q     <= '0;
    end else begin
      if (look_up_ready_i) look_valid_q <= 1'b0;
      if (read_ready_i) read_valid_q <= 1'b0;
      waited_q <= waited_q + PatienceWidth'(!gives_up);
      unique case (step_q)
        Idle: if (request_i && ready_o) step_q <= Load;
        Load: step_q <= Prepare;
        Prepare: begin
          step_q   <= is_used_q ? Walk : Done;
          waited_q <= '0;
        end
        Walk: begin
          waited_q <= '0;
          if (s_q.error != ERR_NOERR) step_q <= Done;
          else if (has_room) begin
            if (!on_page) step_q <= Page;
            else if (slot_take && trial_ends) step_q <= Done;
          end
          else if (!is_list) step_q <= Done;
          else if (s_q.next_count != '0) step_q <= Begin;
          else if (can_fetch) step_q <= setup_q.is_virtual ? Find : Read;
          else step_q <= Done;
        end
        Begin: step_q <= Walk;
        Page, Find, First, Last: begin
          if (!look_valid_q && !look_q) begin
            look_valid_q <= 1'b1;
            look_q       <= 1'b1;
          end
          if (page_comes || gives_up) begin
            look_q   <= 1'b0;
            tag_q    <= tag_q + 2'd1;
            waited_q <= '0;
            if (step_q == Page) step_q <= Walk;
            else if (refused) step_q <= ahead_q ? Fetch : Walk;
            else step_q <= step_q == Find ? Read : step_q == First ? Last : ahead_q ? Fetch : Walk;
          end
        end
        Read: begin
          if (!read_valid_q) begin
            read_valid_q <= 1'b1;
            step_q       <= Answer;
          end else if (gives_up) begin
            step_q <= Judge;
          end
        end
        Answer: if (answer_comes || gives_up) begin
          step_q   <= Judge;
          tag_q    <= tag_q + 2'd1;
          waited_q <= '0;
        end
        Judge: begin
          waited_q <= '0;
          step_q   <= judged == ERR_NOERR && setup_q.is_virtual ? First : ahead_q ? Fetch : Walk;
        end
        Done: begin
          if (commit_i && succeeds) step_q <= Fetch;
          else if (commit_i) step_q <= Undo;
          else if (revoke_i || gives_up) step_q <= Idle;
        end
        Fetch: begin
          waited_q <= '0;
          step_q   <= is_over ? Idle : setup_q.is_virtual ? Find : Read;
        end
        Undo: step_q <= Store;
        default: step_q <= Idle;
      endcase
    end
  end
endmodule
