/// Fetches commands that ports have announced by triggers, from their rings in memory (Froening 4.1.3, 9.4): the number that each
/// trigger says, in the order of the triggers. The ring of a port has 64 lines; only the number of the next one is kept here.
///
/// A line that is no command, or that memory does not give, is left out with an event, so that the next ones go on. What else a
/// trigger may say is passed on (`signal_o`). A trigger of an owner that its port does not have any more is left out.
module stopbit_queue_fetch
  import stopbit_nic_pkg::*;
  import stopbit_queue_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter  int unsigned Ports     = 64,
  parameter  int unsigned Patience  = 4096,  // cycles that memory has for an answer
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  queue_port_t [Ports-1:0] ports_i,

  input  logic                    set_i,  // the ring of a port, from its beginning
  input  logic [PortWidth-1:0]    set_port_i,
  input  logic [AddressBits-1:6]  set_ring_i,

  input  logic                    valid_i,
  output logic                    ready_o,
  input  queue_trigger_t          trigger_i,

  output logic                    read_valid_o,
  input  logic                    read_ready_i,
  output rma_read_t               read_o,
  input  logic                    answer_valid_i,
  input  rma_answer_t             answer_i,

  output logic [Targets-1:0]      valid_o,
  input  logic [Targets-1:0]      ready_i,
  output logic                    last_o,
  output logic [63:0]             data_o,

  output logic                    freed_valid_o,  // a place of the port
  input  logic                    freed_ready_i,
  output logic [PortWidth-1:0]    freed_port_o,

  // Events, a cycle each.
  output logic                    signal_valid_o,
  output queue_trigger_t          signal_o,
  output logic                    event_valid_o,
  output queue_event_t            event_o,
  output logic                    stale_o,
  output logic                    late_o,
  output logic                    expired_o
);
  typedef enum logic [2:0] {Idle, Load, Ask, Wait, Look, Entry, Move, Free} state_e;
  state_e                 state_q;
  logic [PortWidth-1:0]   port;
  logic [4:0]             left_q;
  logic [5:0]             number, number_q;
  logic [AddressBits-1:6] ring;
  logic [Ports-1:0]       fresh_q;  // its number is 0
  logic [2:0]             word_q;
  logic                   target_q, is_stale, stale_q, starts, done, failed, take, moves, is_command, next;
  logic [63:0]            data;
  queue_entry_t           entry;
  assign port     = trigger_i.port[PortWidth-1:0];
  assign is_stale = ports_i[port].life != trigger_i.life;
  stopbit_ram #(.Width(AddressBits - 6), .Depth(Ports)) i_rings (
    .write_clk_i(clk_i), .write_i(set_i), .write_address_i(set_port_i), .write_data_i(set_ring_i),
    .read_clk_i(clk_i), .read_address_i(port), .read_data_o(ring)
  );
  stopbit_ram #(.Width(6), .Depth(Ports)) i_numbers (
    .write_clk_i(clk_i), .write_i(next), .write_address_i(port), .write_data_i(number_q + 6'd1),
    .read_clk_i(clk_i), .read_address_i(port), .read_data_o(number)
  );
  assign starts = state_q == Ask && !stale_q;
  stopbit_rma_reader #(.Patience(Patience)) i_reader (
    .clk_i, .rst_ni, .start_i(starts), .address_i({ring + (AddressBits - 6)'(number_q), 3'd0}), .words_i(words_t'(LineWords)),
    .done_o(done), .failed_o(failed), .data_o(data), .take_i(take), .read_valid_o, .read_ready_i, .read_o, .answer_valid_i,
    .answer_i, .late_o, .expired_o
  );
  assign is_command = data[7:0] != '0 && data[7:0] <= LastCommand;
  always_comb begin
    entry            = '0;
    entry.is_counted = 1'b1;
    entry.life       = trigger_i.life;
    entry.vpid       = trigger_i.port;
    valid_o           = '0;
    valid_o[target_q] = state_q == Entry || state_q == Move;
  end
  assign last_o        = state_q == Move && word_q == 3'(EntryWords - 1);
  assign data_o        = state_q == Entry ? entry : data;
  assign moves         = |(valid_o & ready_i);
  assign take          = state_q == Move && moves;
  assign freed_valid_o = state_q == Free;
  assign freed_port_o  = port;
  assign next          = (take && last_o) || (freed_valid_o && freed_ready_i);
  assign ready_o       = (next && left_q == 5'd1) || (state_q == Load && trigger_i.command != TRIGGER_ISSUE);

  always_ff @(posedge clk_i) begin
    if (state_q == Load) begin
      number_q <= fresh_q[port] ? '0 : number;
      left_q   <= trigger_i.count;
    end else if (next) begin
      number_q <= number_q + 6'd1;
      left_q   <= left_q - 5'd1;
    end
    if (state_q == Look) target_q <= data[7:0] == FastSend ? 1'(Messages) : 1'(Transfers);
    stale_q  <= is_stale;  // a cycle late: what is fetched for it nevertheless is left out later
    word_q   <= state_q == Entry ? '0 : word_q + 3'(take);
    signal_o <= trigger_i;
    event_o  <= '{vpid: trigger_i.port, error: state_q == Look ? ERR_CMD_INV : ERR_OWINID, gives_up: 1'b0};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q        <= Idle;
      fresh_q        <= '1;
      signal_valid_o <= 1'b0;
      event_valid_o  <= 1'b0;
      stale_o        <= 1'b0;
    end else begin
      signal_valid_o <= state_q == Load && trigger_i.command != TRIGGER_ISSUE && !is_stale;
      event_valid_o  <= (state_q == Wait && done && failed) || (state_q == Look && !is_command);
      stale_o        <= state_q == Ask && stale_q;
      if (state_q == Load && trigger_i.command == TRIGGER_ISSUE && !is_stale) fresh_q[port] <= 1'b0;
      if (set_i) fresh_q[set_port_i] <= 1'b1;
      unique case (state_q)
        Idle:    if (valid_i) state_q <= Load;
        Load:    state_q <= trigger_i.command == TRIGGER_ISSUE ? Ask : Idle;
        Ask:     state_q <= stale_q ? Free : Wait;
        Wait:    if (done) state_q <= failed ? Free : Look;
        Look:    state_q <= is_command ? Entry : Free;
        Entry:   if (moves) state_q <= Move;
        default: if (next) state_q <= left_q == 5'd1 ? Idle : Ask;  // Move, Free
      endcase
    end
  end
endmodule
