#include "decoder/wire/index.hpp"

namespace stopbit::wire {
namespace {

IndexKernel chosen_or_portable() {
  const Result<IndexKernel>& chosen = chosen_index_kernel();
  return chosen ? chosen.value() : index_kernels().front();
}

/// Blocks and words that a kernel may write to: those of the bytes, and one or two more.
std::size_t blocks_for(std::size_t bytes) {
  return bytes / kIndexBlock + 2;
}

}  // namespace

Index::Index(std::size_t max_bytes) : Index(max_bytes, chosen_or_portable()) {}

Index::Index(std::size_t max_bytes, const IndexKernel& kernel)
    : build_(kernel.build),
      max_bytes_(max_bytes),
      blocks_(std::make_unique<Block[]>(1 + blocks_for(max_bytes))),
      stops_(std::make_unique<std::uint64_t[]>(blocks_for(max_bytes))) {}

}  // namespace stopbit::wire
