/// Waits until the host has all writes that the units had begun when it started.
///
/// First those that wait at the writer have to be sent or dropped; then what was sent by then has to leave.
module stopbit_node_fence
  import stopbit_node_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  node_writes_t writes_i,
  input  logic         start_i,
  output logic         passed_o  // since the last start; a cycle or more after it
);
  logic    waits_q, sent_q, is_quiet;
  writes_t point_q, since;
  assign since    = (sent_q ? writes_i.gone : writes_i.handled) - point_q;
  assign passed_o = !waits_q;
  assign is_quiet = writes_i.taken == writes_i.handled && writes_i.sent == writes_i.gone;
  always_ff @(posedge clk_i) begin
    if (start_i) point_q <= writes_i.taken;
    else if (waits_q && !sent_q && !since[WriteBits-1]) point_q <= writes_i.sent;
    if (start_i) sent_q <= 1'b0;
    else if (!since[WriteBits-1]) sent_q <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) waits_q <= 1'b0;
    else waits_q <= start_i ? !is_quiet : (waits_q && !(sent_q && !since[WriteBits-1]));
  end
endmodule
