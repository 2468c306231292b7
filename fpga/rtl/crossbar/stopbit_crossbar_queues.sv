/// Packets of a port that wait, by output and channel: their first slots, in the order in which they were routed.
///
/// Every queue has room for all packets that the store can have, so none is ever full. The last output is none: what
/// cannot be delivered waits there, in one queue.
module stopbit_crossbar_queues
  import stopbit_link_pkg::channel_t;
#(
  parameter  int unsigned Ports     = 10,
  parameter  int unsigned NumChannels  = 12,
  parameter  int unsigned Slots     = 128,
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,

  input  logic                           put_i,
  input  logic [SlotWidth-1:0]           put_slot_i,
  input  logic [Ports:0]                 put_outputs_i,
  input  channel_t [Ports-1:0]           put_channels_i,

  output logic [Ports-1:0][NumChannels-1:0] waiting_o,
  input  logic [Ports-1:0][NumChannels-1:0] may_send_i,  // by output
  output logic [Ports-1:0]               has_o,       // something waits that may be sent
  output logic [Ports:0]                 wants_o,     // a cycle later: something did

  input  logic [Ports:0]                 take_i,
  input  channel_t [Ports-1:0]           take_channels_i,
  output logic [SlotWidth-1:0]           slot_o       // a cycle later
);
  localparam int unsigned QueueWidth = NumChannels > 1 ? $clog2(NumChannels) : 1;

  logic [Ports:0][SlotWidth-1:0] slots;
  logic [Ports:0]                taken;
  for (genvar i = 0; i < Ports; i++) begin : gen_output
    logic [(1 << QueueWidth)-1:0] waiting;
    logic                         ready;
    stopbit_multi_fifo #(.Width(SlotWidth), .AddressWidth(QueueWidth + SlotWidth), .QueueWidth(QueueWidth)) fifos (
      .clk_i, .rst_ni,
      .mask_i       ((QueueWidth + SlotWidth)'(Slots - 1)),
      .valid_i      (put_i && put_outputs_i[i]),
      .ready_o      (ready),
      .write_queue_i(put_channels_i[i][QueueWidth-1:0]),
      .data_i       (put_slot_i),
      .nonempty_o   (waiting),
      .read_i       (take_i[i]),
      .read_queue_i (take_channels_i[i][QueueWidth-1:0]),
      .valid_o      (taken[i]),
      .data_o       (slots[i])
    );
    assign waiting_o[i] = waiting[NumChannels-1:0];
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni) begin
        has_room       : assert (!(put_i && put_outputs_i[i]) || ready);
        channel_exists : assert (!(put_i && put_outputs_i[i]) || 32'(put_channels_i[i]) < NumChannels);
        takes_what_is  : assert (!take_i[i] || waiting_o[i][take_channels_i[i]]);
      end
    end
`endif
  end

  logic [1:0] none_waiting;
  stopbit_multi_fifo #(.Width(SlotWidth), .AddressWidth(SlotWidth + 1), .QueueWidth(1)) none (
    .clk_i, .rst_ni, .mask_i((SlotWidth + 1)'(Slots - 1)), .valid_i(put_i && put_outputs_i[Ports]), .ready_o(), .write_queue_i(1'b0),
    .data_i(put_slot_i), .nonempty_o(none_waiting), .read_i(take_i[Ports]), .read_queue_i(1'b0), .valid_o(taken[Ports]),
    .data_o(slots[Ports])
  );

  always_comb begin
    slot_o = '0;
    for (int unsigned i = 0; i <= Ports; i++) slot_o |= taken[i] ? slots[i] : '0;
  end
  always_comb begin
    for (int unsigned i = 0; i < Ports; i++) has_o[i] = (waiting_o[i] & may_send_i[i]) != '0;
  end
  always_ff @(posedge clk_i) wants_o <= rst_ni ? {none_waiting[0], has_o} : '0;
endmodule
