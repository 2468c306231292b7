/// Registers of block crossbar_unit: The network port of a unit.
/// Made by fpga/registers/generate.py from network.toml: change that.
///
/// The answer to `access_i` comes in the next cycle. A register that does not exist, and writing to one that is read
/// only, is refused.
module stopbit_network_crossbar_unit_registers
  import stopbit_network_registers_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        access_i,
  input  logic        write_i,
  input  logic [5:0]  address_i,
  input  logic [31:0] write_data_i,
  output logic        refused_o,
  output logic [31:0] data_o,
  output crossbar_unit_written_t written_o,
  input  crossbar_unit_counted_t counted_i
);
  logic        writes, reads, is_known;
  logic [31:0] word_q;
  logic [31:0] kept_q;  // upper half of the 64-bit register that was read last
  assign writes = access_i && write_i;
  assign reads  = access_i && !write_i;

  logic [63:0] sent_q;
  logic [31:0] refused_q;
  logic [31:0] refused_before;
  logic [32:0] refused_sum;
  logic [31:0] dropped_q;
  logic [31:0] dropped_before;
  logic [32:0] dropped_sum;
  logic [31:0] unfit_q;
  logic [31:0] unfit_before;
  logic [32:0] unfit_sum;

  assign refused_before = writes && address_i == 6'h10 ? '0 : refused_q;
  assign refused_sum = {1'b0, refused_before} + 33'(counted_i.refused);
  assign dropped_before = writes && address_i == 6'h14 ? '0 : dropped_q;
  assign dropped_sum = {1'b0, dropped_before} + 33'(counted_i.dropped);
  assign unfit_before = writes && address_i == 6'h18 ? '0 : unfit_q;
  assign unfit_sum = {1'b0, unfit_before} + 33'(counted_i.unfit);

  always_comb begin
    is_known = 1'b0;
    unique case (address_i)
      6'h0, 6'h4, 6'h10, 6'h14, 6'h18: is_known = 1'b1;
      6'h8, 6'hC: is_known = !write_i;
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      sent_q <= '0;
      refused_q <= '0;
      dropped_q <= '0;
      unfit_q <= '0;
    end else begin
      sent_q <= sent_q + 64'(counted_i.sent);
      refused_q <= refused_sum[32] ? '1 : refused_sum[31:0];
      dropped_q <= dropped_sum[32] ? '1 : dropped_sum[31:0];
      unfit_q <= unfit_sum[32] ? '1 : unfit_sum[31:0];
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_o <= '0;
    end else begin
      if (writes) begin
        unique case (address_i)
          6'h0: written_o.channels <= write_data_i[11:0];
          6'h4: written_o.cut_through <= write_data_i[0:0];
          default: ;
        endcase
      end
    end
  end

  always_ff @(posedge clk_i) begin
    refused_o <= access_i && !is_known;
    if (access_i) begin
      word_q <= '0;
    end
    if (reads) begin
      unique case (address_i)
        6'h0: word_q <= 32'(written_o.channels);
        6'h4: word_q <= 32'(written_o.cut_through);
        6'h8: begin
          word_q <= sent_q[31:0];
          kept_q <= sent_q[63:32];
        end
        6'hC: word_q <= kept_q;
        6'h10: word_q <= 32'(refused_q);
        6'h14: word_q <= 32'(dropped_q);
        6'h18: word_q <= 32'(unfit_q);
        default: ;
      endcase
    end
  end
  assign data_o = word_q;

  logic unused;
  assign unused = &{1'b0, write_data_i[31:12]};
endmodule
