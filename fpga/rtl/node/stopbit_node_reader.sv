/// Reads of a unit: packets to the host, and its responses as the unit takes them, a word a cycle.
///
/// `Ordered`: a read leaves when the host has all writes that were begun before it, so that it finds them. HTAX has 48 bits of
/// address; a read beyond them fails here. So does one whose response has another length, or an error: each of its words.
module stopbit_node_reader
  import stopbit_htax_pkg::*;
  import stopbit_node_pkg::*;
  import stopbit_rma_pkg::rma_answer_t;
  import stopbit_rma_pkg::rma_read_t;
#(
  parameter logic [3:0] Port    = 4'd4,
  parameter bit         Ordered = 1'b0
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  node_writes_t writes_i,

  input  logic         read_valid_i,
  output logic         read_ready_o,
  input  rma_read_t    read_i,
  output logic         answer_valid_o,
  output rma_answer_t  answer_o,

  output logic         valid_o,
  input  logic         ready_i,
  output logic         last_o,
  output logic [63:0]  phit_o,
  input  logic         come_valid_i,
  output logic         come_ready_o,
  input  logic         come_last_i,
  input  logic [63:0]  come_phit_i
);
  // ---- requests
  typedef enum logic [1:0] {IDLE, HEADER, COUNT, REFUSE} ask_e;
  ask_e         ask_q;
  rma_read_t    read_q;
  logic         passed, takes, refuses;
  htax_header_t header;
  assign read_ready_o = ask_q == IDLE;
  assign takes        = read_valid_i && read_ready_o;
  if (Ordered) begin : g_fence
    stopbit_node_fence i_fence (.clk_i, .rst_ni, .writes_i, .start_i(takes), .passed_o(passed));
  end else begin : g_none
    logic unused;
    assign unused = &{1'b0, writes_i};
    assign passed = 1'b1;
  end
  assign header  = '{error: 1'b0, channel: NONPOSTED, length: 4'd1, origin: Port, tag: read_q.tag,
                     address: {read_q.address[47:3], 3'd0}};
  assign valid_o = (ask_q == HEADER && passed) || ask_q == COUNT;
  assign last_o  = ask_q == COUNT;
  assign phit_o  = ask_q == COUNT ? 64'(read_q.count) + 64'd1 : header;
  always_ff @(posedge clk_i) begin
    if (takes) read_q <= read_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) ask_q <= IDLE;
    else begin
      unique case (ask_q)
        IDLE:    if (takes) ask_q <= read_i.address[51:48] != '0 ? REFUSE : HEADER;
        HEADER:  if (passed && ready_i) ask_q <= COUNT;
        COUNT:   if (ready_i) ask_q <= IDLE;
        default: if (refuses) ask_q <= IDLE;
      endcase
    end
  end

  // ---- responses; `counts` is of each tag that was asked for
  typedef enum logic [1:0] {HEAD, DATA, DRAIN, FAIL} answer_e;
  answer_e      answer_q;
  logic [2:0]   counts [0:Tags-1];
  logic [2:0]   left_q, count;  // answers after this one
  logic [4:0]   tag_q;
  htax_header_t response;
  logic         fits;
  assign response     = come_phit_i;
  assign count        = counts[response.tag];
  assign fits         = !response.error && response.length == 4'(count) + 4'd1;
  assign refuses      = ask_q == REFUSE && answer_q == HEAD;
  assign come_ready_o = (answer_q == HEAD && !refuses) || answer_q == DATA || answer_q == DRAIN;
  assign answer_valid_o = (answer_q == DATA && come_valid_i) || answer_q == FAIL;
  assign answer_o       = '{tag: tag_q, error: answer_q == FAIL, data: come_phit_i};
  always_ff @(posedge clk_i) begin
    if (takes) counts[read_i.tag] <= read_i.count;
    if (answer_q == HEAD) begin
      tag_q  <= refuses ? read_q.tag : response.tag;
      left_q <= refuses ? read_q.count : count;
    end else if (answer_q == FAIL) left_q <= left_q - 3'd1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) answer_q <= HEAD;
    else begin
      unique case (answer_q)
        HEAD:    if (refuses) answer_q <= FAIL;
                 else if (come_valid_i) answer_q <= fits ? DATA : come_last_i ? FAIL : DRAIN;
        DATA:    if (come_valid_i && come_last_i) answer_q <= HEAD;
        DRAIN:   if (come_valid_i && come_last_i) answer_q <= FAIL;
        default: if (left_q == '0) answer_q <= HEAD;
      endcase
    end
  end
endmodule
