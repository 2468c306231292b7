/// Moves messages out of their slots: the command, and then the words, one a cycle, one message right after the other. Words
/// that did not come, of a message that was cut, are 0.
module stopbit_wcb_mover
  import stopbit_wcb_pkg::*;
#(
  parameter  int unsigned Ports     = 64,
  localparam int unsigned Pages     = 2 * Ports,
  localparam int unsigned PageWidth = $clog2(Pages)
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,

  input  logic                         write_i,
  input  logic [PageWidth+WordWidth:0] write_address_i,
  input  logic [63:0]                  write_data_i,
  input  logic [PageWidth:0]           rows_slot_i,
  input  wcb_row_t                     even_i,
  input  wcb_row_t                     odd_i,

  input  logic                         leave_valid_i,
  output logic                         leave_ready_o,
  input  wcb_leave_t                   leave_i,
  output logic                         left_o,
  output logic [PageWidth:0]           left_slot_o,

  output logic                         valid_o,
  input  logic                         ready_i,
  output logic                         first_o,
  output logic                         last_o,
  output logic [63:0]                  data_o,
  output page_t                        page_o
);
  logic [WordWidth:0]   step_q, next, word;  // 0: the command; then word step - 1
  logic [63:0]          data;
  logic [RowWords-1:0]  even, odd;
  logic [RowWidth-1:0]  row_q;
  logic [3:0]           bit_q;
  logic                 put, is_gap;
  assign put           = leave_valid_i && ready_i;
  assign first_o       = step_q == '0;
  assign last_o        = step_q == leave_i.words;
  assign next          = !put ? step_q : last_o ? '0 : step_q + 1'b1;
  assign word          = next - 1'b1;
  assign left_slot_o   = {leave_i.page[PageWidth-1:0], leave_i.slot};
  assign left_o        = put && last_o;
  assign leave_ready_o = left_o;
  assign valid_o       = leave_valid_i;
  assign page_o        = leave_i.page;
  assign is_gap        = leave_i.is_cut && !(leave_i.rows[row_q] && (row_q[0] ? odd[bit_q] : even[bit_q]));
  assign data_o        = first_o ? leave_i.command : is_gap ? '0 : data;

  stopbit_ram #(.Width(64), .Depth(2 * Pages * MessageWords)) i_words (
    .write_clk_i(clk_i), .write_i, .write_address_i, .write_data_i,
    .read_clk_i(clk_i), .read_address_i({left_slot_o, word[WordWidth-1:0]}), .read_data_o(data)
  );
  stopbit_ram #(.Width(RowWords), .Depth(Pages * Rows)) i_even (
    .write_clk_i(clk_i), .write_i(even_i.write), .write_address_i({rows_slot_i, even_i.row}), .write_data_i(even_i.marks),
    .read_clk_i(clk_i), .read_address_i({left_slot_o, word[WordWidth-1:5]}), .read_data_o(even)
  );
  stopbit_ram #(.Width(RowWords), .Depth(Pages * Rows)) i_odd (
    .write_clk_i(clk_i), .write_i(odd_i.write), .write_address_i({rows_slot_i, odd_i.row}), .write_data_i(odd_i.marks),
    .read_clk_i(clk_i), .read_address_i({left_slot_o, word[WordWidth-1:5]}), .read_data_o(odd)
  );
  always_ff @(posedge clk_i) begin
    row_q <= word[WordWidth-1:4];
    bit_q <= word[3:0];
    if (!rst_ni) step_q <= '0;
    else step_q <= next;
  end
endmodule
