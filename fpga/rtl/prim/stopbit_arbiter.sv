/// Round-robin arbiter for any number of requesters, as one binary tree.
///
/// The grant follows the requests in the same cycle. Requesters after the last one served come first, so that each of n
/// constant requesters is served every n grants and none waits for more than n - 1 others. The last one served is
/// remembered when `accept_i` takes a grant. While `stop_i` is high nothing is granted and nothing is forgotten.
module stopbit_arbiter #(
  parameter  int unsigned NumRequesters = 4,
  localparam int unsigned IndexWidth    = NumRequesters > 1 ? $clog2(NumRequesters) : 1
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     stop_i,
  input  logic                     accept_i,
  input  logic [NumRequesters-1:0] request_i,
  output logic                     any_o,    // something is granted
  output logic [NumRequesters-1:0] grant_o,  // one bit, or none
  output logic [IndexWidth-1:0]    index_o   // of the bit
);
  if (NumRequesters < 1) $fatal(1, "stopbit_arbiter: NumRequesters is %0d, needs at least 1", NumRequesters);

  localparam int unsigned NumLeaves = 1 << $clog2(NumRequesters);

  logic [NumRequesters-1:0] behind_q;  // the requesters after the last one served

  // Node n has the children 2n and 2n + 1, the root is 1, leaves come last. Each has the best requester below it: the
  // first one after the last served, else the first.
  logic [2*NumLeaves-1:1]                     any;
  logic [2*NumLeaves-1:1]                     behind;  // the best one is after the last served
  logic [2*NumLeaves*IndexWidth-1:IndexWidth] index;

  always_comb begin
    any    = '0;
    behind = '0;
    for (int unsigned i = 0; i < NumRequesters; i++) begin
      any[NumLeaves+i]    = request_i[i];
      behind[NumLeaves+i] = request_i[i] && behind_q[i];
    end
    for (int unsigned i = 0; i < NumLeaves; i++) index[(NumLeaves+i)*IndexWidth +: IndexWidth] = IndexWidth'(i);
    for (int unsigned n = NumLeaves - 1; n > 0; n--) begin
      any[n]    = any[2*n] || any[2*n+1];
      behind[n] = behind[2*n] || behind[2*n+1];
      if (behind[2*n] || (!behind[2*n+1] && any[2*n])) begin
        index[n*IndexWidth +: IndexWidth] = index[2*n*IndexWidth +: IndexWidth];
      end else begin
        index[n*IndexWidth +: IndexWidth] = index[(2*n+1)*IndexWidth +: IndexWidth];
      end
    end
  end

  assign any_o   = any[1] && !stop_i;
  assign index_o = index[IndexWidth +: IndexWidth];

  always_comb begin
    for (int unsigned i = 0; i < NumRequesters; i++) grant_o[i] = any_o && index_o == IndexWidth'(i);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      behind_q <= '0;
    end else if (any_o && accept_i) begin
      for (int unsigned i = 0; i < NumRequesters; i++) behind_q[i] <= index_o < IndexWidth'(i);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      grants_what_is_requested : assert ((grant_o & ~request_i) == 0);
      grants_at_most_one       : assert ((grant_o & (grant_o - 1'b1)) == 0);
      grants_if_requested      : assert (any_o == (request_i != 0 && !stop_i) && any_o == (grant_o != 0));
      behind_is_upper_part     : assert ((behind_q | (behind_q << 1)) == behind_q);
    end
  end
`ifdef FORMAL
  // Any requester, `watched_q`, that goes on requesting: of the grants that are accepted until its own, at most
  // NumRequesters - 1 go to others. So none starves, and n constant requesters get an nth each.
  (* anyseq *) logic [IndexWidth-1:0] choice;
  logic [IndexWidth-1:0] watched_q;
  logic                  waiting_q;  // it requested in the cycle before and was not served
  logic [IndexWidth:0]   passed_q;   // grants to others since then
  logic [IndexWidth:0]   earlier;    // requesters whose turn comes before its own
  always_comb begin
    earlier = '0;
    for (int unsigned i = 0; i < NumRequesters; i++) begin
      if (behind_q[watched_q] ? behind_q[i] && i < watched_q : behind_q[i] || i < watched_q) earlier = earlier + 1'b1;
    end
  end
  initial assume (!rst_ni);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      watched_q <= choice;
      waiting_q <= 1'b0;
      passed_q  <= '0;
      assume (choice < NumRequesters);
    end else begin
      if (waiting_q) assume (request_i[watched_q]);
      waiting_q <= request_i[watched_q] && !(grant_o[watched_q] && accept_i);
      if (!request_i[watched_q] || (grant_o[watched_q] && accept_i)) passed_q <= '0;
      else if (any_o && accept_i) passed_q <= passed_q + 1'b1;
      watched_exists : assert (watched_q < NumRequesters);
      waits_or_not   : assert (waiting_q || passed_q == 0);
      no_starvation  : assert (passed_q < NumRequesters);
      turns_left     : assert (passed_q == 0 || passed_q + earlier < NumRequesters);
    end
  end
`endif
`endif
endmodule
