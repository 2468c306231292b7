// Decode speed: decode/<workload>/<engine>, in blocks of some milliseconds. Engines take turns, A B B A, so that
// whatever else the machine does meets all of them. Records go to slots in memory.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/subject.hpp"
#include "bench/lib/ticks.hpp"
#include "bench/workloads/workload.hpp"
#include "decoder/record/buffer_sink.hpp"

namespace stopbit::bench {
namespace {

constexpr double kBlockNs = 8e6;
constexpr int kRounds = 20;  ///< Of two blocks an engine each.
constexpr int kQuickRounds = 3;

void ignore(std::span<const record::Slot> /*record*/) {}

/// Decodes the datagrams of a workload round and round.
class Runner {
 public:
  Runner(const Workload& work, Engine& engine)
      : work_(work), engine_(engine), sink_(work.program.max_record_slots, ignore, ring_slots(work)) {}

  Totals decode(std::size_t datagrams) noexcept {
    Totals totals;
    for (; datagrams > 0; --datagrams) {
      totals.add(engine_.decode(work_.datagram(next_), work_.datagrams[next_].info, sink_));
      if (++next_ == work_.datagrams.size()) next_ = 0;
    }
    return totals;
  }
  void rewind() noexcept { next_ = 0; }

 private:
  const Workload& work_;
  Engine& engine_;
  record::BufferSink<void (*)(std::span<const record::Slot>)> sink_;
  std::size_t next_ = 0;
};

struct Contestant {
  std::string name;
  Runner runner;
  std::vector<double> ns_per_message;
};

/// Datagrams that take about as long as a block should. All engines get the same number, measured by the first.
std::size_t block_size(const TickClock& clock, const Workload& work, Runner& runner) {
  const std::size_t pass = work.datagrams.size();
  (void)runner.decode(pass);
  const std::uint64_t begin = ticks();
  (void)runner.decode(pass);
  const double ns = clock.ns(static_cast<double>(ticks() - begin)) / static_cast<double>(pass);
  return static_cast<std::size_t>(kBlockNs / ns) + 1;
}

/// Every block begins at the same datagram, so that all blocks have the same work.
void run_block(const TickClock& clock, Contestant& contestant, std::size_t datagrams, Report& report) {
  contestant.runner.rewind();
  const Undisturbed undisturbed;
  const std::uint64_t begin = ticks_begin();
  const Totals totals = contestant.runner.decode(datagrams);
  const std::uint64_t end = ticks_end();
  if (totals.errors != 0) report.problem(contestant.name + ": a repeated pass had errors");
  contestant.ns_per_message.push_back(clock.ns(static_cast<double>(end - begin)) /
                                      static_cast<double>(totals.messages));
}

void measure(const TickClock& clock, const Workload& work, bool quick, Report& report) {
  const std::vector<Subject> subjects = make_subjects(work, report);
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (const Subject& subject : subjects) {
    contestants.push_back(std::make_unique<Contestant>(
        Contestant{"decode/" + work.name + '/' + subject.engine_name, Runner(work, *subject.engine), {}}));
  }
  if (contestants.empty()) return;
  const std::size_t datagrams = block_size(clock, work, contestants.front()->runner);
  for (auto& contestant : contestants) (void)contestant->runner.decode(datagrams);
  for (int round = quick ? kQuickRounds : kRounds; round > 0; --round) {
    for (auto it = contestants.begin(); it != contestants.end(); ++it) run_block(clock, **it, datagrams, report);
    for (auto it = contestants.rbegin(); it != contestants.rend(); ++it) run_block(clock, **it, datagrams, report);
  }
  for (const auto& contestant : contestants) report.add(contestant->name, "ns/msg", contestant->ns_per_message);

  // How many times faster, pair by pair: what the machine did to both falls out.
  for (std::size_t i = 1; i < contestants.size(); ++i) {
    std::vector<double> ratios;
    for (std::size_t block = 0; block < contestants[0]->ns_per_message.size(); ++block) {
      ratios.push_back(contestants[0]->ns_per_message[block] / contestants[i]->ns_per_message[block]);
    }
    report.add(contestants[i]->name + "/gain", "x", std::move(ratios));
  }
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(argc, argv, "Decode speed of every engine on every workload.");
  Report report;
  const TickClock clock;
  if (const auto processors = two_processors()) pin(processors->second);
  for (const WorkloadSource& source : workload_sources()) {
    if (!arguments.wants(source.name)) continue;
    const auto work = source.make();
    if (!work) {
      report.problem(source.name + ": " + work.message());
      continue;
    }
    measure(clock, *work.value(), arguments.quick, report);
  }
  return report.finish(arguments.json);
}
