#pragma once

#include <algorithm>
#include <cstdint>

#include "host/ports/port.hpp"

namespace stopbit::ingest {

/// Maps stamps of card and kernel, which are wall clock, to the monotonic clock:
///
///     t = monotonic now - (wall now - stamp)
///
/// A datagram has arrived after the last poll that found its source empty, and before now. A wall clock that was
/// stepped between two receive calls leaves stamps of both its times in the sources that were not empty since: each is
/// mapped by what the clock was before or after, whichever is possible. Where neither is, as after two steps, t is now,
/// the latest time at which the datagram can have come. One thread.
class ArrivalClock {
 public:
  /// Stamps further than this outside that time are impossible; they count as PortCounters::clamped. Cards stamp before
  /// the kernel shows a datagram, by microseconds.
  static constexpr std::uint64_t kToleranceNs = 1'000'000;

  /// State of a source: a socket, or a queue of a card. It is read in the order of arrival.
  struct Source {
    std::uint64_t empty_ns = 0;  ///< Monotonic: when it was last known to be empty.
    std::uint64_t last_ns = 0;   ///< t of the last datagram whose stamp was possible.
  };
  struct Mapped {
    std::uint64_t t_ns = 0;
    bool is_clamped = false;
  };

  /// After each receive call: both clocks, the monotonic one before and after the other.
  void read(std::uint64_t before_ns, std::uint64_t wall_ns, std::uint64_t after_ns) noexcept {
    monotonic_ns_ = after_ns;
    wall_ns_ = wall_ns;
    const std::uint64_t apart = after_ns - before_ns;
    const std::uint64_t offset = before_ns + apart / 2 - wall_ns;  // modulo 2^64
    const auto moved = static_cast<std::int64_t>(offset - offset_);
    const std::uint64_t step = static_cast<std::uint64_t>(moved < 0 ? -moved : moved);
    const bool has_stepped = is_known_ && step > kStepNs + apart / 2;
    // A thread that lost its processor between the readings knows less than before, unless the clock was stepped.
    if (is_known_ && !has_stepped && apart > kStepNs) return;
    if (has_stepped) {
      offset_before_ = offset_;
      stepped_ns_ = after_ns;
    }
    offset_ = offset;
    is_known_ = true;
  }
  [[nodiscard]] std::uint64_t monotonic_ns() const noexcept { return monotonic_ns_; }
  [[nodiscard]] std::uint64_t wall_ns() const noexcept { return wall_ns_; }

  [[nodiscard]] Mapped map(std::uint64_t stamp_ns, Source& source, PortCounter& clamped) const noexcept {
    std::uint64_t t = stamp_ns + offset_;
    if (stepped_ns_ != 0 && source.empty_ns < stepped_ns_) {
      // The earlier one, unless what was read before came later.
      const std::uint64_t floor = std::max(source.empty_ns, source.last_ns);
      const std::uint64_t other = stamp_ns + offset_before_;
      const bool is_other_first = static_cast<std::int64_t>(other - t) < 0;
      const std::uint64_t early = is_other_first ? other : t;
      const std::uint64_t late = is_other_first ? t : other;
      t = is_possible(early, floor) || !is_possible(late, floor) ? early : late;
      if (!is_possible(t, floor)) return clamp(clamped);
    }
    if (!is_possible(t, source.empty_ns)) return clamp(clamped);
    const std::uint64_t least = std::min(source.empty_ns, monotonic_ns_);
    t = static_cast<std::int64_t>(t - least) < 0 ? least : t;
    t = static_cast<std::int64_t>(t - monotonic_ns_) > 0 ? monotonic_ns_ : t;
    source.last_ns = std::max(source.last_ns, t);
    return {.t_ns = t, .is_clamped = false};
  }

 private:
  static constexpr std::uint64_t kStepNs = 100'000;

  [[nodiscard]] bool is_possible(std::uint64_t t, std::uint64_t floor_ns) const noexcept {
    return static_cast<std::int64_t>(t - floor_ns) >= -static_cast<std::int64_t>(kToleranceNs) &&
           static_cast<std::int64_t>(t - monotonic_ns_) <= static_cast<std::int64_t>(kToleranceNs);
  }
  /// As late as it can have come: nothing that waits for another datagram is given up too early.
  [[nodiscard]] Mapped clamp(PortCounter& clamped) const noexcept {
    clamped.add(1);
    return {.t_ns = monotonic_ns_, .is_clamped = true};
  }

  std::uint64_t monotonic_ns_ = 0;
  std::uint64_t wall_ns_ = 0;
  std::uint64_t offset_ = 0;         ///< Of the monotonic clock from the wall clock, modulo 2^64.
  std::uint64_t offset_before_ = 0;  ///< Before the last step,
  std::uint64_t stepped_ns_ = 0;     ///< which was seen then, by the monotonic clock; 0 = never.
  bool is_known_ = false;
};

}  // namespace stopbit::ingest
