#include "bench/lib/line_transfer.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

#include "bench/lib/cpu.hpp"
#include "bench/lib/histogram.hpp"
#include "bench/lib/statistics.hpp"

namespace stopbit::bench {
namespace {

constexpr std::uint64_t kRounds = 20'000;
constexpr std::uint64_t kWarmUp = 2'000;

/// Processors fetch lines in pairs.
struct alignas(128) Line {
  std::atomic<std::uint64_t> value{0};
};

/// The median of half round trips, in ticks.
double burst(const TickClock& clock, int processor_a, int processor_b) {
  Line there;
  Line back;
  std::thread echo([&] {
    pin(processor_b);
    const Undisturbed undisturbed;
    for (std::uint64_t round = 1; round <= kWarmUp + kRounds; ++round) {
      while (there.value.load(std::memory_order_acquire) != round) {
      }
      back.value.store(round, std::memory_order_release);
    }
  });
  Histogram round_trips;
  std::thread ping([&] {
    pin(processor_a);
    const Undisturbed undisturbed;
    std::uint64_t before = ticks();
    for (std::uint64_t round = 1; round <= kWarmUp + kRounds; ++round) {
      there.value.store(round, std::memory_order_release);
      while (back.value.load(std::memory_order_acquire) != round) {
      }
      const std::uint64_t after = ticks();
      if (round > kWarmUp) round_trips.record(after - before);
      before = after;
    }
  });
  ping.join();
  echo.join();
  return clock.ns(static_cast<double>(round_trips.percentile(0.5)) / 2);
}

}  // namespace

double LineTransfer::median_ns() const {
  return median(half_round_trip_ns);
}

LineTransfer measure_line_transfer(const TickClock& clock, int processor_a, int processor_b, std::size_t bursts) {
  LineTransfer result;
  for (std::size_t i = 0; i < bursts; ++i) result.half_round_trip_ns.push_back(burst(clock, processor_a, processor_b));
  return result;
}

}  // namespace stopbit::bench
