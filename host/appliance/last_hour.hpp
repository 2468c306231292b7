#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "host/appliance/status.hpp"

namespace stopbit::appliance {

/// What an appliance has counted over the last hour, in steps: enough to draw rates and gaps over time. One thread.
class LastHour {
 public:
  static constexpr std::uint64_t kStepNs = 5'000'000'000;
  static constexpr std::size_t kPoints = 720;

  /// Sums over all channels, since the start; those that are gone included.
  struct Point {
    std::uint64_t time_ns = 0;       ///< Wall clock, for labels.
    std::uint64_t monotonic_ns = 0;  ///< For rates.
    std::uint64_t packets = 0;
    std::uint64_t messages = 0;
    std::uint64_t gaps = 0;
    std::uint64_t lost = 0;  ///< Sequence numbers.
    std::uint64_t errors = 0;
  };

  /// Whether it is time for the next point, by the monotonic clock: the wall clock, whose times the points have, may be
  /// stepped.
  [[nodiscard]] bool is_due(std::uint64_t monotonic_ns) const noexcept {
    return points_.empty() || monotonic_ns - last_ns_ >= kStepNs;
  }
  void add(const StatusReport& status, std::uint64_t monotonic_ns);
  [[nodiscard]] const std::deque<Point>& points() const noexcept { return points_; }
  /// A list of [time_ns, packets, messages, gaps, lost, errors, monotonic_ns], oldest first.
  [[nodiscard]] std::string to_json() const;

 private:
  /// Of a channel, at the last point.
  struct Seen {
    std::uint64_t packets = 0;
    std::uint64_t messages = 0;
    std::uint64_t gaps = 0;
    std::uint64_t lost = 0;
    std::uint64_t errors = 0;
  };

  std::deque<Point> points_;
  Point sums_;
  std::map<std::string, Seen> seen_;  ///< By channel.
  std::uint64_t last_ns_ = 0;         ///< Monotonic: when the last point was added.
};

}  // namespace stopbit::appliance
