/// The CRC-32 of Ethernet after `Bytes` more bytes, in one step: each bit of the result is the parity of those bits of the
/// data that reach it, one balanced tree of XORs instead of a chain through every bit.
///
/// In this reflected form a bit of the CRC counts like the bit of the data at its place. Bits of the CRC for which there is
/// no data (fewer than four bytes) move down.
module stopbit_crc_step #(
  parameter  int unsigned Bytes = 64,
  localparam int unsigned Bits  = 8 * Bytes
) (
  input  logic [31:0]     crc_i,
  input  logic [Bits-1:0] data_i,  // bit 0 comes first
  output logic [31:0]     crc_o
);
  if (Bytes < 1) $fatal(1, "stopbit_crc_step: Bytes is %0d, needs at least 1", Bytes);

  localparam logic [31:0] Polynomial = 32'hEDB8_8320;  // reflected

  // What each bit of the data adds to the result, 32 bits a place: the polynomial, moved on by the bits after it.
  function automatic logic [32*Bits-1:0] weights();
    logic [31:0] weight;
    weight = Polynomial;
    for (int unsigned i = 0; i < Bits; i++) begin
      weights[32*(Bits-1-i)+:32] = weight;
      weight = {1'b0, weight[31:1]} ^ (weight[0] ? Polynomial : 32'd0);
    end
  endfunction
  localparam logic [32*Bits-1:0] Weights = weights();

  logic [Bits-1:0] mixed;
  logic [31:0]     moved;
  if (Bits < 32) begin : gen_few
    assign mixed = data_i ^ crc_i[Bits-1:0];
    assign moved = {{Bits{1'b0}}, crc_i[31:Bits]};
  end else if (Bits == 32) begin : gen_word
    assign mixed = data_i ^ crc_i;
    assign moved = '0;
  end else begin : gen_many
    assign mixed = {data_i[Bits-1:32], data_i[31:0] ^ crc_i};
    assign moved = '0;
  end

  for (genvar out = 0; out < 32; out++) begin : gen_out
    logic [Bits-1:0] reaching;
    for (genvar in = 0; in < Bits; in++) begin : gen_in
      assign reaching[in] = mixed[in] & Weights[32*in+out];
    end
    assign crc_o[out] = moved[out] ^ (^reaching);
  end
endmodule
