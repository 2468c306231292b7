/// In the place of rtl/prim/stopbit_ram.sv where a proof does not ask what memory holds: a word read may be anything.
module stopbit_ram #(
  parameter  int unsigned Width        = 8,
  parameter  int unsigned Depth        = 16,
  localparam int unsigned AddressWidth = $clog2(Depth)
) (
  input  logic                    write_clk_i,
  input  logic                    write_i,
  input  logic [AddressWidth-1:0] write_address_i,
  input  logic [Width-1:0]        write_data_i,
  input  logic                    read_clk_i,
  input  logic [AddressWidth-1:0] read_address_i,
  output logic [Width-1:0]        read_data_o
);
  // Nothing drives it: the solver chooses.
endmodule
