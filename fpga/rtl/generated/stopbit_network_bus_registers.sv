/// Registers of block bus: What answers in the bus's clock, whatever the others do.
/// Made by fpga/registers/generate.py from network.toml: change that.
///
/// The answer to `access_i` comes in the next cycle. A register that does not exist, and writing to one that is read
/// only, is refused.
module stopbit_network_bus_registers
  import stopbit_network_registers_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        access_i,
  input  logic        write_i,
  input  logic [7:0]  address_i,
  input  logic [31:0] write_data_i,
  output logic        refused_o,
  output logic [31:0] data_o,
  output bus_written_t written_o,
  input  bus_shown_t shown_i,
  input  bus_counted_t counted_i,
  input  bus_kept_t kept_i
);
  logic        writes, reads, is_known;
  logic [31:0] word_q;
  assign writes = access_i && write_i;
  assign reads  = access_i && !write_i;

  logic [31:0] refused_q;
  logic [31:0] refused_before;
  logic [32:0] refused_sum;
  logic [31:0] gave_up_q;
  logic [31:0] gave_up_before;
  logic [32:0] gave_up_sum;
  logic [17:0] last_error_q;

  assign refused_before = writes && address_i == 8'h10 ? '0 : refused_q;
  assign refused_sum = {1'b0, refused_before} + 33'(counted_i.refused);
  assign gave_up_before = writes && address_i == 8'h14 ? '0 : gave_up_q;
  assign gave_up_sum = {1'b0, gave_up_before} + 33'(counted_i.gave_up);

  always_comb begin
    is_known = 1'b0;
    unique case (address_i)
      8'h8, 8'h10, 8'h14: is_known = 1'b1;
      8'h0, 8'h4, 8'hC, 8'h18: is_known = !write_i;
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      refused_q <= '0;
      gave_up_q <= '0;
      last_error_q <= '0;
    end else begin
      refused_q <= refused_sum[32] ? '1 : refused_sum[31:0];
      gave_up_q <= gave_up_sum[32] ? '1 : gave_up_sum[31:0];
      if (kept_i.last_error_valid) last_error_q <= kept_i.last_error;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_o <= '0;
    end else begin
      if (writes) begin
        unique case (address_i)
          8'h8: written_o.control <= write_data_i[0:0];
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
        8'h0: word_q <= 32'hA2FFB9B9;
        8'h4: word_q <= 32'(shown_i.shape);
        8'h8: word_q <= 32'(written_o.control);
        8'hC: word_q <= 32'(shown_i.state);
        8'h10: word_q <= 32'(refused_q);
        8'h14: word_q <= 32'(gave_up_q);
        8'h18: word_q <= 32'(last_error_q);
        default: ;
      endcase
    end
  end
  assign data_o = word_q;

  logic unused;
  assign unused = &{1'b0, write_data_i[31:1]};
endmodule
