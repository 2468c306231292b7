/// Puts messages together from parts that come in any order, those of many pages between each other: the write-combining buffer
/// in front of the message unit, as WriteCombiner of host/nic/msg does for one page.
///
/// A page is a port's, one for each class. Messages leave whole, through a FIFO that all pages share, as the requester of the
/// message unit takes them.
/// (Geib 2012, 2.3)
module stopbit_wcb
  import stopbit_wcb_pkg::*;
#(
  parameter  int unsigned Ports      = 64,
  parameter  int unsigned OutDepth   = 512,  // words of the shared FIFO; at least a whole message
  localparam int unsigned PageWidth  = $clog2(2 * Ports),
  localparam int unsigned LevelWidth = $clog2(OutDepth) + 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  tick_i,
  input  logic [15:0]           patience_i,  // ticks that a message may be incomplete
  output logic [15:0]           now_o,

  input  logic                  set_valid_i,
  output logic                  set_ready_o,
  input  logic [PageWidth-1:0]  set_page_i,  // class and port
  input  logic                  set_open_i,

  // Parts: head, tag, words.
  input  logic                  valid_i,
  output logic                  ready_o,
  input  logic                  first_i,
  input  logic                  last_i,
  input  logic [63:0]           data_i,
  input  logic [9:0]            vpid_i,
  input  logic [1:0]            class_i,

  // Messages: velo_command_t, words.
  output logic                  valid_o,
  input  logic                  ready_i,
  output logic                  first_o,
  output logic                  last_o,
  output logic [63:0]           data_o,
  output logic [9:0]            vpid_o,
  output logic [1:0]            class_o,

  // Words in the shared FIFO, to be written to memory: after a tick, if they are others than before.
  output logic                  level_valid_o,
  input  logic                  level_ready_i,
  output logic [LevelWidth-1:0] level_o,

  // Events, a cycle each.
  output logic                  event_valid_o,
  output wcb_event_t            event_o,
  output logic                  stray_o
);
  logic                         part_valid, part_ready;
  wcb_part_t                    part;
  logic                         write;
  logic [PageWidth+WordWidth:0] write_address;
  logic [63:0]                  write_data;
  logic [PageWidth:0]           rows_slot, left_slot;
  wcb_row_t                     even, odd;
  logic                         put, put_ready, leave_valid, leave_ready, left;
  wcb_leave_t                   put_data, leave;
  logic                         move_valid, move_ready, move_first, move_last;
  logic [63:0]                  move_data;
  page_t                        move_page, out_page;
  logic [LevelWidth-1:0]        level;

  stopbit_wcb_part #(.Ports(Ports)) i_part (
    .clk_i, .rst_ni, .valid_i, .ready_o, .first_i, .last_i, .data_i, .vpid_i, .class_i,
    .valid_o(part_valid), .ready_i(part_ready), .part_o(part), .stray_o
  );
  stopbit_wcb_slots #(.Ports(Ports)) i_slots (
    .clk_i, .rst_ni, .tick_i, .patience_i, .now_o, .set_valid_i, .set_ready_o, .set_page_i, .set_open_i,
    .valid_i(part_valid), .ready_o(part_ready), .part_i(part),
    .write_o(write), .write_address_o(write_address), .write_data_o(write_data),
    .rows_slot_o(rows_slot), .even_o(even), .odd_o(odd),
    .leave_valid_o(put), .leave_ready_i(put_ready), .leave_o(put_data), .left_i(left), .left_slot_i(left_slot),
    .event_valid_o, .event_o
  );
  stopbit_fifo #(.Width($bits(wcb_leave_t)), .Depth(16)) i_leave (
    .clk_i, .rst_ni, .valid_i(put), .ready_o(put_ready), .data_i(put_data),
    .valid_o(leave_valid), .ready_i(leave_ready), .double_i(1'b0), .single_o(), .data_o(leave), .count_o()
  );
  stopbit_wcb_mover #(.Ports(Ports)) i_mover (
    .clk_i, .rst_ni, .write_i(write), .write_address_i(write_address), .write_data_i(write_data),
    .rows_slot_i(rows_slot), .even_i(even), .odd_i(odd),
    .leave_valid_i(leave_valid), .leave_ready_o(leave_ready), .leave_i(leave), .left_o(left), .left_slot_o(left_slot),
    .valid_o(move_valid), .ready_i(move_ready), .first_o(move_first), .last_o(move_last), .data_o(move_data), .page_o(move_page)
  );
  stopbit_fifo #(.Width(2 + NumberWidth + 64), .Depth(OutDepth)) i_out (
    .clk_i, .rst_ni, .valid_i(move_valid), .ready_o(move_ready), .data_i({move_first, move_last, move_page, move_data}),
    .valid_o, .ready_i, .double_i(1'b0), .single_o(), .data_o({first_o, last_o, out_page, data_o}), .count_o(level)
  );
  // A page is the class and then the port.
  assign class_o = 2'(out_page[PageWidth-1]);
  assign vpid_o  = 10'(out_page & page_t'(Ports - 1));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      level_valid_o <= 1'b0;
      level_o       <= '0;
    end else if (level_valid_o) begin
      level_valid_o <= !level_ready_i;
    end else if (tick_i && level != level_o) begin
      level_valid_o <= 1'b1;
      level_o       <= level;
    end
  end
endmodule
