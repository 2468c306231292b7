#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "microcode/base/result.hpp"

namespace stopbit::replay {

/// "max" (0), or a factor of the capture's own speed: "1x", "10x", "0.5x".
[[nodiscard]] Result<double> parse_pace(std::string_view text);

/// Waits until it is time for a packet, so that packets follow each other as they did in the capture.
class Pacer {
 public:
  /// `speed` 2 = twice as fast as the capture.
  explicit Pacer(double speed) : speed_(speed) {}

  /// Sleeps, but at most `slice_ns`. @returns true if it is time for the packet that arrived at `arrival_ns`; false if
  /// there is more to wait (call again) or `stop` was set. The first packet is due at once. A packet that is more than
  /// a second older than its predecessor (the next file is of another day) restarts the clock.
  [[nodiscard]] bool due(std::uint64_t arrival_ns, std::uint64_t slice_ns, const std::atomic<bool>& stop) noexcept;

  /// The longest time that a packet was called due after its time.
  [[nodiscard]] std::uint64_t latest_ns() const noexcept { return latest_ns_; }

 private:
  double speed_;
  bool started_ = false;
  std::uint64_t first_arrival_ns_ = 0;
  std::uint64_t last_arrival_ns_ = 0;
  std::uint64_t start_ns_ = 0;  ///< Of the monotonic clock, when the first packet was due.
  std::uint64_t latest_ns_ = 0;
};

}  // namespace stopbit::replay
