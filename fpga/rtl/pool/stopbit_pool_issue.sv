/// Issues requests to the units of a pool, by their ordering keys: what has the key of a request in a unit goes to that
/// unit, everything else to any unit with room. So requests with equal keys stay in order, and no others wait for each
/// other.
///
/// Cycle 1: requests that may be heads in the next one are compared with everything in the units (the scoreboard) and with
/// what is issued. Cycle 2: the heads, the oldest requests, are issued, at most one to a unit. A key that has just left a
/// unit may still count as there. The oldest head goes first, so none waits for ever while its unit works: what frees
/// room there is not taken by a younger one (fpga/formal, proof_unit_pool).
/// (Fröning 3.2.6: multi-issue with distributed wait queues; with `NumIssues` 1 single issue, which looks `NumHeads` far.)
module stopbit_pool_issue #(
  parameter int unsigned NumUnits  = 4,
  parameter int unsigned NumHeld   = 9,  // requests in a unit
  parameter int unsigned NumHeads  = 2,  // 1 or 2
  parameter int unsigned NumIssues = 2,  // a cycle: 1 or 2
  parameter int unsigned KeyWidth  = 34,
  parameter int unsigned DataWidth = 64
) (
  input  logic                                          clk_i,
  input  logic                                          rst_ni,
  input  logic                                          in_order_i,  // else keys are not looked at

  // Up to two requests, the second one younger.
  input  logic [1:0]                                    valid_i,     // the second only with the first
  output logic [1:0]                                    ready_o,     // likewise
  input  logic [1:0][KeyWidth-1:0]                      key_i,
  input  logic [1:0][DataWidth-1:0]                     data_i,

  // The units.
  input  logic [NumUnits-1:0]                           room_i,
  input  logic [NumUnits-1:0]                           idle_i,
  input  logic [NumUnits-1:0][NumHeld-1:0]              held_i,
  input  logic [NumUnits-1:0][NumHeld-1:0][KeyWidth-1:0] keys_i,
  output logic [NumUnits-1:0]                           put_o,
  output logic [NumUnits-1:0][KeyWidth-1:0]             key_o,
  output logic [NumUnits-1:0][DataWidth-1:0]            data_o
);
  if (NumHeads < NumIssues || NumHeads > 2 || NumIssues < 1) $fatal(1, "stopbit_pool_issue: 1 or 2 heads, and no more issues");
  localparam int unsigned Window     = 6;  // two heads, two that follow them, and two that come meanwhile
  localparam int unsigned Compared   = 4;
  localparam int unsigned CountWidth = $clog2(Window + 1);

  logic [Window-1:0][KeyWidth-1:0]  key_q;
  logic [Window-1:0][DataWidth-1:0] data_q;
  logic [CountWidth-1:0]            count_q;
  logic [1:0]                       is_new_q;  // there is no such head, or it was not compared yet
  logic [1:0][NumUnits-1:0]         hits_q;    // units with the key of a head

  function automatic logic [NumUnits-1:0] reversed(input logic [NumUnits-1:0] units);
    for (int unsigned u = 0; u < NumUnits; u++) reversed[u] = units[NumUnits-1-u];
  endfunction

  logic [1:0][NumUnits-1:0] can, best, choice;
  always_comb begin
    // Units where nothing waits come first.
    for (int unsigned h = 0; h < 2; h++) begin
      can[h]  = room_i & (hits_q[h] != '0 ? hits_q[h] : '1);
      best[h] = (can[h] & idle_i) != '0 ? can[h] & idle_i : can[h];
    end
    // The heads look from either end, so that they seldom meet.
    choice[0] = best[0] & (~best[0] + 1'b1);
    choice[1] = reversed(reversed(best[1]) & (~reversed(best[1]) + 1'b1));
  end

  logic issues_first, issues_second, is_same;
  assign is_same       = in_order_i && key_q[0] == key_q[1];
  assign issues_first  = !is_new_q[0] && can[0] != '0;
  assign issues_second = NumHeads == 2 && !is_new_q[1] && can[1] != '0 && !is_same &&
                         !(issues_first && (NumIssues == 1 || choice[0] == choice[1]));

  always_comb begin
    for (int unsigned u = 0; u < NumUnits; u++) begin
      put_o[u]  = (issues_first && choice[0][u]) || (issues_second && choice[1][u]);
      key_o[u]  = issues_first && choice[0][u] ? key_q[0] : key_q[1];
      data_o[u] = issues_first && choice[0][u] ? data_q[0] : data_q[1];
    end
  end

  // What has the key of a request, after this cycle.
  logic [Compared-1:0][NumUnits-1:0] hits;
  always_comb begin
    for (int unsigned i = 0; i < Compared; i++) begin
      for (int unsigned u = 0; u < NumUnits; u++) begin
        hits[i][u] = (issues_first && choice[0][u] && key_q[i] == key_q[0]) ||
                     (issues_second && choice[1][u] && key_q[i] == key_q[1]);
        for (int unsigned j = 0; j < NumHeld; j++) hits[i][u] = hits[i][u] || (held_i[u][j] && keys_i[u][j] == key_q[i]);
        hits[i][u] = hits[i][u] && in_order_i;
      end
    end
  end

  // What stays, and what comes after it.
  logic [1:0]                       left;  // requests that leave
  logic [CountWidth-1:0]            stays;
  logic [Window+1:0][KeyWidth-1:0]  keys;
  logic [Window+1:0][DataWidth-1:0] data;
  assign left       = 2'(issues_first) + 2'(issues_second);
  assign stays      = count_q - CountWidth'(left);
  assign ready_o[0] = count_q != CountWidth'(Window);
  assign ready_o[1] = count_q <= CountWidth'(Window - 2);
  assign keys       = {{2{KeyWidth'(0)}}, key_q};
  assign data       = {{2{DataWidth'(0)}}, data_q};
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Window; i++) begin
      if (stays <= CountWidth'(i)) begin
        key_q[i]  <= stays == CountWidth'(i) ? key_i[0] : key_i[1];
        data_q[i] <= stays == CountWidth'(i) ? data_i[0] : data_i[1];
      end else if (i == 0 && !issues_first) begin
        // The second one has left alone.
      end else begin
        key_q[i]  <= left == 2'd0 ? keys[i] : left == 2'd1 ? keys[i+1] : keys[i+2];
        data_q[i] <= left == 2'd0 ? data[i] : left == 2'd1 ? data[i+1] : data[i+2];
      end
    end
    hits_q[0] <= !issues_first ? hits[0] : !issues_second ? hits[1] : hits[2];
    hits_q[1] <= left == 2'd0 ? hits[1] : left == 2'd1 ? hits[2] : hits[3];
    if (!rst_ni) begin
      count_q  <= '0;
      is_new_q <= '1;
    end else begin
      count_q     <= stays + CountWidth'(valid_i[0] && ready_o[0]) + CountWidth'(valid_i[1] && ready_o[1]);
      is_new_q[0] <= stays == '0;
      is_new_q[1] <= stays <= CountWidth'(1);
    end
  end

`ifndef SYNTHESIS
  logic [NumUnits-1:0] hits_first;
  assign hits_first = hits_q[0];
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      second_after_first : assert (!valid_i[1] || valid_i[0]);
      key_in_one_unit    : assert (is_new_q[0] || (hits_first & (hits_first - 1'b1)) == '0);
    end
  end
`endif
endmodule
