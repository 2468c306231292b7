/// Registers of block crossbar: The switch: tables, and settings that its ports share.
/// Made by fpga/registers/generate.py from network.toml: change that.
///
/// The answer to `access_i` comes in the next cycle. A register that does not exist, and writing to one that is read
/// only, is refused.
module stopbit_network_crossbar_registers
  import stopbit_network_registers_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        access_i,
  input  logic        write_i,
  input  logic [13:0] address_i,
  input  logic [31:0] write_data_i,
  output logic        refused_o,
  output logic [31:0] data_o,
  output crossbar_written_t written_o,
  output crossbar_command_t command_o,
  input  crossbar_shown_t shown_i
);
  logic        writes, reads, is_known;
  logic [31:0] word_q;
  logic [31:0] kept_q;  // upper half of the 64-bit register that was read last
  assign writes = access_i && write_i;
  assign reads  = access_i && !write_i;

  logic [31:0] low_tap_data_q;
  logic        at_globals, at_globals_q;
  logic [31:0] globals_word;
  logic        at_groups, at_groups_q;
  logic [31:0] groups_word;
  logic        at_locals, at_locals_q;
  logic [31:0] locals_word;

  assign command_o.own_node_valid = writes && address_i == 14'h0;
  assign command_o.own_node = write_data_i[15:0];
  assign command_o.tap_store_valid = writes && address_i == 14'h28;
  assign command_o.tap_store = write_data_i[0:0];
  assign at_globals = address_i[13:8] == 6'h1;
  assign command_o.globals_valid = writes && at_globals;
  assign command_o.globals_index = address_i[7:2];
  assign command_o.globals = write_data_i;
  stopbit_ram #(.Width(32), .Depth(64)) globals_words (
    .write_clk_i(clk_i), .write_i(writes && at_globals), .write_address_i(address_i[7:2]),
    .write_data_i(write_data_i), .read_clk_i(clk_i), .read_address_i(address_i[7:2]),
    .read_data_o(globals_word)
  );
  assign at_groups = address_i[13:10] == 4'h1;
  assign command_o.groups_valid = writes && at_groups;
  assign command_o.groups_index = address_i[9:2];
  assign command_o.groups = write_data_i;
  stopbit_ram #(.Width(32), .Depth(256)) groups_words (
    .write_clk_i(clk_i), .write_i(writes && at_groups), .write_address_i(address_i[9:2]),
    .write_data_i(write_data_i), .read_clk_i(clk_i), .read_address_i(address_i[9:2]),
    .read_data_o(groups_word)
  );
  assign at_locals = address_i[13:12] == 2'h1;
  assign command_o.locals_valid = writes && at_locals;
  assign command_o.locals_index = address_i[11:2];
  assign command_o.locals = write_data_i;
  stopbit_ram #(.Width(32), .Depth(1024)) locals_words (
    .write_clk_i(clk_i), .write_i(writes && at_locals), .write_address_i(address_i[11:2]),
    .write_data_i(write_data_i), .read_clk_i(clk_i), .read_address_i(address_i[11:2]),
    .read_data_o(locals_word)
  );

  always_comb begin
    is_known = 1'b0;
    unique case (address_i)
      14'h0, 14'h4, 14'h8, 14'hC, 14'h14, 14'h18, 14'h1C, 14'h28: is_known = 1'b1;
      14'h10, 14'h20, 14'h24: is_known = !write_i;
      default: ;
    endcase
    if (at_globals) is_known = 1'b1;
    if (at_groups) is_known = 1'b1;
    if (at_locals) is_known = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      low_tap_data_q <= '0;
    end else begin
      if (writes) begin
        unique case (address_i)
          14'h18: low_tap_data_q <= write_data_i;
          default: ;
        endcase
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_o <= '0;
    end else begin
      if (writes) begin
        unique case (address_i)
          14'h4: written_o.inputs <= write_data_i[9:0];
          14'h8: written_o.patience <= write_data_i;
          14'hC: written_o.limits <= write_data_i[18:0];
          14'h14: written_o.tap_select <= write_data_i[6:0];
          14'h1C: written_o.tap_data <= {write_data_i, low_tap_data_q};
          default: ;
        endcase
      end
    end
  end

  always_ff @(posedge clk_i) begin
    refused_o <= access_i && !is_known;
    at_globals_q <= reads && at_globals;
    at_groups_q <= reads && at_groups;
    at_locals_q <= reads && at_locals;
    if (access_i) begin
      word_q <= '0;
    end
    if (reads) begin
      unique case (address_i)
        14'h0: word_q <= '0;
        14'h4: word_q <= 32'(written_o.inputs);
        14'h8: word_q <= 32'(written_o.patience);
        14'hC: word_q <= 32'(written_o.limits);
        14'h10: word_q <= 32'(shown_i.state);
        14'h14: word_q <= 32'(written_o.tap_select);
        14'h18: begin
          word_q <= written_o.tap_data[31:0];
          kept_q <= written_o.tap_data[63:32];
        end
        14'h1C: word_q <= kept_q;
        14'h20: begin
          word_q <= shown_i.tap_word[31:0];
          kept_q <= shown_i.tap_word[63:32];
        end
        14'h24: word_q <= kept_q;
        14'h28: word_q <= '0;
        default: ;
      endcase
    end
  end
  always_comb begin
    data_o = word_q;
    if (at_globals_q) data_o = 32'(globals_word);
    if (at_groups_q) data_o = 32'(groups_word);
    if (at_locals_q) data_o = 32'(locals_word);
  end
endmodule
