/// One end of a link between two nodes: packets of cells, with numbers, CRC, credits and retransmission, so that none is
/// lost, doubled or overtaken whatever the wires do. fpga/rtl/network/README.md.
///
/// A packet is a start, up to 32 cells of payload, and an end; the cells of packets are not mixed. Only the end's `is_bad`
/// is taken from outside. Packets of a channel wait until the other side has room for the longest one: `may_send_o`.
/// What comes out has to be taken soon, into the room that was granted; `freed_i` grants a slot again.
module stopbit_link_port
  import stopbit_link_pkg::*;
#(
  parameter int unsigned BufferCells  = 512,
  parameter int unsigned ReceiveCells = 128,
  parameter int unsigned Room         = 8,     // slots of 64 bytes that each channel has on this side
  parameter int unsigned Timeout      = 1024,
  parameter int unsigned Retries      = 1023
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                valid_i,
  output logic                ready_o,
  input  logic [1:0]          kind_i,
  input  logic [63:0]         data_i,
  output logic [Channels-1:0] may_send_o,

  output logic                valid_o,
  input  logic                ready_i,
  output logic [1:0]          kind_o,
  output logic [63:0]         data_o,
  input  logic                freed_i,
  input  channel_t            freed_channel_i,

  output logic [1:0]          link_kind_o,
  output logic [63:0]         link_data_o,
  input  logic                link_signal_i,
  input  logic [1:0]          link_kind_i,
  input  logic [63:0]         link_data_i,

  // State, and a pulse for each event.
  output logic                up_o,
  output logic                sent_o,      // a packet left for the first time
  output logic                resent_o,    // ... again
  output logic                answered_o,  // ... has arrived
  output logic                dropped_o,   // ... is lost: the other side was reset
  output logic                damaged_o,   // what came was damaged
  output logic                excess_o     // the other side granted more than there can be
);
  cell_t     cell_in, cell_out, link_out, link_in;
  logic      up, seen, fresh, restart, resume, gave_up, ask_again, told, use_slot, taken, has_room;
  logic      control, report, is_lost;
  control_t  control_data;
  report_t   report_data;
  sequence_t here;
  channel_t  use_channel, taken_channel, granted_channel;
  slots_t    granted_slots;
  logic [2:0] taken_slots;

  assign cell_in = '{kind: cell_kind_t'(kind_i), data: data_i};
  // Without a signal the wires say nothing: a control cell whose CRC is wrong.
  assign link_in = link_signal_i ? '{kind: cell_kind_t'(link_kind_i), data: link_data_i} : '{kind: CELL_CONTROL, data: '0};
  assign {kind_o, data_o}           = {cell_out.kind, cell_out.data};
  assign {link_kind_o, link_data_o} = {link_out.kind, link_out.data};
  assign up_o                       = up;

  channel_t start_channel;
  assign start_channel = channel_of(start_t'(data_i));

  stopbit_link_training training (
    .clk_i, .rst_ni,
    .signal_i      (link_signal_i),
    .gave_up_i     (gave_up),
    .control_i     (control),
    .control_data_i(control_data),
    .up_o          (up),
    .seen_o        (seen),
    .fresh_o       (fresh),
    .restart_o     (restart),
    .resume_o      (resume)
  );

  stopbit_link_credits #(.Room(Room)) credits (
    .clk_i, .rst_ni,
    .restart_i        (restart),
    .may_send_o,
    .use_i            (use_slot),
    .use_channel_i    (use_channel),
    .granted_i        (report),
    .granted_channel_i(report_data.channel),
    .granted_slots_i  (report_data.granted),
    .excess_o,
    .taken_i          (taken),
    .taken_channel_i  (taken_channel),
    .taken_slots_i    (taken_slots),
    .has_room_o       (has_room),
    .freed_i,
    .freed_channel_i,
    .told_i           (told),
    .report_channel_o (granted_channel),
    .report_slots_o   (granted_slots)
  );

  stopbit_link_sender #(.BufferCells(BufferCells), .Timeout(Timeout), .Retries(Retries)) sender (
    .clk_i, .rst_ni,
    .valid_i, .ready_o,
    .cell_i           (cell_in),
    .may_send_i       (start_channel < channel_t'(Channels) && may_send_o[start_channel]),
    .use_o            (use_slot),
    .use_channel_o    (use_channel),
    .up_i             (up),
    .restart_i        (restart),
    .resume_i         (resume),
    .fresh_i          (fresh),
    .seen_i           (seen),
    .gave_up_o        (gave_up),
    .report_i         (report || resume),
    .expected_i       (resume ? control_data.report.expected : report_data.expected),
    .is_lost_i        (is_lost),
    .here_i           (here),
    .ask_again_i      (ask_again),
    .granted_channel_i(granted_channel),
    .granted_slots_i  (granted_slots),
    .told_o           (told),
    .link_o           (link_out),
    .sent_o, .resent_o, .dropped_o, .answered_o
  );

  stopbit_link_receiver #(.BufferCells(ReceiveCells)) receiver (
    .clk_i, .rst_ni,
    .link_i         (link_in),
    .up_i           (up),
    .restart_i      (restart),
    .valid_o, .ready_i,
    .cell_o         (cell_out),
    .control_o      (control),
    .control_data_o (control_data),
    .report_o       (report),
    .report_data_o  (report_data),
    .is_lost_o      (is_lost),
    .expected_o     (here),
    .ask_again_o    (ask_again),
    .taken_o        (taken),
    .taken_channel_o(taken_channel),
    .taken_slots_o  (taken_slots),
    .has_room_i     (has_room),
    .damaged_o
  );
endmodule
