/// Gives entries of the queue to the message unit, word by word: a short command is its message; a FastSend becomes one.
///
/// What is wrong in a FastSend is left to the message unit, which refuses it with its code: an abort has a class that it does
/// not know, a length beyond 40 the length 0. An entry of an owner that its port does not have any more is left
/// out, unless its first word has left.
module stopbit_queue_message
  import stopbit_nic_pkg::*;
  import stopbit_queue_pkg::*;
  import stopbit_wcb_pkg::*;
#(
  parameter  int unsigned Ports     = 64,
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  queue_port_t [Ports-1:0] ports_i,

  input  logic                    valid_i,
  output logic                    ready_o,
  input  logic                    last_i,
  input  logic [63:0]             data_i,

  output logic                    valid_o,
  input  logic                    ready_i,
  output logic                    first_o,
  output logic                    last_o,
  output logic [63:0]             data_o,
  output logic [9:0]              vpid_o,
  output logic [1:0]              class_o,

  output logic                    freed_valid_o,  // a place of the port
  input  logic                    freed_ready_i,
  output logic [PortWidth-1:0]    freed_port_o,
  output logic                    stale_o
);
  if (Ports > 1024) $fatal(1, "stopbit_queue_message: Ports is %0d, messages name at most 1024", Ports);

  localparam int unsigned HighPriority = 4;  // bits of the modifiers
  localparam logic [15:0] MaxBytes     = 16'd40;

  typedef enum logic [2:0] {Idle, Start, Tag, Command, Words, Drain, Free} state_e;
  state_e        state_q, after;
  queue_entry_t  entry_q;
  wcb_head_t     head_q;
  wcb_tag_t      tag, tag_q;
  velo_command_t command;
  logic [3:0]    left_q;  // words of the message
  logic          has_length, is_stale, takes;
  assign has_length = head_q.length <= MaxBytes;
  assign is_stale   = ports_i[entry_q.vpid[PortWidth-1:0]].life != entry_q.life;
  // In a FastSend the type is right after the tag.
  always_comb begin
    tag       = '0;
    tag.tag   = tag_q.tag;
    tag.kind  = tag_q.message[1:0];
    tag.total = has_length ? head_q.length[11:0] : '0;
    command   = command_of(head_q, tag);
  end
  assign ready_o = state_q == Idle || state_q == Tag || state_q == Drain || (state_q == Start && (is_stale || !entry_q.is_short)) ||
                   ((state_q == Words || (state_q == Start && !is_stale)) && ready_i);
  assign takes   = valid_i && ready_o;
  assign valid_o = (state_q == Command && !is_stale) ||
                   ((state_q == Words || (state_q == Start && entry_q.is_short && !is_stale)) && valid_i);
  assign first_o = state_q == Command || state_q == Start;
  assign last_o  = left_q == 4'd1 && state_q == Words;
  assign data_o  = state_q == Command ? command : data_i;
  assign vpid_o  = entry_q.vpid[9:0];
  assign class_o = entry_q.is_short ? {1'b0, entry_q.requester} : {head_q.modifiers[Abort], head_q.modifiers[HighPriority]};
  assign freed_valid_o = state_q == Free;
  assign freed_port_o  = entry_q.vpid[PortWidth-1:0];
  assign after         = entry_q.is_counted ? Free : Idle;

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) entry_q <= data_i;
    if (state_q == Start) head_q <= data_i;
    if (state_q == Tag) tag_q <= data_i;
    if (state_q == Start) left_q <= 4'd1;
    else if (state_q == Command) left_q <= has_length && head_q.length != '0 ? 4'(words_of(head_q.length[11:0])) : 4'd1;
    else if (state_q == Words && takes) left_q <= left_q - 4'd1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      stale_o <= 1'b0;
    end else begin
      stale_o <= is_stale && (state_q == Command || (state_q == Start && takes));
      unique case (state_q)
        Idle:    if (takes) state_q <= Start;
        Start:   if (takes) state_q <= is_stale ? Drain : entry_q.is_short ? Words : Tag;
        Tag:     if (takes) state_q <= Command;
        Command: if (is_stale) state_q <= Drain;
                 else if (ready_i) state_q <= Words;
        Words:   if (takes && left_q == 4'd1) state_q <= last_i ? after : Drain;
        Drain:   if (takes && last_i) state_q <= after;
        default: if (freed_ready_i) state_q <= Idle;
      endcase
    end
  end
endmodule
