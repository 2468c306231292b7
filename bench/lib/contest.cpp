#include "bench/lib/contest.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/lib/cpu.hpp"

namespace stopbit::bench {
namespace {

constexpr double kBlockNs = 8e6;
constexpr double kStretchNs = 250e3;  ///< Another process may get the core for less than a millisecond.
constexpr std::size_t kBlocks = 40;   ///< Of each contestant.
constexpr std::size_t kQuickBlocks = 6;

void ignore(std::span<const record::Slot> /*record*/) {}

}  // namespace

Contestant::Contestant(const Workload& work, Engine& engine, std::string name, std::string gain_name)
    : work_(work),
      engine_(engine),
      name_(std::move(name)),
      gain_name_(std::move(gain_name)),
      sink_(work.program.max_record_slots, ignore, ring_slots(work)),
      stretch_(work.datagrams.size()) {}

Contestant::Block Contestant::run(const TickClock& clock, Pace& pace, std::size_t passes) {
  const Undisturbed undisturbed;
  Block block;
  PaceOf paces;
  std::uint64_t ticks = 0;
  const std::size_t datagrams = work_.datagrams.size();
  paces.add(pace.probe());
  for (std::size_t pass = 0; pass < passes; ++pass) {
    for (std::size_t first = 0; first < datagrams; first += stretch_) {
      const std::size_t last = std::min(datagrams, first + stretch_);
      const std::uint64_t begin = ticks_begin();
      for (std::size_t i = first; i < last; ++i) {
        block.totals.add(engine_.decode(work_.datagram(i), work_.datagrams[i].info, sink_));
      }
      ticks += clock.between(begin, ticks_end());
      paces.add(pace.probe());
    }
  }
  block.ns = clock.ns(static_cast<double>(ticks));
  block.pace_ns = paces.slowest_ns();
  const double datagram_ns = block.ns / static_cast<double>(passes * datagrams);
  stretch_ = std::clamp<std::size_t>(static_cast<std::size_t>(kStretchNs / datagram_ns), 1, datagrams);
  return block;
}

void run_contest(const TickClock& clock, Pace& pace, std::span<Contestant> contestants, Per per, bool quick,
                 Report& report) {
  if (contestants.empty()) return;
  for (Contestant& contestant : contestants) (void)contestant.run(clock, pace, 1);  // to warm up
  const double pass_ns = contestants.front().run(clock, pace, 1).ns;
  const std::size_t passes = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(kBlockNs / pass_ns)));

  const std::size_t planned = quick ? kQuickBlocks : kBlocks;
  std::vector<Repetitions> blocks(contestants.size(), Repetitions(planned));
  std::vector<Repetitions> gains(contestants.size(), Repetitions(planned));  // pair by pair: what the machine did to
                                                                             // both falls out
  std::vector<std::uint64_t> errors(contestants.size());
  std::vector<Contestant::Block> of_round(contestants.size());
  bool is_backwards = false;
  const auto is_done = [&](const Repetitions& all) { return all.is_done(pace); };
  while (!std::all_of(blocks.begin(), blocks.end(), is_done) || !std::all_of(gains.begin() + 1, gains.end(), is_done)) {
    for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
      const std::size_t i = is_backwards ? contestants.size() - 1 - turn : turn;
      pace.wait();
      const Contestant::Block block = contestants[i].run(clock, pace, passes);
      const std::uint64_t count = per == Per::Message ? block.totals.messages : block.totals.fields;
      errors[i] += block.totals.errors;
      blocks[i].add(block.ns / static_cast<double>(count), block.pace_ns);
      of_round[i] = block;
    }
    for (std::size_t i = 1; i < contestants.size(); ++i) {
      gains[i].add(of_round[0].ns / of_round[i].ns, std::max(of_round[0].pace_ns, of_round[i].pace_ns));
    }
    is_backwards = !is_backwards;
  }
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    const Contestant& contestant = contestants[i];
    if (errors[i] != 0) report.problem(contestant.name() + ": a repeated pass had errors");
    report.add(contestant.name(), per == Per::Message ? "ns/msg" : "ns/field", blocks[i], pace);
    if (!contestant.gain_name().empty()) report.add(contestant.gain_name(), "x", gains[i], pace);
  }
}

void run_engines(const TickClock& clock, Pace& pace, const std::string& name, const Workload& work, Per per, bool quick,
                 Report& report) {
  const std::vector<Subject> subjects = make_subjects(work, report);
  std::vector<Contestant> contestants;
  contestants.reserve(subjects.size());
  for (const Subject& subject : subjects) {
    const std::string full = name + '/' + subject.engine_name;
    contestants.emplace_back(work, *subject.engine, full, contestants.empty() ? "" : full + "/gain");
  }
  run_contest(clock, pace, contestants, per, quick, report);
}

}  // namespace stopbit::bench
