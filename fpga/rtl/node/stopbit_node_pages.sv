/// Look-ups of the message unit as messages to the translation unit, and what that asks: to give pages back.
///
/// While a flush waits no message begins to use memory (`pause_o`); those that have begun go on to their end, and then the
/// flush is answered. So nothing is written to a page after its flush, and none waits for ever.
module stopbit_node_pages
  import stopbit_htax_pkg::TRANSLATION;
  import stopbit_nic_pkg::*;
#(
  parameter  logic [3:0]         Port       = 4'd9,  // of HTAX, of this unit
  localparam int unsigned        CountWidth = $clog2(AtsFlushes) + 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                look_up_valid_i,
  output logic                look_up_ready_o,  // with the page
  input  translate_request_t  look_up_i,
  output logic                page_valid_o,
  output translate_response_t page_o,
  output logic                pause_o,
  input  logic                busy_i,           // pages may be in use

  output logic                ats_valid_o,
  input  logic                ats_ready_i,
  output logic [63:0]         ats_phit_o,
  input  logic                ats_valid_i,
  output logic                ats_ready_o,
  input  logic [63:0]         ats_phit_i,

  output logic                malformed_o       // a message that is none, left out
);
  ats_t                  come, out;
  logic                  done, failed, asks, answers;
  logic [NumberBits-1:0] number;
  logic [CountWidth-1:0] waits_q;
  stopbit_rma_lookup #(.Port(Port)) i_lookup (
    .clk_i, .rst_ni, .ask_i(look_up_valid_i),
    .lookup_i('{access: look_up_i.access, vpid: look_up_i.vpid, page: look_up_i.page}), .done_o(done), .failed_o(failed),
    .number_o(number), .holds_i(busy_i), .ats_valid_o, .ats_ready_i, .ats_phit_o, .ats_valid_i, .ats_ready_o, .ats_phit_i,
    .malformed_o
  );
  assign look_up_ready_o = done;
  assign page_valid_o    = done;
  assign page_o          = '{error: failed ? ERR_TFAULT : ERR_NOERR, number: number};

  // Flushes that have come and are not answered.
  assign come    = ats_phit_i;
  assign out     = ats_phit_o;
  assign asks    = ats_valid_i && ats_ready_o && !come.error && come.channel == TRANSLATION &&
                   come.operation == ATS_FLUSH_REQUEST;
  assign answers = ats_valid_o && ats_ready_i && out.operation == ATS_FLUSH_RESPONSE;
  assign pause_o = waits_q != '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) waits_q <= '0;
    else waits_q <= waits_q + CountWidth'(asks) - CountWidth'(answers);
  end
endmodule
