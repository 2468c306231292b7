/// Stands in the decode core's place to test the kernel around it. It decodes nothing: each datagram becomes a record of
/// one slot, with template index 0, that says its number, channel, length, arrival, first eight bytes, the sum of all
/// bytes, and how many words of firmware were loaded; a datagram whose first byte is 0xFF is a record that is given up. One
/// that begins with eight bytes 0xFE becomes a record that contradicts itself. A datagram without bytes that was cut becomes
/// an event record with its number in word 6.
module stopbit_core
  import stopbit_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  stopbit_load_t     load_i,
  output logic [31:0]       back_data_o,
  input  logic              valid_i,
  output logic              ready_o,
  input  stopbit_datagram_t datagram_i,
  input  stopbit_beat_t     beat_i,
  output logic              valid_o,
  input  logic              ready_i,
  output stopbit_slot_t     slot_o,
  output logic              datagram_done_o,
  output logic [1:0]        issued_o
);
  logic        full_q, first_q, aborted_q;
  logic [63:0] head_q, sum_q, sum;
  logic [31:0] loaded_q;
  stopbit_datagram_t datagram_q;

  always_comb begin
    sum = first_q ? '0 : sum_q;
    for (int unsigned i = 0; i < BeatBytes; i++) begin
      if (5'(i) < beat_i.count) sum += 64'(beat_i.data[8*i +: 8]);
    end
  end

  logic [31:0] words [0:2*8*64-1];
  logic [9:0]  word;
  assign word = {load_i.bank, load_i.address[18:16], load_i.address[5:0]};
  always_ff @(posedge clk_i) begin
    if (load_i.valid) words[word] <= load_i.data;
    back_data_o <= words[word];
  end

  assign ready_o         = !full_q;
  assign valid_o         = full_q;
  assign datagram_done_o = valid_o && ready_i;
  assign issued_o        = 2'(valid_i && ready_o);

  always_comb begin
    slot_o = '{data: '0, index: '0, last: !aborted_q, aborted: aborted_q};
    slot_o.data[31:16]   = head_q == {8{8'hFE}} ? 16'd2 : 16'd1;  // slots
    slot_o.data[127:64]  = datagram_q.arrival_ns;
    slot_o.data[175:128] = {datagram_q.channel, datagram_q.sequence_number};
    slot_o.data[255:192] = {datagram_q.time_quality, datagram_q.source, datagram_q.sender_epoch, 15'b0, datagram_q.cut, 16'b0};
    slot_o.data[319:256] = {datagram_q.number[31:0], datagram_q.data_offset, datagram_q.length_bytes[15:0]};
    slot_o.data[383:320] = head_q;
    slot_o.data[447:384] = {loaded_q, sum_q[31:0]};
    slot_o.data[511:448] = 64'h0003_0201_FBFA_F9F8;
    if (datagram_q.cut && datagram_q.length_bytes == '0) begin
      slot_o.data[15:0]    = EventIndex;
      slot_o.data[255:192] = {datagram_q.time_quality, datagram_q.source, datagram_q.sender_epoch, 32'b0};
      slot_o.data[447:256] = {datagram_q.number, 64'b0, 64'h00FF_FFFF_FFFF_0101};
      slot_o.data[511:448] = 64'h00FC_FCFC_FBFA_F9F8;
    end
  end

  always_ff @(posedge clk_i) begin
    if (valid_i && ready_o) begin
      sum_q      <= sum;
      datagram_q <= datagram_i;
      if (first_q) head_q <= beat_i.data[63:0];
      if (first_q) aborted_q <= beat_i.count != '0 && beat_i.data[7:0] == 8'hFF;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      full_q   <= 1'b0;
      first_q  <= 1'b1;
      loaded_q <= '0;
    end else begin
      if (valid_i && ready_o) begin
        first_q <= beat_i.last;
        full_q  <= beat_i.last;
      end
      if (valid_o && ready_i) full_q <= 1'b0;
      if (load_i.valid) loaded_q <= loaded_q + 32'd1;
    end
  end

  logic unused;
  assign unused = &{1'b0, load_i, datagram_q.length_bytes[16], sum_q[63:32]};
endmodule
