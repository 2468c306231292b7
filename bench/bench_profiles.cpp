// What profiles gain: a profile is made of the first half of each workload's datagrams and measured on the second,
// profiles/<workload>/<engine>/{general,profiled}. The two programs take turns, A B B A. And, for native code, the same
// with each datagram cold: /cold/{general,profiled}.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/contest.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/pace.hpp"
#include "bench/lib/polluter.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/subject.hpp"
#include "bench/lib/ticks.hpp"
#include "bench/lib/workload_profile.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {
namespace {

constexpr std::size_t kColdDatagrams = 50;  ///< Of a repetition.
constexpr std::size_t kColdRepetitions = 24;
constexpr std::size_t kQuickColdRepetitions = 3;

void ignore(std::span<const record::Slot> /*record*/) {}

/// The datagrams [first, last) of a workload: one of its own, with other facts.
Workload part(const Workload& work, std::size_t first, std::size_t last) {
  Workload out = work;
  out.name += "/part";
  out.expected_json.reset();  // is for all of them
  out.datagrams.assign(work.datagrams.begin() + static_cast<std::ptrdiff_t>(first),
                       work.datagrams.begin() + static_cast<std::ptrdiff_t>(last));
  out.data_bytes =
      std::accumulate(out.datagrams.begin(), out.datagrams.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const auto& one) { return sum + one.length - one.info.data_offset; });
  return out;
}

/// Of the second half's maps, those that have a program; then the program.
double coverage(const Program& profiled, const profile::Profile& met, const Program& general) {
  std::uint64_t all = 0;
  std::uint64_t covered = 0;
  for (const auto& [met_segment, counts] : profile::resolve(met, general).counts) {
    const auto segment = met_segment;  // clang 14 lets no lambda have the binding
    all += counts.other;
    for (const profile::MapCount& map : counts.maps) {
      all += map.count;
      const bool has_program = std::any_of(
          profiled.profiles.begin(), profiled.profiles.end(),
          [&](const ProfileEntry& entry) { return entry.segment == segment && entry.presence_bits == map.map; });
      covered += has_program ? map.count : 0;
    }
  }
  return all == 0 ? 0 : 100 * static_cast<double>(covered) / static_cast<double>(all);
}

/// The same records, slot for slot.
bool same_records(const Workload& work, Engine& a, Engine& b) {
  const auto slots_of = [&work](Engine& engine) {
    std::vector<record::Slot> slots;
    record::BufferSink sink(work.program.max_record_slots, [&](std::span<const record::Slot> record) {
      slots.insert(slots.end(), record.begin(), record.end());
    });
    (void)decode_all(work, engine, sink);
    for (std::uint16_t channel = 0; channel < work.options.channels; ++channel) engine.reset(channel);
    return slots;
  };
  const std::vector<record::Slot> ours = slots_of(a);
  const std::vector<record::Slot> theirs = slots_of(b);
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(), [](const auto& x, const auto& y) {
    return std::equal(std::begin(x.words), std::end(x.words), std::begin(y.words));
  });
}

/// A loop has all code in the nearest caches and teaches the predictors every branch. A message that comes after
/// something else finds neither: a program with fewer branches has fewer to lose, one with more code has more to fetch.
void measure_cold(const TickClock& clock, Pace& pace, const std::string& name, const Workload* const (&works)[2],
                  Engine* const (&engines)[2], bool quick, Report& report) {
  const std::size_t planned = quick ? kQuickColdRepetitions : kColdRepetitions;
  Repetitions times[2] = {Repetitions(planned), Repetitions(planned)};
  Repetitions gain(planned);
  Polluter polluter;
  record::BufferSink sink(std::max(works[0]->program.max_record_slots, works[1]->program.max_record_slots), ignore,
                          ring_slots(*works[0]));
  std::size_t next = 0;
  while (!gain.is_done(pace)) {
    pace.wait();
    const Undisturbed undisturbed;
    PaceOf paces;
    paces.add(pace.probe());
    std::vector<double> ns[2];
    for (std::size_t i = 0; i < kColdDatagrams; ++i) {
      for (const std::size_t which : {i % 2, 1 - i % 2}) {
        const Workload& work = *works[which];
        polluter.pollute();
        const std::uint64_t begin = ticks_begin();
        (void)engines[which]->decode(work.datagram(next), work.datagrams[next].info, sink);
        ns[which].push_back(clock.ns(static_cast<double>(clock.between(begin, ticks_end()))));
      }
      if (++next == works[0]->datagrams.size()) next = 0;
    }
    paces.add(pace.probe());
    const double medians[2] = {median(ns[0]), median(ns[1])};
    for (std::size_t which = 0; which < 2; ++which) times[which].add(medians[which], paces.slowest_ns());
    gain.add(medians[0] / medians[1], paces.slowest_ns());
  }
  report.add(name + "/cold/general", "ns", times[0], pace);
  report.add(name + "/cold/profiled", "ns", times[1], pace);
  report.add(name + "/cold/gain", "x", gain, pace);
}

void measure(const TickClock& clock, Pace& pace, const Workload& work, bool quick, Report& report) {
  const std::size_t half = work.datagrams.size() / 2;
  if (half == 0) return report.note(work.name + ": one datagram has no halves");
  const Workload general = part(work, half, work.datagrams.size());
  Workload profiled = general;
  const profile::Profile profile = profile_of(part(work, 0, half));
  (void)profile::add_profiles(profiled.program, profile::resolve(profile, work.program).counts, {});
  if (!verify::check(profiled.program).ok()) return report.problem(work.name + ": the profiled program is not safe");
  report.fact(work.name, "profile programs", static_cast<double>(profiled.program.profiles.size()));
  report.fact(work.name, "their instructions",
              static_cast<double>(profiled.program.code.size() - general_size(profiled.program)));
  report.fact(work.name, "maps covered, %", coverage(profiled.program, profile_of(general), work.program));

  const std::vector<Subject> without = make_subjects(general, report);
  const std::vector<Subject> with = make_subjects(profiled, report);
  for (std::size_t i = 0; i < std::min(without.size(), with.size()); ++i) {
    const std::string name = "profiles/" + work.name + '/' + without[i].engine_name;
    if (!same_records(general, *without[i].engine, *with[i].engine)) {
      report.problem(name + ": the records differ");
      continue;
    }
    Contestant contestants[] = {{general, *without[i].engine, name + "/general"},
                                {profiled, *with[i].engine, name + "/profiled", name + "/gain"}};
    run_contest(clock, pace, contestants, Per::Message, quick, report);
    if (without[i].engine_name != "native") continue;
    measure_cold(clock, pace, name, {&general, &profiled}, {without[i].engine.get(), with[i].engine.get()}, quick,
                 report);
  }
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(argc, argv, "What profiles of a first half gain on the second.");
  Report report;
  const TickClock clock;
  if (const auto processors = two_processors()) pin(processors->second);
  Pace pace(clock, arguments.pace_ns);
  for_workloads(arguments, report, {},
                [&](const Workload& work) { measure(clock, pace, work, arguments.quick, report); });
  report.add("profiles", clock, pace);
  return report.finish(arguments.json);
}
