/// Checks the frame check sequence: CRC-32 over a frame with its last four bytes, which are the sequence itself.
///
/// `bad_o` belongs to the last beat of a frame, two cycles later (of cycles in which `go_i` is high). Whole beats take one
/// step of 64 bytes; the last one goes in steps of 32, 16, 8, 4, 2 and 1 bytes as it needs them, over both cycles.
module stopbit_fcs (
  input  logic         clk_i,
  input  logic         go_i,
  input  logic         valid_i,
  input  logic         first_i,
  input  logic         last_i,
  input  logic [6:0]   bytes_i,  // of the last beat, 1 to 64; the others are whole
  input  logic [511:0] data_i,
  output logic         bad_o
);
  localparam logic [31:0] Polynomial = 32'hEDB8_8320;  // reflected
  localparam logic [31:0] Residue    = 32'hDEBB_20E3;  // what is left if the sequence is right

  // The CRC of `count` bytes more, `count` a constant.
  function automatic logic [31:0] crc_after(input logic [31:0] crc, input logic [511:0] data, input int unsigned count);
    crc_after = crc;
    for (int unsigned i = 0; i < 8 * count; i++) begin
      crc_after = {1'b0, crc_after[31:1]} ^ ((crc_after[0] ^ data[i]) ? Polynomial : 32'd0);
    end
  endfunction

  logic [31:0]  crc_q, begun, upper_d, upper_q, lower;
  logic [127:0] rest_d, rest_q;
  logic [3:0]   rest_bytes_q;
  logic [511:0] left;

  assign begun = first_i ? 32'hFFFF_FFFF : crc_q;

  always_comb begin
    upper_d = begun;
    left    = data_i;
    if (bytes_i[6]) begin
      upper_d = crc_after(begun, data_i, 64);
    end else begin
      if (bytes_i[5]) begin
        upper_d = crc_after(upper_d, left, 32);
        left    = {256'd0, left[511:256]};
      end
      if (bytes_i[4]) begin
        upper_d = crc_after(upper_d, left, 16);
        left    = {128'd0, left[511:128]};
      end
    end
    rest_d = left[127:0];
  end

  always_comb begin
    logic [511:0] data;
    data  = {384'd0, rest_q};
    lower = upper_q;
    if (rest_bytes_q[3]) begin
      lower = crc_after(lower, data, 8);
      data  = {64'd0, data[511:64]};
    end
    if (rest_bytes_q[2]) begin
      lower = crc_after(lower, data, 4);
      data  = {32'd0, data[511:32]};
    end
    if (rest_bytes_q[1]) begin
      lower = crc_after(lower, data, 2);
      data  = {16'd0, data[511:16]};
    end
    if (rest_bytes_q[0]) lower = crc_after(lower, data, 1);
  end

  always_ff @(posedge clk_i) begin
    if (go_i) begin
      if (valid_i && !last_i) crc_q <= upper_d;
      upper_q      <= upper_d;
      rest_q       <= rest_d;
      rest_bytes_q <= bytes_i[6] ? 4'd0 : bytes_i[3:0];
      bad_o        <= lower != Residue;
    end
  end
endmodule
