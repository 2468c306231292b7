#pragma once

#include <cstdint>

#include "host/appliance/clocks.hpp"

namespace stopbit::appliance {

/// The wall clock as the exchange's day and the messages to a service need it: steps of the machine's clock do not show
/// while a connection exists, and at all only once the clock has kept to the new time for ten minutes. So a clock that
/// is wrong for a moment does not begin a day with its quota. One thread.
class ReplayClock {
 public:
  static constexpr std::uint64_t kSettledNs = 600'000'000'000;
  static constexpr std::int64_t kSlewedNs = 100'000'000;  ///< A step is longer.

  explicit ReplayClock(const Now& now) noexcept : offset_ns_(offset_of(now)), candidate_ns_(offset_ns_) {}

  /// `is_idle`: no connection exists.
  [[nodiscard]] std::uint64_t read(const Now& now, bool is_idle) noexcept {
    const std::int64_t offset = offset_of(now);
    if (is_near(offset, offset_ns_)) {
      candidate_ns_ = offset;
      if (is_idle) offset_ns_ = offset;
    } else if (!is_near(offset, candidate_ns_)) {
      candidate_ns_ = offset;
      since_ns_ = now.monotonic_ns;
    } else if (is_idle && now.monotonic_ns - since_ns_ >= kSettledNs) {
      offset_ns_ = candidate_ns_ = offset;
    }
    return now.monotonic_ns + static_cast<std::uint64_t>(offset_ns_);
  }

 private:
  [[nodiscard]] static std::int64_t offset_of(const Now& now) noexcept {
    return static_cast<std::int64_t>(now.wall_ns - now.monotonic_ns);
  }
  [[nodiscard]] static bool is_near(std::int64_t left, std::int64_t right) noexcept {
    const std::int64_t by = left - right;
    return by <= kSlewedNs && by >= -kSlewedNs;
  }

  std::int64_t offset_ns_;      ///< Of what it shows from the monotonic clock.
  std::int64_t candidate_ns_;   ///< Of the wall clock since the last step.
  std::uint64_t since_ns_ = 0;  ///< Monotonic: of that step.
};

}  // namespace stopbit::appliance
