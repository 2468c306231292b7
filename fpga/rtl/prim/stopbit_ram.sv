/// Memory with one write and one read port. A word written in one cycle is read in the next.
///
/// `read_data_o` is the word at `read_address_i` one cycle earlier; a write of the same cycle is not seen.
/// The clocks may differ: then the user sees to it that an address is read only when its word has long been written.
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
  logic [Width-1:0] words [0:Depth-1];

  always_ff @(posedge write_clk_i) begin
    if (write_i) words[write_address_i] <= write_data_i;
  end
  always_ff @(posedge read_clk_i) begin
    read_data_o <= words[read_address_i];
  end
endmodule
