/// The sending half of a network port: packets of a unit become cells of the network.
///
/// A packet waits in a queue of its traffic class until it is whole, and its channel has credits. So a unit that stops in a
/// packet holds up no other unit, and a class without credits no other class. Nothing is sent of a packet whose start is
/// refused, that has no start or too many words, or in which another one begins.
module stopbit_network_sender
  import stopbit_link_pkg::*, stopbit_network_pkg::*, stopbit_switch_pkg::Groups, stopbit_switch_pkg::start_crc;
#(
  parameter int unsigned QueueWords = 128  // of each class: of three of the longest packets
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  // Where the unit may send to.
  input  logic [15:0]         last_node_i,
  input  logic [2:0]          last_unit_i,  // of any node
  input  logic [Classes-1:0][VirtualChannels-1:0] channels_i,  // on which packets of a class may begin

  input  logic                valid_i,
  output logic                ready_o,
  input  word_t               word_i,       // its channel is not looked at
  output logic [Classes-1:0]  room_o,       // for the longest packet of a class

  output logic                valid_o,
  input  logic                ready_i,
  output cell_t               cell_o,
  input  logic [Channels-1:0] may_begin_i,
  output logic                use_o,        // a slot of use_channel_o
  output channel_t            use_channel_o,

  output logic                sent_o,       // a packet
  output logic                refused_o,    // a packet, for its start
  output logic                broken_o      // a packet, for its words
);
  localparam int unsigned CountWidth = $clog2(QueueWords) + 1;
  if (QueueWords < MaxWords) $fatal(1, "stopbit_network_sender: QueueWords is %0d, needs %0d", QueueWords, MaxWords);
  typedef logic [CountWidth-1:0] count_t;

  // ---- in: what is right goes into the queue of its class.
  start_t     start;
  logic       open_q, skip_q;
  logic [1:0] class_q;
  logic [5:0] words_q;
  assign start = start_t'(word_i.data);

  logic [VirtualChannels-1:0] allowed;
  logic is_right, clears, begins, goes_on, too_long, put, closes;
  assign allowed  = channels_i[start.traffic_class] & (start.multicast ? 3'b011 : 3'b111);
  assign is_right = allowed != '0 && start.unit <= last_unit_i &&
                    (start.multicast ? start.node < 16'(Groups) : start.node <= last_node_i);
  assign clears   = valid_i && word_i.is_first && open_q;  // takes a cycle of its own
  assign ready_o  = !clears && (!word_i.is_first || !is_right || room_o[start.traffic_class]);
  assign begins   = valid_i && word_i.is_first && is_right && ready_o;
  assign goes_on  = valid_i && !word_i.is_first && open_q;
  assign too_long = goes_on && words_q == 6'(MaxWords);
  assign put      = begins || (goes_on && !too_long);
  assign closes   = put && word_i.is_last;

  assign refused_o = valid_i && word_i.is_first && !is_right && ready_o;
  assign broken_o  = clears || too_long || (valid_i && !word_i.is_first && !open_q && !skip_q);

  always_ff @(posedge clk_i) begin
    if (begins) class_q <= start.traffic_class;
    if (!rst_ni) begin
      open_q  <= 1'b0;
      skip_q  <= 1'b0;
      words_q <= '0;
    end else begin
      if (put) words_q <= begins ? 6'd1 : words_q + 1'b1;
      if (put) open_q <= !word_i.is_last;
      else if (clears || too_long) open_q <= 1'b0;
      // The rest of a packet that was refused or broken goes with it.
      if (valid_i && ready_o) skip_q <= !put && !word_i.is_last;
    end
  end

  logic [Classes-1:0]            shown, take, is_multicast;
  logic [Classes-1:0][66:0]      words;  // bad, last, first, data
  for (genvar i = 0; i < Classes; i++) begin : gen_class
    logic   mine, reverts, ready;
    count_t count_q;
    assign mine    = put && (begins ? start.traffic_class : class_q) == 2'(i);
    assign reverts = (clears || too_long) && class_q == 2'(i);
    stopbit_spec_fifo #(.Width(67), .Depth(QueueWords)) queue (
      .clk_i, .rst_ni, .valid_i(mine), .ready_o(ready), .data_i({word_i.is_bad, word_i.is_last, word_i.is_first, word_i.data}),
      .write_commit_i(mine && closes), .write_commit_count_i('1), .write_revert_i(reverts), .write_revert_count_i('1),
      .valid_o(shown[i]), .ready_i(take[i]), .data_o(words[i]), .read_commit_i(take[i]), .read_commit_count_i(count_t'(1)),
      .read_revert_i(1'b0), .read_revert_count_i('0)
    );
    always_ff @(posedge clk_i) begin
      if (!rst_ni) count_q <= '0;
      else count_q <= count_q + count_t'(mine) - count_t'(take[i]) - (reverts ? count_t'(words_q) : '0);
    end
    assign room_o[i]       = count_q <= count_t'(QueueWords - MaxWords);
    assign is_multicast[i] = words[i][14];
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) if (rst_ni) has_room : assert (!mine || ready);
`endif
  end

  // ---- out: channels take turns, those of a class whose queue has a packet.
  logic                sends_q, ends_q, bad_q, idle, any;
  logic [1:0]          out_class_q, out_class;
  logic [5:0]          cells_q;
  channel_t            channel_q, channel;
  logic [Channels-1:0] request;
  always_comb begin
    request   = '0;
    out_class = '0;
    for (int unsigned i = 0; i < Channels; i++) begin
      request[i] = idle && shown[i/VirtualChannels] && may_begin_i[i] && channels_i[i/VirtualChannels][i%VirtualChannels] &&
                   !(is_multicast[i/VirtualChannels] && i % VirtualChannels == 2);
      if (channel == channel_t'(i)) out_class = 2'(i / VirtualChannels);
    end
  end
  stopbit_arbiter #(.NumRequesters(Channels)) turns (
    .clk_i, .rst_ni, .stop_i(1'b0), .accept_i(any), .request_i(request), .any_o(any), .grant_o(), .index_o(channel)
  );

  logic [66:0] word;
  start_t      out_start;
  end_t        out_end;
  logic        moves;
  assign word  = words[out_class_q];
  assign moves = valid_o && ready_i;
  assign idle  = !sends_q || (ends_q && ready_i);
  always_comb begin
    out_start             = start_t'(word[63:0]);
    out_start.channel     = 2'(channel_q - channel_t'(out_class_q) * channel_t'(VirtualChannels));
    out_start.marker[7:0] = '0;  // hops
    out_start.crc         = start_crc(out_start[47:0]);
    out_end               = '0;
    out_end.is_bad        = bad_q;
    cell_o                = '{kind: CELL_PAYLOAD, data: word[63:0]};
    if (word[64]) cell_o = '{kind: CELL_START, data: out_start};
    if (ends_q) cell_o = '{kind: CELL_END, data: out_end};
    take = '0;
    if (moves && !ends_q) take[out_class_q] = 1'b1;
  end
  assign valid_o       = sends_q && (ends_q || shown[out_class_q]);
  assign use_o         = moves && !ends_q && (word[64] || begins_slot(cells_q));
  assign use_channel_o = channel_q;
  assign sent_o        = moves && ends_q;

  always_ff @(posedge clk_i) begin
    if (any) begin
      channel_q   <= channel;
      out_class_q <= out_class;
    end
    if (moves && !ends_q) begin
      cells_q <= word[64] ? 6'd1 : cells_q + 1'b1;
      bad_q   <= word[66];
    end
    if (!rst_ni) begin
      sends_q <= 1'b0;
      ends_q  <= 1'b0;
    end else begin
      if (idle) sends_q <= any;
      if (moves) ends_q <= !ends_q && word[65];
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      begins_with_start : assert (!valid_o || ends_q || word[64] == fresh_q);
      has_no_gap        : assert (!sends_q || valid_o);
    end
  end
  logic fresh_q;  // nothing of the packet has left
  always_ff @(posedge clk_i) begin
    if (!rst_ni) fresh_q <= 1'b0;
    else if (any) fresh_q <= 1'b1;
    else if (moves) fresh_q <= 1'b0;
  end
`endif
endmodule
