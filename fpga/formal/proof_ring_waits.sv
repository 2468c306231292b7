/// No deadlock of the ring writer, for two rings, in each mode, whatever records come and whatever host and readers do: a
/// slot is taken after at most MaxWait cycles in which the way to memory takes a beat, the list has an address and the
/// ring has credit, however these come and go; cycles in which a ring begins begin the count anew. The way to memory
/// (stopbit_axi_writer) and the list (stopbit_vrbh) are free: they have proofs of their own.
///
/// `rank` counts the steps before the slot can be taken; it decreases in each such cycle and never grows.
/// With it: no more is published than is claimed, and no more is claimed than there is credit.
module proof_ring_waits
  import stopbit_ring_pkg::*;
#(
  parameter int unsigned MaxWait = 68
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic [1:0]       start_i,
  input logic [1:0]       stop_i,
  input logic [1:0]       long_i,       // 128 slots, not 64
  input logic [1:0][2:0]  max_slots_i,
  input logic [1:0][1:0]  mode_i,
  input logic [1:0]       credited_i,   // the ring's mode is never MODE_LOSSY
  input logic [1:0][63:0] credit_i,
  input logic [1:0]       credit_timeout_i,
  input logic [1:0]       timeout_i,
  input logic [1:0]       waits_i,      // a record waits elsewhere
  input logic             port_i,       // memory takes a beat
  input logic             address_i,    // the list has an address
  input logic             first_i,
  input logic [1:0]       broken_i,     // a descriptor that makes no sense
  input logic             valid_i,
  input logic             ring_i,
  input logic [2:0]       index_i,
  input logic [2:0]       count_i,      // as slot 0 tells it
  input logic             last_i,
  input logic             abort_i
);
  // state_e of stopbit_ring_writer.
  localparam logic [3:0] Look = 4'd0, Pad = 4'd1, MarkEnd = 4'd2, Claim = 4'd5, Fill = 4'd6, Tell = 4'd7, Discard = 4'd8;

  ring_setup_t [1:0] setup;
  logic              ready;
  always_comb begin
    setup = '0;
    for (int unsigned r = 0; r < 2; r++) begin
      setup[r].segments       = 32'd1;
      setup[r].slots_log2     = long_i[r] ? 5'd7 : 5'd6;
      setup[r].max_slots      = 16'(max_slots_i[r]);
      setup[r].mode           = mode_i[r];
      setup[r].credit_timeout = 32'(credit_timeout_i);
      setup[r].credit         = credit_i[r];
    end
  end
  formal_reset i_reset (.clk_i, .rst_ni);
  formal_stream #(.Width(9), .Assumed(1)) i_in (
    .clk_i, .rst_ni, .valid_i, .ready_i(ready), .data_i({ring_i, index_i, count_i, last_i, abort_i})
  );
  stopbit_ring_writer #(.NumRings(2)) i_dut (
    .clk_i, .rst_ni, .start_i, .stop_i, .setup_i(setup), .timeout_i(32'(timeout_i)), .status_o(), .refused_o(), .broken_o(),
    .starved_o(), .write_error_o(), .idle_o(), .room_o(), .waits_i, .valid_i, .ready_o(ready), .ring_i, .data_i(512'(count_i) << 16),
    .index_i(16'(index_i)), .last_i, .abort_i, .awvalid_o(), .awready_i(port_i), .awaddr_o(), .awlen_o(),
    .wvalid_o(), .wready_i(1'b0), .wdata_o(), .wstrb_o(), .wlast_o(), .bvalid_i(1'b0), .bready_o(),
    .bresp_i(2'b00), .arvalid_o(), .arready_i(1'b0), .araddr_o(), .rvalid_i(address_i), .rready_o(),
    .rdata_i(512'(broken_i)), .rresp_i({1'b0, first_i})
  );

  // The host's credit only grows, and allows the first claim.
  logic             begun_q = 1'b0;
  logic [1:0]       credited_q;
  logic [1:0][63:0] credit_q;
  always_ff @(posedge clk_i) begin
    begun_q    <= 1'b1;
    credited_q <= credited_i;
    credit_q   <= credit_i;
  end
  for (genvar r = 0; r < 2; r++) begin : g_host
    always_comb begin
      assume (credit_i[r] >= 64'd256 && (!begun_q || (credit_i[r] >= credit_q[r] && credited_i[r] == credited_q[r])));
      assume (!(credited_i[r] && mode_i[r] == MODE_LOSSY));
    end
  end

  // ---- what is to be done
  logic [3:0]  state;
  logic        which;
  logic [63:0] claiming;
  logic [15:0] slots;
  assign state    = i_dut.state_q;
  assign which    = i_dut.which_q;
  assign claiming = i_dut.claim_q;
  assign slots    = i_dut.slots_q;

  logic [1:0] works, holds;  // the writer is at this ring; what has to be true of it
  logic [1:0][7:0] all, claimed, padded, told;  // steps until the ring is ready for a slot: now, after the step in work
  for (genvar r = 0; r < 2; r++) begin : g_ring
    logic        running, begun, tells, ends_short, claims_short, sensible;
    logic [63:0] number, claim, slot_count, rest, ahead, most;
    logic [7:0]  telling;
    assign running      = i_dut.rings_q[r].running;
    assign begun        = i_dut.begun_q[r];
    assign number       = i_dut.rings_q[r].number;
    assign claim        = i_dut.rings_q[r].claim;
    assign most         = 64'(i_dut.rings_q[r].max_slots);
    assign slot_count   = i_dut.rings_q[r].slots_log2 == 5'd7 ? 64'd128 : 64'd64;
    assign rest         = slot_count - (number & (slot_count - 64'd1));
    assign ahead        = claim - number;
    assign ends_short   = rest < most;
    assign claims_short = ahead < (ends_short ? rest : most);
    assign tells        = i_dut.rings_q[r].lost != '0;
    assign sensible     = i_dut.rings_q[r].slots_log2 inside {5'd6, 5'd7} && most inside {[64'd1:64'd7]};
    // A ring that does not run needs a look. Else 2, 5 for a claim with its mark, 7 to pad and claim again; 5 for the first
    // claim; and to tell of lost records 1, and from there 14 at most.
    assign telling    = tells ? 8'd15 : 8'd0;
    assign claimed[r] = !running ? 8'd1 : 8'd2 + (ends_short ? 8'd7 : 8'd0) + telling;
    assign all[r]     = claimed[r] + (running && claims_short ? 8'd5 : 8'd0) + (running && !begun ? 8'd5 : 8'd0);
    assign padded[r]  = !running ? 8'd1 : 8'd7 + telling;
    assign told[r]    = !running ? 8'd1 : 8'd14;
    assign works[r]   = state != Look && which == 1'(r);

    always_comb begin
      holds[r] = 1'b1;
      if (running) begin
        holds[r] = sensible && !ahead[63] && (begun || (ahead == '0 && number == slot_count)) && (!credited_i[r] || claim <= credit_i[r]);
        if (works[r] && state inside {[MarkEnd : Claim]}) begin
          holds[r] = holds[r] && claiming - number >= most && claiming - number < 64'h4000_0000_0000_0000 &&
                     (!credited_i[r] || claiming <= credit_i[r]);
        end
        if (works[r] && state inside {Fill, Tell, Pad}) begin
          holds[r] = holds[r] && begun && !claims_short && (state == Pad) == ends_short && 64'(slots) <= most && slots != '0 &&
                     (state == Fill || slots == 16'd1);
        end
      end
      assume (number[63:62] == '0 && credit_i[r][63:62] == '0);  // as many are never written
    end
  end

  logic [7:0] rank;
  always_comb begin
    case (state)
      Look:    rank = all[0] + all[1];
      Pad:     rank = 8'd1 + padded[which] + all[!which];
      Fill:    rank = 8'd1;
      Tell:    rank = 8'd1 + told[which] + all[!which];
      Discard: rank = 8'd0;
      default: rank = 8'(Claim + 4'd1 - state) + claimed[which] + all[!which];
    endcase
  end

  logic       waits, fair;
  logic       waits_q = 1'b0, fair_q;
  logic [7:0] wait_q = '0, rank_q;
  assign waits = rst_ni && valid_i && !ready && i_dut.vrbh_start == '0;
  assign fair  = port_i && address_i && i_dut.has_grant;
  always_ff @(posedge clk_i) begin
    waits_q <= waits;
    fair_q  <= fair;
    rank_q  <= rank;
    wait_q  <= waits ? wait_q + 8'(fair) : '0;
  end
  always_comb begin
    if (rst_ni) begin
      assert (state <= Discard);
      assert (&holds);
      assert (!waits_q || (fair_q ? rank < rank_q : rank <= rank_q));
      assert (9'(wait_q) + 9'(rank) <= 9'(MaxWait));
    end
  end
endmodule
