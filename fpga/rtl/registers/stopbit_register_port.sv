/// AXI4-Lite to accesses of a register tree, one at a time; reads and writes take turns. fpga/registers/README.md.
///
/// Each request has one answer. An access that is not done within `Patience` cycles is given up: its answer is an error, as
/// that of a refused one, and `access_o` falls. A write of a part of a word and an address between words are refused here.
module stopbit_register_port #(
  parameter int unsigned Patience = 256
) (
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

  // An access stays until it is done, or given up.
  output logic        access_o,
  output logic        write_o,
  output logic [15:0] address_o,
  output logic [31:0] data_o,
  input  logic        done_i,
  input  logic        refused_i,  // with done_i
  input  logic [31:0] data_i,

  // A pulse for each answer that is an error: refused, or given up. The address is in address_o.
  output logic        refused_o,
  output logic        gave_up_o
);
  if (Patience < 2) begin : gen_bad
    $fatal(1, "stopbit_register_port: Patience is %0d, needs at least 2", Patience);
  end
  localparam int unsigned TimeWidth = $clog2(Patience + 1);
  localparam logic [1:0] Okay = 2'b00, SlaveError = 2'b10;

  logic                 asks_q, bvalid_q, rvalid_q, is_write_q, is_strange_q, is_error_q;
  logic [15:0]          address_q;
  logic [31:0]          data_q;
  logic [TimeWidth-1:0] left_q;
  logic                 idle, takes_write, takes_read, is_over, is_done;

  // Address and data of a write are taken together. After a write a read comes first, and the other way round.
  assign idle        = !asks_q && !bvalid_q && !rvalid_q;
  assign takes_write = idle && awvalid_i && wvalid_i && !(arvalid_i && is_write_q);
  assign takes_read  = idle && arvalid_i && !takes_write;
  assign awready_o   = takes_write;
  assign wready_o    = takes_write;
  assign arready_o   = takes_read;

  assign access_o  = asks_q && !is_strange_q;
  assign write_o   = is_write_q;
  assign address_o = address_q;
  assign data_o    = data_q;
  assign is_over   = left_q == '0;
  assign is_done   = asks_q && (is_strange_q || done_i || is_over);
  assign refused_o = asks_q && (is_strange_q || (done_i && refused_i));
  assign gave_up_o = asks_q && !is_strange_q && !done_i && is_over;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asks_q     <= 1'b0;
      bvalid_q   <= 1'b0;
      rvalid_q   <= 1'b0;
      is_write_q <= 1'b0;
    end else begin
      if (takes_write || takes_read) begin
        asks_q     <= 1'b1;
        is_write_q <= takes_write;
      end
      if (is_done) begin
        asks_q   <= 1'b0;
        bvalid_q <= is_write_q;
        rvalid_q <= !is_write_q;
      end
      if (bready_i && bvalid_q) bvalid_q <= 1'b0;
      if (rready_i && rvalid_q) rvalid_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    left_q <= asks_q ? left_q - 1'b1 : TimeWidth'(Patience - 1);
    if (idle) begin
      address_q    <= takes_write ? awaddr_i : araddr_i;
      is_strange_q <= takes_write ? wstrb_i != 4'hF || awaddr_i[1:0] != 2'b00 : araddr_i[1:0] != 2'b00;
      data_q       <= wdata_i;
    end
    if (is_done) begin
      is_error_q <= refused_o || gave_up_o;
      data_q     <= refused_o || gave_up_o ? '0 : data_i;
    end
  end
  assign bvalid_o = bvalid_q;
  assign bresp_o  = is_error_q ? SlaveError : Okay;
  assign rvalid_o = rvalid_q;
  assign rresp_o  = is_error_q ? SlaveError : Okay;
  assign rdata_o  = data_q;
endmodule
