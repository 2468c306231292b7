#pragma once

#include <cstdint>
#include <functional>

#include "host/os/clock.hpp"
#include "microcode/base/now.hpp"

namespace stopbit::appliance {

/// Nanoseconds of one clock.
using Clock = std::function<std::uint64_t()>;

/// What the kernel says of the wall clock (adjtimex).
enum class ClockStatus : std::uint8_t {
  Synchronised,
  Unsynchronised,  ///< No daemon disciplines it, or its error has grown too large.
  LeapSecond,      ///< Synchronised, and a second is inserted or deleted at the end of the day.
};
[[nodiscard]] ClockStatus clock_status();

/// The clocks of an appliance. Tests turn them by hand.
struct Clocks {
  Clock wall = os::wall_clock_ns;
  Clock monotonic = os::monotonic_clock_ns;
  std::function<ClockStatus()> status = clock_status;
  [[nodiscard]] Now now() const { return {.wall_ns = wall(), .monotonic_ns = monotonic()}; }
};

/// Those of the machine.
[[nodiscard]] inline Now now_of_machine() {
  return {.wall_ns = os::wall_clock_ns(), .monotonic_ns = os::monotonic_clock_ns()};
}

}  // namespace stopbit::appliance
