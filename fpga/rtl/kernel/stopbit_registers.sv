/// The kernel's registers behind a port that takes a word at a time. Made by fpga/kernel/generate.py from registers.toml: change that.
///
/// A read answers in the next cycle. What is not there reads as 0; writing it, or a part of a word, does nothing but
/// set errors.bad_access.
module stopbit_registers
  import stopbit_registers_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        write_i,
  input  logic [15:0] write_address_i,
  input  logic [31:0] write_data_i,
  input  logic [3:0]  write_strobe_i,
  input  logic        read_i,
  input  logic [15:0] read_address_i,
  output logic [31:0] read_data_o,

  output written_t    written_o,
  output command_t    command_o,
  input  shown_t      shown_i,
  input  raised_t     raised_i
);
  logic        write, known;
  logic [31:0] kept_q;  // upper half of the 64-bit register that was read last
  assign write = write_i && write_strobe_i == 4'hF;

  logic [31:0] low_clock_offset;
  logic [31:0] low_ring0_header;
  logic [31:0] low_ring0_descriptors;
  logic [31:0] low_ring0_credit;
  logic [4:0] errors_q;

  always_comb begin
    unique case (write_address_i)
      16'h0020,
      16'h002C,
      16'h0030,
      16'h0048,
      16'h004C,
      16'h0050,
      16'h0054,
      16'h0058,
      16'h0060,
      16'h0034,
      16'h0038,
      16'h003C,
      16'h0080,
      16'h0408,
      16'h040C,
      16'h0410,
      16'h0414,
      16'h0418,
      16'h041C,
      16'h0420,
      16'h0424,
      16'h0428,
      16'h042C,
      16'h0430,
      16'h005C,
      16'h0064,
      16'h0068,
      16'h0084,
      16'h0088,
      16'h0094,
      16'h0400,
      16'h0028: known = 1'b1;
      default: known = 1'b0;
    endcase
  end

  assign command_o.group_write_valid = write && write_address_i == 16'h005C;
  assign command_o.group_write = write_data_i[17:0];
  assign command_o.framing_write_valid = write && write_address_i == 16'h0064;
  assign command_o.framing_write = write_data_i[26:0];
  assign command_o.rule_write_valid = write && write_address_i == 16'h0068;
  assign command_o.rule_write = write_data_i[21:0];
  assign command_o.firmware_address_valid = write && write_address_i == 16'h0084;
  assign command_o.firmware_address = write_data_i[19:0];
  assign command_o.firmware_data_valid = write && write_address_i == 16'h0088;
  assign command_o.firmware_data = write_data_i;
  assign command_o.firmware_clear_valid = write && write_address_i == 16'h0094;
  assign command_o.firmware_clear = write_data_i[0:0];
  assign command_o.ring[0].command_valid = write && write_address_i == 16'h0400;
  assign command_o.ring[0].command = write_data_i[1:0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_o <= '0;
      low_clock_offset <= '0;
      low_ring0_header <= '0;
      low_ring0_descriptors <= '0;
      low_ring0_credit <= '0;
      errors_q <= '0;
    end else begin
      errors_q <= (errors_q & ~(write && write_address_i == 16'h0028 ? write_data_i[4:0] : '0)) |
                  raised_i.errors | 5'(write_i && (!known || !write));
      if (write) begin
        unique case (write_address_i)
          16'h0020: written_o.control <= write_data_i[0:0];
          16'h002C: written_o.intake <= write_data_i[4:0];
          16'h0030: written_o.clock_source <= write_data_i[0:0];
          16'h0048: written_o.preamble_bytes <= write_data_i[15:0];
          16'h004C: written_o.datagram_marks <= write_data_i[15:0];
          16'h0050: written_o.group_source <= write_data_i;
          16'h0054: written_o.group_address <= write_data_i;
          16'h0058: written_o.group_target <= write_data_i;
          16'h0060: written_o.framing_fields <= write_data_i[26:0];
          16'h0034: written_o.clock_rate <= write_data_i;
          16'h0038: low_clock_offset <= write_data_i;
          16'h003C: written_o.clock_offset <= {write_data_i, low_clock_offset};
          16'h0080: written_o.firmware_bank <= write_data_i[0:0];
          16'h0408: low_ring0_header <= write_data_i;
          16'h040C: written_o.ring[0].header <= {write_data_i, low_ring0_header};
          16'h0410: low_ring0_descriptors <= write_data_i;
          16'h0414: written_o.ring[0].descriptors <= {write_data_i, low_ring0_descriptors};
          16'h0418: written_o.ring[0].segments <= write_data_i;
          16'h041C: written_o.ring[0].slots_log2 <= write_data_i[4:0];
          16'h0420: written_o.ring[0].max_record_slots <= write_data_i[15:0];
          16'h0424: written_o.ring[0].mode <= write_data_i[1:0];
          16'h0428: low_ring0_credit <= write_data_i;
          16'h042C: written_o.ring[0].credit <= {write_data_i, low_ring0_credit};
          16'h0430: written_o.ring[0].timeout <= write_data_i;
          default: ;
        endcase
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_i) begin
      read_data_o <= '0;
      unique case (read_address_i)
        16'h0010: read_data_o <= 32'h54494253;
        16'h0014: read_data_o <= 32'h00000002;
        16'h0018: read_data_o <= 32'(shown_i.capabilities);
        16'h0020: read_data_o <= 32'(written_o.control);
        16'h0024: read_data_o <= 32'(shown_i.status);
        16'h0028: read_data_o <= 32'(errors_q);
        16'h002C: read_data_o <= 32'(written_o.intake);
        16'h0030: read_data_o <= 32'(written_o.clock_source);
        16'h0048: read_data_o <= 32'(written_o.preamble_bytes);
        16'h004C: read_data_o <= 32'(written_o.datagram_marks);
        16'h0050: read_data_o <= 32'(written_o.group_source);
        16'h0054: read_data_o <= 32'(written_o.group_address);
        16'h0058: read_data_o <= 32'(written_o.group_target);
        16'h0060: read_data_o <= 32'(written_o.framing_fields);
        16'h0034: read_data_o <= 32'(written_o.clock_rate);
        16'h0038: read_data_o <= written_o.clock_offset[31:0];
        16'h003C: read_data_o <= written_o.clock_offset[63:32];
        16'h0040: begin
          read_data_o <= shown_i.clock_now[31:0];
          kept_q      <= shown_i.clock_now[63:32];
        end
        16'h0044: read_data_o <= kept_q;
        16'h0080: read_data_o <= 32'(written_o.firmware_bank);
        16'h008C: read_data_o <= 32'(shown_i.firmware_crc);
        16'h0090: read_data_o <= 32'(shown_i.firmware_words);
        16'h0100: begin
          read_data_o <= shown_i.datagrams[31:0];
          kept_q      <= shown_i.datagrams[63:32];
        end
        16'h0104: read_data_o <= kept_q;
        16'h0108: begin
          read_data_o <= shown_i.datagram_bytes[31:0];
          kept_q      <= shown_i.datagram_bytes[63:32];
        end
        16'h010C: read_data_o <= kept_q;
        16'h0110: begin
          read_data_o <= shown_i.datagrams_dropped[31:0];
          kept_q      <= shown_i.datagrams_dropped[63:32];
        end
        16'h0114: read_data_o <= kept_q;
        16'h0118: begin
          read_data_o <= shown_i.records[31:0];
          kept_q      <= shown_i.records[63:32];
        end
        16'h011C: read_data_o <= kept_q;
        16'h0120: begin
          read_data_o <= shown_i.records_withdrawn[31:0];
          kept_q      <= shown_i.records_withdrawn[63:32];
        end
        16'h0124: read_data_o <= kept_q;
        16'h0128: begin
          read_data_o <= shown_i.datagrams_decoded[31:0];
          kept_q      <= shown_i.datagrams_decoded[63:32];
        end
        16'h012C: read_data_o <= kept_q;
        16'h0130: begin
          read_data_o <= shown_i.instructions[31:0];
          kept_q      <= shown_i.instructions[63:32];
        end
        16'h0134: read_data_o <= kept_q;
        16'h0138: begin
          read_data_o <= shown_i.chunks[31:0];
          kept_q      <= shown_i.chunks[63:32];
        end
        16'h013C: read_data_o <= kept_q;
        16'h0140: begin
          read_data_o <= shown_i.line_passed[31:0];
          kept_q      <= shown_i.line_passed[63:32];
        end
        16'h0144: read_data_o <= kept_q;
        16'h0148: begin
          read_data_o <= shown_i.line_duplicates[31:0];
          kept_q      <= shown_i.line_duplicates[63:32];
        end
        16'h014C: read_data_o <= kept_q;
        16'h0150: begin
          read_data_o <= shown_i.line_late[31:0];
          kept_q      <= shown_i.line_late[63:32];
        end
        16'h0154: read_data_o <= kept_q;
        16'h0158: begin
          read_data_o <= shown_i.gaps[31:0];
          kept_q      <= shown_i.gaps[63:32];
        end
        16'h015C: read_data_o <= kept_q;
        16'h0160: begin
          read_data_o <= shown_i.numbers_missing[31:0];
          kept_q      <= shown_i.numbers_missing[63:32];
        end
        16'h0164: read_data_o <= kept_q;
        16'h0200: begin
          read_data_o <= shown_i.verdict[0].frames[31:0];
          kept_q      <= shown_i.verdict[0].frames[63:32];
        end
        16'h0204: read_data_o <= kept_q;
        16'h0208: begin
          read_data_o <= shown_i.verdict[1].frames[31:0];
          kept_q      <= shown_i.verdict[1].frames[63:32];
        end
        16'h020C: read_data_o <= kept_q;
        16'h0210: begin
          read_data_o <= shown_i.verdict[2].frames[31:0];
          kept_q      <= shown_i.verdict[2].frames[63:32];
        end
        16'h0214: read_data_o <= kept_q;
        16'h0218: begin
          read_data_o <= shown_i.verdict[3].frames[31:0];
          kept_q      <= shown_i.verdict[3].frames[63:32];
        end
        16'h021C: read_data_o <= kept_q;
        16'h0220: begin
          read_data_o <= shown_i.verdict[4].frames[31:0];
          kept_q      <= shown_i.verdict[4].frames[63:32];
        end
        16'h0224: read_data_o <= kept_q;
        16'h0228: begin
          read_data_o <= shown_i.verdict[5].frames[31:0];
          kept_q      <= shown_i.verdict[5].frames[63:32];
        end
        16'h022C: read_data_o <= kept_q;
        16'h0230: begin
          read_data_o <= shown_i.verdict[6].frames[31:0];
          kept_q      <= shown_i.verdict[6].frames[63:32];
        end
        16'h0234: read_data_o <= kept_q;
        16'h0238: begin
          read_data_o <= shown_i.verdict[7].frames[31:0];
          kept_q      <= shown_i.verdict[7].frames[63:32];
        end
        16'h023C: read_data_o <= kept_q;
        16'h0240: begin
          read_data_o <= shown_i.verdict[8].frames[31:0];
          kept_q      <= shown_i.verdict[8].frames[63:32];
        end
        16'h0244: read_data_o <= kept_q;
        16'h0248: begin
          read_data_o <= shown_i.verdict[9].frames[31:0];
          kept_q      <= shown_i.verdict[9].frames[63:32];
        end
        16'h024C: read_data_o <= kept_q;
        16'h0250: begin
          read_data_o <= shown_i.verdict[10].frames[31:0];
          kept_q      <= shown_i.verdict[10].frames[63:32];
        end
        16'h0254: read_data_o <= kept_q;
        16'h0258: begin
          read_data_o <= shown_i.verdict[11].frames[31:0];
          kept_q      <= shown_i.verdict[11].frames[63:32];
        end
        16'h025C: read_data_o <= kept_q;
        16'h0260: begin
          read_data_o <= shown_i.verdict[12].frames[31:0];
          kept_q      <= shown_i.verdict[12].frames[63:32];
        end
        16'h0264: read_data_o <= kept_q;
        16'h0268: begin
          read_data_o <= shown_i.verdict[13].frames[31:0];
          kept_q      <= shown_i.verdict[13].frames[63:32];
        end
        16'h026C: read_data_o <= kept_q;
        16'h0270: begin
          read_data_o <= shown_i.verdict[14].frames[31:0];
          kept_q      <= shown_i.verdict[14].frames[63:32];
        end
        16'h0274: read_data_o <= kept_q;
        16'h0278: begin
          read_data_o <= shown_i.verdict[15].frames[31:0];
          kept_q      <= shown_i.verdict[15].frames[63:32];
        end
        16'h027C: read_data_o <= kept_q;
        16'h0280: begin
          read_data_o <= shown_i.verdict[16].frames[31:0];
          kept_q      <= shown_i.verdict[16].frames[63:32];
        end
        16'h0284: read_data_o <= kept_q;
        16'h0288: begin
          read_data_o <= shown_i.verdict[17].frames[31:0];
          kept_q      <= shown_i.verdict[17].frames[63:32];
        end
        16'h028C: read_data_o <= kept_q;
        16'h0404: read_data_o <= 32'(shown_i.ring[0].state);
        16'h0408: read_data_o <= written_o.ring[0].header[31:0];
        16'h040C: read_data_o <= written_o.ring[0].header[63:32];
        16'h0410: read_data_o <= written_o.ring[0].descriptors[31:0];
        16'h0414: read_data_o <= written_o.ring[0].descriptors[63:32];
        16'h0418: read_data_o <= 32'(written_o.ring[0].segments);
        16'h041C: read_data_o <= 32'(written_o.ring[0].slots_log2);
        16'h0420: read_data_o <= 32'(written_o.ring[0].max_record_slots);
        16'h0424: read_data_o <= 32'(written_o.ring[0].mode);
        16'h0428: read_data_o <= written_o.ring[0].credit[31:0];
        16'h042C: read_data_o <= written_o.ring[0].credit[63:32];
        16'h0430: read_data_o <= 32'(written_o.ring[0].timeout);
        16'h0440: begin
          read_data_o <= shown_i.ring[0].number[31:0];
          kept_q      <= shown_i.ring[0].number[63:32];
        end
        16'h0444: read_data_o <= kept_q;
        16'h0448: begin
          read_data_o <= shown_i.ring[0].claim[31:0];
          kept_q      <= shown_i.ring[0].claim[63:32];
        end
        16'h044C: read_data_o <= kept_q;
        16'h0450: begin
          read_data_o <= shown_i.ring[0].records[31:0];
          kept_q      <= shown_i.ring[0].records[63:32];
        end
        16'h0454: read_data_o <= kept_q;
        16'h0458: begin
          read_data_o <= shown_i.ring[0].dropped[31:0];
          kept_q      <= shown_i.ring[0].dropped[63:32];
        end
        16'h045C: read_data_o <= kept_q;
        16'h0460: begin
          read_data_o <= shown_i.ring[0].withdrawn[31:0];
          kept_q      <= shown_i.ring[0].withdrawn[63:32];
        end
        16'h0464: read_data_o <= kept_q;
        16'h0468: begin
          read_data_o <= shown_i.ring[0].stalled[31:0];
          kept_q      <= shown_i.ring[0].stalled[63:32];
        end
        16'h046C: read_data_o <= kept_q;
        16'h0470: read_data_o <= 32'(shown_i.ring[0].timeouts);
        16'h0474: read_data_o <= 32'(shown_i.ring[0].malformed);
        default: ;
      endcase
    end
  end
endmodule
