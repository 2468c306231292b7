module proof_record_packer (
  input logic                            clk_i,
  input logic                            rst_ni,
  input logic                            valid_i,
  input stopbit_uop_pkg::command_t       command_i,
  input stopbit_uop_pkg::record_header_t header_i,
  input logic                            ready_i
);
  logic ready, valid;
  stopbit_pkg::stopbit_slot_t slot;
  formal_reset i_reset (.clk_i, .rst_ni);
  stopbit_record_packer i_dut (
    .clk_i, .rst_ni, .valid_i, .ready_o(ready), .command_i, .header_i, .valid_o(valid), .ready_i, .slot_o(slot)
  );
  formal_stream #(.Width($bits(stopbit_pkg::stopbit_slot_t))) i_out (.clk_i, .rst_ni, .valid_i(valid), .ready_i, .data_i(slot));
endmodule
