/// Makes a message of a channel (host/nic/channel) and puts it into the subscriber's window: one packet of remote memory
/// access, with five words in front of the slots. In a slot 0 the stamp is filled in, in each the phase.
///
/// The first word leaves three cycles after `start_i`, and then a word a cycle: 15, and 8 for each slot.
module stopbit_remote_message
  import stopbit_nic_pkg::*;
  import stopbit_remote_pkg::*;
  import stopbit_ring_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter logic [2:0]  Unit         = 3'd1,  // of the network, that takes the packets
  parameter int unsigned AddressWidth = 9
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [15:0]             node_i,
  input  logic [63:0]             time_i,        // wall clock, ns
  input  logic [15:0]             generation_i,  // of the image

  input  logic                    start_i,
  input  subscriber_t             to_i,          // these two stay until it has left
  input  message_t                message_i,
  output logic                    busy_o,

  output logic [AddressWidth-1:0] read_o,        // of the slots that are kept
  input  logic [511:0]            slot_i,        // a cycle later

  output logic                    valid_o,
  input  logic                    ready_i,
  output rma_word_t               word_o
);
  typedef enum logic [1:0] {IDLE, FETCH, BEGIN, SEND} state_t;
  localparam logic [7:0] TimePoll = 8'd1;  // when it is sent (TimeQuality::Poll)

  state_t                  state_q;
  logic [AddressWidth-1:0] at_q;
  logic [511:0]            line_q, line;
  logic [3:0]              word_q;
  logic                    first_q, take, sending, line_ends;
  logic [63:0]             data, time_q;
  logic [15:0]             length;
  rma_header_t             header;

  assign busy_o    = state_q != IDLE;
  assign read_o    = at_q;
  assign length    = 16'd24 + {8'd0, message_i.slots, 6'd0};
  assign line_ends = word_q == 4'd12;

  always_comb begin
    line      = slot_i;
    line[511] = message_i.phase;
    if (first_q) line[63:32] = message_i.stamp;
    if (message_i.is_event) begin
      line = {8'd0, EVENT_TAGS, message_i.lost, 64'd0, EVENT_LOST, TimePoll, 40'd0, generation_i, 64'd0, time_q,
              32'd0, 16'd1, EVENT_INDEX};
      // Words 7 down to 0: tags, number of records, nothing, kind, image and clock, nothing, time, header.
    end
    unique case (word_q)
      4'd0:    data = message_i.number;
      4'd1:    data = {48'd0, length};
      4'd2:    data = {32'd0, 14'd0, message_i.slots, message_i.ends ? message_i.how : 8'd0,
                       message_i.ends ? BatchEnded : BatchRecords};
      4'd3:    data = message_i.reached.number;
      4'd4:    data = message_i.reached.records;
      default: data = line_q[63:0];
    endcase
    header            = '0;
    header.kind       = '{target_vpid: to_i.vpid, source_vpid: to_i.port, error: '0, modifiers: '0, kind: RMA_PUT,
                          service: Service};
    header.place      = '{request: to_i.life, domain: to_i.domain, window: to_i.window};
    header.capability = to_i.capability;
    header.offset     = {32'd0, message_i.offset};
    header.extent     = '{at: '0, length: 32'(length) + 32'd16};
    header.more       = {58'd0, to_i.event_number};
  end

  stopbit_rma_sender #(.Unit(Unit), .Class(Requests)) i_sender (
    .clk_i, .rst_ni, .node_i, .start_i(state_q == BEGIN), .to_i(to_i.node), .header_i(header),
    .words_i(words_t'(HeadWords) + {message_i.slots, 3'd0}), .busy_o(sending), .data_i(data), .take_o(take), .valid_o,
    .ready_i, .word_o
  );

  always_ff @(posedge clk_i) begin
    if (state_q == IDLE) begin
      at_q    <= message_i.store[AddressWidth-1:0];
      first_q <= message_i.is_first;
      time_q  <= time_i;
    end
    if (state_q == BEGIN) word_q <= '0;
    else if (take) word_q <= line_ends ? 4'd5 : word_q + 4'd1;
    if (state_q == BEGIN || (take && line_ends)) begin
      line_q  <= line;
      first_q <= 1'b0;
      at_q    <= at_q + 1'b1;
    end else if (take && word_q >= 4'(HeadWords)) begin
      line_q <= line_q >> 64;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= IDLE;
    else begin
      unique case (state_q)
        IDLE:    if (start_i) state_q <= FETCH;
        FETCH:   state_q <= BEGIN;
        BEGIN:   state_q <= SEND;
        default: if (!sending) state_q <= IDLE;
      endcase
    end
  end
endmodule
