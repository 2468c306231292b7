/// What the channels' dictionaries are at: their generations, and whether they wait for a reset.
///
/// A reset takes the next generation of all channels, so that none comes twice. After a reset of the hardware they begin
/// anew: stopbit_dictionary_state has forgotten its entries, and every channel takes a generation before it has one.
module stopbit_channels
  import stopbit_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [ChannelBits-1:0]    channel_i,
  output logic [GenerationBits-1:0] generation_o,  // of the channel
  output logic [GenerationBits-1:0] next_o,        // that a reset takes
  output logic                      waits_o,       // after an error: previous values cannot be trusted
  output logic                      is_stale_o,    // loaded, and not used since: a reset is due

  input  logic                      reset_i,
  input  logic                      fail_i,        // it waits from now on
  input  logic                      load_i,
  input  logic [ChannelBits-1:0]    loaded_channel_i
);
  localparam int unsigned Channels = 1 << ChannelBits;
  logic [GenerationBits-1:0] last_q;
  logic [GenerationBits-1:0] generations_q[Channels];
  logic [Channels-1:0] waits_q, stale_q;

  assign next_o       = last_q + 1'b1;
  assign generation_o = generations_q[channel_i];
  assign waits_o      = waits_q[channel_i];
  assign is_stale_o   = stale_q[channel_i];

  always_ff @(posedge clk_i) begin
    if (reset_i) begin
      last_q                   <= next_o;
      generations_q[channel_i] <= next_o;
    end
    if (!rst_ni) begin
      last_q  <= '0;
      waits_q <= '0;
      stale_q <= '1;
    end else begin
      if (reset_i) begin
        waits_q[channel_i] <= 1'b0;
        stale_q[channel_i] <= 1'b0;
      end
      if (fail_i) waits_q[channel_i] <= 1'b1;
      if (load_i) stale_q[loaded_channel_i] <= 1'b1;
    end
  end
endmodule
