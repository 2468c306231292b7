#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "host/appliance/status.hpp"

namespace stopbit::appliance {

/// What an appliance has counted over the last hour, in steps: enough to draw rates, latency, gaps and the losses of
/// each line over time. One thread.
class LastHour {
 public:
  static constexpr std::uint64_t kStepNs = 5'000'000'000;
  static constexpr std::size_t kPoints = 720;
  static constexpr std::uint64_t kLossStepNs = 30'000'000'000;
  static constexpr std::size_t kMostLosses = 6'000;

  /// Sums over all channels, since the start; those that are gone included.
  struct Point {
    std::uint64_t time_ns = 0;       ///< Wall clock, for labels.
    std::uint64_t monotonic_ns = 0;  ///< For rates.
    std::uint64_t packets = 0;
    std::uint64_t messages = 0;
    std::uint64_t gaps = 0;
    std::uint64_t lost = 0;  ///< Sequence numbers.
    std::uint64_t errors = 0;
    /// From arrival to record, of the records since the point before; all 0 if there were none.
    std::uint64_t records = 0;
    std::uint64_t p50_ns = 0;
    std::uint64_t p99_ns = 0;
    std::uint64_t p999_ns = 0;
  };
  /// Numbers that a line did not bring in a step of kLossStepNs, whether or not the other one did.
  struct LineLoss {
    std::uint64_t begin_ns = 0;  ///< Monotonic.
    std::string channel;
    std::size_t line = 0;
    std::uint64_t numbers = 0;
  };

  /// Whether it is time for the next point, by the monotonic clock: the wall clock, whose times the points have, may be
  /// stepped.
  [[nodiscard]] bool is_due(std::uint64_t monotonic_ns) const noexcept {
    return points_.empty() || monotonic_ns - last_ns_ >= kStepNs;
  }
  void add(const StatusReport& status, std::uint64_t monotonic_ns);
  [[nodiscard]] const std::deque<Point>& points() const noexcept { return points_; }
  /// Those of the last hour, at most kMostLosses, oldest first.
  [[nodiscard]] const std::deque<LineLoss>& line_losses() const noexcept { return losses_; }
  /// A list of [time_ns, packets, messages, gaps, lost, errors, monotonic_ns, records, p50_ns, p99_ns, p999_ns], oldest
  /// first.
  [[nodiscard]] std::string to_json() const;
  /// A list of [begin_ns, channel, line, numbers], oldest first.
  [[nodiscard]] std::string line_losses_json() const;

 private:
  void add_latency(const StatusReport& status, Point& point);
  void add_losses(const StatusReport& status, std::uint64_t monotonic_ns);
  void add_loss(std::uint64_t begin_ns, const std::string& channel, std::size_t line, std::uint64_t numbers);

  /// Of a channel, at the last point.
  struct Seen {
    std::uint64_t packets = 0;
    std::uint64_t messages = 0;
    std::uint64_t gaps = 0;
    std::uint64_t lost = 0;
    std::uint64_t errors = 0;
    std::array<std::uint64_t, 2> missing{};  ///< By line.
  };

  std::deque<Point> points_;
  std::deque<LineLoss> losses_;
  Point sums_;
  std::map<std::string, Seen> seen_;  ///< By channel: a reload moves them.
  counters::Distribution latency_;    ///< Of all agents, at the last point.
  std::uint64_t last_ns_ = 0;         ///< Monotonic: when the last point was added.
};

}  // namespace stopbit::appliance
