/// Writes records into rings in host memory that the readers of host/ring read; ring.md there is the layout.
///
/// A record's slots 1 to n-1 come first, in order, slot 0 last (`last_i`); `abort_i` withdraws what came of a record. The
/// stamp and the phase are filled in here. Everything goes through one port with one AXI ID, so that memory sees it in
/// the order written: claim, slots 1 to n-1, slot 0. No response is waited for (a microsecond over PCIe), and no reader
/// ever finds a part of a record. `head` and `records` are written when no slot waits.
///
/// The ring's mode says what the writer waits for: nothing (readers see in `claim` that they were overtaken), or for the
/// host's credit, the number below which it may claim: then a record that finds no room waits (`Stall`, which holds up
/// all rings, so `room_o` says ahead which have room) or is dropped and counted (`Drop`). A ring in mode `Stall` for
/// which a record waits for `credit_timeout` cycles drops, too, until it has room again (`starved_o` marks the beginning). As soon as there is room after a loss, an event record
/// says how many records were lost: its words 1 to 3 are those of the last one of them. A record whose next slot does not come for `timeout_i` cycles is
/// withdrawn, its rest is discarded; 0 waits for ever. So is one that is longer than the ring's longest, or whose slots
/// do not come in order or are not as many as its slot 0 says.
///
/// `start_i` begins a ring, whose memory the host has zeroed and whose header it has filled in; a start that makes no
/// sense is refused (`refused_o`), and so is one while the writer is still at that ring. Records for a ring that does not run are dropped. A ring ends with `stop_i`, or if its
/// list of segments contradicts itself (`broken_o`); what is on its way is still written: wait for `idle_o`.
module stopbit_ring_writer
  import stopbit_ring_pkg::*;
#(
  parameter  int unsigned NumRings  = 1,
  localparam int unsigned RingWidth = NumRings > 1 ? $clog2(NumRings) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic [NumRings-1:0]  start_i,
  input  logic [NumRings-1:0]  stop_i,
  input  ring_setup_t [NumRings-1:0] setup_i,  // looked at while start_i; mode and credit at any time
  input  logic [31:0]          timeout_i,
  output ring_status_t [NumRings-1:0] status_o,
  output logic [NumRings-1:0]  refused_o,
  output logic [NumRings-1:0]  broken_o,
  output logic [NumRings-1:0]  starved_o,
  output logic                 write_error_o,
  output logic                 idle_o,

  output logic [NumRings-1:0]  room_o,   // for three records after those that were published two cycles ago
  input  logic [NumRings-1:0]  waits_i,  // a record is kept for it until it has room
  input  logic                 valid_i,
  output logic                 ready_o,
  input  logic [RingWidth-1:0] ring_i,
  input  logic [511:0]         data_i,
  input  logic [15:0]          index_i,
  input  logic                 last_i,
  input  logic                 abort_i,

  output logic                 awvalid_o,
  input  logic                 awready_i,
  output logic [63:0]          awaddr_o,
  output logic [7:0]           awlen_o,
  output logic                 wvalid_o,
  input  logic                 wready_i,
  output logic [511:0]         wdata_o,
  output logic [63:0]          wstrb_o,
  output logic                 wlast_o,
  input  logic                 bvalid_i,
  output logic                 bready_o,
  input  logic [1:0]           bresp_i,
  output logic                 arvalid_o,
  input  logic                 arready_i,
  output logic [63:0]          araddr_o,
  input  logic                 rvalid_i,
  output logic                 rready_o,
  input  logic [511:0]         rdata_i,
  input  logic [1:0]           rresp_i
);
  typedef struct packed {
    logic        running;
    logic        starved;
    logic        has_mark;
    logic [63:6] header;
    logic [4:0]  slots_log2;
    logic [15:0] max_slots;
    logic [63:0] number;      // of the slot that the next record begins at
    logic [63:0] claim;
    logic [63:0] records;
    logic [63:0] mark;        // number of the last mark
    logic [5:0]  marks;
    logic [63:0] dropped;
    logic [63:0] withdrawn;
    logic [31:0] timeouts;
    logic [31:0] malformed;
    logic [31:0] lost;        // lost records not yet reported to readers
    logic [191:0] lost_words; // words 1 to 3 of the last one
  } ring_t;

  typedef enum logic [3:0] {
    Look,         // begins a record, or makes room for it
    Pad,
    MarkEnd,
    MarkRecords,
    MarkNumber,
    Claim,
    Fill,
    Tell,         // an event record of records that were lost
    Discard       // up to the record's end
  } state_e;

  ring_t [NumRings-1:0]  rings_q;
  ring_t                 ring;
  logic [NumRings-1:0]   begun_q;  // the first claim is written
  logic [NumRings-1:0]   dirty_q;  // head has moved since it was written
  state_e                state_q;
  logic [RingWidth-1:0]  which, which_q;
  logic [63:6]           first_q;     // address of the record's slot 0
  logic [15:0]           slots_q;     // that came, slot 0 included
  logic [31:0]           waited_q;
  logic [NumRings-1:0][31:0] starving_q;  // cycles that a record has waited for credit
  logic [NumRings-1:0][63:0] stalled_q;   // of all records
  logic                  losing_q;    // what is discarded is a record that readers miss

  assign ring = rings_q[which];

  // ---- addresses
  logic                vrbh_valid, vrbh_first, vrbh_take, vrbh_revoke, vrbh_skip, vrbh_idle;
  logic [63:6]         vrbh_address;
  logic [NumRings-1:0] vrbh_start, vrbh_stop, vrbh_error;
  logic [RingWidth-1:0] starting;

  always_comb begin
    starting = '0;
    for (int unsigned r = 0; r < NumRings; r++) begin
      if (start_i[r]) starting = RingWidth'(r);
    end
  end

  stopbit_vrbh #(
    .NumQueues(NumRings)
  ) i_vrbh (
    .clk_i,
    .rst_ni,
    .start_i   (vrbh_start),
    .stop_i    (vrbh_stop),
    .list_i    (setup_i[starting].descriptors[63:6]),
    .segments_i(setup_i[starting].segments),
    .queue_i   (which),
    .valid_o   (vrbh_valid),
    .address_o (vrbh_address),
    .first_o   (vrbh_first),
    .take_i    (vrbh_take),
    .commit_i  (publish),
    .revoke_i  (vrbh_revoke),
    .skip_i    (vrbh_skip),
    .idle_o    (vrbh_idle),
    .error_o   (vrbh_error),
    .arvalid_o,
    .arready_i,
    .araddr_o,
    .rvalid_i,
    .rready_o,
    .rdata_i,
    .rresp_i
  );

  // ---- beats to memory
  logic         beat_valid, beat_ready, writer_idle;
  logic [63:6]  beat_address;
  logic [511:0] beat_data;
  logic [63:0]  beat_strobe;

  stopbit_axi_writer i_writer (
    .clk_i,
    .rst_ni,
    .valid_i  (beat_valid),
    .ready_o  (beat_ready),
    .address_i(beat_address),
    .data_i   (beat_data),
    .strobe_i (beat_strobe),
    .idle_o   (writer_idle),
    .error_o  (write_error_o),
    .awvalid_o,
    .awready_i,
    .awaddr_o,
    .awlen_o,
    .wvalid_o,
    .wready_i,
    .wdata_o,
    .wstrb_o,
    .wlast_o,
    .bvalid_i,
    .bready_o,
    .bresp_i
  );

  // ---- the record's position, and the claim
  logic [63:0] slot_count, rest, need, want, credit, granted, step;
  logic [63:0] claim_q;  // that is being made
  logic        phase, has_grant;
  logic [1:0]  mode;
  assign slot_count = 64'd1 << ring.slots_log2;
  assign rest       = slot_count - (ring.number & (slot_count - 64'd1));
  assign phase      = ring.number[6'(ring.slots_log2)];
  assign step       = slot_count >> MarksLog2;
  assign need       = ring.number + 64'(ring.max_slots);
  assign want       = need + step;
  assign mode       = setup_i[which].mode;
  assign credit     = setup_i[which].credit;
  assign has_grant  = mode == MODE_LOSSY || credit >= need;
  assign granted    = mode == MODE_LOSSY || credit >= want ? want : credit;

  logic ends_short, claims_short, mark_due, at_wrong_place, is_malformed;
  assign ends_short     = rest < 64'(ring.max_slots);
  assign claims_short   = ring.claim - ring.number < (ends_short ? rest : 64'(ring.max_slots));
  assign mark_due       = !ring.has_mark || ring.number - ring.mark >= step;
  // The list's slots have to be as many as the ring's: its first one is the ring's first.
  assign at_wrong_place = vrbh_valid && vrbh_first != (rest == slot_count);
  assign is_malformed   = last_i ? index_i != '0 || data_i[31:16] != slots_q
                                 : index_i != slots_q || slots_q == ring.max_slots;

  // ---- rings whose header waits to be written
  logic                 head_any, unbegun_any, tell_any;
  logic [RingWidth-1:0] head_ring, unbegun_ring, tell_ring;
  logic [NumRings-1:0]  has_room;  // for a record, whether it is claimed or not
  logic [NumRings-1:0]  has_plenty, stalls_now, starves;
  for (genvar r = 0; r < NumRings; r++) begin : g_room
    assign has_room[r] = setup_i[r].mode == MODE_LOSSY ||
                         setup_i[r].credit >= rings_q[r].number + 64'(rings_q[r].max_slots);
    // The ring may end, and a notice of losses may come, among three records.
    assign has_plenty[r] = setup_i[r].mode != MODE_STALL ||
                           setup_i[r].credit >= rings_q[r].number + 64'd5 * 64'(rings_q[r].max_slots);
    always_ff @(posedge clk_i) room_o[r] <= has_plenty[r] || !rings_q[r].running || rings_q[r].starved;
    // It starves while a record waits for it, here or where it comes from.
    assign starves[r] = setup_i[r].credit_timeout != '0 && starving_q[r] >= setup_i[r].credit_timeout &&
                        rings_q[r].running && !rings_q[r].starved;
    assign stalls_now[r] = (waits_i[r] && !room_o[r]) || (stalls && which == RingWidth'(r));
    always_ff @(posedge clk_i) begin
      starving_q[r] <= stalls_now[r] ? starving_q[r] + 32'd1 : '0;
      stalled_q[r]  <= !rst_ni || vrbh_start[r] ? '0 : stalled_q[r] + 64'(stalls_now[r]);
    end
  end
  always_comb begin
    tell_any     = 1'b0;
    tell_ring    = '0;
    head_any     = 1'b0;
    head_ring    = '0;
    unbegun_any  = 1'b0;
    unbegun_ring = '0;
    for (int unsigned r = 0; r < NumRings; r++) begin
      if (dirty_q[r]) begin
        head_any  = 1'b1;
        head_ring = RingWidth'(r);
      end
      if (rings_q[r].running && !begun_q[r]) begin
        unbegun_any  = 1'b1;
        unbegun_ring = RingWidth'(r);
      end
      if (rings_q[r].running && rings_q[r].lost != '0 && has_room[r]) begin
        tell_any  = 1'b1;
        tell_ring = RingWidth'(r);
      end
    end
  end
  assign which = state_q != Look ? which_q : unbegun_any ? unbegun_ring : tell_any ? tell_ring : ring_i;

  function automatic logic [511:0] pad_slot(input logic [31:0] stamp, input logic [15:0] slots, input logic is_odd);
    logic [511:0] slot;
    slot          = '0;
    slot[63:0]    = {stamp, slots, PAD_INDEX};
    slot[511:448] = {is_odd, 7'd0, 24'd0, FIRST_SLOT_TAGS};
    return slot;
  endfunction

  logic [511:0] lost_slot;
  assign lost_slot = {phase, 7'd0, EVENT_TAGS, 32'd0, ring.lost, 64'd0, EVENT_LOST, ring.lost_words,
                      ring.number[31:0], 16'd1, EVENT_INDEX};

  logic [8:0] mark_at;  // byte of the mark in its line of the header
  assign mark_at = 9'(ring.marks[1:0]) << 4;

  // ---- one step a cycle
  state_e state_d;
  logic   accept, publish, withdraw, drop, malformed, timed_out, stalls, breaks, written, head_written, waits, told;
  logic   drops;  // a record without room
  assign drops = mode == MODE_DROP || ring.starved;

  assign waits = !valid_i || (!last_i && !vrbh_valid);

  always_comb begin
    state_d      = state_q;
    accept       = 1'b0;
    publish      = 1'b0;
    withdraw     = 1'b0;
    drop         = 1'b0;
    malformed    = 1'b0;
    timed_out    = 1'b0;
    stalls       = 1'b0;
    breaks       = 1'b0;
    written      = 1'b0;
    head_written = 1'b0;
    told         = 1'b0;
    vrbh_take    = 1'b0;
    vrbh_skip    = 1'b0;
    beat_valid   = 1'b0;
    beat_address = vrbh_address;
    beat_data    = data_i;
    beat_strobe  = '1;

    unique case (state_q)
      Look: begin
        if (unbegun_any) begin
          state_d = MarkEnd;
        end else if (!tell_any && valid_i && abort_i) begin
          accept = 1'b1;
        end else if (!tell_any && valid_i && !ring.running) begin
          drop    = 1'b1;
          state_d = Discard;
        end else if ((tell_any || valid_i) && claims_short) begin
          drop   = !has_grant && (drops || starves[which]);
          stalls = !has_grant && !drop;
          if (has_grant) state_d = mark_due ? MarkEnd : Claim;
          if (drop) state_d = Discard;
        end else if ((tell_any || valid_i) && at_wrong_place) begin
          breaks = 1'b1;
        end else if ((tell_any || valid_i) && ends_short) begin
          state_d = Pad;
        end else if ((tell_any || valid_i) && vrbh_valid) begin
          vrbh_take = 1'b1;
          state_d   = tell_any ? Tell : Fill;
        end
        if (head_any && !unbegun_any && !tell_any && (!valid_i || stalls)) begin
          beat_valid   = 1'b1;
          beat_address = rings_q[head_ring].header + HEAD_LINE;
          beat_data    = 512'({rings_q[head_ring].records, rings_q[head_ring].number});
          beat_strobe  = 64'h0000_0000_0000_FFFF;
          head_written = beat_ready;
        end
      end

      Pad: begin
        if (!ring.running || at_wrong_place) begin
          breaks  = ring.running;
          state_d = Look;
        end else if (vrbh_valid) begin
          beat_valid = 1'b1;
          beat_data  = pad_slot(ring.number[31:0], rest[15:0], phase);
          written    = beat_ready;
          vrbh_skip  = beat_ready;
          if (beat_ready) state_d = Look;
        end
      end

      MarkEnd, MarkRecords, MarkNumber: begin
        beat_valid   = 1'b1;
        beat_address = ring.header + MARKS_LINE + 58'(ring.marks[5:2]);
        beat_strobe  = (state_q == MarkRecords ? 64'h0000_0000_0000_FF00 : 64'h0000_0000_0000_00FF) << mark_at;
        beat_data    = 512'({ring.records, state_q == MarkEnd ? MARK_CHANGES : ring.number}) << {mark_at, 3'b000};
        written      = beat_ready;
        if (written) state_d = state_q == MarkEnd ? MarkRecords : state_q == MarkRecords ? MarkNumber : Claim;
      end

      Claim: begin
        beat_valid   = 1'b1;
        beat_address = ring.header + CLAIM_LINE;
        beat_data    = 512'(claim_q);
        beat_strobe  = 64'h0000_0000_0000_00FF;
        written      = beat_ready;
        if (written) state_d = Look;
      end

      Fill: begin
        if (!ring.running) begin
          withdraw = 1'b1;
          state_d  = Discard;
        end else if (valid_i && abort_i) begin
          accept   = 1'b1;
          withdraw = 1'b1;
          state_d  = Look;
        end else if (valid_i && is_malformed) begin
          withdraw  = 1'b1;
          malformed = 1'b1;
          state_d   = Discard;
        end else if (waits && timeout_i != '0 && waited_q >= timeout_i) begin
          withdraw  = 1'b1;
          timed_out = 1'b1;
          state_d   = Discard;
        end else if (!waits) begin
          beat_valid     = 1'b1;
          beat_address   = last_i ? first_q : vrbh_address;
          beat_data[511] = phase;
          if (last_i) beat_data[63:32] = ring.number[31:0];
          accept    = beat_ready;
          publish   = beat_ready && last_i;
          vrbh_take = beat_ready && !last_i;
          if (publish) state_d = Look;
        end
      end

      Tell: begin
        if (!ring.running) begin
          state_d = Look;
        end else begin
          beat_valid   = 1'b1;
          beat_address = first_q;
          beat_data    = lost_slot;
          publish      = beat_ready;
          told         = beat_ready;
          if (publish) state_d = Look;
        end
      end

      Discard: begin
        accept = 1'b1;
        if (valid_i && (last_i || abort_i)) state_d = Look;
      end

      default: state_d = Look;
    endcase
  end
  assign vrbh_revoke = withdraw;
  assign ready_o = accept;
  assign idle_o  = state_q == Look && !valid_i && !head_any && !unbegun_any && !tell_any && writer_idle && vrbh_idle;

  // ---- rings
  for (genvar r = 0; r < NumRings; r++) begin : g_status
    logic makes_sense, works;  // works: a step that the ring began before it ended goes on
    assign makes_sense = setup_i[r].slots_log2 >= MinSlotsLog2 && setup_i[r].slots_log2 <= MaxSlotsLog2 &&
                         setup_i[r].max_slots != '0 &&
                         32'(setup_i[r].max_slots) <= 32'd1 << (setup_i[r].slots_log2 - 5'd3) &&
                         setup_i[r].segments != '0 && setup_i[r].header[11:0] == '0 &&
                         setup_i[r].descriptors[5:0] == '0 && setup_i[r].mode != '0;
    assign works = state_q != Look && which_q == RingWidth'(r);
    assign vrbh_start[r] = start_i[r] && makes_sense && !rings_q[r].running && !works && starting == RingWidth'(r);
    assign vrbh_stop[r]  = stop_i[r] || (breaks && which == RingWidth'(r));
    assign refused_o[r]  = start_i[r] && !vrbh_start[r];
    assign broken_o[r]   = vrbh_error[r] || (breaks && which == RingWidth'(r));
    assign starved_o[r]  = starves[r];
    assign status_o[r]   = '{
      running: rings_q[r].running, starved: rings_q[r].starved, number: rings_q[r].number, claim: rings_q[r].claim, records: rings_q[r].records,
      dropped: rings_q[r].dropped, withdrawn: rings_q[r].withdrawn, timeouts: rings_q[r].timeouts,
      malformed: rings_q[r].malformed, stalled: stalled_q[r]};
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Look) begin
      which_q <= which;
      claim_q <= unbegun_any ? want : granted;
      first_q <= vrbh_address;
      slots_q <= 16'd1;
    end else if (vrbh_take) begin
      slots_q <= slots_q + 16'd1;
    end
    waited_q   <= state_q == Fill && waits ? waited_q + 32'd1 : '0;
    if (state_q != Discard) losing_q <= ring.running;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q  <= Look;
      dirty_q  <= '0;
      begun_q  <= '0;
      for (int unsigned r = 0; r < NumRings; r++) rings_q[r] <= '0;
    end else begin
      state_q  <= state_d;
      if (head_written) dirty_q[head_ring] <= 1'b0;
      if (state_q == Pad && written) begin
        rings_q[which_q].number     <= ring.number + rest;
        dirty_q[which_q] <= 1'b1;
      end
      if (state_q == MarkNumber && written) begin
        rings_q[which_q].has_mark <= 1'b1;
        rings_q[which_q].mark     <= ring.number;
        rings_q[which_q].marks    <= ring.marks + 6'd1;
      end
      if (state_q == Claim && written) begin
        rings_q[which_q].claim <= claim_q;
        begun_q[which_q] <= 1'b1;
      end
      if (publish) begin
        rings_q[which_q].number     <= ring.number + 64'(slots_q);
        rings_q[which_q].records    <= ring.records + 64'd1;
        dirty_q[which_q] <= 1'b1;
      end
      if (withdraw) rings_q[which].withdrawn <= ring.withdrawn + 64'd1;
      if (drop) rings_q[which].dropped <= ring.dropped + 64'd1;
      if (malformed) rings_q[which_q].malformed <= ring.malformed + 32'd1;
      if (timed_out) rings_q[which_q].timeouts <= ring.timeouts + 32'd1;
      for (int unsigned r = 0; r < NumRings; r++) begin
        if (has_plenty[r]) rings_q[r].starved <= 1'b0;
        else if (starves[r]) rings_q[r].starved <= 1'b1;
      end
      if (told) rings_q[which_q].lost <= '0;
      if (state_q == Discard && valid_i && last_i && losing_q) begin
        if (ring.lost != '1) rings_q[which_q].lost <= ring.lost + 32'd1;
        rings_q[which_q].lost_words <= {data_i[255:192], 16'd0, data_i[175:64]};
      end
      for (int unsigned r = 0; r < NumRings; r++) begin
        if (vrbh_stop[r] || vrbh_error[r]) rings_q[r].running <= 1'b0;
        if (vrbh_start[r]) begin
          rings_q[r]            <= '0;
          begun_q[r]            <= 1'b0;
          rings_q[r].running    <= 1'b1;
          dirty_q[r] <= 1'b1;
          rings_q[r].header     <= setup_i[r].header[63:6];
          rings_q[r].slots_log2 <= setup_i[r].slots_log2;
          rings_q[r].max_slots  <= setup_i[r].max_slots;
          rings_q[r].number     <= 64'd1 << setup_i[r].slots_log2;
          rings_q[r].claim      <= 64'd1 << setup_i[r].slots_log2;
        end
      end
    end
  end
endmodule
