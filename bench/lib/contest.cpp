#include "bench/lib/contest.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bench/lib/cpu.hpp"
#include "bench/lib/subject.hpp"
#include "decoder/record/buffer_sink.hpp"

namespace stopbit::bench {
namespace {

constexpr double kBlockNs = 8e6;
constexpr int kRounds = 20;  ///< Of two blocks an engine each.
constexpr int kQuickRounds = 3;

void ignore(std::span<const record::Slot> /*record*/) {}

class Contestant {
 public:
  Contestant(const Workload& work, const Subject& subject)
      : work_(work),
        name_(subject.engine_name),
        engine_(*subject.engine),
        sink_(work.program.max_record_slots, ignore, ring_slots(work)) {}

  /// Ticks, and what was decoded.
  std::pair<std::uint64_t, Totals> decode(std::size_t passes) {
    const Undisturbed undisturbed;
    Totals totals;
    const std::uint64_t begin = ticks_begin();
    for (; passes > 0; --passes) {
      const Totals pass = decode_all(work_, engine_, sink_);
      totals.messages += pass.messages;
      totals.fields += pass.fields;
      totals.errors += pass.errors;
    }
    return {ticks_end() - begin, totals};
  }

  void run_block(const TickClock& clock, std::size_t passes, Per per) {
    const auto [ticks, totals] = decode(passes);
    errors_ += totals.errors;
    const std::uint64_t count = per == Per::Message ? totals.messages : totals.fields;
    ns_.push_back(clock.ns(static_cast<double>(ticks)) / static_cast<double>(count));
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::vector<double>& ns() const noexcept { return ns_; }
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_; }

 private:
  const Workload& work_;
  const std::string name_;
  Engine& engine_;
  record::BufferSink<void (*)(std::span<const record::Slot>)> sink_;
  std::vector<double> ns_;
  std::uint64_t errors_ = 0;
};

}  // namespace

void run_contest(const TickClock& clock, const std::string& name, const Workload& work, Per per, bool quick,
                 Report& report) {
  const std::vector<Subject> subjects = make_subjects(work, report);
  std::vector<std::unique_ptr<Contestant>> contestants;
  contestants.reserve(subjects.size());
  for (const Subject& subject : subjects) contestants.push_back(std::make_unique<Contestant>(work, subject));
  if (contestants.empty()) return;

  for (auto& contestant : contestants) (void)contestant->decode(1);  // to warm up
  const double pass_ns = clock.ns(static_cast<double>(contestants.front()->decode(1).first));
  const std::size_t passes = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(kBlockNs / pass_ns)));
  for (int round = quick ? kQuickRounds : kRounds; round > 0; --round) {
    for (auto it = contestants.begin(); it != contestants.end(); ++it) (*it)->run_block(clock, passes, per);
    for (auto it = contestants.rbegin(); it != contestants.rend(); ++it) (*it)->run_block(clock, passes, per);
  }

  const std::vector<double>& reference = contestants.front()->ns();
  for (const auto& contestant : contestants) {
    const std::string full = name + '/' + contestant->name();
    if (contestant->errors() != 0) report.problem(full + ": a repeated pass had errors");
    report.add(full, per == Per::Message ? "ns/msg" : "ns/field", contestant->ns());
    if (contestant == contestants.front()) continue;
    std::vector<double> gains;  // pair by pair: what the machine did to both falls out
    for (std::size_t block = 0; block < reference.size(); ++block) {
      gains.push_back(reference[block] / contestant->ns()[block]);
    }
    report.add(full + "/gain", "x", std::move(gains));
  }
}

}  // namespace stopbit::bench
