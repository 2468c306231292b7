#include "tests/day/day.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "host/lab/impair/random.hpp"
#include "tests/day/agent_receiver.hpp"
#include "tests/day/machine.hpp"
#include "tests/day/oracle.hpp"
#include "tests/day/receiver.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::day {

namespace {

/// What makes the appliance anew after each kill, and what outlives it.
class Lives {
 public:
  Lives(Through through, const Day& day, const std::vector<std::unique_ptr<ModelPort>>& ports, Clock& clock,
        Oracle& oracle)
      : through_(through), day_(day), ports_(ports), clock_(clock), oracle_(oracle), kept_(day.channels.size()) {
    if (through == Through::Agent) folder_.emplace();
  }

  [[nodiscard]] std::unique_ptr<Receiver> begin() {
    if (through_ == Through::Agent) {
      return std::make_unique<AgentReceiver>(day_, ports_, clock_, oracle_, folder_->path());
    }
    auto made = std::make_unique<ArbiterReceiver>(day_, ports_, clock_, oracle_, kept_);
    last_ = made.get();
    return made;
  }
  /// It is about to be killed.
  void keep() {
    if (last_ == nullptr) return;
    const auto last = last_->kept();
    for (std::size_t i = 0; i < last.size(); ++i) kept_[i] = last[i] ? last[i] : kept_[i];
  }

 private:
  Through through_;
  const Day& day_;
  const std::vector<std::unique_ptr<ModelPort>>& ports_;
  Clock& clock_;
  Oracle& oracle_;
  std::vector<std::optional<Kept>> kept_;
  ArbiterReceiver* last_ = nullptr;
  std::optional<testing::Scratch> folder_;
};

}  // namespace

Outcome run_day(std::uint64_t seed, Counts& counts, Through through, int story) {
  Day day = make_day(seed, counts);
  impair::Random random(seed + 0x5EED);
  Clock clock(day.steps);
  Oracle oracle(day, counts);
  oracle.story = story;
  oracle.hears_notices = through == Through::Agent;
  std::vector<std::unique_ptr<ModelPort>> ports;
  for (std::size_t i = 0; i < day.ports.size(); ++i) {
    ports.push_back(std::make_unique<ModelPort>(
        day, i, clock, [&](const HandOut& hand_out) { oracle.handed_out(hand_out); },
        [&](const Copy& copy, Fate fate) { oracle.dropped(copy, fate); }));
  }
  Lives lives(through, day, ports, clock, oracle);
  auto receiver = lives.begin();

  std::size_t stall = 0;
  std::size_t pause = 0;
  std::size_t kill = 0;
  while (clock.now_ns < day.end_ns && oracle.fault().empty()) {
    // Whatever keeps the poller from its work.
    for (; stall < day.stalls.size() && day.stalls[stall].begin_ns <= clock.now_ns; ++stall) {
      clock.now_ns = std::max(clock.now_ns, day.stalls[stall].end_ns);
    }
    for (; pause < day.pauses.size() && day.pauses[pause].begin_ns <= clock.now_ns; ++pause) {
      clock.now_ns = std::max(clock.now_ns, day.pauses[pause].end_ns);
    }
    if (kill < day.kills.size() && day.kills[kill].begin_ns <= clock.now_ns) {
      lives.keep();
      receiver.reset();
      oracle.killed();
      clock.now_ns = std::max(clock.now_ns, day.kills[kill++].end_ns);
      for (const auto& port : ports) port->forget();
      receiver = lives.begin();
      continue;
    }
    const std::size_t count = receiver->do_work();
    oracle.turn(*receiver);
    clock.now_ns += 1'000 + 300 * count + random.below(5'000);
    const bool is_idle = std::none_of(ports.begin(), ports.end(), [](const auto& port) { return port->has_queued(); });
    if (!is_idle) continue;
    // Polls in vain, up to the next arrival, the next deadline or the next mishap.
    std::uint64_t next = std::max(receiver->next_deadline(), clock.now_ns);
    for (const auto& port : ports) next = std::min(next, port->next_arrival());
    if (stall < day.stalls.size()) next = std::min(next, day.stalls[stall].begin_ns);
    if (pause < day.pauses.size()) next = std::min(next, day.pauses[pause].begin_ns);
    if (kill < day.kills.size()) next = std::min(next, day.kills[kill].begin_ns);
    next = std::min(next, day.end_ns);
    next = std::min(next, clock.now_ns + std::min(receiver->longest_idle_ns(), day.end_ns));
    if (next <= clock.now_ns) continue;
    for (const auto& port : ports) port->idle_until(next - 1);
    receiver->idle_until(next);
    clock.now_ns = next;
  }
  if (oracle.fault().empty()) {
    receiver->finish();
    oracle.finish(*receiver);
  }
  for (const auto& port : ports) counts[static_cast<std::size_t>(Count::Clamped)] += port->counters().clamped.value();
  return {oracle.fault()};
}

}  // namespace stopbit::day
