/// The cache of translations, direct-mapped, and the registers with the places of the tables in memory.
///
/// A page is looked up in one cycle; the next one shows whether the cache has it, its entry, and the place of its table.
/// A flush drops a page in that next cycle, so that the look-up two cycles after the flush does not find it. After a reset all
/// places are cleared, one a cycle (`running_o`).
module stopbit_atu_cache
  import stopbit_nic_pkg::*;
#(
  parameter  int unsigned Entries    = 1024,
  localparam int unsigned IndexWidth = $clog2(Entries),
  localparam int unsigned KeyWidth   = NlaPageBits - IndexWidth
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  output logic                   running_o,

  input  logic                   base_write_i,
  input  logic [TableBits-1:0]   base_index_i,
  input  gat_base_t              base_i,

  input  logic [NlaPageBits-1:0] page_i,

  // the cycle after
  input  logic [NlaPageBits-1:0] looked_page_i,
  output logic                   hit_o,
  output gat_entry_t             entry_o,
  output gat_base_t              base_o,
  input  logic                   drop_i,

  input  logic                   fill_i,
  input  logic [NlaPageBits-1:0] fill_page_i,
  input  gat_entry_t             fill_entry_i
);
  if (Entries < 2 || (Entries & (Entries - 1)) != 0) $fatal(1, "stopbit_atu_cache: Entries is %0d, needs a power of two", Entries);

  typedef struct packed {
    logic [KeyWidth-1:0]   key;
    logic                  present;
    logic [15:0]           owner;
    logic [NumberBits-1:0] number;
    logic [1:0]            access;
  } line_t;

  // Tables are cleared with the cache: the larger of the two says for how long.
  localparam int unsigned ClearWidth = IndexWidth > TableBits ? IndexWidth : TableBits;
  logic [ClearWidth:0] clear_q;
  assign running_o = clear_q[ClearWidth];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) clear_q <= '0;
    else if (!running_o) clear_q <= clear_q + 1'b1;
  end

  line_t                 looked, filled;
  logic                  writes;
  logic [IndexWidth-1:0] write_index;
  always_comb begin
    filled = '0;
    if (running_o && !drop_i) begin
      filled = '{key: fill_page_i[NlaPageBits-1:IndexWidth], present: 1'b1, owner: fill_entry_i.owner,
                 number: fill_entry_i.number, access: fill_entry_i.access};
    end
    write_index = fill_page_i[IndexWidth-1:0];
    if (drop_i) write_index = looked_page_i[IndexWidth-1:0];
    if (!running_o) write_index = clear_q[IndexWidth-1:0];
  end
  assign writes  = !running_o || (drop_i && hit_o) || (fill_i && !drop_i);
  assign hit_o   = looked.present && looked.key == looked_page_i[NlaPageBits-1:IndexWidth];
  assign entry_o = '{owner: looked.owner, zero0: '0, number: looked.number, access: looked.access, present: looked.present};

  stopbit_ram #(.Width($bits(line_t)), .Depth(Entries)) i_lines (
    .write_clk_i    (clk_i),
    .write_i        (writes),
    .write_address_i(write_index),
    .write_data_i   (filled),
    .read_clk_i     (clk_i),
    .read_address_i (page_i[IndexWidth-1:0]),
    .read_data_o    (looked)
  );
  stopbit_ram #(.Width($bits(gat_base_t)), .Depth(1 << TableBits)) i_bases (
    .write_clk_i    (clk_i),
    .write_i        (!running_o || base_write_i),
    .write_address_i(running_o ? base_index_i : clear_q[TableBits-1:0]),
    .write_data_i   (running_o ? base_i : '0),
    .read_clk_i     (clk_i),
    .read_address_i (page_i[NlaPageBits-1:EntryBits]),
    .read_data_o    (base_o)
  );
endmodule
