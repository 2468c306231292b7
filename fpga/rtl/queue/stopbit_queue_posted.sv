/// Makes commands of posted writes: the central flow-controlled queue, one for all ports (Nuessle 6.5), with commands that carry
/// their data (6.6).
///
/// A store of 16 bytes is a command by itself, some of it in its address. A line of 64 bytes is one when all of its words have
/// come: at once, or in pieces and in any order, as processors write combining buffers back. A port has two lines under way, one
/// with an even and one with an odd number. A piece of another line, or a word that comes again, begins the line anew.
///
/// Nothing is refused for lack of room: the stream waits, and with it all that follows on its channel. What is no command is
/// taken, and left out with an event. A port that is opened or closed loses the lines it has begun.
///
/// An entry, queue_entry_t and the words, goes to the queue of its unit.
module stopbit_queue_posted
  import stopbit_htax_pkg::htax_header_t;
  import stopbit_nic_pkg::*;
  import stopbit_queue_pkg::*;
#(
  parameter  int unsigned Ports     = 64,
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  queue_port_t [Ports-1:0] ports_i,
  input  logic                    clear_valid_i,
  output logic                    clear_ready_o,
  input  logic [PortWidth-1:0]    clear_port_i,

  input  logic                    valid_i,
  output logic                    ready_o,
  input  logic [63:0]             phit_i,

  output logic [Targets-1:0]      valid_o,
  input  logic [Targets-1:0]      ready_i,
  output logic                    last_o,
  output logic [63:0]             data_o,

  output logic                    event_valid_o,
  output queue_event_t            event_o
);
  if (Ports < 2 || Ports > 65536 || (Ports & (Ports - 1)) != 0) $fatal(1, "stopbit_queue_posted: Ports is %0d", Ports);

  typedef enum logic [2:0] {Head, Begin, Piece, Ask, Entry, Move, Drop} state_e;
  state_e state_q;

  // ---- the header
  htax_header_t   header;
  queue_address_t address;
  queue_port_t    port;
  logic [4:0]     error;
  logic [3:0]     end_at;  // after the last word, in the line
  logic           is_whole, takes, begins;
  assign header   = phit_i;
  assign address  = header.address[27:0];
  assign port     = ports_i[address.vpid[PortWidth-1:0]];
  assign end_at   = {1'b0, header.address[5:3]} + header.length;
  assign is_whole = !address.is_short && header.length == 4'd8;
  assign takes    = valid_i && ready_o;
  assign begins   = state_q == Head && takes;
  always_comb begin
    error = ERR_NOERR;
    if (32'(address.vpid) >= Ports || port.state != PORT_ENABLED) error = ERR_OVPID_INV;
    else if (header.error || header.length == '0 || header.length > 4'd8) error = ERR_OLENGTH;
    else if (header.address[2:0] != '0 || (header.length == 4'd1 && {header.origin[2:0], header.tag} != '1)) error = ERR_OOFFSET;
    else if (address.is_short) begin
      if (header.length != 4'd2) error = ERR_OLENGTH;
      else if (address.offset != '0) error = ERR_OOFFSET;
      else if (address.code == 3'd0 || address.code > SHORT_MESSAGE) error = ERR_CMD_INV;
    end else if (end_at > 4'd8) error = ERR_OLENGTH;
  end

  // ---- lines that have begun: their number in the page, and which words have come
  queue_entry_t         entry_q;
  logic                 is_used, is_used_q, odd_q, restarts;
  logic [3:0]           line_q, line;
  logic [3:0]           left_q;  // words of the packet; of the entry
  logic [2:0]           word_q;  // the next one
  logic [PortWidth:0]   slot, slot_q;
  logic [LineWords-1:0] marks, marks_q, mark, covers;
  logic [2*Ports-1:0]   used_q;
  logic                 is_last, stores;
  assign is_last = left_q == 4'd1;
  assign stores  = state_q == Piece && takes;
  assign slot    = {address.vpid[PortWidth-1:0], header.address[6]};
  assign slot_q  = {entry_q.vpid[PortWidth-1:0], odd_q};
  assign mark    = LineWords'(1) << word_q;
  stopbit_ram #(.Width(LineWords + 4), .Depth(2 * Ports)) i_marks (
    .write_clk_i(clk_i), .write_i(stores), .write_address_i(slot_q), .write_data_i({line_q, marks_q | mark}),
    .read_clk_i(clk_i), .read_address_i(slot), .read_data_o({line, marks})
  );
  always_comb begin
    for (int unsigned i = 0; i < LineWords; i++) covers[i] = 4'(i) >= {1'b0, word_q} && 4'(i) < {1'b0, word_q} + left_q;
  end
  assign is_used  = used_q[slot];
  assign restarts = is_used_q && (line != line_q || (marks & covers) != '0);

  // ---- words of the entry: from the packet, or as they were kept
  logic                       copies_q, has_word, moves;
  logic [63:0]                kept, word;
  logic [2:0]                 next_word;
  logic [$clog2(Targets)-1:0] target, target_q;
  stopbit_ram #(.Width(64), .Depth(2 * Ports * LineWords)) i_words (
    .write_clk_i(clk_i), .write_i(stores), .write_address_i({slot_q, word_q}), .write_data_i(phit_i),
    .read_clk_i(clk_i), .read_address_i({slot_q, next_word}), .read_data_o(kept)
  );
  assign word     = copies_q ? kept : phit_i;
  assign has_word = copies_q || valid_i;
  always_comb begin
    target = target_q;
    if (state_q == Entry) target = 1'(Transfers);
    if (state_q == Entry && (entry_q.is_short ? entry_q.code == SHORT_MESSAGE : word[7:0] == FastSend)) target = 1'(Messages);
  end
  always_comb begin
    valid_o         = '0;
    valid_o[target] = (state_q == Entry || state_q == Move) && has_word;
  end
  assign moves     = (state_q == Entry || state_q == Move) && has_word && ready_i[target];
  assign last_o    = state_q == Move && left_q == (entry_q.is_short ? 4'd1 : 4'd2);  // the last word of a line is left out
  assign data_o    = state_q == Entry ? entry_q : word;
  assign next_word = word_q + 3'(moves && state_q == Move);
  assign clear_ready_o = state_q == Head;
  assign ready_o = (state_q == Head && !clear_valid_i) || state_q == Piece || state_q == Drop ||
                   (state_q == Move && !copies_q && ready_i[target]);

  always_ff @(posedge clk_i) begin
    if (begins) begin
      entry_q    <= '{zero0: '0, is_counted: 1'b0, life: port.life, is_short: address.is_short, by_lines: address.by_lines,
                      responder: address.responder, completer: address.completer, requester: address.requester,
                      code: address.code, zero1: '0, vpid: address.vpid, zero2: '0};
      is_used_q  <= is_used;
      copies_q   <= 1'b0;
      line_q     <= header.address[10:7];
      odd_q      <= header.address[6];
      word_q     <= header.address[5:3];
      left_q     <= header.length;
    end else if (state_q == Ask) begin
      copies_q <= 1'b1;
      left_q   <= 4'(LineWords);
    end else if (stores || (state_q == Move && moves) || (state_q == Drop && takes)) begin
      word_q <= stores && is_last ? '0 : word_q + 3'd1;
      left_q <= left_q - 4'd1;
    end
    target_q <= target;
    if (state_q == Begin) marks_q <= is_used_q && !restarts ? marks : '0;
    else if (stores) marks_q <= marks_q | mark;
    event_o <= '{vpid: state_q == Head ? address.vpid : entry_q.vpid, error: state_q == Head ? error : ERR_NOERR,
                 gives_up: state_q == Begin || error == ERR_NOERR};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q       <= Head;
      used_q        <= '0;
      event_valid_o <= 1'b0;
    end else begin
      event_valid_o <= (begins && (error != ERR_NOERR || (is_whole && is_used))) || (state_q == Begin && restarts);
      unique case (state_q)
        Head: begin
          if (clear_valid_i) used_q[{clear_port_i, 1'b0} +: 2] <= '0;
          else if (begins) begin
            if (error != ERR_NOERR) state_q <= header.length == '0 ? Head : Drop;
            else state_q <= address.is_short || is_whole ? Entry : Begin;
            if (error == ERR_NOERR && is_whole) used_q[slot] <= 1'b0;
          end
        end
        Begin:   state_q <= Piece;
        Piece: if (takes && is_last) begin
          state_q        <= &(marks_q | mark) ? Ask : Head;
          used_q[slot_q] <= !(&(marks_q | mark));
        end
        Ask:     state_q <= Entry;  // for the first word that was kept
        Entry:   if (moves) state_q <= Move;
        Move:    if (moves && last_o) state_q <= entry_q.is_short || copies_q ? Head : Drop;
        default: if (takes && is_last) state_q <= Head;
      endcase
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      one_unit_at_a_time : assert ((valid_o & (valid_o - 1'b1)) == '0);
    end
  end
`endif
endmodule
