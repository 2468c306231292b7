#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "host/nic/notify/event_protocol.hpp"
#include "tests/lib/model_check/replay.hpp"
#include "tests/lib/model_check/search.hpp"
#include "tests/lib/model_check/view_memory.hpp"

/// A node, threads that sleep and one that is called, over the code that runs (event_protocol.hpp), one access at a
/// time, in every order, or in random ones.
///
/// Memory is that of C++: a list of messages per word, every value it had. A sequentially consistent access sees
/// nothing older than what such an access stored or saw before it; a weaker one may see any message that is not older
/// than what its thread knows of, which is what store buffers do, and more. Stores take their place in the order in
/// which they are run, and all those orders are run. The futex is a fence and looks at the word under a lock. A thread
/// is run from the beginning of its call into the protocol, with the values that it has loaded so far, up to its next
/// access: so a state is a few bytes, and is met once.
namespace stopbit::nic::event_model {

using model_check::Findings;
using model_check::join;

/// Every access, by what it is for.
enum class Step : std::uint8_t {
  StoreCount,        ///< Node: it has happened,
  LoadSleepers,      ///< does any thread sleep,
  LoadArmed,         ///< is there a handler:
  AddReady,          ///< then look at this event,
  StoreBell,         ///< there is something to look at,
  LoadBellSleepers,  ///< does the dispatcher sleep.
  Announce,          ///< Port: a sleeper comes,
  LoadCount,         ///< has it happened,
  Leave,             ///< and goes.
  Arm,
  AddOwnReady,
  LoadBell,
  TakeReady,
  LoadCalls,  ///< Dispatcher: how often has it happened.
  Disarm,
};
inline constexpr std::size_t kSteps = static_cast<std::size_t>(Step::Disarm) + 1;
using Steps = std::uint32_t;
[[nodiscard]] constexpr Steps bit_of(Step step) {
  return Steps{1} << static_cast<unsigned>(step);
}

/// What must not go unnoticed, besides steps that are weaker.
enum class Fault : std::uint8_t {
  None,
  LateBell,     ///< The dispatcher reads the doorbell after it has looked at its events, not before.
  NoAnnounce,   ///< A sleeper does not announce itself.
  NoLookAgain,  ///< Arming does not look at what happened before.
};

struct Sleeper {
  std::uint8_t event = 1;
  std::uint8_t times = 1;
  bool has_deadline = false;
};
struct Handler {
  std::uint8_t events = 1;  ///< 1 up to this one.
  bool has_deadline = false;
  bool is_loop = false;  ///< It is not called, but asks which of the events it watches comes next.
  bool rearms = false;   ///< After the first call it is taken away from event 1, and armed again.
};
struct Scenario {
  std::vector<std::uint8_t> signals;  ///< The node's, in order; then the port is closed.
  std::vector<Sleeper> sleepers;      ///< Each with the number of events it waits for.
  std::vector<Handler> handlers;      ///< At most one for an event. It ends when all were called.
  unsigned interrupts = 0;            ///< Number of spurious wake-ups.
};

inline constexpr std::size_t kThreads = 4;
inline constexpr std::size_t kEvents = 3;  ///< The doorbell, and two.
inline constexpr std::size_t kWords = 2 * kEvents + 2;

class Model {
 public:
  Model(const Scenario& scenario, Steps weakened, Fault fault) : scenario_(&scenario), weak_(weakened), fault_(fault) {
    std::memset(static_cast<void*>(&state_), 0, sizeof(state_));
    for (Word& word : state_.words) word.size = 1;
    count_ = 1 + scenario.sleepers.size() + scenario.handlers.size();
    state_.interrupts = static_cast<std::uint8_t>(scenario.interrupts);
    for (const std::uint8_t event : scenario.signals) ++expected_[event];
  }

  using View = std::array<std::uint8_t, kWords>;
  struct Message {
    std::uint8_t value;
    View view;  ///< What who acquires it knows then: of each word the oldest message that it may still see.
  };
  static constexpr std::size_t kMessages = 16;
  struct Word {
    std::uint8_t size;
    std::array<Message, kMessages> messages;
  };
  static constexpr std::size_t kLog = 24;
  struct Thread {
    View view;
    std::uint8_t at;  ///< Node: in its script. Handler: which call comes next.
    std::uint8_t seen;
    std::uint8_t bell;  ///< Node: how often it rang. Handler: what it read there.
    std::array<std::uint8_t, kEvents> counts;
    std::uint8_t ready;  ///< Loop: events that were collected,
    std::uint8_t last;   ///< and the one that was given.
    std::uint8_t has_rearmed;
    std::uint8_t is_done;
    std::uint8_t gave_up;
    std::uint8_t was_woken;
    std::uint8_t is_asleep;
    std::uint8_t asleep_at;
    std::uint8_t asleep_seen;
    std::uint8_t log_size;
    std::array<std::uint8_t, kLog> log;  ///< What the call under way has loaded.
  };
  struct State {
    std::array<Thread, kThreads> threads;
    View ordered;  ///< Of each word the last message that a sequentially consistent access stored or saw.
    std::uint8_t interrupts;
    std::array<Word, kWords> words;
  };
  static_assert(std::is_trivially_copyable_v<State>);

  State& state() { return state_; }
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// The state in bytes, as few as tell it from others.
  std::span<const std::byte> key() {
    key_size_ = 0;
    const auto append = [&](const void* from, std::size_t size) {
      std::memcpy(key_.data() + key_size_, from, size);
      key_size_ += size;
    };
    for (std::size_t i = 0; i < count_; ++i) {
      append(&state_.threads[i], offsetof(Thread, log) + state_.threads[i].log_size);
    }
    append(&state_.ordered, sizeof(View) + 1);
    for (const Word& word : state_.words) append(&word, 1 + word.size * sizeof(Message));
    return {key_.data(), key_size_};
  }

  // Ways: 3 i: thread i goes on; 3 i + 1: its deadline wakes it; 3 i + 2: something else does.
  [[nodiscard]] std::size_t ways() const { return 3 * count_; }
  [[nodiscard]] bool can_go(std::size_t way) const {
    const Thread& thread = state_.threads[way / 3];
    if (thread.is_done != 0) return false;
    if (way % 3 == 0) return thread.is_asleep == 0;
    if (thread.is_asleep == 0) return false;
    return way % 3 == 1 ? has_deadline(way / 3) : state_.interrupts != 0;
  }
  /// Goes that way; if the access can see several messages, the one that `pick(count)` says. Returns how many.
  template <class Pick>
  std::size_t go(std::size_t way, const Pick& pick) {
    ways_ = 1;
    if (way % 3 != 0) {
      if (way % 3 == 2) --state_.interrupts;
      wake_up(state_.threads[way / 3], way % 3 == 2);
      return 1;
    }
    pick_ = [](const void* of, std::size_t count) { return (*static_cast<const Pick*>(of))(count); };
    pick_of_ = &pick;
    thread_ = way / 3;
    (void)replay_.run(state_.threads[thread_].log_size, [this] { run(); });
    return ways_;
  }
  /// Only deadlines let a thread go on: every sleeper must sleep for a reason.
  void check_rest() {
    bool all_done = true;
    for (std::size_t i = 0; i < count_; ++i) {
      const Thread& thread = state_.threads[i];
      all_done = all_done && thread.is_done != 0;
      if (thread.is_done == 0 && thread.is_asleep == 0) return;
      if (thread.is_asleep == 0) continue;
      if (newest(thread.asleep_at) != thread.asleep_seen) return fail("somebody sleeps although it has happened");
      if (!has_deadline(i)) return fail("somebody sleeps for ever");
    }
    if (all_done) check_end();
  }

 private:
  static constexpr std::size_t kArmed = 2 * kEvents;
  static constexpr std::size_t kReady = kArmed + 1;
  static constexpr std::uint8_t kWaited = 1;

  /// What the protocol is given.
  struct Memory {
    Model& model;
    std::uint64_t load(std::size_t word) { return model.load(word); }
    void store(std::size_t word, std::uint64_t value) {
      (void)model.change(word == 0 ? Step::StoreBell : Step::StoreCount, word, false,
                         [&](std::uint8_t) { return static_cast<std::uint8_t>(value); });
    }
    void fetch_and(std::size_t word, std::uint64_t bits) {
      (void)model.change(Step::Disarm, word, true,
                         [&](std::uint8_t old) { return static_cast<std::uint8_t>(old & bits); });
    }
    void add(std::size_t word, std::uint64_t value) {
      if (model.fault_ == Fault::NoAnnounce) return;
      (void)model.change(value == 1 ? Step::Announce : Step::Leave, word, true,
                         [&](std::uint8_t old) { return static_cast<std::uint8_t>(old + value); });
    }
    void fetch_or(std::size_t word, std::uint64_t bits) {
      const bool is_ready = word == EventLayout::kReady;
      const Step step = !is_ready ? Step::Arm : model.thread_ == 0 ? Step::AddReady : Step::AddOwnReady;
      if (model.fault_ == Fault::NoLookAgain && step == Step::AddOwnReady) return;
      (void)model.change(step, word, true, [&](std::uint8_t old) { return static_cast<std::uint8_t>(old | bits); });
    }
    std::uint64_t exchange(std::size_t word, std::uint64_t value) {
      return model.change(Step::TakeReady, word, true, [&](std::uint8_t) { return static_cast<std::uint8_t>(value); });
    }
    bool wait(std::size_t word, std::uint64_t seen, int) { return model.wait(word, static_cast<std::uint8_t>(seen)); }
    void wake(std::size_t word) { model.wake(word); }
  };

  static std::size_t index_of(std::size_t word) {
    if (word == EventLayout::kArmed) return kArmed;
    if (word == EventLayout::kReady) return kReady;
    return word < EventLayout::kEvents ? word : kEvents + word - EventLayout::kEvents;
  }
  [[nodiscard]] Step load_step(std::size_t word) const {
    if (word == EventLayout::kArmed) return Step::LoadArmed;
    if (word == EventLayout::sleepers(EventLayout::kDoorbell)) return Step::LoadBellSleepers;
    if (word > EventLayout::kEvents) return Step::LoadSleepers;
    if (word == 0) return Step::LoadBell;
    return is_handler(thread_) ? Step::LoadCalls : Step::LoadCount;
  }
  [[nodiscard]] bool is_handler(std::size_t thread) const { return thread > scenario_->sleepers.size(); }
  [[nodiscard]] const Handler& handler_of(std::size_t thread) const {
    return scenario_->handlers[thread - 1 - scenario_->sleepers.size()];
  }
  [[nodiscard]] bool has_deadline(std::size_t thread) const {
    if (thread == 0) return false;
    return is_handler(thread) ? handler_of(thread).has_deadline : scenario_->sleepers[thread - 1].has_deadline;
  }
  [[nodiscard]] std::uint8_t newest(std::size_t index) const {
    const Word& word = state_.words[index];
    return word.messages[word.size - 1U].value;
  }
  void fail(const char* what) {
    if (failure_.empty()) failure_ = what;
  }

  // The threads: each runs one call into the protocol, and keeps what came of it.
  void run() {
    Thread& thread = state_.threads[thread_];
    if (thread_ == 0) {
      be_node(thread);
    } else if (is_handler(thread_)) {
      be_handler(thread, handler_of(thread_));
    } else {
      be_sleeper(thread, scenario_->sleepers[thread_ - 1]);
    }
    thread.log_size = 0;
    std::memset(thread.log.data(), 0, thread.log.size());
  }
  void be_node(Thread& thread) {
    Memory memory{*this};
    const std::uint8_t event = scenario_->signals[thread.at];
    std::uint64_t bell = thread.bell;
    signal_event(memory, event, thread.counts[event] + 1U, bell);
    thread.bell = static_cast<std::uint8_t>(bell);
    ++thread.counts[event];
    thread.is_done = ++thread.at == scenario_->signals.size();
  }
  /// As EventCounters::wait.
  void be_sleeper(Thread& thread, const Sleeper& sleeper) {
    Memory memory{*this};
    if (thread.at == kWaited) {
      thread.was_woken = await_event(memory, sleeper.event, thread.seen, 0);
      thread.at = 0;
      thread.gave_up = thread.was_woken == 0;
      thread.is_done = thread.gave_up;
      return;
    }
    const auto count = static_cast<std::uint8_t>(memory.load(EventLayout::signals(sleeper.event)));
    if (count < thread.seen || count > expected_[sleeper.event]) return fail("a count that never was");
    if (count == thread.seen) {
      if (thread.was_woken != 0) return fail("woken for nothing");
      thread.at = kWaited;
      return;
    }
    thread.was_woken = 0;
    thread.is_done = ++thread.seen == sleeper.times;
  }
  /// As EventCounters::arm and ::dispatch, or ::watch and ::next.
  void be_handler(Thread& thread, const Handler& handler) {
    enum Part : unsigned { kBell, kLook, kAwait, kDisarm, kArmAgain };
    Memory memory{*this};
    if (thread.at < handler.events) {
      if (handler.is_loop) disarm_event(memory, thread.at + 1U);
      arm_event(memory, thread.at + 1U);
      ++thread.at;
      return;
    }
    const auto go_to = [&](unsigned part) { thread.at = static_cast<std::uint8_t>(handler.events + part); };
    const unsigned part = thread.at - handler.events;
    const bool is_late = fault_ == Fault::LateBell;
    switch (part) {
      case kBell:
        thread.bell = static_cast<std::uint8_t>(memory.load(EventLayout::signals(EventLayout::kDoorbell)));
        return go_to(is_late ? kAwait : kLook);
      case kAwait:
        thread.gave_up = !await_event(memory, EventLayout::kDoorbell, thread.bell, 0);
        return go_to(thread.gave_up != 0 || is_late ? kLook : kBell);
      case kDisarm: disarm_event(memory, 1); return go_to(kArmAgain);
      case kArmAgain:
        arm_event(memory, 1);
        thread.has_rearmed = 1;
        return go_to(kBell);
      default: break;
    }
    const std::uint64_t wanted = (std::uint64_t{1} << (handler.events + 1U)) - 2;
    std::array<std::uint64_t, kEvents> taken{};
    std::copy(thread.counts.begin(), thread.counts.end(), taken.begin());
    std::array<std::uint8_t, kEvents> called = thread.counts;
    bool has_any = false;
    if (handler.is_loop) {
      std::uint64_t ready = thread.ready;
      const std::size_t event = next_event(memory, taken.data(), ready, thread.last, wanted, 0);
      thread.ready = static_cast<std::uint8_t>(ready);
      has_any = event != 0;
      if (has_any) {
        ++called[event];
        thread.last = static_cast<std::uint8_t>(event);
      }
    } else {
      has_any = dispatch_events(
                    memory, taken.data(), [&](std::size_t event) { ++called[event]; }, wanted) != 0;
    }
    if (!std::equal(called.begin(), called.end(), taken.begin())) return fail("calls and counts differ");
    thread.counts = called;
    bool is_done = true;
    for (std::uint8_t event = 1; event <= handler.events; ++event) {
      if (called[event] > expected_[event]) return fail("a handler was called too often");
      is_done = is_done && called[event] == expected_[event];
    }
    thread.is_done = is_done || (thread.gave_up != 0 && !has_any);
    thread.gave_up = thread.gave_up != 0 && !is_done;
    if (has_any) return go_to(handler.rearms && thread.has_rearmed == 0 ? kDisarm : kBell);
    go_to(is_late ? kBell : kAwait);
  }

  // The memory.
  void log(Thread& thread, std::uint8_t value) {
    if (thread.log_size == kLog) return fail("a call that does not end");
    thread.log[thread.log_size++] = value;
  }
  [[nodiscard]] std::uint8_t known() { return state_.threads[thread_].log[replay_.next()]; }
  [[nodiscard]] bool is_weak(Step step) const { return (weak_ & bit_of(step)) != 0; }
  /// Chooses the message that the load sees, of those from `oldest` on; the newest first.
  std::size_t pick(std::size_t index, std::size_t oldest) {
    const std::size_t size = state_.words[index].size;
    ways_ = size - oldest;
    return size - 1 - (ways_ == 1 ? 0 : pick_(pick_of_, ways_));
  }

  std::uint8_t load(std::size_t name) {
    if (replay_.is_known()) return known();
    replay_.act();
    const Step step = load_step(name);
    const std::size_t index = index_of(name);
    Thread& thread = state_.threads[thread_];
    const std::uint8_t oldest = std::max(thread.view[index], is_weak(step) ? std::uint8_t{0} : state_.ordered[index]);
    const std::size_t picked = pick(index, oldest);
    const Message& message = state_.words[index].messages[picked];
    if (weak_ != 0) {
      thread.view[index] = static_cast<std::uint8_t>(picked);
      join(thread.view, message.view);
      if (!is_weak(step)) state_.ordered[index] = std::max(state_.ordered[index], thread.view[index]);
    }
    log(thread, message.value);
    return message.value;
  }
  template <class Change>
  std::uint8_t change(Step step, std::size_t name, bool reads, const Change& make) {
    if (replay_.is_known()) return known();
    replay_.act();
    const std::size_t index = index_of(name);
    Word& word = state_.words[index];
    Thread& thread = state_.threads[thread_];
    const Message old = word.messages[word.size - 1U];
    const std::uint8_t value = make(old.value);
    if (weak_ == 0) {
      word.messages[0].value = value;  // no thread can see an older one any more
    } else if (word.size == kMessages) {
      fail("too many stores");
    } else {
      if (reads) join(thread.view, old.view);
      thread.view[index] = word.size;
      if (!is_weak(step)) state_.ordered[index] = word.size;
      word.messages[word.size++] = {value, thread.view};
    }
    log(thread, old.value);
    return old.value;
  }
  void fence() {
    join(state_.threads[thread_].view, state_.ordered);
    join(state_.ordered, state_.threads[thread_].view);
  }
  bool wait(std::size_t name, std::uint8_t seen) {
    if (replay_.is_known()) return known() != 0;
    replay_.act();
    Thread& thread = state_.threads[thread_];
    const std::size_t index = index_of(name);
    fence();
    const std::size_t picked = pick(index, thread.view[index]);
    if (weak_ != 0) thread.view[index] = static_cast<std::uint8_t>(picked);
    if (state_.words[index].messages[picked].value != seen) {
      log(thread, 1);
      return true;
    }
    thread.is_asleep = 1;
    thread.asleep_at = static_cast<std::uint8_t>(index);
    thread.asleep_seen = seen;
    replay_.leave();
  }
  void wake_up(Thread& thread, bool in_time) {
    thread.is_asleep = thread.asleep_at = thread.asleep_seen = 0;
    log(thread, in_time ? 1 : 0);
  }
  void wake(std::size_t name) {
    if (replay_.is_known()) {
      (void)known();
      return;
    }
    replay_.act();
    fence();
    for (Thread& thread : state_.threads) {
      if (thread.is_asleep != 0 && thread.asleep_at == index_of(name)) {
        join(thread.view, state_.ordered);
        wake_up(thread, true);
      }
    }
    log(state_.threads[thread_], 0);
  }

  void check_end() {
    for (std::size_t event = 0; event < kEvents; ++event) {
      if (newest(kEvents + event) != 0) return fail("a sleeper is left announced");
    }
    for (std::size_t i = 1; i < count_; ++i) {
      if (!is_handler(i) || state_.threads[i].gave_up != 0) continue;
      for (std::uint8_t event = 1; event <= handler_of(i).events; ++event) {
        if (state_.threads[i].counts[event] != expected_[event]) return fail("a handler was not called");
      }
    }
  }

  const Scenario* scenario_;
  Steps weak_;
  Fault fault_;
  std::size_t count_ = 0;
  std::array<std::uint8_t, kEvents> expected_{};
  State state_;
  std::string failure_;
  model_check::Replay replay_;
  std::size_t thread_ = 0;
  std::size_t ways_ = 1;
  std::size_t (*pick_)(const void*, std::size_t) = nullptr;
  const void* pick_of_ = nullptr;
  std::array<std::byte, sizeof(State)> key_;
  std::size_t key_size_ = 0;
};

/// Visits every state that can be reached. Ends are states from which only a deadline leads on.
inline Findings explore(const Scenario& scenario, Steps weakened = 0, Fault fault = Fault::None) {
  Findings result;
  Model model(scenario, weakened, fault);
  model_check::Search<Model::State> search;
  search.add(model.key(), model.state());
  for (Model::State state; model.failure().empty() && search.next(state);) {
    bool rests = true;
    for (std::size_t way = 0; way < model.ways() && model.failure().empty(); ++way) {
      model.state() = state;
      if (!model.can_go(way)) continue;
      rests = rests && way % 3 != 0;
      for (std::size_t message = 0, messages = 1; message < messages && model.failure().empty(); ++message) {
        model.state() = state;
        messages = model.go(way, [&](std::size_t) { return message; });
        ++result.steps;
        search.add(model.key(), model.state());
      }
    }
    if (rests && model.failure().empty()) {
      ++result.ends;
      model.state() = state;
      model.check_rest();
    }
  }
  result.states = search.visited();
  result.failure = model.failure();
  return result;
}

/// Takes random schedules, which are counted as states; a deadline comes now and then.
inline Findings wander(const Scenario& scenario, std::uint64_t seed, std::uint64_t schedules, Steps weakened = 0,
                       Fault fault = Fault::None) {
  Findings result;
  std::uint64_t random = seed * 0x9E37'79B9'7F4A'7C15U + 1;
  const auto draw = [&](std::size_t count) {  // xorshift64*
    random ^= random >> 12U;
    random ^= random << 25U;
    random ^= random >> 27U;
    return static_cast<std::size_t>(((random * 0x2545'F491'4F6C'DD1DU) >> 32U) * count >> 32U);
  };
  const Model begin(scenario, weakened, fault);
  Model model = begin;
  for (; result.states < schedules && model.failure().empty(); ++result.states) {
    model.state() = begin.state();
    for (;;) {
      std::array<std::uint8_t, 3 * kThreads> ways;
      std::size_t count = 0;
      std::size_t steps = 0;
      for (std::size_t thread = 0; 3 * thread < model.ways(); ++thread) {
        const std::size_t way = 3 * thread;
        if (model.can_go(way)) {
          ways[count++] = static_cast<std::uint8_t>(way);
          ++steps;
          continue;
        }
        for (std::size_t other = way + 1; other < way + 3; ++other) {
          if (model.can_go(other)) ways[count++] = static_cast<std::uint8_t>(other);
        }
      }
      if (steps == 0) {
        ++result.ends;
        model.check_rest();
      }
      if (count == 0 || !model.failure().empty()) break;
      const std::size_t way = ways[draw(count)];
      if (way % 3 != 0 && steps != 0 && draw(8) != 0) continue;
      (void)model.go(way, draw);
      ++result.steps;
    }
  }
  result.failure = model.failure();
  return result;
}

}  // namespace stopbit::nic::event_model
