/// What the consume stage works on: its instructions, and what the tables and the dictionary have for them. Whatever is
/// read is read in the cycle before, for the instructions that will be in the consume stage, or still are.
module stopbit_supply
  import stopbit_pkg::*;
  import stopbit_isa_pkg::*;
  import stopbit_uop_pkg::*;
(
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  stopbit_load_t          load_i,
  output logic [31:0]            back_data_o,  // read back, as in stopbit_tables
  output limits_t                limits_o,
  output logic                   is_ready_o,   // the dictionary is, after a reset

  // Instructions, as in stopbit_instructions.
  input  logic                   advance_i,
  input  logic                   done_i,
  input  logic                   steps_i,
  input  logic                   redirect_i,
  input  logic [ProgramBits-1:0] redirect_address_i,
  input  even_t                  redirect_even_i,
  input  logic                   is_last_element_i,
  input  logic [ProgramBits-1:0] next_message_i,
  input  logic                   is_guessed_i,
  input  logic [ProgramBits-1:0] guess_i,
  output instructions_t          next_o,
  output logic [5:0]             next_segment_o,  // of the first fetched one, if it is a PMAP
  output logic                   load_o,
  output instructions_t          now_o,

  // Entries for those in the consume stage.
  input  logic                   bank_i,
  input  logic [ContextBits-1:0] context_base_i,  // of the channel
  output constant_t [1:0]        constant_o,
  output entry_state_t [1:0]     state_o,
  output block_t                 block_o,
  output string_slot_t           slot_o,
  input  logic [ByteBits-1:0]    bytes_address_i,
  output logic [63:0]            bytes_o,

  // Of the dictionary.
  input  logic [GenerationBits-1:0] generation_i,
  input  logic [GenerationBits-1:0] next_generation_i,
  input  logic [1:0]             write_i,
  input  logic [1:0][ContextBits-1:0] write_entry_i,
  input  entry_state_t [1:0]     new_state_i,

  // Templates and profile programs.
  input  logic                   is_call_i,       // the template of a dynamic reference is looked up
  input  logic [31:0]            template_id_i,
  output logic                   template_found_o,
  output dispatch_t              template_o,
  input  logic [63:0]            map_i,           // of the segment of the PMAP in the consume stage
  output profile_t               profile_o,

  // Channels.
  input  logic [ChannelBits-1:0] channel_i,
  input  logic [ChannelBits-1:0] following_i,
  input  logic                   follows_i,       // that one counts
  output channel_t               channel_o,       // one cycle later
  output logic                   channel_loaded_o,
  output logic [ChannelBits-1:0] loaded_channel_o
);
  logic [ProgramBits-1:0] address;
  even_t even;
  insn_t [1:0] insn, coming;
  stopbit_instructions i_instructions (
    .clk_i,
    .rst_ni,
    .advance_i,
    .done_i,
    .steps_i,
    .redirect_i,
    .redirect_address_i,
    .redirect_even_i,
    .is_last_element_i,
    .next_message_i,
    .single_issue_i(limits_o.single_issue || limits_o.strict),
    .is_guessed_i,
    .guess_i,
    .address_o     (address),
    .even_o        (even),
    .insn_i        (insn),
    .next_o,
    .load_o,
    .now_o,
    .coming_o      (coming)
  );
  assign next_segment_o = insn[0].constant[5:0];

  channel_t [1:0] loaded;
  stopbit_tables i_tables (
    .clk_i,
    .load_i,
    .back_data_o,
    .bank_i,
    .program_address_i (address),
    .program_even_i    (even),
    .insn_o            (insn),
    .constant_address_i({coming[1].constant[ConstantBits-1:0], coming[0].constant[ConstantBits-1:0]}),
    .constant_o,
    .bytes_address_i,
    .bytes_o,
    .block_address_i   (coming[0].target[BlockBits-1:0]),
    .block_o,
    .slot_address_i    (coming[0].slot),
    .slot_o,
    .template_table_i  (is_call_i ? now_o.insn[0].target[TableBits-1:0] : '0),
    .template_id_i,
    .template_found_o,
    .template_o,
    .limits_o,
    .segment_i         (now_o.insn[0].constant[5:0]),
    .map_i,
    .profile_o,
    .channel_address_i ({following_i, channel_i}),
    .channel_o         (loaded),
    .channel_loaded_o,
    .loaded_channel_o
  );
  always_ff @(posedge clk_i) channel_o <= loaded[follows_i];

  // Which instructions come is known late: their entries are added up, and parted by banks, before.
  logic [1:0][ContextBits-1:0] next_entry, now_entry;
  read_entries_t entries_if_loaded, entries_if_stepped, entries_if_not;
  always_comb begin
    for (int unsigned i = 0; i < 2; i++) begin
      next_entry[i] = context_base_i + next_o.insn[i].slot;
      now_entry[i]  = context_base_i + now_o.insn[i].slot;
    end
    entries_if_loaded  = read_entries_of(next_o.traits[0].uses_entry, next_entry);
    entries_if_stepped = read_entries_of(now_o.traits[1].uses_entry, {2{now_entry[1]}});
    entries_if_not     = read_entries_of(now_o.traits[0].uses_entry, now_entry);
  end
  stopbit_dictionary_state i_states (
    .clk_i,
    .rst_ni,
    .is_cleared_o      (is_ready_o),
    .generation_i,
    .read_i            (load_o ? entries_if_loaded : advance_i && steps_i ? entries_if_stepped : entries_if_not),
    .state_o,
    .write_i,
    .write_generation_i(next_generation_i),
    .write_entry_i,
    .state_i           (new_state_i)
  );
endmodule
