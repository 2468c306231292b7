/// An output: the channel of the packet that it has granted, one that has credits; and the way for its cells.
///
/// Cycle 1: a grant (stopbit_crossbar_grants). Cycle 2: the input takes it or not, and the channel of the packet is chosen.
/// Each input has turns of its own among channels.
///
/// An output that is down, or that has had something to send and no credits for `patience_i` cycles, takes packets and
/// drops them, so that they do not fill the stores of the inputs. It sends again when it is up; when a credit comes.
module stopbit_crossbar_output
  import stopbit_link_pkg::*;
#(
  parameter int unsigned Ports    = 10,
  parameter int unsigned NumChannels = 12,
  parameter int unsigned Room     = 128,
  parameter int unsigned Reserve  = 4
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           up_i,
  input  logic [31:0]                    patience_i,

  // By input.
  input  logic [Ports-1:0][NumChannels-1:0] waiting_i,
  output logic [NumChannels-1:0]            may_send_o,
  input  logic [Ports-1:0]               wants_i,       // something that may be sent
  input  logic [Ports-1:0]               grant_i,
  input  logic [Ports-1:0]               agrees_i,      // in the same cycle: it was taken
  output channel_t                       channel_o,     // in the next one: the packet's
  output logic                           discard_o,     // ... it will be dropped
  input  logic [Ports-1:0]               done_i,
  input  channel_t [Ports-1:0]           done_channels_i,
  input  logic [Ports-1:0][2:0]          done_slots_i,
  input  logic [Ports-1:0]               sends_i,
  input  cell_t [Ports-1:0]              cells_i,

  output logic                           valid_o,
  output cell_t                          cell_o,
  input  logic                           freed_i,
  input  channel_t                       freed_channel_i,
  output logic                           excess_o
);
  logic agreed, agreed_q, drains, is_up_q, is_stopped_q, is_idle;
  assign agreed = agrees_i != '0;

  // What: channels after the one that this input was served last come first.
  channel_t [Ports-1:0] last_q;
  channel_t             last, channel;
  logic [NumChannels-1:0]  waiting, later, choice;
  always_comb begin
    waiting = '0;
    last    = '0;
    for (int unsigned i = 0; i < Ports; i++) begin
      waiting |= grant_i[i] ? waiting_i[i] : '0;
      last    |= grant_i[i] ? last_q[i] : '0;
    end
    waiting = waiting & may_send_o;
    for (int unsigned i = 0; i < NumChannels; i++) later[i] = waiting[i] && channel_t'(i) > last;
    choice  = later != '0 ? later : waiting;
    channel = '0;
    for (int unsigned i = NumChannels; i > 0; i--) if (choice[i-1]) channel = channel_t'(i - 1);
  end

  // Credits.
  channel_t               done_channel, done_channel_q;
  logic [2:0]             done_slots, done_slots_q;
  logic                   done_q;
  logic [NumChannels-1:0] may_send;
  always_comb begin
    done_channel = '0;
    done_slots   = '0;
    for (int unsigned i = 0; i < Ports; i++) begin
      done_channel |= done_i[i] ? done_channels_i[i] : '0;
      done_slots   |= done_i[i] ? done_slots_i[i] : '0;
    end
  end
  stopbit_crossbar_credits #(.NumChannels(NumChannels), .Room(Room), .Reserve(Reserve)) credits (
    .clk_i, .rst_ni,
    .restart_i      (!is_up_q),
    .take_i         (agreed_q && !discard_o),
    .take_channel_i (channel_o),
    .done_i         (done_q),
    .done_channel_i (done_channel_q),
    .done_slots_i   (done_slots_q),
    .freed_i        (freed_i && is_up_q),
    .freed_channel_i,
    .may_send_o     (may_send),
    .excess_o
  );
  assign drains     = !is_up_q || is_stopped_q;
  assign may_send_o = drains ? '1 : may_send;

  // Packets that took credits and have not ended: the next one may begin before this one has.
  logic [1:0]  open_q;
  logic [31:0] stopped_q;
  logic        has_waiting_q;
  assign is_idle = open_q == '0 && !agreed_q && !agreed;

  cell_t cell_d;
  always_comb begin
    cell_d = '0;
    for (int unsigned i = 0; i < Ports; i++) cell_d |= sends_i[i] ? cells_i[i] : '0;
  end

  always_ff @(posedge clk_i) begin
    cell_o         <= cell_d;
    channel_o      <= channel;
    discard_o      <= drains;
    done_channel_q <= done_channel;
    done_slots_q   <= done_slots;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      last_q        <= '0;
      agreed_q      <= 1'b0;
      done_q        <= 1'b0;
      valid_o       <= 1'b0;
      open_q        <= '0;
      stopped_q     <= '0;
      is_stopped_q  <= 1'b0;
      is_up_q       <= 1'b0;
      has_waiting_q <= 1'b0;
    end else begin
      agreed_q <= agreed;
      done_q   <= done_i != '0;
      valid_o  <= sends_i != '0;
      for (int unsigned i = 0; i < Ports; i++) if (agrees_i[i]) last_q[i] <= channel;
      open_q <= open_q + 2'(agreed_q && !discard_o) - 2'(done_q);
      // Credits begin anew with the other side: after the last packet that took some of the old ones.
      is_up_q <= up_i && (is_up_q || is_idle);

      has_waiting_q <= waiting_i != '0;
      stopped_q     <= !has_waiting_q || wants_i != '0 || !is_idle || freed_i ? '0 : stopped_q + 1'b1;
      if (freed_i || !is_up_q) is_stopped_q <= 1'b0;
      else if (patience_i != '0 && stopped_q >= patience_i) is_stopped_q <= 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      one_agrees   : assert ((agrees_i & ~grant_i) == '0);
      has_channel  : assert (!agreed || waiting != '0);
      one_sends    : assert ((sends_i & (sends_i - 1'b1)) == '0);
      one_is_done  : assert ((done_i & (done_i - 1'b1)) == '0);
      ends_are_due : assert (!done_q || open_q != '0);
    end
  end
`endif
endmodule
