/// Finds the group of a datagram: 64 entries looked at together, the first that fits counts. Answers one cycle later.
module stopbit_group_table (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,  // empties the table
  input  logic                                  write_i,
  input  logic [stopbit_front_pkg::GroupBits-1:0] write_index_i,
  input  stopbit_front_pkg::group_t             write_group_i,

  input  logic                                  go_i,    // the answer is to what is asked now
  input  logic [31:0]                           source_address_i,
  input  logic [31:0]                           address_i,
  input  logic [15:0]                           port_i,
  output logic                                  found_o,
  output logic [15:0]                           channel_o,
  output logic [7:0]                            line_o
);
  localparam int unsigned NumGroups = stopbit_front_pkg::NumGroups;

  logic [NumGroups-1:0]    valid_q;
  logic [NumGroups*81-1:0] keys_q;    // any_source, source address, address, port
  logic [NumGroups*24-1:0] values_q;  // channel, line
  logic [NumGroups-1:0]    fits, fits_q;

  for (genvar i = 0; i < NumGroups; i++) begin : g_entry
    logic write;
    assign write = write_i && write_index_i == stopbit_front_pkg::GroupBits'(i);
    always_ff @(posedge clk_i) begin
      if (!rst_ni) valid_q[i] <= 1'b0;
      else if (write) valid_q[i] <= write_group_i.valid;
    end
    always_ff @(posedge clk_i) begin
      if (write) begin
        keys_q[81*i +: 81]   <= {write_group_i.any_source, write_group_i.source_address, write_group_i.address,
                                 write_group_i.port};
        values_q[24*i +: 24] <= {write_group_i.channel, write_group_i.line};
      end
    end
    assign fits[i] = valid_q[i] && keys_q[81*i +: 48] == {address_i, port_i} &&
                     (keys_q[81*i+80] || keys_q[81*i+48 +: 32] == source_address_i);
  end

  always_ff @(posedge clk_i) begin
    if (go_i) fits_q <= fits;
  end

  logic [NumGroups-1:0] first;  // one bit, or none
  assign first   = fits_q & (~fits_q + 1'b1);
  assign found_o = fits_q != 0;
  always_comb begin
    {channel_o, line_o} = '0;
    for (int unsigned i = 0; i < NumGroups; i++) begin
      {channel_o, line_o} = {channel_o, line_o} | (values_q[24*i +: 24] & {24{first[i]}});
    end
  end
endmodule
