/// Joins streams, in turn; what belongs together stays together. An input that may not begin (`may_i`) waits, the others do
/// not. With `Cut` a skid buffer cuts the path: one cycle. Without it a word that is taken has left.
module stopbit_rma_merge #(
  parameter int unsigned Inputs = 3,
  parameter int unsigned Width  = 8,
  parameter bit          Cut    = 1'b1
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic [Inputs-1:0]            may_i,
  input  logic [Inputs-1:0]            valid_i,
  output logic [Inputs-1:0]            ready_o,
  input  logic [Inputs-1:0]            last_i,
  input  logic [Inputs-1:0][Width-1:0] data_i,
  output logic                         valid_o,
  input  logic                         ready_i,
  output logic [Width-1:0]             data_o
);
  logic              inside_q, ready, valid, last;
  logic [Inputs-1:0] grant, owner_q, owner;
  logic [Width-1:0]  data;
  // What is offered stays: it is not chosen anew while it waits.
  assign owner = inside_q ? owner_q : grant;
  stopbit_arbiter #(.NumRequesters(Inputs)) i_arbiter (
    .clk_i, .rst_ni,
    .stop_i   (inside_q),
    .accept_i (valid && !inside_q),
    .request_i(valid_i & may_i),
    .any_o    (),
    .grant_o  (grant),
    .index_o  ()
  );
  always_comb begin
    data = '0;
    for (int unsigned i = 0; i < Inputs; i++) data |= owner[i] ? data_i[i] : '0;
  end
  assign valid   = |(valid_i & owner);
  assign last    = |(last_i & owner);
  assign ready_o = owner & {Inputs{ready}};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) inside_q <= 1'b0;
    else if (valid) inside_q <= !(ready && last);
    if (!inside_q) owner_q <= grant;
  end
  if (Cut) begin : g_cut
    stopbit_skid #(.Width(Width)) i_skid (
      .clk_i, .rst_ni, .valid_i(valid), .ready_o(ready), .data_i(data), .valid_o, .ready_i, .data_o
    );
  end else begin : g_through
    assign ready   = ready_i;
    assign valid_o = valid;
    assign data_o  = data;
  end
endmodule
