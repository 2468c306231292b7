/// A functional unit of a pool: a queue of requests that wait, and a pipeline each of whose stages may work for another
/// context.
///
/// What a stage does is outside: it is shown a request, says when it is done and what it leaves for the next stage. A
/// request leaves a stage when that is done and the next one is free or becomes free. None overtakes another.
/// (Fröning 3.2.2, 3.2.6)
module stopbit_pool_unit #(
  parameter  int unsigned NumStages = 5,
  parameter  int unsigned WaitDepth = 4,
  parameter  int unsigned KeyWidth  = 34,
  parameter  int unsigned DataWidth = 64,
  localparam int unsigned NumHeld   = NumStages + WaitDepth
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,

  input  logic                                put_i,   // only while there is room
  input  logic [KeyWidth-1:0]                 key_i,
  input  logic [DataWidth-1:0]                data_i,
  output logic                                room_o,
  output logic                                idle_o,  // nothing waits

  // What each stage works on.
  output logic [NumStages-1:0]                stage_valid_o,
  output logic [NumStages-1:0][KeyWidth-1:0]  stage_key_o,
  output logic [NumStages-1:0][DataWidth-1:0] stage_data_o,
  input  logic [NumStages-1:0]                stage_done_i,
  input  logic [NumStages-1:0][DataWidth-1:0] stage_data_i,  // for the next stage, if it is done
  input  logic                                ready_i,       // what the last stage leaves is taken

  // Everything that is in the unit: its part of the scoreboard.
  output logic [NumHeld-1:0]                  held_o,
  output logic [NumHeld-1:0][KeyWidth-1:0]    keys_o
);
  if (NumStages < 1 || WaitDepth < 1) $fatal(1, "stopbit_pool_unit: needs a stage and a place to wait");
  localparam int unsigned CountWidth = $clog2(WaitDepth + 1);

  logic [WaitDepth-1:0][KeyWidth-1:0]  wait_key_q;
  logic [WaitDepth-1:0][DataWidth-1:0] wait_data_q;
  logic [WaitDepth-1:0]                waits_q;  // the oldest is at 0
  logic [CountWidth-1:0]               count_q;

  logic [NumStages:0] is_free;  // from the next cycle on; the last one: of what is after the pipeline
  logic [NumStages:0] enters;   // a stage, or leaves the last one
  always_comb begin
    is_free[NumStages] = ready_i;
    for (int s = NumStages - 1; s >= 0; s--) is_free[s] = !stage_valid_o[s] || (stage_done_i[s] && is_free[s+1]);
    enters[0] = waits_q[0] && is_free[0];
    for (int unsigned s = 0; s < NumStages; s++) enters[s+1] = stage_valid_o[s] && stage_done_i[s] && is_free[s+1];
  end

  assign room_o = count_q != CountWidth'(WaitDepth);
  assign idle_o = count_q == '0;
  assign held_o = {stage_valid_o, waits_q};
  assign keys_o = {stage_key_o, wait_key_q};

  logic [CountWidth-1:0]             kept;  // of those that wait
  logic [WaitDepth:0][KeyWidth-1:0]  next_key;
  logic [WaitDepth:0][DataWidth-1:0] next_data;
  assign kept      = count_q - CountWidth'(enters[0]);
  assign next_key  = {KeyWidth'(0), wait_key_q};
  assign next_data = {DataWidth'(0), wait_data_q};
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < WaitDepth; i++) begin
      if (put_i && kept == CountWidth'(i)) begin
        wait_key_q[i]  <= key_i;
        wait_data_q[i] <= data_i;
      end else if (enters[0]) begin
        wait_key_q[i]  <= next_key[i+1];
        wait_data_q[i] <= next_data[i+1];
      end
    end
    for (int unsigned s = 0; s < NumStages; s++) begin
      if (enters[s]) begin
        stage_key_o[s]  <= s == 0 ? wait_key_q[0] : stage_key_o[s-1];
        stage_data_o[s] <= s == 0 ? wait_data_q[0] : stage_data_i[s-1];
      end
    end
    if (!rst_ni) begin
      count_q       <= '0;
      waits_q       <= '0;
      stage_valid_o <= '0;
    end else begin
      count_q <= kept + CountWidth'(put_i);
      for (int unsigned i = 0; i < WaitDepth; i++) waits_q[i] <= CountWidth'(i) < kept + CountWidth'(put_i);
      for (int unsigned s = 0; s < NumStages; s++) stage_valid_o[s] <= enters[s] || (stage_valid_o[s] && !enters[s+1]);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      puts_with_room : assert (!put_i || room_o);
      waits_in_order : assert ((waits_q & (waits_q + 1'b1)) == '0);
    end
  end
`endif
endmodule
