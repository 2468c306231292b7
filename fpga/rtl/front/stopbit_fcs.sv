/// Checks the frame check sequence: CRC-32 over a frame with its last four bytes, which are the sequence itself.
///
/// `bad_o` belongs to the last beat of a frame, two cycles later (of cycles in which `go_i` is high). Whole beats take one
/// step of 64 bytes; the last one takes up to three smaller ones, over both cycles.
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
  localparam logic [31:0] Residue = 32'hDEBB_20E3;  // what is left if the sequence is right

  logic [31:0]  crc_q, begun, upper_d, upper_q, lower;
  logic [119:0] rest_d, rest_q;  // what the first cycle leaves, at most 15 bytes
  logic [3:0]   rest_bytes_q;

  assign begun = first_i ? 32'hFFFF_FFFF : crc_q;

  // The first of the two cycles takes 16, 32, 48 or 64 bytes; the second one 4, 8 or 12, and then 1, 2 or 3.
  logic [31:0] after16, after32, after48, after64;
  stopbit_crc_step #(.Bytes(16)) step16 (.crc_i(begun), .data_i(data_i[127:0]), .crc_o(after16));
  stopbit_crc_step #(.Bytes(32)) step32 (.crc_i(begun), .data_i(data_i[255:0]), .crc_o(after32));
  stopbit_crc_step #(.Bytes(48)) step48 (.crc_i(begun), .data_i(data_i[383:0]), .crc_o(after48));
  stopbit_crc_step #(.Bytes(64)) step64 (.crc_i(begun), .data_i, .crc_o(after64));

  logic [31:0] after4, after8, after12, words;
  logic [23:0] tail;
  stopbit_crc_step #(.Bytes(4)) step4 (.crc_i(upper_q), .data_i(rest_q[31:0]), .crc_o(after4));
  stopbit_crc_step #(.Bytes(8)) step8 (.crc_i(upper_q), .data_i(rest_q[63:0]), .crc_o(after8));
  stopbit_crc_step #(.Bytes(12)) step12 (.crc_i(upper_q), .data_i(rest_q[95:0]), .crc_o(after12));

  logic [31:0] after1, after2, after3;
  stopbit_crc_step #(.Bytes(1)) step1 (.crc_i(words), .data_i(tail[7:0]), .crc_o(after1));
  stopbit_crc_step #(.Bytes(2)) step2 (.crc_i(words), .data_i(tail[15:0]), .crc_o(after2));
  stopbit_crc_step #(.Bytes(3)) step3 (.crc_i(words), .data_i(tail), .crc_o(after3));

  always_comb begin
    unique case (bytes_i[5:4])
      2'd0: {upper_d, rest_d} = {begun, data_i[119:0]};
      2'd1: {upper_d, rest_d} = {after16, data_i[247:128]};
      2'd2: {upper_d, rest_d} = {after32, data_i[375:256]};
      2'd3: {upper_d, rest_d} = {after48, data_i[503:384]};
    endcase
    if (bytes_i[6]) upper_d = after64;
  end

  always_comb begin
    unique case (rest_bytes_q[3:2])
      2'd0: {words, tail} = {upper_q, rest_q[23:0]};
      2'd1: {words, tail} = {after4, rest_q[55:32]};
      2'd2: {words, tail} = {after8, rest_q[87:64]};
      2'd3: {words, tail} = {after12, rest_q[119:96]};
    endcase
  end

  always_comb begin
    unique case (rest_bytes_q[1:0])
      2'd0: lower = words;
      2'd1: lower = after1;
      2'd2: lower = after2;
      2'd3: lower = after3;
    endcase
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
