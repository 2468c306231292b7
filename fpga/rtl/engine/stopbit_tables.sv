/// The tables of firmware, in two banks: program, constants, blocks, templates, string slots, limits; and the table of
/// channels, which is shared.
///
/// A read address of one cycle gives the entry in the next, that of a channel at once. The words of an entry are loaded in order; it changes when
/// its last word comes. A word that is read back comes from where the engine reads it; what an entry has no bits for is 0.
module stopbit_tables
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
(
  input  logic          clk_i,
  input  stopbit_load_t load_i,
  output logic [31:0]   back_data_o,  // the word at load_i.address one cycle earlier
  input  logic          bank_i,  // of what is read

  input  logic [ProgramBits-1:0]  program_address_i,
  input  logic [ProgramBits-2:0]  program_even_i,  // half of it, rounded up
  output insn_t [1:0]             insn_o,  // at the address, and the one after it
  input  logic [1:0][ConstantBits-1:0] constant_address_i,
  output constant_t [1:0]         constant_o,
  input  logic [ByteBits-1:0]     bytes_address_i,
  output logic [63:0]             bytes_o,
  input  logic [BlockBits-1:0]    block_address_i,
  output block_t                  block_o,
  input  logic [SlotBits-1:0]     slot_address_i,
  output string_slot_t            slot_o,
  input  logic [TableBits-1:0]    template_table_i,
  input  logic [31:0]             template_id_i,
  output logic                    template_found_o,
  output dispatch_t               template_o,
  output limits_t                 limits_o,
  input  logic [5:0]              segment_i,
  input  logic [63:0]             map_i,
  output profile_t                profile_o,  // of a segment's map, if it is valid

  input  logic [1:0][ChannelBits-1:0] channel_address_i,
  output channel_t [1:0]          channel_o,
  output logic                    channel_loaded_o,  // this one, in this cycle
  output logic [ChannelBits-1:0]  loaded_channel_o
);
  logic [31:0] words_q[7];  // the last words before this one, the latest in 6
  always_ff @(posedge clk_i) begin
    if (load_i.valid) begin
      for (int unsigned i = 0; i < 6; i++) words_q[i] <= words_q[i+1];
      words_q[6] <= load_i.data;
    end
  end

  logic [15:0] at;
  assign at = load_i.address[15:0];
  logic [8:0] loads;  // by table
  always_comb begin
    for (int unsigned i = 0; i < 9; i++) loads[i] = load_i.valid && load_i.address[19:16] == 4'(i);
  end

  logic [63:0]                 program_back, bytes_back;
  logic [$bits(constant_t)-1:0] constant_back;
  logic [$bits(block_t)-1:0]    block_back;
  logic [$bits(string_slot_t)-1:0] slot_back;
  logic [$bits(dispatch_t)-1:0] dispatch_back[2];

  logic write_channel;
  assign write_channel    = loads[TABLE_CHANNELS] && at[0];
  assign channel_loaded_o = write_channel;
  assign loaded_channel_o = at[1+:ChannelBits];

  // Instructions at even and at odd addresses, so that any two neighbours are read at once.
  logic is_odd_q, back_is_odd_q;
  logic [1:0][63:0] neighbours_back;
  insn_t [1:0] neighbours;
  for (genvar odd = 0; odd < 2; odd++) begin : g_program
    stopbit_loaded_ram #(.Width(64), .Depth(1 << ProgramBits)) i_ram (
      .back_data_o(neighbours_back[odd]),
      .write_clk_i(clk_i), .write_i(loads[TABLE_PROGRAM] && at[0] && at[1] == (odd != 0)),
      .write_address_i({load_i.bank, at[2+:ProgramBits-1]}), .write_data_i({load_i.data, words_q[6]}),
      .read_clk_i(clk_i),
      .read_address_i({bank_i, odd != 0 ? program_address_i[ProgramBits-1:1] : program_even_i}),
      .read_data_o(neighbours[odd])
    );
  end
  always_ff @(posedge clk_i) begin
    is_odd_q      <= program_address_i[0];
    back_is_odd_q <= at[1];
  end
  assign program_back = neighbours_back[back_is_odd_q];
  assign insn_o = is_odd_q ? {neighbours[0], neighbours[1]} : neighbours;

  localparam int unsigned ConstantWidth = $bits(constant_t);
  logic [1:0][ConstantWidth-1:0] copies_back;
  for (genvar i = 0; i < 2; i++) begin : g_constants
    stopbit_loaded_ram #(.Width(ConstantWidth), .Depth(2 << ConstantBits)) i_ram (
      .back_data_o(copies_back[i]),
      .write_clk_i(clk_i), .write_i(loads[TABLE_CONSTANTS] && (&at[2:0])),
      .write_address_i({load_i.bank, at[3+:ConstantBits]}),
      .write_data_i(ConstantWidth'({words_q[4], words_q[3], words_q[2], words_q[1], words_q[0]})),
      .read_clk_i(clk_i), .read_address_i({bank_i, constant_address_i[i]}), .read_data_o(constant_o[i])
    );
  end
  // Copies that are not the same are shown as something that was not loaded.
  assign constant_back = copies_back[0] == copies_back[1] ? copies_back[0] : ~copies_back[0];

  stopbit_loaded_ram #(.Width(64), .Depth(2 << ByteBits)) i_bytes (
    .back_data_o(bytes_back),
    .write_clk_i(clk_i), .write_i(loads[TABLE_BYTES] && at[0]),
    .write_address_i({load_i.bank, at[1+:ByteBits]}), .write_data_i({load_i.data, words_q[6]}),
    .read_clk_i(clk_i), .read_address_i({bank_i, bytes_address_i}), .read_data_o(bytes_o)
  );
  stopbit_loaded_ram #(.Width($bits(block_t)), .Depth(2 << BlockBits)) i_blocks (
    .back_data_o(block_back),
    .write_clk_i(clk_i), .write_i(loads[TABLE_BLOCKS]),
    .write_address_i({load_i.bank, at[BlockBits-1:0]}), .write_data_i(load_i.data[15:0]),
    .read_clk_i(clk_i), .read_address_i({bank_i, block_address_i}), .read_data_o(block_o)
  );
  stopbit_loaded_ram #(.Width($bits(string_slot_t)), .Depth(2 << SlotBits)) i_slots (
    .back_data_o(slot_back),
    .write_clk_i(clk_i), .write_i(loads[TABLE_SLOTS]),
    .write_address_i({load_i.bank, at[SlotBits-1:0]}), .write_data_i(load_i.data[25:0]),
    .read_clk_i(clk_i), .read_address_i({bank_i, slot_address_i}), .read_data_o(slot_o)
  );
  // Channels are few, and looked up in the cycle in which a datagram begins.
  channel_t channels[1<<ChannelBits];
  always_ff @(posedge clk_i) begin
    if (write_channel) channels[at[1+:ChannelBits]] <= {load_i.data[11:0], words_q[6]};
  end
  for (genvar i = 0; i < 2; i++) begin : g_channel
    assign channel_o[i] = channels[channel_address_i[i]];
  end

  // Templates: an identifier of a table is in one of two slots, one in each way.
  function automatic logic [DispatchBits-1:0] place(logic [TableBits-1:0] in, logic [31:0] number, logic way);
    logic [31:0] id, x;
    id = number ^ {in, {32-TableBits{1'b0}}};
    x  = way ? id ^ {id[25:0], id[31:26]} ^ {4'b0, id[31:4]} : id;
    return x[8:0] ^ x[17:9] ^ x[26:18] ^ {4'b0, x[31:27]};
  endfunction
  dispatch_t way[2];
  logic [31:0] template_id_q;
  logic [TableBits-1:0] template_table_q;
  for (genvar w = 0; w < 2; w++) begin : g_way
    stopbit_loaded_ram #(.Width($bits(dispatch_t)), .Depth(2 << DispatchBits)) i_ram (
      .back_data_o(dispatch_back[w]),
      .write_clk_i(clk_i), .write_i(loads[TABLE_DISPATCH] && (&at[1:0]) && at[2+DispatchBits] == w),
      .write_address_i({load_i.bank, at[2+:DispatchBits]}),
      .write_data_i({load_i.data[11:0], words_q[6], words_q[5][27:0], words_q[4]}),
      .read_clk_i(clk_i), .read_address_i({bank_i, place(template_table_i, template_id_i, w != 0)}), .read_data_o(way[w])
    );
  end
  always_ff @(posedge clk_i) begin
    template_id_q    <= template_id_i;
    template_table_q <= template_table_i;
  end
  always_comb begin
    template_o = way[1];
    if (way[0].valid && way[0].id == template_id_q && way[0].in_table == template_table_q) template_o = way[0];
    template_found_o = template_o.valid && template_o.id == template_id_q && template_o.in_table == template_table_q;
  end

  // Profile programs, in the same way.
  localparam int unsigned ProfileWidth = $bits(profile_t);
  profile_t profile[2];
  logic [1:0][ProfileWidth-1:0] profile_back;
  logic [31:0] folded_map;
  logic [63:0] map_q;
  logic [5:0] segment_q;
  assign folded_map = map_i[63:32] ^ {map_i[8:0], map_i[31:9]} ^ {segment_i, 20'b0, segment_i};
  for (genvar w = 0; w < 2; w++) begin : g_profile
    stopbit_loaded_ram #(.Width(ProfileWidth), .Depth(2 << ProfileBits)) i_ram (
      .back_data_o(profile_back[w]),
      .write_clk_i(clk_i), .write_i(loads[TABLE_PROFILES] && (&at[1:0]) && at[2+ProfileBits] == w),
      .write_address_i({load_i.bank, at[2+:ProfileBits]}),
      .write_data_i(ProfileWidth'({words_q[6], words_q[5], words_q[4]})),
      .read_clk_i(clk_i), .read_address_i({bank_i, place('0, folded_map, w != 0)}), .read_data_o(profile[w])
    );
  end
  always_ff @(posedge clk_i) begin
    map_q     <= map_i;
    segment_q <= segment_i;
  end
  always_comb begin
    profile_o = profile[0].valid && profile[0].bits == map_q && profile[0].segment == segment_q ? profile[0] : profile[1];
    if (profile_o.bits != map_q || profile_o.segment != segment_q) profile_o.valid = 1'b0;
  end

  limits_t limits_q[2];
  always_ff @(posedge clk_i) begin
    if (loads[TABLE_LIMITS] && (&at[2:0])) begin
      limits_q[load_i.bank] <= {words_q[4][1:0], words_q[3], words_q[2], words_q[1], words_q[0]};
    end
  end
  assign limits_o = limits_q[bank_i];

  // Read back: the entries as the words that they were loaded as.
  table_e           back_table_q;
  logic [2:0]       back_word_q;
  logic             back_way_q;
  channel_t         back_channel_q;
  limits_t          back_limits_q;
  logic [7:0][31:0] back_entry;
  dispatch_t        back_dispatch;
  always_ff @(posedge clk_i) begin
    back_table_q   <= table_e'(load_i.address[19:16]);
    back_word_q    <= at[2:0];
    back_way_q     <= at[2+DispatchBits];
    back_channel_q <= channels[at[1+:ChannelBits]];
    back_limits_q  <= limits_q[load_i.bank];
  end
  assign back_dispatch = dispatch_back[back_way_q];
  always_comb begin
    back_entry = '0;
    case (back_table_q)
      TABLE_PROGRAM:   back_entry = 256'({4{program_back}});
      TABLE_CONSTANTS: back_entry = 256'(constant_back);
      TABLE_BYTES:     back_entry = 256'({4{bytes_back}});
      TABLE_BLOCKS:    back_entry = {8{32'(block_back)}};
      TABLE_DISPATCH:  back_entry = {2{32'(back_dispatch[103:92]), back_dispatch[91:60], 32'(back_dispatch[59:32]),
                                       back_dispatch[31:0]}};
      TABLE_SLOTS:     back_entry = {8{32'(slot_back)}};
      TABLE_PROFILES:  back_entry = {2{128'(profile_back[back_way_q])}};
      TABLE_LIMITS:    back_entry = 256'(back_limits_q);
      TABLE_CHANNELS:  back_entry = {4{64'(back_channel_q)}};
      default: ;
    endcase
  end
  assign back_data_o = back_entry[back_word_q];
endmodule
