// What it takes to notice an event of the user-level network interface, by the way of waiting, and what it costs the
// node that signals it. Two threads on two processors; the one that waits has been waiting for a while.

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/histogram.hpp"
#include "bench/lib/line_transfer.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/ticks.hpp"
#include "host/nic/notify/events.hpp"
#include "host/nic/queue/page.hpp"

namespace stopbit::bench {
namespace {

using nic::EventCounters;
using nic::EventSource;
using nic::PageLayout;

constexpr std::uint64_t kTimes = 400;  ///< Of a burst.
constexpr double kRestNs = 60'000;     ///< Before each signal, so that the sleeper is asleep by then.
constexpr std::chrono::seconds kPatience(5);
constexpr std::size_t kEvent = 7;

struct alignas(nic::kPageBytes) Pages {
  std::byte bytes[PageLayout::kBytes] = {};
};

/// How a port waits for one occurrence.
struct Mode {
  std::string name;
  std::function<void(EventCounters&)> prepare;
  std::function<bool(EventCounters&)> await;  ///< False: it did not come.
};

std::vector<Mode> modes() {
  const auto nothing = [](EventCounters&) {};
  return {
      {"poll", nothing,
       [](EventCounters& events) {
         while (!events.poll(kEvent)) spin_pause();
         return true;
       }},
      {"spin", nothing, [](EventCounters& events) { return events.spin(kEvent, kPatience); }},
      {"wait", nothing, [](EventCounters& events) { return events.wait(kEvent, kPatience); }},
      {"next", [](EventCounters& events) { events.watch(kEvent); },
       [](EventCounters& events) { return events.next(kPatience) == kEvent; }},
      {"handler", [](EventCounters& events) { events.arm(kEvent, [](std::size_t) {}); },
       [](EventCounters& events) { return events.dispatch(kPatience) == 1; }},
  };
}

struct Burst {
  Histogram seen;    ///< From before the signal until the port has it.
  Histogram signal;  ///< What the signal takes the node.
};

Burst run(const Mode& mode, const TickClock& clock, std::pair<int, int> processors, double offset_ns) {
  const auto memory = std::make_unique<Pages>();
  const nic::Page page{std::span<std::byte, PageLayout::kBytes>(memory->bytes)};
  EventSource source(page);
  EventCounters events(page);
  mode.prepare(events);
  alignas(128) std::atomic<std::uint64_t> waiting{0};
  alignas(128) std::atomic<bool> is_over{false};
  std::array<std::uint64_t, kTimes> signalled{};
  std::array<std::uint64_t, kTimes> seen{};
  Burst result;
  std::thread node([&] {
    pin(processors.second);
    const Undisturbed undisturbed;
    for (std::uint64_t i = 0; i < kTimes; ++i) {
      while (waiting.load(std::memory_order_acquire) != i + 1) {
        if (is_over.load()) return;
        spin_pause();
      }
      const auto rest = static_cast<std::uint64_t>(clock.ticks_of(kRestNs));
      for (const std::uint64_t begin = ticks(); ticks() - begin < rest;) spin_pause();
      const std::uint64_t before = ticks_begin();
      signalled[i] = before;
      (void)source.signal(kEvent);
      result.signal.record(clock.between(before, ticks_end()));
    }
  });
  std::uint64_t count = 0;
  {
    pin(processors.first);
    const Undisturbed undisturbed;
    for (; count < kTimes; ++count) {
      waiting.store(count + 1, std::memory_order_release);
      if (!mode.await(events)) break;
      seen[count] = ticks_end();
    }
  }
  is_over = true;
  node.join();
  if (count != kTimes) throw std::runtime_error("event/" + mode.name + ": an event did not come");
  const auto offset = static_cast<std::int64_t>(clock.ticks_of(offset_ns));  // of the node's clock
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    const auto taken = static_cast<std::int64_t>(seen[i] - signalled[i]) + offset;
    result.seen.record(taken < 0 ? 0 : static_cast<std::uint64_t>(taken));
  }
  return result;
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(argc, argv, "What it takes to notice an event, by the way of waiting.");
  Report report;
  const auto processors = two_processors();
  if (!processors) {
    report.problem("one processor only: nobody can wait for another");
    return report.finish(arguments.json);
  }
  if (!Undisturbed::is_possible()) report.note("without real-time priority: other programs disturb the figures");
  const TickClock clock;
  try {
    const LineTransfer line = measure_line_transfer(clock, processors->first, processors->second, 3);
    report.add("event/line", "ns", line.half_round_trip_ns);
    const double offset_ns = median(line.clock_offset_ns);
    const std::size_t rounds = arguments.quick ? 3 : 9;
    for (const Mode& mode : modes()) {
      const std::string name = "event/" + mode.name;
      if (!arguments.wants(name)) continue;
      std::vector<Histogram> seen;
      std::vector<Histogram> signals;
      for (std::size_t i = 0; i < rounds; ++i) {
        Burst burst = run(mode, clock, *processors, offset_ns);
        seen.push_back(std::move(burst.seen));
        signals.push_back(std::move(burst.signal));
      }
      report.add(name + "/seen", "ns", seen, clock.ns_per_tick());
      report.add(name + "/signal", "ns", signals, clock.ns_per_tick());
    }
  } catch (const std::exception& error) {
    report.problem(error.what());
  }
  return report.finish(arguments.json);
}
