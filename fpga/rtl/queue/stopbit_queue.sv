/// Commands of all ports, as processes write them to their pages, for the units that carry them out.
///
/// A process has three ways to issue a command: a posted write, which waits while the queue is full; a write of a line that is
/// answered with success or a reason; and a read that announces commands in memory. Entries of the three go to each unit in
/// turn. README.md has the rest.
module stopbit_queue
  import stopbit_queue_pkg::*;
  import stopbit_rma_pkg::AddressBits;
  import stopbit_rma_pkg::rma_answer_t;
  import stopbit_rma_pkg::rma_command_words_t;
  import stopbit_rma_pkg::rma_read_t;
#(
  parameter  int unsigned Ports     = 64,
  parameter  int unsigned Depth     = 512,   // words of posted commands for each unit: 3 a short one, 8 a line
  parameter  int unsigned Kept      = 1024,  // words of lines that were accepted, for each unit
  parameter  int unsigned Triggers  = 256,
  parameter  int unsigned Patience  = 4096,  // cycles that memory has for an answer
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic [PlaceWidth-1:0]    limit_i,  // places of a port, 1 to 64

  // Ports: what the supervisor sets when one is opened, stopped or closed. `life` is another one for each owner, and not 0
  // for the first one after a reset; with it a port's ring of 64 lines in memory begins anew.
  input  logic                     set_valid_i,
  output logic                     set_ready_o,
  input  logic [PortWidth-1:0]     set_port_i,
  input  queue_port_t              set_i,
  input  logic [AddressBits-1:6]   set_ring_i,

  // Packets of HTAX: the host's posted writes, its requests, and the answers.
  input  logic                     posted_valid_i,
  output logic                     posted_ready_o,
  input  logic [63:0]              posted_phit_i,
  input  logic                     request_valid_i,
  output logic                     request_ready_o,
  input  logic [63:0]              request_phit_i,
  output logic                     response_valid_o,
  input  logic                     response_ready_i,
  output logic [63:0]              response_phit_o,

  // Lines of rings in memory.
  output logic                     read_valid_o,
  input  logic                     read_ready_i,
  output rma_read_t                read_o,
  input  logic                     answer_valid_i,
  input  rma_answer_t              answer_i,

  // The requester of remote memory access.
  output logic                     command_valid_o,
  input  logic                     command_ready_i,
  output logic [15:0]              command_vpid_o,
  output rma_command_words_t       command_o,

  // The requester of the message unit.
  output logic                     send_valid_o,
  input  logic                     send_ready_i,
  output logic                     send_first_o,
  output logic                     send_last_o,
  output logic [63:0]              send_data_o,
  output logic [9:0]               send_vpid_o,
  output logic [1:0]               send_class_o,

  // Events, a cycle each.
  output logic [1:0]               event_valid_o,  // posted writes; commands in memory
  output queue_event_t [1:0]       event_o,
  output logic                     signal_valid_o, // a trigger that announces no commands
  output queue_trigger_t           signal_o,
  output logic [Targets:0]         stale_o,        // a command of an owner that its port does not have any more
  output logic                     late_o,         // an answer of memory after its time
  output logic                     expired_o       // memory did not answer
);
  localparam int unsigned Sources = 3;  // posted, kept, fetched

  queue_port_t [Ports-1:0]               ports_q;
  logic                                  sets;
  logic [Targets-1:0][Sources-1:0]       valid, ready, last;
  logic [Targets-1:0][Sources-1:0][64:0] word;
  assign sets = set_valid_i && set_ready_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) ports_q <= '0;
    else if (sets) ports_q[set_port_i] <= set_i;
  end

  // ---- three ways in
  logic [Targets-1:0] posted_valid, posted_ready, put_valid, put_ready, fetch_valid, fetch_ready;
  logic               posted_last, put_last, put_drop, fetch_last;
  logic [63:0]        posted_data, put_data, fetch_data;
  stopbit_queue_posted #(.Ports(Ports)) i_posted (
    .clk_i, .rst_ni, .ports_i(ports_q), .clear_valid_i(set_valid_i), .clear_ready_o(set_ready_o), .clear_port_i(set_port_i),
    .valid_i(posted_valid_i), .ready_o(posted_ready_o), .phit_i(posted_phit_i), .valid_o(posted_valid), .ready_i(posted_ready),
    .last_o(posted_last), .data_o(posted_data), .event_valid_o(event_valid_o[0]), .event_o(event_o[0])
  );
  logic                      places_ready, add, asked_valid, asked_ready, trigger_valid, trigger_ready;
  logic [PortWidth-1:0]      port;
  logic [PlaceWidth-1:0]     count, add_count;
  queue_trigger_t            asked, trigger;
  logic [2:0]                freed_valid, freed_ready;
  logic [2:0][PortWidth-1:0] freed_port;
  stopbit_queue_requests #(.Ports(Ports)) i_requests (
    .clk_i, .rst_ni, .ports_i(ports_q), .limit_i, .valid_i(request_valid_i), .ready_o(request_ready_o), .phit_i(request_phit_i),
    .valid_o(response_valid_o), .ready_i(response_ready_i), .phit_o(response_phit_o), .put_valid_o(put_valid),
    .put_ready_i(put_ready), .put_last_o(put_last), .put_drop_o(put_drop), .put_data_o(put_data),
    .trigger_valid_o(asked_valid), .trigger_ready_i(asked_ready), .trigger_o(asked), .places_ready_i(places_ready),
    .port_o(port), .count_i(count), .add_o(add), .add_count_o(add_count)
  );
  stopbit_queue_places #(.Ports(Ports)) i_places (
    .clk_i, .rst_ni, .ready_o(places_ready), .port_i(port), .count_o(count), .add_i(add), .add_count_i(add_count),
    .free_valid_i(freed_valid), .free_ready_o(freed_ready), .free_port_i(freed_port)
  );
  stopbit_fifo #(.Width($bits(queue_trigger_t)), .Depth(Triggers)) i_triggers (
    .clk_i, .rst_ni, .valid_i(asked_valid), .ready_o(asked_ready), .data_i(asked), .valid_o(trigger_valid),
    .ready_i(trigger_ready), .double_i(1'b0), .single_o(), .data_o(trigger), .count_o()
  );
  stopbit_queue_fetch #(.Ports(Ports), .Patience(Patience)) i_fetch (
    .clk_i, .rst_ni, .ports_i(ports_q), .set_i(sets && set_i.life != ports_q[set_port_i].life), .set_port_i, .set_ring_i,
    .valid_i(trigger_valid), .ready_o(trigger_ready), .trigger_i(trigger), .read_valid_o, .read_ready_i, .read_o,
    .answer_valid_i, .answer_i, .valid_o(fetch_valid), .ready_i(fetch_ready), .last_o(fetch_last), .data_o(fetch_data),
    .freed_valid_o(freed_valid[2]), .freed_ready_i(freed_ready[2]), .freed_port_o(freed_port[2]), .signal_valid_o, .signal_o,
    .event_valid_o(event_valid_o[1]), .event_o(event_o[1]), .stale_o(stale_o[Targets]), .late_o, .expired_o
  );

  // ---- to each unit, in turn; an entry is not cut
  logic [Targets-1:0]       out_valid, out_ready;
  logic [Targets-1:0][64:0] out;
  for (genvar t = 0; t < Targets; t++) begin : g_target
    stopbit_queue_store #(.Depth(Depth)) i_posted (
      .clk_i, .rst_ni, .valid_i(posted_valid[t]), .ready_o(posted_ready[t]), .last_i(posted_last), .data_i(posted_data),
      .drop_i(1'b0), .valid_o(valid[t][0]), .ready_i(ready[t][0]), .last_o(last[t][0]), .data_o(word[t][0][63:0])
    );
    stopbit_queue_store #(.Depth(Kept)) i_kept (
      .clk_i, .rst_ni, .valid_i(put_valid[t]), .ready_o(put_ready[t]), .last_i(put_last), .data_i(put_data),
      .drop_i(put_drop), .valid_o(valid[t][1]), .ready_i(ready[t][1]), .last_o(last[t][1]), .data_o(word[t][1][63:0])
    );
    assign valid[t][2]      = fetch_valid[t];
    assign fetch_ready[t]   = ready[t][2];
    assign last[t][2]       = fetch_last;
    assign word[t][2][63:0] = fetch_data;
    for (genvar s = 0; s < Sources; s++) begin : g_last
      assign word[t][s][64] = last[t][s];
    end
    stopbit_rma_merge #(.Inputs(Sources), .Width(65), .Cut(1'b0)) i_merge (
      .clk_i, .rst_ni, .may_i('1), .valid_i(valid[t]), .ready_o(ready[t]), .last_i(last[t]), .data_i(word[t]),
      .valid_o(out_valid[t]), .ready_i(out_ready[t]), .data_o(out[t])
    );
  end
  stopbit_queue_message #(.Ports(Ports)) i_message (
    .clk_i, .rst_ni, .ports_i(ports_q), .valid_i(out_valid[Messages]), .ready_o(out_ready[Messages]),
    .last_i(out[Messages][64]), .data_i(out[Messages][63:0]), .valid_o(send_valid_o), .ready_i(send_ready_i),
    .first_o(send_first_o), .last_o(send_last_o), .data_o(send_data_o), .vpid_o(send_vpid_o), .class_o(send_class_o),
    .freed_valid_o(freed_valid[0]), .freed_ready_i(freed_ready[0]), .freed_port_o(freed_port[0]), .stale_o(stale_o[Messages])
  );
  stopbit_queue_transfer #(.Ports(Ports)) i_transfer (
    .clk_i, .rst_ni, .ports_i(ports_q), .valid_i(out_valid[Transfers]), .ready_o(out_ready[Transfers]),
    .last_i(out[Transfers][64]), .data_i(out[Transfers][63:0]), .valid_o(command_valid_o), .ready_i(command_ready_i),
    .vpid_o(command_vpid_o), .command_o, .freed_valid_o(freed_valid[1]), .freed_ready_i(freed_ready[1]),
    .freed_port_o(freed_port[1]), .stale_o(stale_o[Transfers])
  );
endmodule
