#include "decoder/wire/index_ends.hpp"
#include "decoder/wire/index_list.hpp"

namespace stopbit::wire::kernels {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kWord = 8;

}  // namespace

void build_portable(const std::uint8_t* from, std::size_t size, std::uint8_t* to, std::uint64_t* stops) noexcept {
  std::size_t at = 0;
  std::uint64_t mask = 0;  // of the block that is not complete
  for (; size - at >= kWord; at += kWord) {
    const auto word = load<std::uint64_t>(from + at);
    store(to + at, word);
    mask |= tops(word) << at % kBlock;
    if ((at + kWord) % kBlock == 0) {
      *stops++ = mask;
      mask = 0;
    }
  }
  const std::uint64_t rest = load_below_8(from + at, size - at);
  store(to + at, rest);
  *stops++ = mask | tops(rest) << at % kBlock;
  *stops = 0;
  for (std::size_t i = 0; i < kBlock; i += kWord) store(to + size + i, 0);
}

}  // namespace stopbit::wire::kernels
