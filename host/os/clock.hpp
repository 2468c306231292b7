#pragma once

#include <time.h>

#include <cstdint>

/// The clocks of the machine, in nanoseconds. Any thread; no system call if the kernel has a vDSO.
namespace stopbit::os {

[[nodiscard]] inline std::uint64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// CLOCK_MONOTONIC: never set back, and the same for every process of the machine.
[[nodiscard]] inline std::uint64_t monotonic_clock_ns() noexcept {
  return clock_ns(CLOCK_MONOTONIC);
}

/// CLOCK_REALTIME, since 1970: may be stepped at any time.
[[nodiscard]] inline std::uint64_t wall_clock_ns() noexcept {
  return clock_ns(CLOCK_REALTIME);
}

}  // namespace stopbit::os
