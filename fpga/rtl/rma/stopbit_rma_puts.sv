/// Puts of more than one packet that are under way here: how far each is, and what went wrong.
///
/// Without its entry a put fails: its beginning did not come, or too many are under way. So a put that is reported as done
/// has come whole. A port of another node has one put under way at a time; a new one takes the place of the old one.
module stopbit_rma_puts
  import stopbit_nic_pkg::*;
#(
  parameter int unsigned Entries = 8
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic [15:0] node_i,
  input  logic [15:0] vpid_i,
  output logic        known_o,    // a cycle later, as the next two
  output logic [31:0] next_o,     // where its next data are
  output logic [4:0]  error_o,

  input  logic        begin_i,    // of the port of a cycle earlier, as all that follows
  input  logic        update_i,
  input  logic        end_i,
  input  logic [31:0] next_i,
  input  logic [4:0]  error_i,
  input  logic        forget_i,   // all of `forget_node_i`
  input  logic [15:0] forget_node_i
);
  localparam int unsigned IndexWidth = $clog2(Entries);

  logic [Entries-1:0]       used_q, is_it, is_it_q;
  logic [Entries-1:0][15:0] node_q, vpid_q;
  logic [Entries-1:0][31:0] next_q;
  logic [Entries-1:0][4:0]  error_q;
  logic [IndexWidth-1:0]    free;
  logic                     has_free;
  always_comb begin
    free     = '0;
    has_free = 1'b0;
    for (int unsigned i = 0; i < Entries; i++) begin
      is_it[i] = used_q[i] && node_q[i] == node_i && vpid_q[i] == vpid_i;
      if (!used_q[i]) begin
        free     = IndexWidth'(i);
        has_free = 1'b1;
      end
    end
  end
  always_comb begin
    next_o  = '0;
    error_o = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      next_o  |= is_it_q[i] ? next_q[i] : '0;
      error_o |= is_it_q[i] ? error_q[i] : '0;
    end
  end
  assign known_o = is_it_q != '0;
  always_ff @(posedge clk_i) begin
    is_it_q <= is_it;
    for (int unsigned i = 0; i < Entries; i++) begin
      if (begin_i && !known_o && has_free && free == IndexWidth'(i)) begin
        node_q[i] <= node_i;
        vpid_q[i] <= vpid_i;
      end
      if ((begin_i && !known_o && has_free && free == IndexWidth'(i)) || ((begin_i || update_i) && is_it_q[i])) begin
        next_q[i]  <= next_i;
        error_q[i] <= error_i;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Entries; i++) begin
      if (!rst_ni) used_q[i] <= 1'b0;
      else if (begin_i && !known_o && has_free && free == IndexWidth'(i)) used_q[i] <= 1'b1;
      else if ((end_i && is_it_q[i]) || (forget_i && node_q[i] == forget_node_i)) used_q[i] <= 1'b0;
    end
  end
endmodule
