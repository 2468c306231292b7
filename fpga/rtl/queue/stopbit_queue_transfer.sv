/// Gives entries of the queue to remote memory access: one at a time, as its requester takes commands.
///
/// Short commands become what a whole one of the same meaning is: without a capability and, but for a notification put, without
/// a tag. An entry of an owner that its port does not have any more is left out, even if it is offered already.
module stopbit_queue_transfer
  import stopbit_nic_pkg::*;
  import stopbit_queue_pkg::*;
  import stopbit_rma_pkg::rma_command_words_t;
#(
  parameter  int unsigned Ports     = 64,
  localparam int unsigned PortWidth = $clog2(Ports)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  queue_port_t [Ports-1:0] ports_i,

  input  logic                    valid_i,
  output logic                    ready_o,
  input  logic                    last_i,
  input  logic [63:0]             data_i,

  output logic                    valid_o,
  input  logic                    ready_i,
  output logic [15:0]             vpid_o,
  output rma_command_words_t      command_o,

  output logic                    freed_valid_o,  // a place of the port
  input  logic                    freed_ready_i,
  output logic [PortWidth-1:0]    freed_port_o,
  output logic                    stale_o
);
  typedef enum logic [1:0] {Idle, Collect, Offer, Free} state_e;
  state_e                      state_q;
  queue_entry_t                entry_q;
  logic [EntryWords-1:0][63:0] words_q;
  logic [2:0]                  at_q;
  logic                        takes, is_stale;
  assign ready_o = state_q == Idle || state_q == Collect;
  assign takes   = valid_i && ready_o;
  assign is_stale = ports_i[entry_q.vpid[PortWidth-1:0]].life != entry_q.life;
  always_ff @(posedge clk_i) begin
    if (state_q == Idle) begin
      entry_q <= data_i;
      at_q    <= '0;
    end else if (takes) begin
      for (int unsigned i = 0; i < EntryWords; i++) if (at_q == 3'(i)) words_q[i] <= data_i;
      at_q <= at_q + 3'd1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= Idle;
      stale_o <= 1'b0;
    end else begin
      stale_o <= state_q == Offer && is_stale;
      unique case (state_q)
        Idle:    if (takes) state_q <= Collect;
        Collect: if (takes && last_i) state_q <= Offer;
        Offer:   if (ready_i || is_stale) state_q <= entry_q.is_counted ? Free : Idle;
        default: if (freed_ready_i) state_q <= Idle;
      endcase
    end
  end
  assign valid_o       = state_q == Offer && !is_stale;
  assign vpid_o        = entry_q.vpid;
  assign freed_valid_o = state_q == Free;
  assign freed_port_o  = entry_q.vpid[PortWidth-1:0];

  // ---- what a short command means
  queue_target_t      target;
  queue_memory_t      memory;
  rma_modifiers_t     modifiers;
  logic [7:0]         operation;
  logic [6:0]         size;
  rma_command_words_t whole, short_one;
  assign whole     = words_q;
  assign target    = words_q[0];
  assign memory    = words_q[1];
  assign size      = {1'b0, target.rest[15:10]} + 7'd1;
  assign modifiers = '{refusal: 1'b0, zero0: '0, acknowledge: 1'b0, responder: entry_q.responder, completer: entry_q.completer,
                       requester: entry_q.requester};
  always_comb begin
    unique case (entry_q.code)
      SHORT_PUT:       operation = RMA_PUT;
      SHORT_GET:       operation = RMA_GET;
      SHORT_LOCK:      operation = RMA_FETCH_COMPARE_ADD;
      SHORT_IMMEDIATE: operation = RMA_IMMEDIATE_PUT;
      default:         operation = RMA_NOTIFICATION_PUT;
    endcase
  end
  always_comb begin
    short_one      = '0;
    short_one.kind = '{window: target.window, node: target.node, vpid: target.vpid, modifiers: modifiers, operation: operation};
    unique case (entry_q.code)
      SHORT_PUT, SHORT_GET: begin
        short_one.address = {25'd0, memory.address, 3'd0};
        short_one.offset  = {33'd0, memory.offset, 3'd0};
        short_one.length  = entry_q.by_lines ? {19'd0, size, 6'd0} : {22'd0, size, 3'd0};
      end
      SHORT_LOCK: begin
        short_one.address = {{32{words_q[1][63]}}, words_q[1][63:32]};
        short_one.more    = {{32{words_q[1][31]}}, words_q[1][31:0]};
        short_one.offset  = {46'd0, target.rest, 2'd0};
      end
      SHORT_IMMEDIATE: begin
        short_one.address = words_q[1];
        short_one.offset  = {45'd0, target.rest, 3'd0};
      end
      default: begin  // a notification put needs no window
        short_one.kind.window = '0;
        short_one.tag         = {32'd0, target.window, target.rest};
        short_one.address     = words_q[1];
      end
    endcase
  end
  assign command_o = entry_q.is_short ? short_one : whole;
endmodule
