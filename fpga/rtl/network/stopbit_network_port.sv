/// The network port of a unit: its packets to the network, and those of the network to it. fpga/rtl/network/port.md.
///
/// The network side is that of a port of the switch: cells without a ready, credits by channel. With `CountsCredits` 0 it is
/// that of a link port, which counts by itself: `may_begin_i` and `ready_i`; with 1 both may stay high.
module stopbit_network_port
  import stopbit_link_pkg::*, stopbit_network_pkg::*;
#(
  parameter int unsigned QueueWords    = 128,  // of each class, to be sent
  parameter bit          CountsCredits = 1'b1,
  parameter int unsigned SwitchRoom    = 128,  // slots that the switch has for this port
  parameter int unsigned Room          = 128,  // slots that this port has for the switch
  parameter int unsigned Reserve       = 4     // of either, for each channel
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  // Settings.
  input  logic [15:0]         last_node_i,    // packets may go to it, and all before it
  input  logic [2:0]          last_unit_i,
  input  logic [Channels-1:0] channels_i,     // packets may begin on
  input  logic                cut_through_i,
  input  logic [31:0]         patience_i,     // cycles without a cell in a packet that comes; 0: any number

  // Registers: address bit 2 is 0 for what is sent, 1 for what comes. stopbit_network_tap.sv.
  input  logic                debug_write_i,
  input  logic [2:0]          debug_address_i,
  input  logic [63:0]         debug_data_i,
  output logic [63:0]         debug_data_o,

  // The unit.
  input  logic                send_valid_i,
  output logic                send_ready_o,
  input  logic                send_first_i,
  input  logic                send_last_i,
  input  logic                send_bad_i,
  input  logic [63:0]         send_data_i,
  output logic [Classes-1:0]  send_room_o,

  input  logic [Channels-1:0] accepts_i,      // channels of which packets may begin to come out
  output logic                come_valid_o,
  input  logic                come_ready_i,
  output logic                come_first_o,
  output logic                come_last_o,
  output logic                come_bad_o,
  output channel_t            come_channel_o,
  output logic [63:0]         come_data_o,

  // The network.
  output logic                valid_o,
  input  logic                ready_i,
  output logic [1:0]          kind_o,
  output logic [63:0]         data_o,
  input  logic [Channels-1:0] may_begin_i,
  input  logic                freed_i,
  input  channel_t            freed_channel_i,

  input  logic                valid_i,
  input  logic [1:0]          kind_i,
  input  logic [63:0]         data_i,
  output logic                freed_o,
  output channel_t            freed_channel_o,

  // A pulse for each event.
  output logic                sent_o,
  output logic                refused_o,
  output logic                broken_o,
  output logic                excess_o,
  output logic                stray_o,
  output logic                cut_o,
  output logic                overrun_o,
  output logic                malformed_o,
  output logic                dropped_o
);
  // Sending.
  logic [63:0]         send_debug, come_debug;
  word_t               send_word, sender_word;
  logic                sender_valid, sender_ready, use_slot;
  channel_t            use_channel;
  logic [Channels-1:0] may_begin;
  cell_t               cell_out;
  assign send_word        = '{channel: '0, is_bad: send_bad_i, is_last: send_last_i, is_first: send_first_i, data: send_data_i};
  assign {kind_o, data_o} = {cell_out.kind, cell_out.data};
  assign debug_data_o     = debug_address_i[2] ? come_debug : send_debug;
  stopbit_network_tap send_tap (
    .clk_i, .rst_ni, .write_i(debug_write_i && !debug_address_i[2]), .address_i(debug_address_i[1:0]), .data_i(debug_data_i),
    .data_o(send_debug), .holds_o(), .valid_i(send_valid_i), .ready_o(send_ready_o), .word_i(send_word),
    .valid_o(sender_valid), .ready_i(sender_ready), .word_o(sender_word)
  );
  stopbit_network_sender #(.QueueWords(QueueWords)) sender (
    .clk_i, .rst_ni, .last_node_i, .last_unit_i, .channels_i, .valid_i(sender_valid), .ready_o(sender_ready),
    .word_i(sender_word), .room_o(send_room_o), .valid_o, .ready_i, .cell_o(cell_out), .may_begin_i(may_begin & may_begin_i),
    .use_o(use_slot), .use_channel_o(use_channel), .sent_o, .refused_o, .broken_o
  );
  if (CountsCredits) begin : gen_credits
    stopbit_network_credits #(.Room(SwitchRoom), .Reserve(Reserve)) credits (
      .clk_i, .rst_ni, .may_begin_o(may_begin), .may_use_o(), .use_i(use_slot), .use_channel_i(use_channel), .freed_i,
      .freed_channel_i, .excess_o
    );
  end else begin : gen_none
    assign may_begin = '1;
    assign excess_o  = 1'b0;
  end

  // Receiving. Packets of any channel come out while the stream is held, so that all of it can be taken.
  word_t come_word, unit_word;
  logic  come_valid, come_ready, holds;
  stopbit_network_receiver #(.Room(Room), .Reserve(Reserve)) receiver (
    .clk_i, .rst_ni, .cut_through_i, .patience_i, .valid_i, .cell_i('{kind: cell_kind_t'(kind_i), data: data_i}),
    .freed_o, .freed_channel_o, .accepts_i(holds ? '1 : accepts_i), .valid_o(come_valid), .ready_i(come_ready),
    .word_o(come_word), .stray_o, .cut_o, .overrun_o, .malformed_o, .dropped_o
  );
  stopbit_network_tap come_tap (
    .clk_i, .rst_ni, .write_i(debug_write_i && debug_address_i[2]), .address_i(debug_address_i[1:0]), .data_i(debug_data_i),
    .data_o(come_debug), .holds_o(holds), .valid_i(come_valid), .ready_o(come_ready), .word_i(come_word),
    .valid_o(come_valid_o), .ready_i(come_ready_i), .word_o(unit_word)
  );
  assign come_first_o   = unit_word.is_first;
  assign come_last_o    = unit_word.is_last;
  assign come_bad_o     = unit_word.is_bad;
  assign come_channel_o = unit_word.channel;
  assign come_data_o    = unit_word.data;
endmodule
