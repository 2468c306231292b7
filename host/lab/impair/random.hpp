#pragma once

#include <cstdint>

#include "microcode/base/splitmix64.hpp"

namespace stopbit::impair {

/// Random numbers that are the same with every compiler and library.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  [[nodiscard]] std::uint64_t next() noexcept { return splitmix64(state_); }

  /// 0 to bound - 1. The bias of bounds far below 2^64 is without meaning here.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

  /// True with this probability.
  [[nodiscard]] bool happens(double probability) noexcept {
    if (probability <= 0) return false;
    constexpr double kTo53Bits = 1.0 / 9007199254740992.0;
    return static_cast<double>(next() >> 11) * kTo53Bits < probability;
  }

 private:
  std::uint64_t state_;
};

}  // namespace stopbit::impair
