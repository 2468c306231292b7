// The harness finds planted faults, and its counts agree with counts by hand.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/lib/model_check/choices.hpp"
#include "tests/lib/model_check/fibers.hpp"
#include "tests/lib/model_check/interleavings.hpp"
#include "tests/lib/model_check/random_runs.hpp"
#include "tests/lib/model_check/replay.hpp"
#include "tests/lib/model_check/search.hpp"
#include "tests/lib/model_check/state_bytes.hpp"
#include "tests/lib/model_check/view_memory.hpp"

namespace stopbit::model_check::model_check_test {

/// Two counters up to `limit`, which may not both be at 3 if `is_broken`.
struct Counters {
  std::uint8_t limit = 4;
  bool is_broken = false;
  std::array<std::uint8_t, 2> at{};
  std::vector<std::uint16_t> list;  // as long as the first counter says
  std::string found;
  std::uint64_t closed = 0;

  void save(std::vector<std::byte>& into) {
    into.clear();
    StateWriter writer{into};
    visit(writer);
  }
  void load(std::span<const std::byte> from) {
    StateReader reader{from};
    visit(reader);
  }
  template <class Bytes>
  void visit(Bytes& bytes) {
    bytes(at);
    bytes.list(list);
    for (std::uint16_t& one : list) bytes(one);
  }
  [[nodiscard]] std::size_t actions() const { return 2; }
  bool apply(std::size_t action) {
    if (at[action] == limit) return false;
    ++at[action];
    if (action == 0) list.push_back(at[0]);
    if (list.size() != at[0] || (!list.empty() && list.back() != at[0])) found = "the state came back as another one";
    if (is_broken && at[0] == 3 && at[1] == 3) found = "both at 3";
    return true;
  }
  bool turn(Draw& draw) { return apply(draw(2)); }
  void close() { ++closed; }
  [[nodiscard]] std::uint64_t work() const { return at[0] + at[1]; }
  [[nodiscard]] const std::string& failure() const { return found; }
};

TEST(Search, visits_every_state_once_and_lets_each_end) {
  Counters model;
  const Findings findings = explore_states(model);
  EXPECT_EQ(findings.failure, "");
  EXPECT_EQ(findings.states, 25U);
  EXPECT_EQ(model.closed, 25U);
}

TEST(Search, stops_at_a_failure) {
  Counters model;
  model.is_broken = true;
  const Findings findings = explore_states(model);
  EXPECT_EQ(findings.failure, "both at 3");
  EXPECT_LT(findings.states, 25U);
}

TEST(Search, does_not_take_states_of_zeros_of_other_lengths_for_one) {
  StateSet seen;
  for (std::size_t size = 0; size < 100; ++size) EXPECT_TRUE(seen.insert(std::vector<std::byte>(size)));
  for (std::size_t size = 0; size < 100; ++size) EXPECT_FALSE(seen.insert(std::vector<std::byte>(size)));
  EXPECT_EQ(seen.size(), 100U);
}

TEST(RandomRuns, take_that_many_steps_and_find_a_failure) {
  const auto begin = [](bool is_broken) {
    return [is_broken](Draw&) {
      Counters model;
      model.is_broken = is_broken;
      return model;
    };
  };
  const Findings sound = wander(1, 1'000, 100, begin(false));
  EXPECT_EQ(sound.failure, "");
  EXPECT_EQ(sound.states, 1'000U);
  EXPECT_EQ(sound.work, 1'000U);
  EXPECT_EQ(wander(1, 1'000, 100, begin(true)).failure, "both at 3");
}

TEST(Choices, go_through_all_sequences) {
  Choices choices;
  std::set<std::vector<std::size_t>> seen;
  std::size_t runs = 0;
  do {
    std::vector<std::size_t> taken = {choices.choose(3), choices.choose(1)};
    if (taken[0] != 0) taken.push_back(choices.choose(taken[0] + 1));
    seen.insert(taken);
    ++runs;
  } while (choices.next());
  EXPECT_EQ(runs, 1U + 2U + 3U);
  EXPECT_EQ(seen.size(), runs);
}

TEST(Fibers, take_turns_and_keep_their_stacks) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "ThreadSanitizer does not follow stacks that change";
  Fibers fibers(16 * 1024);
  std::string said;
  for (const char name : {'a', 'b'}) {
    fibers.add([&, name] {
      for (char number = '1'; number < '3'; ++number) {
        said += name;
        said += number;
        fibers.pause();
      }
    });
  }
  while (!fibers.is_done(0) || !fibers.is_done(1)) {
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      if (!fibers.is_done(i)) fibers.resume(i);
    }
  }
  EXPECT_EQ(said, "a1b1a2b2");
}

TEST(Replay, makes_one_access_of_a_call_at_a_time) {
  Replay replay;
  std::vector<int> log;
  const auto access = [&](int value) {
    if (replay.is_known()) return log[replay.next()];
    replay.act();
    log.push_back(value);
    return value;
  };
  int sum = 0;
  std::size_t runs = 1;
  while (!replay.run(log.size(), [&] { sum = access(1) + access(10) + access(100); })) ++runs;
  EXPECT_EQ(sum, 111);
  EXPECT_EQ(log, (std::vector<int>{1, 10, 100}));
  EXPECT_EQ(runs, 3U);
}

// Litmus tests: what a thread may see of two words that another one stored.

using Memory = ViewMemory<int, std::uint8_t, 2, 2>;

/// Thread 0 stores to word 0, then to word 1; thread 1 loads word 1, then word 0. Returns all pairs that it may see.
std::set<std::pair<int, int>> pass_message(bool releases, bool acquires, bool with_fences = false) {
  std::set<std::pair<int, int>> seen;
  Choices choices;
  do {
    Memory memory;
    memory.begin(0);
    memory.begin(1);
    memory.store(0, 0, 1, false);
    if (with_fences) memory.fence(0, false, true);
    memory.store(0, 1, 1, releases);
    const auto load = [&](std::size_t word, bool acquiring) {
      const std::size_t oldest = memory.thread(1).now[word];
      return memory.load(1, word, oldest + choices.choose(memory.messages(word).size() - oldest), acquiring);
    };
    const int flag = load(1, acquires);
    if (with_fences) memory.fence(1, true, false);
    seen.emplace(flag, load(0, false));
  } while (choices.next());
  return seen;
}

TEST(ViewMemory, passes_a_message_only_from_a_release_to_an_acquire) {
  const std::set<std::pair<int, int>> all = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const std::set<std::pair<int, int>> ordered = {{0, 0}, {0, 1}, {1, 1}};
  EXPECT_EQ(pass_message(true, true), ordered);
  EXPECT_EQ(pass_message(false, false, true), ordered);
  EXPECT_EQ(pass_message(false, true), all);
  EXPECT_EQ(pass_message(true, false), all);
  EXPECT_EQ(pass_message(false, false), all);
}

TEST(ViewMemory, lets_an_exchange_go_on_with_a_release_sequence) {
  Memory memory;
  memory.begin(0);
  memory.begin(1);
  memory.store(0, 0, 1, false);
  memory.store(0, 1, 1, true);
  EXPECT_EQ(memory.load(1, 1, 1, false), 1);
  EXPECT_EQ(memory.thread(1).now[0], 0) << "it did not acquire";
  memory.exchange(1, 1, 2);
  EXPECT_EQ(memory.load(0, 1, 2, true), 2);
  EXPECT_EQ(memory.messages(1).back().view[0], 1) << "who acquires the exchange sees the first store";
}

TEST(Interleavings, show_both_stores_in_their_buffers_but_not_after_an_exchange) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "ThreadSanitizer does not follow stacks that change";
  for (const bool has_exchange : {false, true}) {
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    std::pair<std::uint64_t, std::uint64_t> got;
    int ended = 0;
    const auto thread = [&](std::size_t mine, std::uint64_t& into) {
      return [&, mine](Machine& machine) {
        if (has_exchange) {
          (void)machine.exchange(mine, 1);
        } else {
          machine.store(mine, 1);
        }
        into = machine.load(1 - mine);
        if (++ended % 2 == 0) seen.insert(got);
      };
    };
    const Exploration result = explore_orders([&] {
      return std::vector<Machine::Thread>{thread(0, got.first), thread(1, got.second)};
    });
    EXPECT_EQ(result.failure, "");
    EXPECT_EQ(seen.contains({0, 0}), !has_exchange);
    EXPECT_EQ(seen.size(), has_exchange ? 3U : 4U);
  }
}

TEST(Interleavings, find_who_sleeps_for_ever) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "ThreadSanitizer does not follow stacks that change";
  const Machine::Thread sleeper = [](Machine& machine) { (void)machine.wait(0, 0, 0); };
  const auto run = [&](bool wakes) {
    return explore_orders([&, wakes] {
      const Machine::Thread waker = [wakes](Machine& machine) {
        machine.add(0, 1);
        if (wakes) machine.wake(0);
      };
      return std::vector<Machine::Thread>{sleeper, waker};
    });
  };
  EXPECT_EQ(run(true).failure, "");
  EXPECT_EQ(run(false).failure, "somebody sleeps for ever");
}

}  // namespace stopbit::model_check::model_check_test
