/// The receives of one mask: a hash table whose chains are in posting order.
///
/// | cycle | |
/// |---|---|
/// | `start_i` | hash of the header under this bank's mask: reads the bucket |
/// | `head_i` | its oldest receive is read |
/// | `look_i` | compared: `match_o`, or `more_o` follow |
/// | `step_i` | a bank with more reads the next one of its chain, the others keep theirs; then `look_i` again |
///
/// What is read stays at the outputs. `goto_i` goes to a receive whose bucket is known. `store_i` appends to the chain of
/// the bucket that was read, `remove_i` takes out the receive that was read; both take one cycle. Chains need no marks for
/// their ends: the bucket names both.
module stopbit_tag_bank
  import stopbit_nic_pkg::*;
  import stopbit_tag_pkg::*;
#(
  parameter  int unsigned Entries = 1024,  // receives, and buckets
  localparam int unsigned Width   = $clog2(Entries)
) (
  input  logic             clk_i,
  input  logic             clear_i,         // empties this bucket, and the bank has no receives
  input  logic [Width-1:0] clear_bucket_i,

  input  tag_header_t      header_i,
  input  tag_header_t      mask_i,
  output logic             fits_o,          // a cycle after mask_i: it is the mask of this bank
  output logic             in_use_o,
  input  logic             take_mask_i,     // of a bank that is not in use

  input  logic             start_i,
  input  logic             head_i,
  input  logic             look_i,
  input  logic             step_i,
  output logic             match_o,
  output logic             more_o,
  input  logic             goto_i,
  input  logic [Width-1:0] goto_slot_i,
  input  logic [Width-1:0] goto_bucket_i,

  output logic [Width-1:0] slot_o,
  output logic [Width-1:0] bucket_o,
  output tag_header_t      wanted_o,
  output tag_header_t      mask_o,
  output tag_stamp_t       stamp_o,

  input  logic             store_i,
  input  logic [Width-1:0] store_slot_i,
  input  tag_stamp_t       store_stamp_i,
  input  logic             remove_i
);
  typedef struct packed {
    logic             used;
    logic [Width-1:0] head;
    logic [Width-1:0] tail;
  } bucket_t;

  // ---- mask
  tag_header_t    mask_q;
  logic [Width:0] count_q;
  assign in_use_o = count_q != '0;
  assign mask_o   = mask_q;
  always_ff @(posedge clk_i) begin
    if (take_mask_i) mask_q <= mask_i;
    fits_o <= in_use_o && mask_q == mask_i;
    if (clear_i) count_q <= '0;
    else count_q <= count_q + (Width + 1)'(store_i) - (Width + 1)'(remove_i);
  end

  // ---- bucket
  logic [Width-1:0] hash, bucket_d, bucket_q, at_d, at_q, next, previous;
  bucket_t          bucket, changed;
  logic             is_first, is_last;
  stopbit_tag_hash #(.Bits(Width)) i_hash (.header_i, .mask_i(mask_q), .bucket_o(hash));
  assign bucket_o = bucket_q;
  assign is_first = at_q == bucket.head;
  assign is_last  = at_q == bucket.tail;
  always_comb begin
    bucket_d = bucket_q;
    if (goto_i) bucket_d = goto_bucket_i;
    if (start_i) bucket_d = hash;
    changed = '0;
    if (store_i) changed = '{used: 1'b1, head: bucket.used ? bucket.head : store_slot_i, tail: store_slot_i};
    if (remove_i) begin
      changed.used = !(is_first && is_last);
      changed.head = is_first ? next : bucket.head;
      changed.tail = is_last ? previous : bucket.tail;
    end
  end
  stopbit_ram #(.Width($bits(bucket_t)), .Depth(Entries)) buckets (
    .write_clk_i(clk_i), .write_i(clear_i || store_i || remove_i), .write_address_i(clear_i ? clear_bucket_i : bucket_q),
    .write_data_i(changed),
    .read_clk_i (clk_i), .read_address_i(bucket_d), .read_data_o(bucket)
  );

  // ---- receives
  logic joins;  // the one before it gets another next one
  assign joins  = (store_i && bucket.used) || (remove_i && !is_first);
  assign slot_o = at_q;
  always_comb begin
    at_d = at_q;
    if (goto_i) at_d = goto_slot_i;
    if (head_i) at_d = bucket.head;
    if (step_i && more_o) at_d = next;
  end
  stopbit_ram #(.Width($bits(tag_header_t) + TagStampBits), .Depth(Entries)) receives (
    .write_clk_i(clk_i), .write_i(store_i), .write_address_i(store_slot_i), .write_data_i({header_i, store_stamp_i}),
    .read_clk_i (clk_i), .read_address_i(at_d), .read_data_o({wanted_o, stamp_o})
  );
  stopbit_ram #(.Width(Width), .Depth(Entries)) nexts (
    .write_clk_i(clk_i), .write_i(joins), .write_address_i(store_i ? bucket.tail : previous),
    .write_data_i(store_i ? store_slot_i : next),
    .read_clk_i (clk_i), .read_address_i(at_d), .read_data_o(next)
  );
  stopbit_ram #(.Width(Width), .Depth(Entries)) previouses (
    .write_clk_i(clk_i), .write_i(store_i || (remove_i && !is_last)), .write_address_i(store_i ? store_slot_i : next),
    .write_data_i(store_i ? bucket.tail : previous),
    .read_clk_i (clk_i), .read_address_i(at_d), .read_data_o(previous)
  );

  // ---- walk
  logic live_q, is_equal;
  assign is_equal = ((wanted_o ^ header_i) & mask_q) == '0;
  always_ff @(posedge clk_i) begin
    bucket_q <= bucket_d;
    at_q     <= at_d;
    if (head_i) live_q <= bucket.used;
    if (look_i) begin
      match_o <= live_q && is_equal;
      more_o  <= live_q && !is_equal && !is_last;
    end
  end
endmodule
