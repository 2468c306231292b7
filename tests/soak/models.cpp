#include "tests/soak/models.hpp"

#include <cstdio>
#include <iterator>
#include <string>

#include "tests/unit/nic/event_model.hpp"
#include "tests/unit/nic/sync_model.hpp"

namespace stopbit::nic {
namespace {

using Count = unsigned long long;

int report(const char* name, std::uint64_t wanted, std::uint64_t seed, std::uint64_t schedules, std::uint64_t steps,
           const std::string& failure) {
  const bool is_good = failure.empty() && schedules == wanted;
  std::printf("{\"soak\":\"nic %s\",\"seed\":%llu,\"schedules\":%llu", name, static_cast<Count>(seed),
              static_cast<Count>(schedules));
  if (steps != 0) std::printf(",\"steps\":%llu", static_cast<Count>(steps));
  std::printf(",\"failure\":\"%s\",\"good\":%s}\n", failure.c_str(), is_good ? "true" : "false");
  return is_good ? 0 : 1;
}

}  // namespace

int model_locks(std::uint64_t wanted, std::uint64_t seed) {
  using sync_model::Result;
  using sync_model::Scenario;
  const Scenario locks[] = {
      {{"arar", "arar", "arar"}, 0, false, 0, 2},
      {{"arar", "arar", "arar"}, 0, false, 2, 2},
  };
  const Scenario semaphores[] = {
      {{"wsws", "wsws", "wsws"}, 1, true, 0, 2},
      {{"ww", "w", "sss"}, 0, true, 1, 2},
  };
  Result sum;
  for (std::size_t i = 0; i < 4 && sum.failure.empty(); ++i) {
    const std::uint64_t share = wanted * (i + 1) / 4 - wanted * i / 4;
    const Result result = i < 2 ? sync_model::wander<LockCore>(locks[i], seed + i, share)
                                : sync_model::wander<QueueCore>(semaphores[i - 2], seed + i, share);
    sum.states += result.states;
    sum.failure = result.failure;
  }
  return report("locks", wanted, seed, sum.states, 0, sum.failure);
}

int model_events(std::uint64_t wanted, std::uint64_t seed) {
  using event_model::Result;
  using event_model::Scenario;
  const Scenario scenarios[] = {
      {{1, 2, 1, 2}, {{1, 2}, {2, 2}}, {{2}}, 1},                // two sleepers and a handler
      {{1, 1, 1}, {{1, 3}, {1, 3}}, {{1}}, 1},                   // two sleepers of one event
      {{1, 2, 1}, {{1, 3, true}, {2, 1, true}}, {{2, true}}, 1}  // the port is closed too early
  };
  constexpr std::size_t kScenarios = std::size(scenarios);
  Result sum;
  for (std::size_t i = 0; i < kScenarios && sum.failure.empty(); ++i) {
    const std::uint64_t share = wanted * (i + 1) / kScenarios - wanted * i / kScenarios;
    const Result result = event_model::wander(scenarios[i], seed + i, share);
    sum.states += result.states;
    sum.steps += result.steps;
    sum.failure = result.failure;
  }
  return report("events", wanted, seed, sum.states, sum.steps, sum.failure);
}

}  // namespace stopbit::nic
