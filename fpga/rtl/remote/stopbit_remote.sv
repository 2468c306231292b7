/// Records of the card to subscribers of other nodes: what is published, which of it each one gets, packets, credits. It
/// connects the unit of remote memory access to the network. README.md has the rest.
module stopbit_remote
  import stopbit_pkg::*;
  import stopbit_registers_pkg::*;
  import stopbit_remote_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter  int unsigned Subscribers = 8,
  parameter  int unsigned Depth       = 512,   // slots of records that wait, a power of two
  parameter  int unsigned Records     = 64,    // that wait, a power of two
  parameter  logic [2:0]  Unit        = 3'd1,  // of the network, that takes the packets
  localparam int unsigned IndexWidth  = Subscribers > 1 ? $clog2(Subscribers) : 1
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic [15:0]                   node_i,
  input  logic [63:0]                   time_i,        // wall clock, ns
  input  logic [15:0]                   generation_i,  // of the image

  input  logic                          start_i,       // a ring begins: no subscriber is open, empty_o
  input  logic [4:0]                    slots_log2_i,
  input  logic [15:0]                   max_slots_i,
  input  filter_written_t [Filters-1:0] filters_i,     // change only while no slot comes
  input  logic                          slot_valid_i,
  input  stopbit_slot_t                 slot_i,

  input  logic                          set_valid_i,
  output logic                          set_ready_o,
  input  logic [IndexWidth-1:0]         set_index_i,
  input  subscriber_t                   set_i,
  output position_t                     begun_o,
  input  logic                          tell_valid_i,
  output logic                          tell_ready_o,
  input  logic [IndexWidth-1:0]         tell_index_i,
  input  logic                          tell_ends_i,
  input  logic [7:0]                    tell_how_i,
  output logic                          told_o,
  input  logic [IndexWidth-1:0]         status_index_i,
  output progress_t                     status_o,
  output position_t                     position_o,
  output logic [Subscribers-1:0]        open_o,
  output logic [Subscribers-1:0]        losing_o,
  output logic                          empty_o,       // no record waits

  // The unit's stream to the network; words that come for it are only looked at.
  input  logic                          unit_valid_i,
  output logic                          unit_ready_o,
  input  rma_word_t                     unit_word_i,
  output logic [1:0]                    unit_room_o,
  input  logic                          come_valid_i,  // of a request, and taken
  input  rma_word_t                     come_word_i,
  input  logic                          come_bad_i,

  output logic                          send_valid_o,
  input  logic                          send_ready_i,
  output rma_word_t                     send_word_o,
  input  logic [1:0]                    send_room_i,

  // Events, a cycle each.
  output logic                          malformed_o,   // a record that contradicts itself was not published
  output logic                          overrun_o,     // a record found no room here
  output logic                          surplus_o,     // a credit for more than the channel has
  output logic                          stray_o        // a signal that is no subscriber's credit
);
  localparam int unsigned AddressWidth = $clog2(Depth);

  logic                    valid, take, is_empty, send, busy, record_valid, record_ready;
  tapped_t                 record;
  logic [Subscribers-1:0]  wants, credit;
  position_t               position;
  subscriber_t             to;
  message_t                message;
  logic [AddressWidth-1:0] read;
  logic [511:0]            slot;
  rma_word_t               record_word;
  assign position_o = position;
  assign empty_o    = is_empty;

  stopbit_record_tap #(.Subscribers(Subscribers), .Depth(Depth), .Records(Records)) i_tap (
    .clk_i, .rst_ni, .filters_i, .start_i, .slots_log2_i, .max_slots_i, .valid_i(slot_valid_i), .slot_i, .valid_o(valid),
    .take_i(take), .record_o(record), .wants_o(wants), .position_o(position), .is_empty_o(is_empty), .read_i(read),
    .data_o(slot), .malformed_o, .overrun_o
  );
  stopbit_record_sender #(.Subscribers(Subscribers)) i_sender (
    .clk_i, .rst_ni, .start_i, .slots_log2_i, .set_valid_i, .set_ready_o, .set_index_i, .set_i, .begun_o, .tell_valid_i,
    .tell_ready_o, .tell_index_i, .tell_ends_i, .tell_how_i, .told_o, .status_index_i, .status_o, .open_o, .losing_o,
    .valid_i(valid), .take_o(take), .record_i(record), .wants_i(wants), .position_i(position), .is_empty_i(is_empty),
    .credit_i(credit), .surplus_o, .send_o(send), .busy_i(busy), .to_o(to), .message_o(message)
  );
  stopbit_remote_message #(.Unit(Unit), .AddressWidth(AddressWidth)) i_message (
    .clk_i, .rst_ni, .node_i, .time_i, .generation_i, .start_i(send), .to_i(to), .message_i(message), .busy_o(busy),
    .read_o(read), .slot_i(slot), .valid_o(record_valid), .ready_i(record_ready), .word_o(record_word)
  );
  stopbit_remote_credits #(.Subscribers(Subscribers)) i_credits (
    .clk_i, .rst_ni, .set_i(set_valid_i && set_ready_o), .index_i(set_index_i), .subscriber_i(set_i),
    .valid_i(come_valid_i), .word_i(come_word_i), .bad_i(come_bad_i), .credit_o(credit), .stray_o
  );
  stopbit_remote_turns i_turns (
    .clk_i, .rst_ni, .unit_valid_i, .unit_ready_o, .unit_word_i, .unit_room_o, .record_valid_i(record_valid),
    .record_ready_o(record_ready), .record_word_i(record_word), .valid_o(send_valid_o), .ready_i(send_ready_i),
    .word_o(send_word_o), .room_i(send_room_i)
  );
endmodule
