/// Receives that are stored, matched and cancelled in any order, with tags that share buckets: those of one tag, any one, are
/// matched in the order in which they were stored, each once; a walk without a match has left none of them; others that
/// leave out of their chain change nothing of that.
module proof_tag_bank
  import stopbit_tag_pkg::*;
#(
  parameter  int unsigned Entries = 4,
  localparam int unsigned Width   = $clog2(Entries)
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             store_i,   // what is done next: a receive, else a record, or
  input logic             cancel_i,
  input logic             stays_i,   // the receive is persistent
  input logic [2:0]       tag_i,
  input logic [Width-1:0] slot_i,
  input logic             pick_i
);
  typedef enum logic [2:0] {Clear, Idle, Head, Look, Step, Leave, Store, Gone} state_e;
  state_e                        state_q;
  logic [2:0]                    tag_q, watched_q;
  logic                          stays_q, cancelled_q, starts, match, more, take, put, clears;
  logic [Width-1:0]              slot_q, slot, clear_q;
  logic [Entries-1:0]            used_q;
  logic [Entries-1:0][2:0]       tags_q;
  logic [Entries-1:0][Width-1:0] places_q;  // their buckets
  logic [Width-1:0]              bucket;
  tag_header_t                   header, mask, wanted;
  formal_reset i_reset (.clk_i, .rst_ni);

  assign clears = state_q == Clear;
  assign take   = state_q == Leave && ((match && !stays_q) || cancelled_q);
  assign put    = state_q == Store;
  assign starts = state_q == Idle && !cancel_i;
  always_comb begin
    header            = '0;
    header.value[2:0] = state_q == Idle ? tag_i : tag_q;
    mask              = '0;
    mask.value[2:0]   = '1;
  end
  stopbit_tag_bank #(.Entries(Entries)) i_dut (
    .clk_i, .clear_i(clears), .clear_bucket_i(clear_q),
    .header_i(header), .mask_i(mask), .fits_o(), .in_use_o(), .take_mask_i(clears),
    .start_i(starts), .head_i(state_q == Head), .look_i(state_q == Look), .step_i(state_q == Step),
    .match_o(match), .more_o(more),
    .goto_i(state_q == Idle && cancel_i), .goto_slot_i(slot_i), .goto_bucket_i(places_q[slot_i]),
    .slot_o(slot), .bucket_o(bucket), .wanted_o(wanted), .mask_o(), .stamp_o(),
    .store_i(put), .store_slot_i(slot_q), .store_stamp_i('0), .remove_i(take)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      watched_q <= tag_i;  // any one
      state_q <= Clear;
      clear_q <= '0;
      used_q  <= '0;
    end else begin
      clear_q <= clear_q + 1'b1;
      case (state_q)
        Clear: if (&clear_q) state_q <= Idle;
        Idle: begin
          tag_q       <= tag_i;
          stays_q     <= stays_i;
          slot_q      <= slot_i;
          cancelled_q <= cancel_i;
          state_q     <= cancel_i ? Leave : store_i ? Gone : Head;
        end
        Head:    state_q <= Look;
        Look:    state_q <= Step;
        Step:    state_q <= more ? Look : Leave;
        Gone:    state_q <= Store;  // the bucket is read
        default: state_q <= Idle;
      endcase
      if (put) begin
        used_q[slot_q]   <= 1'b1;
        tags_q[slot_q]   <= tag_q;
        places_q[slot_q] <= bucket;
      end
      if (take) used_q[slot] <= 1'b0;
    end
  end
  always_comb begin
    // Slots come from a list of free ones; what is watched is not cancelled, which would be another order.
    assume (!(state_q == Idle && cancel_i) || (used_q[slot_i] && tags_q[slot_i] != watched_q));
    assume (!(starts && store_i) || !used_q[slot_i]);
  end

  logic [$clog2(Entries+2)-1:0] inner;
  formal_order #(.Width(Width), .Capacity(Entries)) i_order (
    .clk_i, .rst_ni, .pick_i, .put_i(put && tag_q == watched_q), .put_data_i(slot_q),
    .take_i(take && !cancelled_q && wanted.value[2:0] == watched_q), .take_data_i(slot), .count_o(inner)
  );
`ifdef COVER
  // A receive between two others of its chain was cancelled; then a record passes one of these and matches the other.
  logic between_q, passed_q;
  always_ff @(posedge clk_i) begin
    between_q <= rst_ni && (between_q || (take && cancelled_q && !i_dut.is_first && !i_dut.is_last));
    passed_q  <= rst_ni && state_q != Idle && (passed_q || (state_q == Step && more));
  end
  always_comb if (rst_ni) assert (!(between_q && passed_q && take && !cancelled_q && inner == 3'd1));
`else
  always_comb begin
    if (rst_ni && state_q == Leave && !cancelled_q) begin
      assert (tag_q != watched_q || match == (inner != '0));
      assert (!match || (used_q[slot] && tags_q[slot] == tag_q));
    end
  end
`endif
endmodule
