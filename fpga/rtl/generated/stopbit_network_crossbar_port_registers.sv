/// Registers of block crossbar_port: A port of the switch: of each unit, then of each link.
/// Made by fpga/registers/generate.py from network.toml: change that.
///
/// The answer to `access_i` comes in the next cycle. A register that does not exist, and writing to one that is read
/// only, is refused.
module stopbit_network_crossbar_port_registers
  import stopbit_network_registers_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        access_i,
  input  logic        write_i,
  input  logic [4:0]  address_i,
  input  logic [31:0] write_data_i,
  output logic        refused_o,
  output logic [31:0] data_o,
  input  crossbar_port_counted_t counted_i
);
  logic        writes, reads, is_known;
  logic [31:0] word_q;
  assign writes = access_i && write_i;
  assign reads  = access_i && !write_i;

  logic [31:0] unroutable_q;
  logic [31:0] unroutable_before;
  logic [32:0] unroutable_sum;
  logic [31:0] circled_q;
  logic [31:0] circled_before;
  logic [32:0] circled_sum;
  logic [31:0] discarded_q;
  logic [31:0] discarded_before;
  logic [32:0] discarded_sum;
  logic [31:0] malformed_q;
  logic [31:0] malformed_before;
  logic [32:0] malformed_sum;
  logic [31:0] broken_q;
  logic [31:0] broken_before;
  logic [32:0] broken_sum;

  assign unroutable_before = writes && address_i == 5'h0 ? '0 : unroutable_q;
  assign unroutable_sum = {1'b0, unroutable_before} + 33'(counted_i.unroutable);
  assign circled_before = writes && address_i == 5'h4 ? '0 : circled_q;
  assign circled_sum = {1'b0, circled_before} + 33'(counted_i.circled);
  assign discarded_before = writes && address_i == 5'h8 ? '0 : discarded_q;
  assign discarded_sum = {1'b0, discarded_before} + 33'(counted_i.discarded);
  assign malformed_before = writes && address_i == 5'hC ? '0 : malformed_q;
  assign malformed_sum = {1'b0, malformed_before} + 33'(counted_i.malformed);
  assign broken_before = writes && address_i == 5'h10 ? '0 : broken_q;
  assign broken_sum = {1'b0, broken_before} + 33'(counted_i.broken);

  always_comb begin
    is_known = 1'b0;
    unique case (address_i)
      5'h0, 5'h4, 5'h8, 5'hC, 5'h10: is_known = 1'b1;
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      unroutable_q <= '0;
      circled_q <= '0;
      discarded_q <= '0;
      malformed_q <= '0;
      broken_q <= '0;
    end else begin
      unroutable_q <= unroutable_sum[32] ? '1 : unroutable_sum[31:0];
      circled_q <= circled_sum[32] ? '1 : circled_sum[31:0];
      discarded_q <= discarded_sum[32] ? '1 : discarded_sum[31:0];
      malformed_q <= malformed_sum[32] ? '1 : malformed_sum[31:0];
      broken_q <= broken_sum[32] ? '1 : broken_sum[31:0];
    end
  end

  always_ff @(posedge clk_i) begin
    refused_o <= access_i && !is_known;
    if (access_i) begin
      word_q <= '0;
    end
    if (reads) begin
      unique case (address_i)
        5'h0: word_q <= 32'(unroutable_q);
        5'h4: word_q <= 32'(circled_q);
        5'h8: word_q <= 32'(discarded_q);
        5'hC: word_q <= 32'(malformed_q);
        5'h10: word_q <= 32'(broken_q);
        default: ;
      endcase
    end
  end
  assign data_o = word_q;

  logic unused;
  assign unused = &{1'b0, write_data_i[31:0]};
endmodule
