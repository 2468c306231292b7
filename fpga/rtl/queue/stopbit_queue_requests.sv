/// Requests that are answered with what became of them: a write of a line that is accepted or refused as a whole, the
/// transactional port (Nuessle 6.4); and reads whose address is a command, the trigger page (Froening 9).
///
/// A port has `limit_i` places for commands that were accepted and have not left; they are shared by both forms. So a port whose
/// commands do not leave is refused, and no other port by it, as long as the stores have room for all places. Nothing of a
/// request that is refused stays.
///
/// The answer is a queue_reply_t; of a read of several words as often.
module stopbit_queue_requests
  import stopbit_htax_pkg::*;
  import stopbit_queue_pkg::*;
#(
  parameter  int unsigned Ports     = 64,
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  queue_port_t [Ports-1:0] ports_i,
  input  logic [PlaceWidth-1:0]   limit_i,  // 1 to 64

  input  logic                    valid_i,
  output logic                    ready_o,
  input  logic [63:0]             phit_i,
  output logic                    valid_o,
  input  logic                    ready_i,
  output logic [63:0]             phit_o,

  output logic [Targets-1:0]      put_valid_o,
  input  logic [Targets-1:0]      put_ready_i,
  output logic                    put_last_o,
  output logic                    put_drop_o,
  output logic [63:0]             put_data_o,

  output logic                    trigger_valid_o,
  input  logic                    trigger_ready_i,
  output queue_trigger_t          trigger_o,

  input  logic                    places_ready_i,
  output logic [PortWidth-1:0]    port_o,
  input  logic [PlaceWidth-1:0]   count_i,
  output logic                    add_o,
  output logic [PlaceWidth-1:0]   add_count_o
);
  typedef enum logic [2:0] {Head, Look, Judge, Words, Drop, Answer, Data} state_e;
  state_e                state_q;
  htax_header_t          header, header_q, answer;
  queue_address_t        address, address_q;
  queue_entry_t          entry;
  queue_reply_t          reply_q;
  queue_port_t           port_q;
  logic [3:0]            left_q, answers_q;
  logic                  target, target_q, takes;
  logic [PlaceWidth-1:0] room_q, part, rest, wanted;
  logic [3:0]            command;
  assign header    = phit_i;
  assign address   = header.address[27:0];
  assign address_q = header_q.address[27:0];
  assign takes     = valid_i && ready_o;
  assign port_o    = state_q == Head ? address.vpid[PortWidth-1:0] : address_q.vpid[PortWidth-1:0];
  assign command   = header_q.address[11:8];
  assign wanted    = PlaceWidth'(header_q.address[7:3]);

  // ---- what a request may do, when its first phit of data is here
  logic       is_read, is_line, accepts_line, accepts_trigger, issues;
  logic [3:0] code;
  assign is_read = header_q.length == 4'd1;
  assign is_line = header_q.length == 4'(LineWords) && !address_q.is_short && header_q.address[5:0] == '0;
  assign target  = phit_i[7:0] == FastSend ? 1'(Messages) : 1'(Transfers);
  assign part    = wanted < room_q ? wanted : room_q;
  assign rest    = room_q - part;
  assign issues  = command == TRIGGER_ISSUE && wanted != '0;
  always_comb begin
    code = REPLY_NOERR;
    if (port_q.state == PORT_DISABLED) code = REPLY_DISABLED;
    else if (is_read && phit_i != 64'd1) code = REPLY_BURST;
    else if (port_q.state != PORT_ENABLED) code = REPLY_FORBIDDEN;
    else if (is_read) begin
      if (command > TRIGGER_LAST || header_q.address[2:0] != '0 || header_q.error) code = REPLY_INVALID;
      else if ((issues && room_q == '0) || (!trigger_ready_i && (issues || command != TRIGGER_ISSUE))) code = REPLY_FULL;
      else if (issues && part != wanted) code = REPLY_PARTIAL;
    end else begin
      if (!is_line || header_q.error || phit_i[7:0] == '0 || phit_i[7:0] > LastCommand) code = REPLY_INVALID;
      else if (room_q == '0 || !put_ready_i[target]) code = REPLY_FULL;
    end
  end
  assign accepts_line    = state_q == Judge && valid_i && !is_read && code == REPLY_NOERR;
  assign accepts_trigger = state_q == Judge && valid_i && is_read && (code == REPLY_NOERR || code == REPLY_PARTIAL) &&
                           (issues || command != TRIGGER_ISSUE);
  assign trigger_valid_o = accepts_trigger;
  assign trigger_o       = '{port: address_q.vpid, life: port_q.life, command: command, count: issues ? part[4:0] : wanted[4:0]};

  // ---- the words of a line; a store that is full now forgets them
  logic stores, is_full;
  assign stores  = state_q == Words && valid_i;
  assign is_full = stores && !put_ready_i[target_q];
  always_comb begin
    put_valid_o = '0;
    if (accepts_line) put_valid_o[target] = 1'b1;
    if (stores) put_valid_o[target_q] = 1'b1;
    entry            = '0;
    entry.is_counted = 1'b1;
    entry.life       = port_q.life;
    entry.vpid       = address_q.vpid;
  end
  assign put_last_o  = state_q == Words && left_q == 4'd2;  // the last word of a line is left out
  assign put_drop_o  = is_full;
  assign put_data_o  = state_q == Judge ? entry : phit_i;
  assign add_o       = (accepts_trigger && issues) || (stores && put_last_o && !is_full);
  assign add_count_o = state_q == Judge ? part : PlaceWidth'(1);

  assign ready_o = (state_q == Head && places_ready_i) || (state_q == Judge && is_read) || state_q == Words || state_q == Drop;
  always_comb begin
    answer         = '0;
    answer.channel = RESPONSE;
    answer.length  = answers_q;
    answer.origin  = header_q.origin;
    answer.tag     = header_q.tag;
  end
  assign valid_o = state_q == Answer || state_q == Data;
  assign phit_o  = state_q == Answer ? answer : reply_q;

  always_ff @(posedge clk_i) begin
    if (state_q == Head) begin
      header_q  <= header;
      left_q    <= header.length;
      answers_q <= 4'd1;
      reply_q   <= '{zero0: '0, room: '0, zero1: '0, count: '0, code: REPLY_INVALID};
    end
    if (state_q == Look) begin
      port_q <= 32'(address_q.vpid) < Ports ? ports_i[address_q.vpid[PortWidth-1:0]] : '0;
      room_q <= limit_i > count_i ? limit_i - count_i : '0;
    end
    if (state_q == Judge) begin
      target_q     <= target;
      reply_q.code <= code;
      reply_q.room <= 16'(room_q);
      if (accepts_trigger) begin
        reply_q.count <= trigger_o.count;
        if (issues) reply_q.room <= 16'(rest);
      end
      if (is_read && phit_i[63:4] == '0 && phit_i[3:0] > 4'd1 && phit_i[3:0] <= 4'd8) answers_q <= phit_i[3:0];
    end
    if (is_full) reply_q.code <= REPLY_FULL;
    else if (stores && put_last_o) begin
      reply_q.count <= 5'd1;
      reply_q.room  <= reply_q.room - 16'd1;
    end
    if (takes && state_q != Head) left_q <= left_q - 4'd1;
  end
  logic [3:0] data_q;  // words of the answer that are left
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Head;
    end else begin
      unique case (state_q)
        Head:    if (takes) state_q <= header.length == '0 ? Answer : Look;
        Look:    state_q <= Judge;
        Judge:   if (valid_i) state_q <= is_read ? Answer : accepts_line ? Words : Drop;
        Words:   if (takes && (is_full || put_last_o)) state_q <= Drop;
        Drop:    if (takes && left_q == 4'd1) state_q <= Answer;
        Answer:  if (ready_i) state_q <= Data;
        default: if (ready_i && data_q == 4'd1) state_q <= Head;
      endcase
    end
    if (state_q == Answer) data_q <= answers_q;
    else if (ready_i) data_q <= data_q - 4'd1;
  end
endmodule
