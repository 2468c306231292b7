/// Takes a packet from the network port, whole: one that is damaged, too short or too long leaves nothing.
///
/// The header's words are put where they belong as they come; data go to a buffer. `header_o` says that all of the header is
/// there (the packet may still be dropped), `valid_o` that the packet is. It stays until `take_i`.
module stopbit_rma_input
  import stopbit_nic_pkg::*;
  import stopbit_rma_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        valid_i,
  output logic        ready_o,
  output logic        accepts_o, // no packet is here or comes: one may begin without being held up
  input  rma_word_t   word_i,
  input  logic        bad_i,     // with the last word

  output logic        here_o,    // a pulse: the header is
  output logic        valid_o,
  output logic [15:0] from_o,
  output rma_header_t header_o,
  output words_t      words_o,
  input  words_t      read_i,    // which word of data is wanted in the next cycle
  output logic [63:0] data_o,
  input  logic        take_i,
  output logic        malformed_o
);
  localparam logic [5:0] FirstData = 6'd10;
  localparam logic [5:0] MaxWords  = FirstData + 6'(RmaDataWords);

  logic [5:0]                   at_q, at;  // of the word that comes; more than MaxWords: too many
  logic                         full_q, open_q, goes, is_too_long;
  logic [HeaderWords-1:0][63:0] header_q;
  logic [15:0]                  from_q;
  words_t                       words_q;
  assign ready_o     = !full_q;
  assign accepts_o   = !full_q && !open_q;
  assign goes        = valid_i && ready_o;
  assign at          = word_i.is_first ? '0 : at_q;
  assign is_too_long = at >= MaxWords;
  assign valid_o     = full_q;
  assign from_o      = from_q;
  assign header_o    = header_q;
  assign words_o     = words_q;
  always_ff @(posedge clk_i) begin
    if (goes) begin
      if (at == 6'd1) from_q <= word_i.data[15:0];
      for (int unsigned i = 0; i < HeaderWords; i++) begin
        if (at == 6'(i + 2)) header_q[i] <= word_i.data;
      end
      words_q <= 5'(at + 6'd1 - FirstData);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      at_q        <= '0;
      full_q      <= 1'b0;
      open_q      <= 1'b0;
      here_o      <= 1'b0;
      malformed_o <= 1'b0;
    end else begin
      here_o      <= goes && at == FirstData - 6'd1;
      malformed_o <= goes && word_i.is_last && (bad_i || at < FirstData - 6'd1 || is_too_long);
      full_q      <= full_q ? !take_i : goes && word_i.is_last && !bad_i && at >= FirstData - 6'd1 && !is_too_long;
      // Words without a start belong to none.
      if (goes) open_q <= !word_i.is_last;
      if (goes) at_q <= word_i.is_last ? MaxWords : is_too_long ? MaxWords : at + 6'd1;
    end
  end
  stopbit_ram #(.Width(64), .Depth(32)) i_data (
    .write_clk_i    (clk_i),
    .write_i        (goes && at >= FirstData && !is_too_long),
    .write_address_i(5'(at - FirstData)),
    .write_data_i   (word_i.data),
    .read_clk_i     (clk_i),
    .read_address_i (read_i),
    .read_data_o    (data_o)
  );
endmodule
