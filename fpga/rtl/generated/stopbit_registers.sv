/// The kernel's registers, with a port that takes a word at a time. Made by fpga/kernel/generate.py from registers.toml: change that.
///
/// A read answers in the next cycle. A missing register reads as 0; writing it, or a part of a word, only sets
/// errors.bad_access.
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
  logic [31:0] low_ring1_header;
  logic [31:0] low_ring1_descriptors;
  logic [31:0] low_ring1_credit;
  logic [31:0] low_ring2_header;
  logic [31:0] low_ring2_descriptors;
  logic [31:0] low_ring2_credit;
  logic [31:0] low_ring3_header;
  logic [31:0] low_ring3_descriptors;
  logic [31:0] low_ring3_credit;
  logic [31:0] low_ring4_header;
  logic [31:0] low_ring4_descriptors;
  logic [31:0] low_ring4_credit;
  logic [31:0] low_ring5_header;
  logic [31:0] low_ring5_descriptors;
  logic [31:0] low_ring5_credit;
  logic [31:0] low_ring6_header;
  logic [31:0] low_ring6_descriptors;
  logic [31:0] low_ring6_credit;
  logic [31:0] low_ring7_header;
  logic [31:0] low_ring7_descriptors;
  logic [31:0] low_ring7_credit;
  logic [31:0] low_filter0_mask;
  logic [31:0] low_filter0_value;
  logic [31:0] low_filter1_mask;
  logic [31:0] low_filter1_value;
  logic [31:0] low_filter2_mask;
  logic [31:0] low_filter2_value;
  logic [31:0] low_filter3_mask;
  logic [31:0] low_filter3_value;
  logic [31:0] low_filter4_mask;
  logic [31:0] low_filter4_value;
  logic [31:0] low_filter5_mask;
  logic [31:0] low_filter5_value;
  logic [31:0] low_filter6_mask;
  logic [31:0] low_filter6_value;
  logic [31:0] low_filter7_mask;
  logic [31:0] low_filter7_value;
  logic [31:0] low_filter8_mask;
  logic [31:0] low_filter8_value;
  logic [31:0] low_filter9_mask;
  logic [31:0] low_filter9_value;
  logic [31:0] low_filter10_mask;
  logic [31:0] low_filter10_value;
  logic [31:0] low_filter11_mask;
  logic [31:0] low_filter11_value;
  logic [31:0] low_filter12_mask;
  logic [31:0] low_filter12_value;
  logic [31:0] low_filter13_mask;
  logic [31:0] low_filter13_value;
  logic [31:0] low_filter14_mask;
  logic [31:0] low_filter14_value;
  logic [31:0] low_filter15_mask;
  logic [31:0] low_filter15_value;
  logic [31:0] low_remote0_capability;
  logic [8:0] errors_q;

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
      16'h006C,
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
      16'h0434,
      16'h0508,
      16'h050C,
      16'h0510,
      16'h0514,
      16'h0518,
      16'h051C,
      16'h0520,
      16'h0524,
      16'h0528,
      16'h052C,
      16'h0530,
      16'h0534,
      16'h0608,
      16'h060C,
      16'h0610,
      16'h0614,
      16'h0618,
      16'h061C,
      16'h0620,
      16'h0624,
      16'h0628,
      16'h062C,
      16'h0630,
      16'h0634,
      16'h0708,
      16'h070C,
      16'h0710,
      16'h0714,
      16'h0718,
      16'h071C,
      16'h0720,
      16'h0724,
      16'h0728,
      16'h072C,
      16'h0730,
      16'h0734,
      16'h0808,
      16'h080C,
      16'h0810,
      16'h0814,
      16'h0818,
      16'h081C,
      16'h0820,
      16'h0824,
      16'h0828,
      16'h082C,
      16'h0830,
      16'h0834,
      16'h0908,
      16'h090C,
      16'h0910,
      16'h0914,
      16'h0918,
      16'h091C,
      16'h0920,
      16'h0924,
      16'h0928,
      16'h092C,
      16'h0930,
      16'h0934,
      16'h0A08,
      16'h0A0C,
      16'h0A10,
      16'h0A14,
      16'h0A18,
      16'h0A1C,
      16'h0A20,
      16'h0A24,
      16'h0A28,
      16'h0A2C,
      16'h0A30,
      16'h0A34,
      16'h0B08,
      16'h0B0C,
      16'h0B10,
      16'h0B14,
      16'h0B18,
      16'h0B1C,
      16'h0B20,
      16'h0B24,
      16'h0B28,
      16'h0B2C,
      16'h0B30,
      16'h0B34,
      16'h1000,
      16'h1004,
      16'h1008,
      16'h100C,
      16'h1010,
      16'h1014,
      16'h1020,
      16'h1024,
      16'h1028,
      16'h102C,
      16'h1030,
      16'h1034,
      16'h1040,
      16'h1044,
      16'h1048,
      16'h104C,
      16'h1050,
      16'h1054,
      16'h1060,
      16'h1064,
      16'h1068,
      16'h106C,
      16'h1070,
      16'h1074,
      16'h1080,
      16'h1084,
      16'h1088,
      16'h108C,
      16'h1090,
      16'h1094,
      16'h10A0,
      16'h10A4,
      16'h10A8,
      16'h10AC,
      16'h10B0,
      16'h10B4,
      16'h10C0,
      16'h10C4,
      16'h10C8,
      16'h10CC,
      16'h10D0,
      16'h10D4,
      16'h10E0,
      16'h10E4,
      16'h10E8,
      16'h10EC,
      16'h10F0,
      16'h10F4,
      16'h1100,
      16'h1104,
      16'h1108,
      16'h110C,
      16'h1110,
      16'h1114,
      16'h1120,
      16'h1124,
      16'h1128,
      16'h112C,
      16'h1130,
      16'h1134,
      16'h1140,
      16'h1144,
      16'h1148,
      16'h114C,
      16'h1150,
      16'h1154,
      16'h1160,
      16'h1164,
      16'h1168,
      16'h116C,
      16'h1170,
      16'h1174,
      16'h1180,
      16'h1184,
      16'h1188,
      16'h118C,
      16'h1190,
      16'h1194,
      16'h11A0,
      16'h11A4,
      16'h11A8,
      16'h11AC,
      16'h11B0,
      16'h11B4,
      16'h11C0,
      16'h11C4,
      16'h11C8,
      16'h11CC,
      16'h11D0,
      16'h11D4,
      16'h11E0,
      16'h11E4,
      16'h11E8,
      16'h11EC,
      16'h11F0,
      16'h11F4,
      16'h2014,
      16'h2018,
      16'h201C,
      16'h2020,
      16'h2024,
      16'h2028,
      16'h202C,
      16'h2030,
      16'h2034,
      16'h2038,
      16'h203C,
      16'h2040,
      16'h2044,
      16'h2400,
      16'h2408,
      16'h2410,
      16'h2414,
      16'h005C,
      16'h0064,
      16'h0068,
      16'h0084,
      16'h0088,
      16'h0094,
      16'h0098,
      16'h0400,
      16'h0500,
      16'h0600,
      16'h0700,
      16'h0800,
      16'h0900,
      16'h0A00,
      16'h0B00,
      16'h2000,
      16'h2004,
      16'h2008,
      16'h240C,
      16'h2418,
      16'h241C,
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
  assign command_o.firmware_verify_valid = write && write_address_i == 16'h0098;
  assign command_o.firmware_verify = write_data_i[19:0];
  assign command_o.ring[0].command_valid = write && write_address_i == 16'h0400;
  assign command_o.ring[0].command = write_data_i[1:0];
  assign command_o.ring[1].command_valid = write && write_address_i == 16'h0500;
  assign command_o.ring[1].command = write_data_i[1:0];
  assign command_o.ring[2].command_valid = write && write_address_i == 16'h0600;
  assign command_o.ring[2].command = write_data_i[1:0];
  assign command_o.ring[3].command_valid = write && write_address_i == 16'h0700;
  assign command_o.ring[3].command = write_data_i[1:0];
  assign command_o.ring[4].command_valid = write && write_address_i == 16'h0800;
  assign command_o.ring[4].command = write_data_i[1:0];
  assign command_o.ring[5].command_valid = write && write_address_i == 16'h0900;
  assign command_o.ring[5].command = write_data_i[1:0];
  assign command_o.ring[6].command_valid = write && write_address_i == 16'h0A00;
  assign command_o.ring[6].command = write_data_i[1:0];
  assign command_o.ring[7].command_valid = write && write_address_i == 16'h0B00;
  assign command_o.ring[7].command = write_data_i[1:0];
  assign command_o.remote[0].command_valid = write && write_address_i == 16'h2000;
  assign command_o.remote[0].command = write_data_i[0:0];
  assign command_o.remote[0].subscribe_valid = write && write_address_i == 16'h2004;
  assign command_o.remote[0].subscribe = write_data_i[8:0];
  assign command_o.remote[0].tell_valid = write && write_address_i == 16'h2008;
  assign command_o.remote[0].tell = write_data_i[23:0];
  assign command_o.station[0].next_valid = write && write_address_i == 16'h240C;
  assign command_o.station[0].next = write_data_i[0:0];
  assign command_o.station[0].word_valid = write && write_address_i == 16'h2418;
  assign command_o.station[0].word = write_data_i;
  assign command_o.station[0].send_valid = write && write_address_i == 16'h241C;
  assign command_o.station[0].send = write_data_i[11:0];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_o <= '0;
      low_clock_offset <= '0;
      low_ring0_header <= '0;
      low_ring0_descriptors <= '0;
      low_ring0_credit <= '0;
      low_ring1_header <= '0;
      low_ring1_descriptors <= '0;
      low_ring1_credit <= '0;
      low_ring2_header <= '0;
      low_ring2_descriptors <= '0;
      low_ring2_credit <= '0;
      low_ring3_header <= '0;
      low_ring3_descriptors <= '0;
      low_ring3_credit <= '0;
      low_ring4_header <= '0;
      low_ring4_descriptors <= '0;
      low_ring4_credit <= '0;
      low_ring5_header <= '0;
      low_ring5_descriptors <= '0;
      low_ring5_credit <= '0;
      low_ring6_header <= '0;
      low_ring6_descriptors <= '0;
      low_ring6_credit <= '0;
      low_ring7_header <= '0;
      low_ring7_descriptors <= '0;
      low_ring7_credit <= '0;
      low_filter0_mask <= '0;
      low_filter0_value <= '0;
      low_filter1_mask <= '0;
      low_filter1_value <= '0;
      low_filter2_mask <= '0;
      low_filter2_value <= '0;
      low_filter3_mask <= '0;
      low_filter3_value <= '0;
      low_filter4_mask <= '0;
      low_filter4_value <= '0;
      low_filter5_mask <= '0;
      low_filter5_value <= '0;
      low_filter6_mask <= '0;
      low_filter6_value <= '0;
      low_filter7_mask <= '0;
      low_filter7_value <= '0;
      low_filter8_mask <= '0;
      low_filter8_value <= '0;
      low_filter9_mask <= '0;
      low_filter9_value <= '0;
      low_filter10_mask <= '0;
      low_filter10_value <= '0;
      low_filter11_mask <= '0;
      low_filter11_value <= '0;
      low_filter12_mask <= '0;
      low_filter12_value <= '0;
      low_filter13_mask <= '0;
      low_filter13_value <= '0;
      low_filter14_mask <= '0;
      low_filter14_value <= '0;
      low_filter15_mask <= '0;
      low_filter15_value <= '0;
      low_remote0_capability <= '0;
      errors_q <= '0;
    end else begin
      errors_q <= (errors_q & ~(write && write_address_i == 16'h0028 ? write_data_i[8:0] : '0)) |
                  raised_i.errors | 9'(write_i && (!known || !write));
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
          16'h006C: written_o.routing <= write_data_i[1:0];
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
          16'h0434: written_o.ring[0].credit_timeout <= write_data_i;
          16'h0508: low_ring1_header <= write_data_i;
          16'h050C: written_o.ring[1].header <= {write_data_i, low_ring1_header};
          16'h0510: low_ring1_descriptors <= write_data_i;
          16'h0514: written_o.ring[1].descriptors <= {write_data_i, low_ring1_descriptors};
          16'h0518: written_o.ring[1].segments <= write_data_i;
          16'h051C: written_o.ring[1].slots_log2 <= write_data_i[4:0];
          16'h0520: written_o.ring[1].max_record_slots <= write_data_i[15:0];
          16'h0524: written_o.ring[1].mode <= write_data_i[1:0];
          16'h0528: low_ring1_credit <= write_data_i;
          16'h052C: written_o.ring[1].credit <= {write_data_i, low_ring1_credit};
          16'h0530: written_o.ring[1].timeout <= write_data_i;
          16'h0534: written_o.ring[1].credit_timeout <= write_data_i;
          16'h0608: low_ring2_header <= write_data_i;
          16'h060C: written_o.ring[2].header <= {write_data_i, low_ring2_header};
          16'h0610: low_ring2_descriptors <= write_data_i;
          16'h0614: written_o.ring[2].descriptors <= {write_data_i, low_ring2_descriptors};
          16'h0618: written_o.ring[2].segments <= write_data_i;
          16'h061C: written_o.ring[2].slots_log2 <= write_data_i[4:0];
          16'h0620: written_o.ring[2].max_record_slots <= write_data_i[15:0];
          16'h0624: written_o.ring[2].mode <= write_data_i[1:0];
          16'h0628: low_ring2_credit <= write_data_i;
          16'h062C: written_o.ring[2].credit <= {write_data_i, low_ring2_credit};
          16'h0630: written_o.ring[2].timeout <= write_data_i;
          16'h0634: written_o.ring[2].credit_timeout <= write_data_i;
          16'h0708: low_ring3_header <= write_data_i;
          16'h070C: written_o.ring[3].header <= {write_data_i, low_ring3_header};
          16'h0710: low_ring3_descriptors <= write_data_i;
          16'h0714: written_o.ring[3].descriptors <= {write_data_i, low_ring3_descriptors};
          16'h0718: written_o.ring[3].segments <= write_data_i;
          16'h071C: written_o.ring[3].slots_log2 <= write_data_i[4:0];
          16'h0720: written_o.ring[3].max_record_slots <= write_data_i[15:0];
          16'h0724: written_o.ring[3].mode <= write_data_i[1:0];
          16'h0728: low_ring3_credit <= write_data_i;
          16'h072C: written_o.ring[3].credit <= {write_data_i, low_ring3_credit};
          16'h0730: written_o.ring[3].timeout <= write_data_i;
          16'h0734: written_o.ring[3].credit_timeout <= write_data_i;
          16'h0808: low_ring4_header <= write_data_i;
          16'h080C: written_o.ring[4].header <= {write_data_i, low_ring4_header};
          16'h0810: low_ring4_descriptors <= write_data_i;
          16'h0814: written_o.ring[4].descriptors <= {write_data_i, low_ring4_descriptors};
          16'h0818: written_o.ring[4].segments <= write_data_i;
          16'h081C: written_o.ring[4].slots_log2 <= write_data_i[4:0];
          16'h0820: written_o.ring[4].max_record_slots <= write_data_i[15:0];
          16'h0824: written_o.ring[4].mode <= write_data_i[1:0];
          16'h0828: low_ring4_credit <= write_data_i;
          16'h082C: written_o.ring[4].credit <= {write_data_i, low_ring4_credit};
          16'h0830: written_o.ring[4].timeout <= write_data_i;
          16'h0834: written_o.ring[4].credit_timeout <= write_data_i;
          16'h0908: low_ring5_header <= write_data_i;
          16'h090C: written_o.ring[5].header <= {write_data_i, low_ring5_header};
          16'h0910: low_ring5_descriptors <= write_data_i;
          16'h0914: written_o.ring[5].descriptors <= {write_data_i, low_ring5_descriptors};
          16'h0918: written_o.ring[5].segments <= write_data_i;
          16'h091C: written_o.ring[5].slots_log2 <= write_data_i[4:0];
          16'h0920: written_o.ring[5].max_record_slots <= write_data_i[15:0];
          16'h0924: written_o.ring[5].mode <= write_data_i[1:0];
          16'h0928: low_ring5_credit <= write_data_i;
          16'h092C: written_o.ring[5].credit <= {write_data_i, low_ring5_credit};
          16'h0930: written_o.ring[5].timeout <= write_data_i;
          16'h0934: written_o.ring[5].credit_timeout <= write_data_i;
          16'h0A08: low_ring6_header <= write_data_i;
          16'h0A0C: written_o.ring[6].header <= {write_data_i, low_ring6_header};
          16'h0A10: low_ring6_descriptors <= write_data_i;
          16'h0A14: written_o.ring[6].descriptors <= {write_data_i, low_ring6_descriptors};
          16'h0A18: written_o.ring[6].segments <= write_data_i;
          16'h0A1C: written_o.ring[6].slots_log2 <= write_data_i[4:0];
          16'h0A20: written_o.ring[6].max_record_slots <= write_data_i[15:0];
          16'h0A24: written_o.ring[6].mode <= write_data_i[1:0];
          16'h0A28: low_ring6_credit <= write_data_i;
          16'h0A2C: written_o.ring[6].credit <= {write_data_i, low_ring6_credit};
          16'h0A30: written_o.ring[6].timeout <= write_data_i;
          16'h0A34: written_o.ring[6].credit_timeout <= write_data_i;
          16'h0B08: low_ring7_header <= write_data_i;
          16'h0B0C: written_o.ring[7].header <= {write_data_i, low_ring7_header};
          16'h0B10: low_ring7_descriptors <= write_data_i;
          16'h0B14: written_o.ring[7].descriptors <= {write_data_i, low_ring7_descriptors};
          16'h0B18: written_o.ring[7].segments <= write_data_i;
          16'h0B1C: written_o.ring[7].slots_log2 <= write_data_i[4:0];
          16'h0B20: written_o.ring[7].max_record_slots <= write_data_i[15:0];
          16'h0B24: written_o.ring[7].mode <= write_data_i[1:0];
          16'h0B28: low_ring7_credit <= write_data_i;
          16'h0B2C: written_o.ring[7].credit <= {write_data_i, low_ring7_credit};
          16'h0B30: written_o.ring[7].timeout <= write_data_i;
          16'h0B34: written_o.ring[7].credit_timeout <= write_data_i;
          16'h1000: written_o.filter[0].control <= write_data_i;
          16'h1004: written_o.filter[0].key <= write_data_i;
          16'h1008: low_filter0_mask <= write_data_i;
          16'h100C: written_o.filter[0].mask <= {write_data_i, low_filter0_mask};
          16'h1010: low_filter0_value <= write_data_i;
          16'h1014: written_o.filter[0].value <= {write_data_i, low_filter0_value};
          16'h1020: written_o.filter[1].control <= write_data_i;
          16'h1024: written_o.filter[1].key <= write_data_i;
          16'h1028: low_filter1_mask <= write_data_i;
          16'h102C: written_o.filter[1].mask <= {write_data_i, low_filter1_mask};
          16'h1030: low_filter1_value <= write_data_i;
          16'h1034: written_o.filter[1].value <= {write_data_i, low_filter1_value};
          16'h1040: written_o.filter[2].control <= write_data_i;
          16'h1044: written_o.filter[2].key <= write_data_i;
          16'h1048: low_filter2_mask <= write_data_i;
          16'h104C: written_o.filter[2].mask <= {write_data_i, low_filter2_mask};
          16'h1050: low_filter2_value <= write_data_i;
          16'h1054: written_o.filter[2].value <= {write_data_i, low_filter2_value};
          16'h1060: written_o.filter[3].control <= write_data_i;
          16'h1064: written_o.filter[3].key <= write_data_i;
          16'h1068: low_filter3_mask <= write_data_i;
          16'h106C: written_o.filter[3].mask <= {write_data_i, low_filter3_mask};
          16'h1070: low_filter3_value <= write_data_i;
          16'h1074: written_o.filter[3].value <= {write_data_i, low_filter3_value};
          16'h1080: written_o.filter[4].control <= write_data_i;
          16'h1084: written_o.filter[4].key <= write_data_i;
          16'h1088: low_filter4_mask <= write_data_i;
          16'h108C: written_o.filter[4].mask <= {write_data_i, low_filter4_mask};
          16'h1090: low_filter4_value <= write_data_i;
          16'h1094: written_o.filter[4].value <= {write_data_i, low_filter4_value};
          16'h10A0: written_o.filter[5].control <= write_data_i;
          16'h10A4: written_o.filter[5].key <= write_data_i;
          16'h10A8: low_filter5_mask <= write_data_i;
          16'h10AC: written_o.filter[5].mask <= {write_data_i, low_filter5_mask};
          16'h10B0: low_filter5_value <= write_data_i;
          16'h10B4: written_o.filter[5].value <= {write_data_i, low_filter5_value};
          16'h10C0: written_o.filter[6].control <= write_data_i;
          16'h10C4: written_o.filter[6].key <= write_data_i;
          16'h10C8: low_filter6_mask <= write_data_i;
          16'h10CC: written_o.filter[6].mask <= {write_data_i, low_filter6_mask};
          16'h10D0: low_filter6_value <= write_data_i;
          16'h10D4: written_o.filter[6].value <= {write_data_i, low_filter6_value};
          16'h10E0: written_o.filter[7].control <= write_data_i;
          16'h10E4: written_o.filter[7].key <= write_data_i;
          16'h10E8: low_filter7_mask <= write_data_i;
          16'h10EC: written_o.filter[7].mask <= {write_data_i, low_filter7_mask};
          16'h10F0: low_filter7_value <= write_data_i;
          16'h10F4: written_o.filter[7].value <= {write_data_i, low_filter7_value};
          16'h1100: written_o.filter[8].control <= write_data_i;
          16'h1104: written_o.filter[8].key <= write_data_i;
          16'h1108: low_filter8_mask <= write_data_i;
          16'h110C: written_o.filter[8].mask <= {write_data_i, low_filter8_mask};
          16'h1110: low_filter8_value <= write_data_i;
          16'h1114: written_o.filter[8].value <= {write_data_i, low_filter8_value};
          16'h1120: written_o.filter[9].control <= write_data_i;
          16'h1124: written_o.filter[9].key <= write_data_i;
          16'h1128: low_filter9_mask <= write_data_i;
          16'h112C: written_o.filter[9].mask <= {write_data_i, low_filter9_mask};
          16'h1130: low_filter9_value <= write_data_i;
          16'h1134: written_o.filter[9].value <= {write_data_i, low_filter9_value};
          16'h1140: written_o.filter[10].control <= write_data_i;
          16'h1144: written_o.filter[10].key <= write_data_i;
          16'h1148: low_filter10_mask <= write_data_i;
          16'h114C: written_o.filter[10].mask <= {write_data_i, low_filter10_mask};
          16'h1150: low_filter10_value <= write_data_i;
          16'h1154: written_o.filter[10].value <= {write_data_i, low_filter10_value};
          16'h1160: written_o.filter[11].control <= write_data_i;
          16'h1164: written_o.filter[11].key <= write_data_i;
          16'h1168: low_filter11_mask <= write_data_i;
          16'h116C: written_o.filter[11].mask <= {write_data_i, low_filter11_mask};
          16'h1170: low_filter11_value <= write_data_i;
          16'h1174: written_o.filter[11].value <= {write_data_i, low_filter11_value};
          16'h1180: written_o.filter[12].control <= write_data_i;
          16'h1184: written_o.filter[12].key <= write_data_i;
          16'h1188: low_filter12_mask <= write_data_i;
          16'h118C: written_o.filter[12].mask <= {write_data_i, low_filter12_mask};
          16'h1190: low_filter12_value <= write_data_i;
          16'h1194: written_o.filter[12].value <= {write_data_i, low_filter12_value};
          16'h11A0: written_o.filter[13].control <= write_data_i;
          16'h11A4: written_o.filter[13].key <= write_data_i;
          16'h11A8: low_filter13_mask <= write_data_i;
          16'h11AC: written_o.filter[13].mask <= {write_data_i, low_filter13_mask};
          16'h11B0: low_filter13_value <= write_data_i;
          16'h11B4: written_o.filter[13].value <= {write_data_i, low_filter13_value};
          16'h11C0: written_o.filter[14].control <= write_data_i;
          16'h11C4: written_o.filter[14].key <= write_data_i;
          16'h11C8: low_filter14_mask <= write_data_i;
          16'h11CC: written_o.filter[14].mask <= {write_data_i, low_filter14_mask};
          16'h11D0: low_filter14_value <= write_data_i;
          16'h11D4: written_o.filter[14].value <= {write_data_i, low_filter14_value};
          16'h11E0: written_o.filter[15].control <= write_data_i;
          16'h11E4: written_o.filter[15].key <= write_data_i;
          16'h11E8: low_filter15_mask <= write_data_i;
          16'h11EC: written_o.filter[15].mask <= {write_data_i, low_filter15_mask};
          16'h11F0: low_filter15_value <= write_data_i;
          16'h11F4: written_o.filter[15].value <= {write_data_i, low_filter15_value};
          16'h2014: written_o.remote[0].node <= write_data_i[15:0];
          16'h2018: written_o.remote[0].generation <= write_data_i[15:0];
          16'h201C: written_o.remote[0].slots_log2 <= write_data_i[4:0];
          16'h2020: written_o.remote[0].max_record_slots <= write_data_i[15:0];
          16'h2024: written_o.remote[0].peer <= write_data_i;
          16'h2028: written_o.remote[0].landing <= write_data_i[21:0];
          16'h202C: written_o.remote[0].channel_slots <= write_data_i[16:0];
          16'h2030: written_o.remote[0].slot_bytes <= write_data_i[20:0];
          16'h2034: written_o.remote[0].origin <= write_data_i;
          16'h2038: written_o.remote[0].life <= write_data_i;
          16'h203C: written_o.remote[0].status_index <= write_data_i[2:0];
          16'h2040: low_remote0_capability <= write_data_i;
          16'h2044: written_o.remote[0].capability <= {write_data_i, low_remote0_capability};
          16'h2400: written_o.station[0].control <= write_data_i[0:0];
          16'h2408: written_o.station[0].address <= write_data_i;
          16'h2410: written_o.station[0].mac_high <= write_data_i[15:0];
          16'h2414: written_o.station[0].mac_low <= write_data_i;
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
        16'h0014: read_data_o <= 32'h00000005;
        16'h0018: read_data_o <= 32'(shown_i.capabilities);
        16'h001C: read_data_o <= 32'(shown_i.engines);
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
        16'h006C: read_data_o <= 32'(written_o.routing);
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
        16'h009C: read_data_o <= 32'(shown_i.verify_left);
        16'h00A0: read_data_o <= 32'(shown_i.verified_crc);
        16'h00A4: read_data_o <= 32'(shown_i.verified_word);
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
        16'h0168: begin
          read_data_o <= shown_i.records_unmatched[31:0];
          kept_q      <= shown_i.records_unmatched[63:32];
        end
        16'h016C: read_data_o <= kept_q;
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
        16'h0434: read_data_o <= 32'(written_o.ring[0].credit_timeout);
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
        16'h0504: read_data_o <= 32'(shown_i.ring[1].state);
        16'h0508: read_data_o <= written_o.ring[1].header[31:0];
        16'h050C: read_data_o <= written_o.ring[1].header[63:32];
        16'h0510: read_data_o <= written_o.ring[1].descriptors[31:0];
        16'h0514: read_data_o <= written_o.ring[1].descriptors[63:32];
        16'h0518: read_data_o <= 32'(written_o.ring[1].segments);
        16'h051C: read_data_o <= 32'(written_o.ring[1].slots_log2);
        16'h0520: read_data_o <= 32'(written_o.ring[1].max_record_slots);
        16'h0524: read_data_o <= 32'(written_o.ring[1].mode);
        16'h0528: read_data_o <= written_o.ring[1].credit[31:0];
        16'h052C: read_data_o <= written_o.ring[1].credit[63:32];
        16'h0530: read_data_o <= 32'(written_o.ring[1].timeout);
        16'h0534: read_data_o <= 32'(written_o.ring[1].credit_timeout);
        16'h0540: begin
          read_data_o <= shown_i.ring[1].number[31:0];
          kept_q      <= shown_i.ring[1].number[63:32];
        end
        16'h0544: read_data_o <= kept_q;
        16'h0548: begin
          read_data_o <= shown_i.ring[1].claim[31:0];
          kept_q      <= shown_i.ring[1].claim[63:32];
        end
        16'h054C: read_data_o <= kept_q;
        16'h0550: begin
          read_data_o <= shown_i.ring[1].records[31:0];
          kept_q      <= shown_i.ring[1].records[63:32];
        end
        16'h0554: read_data_o <= kept_q;
        16'h0558: begin
          read_data_o <= shown_i.ring[1].dropped[31:0];
          kept_q      <= shown_i.ring[1].dropped[63:32];
        end
        16'h055C: read_data_o <= kept_q;
        16'h0560: begin
          read_data_o <= shown_i.ring[1].withdrawn[31:0];
          kept_q      <= shown_i.ring[1].withdrawn[63:32];
        end
        16'h0564: read_data_o <= kept_q;
        16'h0568: begin
          read_data_o <= shown_i.ring[1].stalled[31:0];
          kept_q      <= shown_i.ring[1].stalled[63:32];
        end
        16'h056C: read_data_o <= kept_q;
        16'h0570: read_data_o <= 32'(shown_i.ring[1].timeouts);
        16'h0574: read_data_o <= 32'(shown_i.ring[1].malformed);
        16'h0604: read_data_o <= 32'(shown_i.ring[2].state);
        16'h0608: read_data_o <= written_o.ring[2].header[31:0];
        16'h060C: read_data_o <= written_o.ring[2].header[63:32];
        16'h0610: read_data_o <= written_o.ring[2].descriptors[31:0];
        16'h0614: read_data_o <= written_o.ring[2].descriptors[63:32];
        16'h0618: read_data_o <= 32'(written_o.ring[2].segments);
        16'h061C: read_data_o <= 32'(written_o.ring[2].slots_log2);
        16'h0620: read_data_o <= 32'(written_o.ring[2].max_record_slots);
        16'h0624: read_data_o <= 32'(written_o.ring[2].mode);
        16'h0628: read_data_o <= written_o.ring[2].credit[31:0];
        16'h062C: read_data_o <= written_o.ring[2].credit[63:32];
        16'h0630: read_data_o <= 32'(written_o.ring[2].timeout);
        16'h0634: read_data_o <= 32'(written_o.ring[2].credit_timeout);
        16'h0640: begin
          read_data_o <= shown_i.ring[2].number[31:0];
          kept_q      <= shown_i.ring[2].number[63:32];
        end
        16'h0644: read_data_o <= kept_q;
        16'h0648: begin
          read_data_o <= shown_i.ring[2].claim[31:0];
          kept_q      <= shown_i.ring[2].claim[63:32];
        end
        16'h064C: read_data_o <= kept_q;
        16'h0650: begin
          read_data_o <= shown_i.ring[2].records[31:0];
          kept_q      <= shown_i.ring[2].records[63:32];
        end
        16'h0654: read_data_o <= kept_q;
        16'h0658: begin
          read_data_o <= shown_i.ring[2].dropped[31:0];
          kept_q      <= shown_i.ring[2].dropped[63:32];
        end
        16'h065C: read_data_o <= kept_q;
        16'h0660: begin
          read_data_o <= shown_i.ring[2].withdrawn[31:0];
          kept_q      <= shown_i.ring[2].withdrawn[63:32];
        end
        16'h0664: read_data_o <= kept_q;
        16'h0668: begin
          read_data_o <= shown_i.ring[2].stalled[31:0];
          kept_q      <= shown_i.ring[2].stalled[63:32];
        end
        16'h066C: read_data_o <= kept_q;
        16'h0670: read_data_o <= 32'(shown_i.ring[2].timeouts);
        16'h0674: read_data_o <= 32'(shown_i.ring[2].malformed);
        16'h0704: read_data_o <= 32'(shown_i.ring[3].state);
        16'h0708: read_data_o <= written_o.ring[3].header[31:0];
        16'h070C: read_data_o <= written_o.ring[3].header[63:32];
        16'h0710: read_data_o <= written_o.ring[3].descriptors[31:0];
        16'h0714: read_data_o <= written_o.ring[3].descriptors[63:32];
        16'h0718: read_data_o <= 32'(written_o.ring[3].segments);
        16'h071C: read_data_o <= 32'(written_o.ring[3].slots_log2);
        16'h0720: read_data_o <= 32'(written_o.ring[3].max_record_slots);
        16'h0724: read_data_o <= 32'(written_o.ring[3].mode);
        16'h0728: read_data_o <= written_o.ring[3].credit[31:0];
        16'h072C: read_data_o <= written_o.ring[3].credit[63:32];
        16'h0730: read_data_o <= 32'(written_o.ring[3].timeout);
        16'h0734: read_data_o <= 32'(written_o.ring[3].credit_timeout);
        16'h0740: begin
          read_data_o <= shown_i.ring[3].number[31:0];
          kept_q      <= shown_i.ring[3].number[63:32];
        end
        16'h0744: read_data_o <= kept_q;
        16'h0748: begin
          read_data_o <= shown_i.ring[3].claim[31:0];
          kept_q      <= shown_i.ring[3].claim[63:32];
        end
        16'h074C: read_data_o <= kept_q;
        16'h0750: begin
          read_data_o <= shown_i.ring[3].records[31:0];
          kept_q      <= shown_i.ring[3].records[63:32];
        end
        16'h0754: read_data_o <= kept_q;
        16'h0758: begin
          read_data_o <= shown_i.ring[3].dropped[31:0];
          kept_q      <= shown_i.ring[3].dropped[63:32];
        end
        16'h075C: read_data_o <= kept_q;
        16'h0760: begin
          read_data_o <= shown_i.ring[3].withdrawn[31:0];
          kept_q      <= shown_i.ring[3].withdrawn[63:32];
        end
        16'h0764: read_data_o <= kept_q;
        16'h0768: begin
          read_data_o <= shown_i.ring[3].stalled[31:0];
          kept_q      <= shown_i.ring[3].stalled[63:32];
        end
        16'h076C: read_data_o <= kept_q;
        16'h0770: read_data_o <= 32'(shown_i.ring[3].timeouts);
        16'h0774: read_data_o <= 32'(shown_i.ring[3].malformed);
        16'h0804: read_data_o <= 32'(shown_i.ring[4].state);
        16'h0808: read_data_o <= written_o.ring[4].header[31:0];
        16'h080C: read_data_o <= written_o.ring[4].header[63:32];
        16'h0810: read_data_o <= written_o.ring[4].descriptors[31:0];
        16'h0814: read_data_o <= written_o.ring[4].descriptors[63:32];
        16'h0818: read_data_o <= 32'(written_o.ring[4].segments);
        16'h081C: read_data_o <= 32'(written_o.ring[4].slots_log2);
        16'h0820: read_data_o <= 32'(written_o.ring[4].max_record_slots);
        16'h0824: read_data_o <= 32'(written_o.ring[4].mode);
        16'h0828: read_data_o <= written_o.ring[4].credit[31:0];
        16'h082C: read_data_o <= written_o.ring[4].credit[63:32];
        16'h0830: read_data_o <= 32'(written_o.ring[4].timeout);
        16'h0834: read_data_o <= 32'(written_o.ring[4].credit_timeout);
        16'h0840: begin
          read_data_o <= shown_i.ring[4].number[31:0];
          kept_q      <= shown_i.ring[4].number[63:32];
        end
        16'h0844: read_data_o <= kept_q;
        16'h0848: begin
          read_data_o <= shown_i.ring[4].claim[31:0];
          kept_q      <= shown_i.ring[4].claim[63:32];
        end
        16'h084C: read_data_o <= kept_q;
        16'h0850: begin
          read_data_o <= shown_i.ring[4].records[31:0];
          kept_q      <= shown_i.ring[4].records[63:32];
        end
        16'h0854: read_data_o <= kept_q;
        16'h0858: begin
          read_data_o <= shown_i.ring[4].dropped[31:0];
          kept_q      <= shown_i.ring[4].dropped[63:32];
        end
        16'h085C: read_data_o <= kept_q;
        16'h0860: begin
          read_data_o <= shown_i.ring[4].withdrawn[31:0];
          kept_q      <= shown_i.ring[4].withdrawn[63:32];
        end
        16'h0864: read_data_o <= kept_q;
        16'h0868: begin
          read_data_o <= shown_i.ring[4].stalled[31:0];
          kept_q      <= shown_i.ring[4].stalled[63:32];
        end
        16'h086C: read_data_o <= kept_q;
        16'h0870: read_data_o <= 32'(shown_i.ring[4].timeouts);
        16'h0874: read_data_o <= 32'(shown_i.ring[4].malformed);
        16'h0904: read_data_o <= 32'(shown_i.ring[5].state);
        16'h0908: read_data_o <= written_o.ring[5].header[31:0];
        16'h090C: read_data_o <= written_o.ring[5].header[63:32];
        16'h0910: read_data_o <= written_o.ring[5].descriptors[31:0];
        16'h0914: read_data_o <= written_o.ring[5].descriptors[63:32];
        16'h0918: read_data_o <= 32'(written_o.ring[5].segments);
        16'h091C: read_data_o <= 32'(written_o.ring[5].slots_log2);
        16'h0920: read_data_o <= 32'(written_o.ring[5].max_record_slots);
        16'h0924: read_data_o <= 32'(written_o.ring[5].mode);
        16'h0928: read_data_o <= written_o.ring[5].credit[31:0];
        16'h092C: read_data_o <= written_o.ring[5].credit[63:32];
        16'h0930: read_data_o <= 32'(written_o.ring[5].timeout);
        16'h0934: read_data_o <= 32'(written_o.ring[5].credit_timeout);
        16'h0940: begin
          read_data_o <= shown_i.ring[5].number[31:0];
          kept_q      <= shown_i.ring[5].number[63:32];
        end
        16'h0944: read_data_o <= kept_q;
        16'h0948: begin
          read_data_o <= shown_i.ring[5].claim[31:0];
          kept_q      <= shown_i.ring[5].claim[63:32];
        end
        16'h094C: read_data_o <= kept_q;
        16'h0950: begin
          read_data_o <= shown_i.ring[5].records[31:0];
          kept_q      <= shown_i.ring[5].records[63:32];
        end
        16'h0954: read_data_o <= kept_q;
        16'h0958: begin
          read_data_o <= shown_i.ring[5].dropped[31:0];
          kept_q      <= shown_i.ring[5].dropped[63:32];
        end
        16'h095C: read_data_o <= kept_q;
        16'h0960: begin
          read_data_o <= shown_i.ring[5].withdrawn[31:0];
          kept_q      <= shown_i.ring[5].withdrawn[63:32];
        end
        16'h0964: read_data_o <= kept_q;
        16'h0968: begin
          read_data_o <= shown_i.ring[5].stalled[31:0];
          kept_q      <= shown_i.ring[5].stalled[63:32];
        end
        16'h096C: read_data_o <= kept_q;
        16'h0970: read_data_o <= 32'(shown_i.ring[5].timeouts);
        16'h0974: read_data_o <= 32'(shown_i.ring[5].malformed);
        16'h0A04: read_data_o <= 32'(shown_i.ring[6].state);
        16'h0A08: read_data_o <= written_o.ring[6].header[31:0];
        16'h0A0C: read_data_o <= written_o.ring[6].header[63:32];
        16'h0A10: read_data_o <= written_o.ring[6].descriptors[31:0];
        16'h0A14: read_data_o <= written_o.ring[6].descriptors[63:32];
        16'h0A18: read_data_o <= 32'(written_o.ring[6].segments);
        16'h0A1C: read_data_o <= 32'(written_o.ring[6].slots_log2);
        16'h0A20: read_data_o <= 32'(written_o.ring[6].max_record_slots);
        16'h0A24: read_data_o <= 32'(written_o.ring[6].mode);
        16'h0A28: read_data_o <= written_o.ring[6].credit[31:0];
        16'h0A2C: read_data_o <= written_o.ring[6].credit[63:32];
        16'h0A30: read_data_o <= 32'(written_o.ring[6].timeout);
        16'h0A34: read_data_o <= 32'(written_o.ring[6].credit_timeout);
        16'h0A40: begin
          read_data_o <= shown_i.ring[6].number[31:0];
          kept_q      <= shown_i.ring[6].number[63:32];
        end
        16'h0A44: read_data_o <= kept_q;
        16'h0A48: begin
          read_data_o <= shown_i.ring[6].claim[31:0];
          kept_q      <= shown_i.ring[6].claim[63:32];
        end
        16'h0A4C: read_data_o <= kept_q;
        16'h0A50: begin
          read_data_o <= shown_i.ring[6].records[31:0];
          kept_q      <= shown_i.ring[6].records[63:32];
        end
        16'h0A54: read_data_o <= kept_q;
        16'h0A58: begin
          read_data_o <= shown_i.ring[6].dropped[31:0];
          kept_q      <= shown_i.ring[6].dropped[63:32];
        end
        16'h0A5C: read_data_o <= kept_q;
        16'h0A60: begin
          read_data_o <= shown_i.ring[6].withdrawn[31:0];
          kept_q      <= shown_i.ring[6].withdrawn[63:32];
        end
        16'h0A64: read_data_o <= kept_q;
        16'h0A68: begin
          read_data_o <= shown_i.ring[6].stalled[31:0];
          kept_q      <= shown_i.ring[6].stalled[63:32];
        end
        16'h0A6C: read_data_o <= kept_q;
        16'h0A70: read_data_o <= 32'(shown_i.ring[6].timeouts);
        16'h0A74: read_data_o <= 32'(shown_i.ring[6].malformed);
        16'h0B04: read_data_o <= 32'(shown_i.ring[7].state);
        16'h0B08: read_data_o <= written_o.ring[7].header[31:0];
        16'h0B0C: read_data_o <= written_o.ring[7].header[63:32];
        16'h0B10: read_data_o <= written_o.ring[7].descriptors[31:0];
        16'h0B14: read_data_o <= written_o.ring[7].descriptors[63:32];
        16'h0B18: read_data_o <= 32'(written_o.ring[7].segments);
        16'h0B1C: read_data_o <= 32'(written_o.ring[7].slots_log2);
        16'h0B20: read_data_o <= 32'(written_o.ring[7].max_record_slots);
        16'h0B24: read_data_o <= 32'(written_o.ring[7].mode);
        16'h0B28: read_data_o <= written_o.ring[7].credit[31:0];
        16'h0B2C: read_data_o <= written_o.ring[7].credit[63:32];
        16'h0B30: read_data_o <= 32'(written_o.ring[7].timeout);
        16'h0B34: read_data_o <= 32'(written_o.ring[7].credit_timeout);
        16'h0B40: begin
          read_data_o <= shown_i.ring[7].number[31:0];
          kept_q      <= shown_i.ring[7].number[63:32];
        end
        16'h0B44: read_data_o <= kept_q;
        16'h0B48: begin
          read_data_o <= shown_i.ring[7].claim[31:0];
          kept_q      <= shown_i.ring[7].claim[63:32];
        end
        16'h0B4C: read_data_o <= kept_q;
        16'h0B50: begin
          read_data_o <= shown_i.ring[7].records[31:0];
          kept_q      <= shown_i.ring[7].records[63:32];
        end
        16'h0B54: read_data_o <= kept_q;
        16'h0B58: begin
          read_data_o <= shown_i.ring[7].dropped[31:0];
          kept_q      <= shown_i.ring[7].dropped[63:32];
        end
        16'h0B5C: read_data_o <= kept_q;
        16'h0B60: begin
          read_data_o <= shown_i.ring[7].withdrawn[31:0];
          kept_q      <= shown_i.ring[7].withdrawn[63:32];
        end
        16'h0B64: read_data_o <= kept_q;
        16'h0B68: begin
          read_data_o <= shown_i.ring[7].stalled[31:0];
          kept_q      <= shown_i.ring[7].stalled[63:32];
        end
        16'h0B6C: read_data_o <= kept_q;
        16'h0B70: read_data_o <= 32'(shown_i.ring[7].timeouts);
        16'h0B74: read_data_o <= 32'(shown_i.ring[7].malformed);
        16'h1000: read_data_o <= 32'(written_o.filter[0].control);
        16'h1004: read_data_o <= 32'(written_o.filter[0].key);
        16'h1008: read_data_o <= written_o.filter[0].mask[31:0];
        16'h100C: read_data_o <= written_o.filter[0].mask[63:32];
        16'h1010: read_data_o <= written_o.filter[0].value[31:0];
        16'h1014: read_data_o <= written_o.filter[0].value[63:32];
        16'h1020: read_data_o <= 32'(written_o.filter[1].control);
        16'h1024: read_data_o <= 32'(written_o.filter[1].key);
        16'h1028: read_data_o <= written_o.filter[1].mask[31:0];
        16'h102C: read_data_o <= written_o.filter[1].mask[63:32];
        16'h1030: read_data_o <= written_o.filter[1].value[31:0];
        16'h1034: read_data_o <= written_o.filter[1].value[63:32];
        16'h1040: read_data_o <= 32'(written_o.filter[2].control);
        16'h1044: read_data_o <= 32'(written_o.filter[2].key);
        16'h1048: read_data_o <= written_o.filter[2].mask[31:0];
        16'h104C: read_data_o <= written_o.filter[2].mask[63:32];
        16'h1050: read_data_o <= written_o.filter[2].value[31:0];
        16'h1054: read_data_o <= written_o.filter[2].value[63:32];
        16'h1060: read_data_o <= 32'(written_o.filter[3].control);
        16'h1064: read_data_o <= 32'(written_o.filter[3].key);
        16'h1068: read_data_o <= written_o.filter[3].mask[31:0];
        16'h106C: read_data_o <= written_o.filter[3].mask[63:32];
        16'h1070: read_data_o <= written_o.filter[3].value[31:0];
        16'h1074: read_data_o <= written_o.filter[3].value[63:32];
        16'h1080: read_data_o <= 32'(written_o.filter[4].control);
        16'h1084: read_data_o <= 32'(written_o.filter[4].key);
        16'h1088: read_data_o <= written_o.filter[4].mask[31:0];
        16'h108C: read_data_o <= written_o.filter[4].mask[63:32];
        16'h1090: read_data_o <= written_o.filter[4].value[31:0];
        16'h1094: read_data_o <= written_o.filter[4].value[63:32];
        16'h10A0: read_data_o <= 32'(written_o.filter[5].control);
        16'h10A4: read_data_o <= 32'(written_o.filter[5].key);
        16'h10A8: read_data_o <= written_o.filter[5].mask[31:0];
        16'h10AC: read_data_o <= written_o.filter[5].mask[63:32];
        16'h10B0: read_data_o <= written_o.filter[5].value[31:0];
        16'h10B4: read_data_o <= written_o.filter[5].value[63:32];
        16'h10C0: read_data_o <= 32'(written_o.filter[6].control);
        16'h10C4: read_data_o <= 32'(written_o.filter[6].key);
        16'h10C8: read_data_o <= written_o.filter[6].mask[31:0];
        16'h10CC: read_data_o <= written_o.filter[6].mask[63:32];
        16'h10D0: read_data_o <= written_o.filter[6].value[31:0];
        16'h10D4: read_data_o <= written_o.filter[6].value[63:32];
        16'h10E0: read_data_o <= 32'(written_o.filter[7].control);
        16'h10E4: read_data_o <= 32'(written_o.filter[7].key);
        16'h10E8: read_data_o <= written_o.filter[7].mask[31:0];
        16'h10EC: read_data_o <= written_o.filter[7].mask[63:32];
        16'h10F0: read_data_o <= written_o.filter[7].value[31:0];
        16'h10F4: read_data_o <= written_o.filter[7].value[63:32];
        16'h1100: read_data_o <= 32'(written_o.filter[8].control);
        16'h1104: read_data_o <= 32'(written_o.filter[8].key);
        16'h1108: read_data_o <= written_o.filter[8].mask[31:0];
        16'h110C: read_data_o <= written_o.filter[8].mask[63:32];
        16'h1110: read_data_o <= written_o.filter[8].value[31:0];
        16'h1114: read_data_o <= written_o.filter[8].value[63:32];
        16'h1120: read_data_o <= 32'(written_o.filter[9].control);
        16'h1124: read_data_o <= 32'(written_o.filter[9].key);
        16'h1128: read_data_o <= written_o.filter[9].mask[31:0];
        16'h112C: read_data_o <= written_o.filter[9].mask[63:32];
        16'h1130: read_data_o <= written_o.filter[9].value[31:0];
        16'h1134: read_data_o <= written_o.filter[9].value[63:32];
        16'h1140: read_data_o <= 32'(written_o.filter[10].control);
        16'h1144: read_data_o <= 32'(written_o.filter[10].key);
        16'h1148: read_data_o <= written_o.filter[10].mask[31:0];
        16'h114C: read_data_o <= written_o.filter[10].mask[63:32];
        16'h1150: read_data_o <= written_o.filter[10].value[31:0];
        16'h1154: read_data_o <= written_o.filter[10].value[63:32];
        16'h1160: read_data_o <= 32'(written_o.filter[11].control);
        16'h1164: read_data_o <= 32'(written_o.filter[11].key);
        16'h1168: read_data_o <= written_o.filter[11].mask[31:0];
        16'h116C: read_data_o <= written_o.filter[11].mask[63:32];
        16'h1170: read_data_o <= written_o.filter[11].value[31:0];
        16'h1174: read_data_o <= written_o.filter[11].value[63:32];
        16'h1180: read_data_o <= 32'(written_o.filter[12].control);
        16'h1184: read_data_o <= 32'(written_o.filter[12].key);
        16'h1188: read_data_o <= written_o.filter[12].mask[31:0];
        16'h118C: read_data_o <= written_o.filter[12].mask[63:32];
        16'h1190: read_data_o <= written_o.filter[12].value[31:0];
        16'h1194: read_data_o <= written_o.filter[12].value[63:32];
        16'h11A0: read_data_o <= 32'(written_o.filter[13].control);
        16'h11A4: read_data_o <= 32'(written_o.filter[13].key);
        16'h11A8: read_data_o <= written_o.filter[13].mask[31:0];
        16'h11AC: read_data_o <= written_o.filter[13].mask[63:32];
        16'h11B0: read_data_o <= written_o.filter[13].value[31:0];
        16'h11B4: read_data_o <= written_o.filter[13].value[63:32];
        16'h11C0: read_data_o <= 32'(written_o.filter[14].control);
        16'h11C4: read_data_o <= 32'(written_o.filter[14].key);
        16'h11C8: read_data_o <= written_o.filter[14].mask[31:0];
        16'h11CC: read_data_o <= written_o.filter[14].mask[63:32];
        16'h11D0: read_data_o <= written_o.filter[14].value[31:0];
        16'h11D4: read_data_o <= written_o.filter[14].value[63:32];
        16'h11E0: read_data_o <= 32'(written_o.filter[15].control);
        16'h11E4: read_data_o <= 32'(written_o.filter[15].key);
        16'h11E8: read_data_o <= written_o.filter[15].mask[31:0];
        16'h11EC: read_data_o <= written_o.filter[15].mask[63:32];
        16'h11F0: read_data_o <= written_o.filter[15].value[31:0];
        16'h11F4: read_data_o <= written_o.filter[15].value[63:32];
        16'h200C: read_data_o <= 32'(shown_i.remote[0].state);
        16'h2010: read_data_o <= 32'(shown_i.remote[0].subscribers);
        16'h2014: read_data_o <= 32'(written_o.remote[0].node);
        16'h2018: read_data_o <= 32'(written_o.remote[0].generation);
        16'h201C: read_data_o <= 32'(written_o.remote[0].slots_log2);
        16'h2020: read_data_o <= 32'(written_o.remote[0].max_record_slots);
        16'h2024: read_data_o <= 32'(written_o.remote[0].peer);
        16'h2028: read_data_o <= 32'(written_o.remote[0].landing);
        16'h202C: read_data_o <= 32'(written_o.remote[0].channel_slots);
        16'h2030: read_data_o <= 32'(written_o.remote[0].slot_bytes);
        16'h2034: read_data_o <= 32'(written_o.remote[0].origin);
        16'h2038: read_data_o <= 32'(written_o.remote[0].life);
        16'h203C: read_data_o <= 32'(written_o.remote[0].status_index);
        16'h2040: read_data_o <= written_o.remote[0].capability[31:0];
        16'h2044: read_data_o <= written_o.remote[0].capability[63:32];
        16'h2048: begin
          read_data_o <= shown_i.remote[0].begun_number[31:0];
          kept_q      <= shown_i.remote[0].begun_number[63:32];
        end
        16'h204C: read_data_o <= kept_q;
        16'h2050: begin
          read_data_o <= shown_i.remote[0].position_number[31:0];
          kept_q      <= shown_i.remote[0].position_number[63:32];
        end
        16'h2054: read_data_o <= kept_q;
        16'h2058: begin
          read_data_o <= shown_i.remote[0].position_records[31:0];
          kept_q      <= shown_i.remote[0].position_records[63:32];
        end
        16'h205C: read_data_o <= kept_q;
        16'h2060: begin
          read_data_o <= shown_i.remote[0].begun[31:0];
          kept_q      <= shown_i.remote[0].begun[63:32];
        end
        16'h2064: read_data_o <= kept_q;
        16'h2068: begin
          read_data_o <= shown_i.remote[0].messages[31:0];
          kept_q      <= shown_i.remote[0].messages[63:32];
        end
        16'h206C: read_data_o <= kept_q;
        16'h2070: begin
          read_data_o <= shown_i.remote[0].records[31:0];
          kept_q      <= shown_i.remote[0].records[63:32];
        end
        16'h2074: read_data_o <= kept_q;
        16'h2078: begin
          read_data_o <= shown_i.remote[0].slots[31:0];
          kept_q      <= shown_i.remote[0].slots[63:32];
        end
        16'h207C: read_data_o <= kept_q;
        16'h2080: begin
          read_data_o <= shown_i.remote[0].lost[31:0];
          kept_q      <= shown_i.remote[0].lost[63:32];
        end
        16'h2084: read_data_o <= kept_q;
        16'h2088: begin
          read_data_o <= shown_i.remote[0].overrun[31:0];
          kept_q      <= shown_i.remote[0].overrun[63:32];
        end
        16'h208C: read_data_o <= kept_q;
        16'h2090: read_data_o <= 32'(shown_i.remote[0].malformed);
        16'h2094: read_data_o <= 32'(shown_i.remote[0].surplus);
        16'h2098: read_data_o <= 32'(shown_i.remote[0].stray);
        16'h2400: read_data_o <= 32'(written_o.station[0].control);
        16'h2404: read_data_o <= 32'(shown_i.station[0].state);
        16'h2408: read_data_o <= 32'(written_o.station[0].address);
        16'h2410: read_data_o <= 32'(written_o.station[0].mac_high);
        16'h2414: read_data_o <= 32'(written_o.station[0].mac_low);
        16'h2420: read_data_o <= 32'(shown_i.station[0].heard);
        16'h2424: read_data_o <= 32'(shown_i.station[0].lost);
        16'h2428: read_data_o <= 32'(shown_i.station[0].sent);
        16'h2500: read_data_o <= 32'(shown_i.piece[0].word);
        16'h2504: read_data_o <= 32'(shown_i.piece[1].word);
        16'h2508: read_data_o <= 32'(shown_i.piece[2].word);
        16'h250C: read_data_o <= 32'(shown_i.piece[3].word);
        16'h2510: read_data_o <= 32'(shown_i.piece[4].word);
        16'h2514: read_data_o <= 32'(shown_i.piece[5].word);
        16'h2518: read_data_o <= 32'(shown_i.piece[6].word);
        16'h251C: read_data_o <= 32'(shown_i.piece[7].word);
        16'h2520: read_data_o <= 32'(shown_i.piece[8].word);
        16'h2524: read_data_o <= 32'(shown_i.piece[9].word);
        16'h2528: read_data_o <= 32'(shown_i.piece[10].word);
        16'h252C: read_data_o <= 32'(shown_i.piece[11].word);
        16'h2530: read_data_o <= 32'(shown_i.piece[12].word);
        16'h2534: read_data_o <= 32'(shown_i.piece[13].word);
        16'h2538: read_data_o <= 32'(shown_i.piece[14].word);
        16'h253C: read_data_o <= 32'(shown_i.piece[15].word);
        default: ;
      endcase
    end
  end
endmodule
