#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace stopbit::arbitrate {

/// Counts durations by powers of two: bucket 0 holds 0 ns, bucket b holds [2^(b-1), 2^b) ns.
struct Histogram {
  std::array<std::uint64_t, 65> buckets{};

  void add(std::uint64_t ns) noexcept { ++buckets[static_cast<std::size_t>(std::bit_width(ns))]; }
  void add(const Histogram& other) noexcept {
    for (std::size_t i = 0; i < buckets.size(); ++i) buckets[i] += other.buckets[i];
  }

  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t bucket : buckets) sum += bucket;
    return sum;
  }

  /// A duration that so large a part (0 to 1) of all does not exceed: the end of its bucket. 0 if there is none.
  [[nodiscard]] std::uint64_t at_most(double part) const noexcept {
    const double wanted = part * static_cast<double>(count());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      sum += buckets[i];
      if (buckets[i] != 0 && static_cast<double>(sum) >= wanted)
        return i == 0 ? 0 : i < 64 ? (std::uint64_t{1} << i) - 1 : ~std::uint64_t{0};
    }
    return 0;
  }

  bool operator==(const Histogram&) const = default;
};

}  // namespace stopbit::arbitrate
