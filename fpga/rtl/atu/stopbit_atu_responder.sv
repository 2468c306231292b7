/// What leaves the reorder buffer becomes messages to units: an answer to the one that asked, a flush to each that it names.
///
/// This is where owner and rights are checked, for entries of the cache and of memory alike. Each unit has a queue with room
/// for all that it can be owed: one that takes nothing holds up no other.
///
/// From what leaves the reorder buffer to the message: 2 cycles.
module stopbit_atu_responder
  import stopbit_htax_pkg::TRANSLATION;
  import stopbit_nic_pkg::*;
  import stopbit_translation_pkg::*;
#(
  parameter logic [3:0] Port = 4'd4  // of HTAX, of this unit
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,

  input  logic                             valid_i,
  input  atu_request_t                     request_i,
  input  gat_entry_t                       entry_i,
  input  logic                             read_i,
  input  logic                             failed_i,

  output logic [AtsUnits-1:0]                 valid_o,
  input  logic [AtsUnits-1:0]                 ready_i,
  output logic [AtsUnits-1:0][63:0]           phit_o,

  output logic [AtsUnits-1:0]                 answered_o,  // an answer has left
  output logic [AtsUnits-1:0]                 sent_o,      // a flush has left
  output logic [AtsUnits-1:0][FlushWidth-1:0] sent_slot_o,

  output logic                             passed_o,    // a flush has its turn
  output logic [FlushWidth-1:0]            passed_slot_o,
  output logic                             fill_o,
  output logic                             fault_o,
  output logic                             failed_o
);
  localparam int unsigned Depth = 2 * AtsTags;  // AtsTags answers and AtsFlushes flushes fit

  typedef struct packed {
    logic                is_flush;
    logic [TagWidth-1:0] tag;
    logic [44:0]         body;
  } message_t;

  logic               is_granted, answers;
  message_t           message;
  translate_response_t response;
  flush_t             flush;
  assign answers    = valid_i && !request_i.is_flush;
  assign is_granted = !failed_i && entry_i.present && entry_i.owner == request_i.body.vpid &&
                      (request_i.body.access & ~entry_i.access) == '0;
  assign response   = is_granted ? '{error: ERR_NOERR, number: entry_i.number} : '{error: ERR_TFAULT, number: '0};
  assign flush      = '{zero0: '0, page: request_i.body.page};
  assign message    = '{is_flush: request_i.is_flush, tag: request_i.tag, body: request_i.is_flush ? flush : response};

  assign passed_o      = valid_i && request_i.is_flush;
  assign passed_slot_o = request_i.tag[FlushWidth-1:0];
  assign fill_o        = answers && read_i && !failed_i && entry_i.present;
  always_ff @(posedge clk_i) begin
    fault_o  <= rst_ni && answers && !is_granted;
    failed_o <= rst_ni && answers && failed_i;
  end

  for (genvar u = 0; u < AtsUnits; u++) begin : g_unit
    logic     puts, has_room;
    message_t out;
    ats_t     phit;
    assign puts = valid_i && (request_i.is_flush ? request_i.units[u] : request_i.from == UnitWidth'(u));
    stopbit_fifo #(.Width($bits(message_t)), .Depth(Depth)) i_queue (
      .clk_i, .rst_ni,
      .valid_i (puts),
      .ready_o (has_room),
      .data_i  (message),
      .valid_o (valid_o[u]),
      .ready_i (ready_i[u]),
      .double_i(1'b0),
      .single_o(),
      .data_o  (out),
      .count_o ()
    );
    assign phit = '{error: 1'b0, channel: TRANSLATION, length: '0, origin: Port, tag: out.tag,
                    operation: out.is_flush ? ATS_FLUSH_REQUEST : ATS_TRANSLATE_RESPONSE, body: out.body};
    assign phit_o[u]      = phit;
    assign answered_o[u]  = valid_o[u] && ready_i[u] && !out.is_flush;
    assign sent_o[u]      = valid_o[u] && ready_i[u] && out.is_flush;
    assign sent_slot_o[u] = out.tag[FlushWidth-1:0];
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni) never_full : assert (!puts || has_room);
    end
`endif
  end
endmodule
