/// Writes beats of 64 bytes to memory, in the order in which they come.
///
/// All transactions have the ID 0, so the interconnect keeps their order: a beat can be seen in memory only when all
/// before it can. While the address channel is busy, beats that follow each other in memory are joined to bursts of
/// up to `Depth`; a beat never waits for another. A burst is aligned to 64 bytes and never crosses
/// 4 KiB. W never comes before its AW.
///
/// A response other than OKAY raises `error_o` for a cycle: what is in memory is then unknown.
module stopbit_axi_writer #(
  parameter  int unsigned Depth          = 16,  // beats that wait; a power of two, 2 to 64
  parameter  int unsigned MaxOutstanding = 64,  // bursts without a response
  localparam int unsigned IndexWidth     = $clog2(Depth),
  localparam int unsigned CountWidth     = $clog2(MaxOutstanding + 1)
) (
  input  logic         clk_i,
  input  logic         rst_ni,

  input  logic         valid_i,
  output logic         ready_o,
  input  logic [63:6]  address_i,
  input  logic [511:0] data_i,
  input  logic [63:0]  strobe_i,

  output logic         idle_o,   // everything has its response
  output logic         error_o,

  output logic         awvalid_o,
  input  logic         awready_i,
  output logic [63:0]  awaddr_o,
  output logic [7:0]   awlen_o,
  output logic         wvalid_o,
  input  logic         wready_i,
  output logic [511:0] wdata_o,
  output logic [63:0]  wstrb_o,
  output logic         wlast_o,
  input  logic         bvalid_i,
  output logic         bready_o,
  input  logic [1:0]   bresp_i
);
  if (Depth < 2 || Depth > 64 || (Depth & (Depth - 1)) != 0) begin : g_depth
    $fatal(1, "stopbit_axi_writer: Depth is %0d, needs a power of two from 2 to 64", Depth);
  end

  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [IndexWidth:0]   pointer_t;

  logic [511:0]  data_mem    [Depth];
  logic [63:0]   strobe_mem  [Depth];
  logic [63:6]   address_mem [Depth];
  logic [Depth-1:0] joins_q;  // continues the beat before it
  logic [Depth-1:0] last_q;   // ends its burst

  // Beats enter at write_q, get their address sent at address_q, and leave at read_q.
  pointer_t write_q, address_q, read_q;
  logic     has_previous_q;
  logic [63:6] previous_q;
  logic [CountWidth-1:0] outstanding_q;

  logic full, push, send_address, pop;
  assign full    = index_t'(write_q) == index_t'(read_q) && write_q != read_q;
  assign ready_o = !full;
  assign push    = valid_i && ready_o;

  // A page that ends is never joined to the next.
  logic joins;
  assign joins = has_previous_q && address_i == previous_q + 58'd1 && address_i[11:6] != '0;

  // The run of beats that begins at address_q.
  pointer_t run;
  always_comb begin
    logic open;
    run  = '0;
    open = 1'b1;
    for (int unsigned i = 0; i < Depth; i++) begin
      open = open && pointer_t'(i) < pointer_t'(write_q - address_q) &&
             (i == 0 || joins_q[index_t'(address_q + pointer_t'(i))]);
      if (open) run = pointer_t'(i + 1);
    end
  end

  logic       awvalid_q;
  logic [63:6] awaddr_q;
  logic [7:0] awlen_q;
  pointer_t   sent_q;  // beats below have their address accepted
  assign send_address = (!awvalid_q || awready_i) && run != '0 && outstanding_q != CountWidth'(MaxOutstanding);

  assign awvalid_o = awvalid_q;
  assign awaddr_o  = {awaddr_q, 6'b0};
  assign awlen_o   = awlen_q;

  assign wvalid_o = read_q != sent_q;
  assign wdata_o  = data_mem[index_t'(read_q)];
  assign wstrb_o  = strobe_mem[index_t'(read_q)];
  assign wlast_o  = last_q[index_t'(read_q)];
  assign pop      = wvalid_o && wready_i;

  assign bready_o = 1'b1;
  assign error_o  = bvalid_i && bresp_i != 2'b00;
  assign idle_o   = write_q == read_q && outstanding_q == '0;

  always_ff @(posedge clk_i) begin
    if (push) begin
      data_mem[index_t'(write_q)]    <= data_i;
      strobe_mem[index_t'(write_q)]  <= strobe_i;
      address_mem[index_t'(write_q)] <= address_i;
      joins_q[index_t'(write_q)]     <= joins;
      previous_q                     <= address_i;
    end
    if (send_address) begin
      awaddr_q <= address_mem[index_t'(address_q)];
      awlen_q  <= 8'(run) - 8'd1;
      for (int unsigned i = 0; i < Depth; i++) begin
        if (pointer_t'(i) < run) last_q[index_t'(address_q + pointer_t'(i))] <= pointer_t'(i + 1) == run;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q        <= '0;
      address_q      <= '0;
      sent_q         <= '0;
      read_q         <= '0;
      has_previous_q <= 1'b0;
      awvalid_q      <= 1'b0;
      outstanding_q  <= '0;
    end else begin
      if (push) begin
        write_q        <= write_q + 1'b1;
        has_previous_q <= 1'b1;
      end
      if (awvalid_q && awready_i) sent_q <= address_q;
      if (send_address) begin
        awvalid_q <= 1'b1;
        address_q <= address_q + run;
      end else if (awready_i) begin
        awvalid_q <= 1'b0;
      end
      if (pop) read_q <= read_q + 1'b1;
      outstanding_q <= outstanding_q + CountWidth'(send_address) - CountWidth'(bvalid_i && outstanding_q != '0);
    end
  end

`ifndef SYNTHESIS
  logic [5:0] page_end;
  assign page_end = awaddr_q[11:6] + awlen_q[5:0];
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (awvalid_q) begin
        assert (page_end >= awaddr_q[11:6]) else $error("a burst crosses 4 KiB");
      end
      assert (!bvalid_i || outstanding_q != '0) else $error("a response that nobody waits for");
    end
  end
`endif
endmodule
