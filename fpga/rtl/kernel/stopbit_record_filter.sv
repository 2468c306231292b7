/// Which filters want a record.
///
/// A filter wants the records of a channel and a template, or of any, whose root block has a word with a value. The word
/// has to be there: its tag is that of the word, so no other block's word is taken for it. Event records are wanted by all
/// filters of their channel, whatever their template and value: each reader learns what it may have missed.
///
/// `wants_o` is of the record whose last slot was taken in the cycle before, and stays until the next slot is taken.
/// `filters_i` changes only while no slot comes, and one cycle before one does.
module stopbit_record_filter
  import stopbit_pkg::*;
  import stopbit_registers_pkg::*;
(
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  filter_written_t [Filters-1:0] filters_i,
  input  logic                          take_i,
  input  stopbit_slot_t                 slot_i,
  output logic [Filters-1:0]            wants_o
);
  logic ends, is_event;
  assign ends     = slot_i.last || slot_i.aborted;
  assign is_event = slot_i.data[15:0] == EventIndex;

  logic [Filters-1:0] hits, hits_q, wants;
  for (genvar f = 0; f < Filters; f++) begin : g_filter
    // Where the word is. Registers, as the division by 7 would be in the path of each slot.
    logic [7:0]  word, tag_q;
    logic [8:0]  place;  // counted from slot 0
    logic [15:0] index_q;
    logic [2:0]  column_q;
    assign word  = filters_i[f].control[FilterControlWordBit +: 8];
    assign place = 9'(word) + 9'(HeaderWords);
    always_ff @(posedge clk_i) begin
      index_q  <= 16'(place) / 16'(ValueWords);
      column_q <= 3'(place % 9'(ValueWords));
      tag_q    <= word % MaxValueTag + 8'd1;
    end

    logic [63:0] value;
    logic [7:0]  tag;
    assign value    = slot_i.data[64*column_q +: 64];
    assign tag      = slot_i.data[448 + 8*column_q +: 8];
    assign hits[f]  = slot_i.index == index_q
                      ? tag == tag_q && (value & filters_i[f].mask) == filters_i[f].value : hits_q[f];
    assign wants[f] = filters_i[f].control[FilterControlEnableBit] &&
                      (filters_i[f].control[FilterControlAnyChannelBit] ||
                       slot_i.data[175:160] == filters_i[f].key[FilterKeyChannelBit +: 16]) &&
                      (is_event || ((filters_i[f].control[FilterControlAnyTemplateBit] ||
                                     slot_i.data[15:0] == filters_i[f].key[FilterKeyTemplateIndexBit +: 16]) &&
                                    (filters_i[f].mask == '0 || hits[f])));
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) hits_q <= '0;
    else if (take_i) hits_q <= ends ? '0 : hits;
    if (take_i) wants_o <= wants;
  end
endmodule
