/// The write side of an AXI4 master with one ID: addresses and data stay until they are taken, no burst crosses 4 KiB, data
/// never comes before its address, a burst has as many beats as it said and the last one is marked, and no more than
/// MaxBursts wait for their response. Assumes of the memory that it answers only bursts whose data it has.
module formal_axi_write #(
  parameter int unsigned MaxBursts = 64,
  parameter bit          WithData  = 1  // 0: what is written does not matter, only when
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         pick_i,
  input logic         awvalid_i,
  input logic         awready_i,
  input logic [63:0]  awaddr_i,
  input logic [7:0]   awlen_i,
  input logic         wvalid_i,
  input logic         wready_i,
  input logic [511:0] wdata_i,
  input logic [63:0]  wstrb_i,
  input logic         wlast_i,
  input logic         bvalid_i,
  input logic         bready_i
);
  formal_stream #(.Width(72)) i_address (
    .clk_i, .rst_ni, .valid_i(awvalid_i), .ready_i(awready_i), .data_i({awaddr_i, awlen_i})
  );
  if (WithData) begin : g_data
    formal_stream #(.Width(577)) i_data (
      .clk_i, .rst_ni, .valid_i(wvalid_i), .ready_i(wready_i), .data_i({wdata_i, wstrb_i, wlast_i})
    );
  end else begin : g_last
    formal_stream #(.Width(1)) i_last (.clk_i, .rst_ni, .valid_i(wvalid_i), .ready_i(wready_i), .data_i(wlast_i));
  end

  logic aw, w, b;
  assign aw = awvalid_i && awready_i;
  assign w  = wvalid_i && wready_i;
  assign b  = bvalid_i && bready_i;

  logic [7:0] owed_q     = '0;  // beats whose address was taken
  logic [7:0] bursts_q   = '0;  // without response
  logic [7:0] complete_q = '0;  // of these, with all their data
  logic       picked_q   = '0;  // a burst, any one
  logic [7:0] ahead_q, left_q;  // beats before it, beats of it after the next one
  logic [12:0] end_in_page;
  assign end_in_page = {1'b0, awaddr_i[11:0]} + {awlen_i[6:0] + 7'd1, 6'd0};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      owed_q     <= '0;
      bursts_q   <= '0;
      complete_q <= '0;
      picked_q   <= '0;
    end else begin
      owed_q     <= owed_q + (aw ? awlen_i + 8'd1 : 8'd0) - 8'(w);
      bursts_q   <= bursts_q + 8'(aw) - 8'(b);
      complete_q <= complete_q + 8'(w && wlast_i) - 8'(b);
      if (picked_q && w) begin
        if (ahead_q != '0) ahead_q <= ahead_q - 8'd1;
        else begin
          left_q   <= left_q - 8'd1;
          picked_q <= left_q != '0;
        end
      end
      if (!picked_q && aw && pick_i) begin
        picked_q <= 1'b1;
        ahead_q  <= owed_q - 8'(w);
        left_q   <= awlen_i;
      end
    end
  end
  always_comb begin
    if (rst_ni) begin
      assume (!bvalid_i || complete_q != '0);
      assert (!awvalid_i || (awaddr_i[5:0] == '0 && awlen_i < 8'd64 && end_in_page <= 13'd4096));
      assert (!wvalid_i || owed_q != '0);
      assert (!(picked_q && wvalid_i && ahead_q == '0) || wlast_i == (left_q == '0));
      assert (bursts_q <= 8'(MaxBursts));
      assert (complete_q <= bursts_q);
    end
  end
endmodule
