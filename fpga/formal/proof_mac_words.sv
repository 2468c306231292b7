/// Words of frames, whatever the MAC sends and whenever there is room: the module's own assertions, and that each frame is
/// counted once.
module proof_mac_words (
  input logic        clk_i,
  input logic        rst_ni,
  input logic [63:0] time_ns_i,
  input logic        valid_i,
  input logic [63:0] data_i,
  input logic [7:0]  keep_i,
  input logic        last_i,
  input logic        error_i,
  input logic        abort_i,
  input logic        ready_i
);
  logic                       valid, passed, lost, cut;
  stopbit_mac_pkg::mac_word_t word;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_mac_words i_dut (
    .clk_i, .rst_ni, .time_ns_i, .valid_i, .data_i, .keep_i, .last_i, .error_i, .abort_i,
    .valid_o(valid), .ready_i, .word_o(word), .passed_o(passed), .lost_o(lost), .cut_o(cut)
  );

  // Frames that the MAC has begun, and that have had their fate: never more than two are under way.
  logic       open_q;  // as the MAC sees it
  logic [1:0] under_way_q;
  logic       begins;
  assign begins = valid_i && !abort_i && !open_q;
  always_ff @(posedge clk_i) begin
    if (abort_i) open_q <= 1'b0;
    else if (valid_i) open_q <= !last_i;
    if (!rst_ni) begin
      under_way_q <= '0;
    end else begin
      under_way_q <= under_way_q + 2'(begins) - 2'(passed || lost);
    end
  end
  // The first cycle finds no open frame: what was open before is not taken, and not counted.
  always_comb if (!rst_ni) assume (abort_i);

  // A frame was cut, and a good one followed.
  logic       recovered_q;
  logic       ended_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ended_q     <= 1'b0;
      recovered_q <= 1'b0;
    end else begin
      if (cut) ended_q <= 1'b1;
      recovered_q <= ended_q && valid && ready_i && word.last && !word.bad;
    end
  end
`ifdef COVER
  always_comb if (rst_ni) assert (!recovered_q);
`else
  always_comb begin
    if (rst_ni) begin
      assert (under_way_q <= 2'd2);
      assert (!(passed || lost) || under_way_q != '0);
      assert (!cut || lost);
    end
  end
`endif
endmodule
