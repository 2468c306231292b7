#pragma once

#include <time.h>

#include <cstdint>

namespace stopbit::nic {

/// Nanoseconds of a clock that nobody turns back (CLOCK_MONOTONIC). Any thread.
[[nodiscard]] inline std::uint64_t steady_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace stopbit::nic
