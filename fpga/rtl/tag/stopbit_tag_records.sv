/// The records without a receive: a list in the order in which they came.
///
/// `begin_i` goes to the oldest one; then one is looked at in each cycle, until one matches (`found_o`) or there is no
/// other (`done_o`). `take_i` takes out what is found, and goes on after it. `append_i` ends a walk.
module stopbit_tag_records
  import stopbit_tag_pkg::*;
#(
  parameter  int unsigned Entries = 1024,
  localparam int unsigned Width   = $clog2(Entries)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,       // after a reset: each slot once
  input  logic [Width-1:0] clear_slot_i,

  input  tag_header_t      wanted_i,
  input  tag_header_t      mask_i,
  input  logic             all_i,         // any record matches
  input  logic             begin_i,
  output logic             found_o,
  output logic             done_o,
  output tag_record_t      record_o,
  input  logic             take_i,

  input  logic             append_i,      // there must be room
  input  tag_record_t      append_record_i,
  output logic [Width:0]   count_o
);
  logic [Width-1:0] oldest_q, youngest_q, at_d, at_q, before_q, next, free;
  logic [Width:0]   count_q;
  logic             live_q, first_q, is_last, is_match, moves;
  assign count_o  = count_q;
  assign is_last  = at_q == youngest_q;
  assign is_match = all_i || ((record_o.header ^ wanted_i) & mask_i) == '0;
  assign found_o  = live_q && is_match;
  assign done_o   = !live_q;
  assign moves    = live_q && (take_i || !is_match);

  always_comb begin
    at_d = at_q;
    if (begin_i) at_d = oldest_q;
    else if (moves && !is_last) at_d = next;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      live_q  <= 1'b0;
      count_q <= '0;
    end else begin
      if (begin_i) live_q <= count_q != '0;
      else if (append_i || (moves && is_last)) live_q <= 1'b0;
      count_q <= count_q + (Width + 1)'(append_i) - (Width + 1)'(take_i);
    end
  end
  always_ff @(posedge clk_i) begin
    at_q <= at_d;
    if (begin_i) first_q <= 1'b1;
    else if (moves && !take_i) begin
      first_q  <= 1'b0;
      before_q <= at_q;
    end
    if (take_i && first_q) oldest_q <= next;
    if (take_i && is_last) youngest_q <= before_q;
    if (append_i) begin
      youngest_q <= free;
      if (count_q == '0) oldest_q <= free;
    end
  end

  stopbit_ram #(.Width($bits(tag_record_t)), .Depth(Entries)) records (
    .write_clk_i(clk_i), .write_i(append_i), .write_address_i(free), .write_data_i(append_record_i),
    .read_clk_i (clk_i), .read_address_i(at_d), .read_data_o(record_o)
  );
  stopbit_ram #(.Width(Width), .Depth(Entries)) nexts (
    .write_clk_i(clk_i), .write_i((append_i && count_q != '0) || (take_i && !first_q)),
    .write_address_i(append_i ? youngest_q : before_q), .write_data_i(append_i ? free : next),
    .read_clk_i (clk_i), .read_address_i(at_d), .read_data_o(next)
  );

  logic free_valid, free_ready;
  stopbit_fifo #(.Width(Width), .Depth(Entries)) i_free (
    .clk_i, .rst_ni,
    .valid_i(clear_i || take_i), .ready_o(free_ready), .data_i(clear_i ? clear_slot_i : at_q),
    .valid_o(free_valid), .ready_i(append_i), .double_i(1'b0), .single_o(), .data_o(free), .count_o()
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      takes_what_is_found : assert (!take_i || found_o);
      appends_with_room   : assert (!append_i || free_valid);
      frees_with_room     : assert (!(clear_i || take_i) || free_ready);
      one_at_a_time       : assert (!(append_i && take_i));
    end
  end
`ifdef FORMAL
  initial assume (!rst_ni);
`endif
`endif
endmodule
