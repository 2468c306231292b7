/// The grants of a crossbar of three ports. Packets take any time, up to a limit; all inputs but a watched one have packets for
/// any output, or none, in any cycle. What the watched input has for the watched output is served: at most MaxPassed packets of
/// others go before it there, and the output is free and without a grant that is taken for at most MaxIdle cycles in a row.
module proof_crossbar_grants #(
  parameter bit Idle = 1'b0,
  parameter int unsigned LateGrants = 4,
  parameter int unsigned MaxPassed  = 2 * LateGrants + 4,
  parameter int unsigned MaxIdle    = 32
) (
  input logic            clk_i,
  input logic            rst_ni,
  input logic [2:0][3:0] has_i,
  input logic [2:0]      ends_i,    // the packet that an input sends
  input logic [1:0]      input_i,   // that is watched
  input logic [1:0]      output_i
);
  localparam int unsigned Ports   = 3;
  localparam int unsigned Longest = 3;  // cycles for which a packet keeps its input busy, after it has begun

  logic [2:0][3:0] wants_q, agrees, agreed, begins_q, sends_q;  // by input, then output or none
  logic [2:0][2:0] has, outputs, holds, grants;
  logic [2:0][1:0] took_q;
  logic [2:0]      busy;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_crossbar_grants #(.Ports(Ports), .LateGrants(LateGrants), .MostCycles(8)) i_dut (
    .clk_i, .rst_ni, .wants_i(wants_q), .has_i(has), .busy_i(busy), .outputs_i(outputs), .agrees_o(agrees),
    .agreed_o(agreed), .grants_o(grants)
  );

  always_comb begin
    for (int i = 0; i < 3; i++) begin
      has[i]     = has_i[i][2:0];
      outputs[i] = sends_q[i][2:0];
      busy[i]    = sends_q[i] != '0;
      holds[i]   = agreed[i][2:0] | begins_q[i][2:0] | outputs[i];
    end
  end
  always_ff @(posedge clk_i) begin
    wants_q <= rst_ni ? has_i : '0;
    for (int i = 0; i < 3; i++) begin
      begins_q[i] <= rst_ni ? agreed[i] : '0;
      if (!rst_ni || ends_i[i]) sends_q[i] <= '0;
      else if (begins_q[i] != '0) sends_q[i] <= begins_q[i];
      took_q[i] <= busy[i] ? took_q[i] + 2'd1 : '0;
    end
  end
  always_comb begin
    for (int i = 0; i < 3; i++) if (took_q[i] == 2'(Longest - 1)) assume (ends_i[i]);
  end

  // The watched head.
  logic       begun_q = 1'b0;
  logic [1:0] input_q, output_q;
  logic       waits_q;  // since a cycle ago at least
  logic       is_here, served, counts, is_held;
  logic [2:0] others;   // late ones
  logic [4:0] passed_q;
  logic [6:0] idle_q;
  logic [2:0] late, late_q, waited;
  logic [1:0] count;
  always_comb begin
    assume (input_i != 2'd3 && output_i != 2'd3);
    if (begun_q) assume (input_i == input_q && output_i == output_q);
    is_here = has_i[input_i][output_i];
    if (waits_q) assume (is_here);
    served  = agrees[input_i][output_i];
    counts  = output_i == 2'd0 ? i_dut.gen_output[0].counts : output_i == 2'd1 ? i_dut.gen_output[1].counts : i_dut.gen_output[2].counts;
    is_held = holds[0][output_i] || holds[1][output_i] || holds[2][output_i];
    late    = output_i == 2'd0 ? i_dut.gen_output[0].late_q : output_i == 2'd1 ? i_dut.gen_output[1].late_q : i_dut.gen_output[2].late_q;
    waited  = output_i == 2'd0 ? i_dut.gen_output[0].waited_q : output_i == 2'd1 ? i_dut.gen_output[1].waited_q : i_dut.gen_output[2].waited_q;
    count   = output_i == 2'd0 ? i_dut.gen_output[0].count_q : output_i == 2'd1 ? i_dut.gen_output[1].count_q : i_dut.gen_output[2].count_q;
    others  = late & ~(3'd1 << input_i);
  end
  always_ff @(posedge clk_i) begin
    begun_q  <= 1'b1;
    input_q  <= input_i;
    output_q <= output_i;
    late_q   <= late;
    waits_q  <= rst_ni && is_here && !served;
    passed_q <= !rst_ni || !is_here || served ? '0 : passed_q + 5'(counts);
    idle_q   <= !rst_ni || !is_here || counts || is_held || late != late_q ? '0 : idle_q + 7'd1;
  end
  always_comb begin
    if (rst_ni) begin
`ifdef COVER
      assert (passed_q != 5'(2 * LateGrants + 1));  // through two rounds
`else
      assert (passed_q <= 5'(MaxPassed));
      if (Idle) assert (idle_q <= 7'(MaxIdle));
      // Steps of it: what has been passed in the round in which it came, in the next one, and by others that were late as well.
      if (waits_q && !late[input_i] && !waited[input_i]) assert (passed_q <= 5'(count) + 5'd1);
      if (waits_q && !late[input_i] && waited[input_i]) assert (passed_q <= 5'(count) + 5'(LateGrants) + 5'd1);
      if (waits_q && late[input_i]) begin
        assert (3'(count) + 3'(others[0]) + 3'(others[1]) + 3'(others[2]) <= 3'd3);
        assert (passed_q <= 5'(count) + 5'(2 * LateGrants) + 5'd1);
      end
`endif
    end
  end
endmodule
