/// What comes after an error in the consume stage does nothing until the error has left: no micro-operation, no entry of a
/// dictionary, no byte, no datagram, no jump, no loop and no presence map. So nothing younger than the error changes the state
/// of its channel, and none of another datagram is begun. With the error itself the datagram stays, and what it writes is in its
/// own channel.
///
/// Instructions, tables, presence maps and strings are free: whatever they are.
module proof_engine_error
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input logic              clk_i,
  input logic              rst_ni,
  input stopbit_load_t     load_i,
  input logic              active_i,
  input stopbit_datagram_t datagram_i,
  input stopbit_datagram_t following_i,
  input logic              follows_i,
  input window_t           window_i,
  input logic              ready_i
);
  take_t take;
  logic release_window;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_microcode_engine #(.WatchdogBits(4)) i_dut (
    .clk_i, .rst_ni, .load_i, .back_data_o(), .is_ready_o(), .active_i, .datagram_i, .following_i, .follows_i, .window_i, .take_o(take),
    .release_o(release_window), .valid_o(), .ready_i, .command_o(), .header_o(), .datagram_done_o(), .issued_o()
  );

  logic failed, errs, leaves;  // an error is on its way; it is found; it has left, or one before it of the same datagram
  logic failed_q = 1'b0, errs_q = 1'b0, leaves_q = 1'b0, advance_q = 1'b0;
  assign failed = i_dut.state_q == STATE_FAILED;
  assign errs   = i_dut.code != 8'd0;
  assign leaves = i_dut.fails;
  always_ff @(posedge clk_i) begin
    failed_q  <= rst_ni && failed;
    errs_q    <= rst_ni && errs;
    leaves_q  <= leaves;
    advance_q <= i_dut.advance;
  end

  logic [1:0] in_channel;
  for (genvar i = 0; i < 2; i++) begin : g_entry
    assign in_channel[i] = !i_dut.write_state[i] || i_dut.write_entry[i] == i_dut.channel.context_base ||
                           i_dut.write_entry[i] == ContextBits'(i_dut.channel.context_base + i_dut.now.insn[i].slot);
  end

`ifdef COVER
  // An error is on its way and leaves, while instructions and bytes that are younger are present.
  always_comb if (rst_ni) assert (!(failed && leaves && i_dut.now.valid && window_i.available != '0));
`else
  always_comb begin
    if (rst_ni && failed) begin
      assert (!i_dut.issue && i_dut.write_state == '0 && take == '0 && !i_dut.done && !i_dut.steps);
      assert (release_window == leaves && i_dut.redirect == leaves && !i_dut.begins && !i_dut.start_step.resets);
      assert (!i_dut.control_step.push_loop && !i_dut.control_step.restores_map && !i_dut.data_step.pmap.pushes);
    end
    if (rst_ni && errs) assert (!release_window || leaves);
    if (rst_ni) assert (&in_channel);
    // The state stays until the error leaves.
    if (rst_ni && (failed_q || (errs_q && advance_q)) && !(leaves_q && advance_q)) assert (failed);
  end
`endif
endmodule
