#pragma once

#include <verilated.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// Packed structs of SystemVerilog in the wide words of Verilated models.
namespace stopbit::sim {

/// Fills a packed struct, from its last member on.
template <std::size_t Words>
class BitWriter {
 public:
  explicit BitWriter(VlWide<Words>& out) : out_(out) {
    for (std::size_t i = 0; i < Words; ++i) out_[i] = 0;
  }
  /// Bits beyond the 64th are 0.
  void put(std::uint64_t value, unsigned bits) {
    for (unsigned i = 0; i < bits; ++i, ++at_) {
      if (i < 64 && (value >> i & 1) != 0) out_[at_ / 32] |= 1U << at_ % 32;
    }
  }
  /// How many bits were put.
  [[nodiscard]] unsigned size() const { return at_; }

 private:
  VlWide<Words>& out_;
  unsigned at_ = 0;
};

/// `count` bits from bit `at` on; at most 64.
template <class Wide>
std::uint64_t bits_at(const Wide& wide, unsigned at, unsigned count) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < count; i += 32) {
    const unsigned word = (at + i) / 32;
    const unsigned shift = (at + i) % 32;
    std::uint64_t piece = wide[word] >> shift;
    if (shift + std::min(count - i, 32U) > 32) piece |= std::uint64_t{wide[word + 1]} << (32 - shift);
    value |= (piece & 0xFFFF'FFFF) << i;
  }
  return count == 64 ? value : value & ((std::uint64_t{1} << count) - 1);
}

}  // namespace stopbit::sim
