#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stopbit::bench {

/// Counts values so that every percentile is known to one part in a thousand, however far the tail goes: buckets are
/// linear within each power of two, as in HdrHistogram. Recording is a few instructions and allocates nothing.
class Histogram {
 public:
  Histogram();

  void record(std::uint64_t value) noexcept {
    ++counts_[index_of(value)];
    ++count_;
    if (value > max_) max_ = value;
    if (value < min_) min_ = value;
  }
  void add(const Histogram& other) noexcept;
  void clear() noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }
  /// 0 if nothing was recorded.
  [[nodiscard]] std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }

  /// The least value that at least this share of the recorded values (0 to 1) does not exceed: exactly the least and
  /// the greatest at 0 and 1, else up to one part in a thousand too much. 0 if nothing was recorded.
  [[nodiscard]] std::uint64_t percentile(double share) const noexcept;

  struct Point {
    double share = 0;
    std::uint64_t value = 0;
  };
  /// What a plot over percentiles needs: five points for each halving of the rest, up to the last value recorded.
  [[nodiscard]] std::vector<Point> points() const;

 private:
  static constexpr unsigned kLinearBits = 10;  ///< Buckets per power of two, as a power of two.
  static constexpr std::size_t kBuckets = (64 - kLinearBits + 1) << kLinearBits;

  /// Values below 2^(kLinearBits + 1) have a bucket each; of larger ones the kLinearBits bits after the first one
  /// count.
  static std::size_t index_of(std::uint64_t value) noexcept {
    const unsigned bits = 64U - static_cast<unsigned>(__builtin_clzll(value | 1));
    const unsigned shift = bits > kLinearBits + 1 ? bits - kLinearBits - 1 : 0;
    return (static_cast<std::size_t>(shift) << kLinearBits) + static_cast<std::size_t>(value >> shift);
  }
  static std::uint64_t last_value_of(std::size_t index) noexcept;

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t min_ = UINT64_MAX;
};

}  // namespace stopbit::bench
