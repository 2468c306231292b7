/// Which bucket a header belongs to under a mask: the bits that the mask names, folded by XOR, each field from another bit on.
///
/// Equal bits under the mask are in one bucket. Users choose the tags, so a chain can be as long as the unit has receives.
module stopbit_tag_hash
  import stopbit_tag_pkg::*;
#(
  parameter int unsigned Bits = 10
) (
  input  tag_header_t     header_i,
  input  tag_header_t     mask_i,
  output logic [Bits-1:0] bucket_o
);
  tag_header_t key;
  assign key = header_i & mask_i;
  always_comb begin
    bucket_o = '0;
    for (int i = 0; i < 64; i++) bucket_o[i % Bits] ^= key.value[i];
    for (int i = 0; i < 32; i++) bucket_o[(i + Bits / 3) % Bits] ^= key.template_id[i];
    for (int i = 0; i < 32; i++) bucket_o[(i + 2 * Bits / 3) % Bits] ^= key.channel[i];
  end
endmodule
