/// Commands that wait for an answer: a slot each, with a number that an answer of an earlier one does not have.
///
/// The requester takes the slot offered; the completer looks at one (`slot_o` a cycle after `index_i`) and frees it.
module stopbit_rma_slots
  import stopbit_nic_pkg::*;
  import stopbit_rma_pkg::*;
(
  input  logic                 clk_i,
  input  logic                 rst_ni,

  output logic                 free_valid_o,
  output logic [SlotWidth-1:0] free_o,
  output logic [15:0]          generation_o,  // of the next one
  input  logic                 take_i,
  input  rma_slot_t            slot_i,
  input  logic                 drop_i,        // the requester gives this one back
  input  logic [SlotWidth-1:0] drop_index_i,

  input  logic [SlotWidth-1:0] index_i,
  output logic                 used_o,
  output logic                 fresh_o,       // nothing has come for it
  output rma_slot_t            slot_o,
  input  logic                 touch_i,       // the slot of `index_i` a cycle earlier
  input  logic                 finish_i,
  output logic                 waits_o        // any
);
  logic [RmaSlots-1:0]  used_q, fresh_q;
  logic [SlotWidth-1:0] next_q, index_q;
  logic [15:0]          generation_q;
  assign free_valid_o = !used_q[next_q];
  assign free_o       = next_q;
  assign generation_o = generation_q;
  always_ff @(posedge clk_i) begin
    index_q <= index_i;
    used_o  <= used_q[index_i];
    fresh_o <= fresh_q[index_i];
    waits_o <= rst_ni && used_q != '0;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      used_q       <= '0;
      fresh_q      <= '0;
      next_q       <= '0;
      generation_q <= '0;
    end else begin
      next_q       <= next_q + SlotWidth'(take_i || !free_valid_o);
      generation_q <= generation_q + 16'(take_i);
      for (int unsigned i = 0; i < RmaSlots; i++) begin
        if (take_i && next_q == SlotWidth'(i)) used_q[i] <= 1'b1;
        else if ((finish_i && index_q == SlotWidth'(i)) || (drop_i && drop_index_i == SlotWidth'(i))) used_q[i] <= 1'b0;
        if (take_i && next_q == SlotWidth'(i)) fresh_q[i] <= 1'b1;
        else if (touch_i && index_q == SlotWidth'(i)) fresh_q[i] <= 1'b0;
      end
    end
  end
  stopbit_ram #(.Width($bits(rma_slot_t)), .Depth(RmaSlots)) i_slots (
    .write_clk_i(clk_i), .write_i(take_i), .write_address_i(next_q), .write_data_i(slot_i),
    .read_clk_i(clk_i), .read_address_i(index_i), .read_data_o(slot_o)
  );
`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      taken_is_free : assert (!take_i || free_valid_o);
      freed_is_used : assert (!finish_i || used_q[index_q]);
    end
  end
`endif
endmodule
