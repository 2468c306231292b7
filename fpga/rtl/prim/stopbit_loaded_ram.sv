/// Memory that one side loads, and can read back, while the other side reads it.
///
/// `read_data_o` and `back_data_o` are the words at `read_address_i` and `write_address_i` one cycle earlier; a
/// write of the same cycle is not seen. A block RAM with two ports has both without another one.
module stopbit_loaded_ram #(
  parameter  int unsigned Width        = 8,
  parameter  int unsigned Depth        = 16,
  localparam int unsigned AddressWidth = $clog2(Depth)
) (
  input  logic                    write_clk_i,
  input  logic                    write_i,
  input  logic [AddressWidth-1:0] write_address_i,
  input  logic [Width-1:0]        write_data_i,
  output logic [Width-1:0]        back_data_o,
  input  logic                    read_clk_i,
  input  logic [AddressWidth-1:0] read_address_i,
  output logic [Width-1:0]        read_data_o
);
  logic [Width-1:0] words [0:Depth-1];

  always_ff @(posedge write_clk_i) begin
    if (write_i) words[write_address_i] <= write_data_i;
    back_data_o <= words[write_address_i];
  end
  always_ff @(posedge read_clk_i) begin
    read_data_o <= words[read_address_i];
  end
endmodule
