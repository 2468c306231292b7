// Every execution that the memory model of C++ allows to a few producers and the node at a small ring of commands, over
// the code that runs (queue_protocol.hpp).
//
// Memory is that of tests/lib/model_check. A thread is run from its beginning, with the values that it has loaded so
// far, up to its next access: so a state can be copied, and is met once. What a load from the future would show is
// checked as a race: a producer that stores into a slot must know that it has been read.

#include "host/nic/queue/queue_protocol.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/lib/model_check/replay.hpp"
#include "tests/lib/model_check/search.hpp"
#include "tests/lib/model_check/state_bytes.hpp"
#include "tests/lib/model_check/view_memory.hpp"

namespace stopbit::nic::queue_model_test {

constexpr std::size_t kThreads = 3;  // the last one is the node
constexpr std::size_t kNode = kThreads - 1;
constexpr std::uint64_t kRingSlots = 2;
constexpr std::size_t kSlotWords = 2;
constexpr std::size_t kClaimed = 0;
constexpr std::size_t kTaken = 1;
constexpr std::size_t kSeen = 2;
constexpr std::size_t kFirstSlot = 3;
constexpr std::size_t kWordCount = kFirstSlot + kRingSlots * kSlotWords;

using Memory = model_check::ViewMemory<std::uint8_t, std::uint8_t, kWordCount, kThreads>;
using Message = Memory::Message;

/// One batch of a producer: it tries so often, and then lets it be.
struct Batch {
  std::uint8_t commands = 1;
  bool is_whole = false;
  bool dies_after_claim = false;
};
struct Scenario {
  std::array<std::vector<Batch>, kThreads - 1> producers;
  unsigned tries = 2;
  unsigned polls = 6;
  unsigned told_every = 1;  ///< Commands after which the node gives slots back; it does so, too, when there are none.
};

struct State {
  Memory memory;
  std::array<std::vector<std::uint8_t>, kThreads>
      loaded;  ///< All that each thread has loaded, and what became of claims.
  std::array<bool, kThreads> is_done{};
  std::array<std::uint8_t, kWordCount> last_read{};  ///< When the node read the word of a slot last.
};

class Explorer {
 public:
  Explorer(const Scenario& scenario, std::optional<QueueStep> weakened) : scenario_(scenario), weakened_(weakened) {}

  std::string run() {
    State first;
    for (std::size_t word = 0; word < kWordCount; ++word) first.memory.begin(word);
    model_check::Search<State> search;
    search.add(key(first), first);
    for (State state; failure_.empty() && search.next(state);) {
      for (std::size_t thread = 0; thread < kThreads && failure_.empty(); ++thread) {
        if (state.is_done[thread]) continue;
        for (std::size_t way = 0, ways = 1; way < ways && failure_.empty(); ++way) {
          state_ = state;
          is_void_ = false;
          ways = step(thread, way);
          if (!is_void_) search.add(key(state_), state_);
        }
      }
    }
    states = search.visited();
    return failure_;
  }

  std::uint64_t states = 0;
  std::uint64_t taken = 0;     ///< The most that the node got.
  std::uint64_t refusals = 0;  ///< Times in which a producer found no room.

 private:
  /// What the protocol is given.
  struct Words {
    static constexpr std::uint64_t kSlots = kRingSlots;
    static constexpr std::size_t kWords = kSlotWords;
    Explorer& explorer;
    template <QueueStep step>
    std::uint64_t load() {
      return explorer.load(step, word_of(step));
    }
    template <QueueStep step>
    void store(std::uint64_t value) {
      explorer.store(step, word_of(step), value);
    }
    bool claim(std::uint64_t& expected, std::uint64_t desired) { return explorer.claim(expected, desired); }
    template <QueueStep step>
    std::uint64_t load_slot(std::uint64_t number, std::size_t word) {
      return explorer.load(step, kFirstSlot + number % kRingSlots * kSlotWords + word);
    }
    template <QueueStep step>
    void store_slot(std::uint64_t number, std::size_t word, std::uint64_t value) {
      explorer.store(step, kFirstSlot + number % kRingSlots * kSlotWords + word, value);
    }
    static std::size_t word_of(QueueStep step) {
      if (step == QueueStep::LoadTaken || step == QueueStep::StoreTaken) return kTaken;
      return step == QueueStep::LoadClaimed ? kClaimed : kSeen;
    }
  };

  /// Runs the thread up to and with its next access, which goes way `way`. Returns how many ways there are.
  std::size_t step(std::size_t thread, std::size_t way) {
    thread_ = thread;
    way_ = way;
    ways_ = 1;
    const auto be = [&] { thread == kNode ? be_node() : be_producer(thread); };
    if (replay_.run(state_.loaded[thread].size(), be)) state_.is_done[thread] = true;
    if (state_.memory.is_worn_out()) fail("the run is too long for the machine");
    return ways_;
  }
  void fail(const char* what) {
    if (failure_.empty()) failure_ = what;
  }

  /// Commands are numbers: producer and which of its commands.
  static std::uint8_t name_of(std::size_t producer, unsigned command) {
    return static_cast<std::uint8_t>(16 * (producer + 1) + command);
  }

  void be_producer(std::size_t self) {
    Words memory{*this};
    unsigned command = 1;
    for (const Batch& batch : scenario_.producers[self]) {
      unsigned left = batch.commands;
      for (unsigned attempt = 0; attempt < scenario_.tries && left != 0; ++attempt) {
        const ClaimedSlots slots = claim_slots(memory, left, batch.is_whole);
        if (slots.count == 0) ++refusals;
        if (slots.count > left || (batch.is_whole && slots.count != 0 && slots.count != left)) fail("a wrong number");
        if (slots.count != 0 && batch.dies_after_claim) return;
        for (std::uint64_t i = 0; i < slots.count; ++i) {
          const std::uint64_t words[kSlotWords] = {name_of(self, command++), 0};
          fill_slot(memory, slots.first + i, words);
        }
        left -= static_cast<unsigned>(slots.count);
      }
      command += left;  // those that found no room
    }
  }
  void be_node() {
    Words memory{*this};
    std::uint64_t number = 0;
    std::uint64_t told = 0;
    std::uint8_t last[kThreads - 1] = {};
    for (unsigned poll = 0; poll < scenario_.polls; ++poll) {
      std::uint64_t words[kSlotWords];
      const bool is_there = read_slot(memory, number, words);
      if (is_there) {
        const auto name = static_cast<std::uint8_t>(words[0]);
        const std::size_t producer = name / 16U - 1U;
        if (name < 16 || producer >= kThreads - 1) {
          fail("a command that nobody wrote");
          return;
        }
        if (name <= last[producer]) fail("a command twice, or out of order");
        last[producer] = name;
        taken = std::max(taken, ++number);
      }
      if (number - told >= scenario_.told_every || (!is_there && told != number)) {
        told = number;
        give_back(memory, number);
      }
    }
  }

  std::uint8_t known() { return state_.loaded[thread_][replay_.next()]; }
  std::uint64_t load(QueueStep step, std::size_t word) {
    if (replay_.is_known()) return known();
    replay_.act();
    // The node looks at a number that is not there only once more: an older one changes nothing.
    const std::uint8_t value = state_.memory.load(thread_, word, pick(word), order(step) == std::memory_order_acquire);
    if (step == QueueStep::LoadWord) state_.last_read[word] = state_.memory.clock(thread_, thread_);
    state_.loaded[thread_].push_back(value);
    return value;
  }
  /// The message that way `way_` sees, the newest first.
  std::size_t pick(std::size_t word) {
    const std::size_t messages = state_.memory.messages(word).size();
    ways_ = messages - state_.memory.thread(thread_).now[word];
    return messages - 1 - way_;
  }
  void store(QueueStep step, std::size_t word, std::uint64_t value) {
    if (replay_.is_known()) {
      (void)known();
      return;
    }
    replay_.act();
    if (thread_ != kNode && word >= kFirstSlot && state_.last_read[word] > state_.memory.clock(kNode, thread_)) {
      fail("a slot is written over before it is known to have been read");
    }
    const std::size_t known_messages = state_.memory.thread(thread_).now[word] + 1U;
    if (thread_ != kNode && word >= kFirstSlot && known_messages != state_.memory.messages(word).size()) {
      fail("two producers write the same slot");
    }
    state_.memory.store(thread_, word, static_cast<std::uint8_t>(value), order(step) == std::memory_order_release);
    state_.loaded[thread_].push_back(0);
  }
  bool claim(std::uint64_t& expected, std::uint64_t desired) {
    if (replay_.is_known()) {
      const std::uint8_t seen = known();
      const bool is_done = seen == 0xFF;
      if (!is_done) expected = seen;
      return is_done;
    }
    replay_.act();
    const std::uint8_t seen = state_.memory.load(thread_, kClaimed, pick(kClaimed), false);
    if (seen != expected) {
      expected = seen;
      state_.loaded[thread_].push_back(seen);
      return false;
    }
    if (way_ != 0) is_void_ = true;  // an exchange takes the newest
    state_.memory.exchange(thread_, kClaimed, static_cast<std::uint8_t>(desired));
    state_.loaded[thread_].push_back(0xFF);
    return true;
  }
  [[nodiscard]] std::memory_order order(QueueStep step) const {
    return weakened_ == step ? std::memory_order_relaxed : order_of(step);
  }

  /// The state in bytes. Nothing has a fence: of a thread's views only what it has seen matters.
  std::span<const std::byte> key(const State& state) {
    key_.clear();
    model_check::StateWriter bytes{key_};
    for (std::size_t word = 0; word < kWordCount; ++word) {
      bytes.list(state.memory.messages(word));
      for (const Message& message : state.memory.messages(word)) bytes(message);
    }
    for (std::size_t thread = 0; thread < kThreads; ++thread) bytes(state.memory.thread(thread).now);
    for (const auto& loaded : state.loaded) {
      bytes.list(loaded);
      for (const std::uint8_t value : loaded) bytes(value);
    }
    bytes(state.is_done);
    bytes(state.last_read);
    return key_;
  }

  const Scenario& scenario_;
  std::optional<QueueStep> weakened_;
  State state_;
  std::string failure_;
  std::vector<std::byte> key_;
  model_check::Replay replay_;
  std::size_t thread_ = 0;
  std::size_t way_ = 0;
  std::size_t ways_ = 1;
  bool is_void_ = false;  ///< This way cannot be gone.
};

std::string explore(const char* name, const Scenario& scenario, std::uint64_t expected, bool refuses,
                    std::optional<QueueStep> weakened = std::nullopt) {
  Explorer explorer(scenario, weakened);
  const std::string failure = explorer.run();
  if (weakened) return failure;
  EXPECT_EQ(failure, "") << name;
  EXPECT_EQ(explorer.taken, expected) << name;
  EXPECT_EQ(explorer.refusals != 0, refuses) << name;
  std::printf("%s: %llu states\n", name, static_cast<unsigned long long>(explorer.states));
  return failure;
}

const Scenario kSingles{{{{{}, {}}, {{}}}}, 1, 4, 1};
const Scenario kWrap{{{{{}, {}}, {{}, {}}}}, 1, 5, 1};

TEST(QueueModel, loses_and_doubles_nothing_with_two_producers) {
  explore("single commands of two producers, once round the ring", kSingles, 3, true);
  explore("twice round the ring", kWrap, 4, true);
}

TEST(QueueModel, keeps_a_batch_together_or_says_how_much_of_it_there_is) {
  explore("a batch of two and a single one", {{{{{2}}, {{}}}}, 2, 4, 1}, 3, true);
  explore("batches that are whole or not there", {{{{{2, true}}, {{2, true}}}}, 2, 5, 2}, 4, true);
}

TEST(QueueModel, of_a_producer_that_dies_between_claim_and_store_gives_out_nothing_behind_it) {
  explore("the first of two dies", {{{{{1, false, true}}, {{}, {}}}}, 2, 4, 1}, 2, true);
}

TEST(QueueModel, needs_each_of_its_orders) {
  for (const QueueStep step : {QueueStep::LoadSeen, QueueStep::LoadTaken, QueueStep::StoreSeen, QueueStep::StoreNumber,
                               QueueStep::LoadNumber, QueueStep::StoreTaken}) {
    EXPECT_NE(explore("", kWrap, 0, false, step), "") << static_cast<int>(step);
  }
}

}  // namespace stopbit::nic::queue_model_test
