/// Crossbar between the units of a card: any input to any output, without a buffer.
///
/// An input asks for one output, and for those channels for which it has a packet to it. It is granted one of them; from
/// the cycle of the grant on it sends the packet, a phit a cycle, and meanwhile asks for its next one. What a packet's
/// length says goes through, so no unit can keep an output. A channel without room at the output (`room_i`: for two
/// packets of the greatest length beside those that have come) holds up none of the others. Inputs take turns at an
/// output, and so do the channels of an input.
///
/// A request for an output that does not exist is granted, and its packet goes nowhere (`strayed_o`).
///
/// From a request to its first phit at the output: 2 cycles. Packets follow each other without a gap.
module stopbit_htax
  import stopbit_htax_pkg::*;
#(
  parameter  int unsigned NumInputs   = 6,
  parameter  int unsigned NumOutputs  = 6,
  localparam int unsigned TargetWidth = 4,
  localparam int unsigned InputWidth  = NumInputs > 1 ? $clog2(NumInputs) : 1
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,

  input  logic [NumInputs-1:0][Channels-1:0]      request_i,
  input  logic [NumInputs-1:0][TargetWidth-1:0]   target_i,
  output logic [NumInputs-1:0][Channels-1:0]      grant_o,
  input  logic [NumInputs-1:0][63:0]              phit_i,

  input  logic [NumOutputs-1:0][Channels-1:0]     room_i,
  output logic [NumOutputs-1:0]                   valid_o,
  output logic [NumOutputs-1:0]                   first_o,
  output logic [NumOutputs-1:0]                   last_o,
  output logic [NumOutputs-1:0][1:0]              channel_o,
  output logic [NumOutputs-1:0][63:0]             phit_o,

  output logic [NumInputs-1:0]                    strayed_o
);
  localparam int unsigned All = NumOutputs + 1;  // the last one is for what goes nowhere

  logic [All-1:0][NumInputs-1:0] holds;   // the input whose packet goes on after this cycle
  logic [All-1:0][NumInputs-1:0] chosen;

  // ---- inputs: of the channels that find room where they are to go, each in its turn
  logic [All-1:0][Channels-1:0]       room;
  logic [NumInputs-1:0][All-1:0]      to;
  logic [NumInputs-1:0]               offers, is_held, is_chosen;
  logic [NumInputs-1:0][Channels-1:0] channel;
  logic [NumInputs-1:0][1:0]          channel_index;
  assign room = {{Channels{1'b1}}, room_i};
  always_comb begin
    is_held   = '0;
    is_chosen = '0;
    for (int unsigned o = 0; o < All; o++) begin
      is_held   |= holds[o];
      is_chosen |= chosen[o];
    end
  end
  for (genvar p = 0; p < NumInputs; p++) begin : g_input
    logic [Channels-1:0] offered;
    always_comb begin
      offered = '0;
      for (int unsigned o = 0; o < All; o++) begin
        to[p][o] = o == NumOutputs ? 32'(target_i[p]) >= NumOutputs : 32'(target_i[p]) == o;
        if (to[p][o]) offered |= request_i[p] & room[o];
      end
    end
    stopbit_arbiter #(.NumRequesters(Channels)) i_channels (
      .clk_i,
      .rst_ni,
      .stop_i   (1'b0),
      .accept_i (is_chosen[p]),
      .request_i(offered),
      .any_o    (offers[p]),
      .grant_o  (channel[p]),
      .index_o  (channel_index[p])
    );
    always_ff @(posedge clk_i) begin
      grant_o[p]   <= rst_ni && is_chosen[p] ? channel[p] : '0;
      strayed_o[p] <= rst_ni && chosen[NumOutputs][p];
    end
  end

  // ---- outputs
  for (genvar o = 0; o < All; o++) begin : g_output
    // The choice, in the cycle in which the packet before ends, or in any if there is none.
    logic [NumInputs-1:0]  wants;
    logic                  any, is_busy, is_last;
    logic [InputWidth-1:0] from;
    for (genvar p = 0; p < NumInputs; p++) begin : g_wants
      assign wants[p] = to[p][o] && offers[p] && !is_held[p];
    end
    stopbit_arbiter #(.NumRequesters(NumInputs)) i_inputs (
      .clk_i,
      .rst_ni,
      .stop_i   (is_busy && !is_last),
      .accept_i (1'b1),
      .request_i(wants),
      .any_o    (any),
      .grant_o  (chosen[o]),
      .index_o  (from)
    );

    // The packet.
    htax_header_t          header;
    logic                  is_first_q;
    logic [3:0]            left_q;      // phits after this one, unless it is the first
    logic [InputWidth-1:0] from_q;
    logic [3:0]            left;
    assign header   = phit_i[from_q];
    assign left     = is_first_q ? header.length : left_q;
    assign is_last  = left == '0;
    always_comb begin
      holds[o] = '0;
      if (is_busy && !is_last) holds[o][from_q] = 1'b1;
    end
    always_ff @(posedge clk_i) begin
      is_first_q <= any;
      left_q     <= left - 4'd1;
      if (any) from_q <= from;
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni) is_busy <= 1'b0;
      else is_busy <= any || (is_busy && !is_last);
    end
    if (o < NumOutputs) begin : g_out
      logic [1:0] channel_q;
      always_ff @(posedge clk_i) begin
        if (any) channel_q <= channel_index[from];
        first_o[o]   <= is_first_q;
        last_o[o]    <= is_last;
        channel_o[o] <= channel_q;
        phit_o[o]    <= phit_i[from_q];
      end
      always_ff @(posedge clk_i) valid_o[o] <= rst_ni && is_busy;
    end
  end
endmodule
