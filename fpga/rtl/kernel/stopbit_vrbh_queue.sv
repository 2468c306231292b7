/// Hands out the addresses of one ring's slots, one after the other, round and round.
///
/// The ring's memory is a list of segments, wherever the host got them; the list lies in memory too, 16 bytes a segment:
/// address (u64, a multiple of 64), slots (u32, at least 1), zero (u32). The segment in use and up to `Prefetch`
/// following ones are held here, so that the way from one to the next costs no cycle once they have arrived.
///
/// `address_o` is the next slot's address while `valid_o`; `take_i` moves on. Slots taken are on trial until
/// `commit_i`, which settles everything taken in earlier cycles (a take in the same cycle belongs to what follows);
/// `revoke_i` goes back to where the last commit was, over any number of segments. `skip_i` goes to the ring's first
/// slot; nothing may be on trial then.
///
/// A descriptor that makes no sense raises `error_o` and ends the queue until the next `start_i`: no slot is handed out
/// that the list does not name.
module stopbit_vrbh_queue #(
  parameter  int unsigned Prefetch   = 4,  // segments
  localparam int unsigned CountWidth = $clog2(Prefetch + 1),
  localparam int unsigned IndexWidth = $clog2(Prefetch)
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        start_i,
  input  logic        stop_i,
  input  logic [63:6] list_i,      // address of the first descriptor
  input  logic [31:0] segments_i,  // descriptors, at least 1

  output logic        valid_o,
  output logic [63:6] address_o,
  output logic        first_o,  // it is the ring's first slot
  input  logic        take_i,
  input  logic        commit_i,
  input  logic        revoke_i,
  input  logic        skip_i,
  output logic        idle_o,   // no read is on its way
  output logic        error_o,

  output logic        fetch_valid_o,
  input  logic        fetch_ready_i,
  output logic [63:4] fetch_address_o,
  input  logic         descriptor_valid_i,  // in the order of the fetches
  input  logic [127:0] descriptor_i,
  input  logic         descriptor_error_i
);
  typedef logic [CountWidth-1:0] count_t;
  typedef struct packed {
    logic        valid;
    logic [63:6] address;  // of the next slot
    logic [31:0] left;     // slots, that one included
    logic [31:0] index;    // of the descriptor
    logic        fresh;    // no slot of it was taken
  } place_t;
  typedef struct packed {
    logic [63:6] address;
    logic [31:0] slots;
  } segment_t;

  logic        active_q, skipping_q, trial_q, crossed_q;
  logic [63:4] list_q;
  logic [31:0] segments_q, fetch_index_q;
  place_t      place_d, place_q, settled_q;
  segment_t [Prefetch-1:0] next_q;      // next_q[0] follows the segment in use
  count_t      next_count_q, flight_q, stale_q;  // fetched; on their way; of these, no longer wanted

  function automatic logic [31:0] after(input logic [31:0] index, input logic [31:0] segments);
    return index + 32'd1 >= segments ? 32'd0 : index + 32'd1;
  endfunction

  logic response, bad, take, load, fetch;
  assign response = descriptor_valid_i && stale_q == '0 && active_q;
  assign bad      = response && (descriptor_error_i || descriptor_i[95:64] == '0 || descriptor_i[127:96] != '0 ||
                                 descriptor_i[5:0] != '0);
  assign error_o  = bad;

  assign valid_o   = active_q && place_q.valid && !skipping_q;
  assign address_o = place_q.address;
  assign first_o   = place_q.index == '0 && place_q.fresh;
  assign idle_o    = flight_q == '0;
  assign take      = take_i && valid_o;

  // The segment in use ends with this take, or there is none: the next one comes up.
  always_comb begin
    place_d = place_q;
    if (take) begin
      place_d.address = place_q.address + 58'd1;
      place_d.left    = place_q.left - 32'd1;
      place_d.fresh   = 1'b0;
      if (place_q.left == 32'd1) place_d.valid = 1'b0;
    end
    if (skip_i || (skipping_q && place_q.index != '0)) place_d.valid = 1'b0;
    load = active_q && !place_d.valid && next_count_q != '0 && !revoke_i;
    if (load) begin
      place_d.valid   = 1'b1;
      place_d.address = next_q[0].address;
      place_d.left    = next_q[0].slots;
      place_d.index   = after(place_q.index, segments_q);
      place_d.fresh   = 1'b1;
    end
  end

  assign fetch_valid_o   = active_q && !revoke_i && CountWidth'(next_count_q + flight_q) != count_t'(Prefetch) &&
                           stale_q == '0;
  assign fetch_address_o = list_q + 60'(fetch_index_q);
  assign fetch           = fetch_valid_o && fetch_ready_i;

  logic go_back;  // over the end of a segment: what follows has to be fetched again
  assign go_back = revoke_i && crossed_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      list_q     <= {list_i, 2'b00};
      segments_q <= segments_i;
    end
    if (response && !go_back) begin
      next_q[IndexWidth'(next_count_q - count_t'(load))] <= '{address: descriptor_i[63:6], slots: descriptor_i[95:64]};
    end
    if (load) begin
      for (int unsigned i = 0; i + 1 < Prefetch; i++) begin
        if (!(response && count_t'(i + 1) == next_count_q)) next_q[i] <= next_q[i+1];
      end
    end
  end

  count_t flight_d;
  assign flight_d = flight_q + count_t'(fetch) - count_t'(descriptor_valid_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q      <= 1'b0;
      skipping_q    <= 1'b0;
      trial_q       <= 1'b0;
      crossed_q     <= 1'b0;
      place_q       <= '0;
      settled_q     <= '0;
      fetch_index_q <= '0;
      next_count_q  <= '0;
      flight_q      <= '0;
      stale_q       <= '0;
    end else begin
      flight_q <= flight_d;
      if (stale_q != '0 && descriptor_valid_i) stale_q <= stale_q - 1'b1;
      if (fetch) fetch_index_q <= after(fetch_index_q, segments_q);
      next_count_q <= next_count_q + count_t'(response) - count_t'(load);
      place_q      <= place_d;
      if (skip_i) skipping_q <= 1'b1;
      else if (skipping_q && place_q.valid && place_q.index == '0) skipping_q <= 1'b0;

      // What nothing was taken of is settled.
      if (!take && (commit_i || !trial_q)) settled_q <= place_d;
      else if (take && (commit_i || !trial_q)) settled_q <= place_q;
      if (commit_i || !trial_q) begin
        trial_q   <= take;
        crossed_q <= take && load;
      end else begin
        trial_q   <= 1'b1;
        crossed_q <= crossed_q || load;
      end

      if (revoke_i && trial_q) begin
        trial_q   <= 1'b0;
        crossed_q <= 1'b0;
        place_q   <= settled_q;
        settled_q <= settled_q;
        if (crossed_q) begin
          next_count_q  <= '0;
          stale_q       <= flight_d;
          fetch_index_q <= after(settled_q.index, segments_q);
        end
      end
      if (start_i || stop_i || bad) begin
        active_q      <= start_i;
        skipping_q    <= 1'b0;
        trial_q       <= 1'b0;
        crossed_q     <= 1'b0;
        place_q       <= '{valid: 1'b0, address: '0, left: '0, index: '1, fresh: 1'b0};
        settled_q     <= '{valid: 1'b0, address: '0, left: '0, index: '1, fresh: 1'b0};
        fetch_index_q <= '0;
        next_count_q  <= '0;
        stale_q       <= flight_d;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!(skip_i && trial_q && !commit_i)) else $error("skip while slots are on trial");
      assert (next_count_q + flight_q <= count_t'(Prefetch)) else $error("more descriptors than places for them");
      assert (!(descriptor_valid_i && flight_q == '0)) else $error("a descriptor that nobody asked for");
    end
  end
`endif
endmodule
