#include "bench/lib/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace stopbit::bench {

Histogram::Histogram() : counts_(kBuckets) {}

void Histogram::add(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
  min_ = std::min(min_, other.min_);
}

void Histogram::clear() noexcept {
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = 0;
  max_ = 0;
  min_ = UINT64_MAX;
}

std::uint64_t Histogram::last_value_of(std::size_t index) noexcept {
  const std::size_t octave = index >> kLinearBits;
  if (octave < 2) return index;
  const std::size_t shift = octave - 1;
  return ((index - (shift << kLinearBits) + 1) << shift) - 1;
}

std::uint64_t Histogram::percentile(double share) const noexcept {
  if (count_ == 0) return 0;
  if (share <= 0) return min_;
  const double wanted = std::ceil(std::min(share, 1.0) * static_cast<double>(count_));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (static_cast<double>(seen) >= wanted) return std::clamp(last_value_of(i), min_, max_);
  }
  return max_;
}

std::vector<Histogram::Point> Histogram::points() const {
  constexpr int kPointsPerHalving = 5;
  std::vector<Point> points;
  if (count_ == 0) return points;
  double rest = 1;
  while (rest * static_cast<double>(count_) >= 1) {
    for (int i = 0; i < kPointsPerHalving; ++i) {
      const double share = 1 - rest + rest / 2 * i / kPointsPerHalving;
      points.push_back({share, percentile(share)});
    }
    rest /= 2;
  }
  points.push_back({1, max_});
  return points;
}

}  // namespace stopbit::bench
