/// An input of a crossbar of three ports with one channel and four slots. Whatever cells come and whichever grants outputs give,
/// a slot, any one, is taken only if it is free and freed only if it is taken, and all slots are free or taken; a packet
/// is sent to each of its outputs once before its slots are free again.
module proof_crossbar_input (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        valid_i,
  input logic [1:0]  kind_i,
  input logic        up_i,
  input logic [3:0]  agreed_i,    // which packet is taken; the last output is none
  input logic [2:0]  discards_i,
  input logic [1:0]  slot_i       // that is followed
);
  import stopbit_link_pkg::*;
  logic            ready, busy, freed;
  logic [2:0]      has;
  logic [3:0]      wants;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_crossbar_input #(.Units(1), .Links(2), .NumClasses(1), .NumVcs(1), .Slots(4), .AlmostFull(2)) i_dut (
    .clk_i, .rst_ni, .up_i, .patience_i(32'd0), .config_i(1'b0), .config_table_i(stopbit_switch_pkg::TABLE_OWN), .config_address_i('0),
    .config_data_i('0), .valid_i, .cell_i('{kind: cell_kind_t'(kind_i), data: '0}), .ready_o(ready), .freed_o(freed),
    .freed_channel_o(), .waiting_o(), .may_send_i('1), .has_o(has), .wants_o(wants), .busy_o(busy), .outputs_o(), .agreed_i,
    .channels_i('0), .discards_i, .done_o(), .done_channel_o(), .done_slots_o(),
    .sends_o(), .cell_o(), .events_o()
  );

  // An output granted the packet two cycles before, when the input was free, and it was taken a cycle before.
  logic [2:0] agreed_q;  // that a packet was taken, by cycle
  logic       busy1_q, busy2_q, none1_q, none2_q;
  logic [2:0] has_q;
  logic [1:0] slot_q;
  logic       begun_q = 1'b0;
  always_ff @(posedge clk_i) begin
    begun_q  <= 1'b1;
    slot_q   <= slot_i;
    {busy2_q, busy1_q} <= {busy1_q, busy};
    {none2_q, none1_q} <= rst_ni ? {none1_q, wants[3]} : '0;
    has_q    <= rst_ni ? has : '0;
    agreed_q <= rst_ni ? {agreed_q[1:0], agreed_i != '0} : '0;
  end
  always_comb begin
    assume ((agreed_i & (agreed_i - 1'b1)) == '0);
    assume ((agreed_i & ~{none2_q, has_q}) == '0);
    assume (agreed_i == '0 || (agreed_q == '0 && !busy2_q));
    if (begun_q) assume (slot_i == slot_q);
  end

  // The slot, and of the packet that begins in it: its copies, and those that have begun to leave.
  logic       takes, frees, taken_q, filled_q, is_first_q;
  logic [1:0] copies_q, left_q;
  assign takes = i_dut.slot_take && i_dut.slot == slot_i;
  assign frees = i_dut.freed && i_dut.freed_slot == slot_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      taken_q    <= 1'b0;
      filled_q   <= 1'b0;
      is_first_q <= 1'b0;
      copies_q   <= '0;
      left_q     <= '0;
    end else begin
      taken_q  <= (taken_q || takes) && !frees;
      filled_q <= ready;
      if (takes) is_first_q <= i_dut.begins;
      if (takes) left_q <= '0;
      else if (i_dut.reader.load && i_dut.load_slot == slot_i) left_q <= left_q + 1'b1;
      if (i_dut.routed && i_dut.routed_slot == slot_i) copies_q <= i_dut.copies;
    end
  end
  logic [2:0] used_q;
  always_ff @(posedge clk_i) used_q <= rst_ni ? used_q + 3'(i_dut.slot_take) - 3'(i_dut.freed) : '0;
  always_comb begin
    if (rst_ni) begin
`ifdef COVER
      assert (!(frees && is_first_q && left_q == 2'd3));  // after three copies
`else
      assert (!takes || !taken_q);
      assert (!frees || taken_q);
      assert (!filled_q || i_dut.free_slots.count_o + used_q == 3'd4);
      assert (!(frees && is_first_q) || left_q == copies_q);
`endif
    end
  end
endmodule
