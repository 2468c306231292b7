#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace stopbit::os {

/// When the time is over. One that is longer than a clock can count lasts 36 years, and not no time at all.
[[nodiscard]] inline std::chrono::steady_clock::time_point deadline_after(std::chrono::nanoseconds timeout) noexcept {
  constexpr std::chrono::nanoseconds kLongest(std::int64_t{1} << 60);
  return std::chrono::steady_clock::now() + std::min(timeout, kLongest);
}

}  // namespace stopbit::os
