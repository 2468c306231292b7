// What each single datagram takes, as percentiles: latency/<workload>/<engine>/...
//
//   warm     one after the other, each timed by itself
//   cold     before each, other data went through the caches and other branches through the predictors
//   load10   open loop: datagrams are due at fixed times, at 10, 50, 80 and 95 % of what the engine can do. The clock
//   of
//   ...      each begins when it is due, so a late one delays the next ones as well, as it would on a wire.
//
// Ordinary times are short: all is measured in bursts during which nothing else runs on the processor.

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/histogram.hpp"
#include "bench/lib/pace.hpp"
#include "bench/lib/polluter.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/subject.hpp"
#include "bench/lib/ticks.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {
namespace {

/// Whose datagrams are as those of a feed.
constexpr const char* kWorkloads[] = {"complex30000", "cme-mdp-2012", "moex-asts-trades-2019",
                                      "sample",       "ab",           "shuffled"};
constexpr int kLoads[] = {10, 50, 80, 95};

struct Plan {
  std::size_t bursts = 7;
  std::size_t cold_bursts = 16;
};
constexpr Plan kQuick = {2, 2};
constexpr double kStretchNs =
    250e3;  ///< Between two probes: another process may get the core for less than a millisecond.
constexpr double kLoadedNs = 10e6;            ///< The same under load, where a probe would make datagrams late.
constexpr double kUndisturbedNs = 125e6;      ///< Of each burst,
constexpr double kTurnNs = 50e6;              ///< Until the thread rests.
constexpr double kMostNs = 500e6;             ///< and what it may take to get that.
constexpr std::size_t kMostValues = 1 << 18;  ///< Of a stretch.

void ignore(std::span<const record::Slot> /*record*/) {}

class Latency {
 public:
  Latency(const TickClock& clock, Pace& pace, const Plan& plan, const Workload& work, Engine& engine)
      : clock_(clock),
        pace_(pace),
        plan_(plan),
        work_(work),
        engine_(engine),
        sink_(work.program.max_record_slots, ignore, ring_slots(work)) {}

  [[nodiscard]] std::vector<PacedBurst> warm() {
    for (std::size_t i = 0; i < work_.datagrams.size(); ++i) decode_next();
    return bursts(plan_.bursts, kStretchNs, [this](std::uint64_t end, PacedBurst& burst) {
      while (ticks() < end) burst.record(time_next());
    });
  }

  [[nodiscard]] std::vector<PacedBurst> cold() {
    return bursts(plan_.cold_bursts, kStretchNs, [this](std::uint64_t end, PacedBurst& burst) {
      while (ticks() < end) {
        polluter_.pollute();
        burst.record(time_next());
      }
    });
  }

  /// Ticks a datagram takes if the next one is always due: what the loop of `loaded` can do at most.
  [[nodiscard]] double service_ticks() {
    Repetitions repetitions(kServiceStretches);
    while (!repetitions.is_done(pace_)) {
      pace_.wait();
      const Undisturbed undisturbed;
      PacedBurst unused(kMostValues);
      PaceOf paces;
      paces.add(pace_.probe());
      const std::uint64_t begin = ticks();
      const std::uint64_t datagrams = open_loop(begin, begin + ticks_of(kLoadedNs), 0, unused);
      const auto taken = static_cast<double>(ticks() - begin);
      paces.add(pace_.probe());
      repetitions.add(taken / static_cast<double>(datagrams), paces.slowest_ns());
    }
    return median(repetitions.choose(pace_).values);
  }

  [[nodiscard]] std::vector<PacedBurst> loaded(double service_ticks, int percent) {
    const double interval = service_ticks * 100 / percent;
    return bursts(plan_.bursts, kLoadedNs,
                  [&](std::uint64_t end, PacedBurst& burst) { (void)open_loop(ticks(), end, interval, burst); });
  }

  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_; }

 private:
  static constexpr std::size_t kServiceStretches = 9;

  [[nodiscard]] std::uint64_t ticks_of(double ns) const { return static_cast<std::uint64_t>(clock_.ticks_of(ns)); }

  /// Calls `body(end, burst)` for stretches of that length, each to be ended at `end`, until enough of each burst was
  /// undisturbed.
  template <class Body>
  std::vector<PacedBurst> bursts(std::size_t count, double stretch_ns, Body body) {
    std::vector<PacedBurst> all(count, PacedBurst(kMostValues));
    for (PacedBurst& burst : all) {
      double taken_ns = 0;
      double undisturbed_ns = 0;
      while (undisturbed_ns < kUndisturbedNs && taken_ns < kMostNs) {
        pace_.wait();
        const Undisturbed undisturbed;
        double before = pace_.probe();
        burst.begin(before);
        double turn_ns = 0;
        while (turn_ns < kTurnNs && undisturbed_ns < kUndisturbedNs) {
          body(ticks() + ticks_of(stretch_ns), burst);
          const double behind = pace_.probe();
          burst.end_stretch(behind, pace_);
          if (pace_.is_undisturbed(std::max(before, behind))) undisturbed_ns += stretch_ns;
          before = behind;
          turn_ns += stretch_ns;
          taken_ns += stretch_ns;
        }
      }
    }
    return all;
  }

  void decode_next() noexcept {
    const Outcome outcome = engine_.decode(work_.datagram(next_), work_.datagrams[next_].info, sink_);
    if (outcome.error != ErrorCode::None) ++errors_;
    if (++next_ == work_.datagrams.size()) next_ = 0;
  }

  std::uint64_t time_next() noexcept {
    const std::uint64_t begin = ticks_begin();
    decode_next();
    return clock_.between(begin, ticks_end());
  }

  /// Datagrams decoded, of which one is due every `interval` ticks from `begin` to `end`.
  std::uint64_t open_loop(std::uint64_t begin, std::uint64_t end, double interval, PacedBurst& burst) noexcept {
    std::uint64_t datagrams = 0;
    for (std::uint64_t now = ticks(); now < end; ++datagrams) {
      const std::uint64_t due = begin + static_cast<std::uint64_t>(static_cast<double>(datagrams) * interval);
      while (ticks() < due) {
      }
      decode_next();
      now = ticks_end();
      burst.record(now - due);
    }
    return datagrams;
  }

  const TickClock& clock_;
  Pace& pace_;
  const Plan& plan_;
  const Workload& work_;
  Engine& engine_;
  record::BufferSink<void (*)(std::span<const record::Slot>)> sink_;
  Polluter polluter_;
  std::size_t next_ = 0;
  std::uint64_t errors_ = 0;
};

void measure(const TickClock& clock, Pace& pace, const Plan& plan, const Workload& work, Report& report) {
  for (const Subject& subject : make_subjects(work, report)) {
    const std::string name = "latency/" + work.name + '/' + subject.engine_name;
    Latency latency(clock, pace, plan, work, *subject.engine);
    report.add(name + "/warm", "ns", latency.warm(), clock.ns_per_tick());
    report.add(name + "/cold", "ns", latency.cold(), clock.ns_per_tick());
    const double service = latency.service_ticks();
    for (const int load : kLoads) {
      report.add(name + "/load" + std::to_string(load), "ns", latency.loaded(service, load), clock.ns_per_tick());
    }
    if (latency.errors() != 0) report.problem(name + ": a repeated pass had errors");
  }
}

/// How long and how much the machine itself is away, seen by a loop that only reads the clock: no maximum is better
/// than that, and no percentile above 100 % less the time away can be good under load.
void measure_machine(const TickClock& clock, const Plan& plan, Report& report) {
  constexpr double kAwayNs = 1'000;
  const auto away = static_cast<std::uint64_t>(clock.ticks_of(kAwayNs));
  std::vector<Histogram> gaps(plan.bursts);
  std::vector<double> percent_away;
  for (Histogram& burst : gaps) {
    const Undisturbed undisturbed;
    std::uint64_t ticks_away = 0;
    const std::uint64_t begin = ticks();
    const auto end = begin + static_cast<std::uint64_t>(clock.ticks_of(kBurstSeconds * 1e9));
    for (std::uint64_t before = begin; before < end;) {
      const std::uint64_t now = ticks();
      burst.record(now - before);
      if (now - before > away) ticks_away += now - before;
      before = now;
    }
    percent_away.push_back(100 * static_cast<double>(ticks_away) / static_cast<double>(end - begin));
  }
  report.add("machine/clock-gaps", "ns", gaps, clock.ns_per_tick());
  report.add("machine/time-away", "%", std::move(percent_away));
  report.add("machine/timing-cost", "ns", {clock.ns(static_cast<double>(clock.pair_cost()))});
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments =
      read_arguments(argc, argv, "What each single datagram takes: warm, cold, and under load.");
  Report report;
  const TickClock clock;
  const Plan plan = arguments.quick ? kQuick : Plan();
  if (const auto processors = two_processors()) pin(processors->second);
  if (!Undisturbed::is_possible()) report.note("SCHED_FIFO is not allowed: other processes are in the tails");
  Pace pace(clock, arguments.pace_ns);
  measure_machine(clock, plan, report);
  for_workloads(arguments, report, kWorkloads, [&](const Workload& work) { measure(clock, pace, plan, work, report); });
  report.add("latency", clock, pace);
  return report.finish(arguments.json);
}
