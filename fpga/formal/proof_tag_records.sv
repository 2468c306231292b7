/// Walks, takes and appends in any order. Records of one tag, either one, leave in the order in which they came, each once.
/// A walk ends only after it has seen every record that it wants; it finds one, or ends, in at most one cycle for each
/// record.
module proof_tag_records
  import stopbit_tag_pkg::*;
#(
  parameter  int unsigned Entries = 4,
  localparam int unsigned Width   = $clog2(Entries)
) (
  input logic clk_i,
  input logic rst_ni,
  input logic begin_i,
  input logic wanted_i,
  input logic any_i,     // a walk for both tags
  input logic take_i,
  input logic append_i,
  input logic tag_i,
  input logic id_i,
  input logic pick_i
);
  logic             found, done, clears, wanted_q, any_q, tag_q;
  logic [Width:0]   count, cleared_q;
  tag_header_t      wanted, mask;
  tag_record_t      record, appended;
  formal_reset i_reset (.clk_i, .rst_ni);

  assign clears = rst_ni && !cleared_q[Width];
  always_comb begin
    wanted          = '0;
    wanted.value[0] = wanted_q;
    mask            = '0;
    mask.value[0]   = !any_q;
    appended        = '0;
    appended.header.value[0] = tag_i;
    appended.id[0]  = id_i;
  end
  stopbit_tag_records #(.Entries(Entries)) i_dut (
    .clk_i, .rst_ni, .clear_i(clears), .clear_slot_i(cleared_q[Width-1:0]),
    .wanted_i(wanted), .mask_i(mask), .all_i(1'b0), .begin_i, .found_o(found), .done_o(done), .record_o(record), .take_i,
    .append_i, .append_record_i(appended), .count_o(count)
  );

  // As the unit does: one thing at a time, and never an append within two cycles of a slot that is given back.
  logic [1:0] freed_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) cleared_q <= '0;
    else if (clears) cleared_q <= cleared_q + 1'b1;
    freed_q <= {freed_q[0], take_i || clears || !rst_ni};
    if (!rst_ni) tag_q <= tag_i;  // either one
    if (begin_i) begin
      wanted_q <= wanted_i;
      any_q    <= any_i;
    end
  end
  always_comb begin
    assume (!(begin_i || append_i || take_i) || (rst_ni && !clears));
    assume (32'(begin_i) + 32'(append_i) + 32'(take_i) <= 1);
    assume (!take_i || found);
    assume (!append_i || (freed_q == '0 && !count[Width]));
  end

  logic                       covers_q;  // the walk wants all of the tag
  logic [Width:0]             age_q;
  logic [$clog2(Entries+2)-1:0] inner;
  formal_order #(.Width(1), .Capacity(Entries)) i_order (
    .clk_i, .rst_ni, .pick_i, .put_i(append_i && tag_i == tag_q), .put_data_i(id_i),
    .take_i(take_i && record.header.value[0] == tag_q), .take_data_i(record.id[0]), .count_o(inner)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni || append_i) covers_q <= 1'b0;
    else if (begin_i) covers_q <= any_i || wanted_i == tag_q;
    age_q <= begin_i || take_i || found || done ? '0 : age_q + 1'b1;
  end
`ifdef COVER
  logic full_q, middle_q;  // one between two others was taken
  always_ff @(posedge clk_i) begin
    full_q   <= rst_ni && (full_q || count[Width]);
    middle_q <= rst_ni && (middle_q || (full_q && take_i && age_q == '0 && inner > 3'd1 && record.header.value[0] != tag_q));
  end
  always_comb if (rst_ni) assert (!(full_q && middle_q && covers_q && done && count == '0));
`else
  always_comb begin
    if (rst_ni && cleared_q[Width]) begin
      assert (!(covers_q && done) || inner == '0);
      assert (found || done || 32'(age_q) <= Entries);
    end
  end
`endif
endmodule
