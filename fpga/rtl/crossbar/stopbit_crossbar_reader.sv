/// Sends a packet from the store to the output that was agreed on, cell by cell, also while it still comes in.
///
/// A slot is freed when the last copy of the packet leaves it. The next packet may be agreed on when at most four cells of
/// this one are left, so that it follows without a gap; of a shorter packet, once its length is known. So packets follow
/// each other every four cycles, or as fast as their cells do.
module stopbit_crossbar_reader
  import stopbit_link_pkg::*, stopbit_switch_pkg::*;
#(
  parameter  int unsigned Units     = 4,
  parameter  int unsigned Links     = 6,
  parameter  int unsigned NumVcs       = 3,
  parameter  int unsigned Slots     = 128,
  localparam int unsigned Ports     = Units + Links,
  localparam int unsigned CopyWidth = $clog2(Ports + 1),
  localparam int unsigned SlotWidth = $clog2(Slots)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  // Agreed on: one bit, or none; the last output is none. The slot comes a cycle later.
  input  logic [Ports:0]       agreed_i,
  input  logic                 discard_i,
  input  channel_t             channel_i,
  input  logic [SlotWidth-1:0] slot_i,
  output logic                 busy_o,         // more than four cells are left: no other packet may be agreed on
  output logic [Ports-1:0]     busy_outputs_o,

  // The packet that comes in.
  input  logic                 open_i,
  input  logic [SlotWidth-1:0] open_first_i,
  input  logic [5:0]           open_count_i,
  input  logic                 close_i,

  // The store.
  output logic [SlotWidth-1:0] load_slot_o,
  input  logic [5:0]           load_count_i,
  input  channel_t             load_channel_i,
  input  logic [CopyWidth-1:0] load_copies_i,
  input  logic [CopyWidth-1:0] load_sent_i,
  output logic                 sent_o,         // a cycle after the load
  output logic [SlotWidth-1:0] sent_slot_o,
  output logic [CopyWidth-1:0] sent_count_o,
  output logic [SlotWidth-1:0] slot_o,
  input  logic [SlotWidth-1:0] next_i,
  output logic [SlotWidth-1:0] read_slot_o,
  output logic [2:0]           read_cell_o,
  input  logic [63:0]          start_i,
  input  logic [63:0]          end_i,
  input  logic [63:0]          payload_i,

  output logic                 freed_o,        // freed_slot_o, of a packet that came on freed_channel_o
  output logic [SlotWidth-1:0] freed_slot_o,
  output channel_t             freed_channel_o,

  output logic [Ports-1:0]     done_o,         // a packet to this output has needed
  output channel_t             done_channel_o, // ... of this channel
  output logic [2:0]           done_slots_o,   // ... so many slots

  output logic [Ports-1:0]     outputs_o,      // to which this cell goes: one bit, or none
  output cell_t                cell_o
);
  // From the agreement to the packet: the queue is read, then what belongs to the packet.
  logic [Ports:0] taking_q;
  logic           discard_q;
  channel_t       channel_q;
  logic           load;
  assign load        = taking_q != '0;
  assign load_slot_o = slot_i;

  // The packet that is sent.
  typedef struct packed {
    logic                 active;
    logic                 started;
    logic                 complete;  // count is its length
    logic                 is_last;   // copy
    logic                 discard;
    logic [Ports:0]       outputs;
    channel_t             channel;   // that it goes out on
    channel_t             came_on;
    logic [SlotWidth-1:0] slot;
    logic [5:0]           count;
    logic [5:0]           sent;
  } packet_t;
  packet_t packet_d, packet_q;

  logic [5:0] available;
  logic       sends_start, sends_payload, sends_end, moves;
  assign available     = packet_q.complete ? packet_q.count : open_count_i;
  assign sends_start   = packet_q.active && !packet_q.started;
  assign sends_payload = packet_q.active && packet_q.started && packet_q.sent < available;
  assign sends_end     = packet_q.active && packet_q.started && packet_q.complete && packet_q.sent == packet_q.count;
  assign moves         = packet_q.sent[2:0] == 3'd0 && packet_q.sent != '0;  // with the next cell

  assign slot_o          = packet_q.slot;
  assign read_slot_o     = moves ? next_i : packet_q.slot;
  assign read_cell_o     = packet_q.sent[2:0];
  assign freed_o         = packet_q.is_last && ((sends_payload && moves) || sends_end);
  assign freed_slot_o    = packet_q.slot;
  assign freed_channel_o = packet_q.came_on;

  logic is_last_copy, is_open;
  assign is_last_copy = CopyWidth'(load_sent_i + 1'b1) == load_copies_i;
  assign is_open      = open_i && open_first_i == slot_i;

  logic [5:0] left;  // cells of payload, in the next cycle
  logic       ending_d;
  always_comb begin
    packet_d = packet_q;
    if (sends_start) packet_d.started = 1'b1;
    if (sends_payload) begin
      packet_d.sent = packet_q.sent + 1'b1;
      packet_d.slot = read_slot_o;
    end
    if (sends_end) packet_d.active = 1'b0;
    if (close_i && !packet_q.complete) begin
      packet_d.complete = 1'b1;
      packet_d.count    = open_count_i;
    end
    if (load) begin
      packet_d = '{
        active: 1'b1, started: 1'b0, complete: !is_open || close_i, is_last: is_last_copy, discard: discard_q, outputs: taking_q,
        channel: channel_q, came_on: load_channel_i, slot: slot_i, count: is_open ? open_count_i : load_count_i, sent: '0
      };
    end
    left     = packet_d.count - packet_d.sent;
    ending_d = packet_d.complete && (packet_d.started ? left <= 6'd3 : left <= 6'd2);
  end

  assign busy_outputs_o = packet_q.outputs[Ports-1:0];

  // The cell: out of the RAM, then with its channel, then with its CRC.
  typedef enum logic [1:0] {FROM_START, FROM_PAYLOAD, FROM_END} from_t;
  from_t            from_q;
  logic [Ports-1:0] outputs1_q, outputs2_q;
  channel_t         channel1_q;
  logic             is_link1_q;
  cell_t            cell_d, cell_q, with_crc;
  always_comb begin
    start_t start;
    start         = start_t'(start_i);
    start.channel = 2'(32'(channel1_q) % NumVcs);
    if (is_link1_q) start.marker[7:0] = start.marker[7:0] + 1'b1;
    unique case (from_q)
      FROM_START:   cell_d = '{kind: CELL_START, data: start};
      FROM_PAYLOAD: cell_d = '{kind: CELL_PAYLOAD, data: payload_i};
      default:      cell_d = '{kind: CELL_END, data: end_i};
    endcase
    with_crc = cell_q;
    if (cell_q.kind == CELL_START) with_crc.data[63:48] = start_crc(cell_q.data[47:0]);
  end

  always_ff @(posedge clk_i) begin
    from_q         <= sends_start ? FROM_START : sends_payload ? FROM_PAYLOAD : FROM_END;
    channel1_q     <= packet_q.channel;
    is_link1_q     <= packet_q.outputs[Ports-1:Units] != '0;
    cell_q         <= cell_d;
    cell_o         <= with_crc;
    sent_slot_o    <= slot_i;
    sent_count_o   <= is_last_copy ? '0 : load_sent_i + 1'b1;
    channel_q      <= channel_i;
    discard_q      <= discard_i;
    done_channel_o <= packet_q.channel;
    done_slots_o   <= packet_q.count == '0 ? 3'd1 : 3'((packet_q.count - 6'd1) >> 3) + 3'd1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      taking_q   <= '0;
      sent_o     <= 1'b0;
      packet_q   <= '0;
      busy_o     <= 1'b0;
      outputs1_q <= '0;
      outputs2_q <= '0;
      outputs_o  <= '0;
      done_o     <= '0;
    end else begin
      taking_q   <= agreed_i;
      sent_o     <= load;
      packet_q   <= packet_d;
      busy_o     <= packet_d.active && !ending_d;
      outputs1_q <= packet_q.discard || !(sends_start || sends_payload || sends_end) ? '0 : packet_q.outputs[Ports-1:0];
      outputs2_q <= outputs1_q;
      outputs_o  <= outputs2_q;
      done_o     <= sends_end && !packet_q.discard ? packet_q.outputs[Ports-1:0] : '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      one_after_the_other : assert (!load || !packet_q.active || sends_end);
      open_is_sent        : assert (!packet_q.active || packet_q.complete || open_i);
      copies_are_right    : assert (!load || load_sent_i < load_copies_i);
    end
  end
`endif
endmodule
