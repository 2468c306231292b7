#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

namespace stopbit::cases {

/// Where tests take their choices from: a seed, which gives the same choices on every machine, or the bytes of a
/// fuzzer, which then steers the choices. After the end of the bytes every choice is 0.
class Random {
 public:
  explicit Random(std::uint64_t seed) : from_seed_(seed), is_seeded_(true) {}
  explicit Random(std::span<const std::uint8_t> bytes) : bytes_(bytes), is_seeded_(false) {}

  /// 64 bits.
  std::uint64_t bits() { return is_seeded_ ? from_seed_() : take(8); }

  /// 0 up to `bound` - 1; `bound` must not be 0.
  std::uint64_t below(std::uint64_t bound) {
    if (is_seeded_) return from_seed_() % bound;
    std::size_t count = 0;
    for (std::uint64_t rest = bound - 1; rest != 0; rest >>= 8) ++count;
    return take(count) % bound;
  }

  bool chance(unsigned percent) { return below(100) < percent; }

  template <class Container>
  auto& pick(Container& from) {
    return from[static_cast<std::size_t>(below(from.size()))];
  }

 private:
  std::uint64_t take(std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count && !bytes_.empty(); ++i) {
      value = value << 8 | bytes_.front();
      bytes_ = bytes_.subspan(1);
    }
    return value;
  }

  std::mt19937_64 from_seed_;
  std::span<const std::uint8_t> bytes_;
  bool is_seeded_;
};

}  // namespace stopbit::cases
