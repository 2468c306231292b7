/// Finds credits among the packets that come for remote memory access: signals of subscribers for their ports.
///
/// A signal counts if node, port and domain are the subscriber's and it is for its port here, with the event of credits.
/// It listens only; the packet goes on to the unit.
module stopbit_remote_credits
  import stopbit_nic_pkg::*;
  import stopbit_remote_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter  int unsigned Subscribers = 8,
  localparam int unsigned IndexWidth  = Subscribers > 1 ? $clog2(Subscribers) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,

  input  logic                   set_i,
  input  logic [IndexWidth-1:0]  index_i,
  input  subscriber_t            subscriber_i,

  input  logic                   valid_i,  // a request's word was taken
  input  rma_word_t              word_i,
  input  logic                   bad_i,    // with the last one
  output logic [Subscribers-1:0] credit_o, // for `Replenish` messages
  output logic                   stray_o   // a signal that is none of them
);
  // Words of a packet: start, source, and the header's eight.
  localparam logic [3:0] Last = 4'd9;

  logic [3:0]             at_q, at;
  logic                   is_signal_q, is_signal, ends;
  logic [Subscribers-1:0] all_q, fits;
  rma_source_t            source;
  rma_kind_t              kind;
  rma_place_t             place;
  assign source    = word_i.data;
  assign kind      = word_i.data;
  assign place     = word_i.data;
  assign at        = word_i.is_first ? '0 : at_q;
  assign is_signal = at == 4'd2 ? kind.kind == RMA_SIGNAL && kind.service == Service : is_signal_q;
  assign ends      = valid_i && word_i.is_last && !bad_i && at == Last && is_signal_q;

  for (genvar s = 0; s < Subscribers; s++) begin : g_subscriber
    logic        open_q;
    logic [15:0] node_q, vpid_q, port_q, domain_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) open_q <= 1'b0;
      else if (set_i && index_i == IndexWidth'(s)) open_q <= subscriber_i.open;
      if (set_i && index_i == IndexWidth'(s)) begin
        node_q   <= subscriber_i.node;
        vpid_q   <= subscriber_i.vpid;
        port_q   <= subscriber_i.port;
        domain_q <= subscriber_i.domain;
      end
    end
    always_comb begin
      unique case (at)
        4'd0:    fits[s] = open_q;
        4'd1:    fits[s] = all_q[s] && source.node == node_q;
        4'd2:    fits[s] = all_q[s] && kind.target_vpid == port_q && kind.source_vpid == vpid_q;
        4'd3:    fits[s] = all_q[s] && place.domain == domain_q;
        Last:    fits[s] = all_q[s] && word_i.data == CreditEvent;
        default: fits[s] = all_q[s];
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      at_q        <= at == 4'd15 ? at : at + 4'd1;
      all_q       <= fits;
      is_signal_q <= is_signal;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      credit_o <= '0;
      stray_o  <= 1'b0;
    end else begin
      credit_o <= ends ? fits : '0;
      stray_o  <= ends && fits == '0;
    end
  end
endmodule
