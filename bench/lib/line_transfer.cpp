#include "bench/lib/line_transfer.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

#include "bench/lib/cpu.hpp"
#include "bench/lib/statistics.hpp"

namespace stopbit::bench {
namespace {

constexpr std::uint64_t kRounds = 6'000;
constexpr std::uint64_t kWarmUp = 600;

/// Processors fetch lines in pairs.
struct alignas(128) Line {
  std::atomic<std::uint64_t> round{0};
};

struct Burst {
  double half_round_trip_ns = 0;
  double clock_offset_ns = 0;
};

/// The first half of the rounds measures round trips. In the second the other side reads its clock before it answers,
/// and answers with that: a round trip with a clock in it would be too long.
Burst burst(const TickClock& clock, int processor_a, int processor_b) {
  Line there;
  Line back;
  constexpr std::uint64_t kStamped = kWarmUp + kRounds;
  constexpr std::uint64_t kEnd = kStamped + kRounds;
  std::thread echo([&] {
    pin(processor_b);
    const Undisturbed undisturbed;
    for (std::uint64_t round = 1; round <= kEnd; ++round) {
      while (there.round.load(std::memory_order_acquire) != round) {
      }
      back.round.store(round <= kStamped ? round : ticks(), std::memory_order_release);
    }
  });
  std::vector<double> round_trips;
  std::vector<double> offsets;
  round_trips.reserve(kRounds);
  offsets.reserve(kRounds);
  std::thread ping([&] {
    pin(processor_a);
    const Undisturbed undisturbed;
    std::uint64_t last = 0;
    for (std::uint64_t round = 1; round <= kEnd; ++round) {
      const std::uint64_t before = ticks_begin();
      there.round.store(round, std::memory_order_release);
      std::uint64_t answer = last;
      while (answer == last) answer = back.round.load(std::memory_order_acquire);
      const std::uint64_t after = ticks_end();
      last = answer;
      if (round <= kWarmUp) continue;
      const auto round_trip = static_cast<double>(clock.between(before, after));
      if (round <= kStamped) {
        round_trips.push_back(round_trip);
      } else {
        offsets.push_back(static_cast<double>(static_cast<std::int64_t>(answer - before)) - round_trip / 2);
      }
    }
  });
  ping.join();
  echo.join();
  return {clock.ns(median(round_trips)) / 2, clock.ns(median(offsets))};
}

}  // namespace

double LineTransfer::median_ns() const {
  return median(half_round_trip_ns);
}

LineTransfer measure_line_transfer(const TickClock& clock, int processor_a, int processor_b, std::size_t bursts) {
  LineTransfer result;
  for (std::size_t i = 0; i < bursts; ++i) {
    const Burst one = burst(clock, processor_a, processor_b);
    result.half_round_trip_ns.push_back(one.half_round_trip_ns);
    result.clock_offset_ns.push_back(one.clock_offset_ns);
  }
  return result;
}

}  // namespace stopbit::bench
