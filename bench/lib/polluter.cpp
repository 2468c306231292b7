#include "bench/lib/polluter.hpp"

#include <cstddef>
#include <utility>

namespace stopbit::bench {
namespace {

constexpr std::size_t kBytes = std::size_t{6} << 20;
constexpr std::size_t kLineWords = 8;
constexpr std::size_t kBranches = 32'768;
constexpr std::size_t kSites = 256;  ///< Branch instructions.

std::uint64_t next_random(std::uint64_t& state) noexcept {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/// Each a branch of its own: the compiler can neither merge nor remove what it does not understand.
template <std::size_t... Site>
void branch(std::uint64_t& state, std::index_sequence<Site...> /*sites*/) noexcept {
  std::uint64_t bits = 0;
  (([&] {
     if constexpr (Site % 64 == 0) bits = next_random(state);
     if ((bits >> Site % 64 & 1) != 0) asm volatile("nop # %0" : : "i"(Site));
   }()),
   ...);
}

}  // namespace

Polluter::Polluter() : memory_(kBytes / sizeof(std::uint64_t)) {}

void Polluter::pollute() noexcept {
  for (std::size_t i = 0; i < memory_.size(); i += kLineWords) memory_[i] += random_;
  for (std::size_t i = 0; i < kBranches; i += kSites) branch(random_, std::make_index_sequence<kSites>());
}

}  // namespace stopbit::bench
