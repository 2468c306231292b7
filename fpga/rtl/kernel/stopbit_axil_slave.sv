/// AXI4-Lite to a register block that takes a word at a time and answers reads in the next cycle.
///
/// One write and one read at a time; all answers are OKAY, so that nothing a host reads or writes by mistake stops it.
module stopbit_axil_slave (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        awvalid_i,
  output logic        awready_o,
  input  logic [15:0] awaddr_i,
  input  logic        wvalid_i,
  output logic        wready_o,
  input  logic [31:0] wdata_i,
  input  logic [3:0]  wstrb_i,
  output logic        bvalid_o,
  input  logic        bready_i,
  output logic [1:0]  bresp_o,
  input  logic        arvalid_i,
  output logic        arready_o,
  input  logic [15:0] araddr_i,
  output logic        rvalid_o,
  input  logic        rready_i,
  output logic [31:0] rdata_o,
  output logic [1:0]  rresp_o,

  output logic        write_o,
  output logic [15:0] write_address_o,
  output logic [31:0] write_data_o,
  output logic [3:0]  write_strobe_o,
  output logic        read_o,
  output logic [15:0] read_address_o,
  input  logic [31:0] read_data_i
);
  logic bvalid_q, rvalid_q;

  // Address and data are taken together.
  assign write_o         = awvalid_i && wvalid_i && (!bvalid_q || bready_i);
  assign awready_o       = write_o;
  assign wready_o        = write_o;
  assign write_address_o = {awaddr_i[15:2], 2'b00};
  assign write_data_o    = wdata_i;
  assign write_strobe_o  = awaddr_i[1:0] == 2'b00 ? wstrb_i : 4'b0000;
  assign bvalid_o        = bvalid_q;
  assign bresp_o         = 2'b00;

  assign read_o          = arvalid_i && (!rvalid_q || rready_i);
  assign arready_o       = read_o;
  assign read_address_o  = {araddr_i[15:2], 2'b00};
  assign rvalid_o        = rvalid_q;
  assign rdata_o         = read_data_i;
  assign rresp_o         = 2'b00;

  logic unused;
  assign unused = &{1'b0, araddr_i[1:0]};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      if (write_o) bvalid_q <= 1'b1;
      else if (bready_i) bvalid_q <= 1'b0;
      if (read_o) rvalid_q <= 1'b1;
      else if (rready_i) rvalid_q <= 1'b0;
    end
  end
endmodule
