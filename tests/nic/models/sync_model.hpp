#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/nic/sync/core.hpp"
#include "tests/lib/model_check/search.hpp"

/// A few members at a lock, a queue or a semaphore, and a network that delivers in every order it may: what one member
/// sends to one place keeps its order, nothing else does. Members may die, with what they have sent or without, and
/// grow impatient too early.
namespace stopbit::nic::sync_model {

using model_check::Findings;

/// What must not go unnoticed.
enum class Fault : std::uint8_t {
  None,
  RulesAsPrinted,   ///< The source's rule for an empty queue.
  NoPrologue,       ///< A member does not clear its words before it queues.
  EventBeforeWord,  ///< The event of a grant comes before its word.
  AnyGrant,         ///< A lock's grant of an earlier attempt is taken for one of this attempt.
  HastyDeath,       ///< A member that is only out of reach is taken for dead.
  OldNext,          ///< A lock is passed to the member that followed its holder before the queue was disbanded.
};

struct Scenario {
  std::vector<std::string> scripts;  ///< Of each member: a acquire, r release, w wait or P, s signal or V.
  std::uint16_t count = 0;           ///< Of a semaphore.
  bool is_semaphore = false;
  unsigned deaths = 0;
  unsigned hastes = 0;  ///< How often a member grows impatient although something is under way.
  unsigned losses =
      0;  ///< How often a member stops waiting for an answer, before or after its request was carried out.
  unsigned leaves = 0;  ///< How often a member leaves before its turn.
};

inline constexpr std::size_t kMaxMembers = 3;

template <class Core>
class Model {
 public:
  static constexpr bool kIsLock = std::is_same_v<Core, LockCore>;

  Model(const Scenario& scenario, Fault fault) : scenario_(&scenario), fault_(fault) {
    std::memset(static_cast<void*>(&state_), 0, sizeof(state_));
    count_ = scenario.scripts.size();
    for (std::size_t i = 0; i < count_; ++i) {
      const auto id = static_cast<MemberId>(i + 1);
      if constexpr (kIsLock) {
        state_.members[i].core = Core(id);
      } else {
        state_.members[i].core = Core(id, scenario.is_semaphore);
      }
    }
    SyncState word;
    word.count = scenario.count;
    state_.word = to_word(word);
    state_.deaths = static_cast<std::uint8_t>(scenario.deaths);
    state_.hastes = static_cast<std::uint8_t>(scenario.hastes);
    state_.losses = static_cast<std::uint8_t>(scenario.losses);
    state_.leaves = static_cast<std::uint8_t>(scenario.leaves);
  }

  struct Message {
    std::uint64_t value = 0;
    std::uint8_t kind = 0;
    std::uint8_t word = 0;
    Error error = Error::None;
    std::uint8_t reserved[5] = {};
  };
  static constexpr std::size_t kDepth = 4;
  struct Channel {
    std::uint64_t size = 0;
    std::array<Message, kDepth> messages;
  };
  struct Member {
    Core core;
    std::array<std::uint64_t, kMemberWords> words{};
    std::uint32_t events = 0;
    std::uint8_t at = 0;  ///< In its script.
    std::uint8_t is_dead = 0;
    std::uint8_t is_busy = 0;   ///< With the step of the script before `at`.
    std::uint8_t has_left = 0;  ///< In that step.
  };
  // Channels: to the home, from it; to each other, and back.
  static constexpr std::size_t kChannels = 2 * kMaxMembers + 2 * kMaxMembers * kMaxMembers;
  struct State {
    std::array<Member, kMaxMembers> members;
    std::array<Channel, kChannels> channels;
    std::uint64_t word;
    std::array<std::uint8_t, 8> order;  ///< Lock: the members, in the order in which the home saw it.
    std::uint8_t came;
    std::uint8_t went;
    std::uint8_t waits;    ///< Waits that have ended.
    std::uint8_t wakings;  ///< Wake-ups and counts at the home.
    std::uint8_t deaths;
    std::uint8_t hastes;
    std::uint8_t is_disturbed;  ///< A member died, or a queue was broken: from now on no order is promised.
    std::uint8_t losses;
    /// Answers that are not waited for any more: from the home, and from each to each.
    std::array<std::uint8_t, kMaxMembers> ignored_home;
    std::array<std::uint8_t, kMaxMembers * kMaxMembers> ignored_across;
    std::uint8_t leaves;
    std::array<std::uint8_t, 3> reserved;
  };

  State& state() { return state_; }
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

  // Actions: 0..M-1 a member goes on; M..2M-1 one grows impatient; 2M..4M-1 one dies, with or without what it sent;
  // then a message arrives; last, M each, one stops waiting for its answer, one leaves.
  [[nodiscard]] std::size_t actions() const { return 6 * count_ + kChannels; }
  /// False: it cannot happen now.
  bool apply(std::size_t action) {
    if (action >= 5 * count_ + kChannels) return leave(action - 5 * count_ - kChannels);
    if (action >= 4 * count_ + kChannels) return lose(action - 4 * count_ - kChannels);
    if (action >= 4 * count_) return deliver(action - 4 * count_);
    const std::size_t who = action % count_;
    if (state_.members[who].is_dead != 0) return false;
    if (action < count_) return go_on(who);
    if (action < 2 * count_) {
      if (state_.hastes == 0 || !can_be_impatient(who)) return false;
      --state_.hastes;
      impatient(who);
      return true;
    }
    if (state_.deaths == 0) return false;
    --state_.deaths;
    state_.is_disturbed = 1;
    state_.members[who].is_dead = 1;
    if (action < 3 * count_) return true;
    for (std::size_t c = 0; c < kChannels; ++c) {
      if (sender_of(c) != who) continue;
      state_.channels[c].size = 0;
      ready_ &= ~channel_bit(c);
    }
    return true;
  }
  /// A bit for each member that may go on, and for each channel with a message.
  void find_ready() {
    ready_ = (std::uint32_t{1} << count_) - 1;
    for (std::size_t c = 0; c < kChannels; ++c) {
      if (state_.channels[c].size != 0) ready_ |= channel_bit(c);
    }
  }
  [[nodiscard]] std::uint32_t ready() const { return ready_; }
  /// Lets that member go on, or that message arrive.
  void go_on_at(std::size_t bit) {
    if (bit >= kMaxMembers) {
      (void)deliver(bit - kMaxMembers);
    } else if (state_.members[bit].is_dead != 0 || !go_on(bit)) {
      ready_ &= ~(std::uint32_t{1} << bit);
    }
  }
  /// Nothing is under way any more: those that live must all come to their end, if they are patient long enough, and
  /// are signalled often enough.
  void close() {
    for (int round = 0; round < 60 && failure_.empty(); ++round) {
      settle();
      if (is_done()) return check_end();
      for (std::size_t i = 0; i < count_; ++i) {
        if (state_.members[i].is_dead == 0 && can_be_impatient(i)) impatient(i);
        settle();
      }
      if (kIsLock || round % 8 != 7) continue;
      // Those that still wait may rightly do so: another member comes and signals.
      if (round / 8 == 0) check_rest();
      signal_from_outside();
    }
    if (failure_.empty() && !is_done()) failure_ = "somebody sleeps for ever";
  }
  /// Neither a member nor a message can go on.
  [[nodiscard]] bool is_quiet() {
    for (const Channel& channel : state_.channels) {
      if (channel.size != 0) return false;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (state_.members[i].is_dead != 0) continue;
      Model copy = *this;
      if (copy.go_on(i)) return false;
    }
    return true;
  }

 private:
  enum Kind : std::uint8_t { kChange, kTell, kTellSurely, kProbe };

  struct Wire {
    static constexpr SyncRules kRules = SyncRules::Sound;
    Model& model;
    std::size_t self;
    void change(const SyncRequest& request) {
      model.push(to_home(self), {std::bit_cast<std::uint64_t>(request), kChange, 0, Error::None, {}});
    }
    void tell(MemberId member, MemberWord word, std::uint64_t value) { send(member, kTell, word, value); }
    void tell_surely(MemberId member, MemberWord word, std::uint64_t value) { send(member, kTellSurely, word, value); }
    void probe(MemberId member) { send(member, kProbe, MemberWord::Next, 0); }
    void send(MemberId member, Kind kind, MemberWord word, std::uint64_t value) {
      if (member == 0 || member > model.count_) return model.fail("somebody who is not there is spoken to");
      model.push(across(self, member - 1U), {value, kind, static_cast<std::uint8_t>(word), Error::None, {}});
    }
    [[nodiscard]] std::uint64_t load(MemberWord word) const {
      return model.state_.members[self].words[static_cast<std::size_t>(word)];
    }
    void store(MemberWord word, std::uint64_t value) const {
      if (model.fault_ == Fault::NoPrologue) return;
      model.state_.members[self].words[static_cast<std::size_t>(word)] = value;
    }
    [[nodiscard]] bool take_event() const {
      std::uint32_t& events = model.state_.members[self].events;
      if (events == 0) return false;
      --events;
      return true;
    }
    [[nodiscard]] bool is_home() const { return model.fault_ == Fault::HastyDeath; }
  };
  /// The same, for the rules as they are printed.
  struct PrintedWire : Wire {
    static constexpr SyncRules kRules = SyncRules::AsPrinted;
  };
  template <class Do>
  void with_wire(std::size_t self, const Do& act) {
    if (fault_ == Fault::RulesAsPrinted) {
      PrintedWire wire{{*this, self}};
      act(wire);
    } else {
      Wire wire{*this, self};
      act(wire);
    }
  }

  static constexpr std::uint32_t channel_bit(std::size_t channel) {
    static_assert(kMaxMembers + kChannels <= 32);
    return std::uint32_t{1} << (kMaxMembers + channel);
  }
  static constexpr std::size_t to_home(std::size_t self) { return self; }
  static constexpr std::size_t from_home(std::size_t self) { return kMaxMembers + self; }
  static constexpr std::size_t across(std::size_t from, std::size_t to) {
    return 2 * kMaxMembers + from * kMaxMembers + to;
  }
  static constexpr std::size_t back(std::size_t from, std::size_t to) {
    return 2 * kMaxMembers + kMaxMembers * kMaxMembers + from * kMaxMembers + to;
  }
  static constexpr std::size_t kNobody = ~std::size_t{0};
  [[nodiscard]] static constexpr std::size_t sender_of(std::size_t channel) {
    if (channel < kMaxMembers) return channel;
    if (channel < 2 * kMaxMembers) return kNobody;
    const std::size_t pair = channel - 2 * kMaxMembers;
    return pair < kMaxMembers * kMaxMembers ? pair / kMaxMembers : kNobody;
  }

  void fail(const char* what) {
    if (failure_.empty()) failure_ = what;
  }
  void push(std::size_t channel, const Message& message) {
    Channel& into = state_.channels[channel];
    ready_ |= channel_bit(channel);
    if (into.size == kDepth) return fail("more messages than the model has room for");
    into.messages[into.size++] = message;
  }

  [[nodiscard]] bool can_be_impatient(std::size_t who) const {
    const auto state = state_.members[who].core.state();
    return state == Core::State::Waiting || state == Core::State::AwaitingNext;
  }
  void impatient(std::size_t who) {
    with_wire(who, [&](auto& wire) { state_.members[who].core.grow_impatient(wire); });
  }

  bool lose(std::size_t who) {
    using CoreState = typename Core::State;
    Member& member = state_.members[who];
    const CoreState state = member.core.state();
    const bool waits_for_one =
        state != CoreState::Idle && state != CoreState::Waiting && state != CoreState::AwaitingNext && state != held();
    if (state_.losses == 0 || member.is_dead != 0 || !waits_for_one) return false;
    --state_.losses;
    bool is_across = false;
    if constexpr (kIsLock) {
      is_across = state == CoreState::Probing;
    } else {
      is_across = state == CoreState::Telling;
      // A signal that the home has not seen yet may wake a member all the same.
      if (state == CoreState::Signalling && state_.channels[to_home(who)].size != 0) ++state_.wakings;
    }
    if (!is_across) {
      ++state_.ignored_home[who];
    } else {
      for (std::size_t other = 0; other < count_; ++other) {
        const Channel& there = state_.channels[across(who, other)];
        const bool is_asked = std::any_of(there.messages.begin(), there.messages.begin() + there.size,
                                          [](const Message& message) { return message.kind >= kTellSurely; });
        if (is_asked || state_.channels[back(other, who)].size > state_.ignored_across[other * kMaxMembers + who]) {
          ++state_.ignored_across[other * kMaxMembers + who];
          break;
        }
      }
    }
    with_wire(who, [&](auto& wire) { member.core.answer_lost(wire); });
    note_progress(who);
    return true;
  }
  bool leave(std::size_t who) {
    Member& member = state_.members[who];
    if (state_.leaves == 0 || member.is_dead != 0 || !member.core.is_waiting()) return false;
    --state_.leaves;
    member.has_left = 1;
    state_.is_disturbed = 1;
    with_wire(who, [&](auto& wire) { member.core.leave(wire); });
    return true;
  }

  /// It looks at its words, and goes on in its script.
  bool go_on(std::size_t who) {
    Member& member = state_.members[who];
    const Core before = member.core;
    const std::uint32_t events = member.events;
    with_wire(who, [&](auto& wire) { member.core.poll(wire); });
    note_progress(who);
    // Its bytes, as the search of the states compares them.
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c)
    const bool has_polled = std::memcmp(&before, &member.core, sizeof(Core)) != 0 || events != member.events;
    const std::string& script = scenario_->scripts[who];
    const bool is_free = member.core.state() == Core::State::Idle || member.core.state() == held();
    if (!is_free || member.at == script.size()) return has_polled;
    member.is_busy = 1;
    const char step = script[member.at++];
    with_wire(who, [&](auto& wire) {
      if constexpr (kIsLock) {
        if (step == 'a') {
          member.core.acquire(wire);
        } else if (member.core.state() == Core::State::Held) {
          member.core.release(wire);
        }
      } else {
        step == 'w' ? member.core.wait(wire) : member.core.signal(wire);
      }
    });
    note_progress(who);
    return true;
  }
  static constexpr typename Core::State held() {
    if constexpr (kIsLock) return Core::State::Held;
    return Core::State::Idle;
  }

  void note_progress(std::size_t who) {
    Member& member = state_.members[who];
    if (member.is_busy == 0) return;
    const char step = scenario_->scripts[who][member.at - 1U];
    if constexpr (kIsLock) {
      if (step == 'a' && member.has_left != 0 && member.core.state() == Core::State::Idle) {
        member.is_busy = member.has_left = 0;
      } else if (step == 'a' && member.core.state() == Core::State::Held) {
        member.is_busy = 0;
        for (std::size_t i = 0; i < count_; ++i) {
          const Member& other = state_.members[i];
          if (i != who && other.is_dead == 0 && other.core.is_held()) fail("two hold the lock");
        }
        if (state_.is_disturbed == 0 && state_.order[state_.went % 8U] != who) fail("somebody is overtaken");
        ++state_.went;
      } else if (step == 'r' && member.core.state() == Core::State::Idle) {
        member.is_busy = 0;
      }
    } else if (member.core.is_idle()) {
      member.is_busy = 0;
      if (std::exchange(member.has_left, std::uint8_t{0}) != 0) return;
      if (step != 'w' || member.core.was_broken() || member.core.error() != Error::None) return;
      ++state_.waits;
      if (state_.waits > scenario_->count + state_.wakings) fail("more are woken than were signalled");
    }
  }

  bool deliver(std::size_t index) {
    Channel& channel = state_.channels[index];
    if (channel.size == 0) return false;
    const Message message = channel.messages[0];
    std::memmove(&channel.messages[0], &channel.messages[1], (kDepth - 1) * sizeof(Message));
    channel.messages[kDepth - 1] = {};
    if (--channel.size == 0) ready_ &= ~channel_bit(index);
    if (index < kMaxMembers) {
      serve(index, message);
    } else if (index < 2 * kMaxMembers) {
      std::uint8_t& ignored = state_.ignored_home[index - kMaxMembers];
      ignored != 0 ? static_cast<void>(--ignored) : take_answer(index - kMaxMembers, message);
    } else if (index < 2 * kMaxMembers + kMaxMembers * kMaxMembers) {
      const std::size_t pair = index - 2 * kMaxMembers;
      arrive(pair / kMaxMembers, pair % kMaxMembers, message);
    } else {
      const std::size_t pair = index - 2 * kMaxMembers - kMaxMembers * kMaxMembers;
      std::uint8_t& ignored = state_.ignored_across[pair];
      ignored != 0 ? static_cast<void>(--ignored) : take_answer(pair % kMaxMembers, message);
    }
    return true;
  }
  void serve(std::size_t from, const Message& message) {
    auto request = std::bit_cast<SyncRequest>(message.value);
    const SyncState before = to_state(state_.word);
    if (fault_ == Fault::OldNext && request.step == SyncStep::Release) request.epoch = before.epoch;
    const SyncRules rules = fault_ == Fault::RulesAsPrinted ? SyncRules::AsPrinted : SyncRules::Sound;
    const SyncChange change = make_step(before, request, rules);
    const bool is_refused = change.outcome == SyncOutcome::Refused;
    if (is_refused) fail("a step is refused");
    if (change.outcome == SyncOutcome::Broken) {
      state_.is_disturbed = 1;
      if (scenario_->deaths == 0 && scenario_->hastes == 0 && scenario_->losses == 0 && scenario_->leaves == 0)
        fail("broken although nobody died");
    }
    if (request.step == SyncStep::Acquire) state_.order[state_.came++ % 8U] = static_cast<std::uint8_t>(from);
    if constexpr (!kIsLock) {
      // A wake-up that a member passes on was counted before.
      const bool is_new = state_.members[from].core.state() == Core::State::Signalling;
      const bool is_signal = request.step == SyncStep::SemaphoreV || request.step == SyncStep::Dequeue;
      if (is_signal && is_new && change.outcome != SyncOutcome::Empty) ++state_.wakings;
    }
    const Message answer{state_.word, kChange, 0, is_refused ? Error::Command : Error::None, {}};
    state_.word = to_word(change.after);
    push(from_home(from), answer);
  }
  void arrive(std::size_t from, std::size_t to, const Message& message) {
    ready_ |= std::uint32_t{1} << to;
    Member& member = state_.members[to];
    if (member.is_dead == 0 && message.kind != kProbe) {
      const bool is_grant = message.word != static_cast<std::uint8_t>(MemberWord::Next);
      if (fault_ == Fault::EventBeforeWord && is_grant) {
        ++member.events;
        go_on(to);
        member.words[message.word] = message.value;
      } else {
        std::uint64_t value = message.value;
        if constexpr (kIsLock) {
          if (fault_ == Fault::AnyGrant && is_grant) {
            auto grant = std::bit_cast<SyncGrant>(value);
            grant.serial = member.core.serial();
            value = std::bit_cast<std::uint64_t>(grant);
          }
        }
        member.words[message.word] = value;
        if (is_grant) ++member.events;
      }
    }
    if (message.kind == kTell) return;
    const bool is_out_of_reach = fault_ == Fault::HastyDeath && message.kind == kProbe;
    const Error error = member.is_dead != 0 ? Error::TargetVpid : is_out_of_reach ? Error::RouteBroken : Error::None;
    push(back(to, from), {0, message.kind, 0, error, {}});
  }
  void take_answer(std::size_t who, const Message& message) {
    if (state_.members[who].is_dead != 0) return;
    ready_ |= std::uint32_t{1} << who;
    with_wire(who, [&](auto& wire) { state_.members[who].core.answer(wire, {message.error, message.value}); });
    note_progress(who);
  }

  void settle() {
    find_ready();
    while (ready_ != 0 && failure_.empty()) go_on_at(static_cast<std::size_t>(std::countr_zero(ready_)));
  }
  [[nodiscard]] bool is_done() const {
    for (std::size_t i = 0; i < count_; ++i) {
      const Member& member = state_.members[i];
      if (member.is_dead == 0 && (member.is_busy != 0 || member.at != scenario_->scripts[i].size())) return false;
    }
    return true;
  }
  /// All that can be done without help has been done.
  void check_rest() {
    const SyncState word = to_state(state_.word);
    if (state_.is_disturbed != 0) return;
    if (word.pending != 0 && word.waiting <= word.pending) fail("a wake-up is left over in an empty queue");
    if (scenario_->is_semaphore && word.count != 0) fail("somebody waits although the semaphore is positive");
  }
  void check_end() {
    if constexpr (kIsLock) return;
    check_rest_of_end();
  }
  void check_rest_of_end() {
    const SyncState word = to_state(state_.word);
    if (state_.is_disturbed == 0 && (word.waiting != 0 || word.pending != 0)) fail("the queue is not empty at its end");
    if (!scenario_->is_semaphore || scenario_->deaths != 0 || scenario_->losses != 0) return;
    std::uint64_t left = word.count;
    for (std::size_t i = 0; i < count_; ++i) left += state_.members[i].events;
    if (left + state_.waits != scenario_->count + state_.wakings) fail("a count was lost or made up");
  }
  /// One signal of another member, whose messages all arrive.
  void signal_from_outside() {
    const SyncRules rules = fault_ == Fault::RulesAsPrinted ? SyncRules::AsPrinted : SyncRules::Sound;
    const SyncRequest request{scenario_->is_semaphore ? SyncStep::SemaphoreV : SyncStep::Dequeue, 0, 0, 0, 0, 0};
    const SyncChange change = make_step(to_state(state_.word), request, rules);
    state_.word = to_word(change.after);
    if (change.outcome != SyncOutcome::Empty) ++state_.wakings;
    if (change.outcome != SyncOutcome::Woken) return;
    Member& member = state_.members[change.member - 1U];
    if (member.is_dead != 0) {
      const SyncRequest tear{SyncStep::BreakQueue, 0, 0, 0, change.after.epoch, 0};
      state_.word = to_word(make_step(change.after, tear).after);
      --state_.wakings;
      return signal_from_outside();
    }
    const SyncGrant grant{1, change.waiting, change.after.epoch, 0};
    member.words[static_cast<std::size_t>(grant_word(grant.epoch))] = std::bit_cast<std::uint64_t>(grant);
    ++member.events;
  }

  const Scenario* scenario_;
  Fault fault_;
  std::size_t count_ = 0;
  std::uint32_t ready_ = 0;
  State state_;
  std::string failure_;
};

/// Visits every state that can be reached. Ends are states in which nothing was under way any more.
template <class Core>
Findings explore(const Scenario& scenario, Fault fault = Fault::None) {
  using Machine = Model<Core>;
  using State = typename Machine::State;
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) % 8 == 0);
  Findings result;
  Machine machine(scenario, fault);
  model_check::Search<State> search;
  const auto add = [&] { search.add(std::as_bytes(std::span(&machine.state(), 1)), machine.state()); };
  add();
  for (State state; machine.failure().empty() && search.next(state);) {
    machine.state() = state;
    if (machine.is_quiet()) {
      ++result.ends;
      machine.close();
    }
    for (std::size_t action = 0; action < machine.actions() && machine.failure().empty(); ++action) {
      machine.state() = state;
      if (machine.apply(action) && machine.failure().empty()) add();
    }
  }
  result.states = search.visited();
  result.failure = machine.failure();
  return result;
}

/// Takes random schedules, which are counted as states.
template <class Core>
Findings wander(const Scenario& scenario, std::uint64_t seed, std::uint64_t schedules, Fault fault = Fault::None) {
  Findings result;
  std::mt19937_64 random(seed);
  const std::size_t members = scenario.scripts.size();
  const Model<Core> begin(scenario, fault);
  Model<Core> machine = begin;
  while (result.states < schedules && result.failure.empty()) {
    machine.state() = begin.state();
    machine.find_ready();
    while (machine.ready() != 0 && machine.failure().empty()) {
      const std::uint64_t number = random();
      if (number % 32 == 0) {  // now and then a member dies or is impatient, if that is allowed
        (void)machine.apply(members + (number >> 32U) * 3 * members / (std::uint64_t{1} << 32U));
        continue;
      }
      std::uint32_t ready = machine.ready();
      const auto ways = static_cast<std::uint64_t>(std::popcount(ready));
      for (std::uint64_t skip = (number >> 32U) * ways >> 32U; skip != 0; --skip) ready &= ready - 1;
      machine.go_on_at(static_cast<std::size_t>(std::countr_zero(ready)));
    }
    machine.close();
    ++result.states;
    ++result.ends;
    result.failure = machine.failure();
  }
  return result;
}

}  // namespace stopbit::nic::sync_model
