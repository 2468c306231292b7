/// The CRC-32 of cells with their kinds. `part_o` is for a cell of a packet that is not its last, `end_o` what a last cell or
/// a control cell has to carry after its upper half.
module stopbit_link_crc
  import stopbit_link_pkg::*;
(
  input  logic [31:0] crc_i,  // of the cells before
  input  logic        first_i,  // there are none
  input  cell_t       cell_i,
  output logic [31:0] part_o,
  output logic [31:0] end_o
);
  logic [31:0] begun, after;
  assign begun = first_i ? 32'hFFFF_FFFF : crc_i;

  stopbit_crc_step #(.Bytes(9)) whole (.crc_i(begun), .data_i({cell_i.data, 6'd0, cell_i.kind}), .crc_o(part_o));
  stopbit_crc_step #(.Bytes(5)) upper (.crc_i(begun), .data_i({cell_i.data[63:32], 6'd0, cell_i.kind}), .crc_o(after));
  assign end_o = ~after;
endmodule
