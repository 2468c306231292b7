#include "host/replay/pacer.hpp"

#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "host/os/clock.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::replay {
namespace {

/// A sleep wakes up this much late, or less; the rest of a wait is spent looking at the clock.
constexpr std::uint64_t kWakeUpNs = 100'000;
/// A wait of 30 years is as good as a longer one, and adds up without overflow.
constexpr double kLongestWaitNs = 1e18;

}  // namespace

Result<double> parse_pace(std::string_view text) {
  if (text == "max") return 0.0;
  double speed = 0;
  const char* const end = text.data() + text.size() - (text.ends_with('x') ? 1 : 0);
  const auto [rest, error] = std::from_chars(text.data(), end, speed, std::chars_format::fixed);
  if (!text.ends_with('x') || error != std::errc() || rest != end || !(speed >= 1e-6 && speed <= 1e6)) {
    return Failure{"pace '" + std::string(text) +
                   "' must be max or a factor from 0.000001x to 1000000x, like 1x or 10x"};
  }
  return speed;
}

bool Pacer::due(std::uint64_t arrival_ns, std::uint64_t slice_ns, const std::atomic<bool>& stop) noexcept {
  const std::uint64_t begin = os::monotonic_clock_ns();
  if (!started_ || (arrival_ns < last_arrival_ns_ && last_arrival_ns_ - arrival_ns > kNsPerSecond)) {
    started_ = true;
    first_arrival_ns_ = arrival_ns;
    start_ns_ = begin;
  }
  last_arrival_ns_ = arrival_ns;
  if (arrival_ns <= first_arrival_ns_) return true;
  const double wait_ns = std::min(static_cast<double>(arrival_ns - first_arrival_ns_) / speed_, kLongestWaitNs);
  const std::uint64_t due_ns = start_ns_ + static_cast<std::uint64_t>(wait_ns);
  const std::uint64_t until = std::min(due_ns, begin + slice_ns);

  while (!stop.load(std::memory_order_relaxed)) {
    const std::uint64_t now = os::monotonic_clock_ns();
    if (now >= until) {
      if (until == due_ns) latest_ns_ = std::max(latest_ns_, now - due_ns);
      return until == due_ns;
    }
    if (until - now > kWakeUpNs) {
      const std::uint64_t wake = until - kWakeUpNs;
      const timespec time{static_cast<time_t>(wake / kNsPerSecond), static_cast<long>(wake % kNsPerSecond)};
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time,
                        nullptr);  // a signal ends it early: look at `stop` again
    }
  }
  return false;
}

}  // namespace stopbit::replay
