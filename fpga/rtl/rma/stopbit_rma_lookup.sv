/// Asks the address translation unit for a page, one at a time, and answers its flushes.
///
/// A flush is answered when no page of an answer is in use (`holds_i`), and before the next look-up: a unit gives its page
/// back after each packet. Nothing else is held, so every flush means all that is (Nuessle 5.4). Flushes wait in a queue,
/// which all that can be under way fit in: one must not keep back the answer for a packet's second page.
///
/// `done_o` comes 11 cycles after `ask_i` with a hit: the unit's 9, and a register on either side.
module stopbit_rma_lookup
  import stopbit_htax_pkg::TRANSLATION;
  import stopbit_nic_pkg::*;
  import stopbit_rma_pkg::*;
#(
  parameter  logic [3:0]  Port       = 4'd0,  // of HTAX, of this unit
  localparam int unsigned FlushWidth = $clog2(AtsFlushes)
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,

  input  logic                  ask_i,  // held until done
  input  rma_lookup_t           lookup_i,
  output logic                  done_o,
  output logic                  failed_o,
  output logic [NumberBits-1:0] number_o,  // as long as it is not given back
  input  logic                  holds_i,

  output logic                  ats_valid_o,
  input  logic                  ats_ready_i,
  output logic [63:0]           ats_phit_o,
  input  logic                  ats_valid_i,
  output logic                  ats_ready_o,
  input  logic [63:0]           ats_phit_i,

  output logic                  malformed_o  // a message that is none, left out
);
  ats_t                phit_in, out_q;
  translate_response_t answer;
  logic                is_answer, is_flush, taken, flushes, answers;
  logic                asked_q, valid_q, puts_flush, puts_ask;
  logic [4:0]          tag_q, flush_tag;
  logic [44:0]         flush_body;
  logic [49:0]         waiting [0:AtsFlushes-1];  // tags and bodies of flushes
  logic [FlushWidth:0] put_q, take_q;
  translate_request_t  request;
  assign phit_in   = ats_phit_i;
  assign answer    = phit_in.body;
  assign taken     = ats_valid_i && ats_ready_o;
  assign is_answer = taken && !phit_in.error && phit_in.channel == TRANSLATION && phit_in.operation == ATS_TRANSLATE_RESPONSE &&
                     asked_q && phit_in.tag == tag_q;
  assign is_flush  = taken && !phit_in.error && phit_in.channel == TRANSLATION && phit_in.operation == ATS_FLUSH_REQUEST;
  assign flushes     = put_q != take_q;
  assign answers     = flushes && !holds_i;  // a packet that has one page may still ask for the next
  assign ats_ready_o = put_q - take_q != (FlushWidth + 1)'(AtsFlushes);
  assign {flush_tag, flush_body} = waiting[take_q[FlushWidth-1:0]];

  assign request    = '{access: lookup_i.access, vpid: lookup_i.vpid, page: lookup_i.page};
  assign puts_flush = answers && !done_o && !valid_q;
  assign puts_ask   = ask_i && !asked_q && !done_o && !answers && !valid_q;

  assign ats_valid_o = valid_q;
  assign ats_phit_o  = out_q;
  always_ff @(posedge clk_i) begin
    if (!valid_q) begin
      out_q <= '{error: 1'b0, channel: TRANSLATION, length: '0, origin: Port, tag: answers ? flush_tag : tag_q,
                 operation: answers ? ATS_FLUSH_RESPONSE : ATS_TRANSLATE_REQUEST, body: answers ? flush_body : request};
    end
    if (is_flush) waiting[put_q[FlushWidth-1:0]] <= {phit_in.tag, phit_in.body};
    if (is_answer) begin
      failed_o <= answer.error != ERR_NOERR;
      number_o <= answer.number;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asked_q     <= 1'b0;
      put_q       <= '0;
      take_q      <= '0;
      valid_q     <= 1'b0;
      tag_q       <= '0;
      done_o      <= 1'b0;
      malformed_o <= 1'b0;
    end else begin
      valid_q     <= valid_q ? !ats_ready_i : puts_flush || puts_ask;
      asked_q     <= puts_ask || (asked_q && !is_answer);
      put_q       <= put_q + (FlushWidth + 1)'(is_flush);
      take_q      <= take_q + (FlushWidth + 1)'(puts_flush);
      tag_q       <= tag_q + 5'(is_answer);
      done_o      <= is_answer;
      malformed_o <= taken && !is_answer && !is_flush;
    end
  end
endmodule
