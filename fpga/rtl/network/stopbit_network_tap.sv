/// A stream between port and unit that can be held, and then taken out and put in word by word (Geib 4.5).
///
/// | address | written | read |
/// |---|---|---|
/// | 0 | bit 0: hold | bit 0: it is held |
/// | 1 | data of the word that address 2 puts in | data of the word that waits |
/// | 2 | puts it in: bits 0 first, 1 last, 2 bad, 7:4 channel | the same bits of the word that waits; 8: one waits; 9: what was put in still waits; 10: something was refused |
/// | 3 | takes the word that waits | as 2 |
///
/// A hold works at once, also while the reader of the stream does not move: a word that was offered is taken back.
module stopbit_network_tap
  import stopbit_network_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        write_i,
  input  logic [1:0]  address_i,
  input  logic [63:0] data_i,
  output logic [63:0] data_o,
  output logic        holds_o,

  input  logic        valid_i,
  output logic        ready_o,
  input  word_t       word_i,
  output logic        valid_o,
  input  logic        ready_i,
  output word_t       word_o
);
  word_t       put_q;
  logic [63:0] new_q;
  logic        busy_q, refused_q, puts, takes;
  assign puts  = write_i && address_i == 2'd2;
  assign takes = write_i && address_i == 2'd3;

  assign ready_o = holds_o ? takes : ready_i && !busy_q;
  assign valid_o = busy_q || (valid_i && !holds_o);
  assign word_o  = busy_q ? put_q : word_i;

  always_comb begin
    data_o = '0;
    if (address_i == 2'd0) data_o[0] = holds_o;
    else if (address_i == 2'd1) data_o = word_i.data;
    else begin
      data_o[10:8] = {refused_q, busy_q, valid_i};
      if (valid_i) data_o[7:0] = {word_i.channel, 1'b0, word_i.is_bad, word_i.is_last, word_i.is_first};
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_i && address_i == 2'd1) new_q <= data_i;
    if (puts && holds_o && !busy_q) begin
      put_q <= '{channel: data_i[7:4], is_bad: data_i[2], is_last: data_i[1], is_first: data_i[0], data: new_q};
    end
    if (!rst_ni) begin
      holds_o   <= 1'b0;
      busy_q    <= 1'b0;
      refused_q <= 1'b0;
    end else begin
      if (write_i && address_i == 2'd0) holds_o <= data_i[0];
      if (busy_q) busy_q <= !ready_i;
      else busy_q <= puts && holds_o;
      // Nothing to take, or no place to put it.
      if (write_i && address_i == 2'd0) refused_q <= 1'b0;
      else if ((puts && (!holds_o || busy_q)) || (takes && !(holds_o && valid_i))) refused_q <= 1'b1;
    end
  end
endmodule
