/// Accesses of a bus to registers in another clock. fpga/registers/README.md.
///
/// An access is done when the registers have answered; while their clock is stopped, it is not. So the bus needs a time limit
/// (stopbit_register_port). After an access that was given up the next one waits until the clock runs again. `rst_ni` is the
/// bus's: an access that is under way is given up. The first reset of the registers lasts a few cycles of their clock.
module stopbit_register_crossing (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        access_i,
  input  logic        write_i,
  input  logic [15:0] address_i,
  input  logic [31:0] data_i,
  output logic        done_o,
  output logic        refused_o,
  output logic [31:0] data_o,

  input  logic        block_clk_i,
  input  logic        block_rst_ni,
  output logic        block_access_o,
  output logic        block_write_o,
  output logic [15:0] block_address_o,
  output logic [31:0] block_data_o,
  input  logic        block_refused_i,
  input  logic [31:0] block_data_i
);
  logic        turn, cancel, write, answer_turn, refused;
  logic [15:0] address;
  logic [31:0] data, answer;
  stopbit_register_request request (
    .clk_i, .rst_ni, .access_i, .write_i, .address_i, .data_i, .done_o, .refused_o, .data_o,
    .turn_o(turn), .cancel_o(cancel), .write_o(write), .address_o(address), .data_held_o(data),
    .turn_i(answer_turn), .refused_i(refused), .data_held_i(answer)
  );
  stopbit_register_answer answering (
    .clk_i(block_clk_i), .rst_ni(block_rst_ni),
    .turn_i(turn), .cancel_i(cancel), .write_i(write), .address_i(address), .data_held_i(data),
    .turn_o(answer_turn), .refused_o(refused), .data_held_o(answer),
    .access_o(block_access_o), .write_o(block_write_o), .address_o(block_address_o), .data_o(block_data_o),
    .refused_i(block_refused_i), .data_i(block_data_i)
  );
endmodule
