/// The bus's side of a register tree, with one block in another clock: each request has one answer, in time, whatever that clock
/// and its block do.
module proof_register_bus (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        awvalid_i,
  input logic [15:0] awaddr_i,
  input logic        wvalid_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input logic        bready_i,
  input logic        arvalid_i,
  input logic [15:0] araddr_i,
  input logic        rready_i,
  input logic        crossing_rst_ni,  // of the crossing, at any time
  input logic        follows_i,        // the block answers the turn that it sees
  input logic        refused_i,
  input logic [31:0] data_i
);
  localparam int unsigned Patience = 8;
  logic awready, wready, bvalid, arready, rvalid, access, write, done, refused, turn, cancel, held_write, refused_pulse, gave_up;
  logic [1:0]  bresp, rresp;
  logic [15:0] address, held_address;
  logic [31:0] rdata, data, answer, held_data;
  logic        answered_q;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_register_port #(.Patience(Patience)) i_port (
    .clk_i, .rst_ni, .awvalid_i, .awready_o(awready), .awaddr_i, .wvalid_i, .wready_o(wready), .wdata_i, .wstrb_i,
    .bvalid_o(bvalid), .bready_i, .bresp_o(bresp), .arvalid_i, .arready_o(arready), .araddr_i, .rvalid_o(rvalid), .rready_i,
    .rdata_o(rdata), .rresp_o(rresp), .access_o(access), .write_o(write), .address_o(address), .data_o(data), .done_i(done),
    .refused_i(refused), .data_i(answer), .refused_o(refused_pulse), .gave_up_o(gave_up)
  );
  // Resets of the bus's half last five cycles.
  logic [2:0] left_q;
  logic       rst_n;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !crossing_rst_ni) left_q <= 3'd4;
    else if (left_q != '0) left_q <= left_q - 3'd1;
  end
  assign rst_n = rst_ni && crossing_rst_ni && left_q == '0;
  stopbit_register_request i_request (
    .clk_i, .rst_ni(rst_n), .access_i(access), .write_i(write), .address_i(address), .data_i(data), .done_o(done),
    .refused_o(refused), .data_o(answer), .turn_o(turn), .cancel_o(cancel), .write_o(held_write), .address_o(held_address),
    .data_held_o(held_data), .turn_i(answered_q), .refused_i, .data_held_i(data_i)
  );
  // The other half follows the turn at some time, or never.
  always_ff @(posedge clk_i) begin
    if (follows_i) answered_q <= turn;
  end

  formal_stream #(.Width(2)) i_b (.clk_i, .rst_ni, .valid_i(bvalid), .ready_i(bready_i), .data_i(bresp));
  formal_stream #(.Width(34)) i_r (.clk_i, .rst_ni, .valid_i(rvalid), .ready_i(rready_i), .data_i({rdata, rresp}));
  formal_stream #(.Width(49)) i_access (
    .clk_i, .rst_ni, .valid_i(access), .ready_i(done || gave_up), .data_i({write, address, data & {32{write}}})
  );

  // What was taken and has no answer yet; for how many cycles; and whether it is a write. What was answered with an error.
  logic       taken_q = 1'b0, is_write_q, is_error_q;
  logic [3:0] age_q;
  logic       takes_write, takes_read, comes;
  assign takes_write = awvalid_i && awready;
  assign takes_read  = arvalid_i && arready;
  assign comes       = (bvalid && bready_i) || (rvalid && rready_i);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      taken_q    <= 1'b0;
      is_error_q <= 1'b0;
    end else begin
      if (takes_write || takes_read) begin
        taken_q    <= 1'b1;
        is_write_q <= takes_write;
        is_error_q <= 1'b0;
      end else if (comes) begin
        taken_q <= 1'b0;
      end
      if (refused_pulse || gave_up) is_error_q <= 1'b1;
    end
    age_q <= takes_write || takes_read ? '0 : age_q + 4'(!(bvalid || rvalid));
  end
  // What the block may look at.
  logic        waits_q;
  logic [48:0] held_q;
  always_ff @(posedge clk_i) begin
    waits_q <= rst_n && turn != answered_q;
    held_q  <= {held_write, held_address, held_data};
  end
`ifndef COVER
  always_comb begin
    if (rst_ni) begin
      assert (awready == wready && !(awready && arready));
      assert (!(takes_write && !wvalid_i));
      assert (!(taken_q && (takes_write || takes_read)));
      assert (!bvalid || (taken_q && is_write_q));
      assert (!rvalid || (taken_q && !is_write_q));
      assert (!(taken_q && !bvalid && !rvalid) || age_q < 4'(Patience));
      // Nothing waits while nothing is under way; a read does not wait for two writes, nor a write for two reads.
      assert (taken_q || !(arvalid_i || (awvalid_i && wvalid_i)) || takes_write || takes_read);
      assert (!(bvalid || rvalid) || (bvalid ? bresp : rresp) == (is_error_q ? 2'b10 : 2'b00));
      assert (!(refused_pulse || gave_up) || (taken_q && !bvalid && !rvalid));
      assert (!(waits_q && rst_n) || held_q == {held_write, held_address, held_data});
    end
  end
`else
  // An access is cancelled, and a later one is done.
  logic cancelled_q = 1'b0;
  always_ff @(posedge clk_i) cancelled_q <= rst_ni && (cancelled_q || (cancel && rst_n));
  always_comb if (rst_ni) assert (!(cancelled_q && done && !refused && access));
`endif
endmodule
