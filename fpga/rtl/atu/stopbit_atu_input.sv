/// Sorts the messages of units: look-ups, answers to flushes, and malformed ones.
///
/// A unit may have as many look-ups under way as there are tags; further ones are dropped (`refused_o`), so that the queue
/// of its answers cannot overflow. Malformed messages are dropped, too (`malformed_o`).
///
/// From a message to its look-up: 1 cycle. An answer to a flush is passed on at once, and is known (`flush_known_i`) in the
/// same cycle or not at all.
module stopbit_atu_input
  import stopbit_htax_pkg::TRANSLATION;
  import stopbit_nic_pkg::*;
  import stopbit_translation_pkg::*;
#(
  parameter logic [AtsUnits-1:0][3:0] Ports = {4'd3, 4'd2, 4'd1, 4'd0}  // of HTAX, of each unit
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  valid_i,  // and it is taken
  input  logic [63:0]           phit_i,

  output logic                  request_valid_o,
  output atu_request_t          request_o,

  output logic                  flush_answer_o,
  output logic [UnitWidth-1:0]  flush_unit_o,
  output logic [FlushWidth-1:0] flush_slot_o,
  input  logic                  flush_known_i,

  input  logic [AtsUnits-1:0]      answered_i,  // an answer to a look-up has left

  output logic                  malformed_o,
  output logic                  refused_o
);
  localparam int unsigned OwedWidth = TagWidth + 1;

  ats_t                 message;
  translate_request_t   body;
  logic                 is_ats, is_request, is_answer;
  logic [UnitWidth-1:0] from;
  logic                 is_unit;
  assign message = phit_i;
  assign body    = message.body;
  always_comb begin
    from    = '0;
    is_unit = 1'b0;
    for (int unsigned u = 0; u < AtsUnits; u++) begin
      if (message.origin == Ports[u]) begin
        from    = UnitWidth'(u);
        is_unit = 1'b1;
      end
    end
  end
  assign is_ats     = valid_i && is_unit && !message.error && message.channel == TRANSLATION && message.length == '0;
  assign is_request = is_ats && message.operation == ATS_TRANSLATE_REQUEST && body.access != '0;
  assign is_answer  = is_ats && message.operation == ATS_FLUSH_RESPONSE && 32'(message.tag) < AtsFlushes;

  assign flush_answer_o = is_answer;
  assign flush_unit_o   = from;
  assign flush_slot_o   = message.tag[FlushWidth-1:0];

  logic         asks_q, malformed_q;
  atu_request_t request_q;
  always_ff @(posedge clk_i) begin
    request_q <= '{is_flush: 1'b0, drops: 1'b0, from: from, units: '0, tag: message.tag, body: body};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asks_q      <= 1'b0;
      malformed_q <= 1'b0;
    end else begin
      asks_q      <= is_request;
      malformed_q <= valid_i && !is_request && !(is_answer && flush_known_i);
    end
  end

  // Look-ups whose answer has not left.
  logic [AtsUnits-1:0][OwedWidth-1:0] owed_q;
  logic                            may;
  assign may             = owed_q[request_q.from] < OwedWidth'(AtsTags);
  assign request_valid_o = asks_q && may;
  assign request_o       = request_q;
  assign refused_o       = asks_q && !may;
  assign malformed_o     = malformed_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned u = 0; u < AtsUnits; u++) begin
      if (!rst_ni) owed_q[u] <= '0;
      else owed_q[u] <= owed_q[u] + OwedWidth'(request_valid_o && request_q.from == UnitWidth'(u)) - OwedWidth'(answered_i[u]);
    end
  end
endmodule
