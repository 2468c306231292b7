#include "tests/soak/models.hpp"

#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>

#include "tests/nic/models/channel_model.hpp"
#include "tests/nic/models/event_model.hpp"
#include "tests/nic/models/flush_model.hpp"
#include "tests/nic/models/sync_model.hpp"
#include "tests/nic/models/window_model.hpp"

namespace stopbit::nic {
namespace {

using Count = unsigned long long;
using model_check::Findings;

int report(const char* name, std::uint64_t wanted, std::uint64_t seed, std::uint64_t schedules, std::uint64_t steps,
           const std::string& failure) {
  const bool is_good = failure.empty() && schedules == wanted;
  std::printf("{\"soak\":\"nic %s\",\"seed\":%llu,\"schedules\":%llu", name, static_cast<Count>(seed),
              static_cast<Count>(schedules));
  if (steps != 0) std::printf(",\"steps\":%llu", static_cast<Count>(steps));
  std::printf(",\"failure\":\"%s\",\"good\":%s}\n", failure.c_str(), is_good ? "true" : "false");
  return is_good ? 0 : 1;
}

int report_steps(const char* name, std::uint64_t wanted, std::uint64_t seed, std::uint64_t steps, const char* of,
                 std::uint64_t number, const std::string& failure) {
  const bool is_good = failure.empty() && steps == wanted && number != 0;
  std::printf("{\"soak\":\"nic %s\",\"seed\":%llu,\"steps\":%llu,\"%s\":%llu,\"failure\":\"%s\",\"good\":%s}\n", name,
              static_cast<Count>(seed), static_cast<Count>(steps), of, static_cast<Count>(number), failure.c_str(),
              is_good ? "true" : "false");
  return is_good ? 0 : 1;
}

}  // namespace

int model_locks(std::uint64_t wanted, std::uint64_t seed) {
  using sync_model::Scenario;
  const Scenario locks[] = {
      {{"arar", "arar", "arar"}, 0, false, 0, 2},
      {{"arar", "arar", "arar"}, 0, false, 2, 2},
  };
  const Scenario semaphores[] = {
      {{"wsws", "wsws", "wsws"}, 1, true, 0, 2},
      {{"ww", "w", "sss"}, 0, true, 1, 2},
  };
  Findings sum;
  for (std::size_t i = 0; i < 4 && sum.failure.empty(); ++i) {
    const std::uint64_t share = wanted * (i + 1) / 4 - wanted * i / 4;
    const Findings result = i < 2 ? sync_model::wander<LockCore>(locks[i], seed + i, share)
                                  : sync_model::wander<QueueCore>(semaphores[i - 2], seed + i, share);
    sum.states += result.states;
    sum.failure = result.failure;
  }
  return report("locks", wanted, seed, sum.states, 0, sum.failure);
}

int model_events(std::uint64_t wanted, std::uint64_t seed) {
  using event_model::Scenario;
  const Scenario scenarios[] = {
      {{1, 2, 1, 2}, {{1, 2}, {2, 2}}, {{2}}, 1},               // two sleepers and a handler
      {{1, 2, 1, 2}, {{1, 2}, {2, 2}}, {{2, false, true}}, 1},  // the same, and a loop
      {{1, 1, 1},
       {{1, 3}, {1, 3}},
       {{1, false, false, true}},
       1},  // two sleepers of one event, a handler that comes and goes
      {{1, 2, 1}, {{1, 3, true}, {2, 1, true}}, {{2, true}}, 1}  // the port is closed too early
  };
  constexpr std::size_t kScenarios = std::size(scenarios);
  Findings sum;
  for (std::size_t i = 0; i < kScenarios && sum.failure.empty(); ++i) {
    const std::uint64_t share = wanted * (i + 1) / kScenarios - wanted * i / kScenarios;
    const Findings result = event_model::wander(scenarios[i], seed + i, share);
    sum.states += result.states;
    sum.steps += result.steps;
    sum.failure = result.failure;
  }
  return report("events", wanted, seed, sum.states, sum.steps, sum.failure);
}

int model_window(std::uint64_t wanted, std::uint64_t seed) {
  Findings result = window_model::wander<4>(seed, wanted / 2);
  if (result.failure.empty()) {
    const Findings whole = window_model::wander<Links::kWindow>(seed + 1, wanted - wanted / 2);
    result.states += whole.states;
    result.work += whole.work;
    result.failure = whole.failure;
  }
  return report_steps("window", wanted, seed, result.states, "packets", result.work, result.failure);
}

int model_credits(std::uint64_t wanted, std::uint64_t seed) {
  const Findings result = channel_model::wander(seed, wanted);
  return report_steps("credits", wanted, seed, result.states, "messages", result.work, result.failure);
}

int model_flush(std::uint64_t wanted, std::uint64_t seed) {
  const Findings result = flush_model::wander(seed, wanted);
  return report_steps("flush", wanted, seed, result.states, "touches", result.work, result.failure);
}

int model_states(std::uint64_t size, std::uint64_t) {
  using Clock = std::chrono::steady_clock;
  bool is_good = true;
  const auto look_at = [&](const char* name, const auto& explore) {
    const Clock::time_point begin = Clock::now();
    const auto result = explore();
    is_good = is_good && result.failure.empty();
    std::printf("{\"soak\":\"nic states\",\"what\":\"%s\",\"states\":%llu,\"seconds\":%.0f,\"failure\":\"%s\"}\n", name,
                static_cast<Count>(result.states), std::chrono::duration<double>(Clock::now() - begin).count(),
                result.failure.c_str());
    std::fflush(stdout);
  };
  const auto window = [&](const char* name, const window_model::Scenario& scenario) {
    look_at(name, [&] { return window_model::explore<4>(scenario); });
  };
  const auto events = [&](const char* name, const event_model::Scenario& scenario) {
    look_at(name, [&] { return event_model::explore(scenario); });
  };
  if (size == 0) {
    window("window: 4 packets, 2 and 1 frames under way", {{4, 0}, {2, 1}});
    events("events: two sleepers", {{1, 2}, {{1, 1}, {2, 1}}, {}, 0});
    return is_good ? 0 : 1;
  }
  look_at("credits: 4 at once, 9 slots, 24 messages, 6 commands wait", [] {
    return channel_model::explore<4>({9, 24, 6});
  });
  look_at("flush: 2 pages, 3 registrations, 3 transfers of 2 units", [] {
    return flush_model::explore({2, 2, 1, 2, 3, 3});
  });
  events("events: two sleepers and a handler of both", {{1, 2, 1, 2}, {{1, 2}, {2, 2}}, {{2}}, 0});
  events("events: two sleepers of one and a handler", {{1, 1, 1}, {{1, 3}, {1, 3}}, {{1}}, 0});
  events("events: two sleepers and a handler with deadlines", {{1, 2}, {{1, 2, true}, {2, 2, true}}, {{2, true}}, 0});
  window("window: 6 packets, 2 and 2 frames under way", {{6, 0}, {2, 2}});
  window("window: 2 and 2 packets, 2 and 1 frames under way", {{2, 2}, {2, 1}});
  window_model::Scenario scenario{{5, 0}, {2, 1}};
  scenario.blocks = true;
  window("window: 5 packets, 2 and 1 frames under way, blocked at times", scenario);
  scenario = {{1, 1}, {2, 2}};
  scenario.in_session = false;
  window("window: 1 and 1 packets, 2 and 2 frames under way, no session", scenario);
  scenario = {{2, 1}, {2, 2}};
  scenario.restarts = 1;
  window("window: 2 and 1 packets, 2 and 2 frames under way, a restart", scenario);
  scenario.restarts = 0;
  scenario.silences = 1;
  window("window: 2 and 1 packets, 2 and 2 frames under way, somebody gives up", scenario);
  scenario = {{2, 0}, {2, 1}};
  scenario.restarts = scenario.silences = 1;
  window("window: 2 packets, 2 and 1 frames under way, a restart, somebody gives up", scenario);
  return is_good ? 0 : 1;
}

}  // namespace stopbit::nic
