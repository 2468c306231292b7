/// Registers of block link: A link to another node.
/// Made by fpga/registers/generate.py from network.toml: change that.
///
/// The answer to `access_i` comes in the next cycle. A register that does not exist, and writing to one that is read
/// only, is refused.
module stopbit_network_link_registers
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
  output link_written_t written_o,
  output link_command_t command_o,
  input  link_shown_t shown_i,
  input  link_raised_t raised_i,
  input  link_counted_t counted_i
);
  logic        writes, reads, is_known;
  logic [31:0] word_q;
  logic [31:0] kept_q;  // upper half of the 64-bit register that was read last
  assign writes = access_i && write_i;
  assign reads  = access_i && !write_i;

  logic takes_snapshot;
  assign takes_snapshot = writes && address_i == 8'hC;
  logic [4:0] events_q;
  logic [63:0] sent_q;
  logic [63:0] sent_held_q;
  logic [63:0] answered_q;
  logic [63:0] answered_held_q;
  logic [31:0] resent_q;
  logic [32:0] resent_sum;
  logic [31:0] resent_held_q;
  logic [31:0] damaged_q;
  logic [32:0] damaged_sum;
  logic [31:0] damaged_held_q;
  logic [31:0] dropped_q;
  logic [32:0] dropped_sum;
  logic [31:0] dropped_held_q;
  logic [31:0] excess_q;
  logic [31:0] excess_before;
  logic [32:0] excess_sum;
  logic [15:0] ups_q;
  logic [15:0] ups_before;
  logic [16:0] ups_sum;
  logic [15:0] downs_q;
  logic [15:0] downs_before;
  logic [16:0] downs_sum;
  logic [63:0] starved_q;
  logic [63:0] starved_before;

  assign command_o.snapshot_valid = writes && address_i == 8'hC;
  assign command_o.snapshot = write_data_i[0:0];
  assign resent_sum = {1'b0, resent_q} + 33'(counted_i.resent);
  assign damaged_sum = {1'b0, damaged_q} + 33'(counted_i.damaged);
  assign dropped_sum = {1'b0, dropped_q} + 33'(counted_i.dropped);
  assign excess_before = writes && address_i == 8'h2C ? '0 : excess_q;
  assign excess_sum = {1'b0, excess_before} + 33'(counted_i.excess);
  assign ups_before = reads && address_i == 8'h30 ? '0 : ups_q;
  assign ups_sum = {1'b0, ups_before} + 17'(counted_i.ups);
  assign downs_before = reads && address_i == 8'h34 ? '0 : downs_q;
  assign downs_sum = {1'b0, downs_before} + 17'(counted_i.downs);
  assign starved_before = reads && address_i == 8'h38 ? '0 : starved_q;

  always_comb begin
    is_known = 1'b0;
    unique case (address_i)
      8'h0, 8'h8, 8'hC, 8'h2C: is_known = 1'b1;
      8'h4, 8'h10, 8'h14, 8'h18, 8'h1C, 8'h20, 8'h24, 8'h28, 8'h30, 8'h34, 8'h38, 8'h3C: is_known = !write_i;
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      events_q <= '0;
      sent_q <= '0;
      sent_held_q <= '0;
      answered_q <= '0;
      answered_held_q <= '0;
      resent_q <= '0;
      resent_held_q <= '0;
      damaged_q <= '0;
      damaged_held_q <= '0;
      dropped_q <= '0;
      dropped_held_q <= '0;
      excess_q <= '0;
      ups_q <= '0;
      downs_q <= '0;
      starved_q <= '0;
    end else begin
      events_q <= (events_q & ~(writes && address_i == 8'h8 ? write_data_i[4:0] : '0)) |
                         raised_i.events;
      sent_q <= sent_q + 64'(counted_i.sent);
      if (takes_snapshot) sent_held_q <= sent_q;
      answered_q <= answered_q + 64'(counted_i.answered);
      if (takes_snapshot) answered_held_q <= answered_q;
      resent_q <= resent_sum[32] ? '1 : resent_sum[31:0];
      if (takes_snapshot) resent_held_q <= resent_q;
      damaged_q <= damaged_sum[32] ? '1 : damaged_sum[31:0];
      if (takes_snapshot) damaged_held_q <= damaged_q;
      dropped_q <= dropped_sum[32] ? '1 : dropped_sum[31:0];
      if (takes_snapshot) dropped_held_q <= dropped_q;
      excess_q <= excess_sum[32] ? '1 : excess_sum[31:0];
      ups_q <= ups_sum[16] ? '1 : ups_sum[15:0];
      downs_q <= downs_sum[16] ? '1 : downs_sum[15:0];
      starved_q <= starved_before + 64'(counted_i.starved);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_o <= '0;
    end else begin
      if (writes) begin
        unique case (address_i)
          8'h0: written_o.control <= write_data_i[0:0];
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
        8'h0: word_q <= 32'(written_o.control);
        8'h4: word_q <= 32'(shown_i.state);
        8'h8: word_q <= 32'(events_q);
        8'hC: word_q <= '0;
        8'h10: begin
          word_q <= sent_held_q[31:0];
          kept_q <= sent_held_q[63:32];
        end
        8'h14: word_q <= kept_q;
        8'h18: begin
          word_q <= answered_held_q[31:0];
          kept_q <= answered_held_q[63:32];
        end
        8'h1C: word_q <= kept_q;
        8'h20: word_q <= 32'(resent_held_q);
        8'h24: word_q <= 32'(damaged_held_q);
        8'h28: word_q <= 32'(dropped_held_q);
        8'h2C: word_q <= 32'(excess_q);
        8'h30: word_q <= 32'(ups_q);
        8'h34: word_q <= 32'(downs_q);
        8'h38: begin
          word_q <= starved_q[31:0];
          kept_q <= starved_q[63:32];
        end
        8'h3C: word_q <= kept_q;
        default: ;
      endcase
    end
  end
  assign data_o = word_q;

  logic unused;
  assign unused = &{1'b0, write_data_i[31:5]};
endmodule
