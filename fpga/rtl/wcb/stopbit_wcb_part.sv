/// Collects a part: head, tag and up to five words. While one is shown the next one comes in, a word a cycle.
///
/// A part that begins before the last one has ended takes its place, and words outside of a part are left out: `stray_o`.
module stopbit_wcb_part
  import stopbit_wcb_pkg::*;
#(
  parameter int unsigned Ports = 64
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  output logic        ready_o,
  input  logic        first_i,
  input  logic        last_i,
  input  logic [63:0] data_i,
  input  logic [9:0]  vpid_i,   // with the first word, as is the class
  input  logic [1:0]  class_i,

  output logic        valid_o,
  input  logic        ready_i,
  output wcb_part_t   part_o,
  output logic        stray_o
);
  localparam int unsigned Words = PartWords + 2;

  logic [Words-1:0][63:0] words_q;
  logic [3:0]             count_q;  // of words, up to one too many
  logic [9:0]             vpid_q;
  logic [1:0]             class_q;
  logic                   whole_q;  // and not shown yet
  logic                   take, moves;
  assign moves   = whole_q && (!valid_o || ready_i);
  assign ready_o = !whole_q || moves;
  assign take    = valid_i && ready_o;

  wcb_head_t   head;
  logic [13:0] words;  // with head and tag
  assign head  = words_q[0];
  assign words = 14'(head.length[15:3]) + 14'(head.length[2:0] != '0) + 14'd2;

  logic begun_q;  // a part, which has not ended
  always_ff @(posedge clk_i) begin
    if (take) begin
      if (first_i) begin
        words_q[0] <= data_i;
        vpid_q     <= vpid_i;
        class_q    <= class_i;
        count_q    <= 4'd1;
      end else if (begun_q) begin
        for (int unsigned i = 1; i < Words; i++) if (count_q == 4'(i)) words_q[i] <= data_i;
        if (count_q != 4'(Words + 1)) count_q <= count_q + 4'd1;
      end
    end
    if (moves) begin
      part_o <= '{is_page: 32'(vpid_q) < Ports && class_q < 2'd2,
                  misshapen: count_q < 4'd2 || (!head.modifiers[Abort] && 14'(count_q) != words),
                  page: {1'b0, class_q[0], vpid_q}, head: head, tag: count_q < 4'd2 ? '0 : words_q[1],
                  words: words_q[Words-1:2]};
    end
    if (!rst_ni) begin
      valid_o <= 1'b0;
      whole_q <= 1'b0;
      begun_q <= 1'b0;
      stray_o <= 1'b0;
    end else begin
      valid_o <= moves || (valid_o && !ready_i);
      whole_q <= (take && last_i && (first_i || begun_q)) || (whole_q && !moves);
      if (take) begun_q <= (first_i || begun_q) && !last_i;
      stray_o <= take && first_i == begun_q;
    end
  end
endmodule
