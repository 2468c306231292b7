#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "host/monitor/counters/layout.hpp"

namespace stopbit::counters {

/// Bucket of a value: those below 8 have one each, from there on each power of two has eight.
constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
  if (value < kSubBuckets) return static_cast<std::size_t>(value);
  const auto power = static_cast<std::size_t>(std::bit_width(value)) - 1;  // 3 to 63
  return (power - 2) * kSubBuckets + ((value >> (power - 3)) & (kSubBuckets - 1));
}

/// The least value of a bucket.
constexpr std::uint64_t bucket_begin(std::size_t bucket) noexcept {
  if (bucket < kSubBuckets) return bucket;
  const std::size_t power = bucket / kSubBuckets + 2;
  return (std::uint64_t{kSubBuckets} + bucket % kSubBuckets) << (power - 3);
}

/// The largest value of a bucket.
constexpr std::uint64_t bucket_last(std::size_t bucket) noexcept {
  return bucket + 1 < kBuckets ? bucket_begin(bucket + 1) - 1 : ~std::uint64_t{0};
}

/// A histogram at one moment, or the sum of several.
struct Distribution {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t largest = 0;
  std::array<std::uint64_t, kBuckets> buckets{};

  /// The value that `part` (0 to 1) of the values do not exceed, to one part in eight upwards; 0 if there are none.
  [[nodiscard]] std::uint64_t quantile(double part) const noexcept {
    std::uint64_t all = 0;
    for (const std::uint64_t bucket : buckets) all += bucket;
    if (all == 0) return 0;
    const double wanted = std::clamp(part, 0.0, 1.0) * static_cast<double>(all);
    double seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += static_cast<double>(buckets[i]);
      if (buckets[i] != 0 && seen >= wanted) return std::min(bucket_last(i), largest);
    }
    return largest;
  }

  Distribution& operator+=(const Distribution& other) noexcept {
    count += other.count;
    sum += other.sum;
    largest = std::max(largest, other.largest);
    for (std::size_t i = 0; i < kBuckets; ++i) buckets[i] += other.buckets[i];
    return *this;
  }
};

}  // namespace stopbit::counters
