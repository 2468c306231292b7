#include "bench/lib/ticks.hpp"

#include <algorithm>
#include <array>
#include <chrono>

namespace stopbit::bench {
namespace {

constexpr auto kCalibration = std::chrono::milliseconds(50);
constexpr std::size_t kPairs = 4'001;

struct Instant {
  std::uint64_t ticks = 0;
  std::chrono::steady_clock::time_point time;
};

/// The two clocks at one moment: of a few tries the one in which least time passed between the readings.
Instant now() {
  Instant best;
  std::uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t before = ticks_begin();
    const auto time = std::chrono::steady_clock::now();
    const std::uint64_t after = ticks_end();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = {before + shortest / 2, time};
  }
  return best;
}

}  // namespace

TickClock::TickClock() {
  const Instant begin = now();
  while (std::chrono::steady_clock::now() - begin.time < kCalibration) spin_pause();
  const Instant end = now();
  ns_per_tick_ = std::chrono::duration<double, std::nano>(end.time - begin.time).count() /
                 static_cast<double>(end.ticks - begin.ticks);

  std::array<std::uint64_t, kPairs> costs;
  for (std::uint64_t& cost : costs) {
    const std::uint64_t before = ticks_begin();
    cost = ticks_end() - before;
  }
  // The median: a reading during an interrupt would spoil a mean, and the least is rarer than the usual.
  std::nth_element(costs.begin(), costs.begin() + kPairs / 2, costs.end());
  pair_cost_ = costs[kPairs / 2];
}

}  // namespace stopbit::bench
