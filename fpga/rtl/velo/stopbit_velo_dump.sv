/// Writes messages into their slots, as posted packets of HTAX of at most a line of 64 bytes.
///
/// A slot ends with its status. In the last slot of a message, as in a slot that it does not fill, the words are right before
/// the status, so that they are one write. The first slot comes last: a reader that sees its status has the whole message.
///
/// A message of 8 bytes takes 6 cycles; each further line takes a cycle more than its words.
module stopbit_velo_dump
  import stopbit_htax_pkg::POSTED;
  import stopbit_htax_pkg::htax_header_t;
  import stopbit_nic_pkg::*;
  import stopbit_velo_pkg::*;
(
  input  logic                           clk_i,
  input  logic                           rst_ni,

  input  logic                           dump_valid_i,
  output logic                           dump_ready_o,
  input  velo_dump_t                     dump_i,
  input  logic                           place_valid_i,
  output logic                           place_ready_o,
  input  velo_place_t                    place_i,

  output logic [BankWidth+WordWidth-1:0] read_address_o,
  input  logic [63:0]                    read_data_i,
  output logic                           busy_o,     // words of a message have not left
  output logic                           free_o,
  output logic [BankWidth-1:0]           free_bank_o,

  output logic                           valid_o,
  input  logic                           ready_i,
  output logic                           last_o,     // of a packet
  output logic [63:0]                    phit_o
);
  localparam int unsigned OutDepth = 32;
  localparam int unsigned OutWidth = $clog2(OutDepth) + 1;

  typedef enum logic [2:0] {Idle, Take, Size, Header, Words, Status, Done} state_e;
  state_e      state_q;
  velo_dump_t  dump_q;
  velo_place_t first_q, place_q;
  logic        is_first_q;     // the slot being written is the message's first one
  words_t      slot_q;         // its number
  words_t      base_q;         // its first word in the message
  words_t      total, after_q; // words of the message; those after this slot's first one
  logic [4:0]  words_q;        // words of this slot that are left
  logic [4:0]  line_q;         // phits that are left in this packet
  logic [47:3] at_q;           // of the next phit
  logic [3:0]  capacity, skip;   // words of a slot; those that stay free in it
  logic [4:0]  share;
  assign share    = after_q > words_t'(capacity) ? 5'(capacity) : after_q[4:0];
  assign skip     = capacity - share[3:0];
  assign capacity = 4'((5'd2 << dump_q.slot_size) - 5'd1);
  assign total    = words_of(dump_q.status.length);

  // ---- what goes into the queue a cycle later: the memory's word, or one that is known
  typedef enum logic [1:0] {OutHeader, OutWord, OutStatus} kind_e;
  logic              room, issues, issues_q, last, last_q;
  kind_e             kind_q;
  logic [63:0]       word_q;
  logic [OutWidth-1:0] count;
  velo_slot_t        status;
  htax_header_t      header;
  logic [4:0]        phits, to_line_end;
  logic              is_end;
  assign room        = count <= OutWidth'(OutDepth - 4);
  assign is_end      = slot_q + words_t'(1) == dump_q.slots;
  assign status      = '{lap: place_q.lap, erroneous: dump_q.is_erroneous, is_last: is_end, kind: dump_q.status.kind,
                         length: 12'(dump_q.status.length) + 12'd1, tag: dump_q.status.tag, vpid: 16'(dump_q.status.vpid),
                         node: dump_q.status.node};
  assign to_line_end = 5'd8 - {2'b00, at_q[5:3]};
  assign phits       = words_q + 5'd1 > to_line_end ? to_line_end : words_q + 5'd1;
  assign header      = '{error: 1'b0, channel: POSTED, length: phits[3:0], origin: phits == 5'd1 ? 4'd7 : 4'd0,
                         tag: phits == 5'd1 ? 5'd31 : 5'd0, address: {at_q, 3'b000}};
  assign issues      = room && (state_q == Header || state_q == Words || state_q == Status);
  assign last        = state_q != Header && line_q == 5'd1;
  assign read_address_o = {dump_q.bank, base_q[WordWidth-1:0]};

  always_ff @(posedge clk_i) begin
    last_q <= last;
    kind_q <= state_q == Header ? OutHeader : state_q == Words ? OutWord : OutStatus;
    word_q <= state_q == Header ? header : status;
  end
  always_ff @(posedge clk_i) issues_q <= rst_ni && issues;

  logic out_has_room;
  stopbit_fifo #(.Width(65), .Depth(OutDepth)) i_out (
    .clk_i, .rst_ni,
    .valid_i(issues_q), .ready_o(out_has_room), .data_i({last_q, kind_q == OutWord ? read_data_i : word_q}),
    .valid_o, .ready_i, .double_i(1'b0), .single_o(), .data_o({last_o, phit_o}), .count_o(count)
  );

  assign busy_o = state_q != Idle || issues_q || count != '0;

  // ---- slots: the second one to the last one, then the first one
  logic takes_first, takes_next;
  assign takes_first   = state_q == Idle && dump_valid_i && dump_i.slots != '0 && place_valid_i;
  assign takes_next    = state_q == Take && place_valid_i;
  assign place_ready_o = takes_first || takes_next;
  assign dump_ready_o  = (state_q == Idle && dump_valid_i && dump_i.slots == '0) || state_q == Done;
  assign free_o        = dump_valid_i && dump_ready_o && dump_i.frees;
  assign free_bank_o   = dump_i.bank;

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Idle: begin
        dump_q     <= dump_i;
        first_q    <= place_i;
        place_q    <= place_i;
        is_first_q <= dump_i.slots == words_t'(1);
        slot_q     <= words_t'(dump_i.slots != words_t'(1));
        base_q     <= '0;
        after_q    <= words_of(dump_i.status.length);
      end
      Take: begin
        place_q <= place_i;
        if (slot_q == words_t'(1)) begin
          base_q  <= words_t'(capacity);
          after_q <= total - words_t'(capacity);
        end
      end
      Size: begin
        words_q <= share;
        at_q    <= {place_q.address, 1'b0} + 45'(skip);
      end
      Header: line_q <= phits;
      Words: if (room) begin
        words_q <= words_q - 5'd1;
        line_q  <= line_q - 5'd1;
        base_q  <= base_q + words_t'(1);
        after_q <= after_q - words_t'(1);
        at_q    <= at_q + 45'd1;
      end
      Status: if (room) begin
        if (is_end || is_first_q) begin
          is_first_q <= 1'b1;
          slot_q     <= '0;
          place_q    <= first_q;
          base_q     <= '0;
          after_q    <= total;
        end else begin
          slot_q <= slot_q + words_t'(1);
        end
      end
      default: ;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (takes_first) state_q <= dump_i.slots == words_t'(1) ? Size : Take;
        Take: if (place_valid_i) state_q <= Size;
        Size: state_q <= Header;
        Header: if (room) state_q <= words_q == '0 ? Status : Words;
        Words: if (room) begin
          if (line_q == 5'd1) state_q <= Header;
          else if (words_q == 5'd1) state_q <= Status;
        end
        Status: if (room) state_q <= is_first_q ? Done : is_end ? Size : Take;
        default: state_q <= Idle;
      endcase
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) out_fits : assert (!issues_q || out_has_room);
  end
`endif
endmodule
