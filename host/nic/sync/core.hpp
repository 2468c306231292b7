#pragma once

#include <bit>
#include <cstdint>

#include "host/nic/error.hpp"
#include "host/nic/sync/word.hpp"

/// What one member does at a lock, a wait queue or a semaphore: state machines that never wait. Templates over the
/// wire, so that the code that runs is the code that is model-checked.
///
/// `Wire` has
///   change(SyncRequest)              asks the home; answered,
///   tell(MemberId, Word, uint64)     writes a word of another member, and for a grant signals its event afterwards,
///   tell_surely(MemberId, Word, uint64)  the same; answered,
///   probe(MemberId)                  asks whether a member is still alive; answered,
///   load(Word), store(Word, uint64)  a word of one's own,
///   take_event()                     takes one occurrence of one's own event, if there is one,
///   is_home()                        whether the home is at the own node,
///   kRules                           SyncRules::Sound.
/// "Answered": `answer` is called, later, once. There is one such command at a time.
namespace stopbit::nic {

/// The words of a member at an object, in its own memory, in a window of its own.
enum class MemberWord : std::uint8_t {
  Next = 0,       ///< Written by the member queued after it: a SyncLink.
  EvenGrant = 1,  ///< Written by the member that wakes it: a SyncGrant, of an even epoch,
  OddGrant = 2,   ///< or an odd one; so a late one does not cover that of the next epoch.
};
inline constexpr std::size_t kMemberWords = 3;

/// The member queued after another.
struct SyncLink {
  MemberId member = 0;
  std::uint8_t reserved = 0;
  std::uint16_t epoch = 0;
  std::uint32_t serial = 0;  ///< Lock: which of its attempts.
};
/// That a member has been woken.
struct SyncGrant {
  std::uint8_t is_there = 0;
  std::uint8_t waiting = 0;  ///< Queue: members queued after it.
  std::uint16_t epoch = 0;
  std::uint32_t serial = 0;  ///< Lock: as its link said.
};
static_assert(sizeof(SyncLink) == sizeof(std::uint64_t) && sizeof(SyncGrant) == sizeof(std::uint64_t));

[[nodiscard]] constexpr MemberWord grant_word(std::uint16_t epoch) noexcept {
  return epoch % 2 == 0 ? MemberWord::EvenGrant : MemberWord::OddGrant;
}

/// The result of a command.
struct SyncAnswer {
  Error error = Error::None;
  std::uint64_t word = 0;  ///< Of a change: the word before it.
};

/// The member is certainly gone: its node says that it knows neither port nor window.
[[nodiscard]] constexpr bool is_gone(Error error) noexcept {
  return error == Error::TargetVpid || error == Error::TargetWindowId || error == Error::Capability ||
         error == Error::TargetTranslation;
}

/// One member at a lock (8.2). Granted in the order in which the home saw the attempts, as long as no member dies.
///
/// A waiting member finds a holder that died: in `grow_impatient` it asks the home who holds the lock, and that
/// holder's node whether it is alive. Then the lock is broken, once: it begins a new epoch, free, and all waiting
/// members queue again, as soon as they grow impatient, in any order. A holder that is alive is never overtaken, unless
/// the owner breaks the lock; it learns that at its release.
class LockCore {
 public:
  enum class State : std::uint8_t {
    Idle,
    Asking,    ///< Acquire is under way.
    Waiting,   ///< In the queue.
    Looking,   ///< The same; Look is under way,
    Probing,   ///< or a probe of the holder,
    Breaking,  ///< or BreakLock.
    Held,
    Releasing,     ///< Release is under way.
    AwaitingNext,  ///< A member queued after it has not said so yet.
    BreakingOwn,   ///< It never did: so all queue again.
    Leaving,       ///< Disband is under way, so as to be in the queue no more.
    Recovering,    ///< An answer was lost: Look is under way,
    Disbanding,    ///< or Disband, so as to be certainly in no queue.
  };

  explicit constexpr LockCore(MemberId self = 0) noexcept : self_(self) {}

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool is_held() const noexcept { return state_ == State::Held; }
  /// Only another member can end this state.
  [[nodiscard]] bool is_waiting() const noexcept { return state_ == State::Waiting; }
  /// Why the last attempt or release did not work: what the home's node said.
  [[nodiscard]] Error error() const noexcept { return error_; }
  /// The lock had been broken before the last release.
  [[nodiscard]] bool was_broken() const noexcept { return was_broken_; }
  /// Number of its last attempt.
  [[nodiscard]] std::uint32_t serial() const noexcept { return serial_; }
  /// Rises whenever the lock changes hands by being broken: for those who write what it guards.
  [[nodiscard]] std::uint16_t epoch() const noexcept { return epoch_; }

  /// Only when Idle.
  template <class Wire>
  void acquire(Wire& wire) {
    error_ = Error::None;
    was_broken_ = false;
    ask(wire);
  }
  /// Only when Held.
  template <class Wire>
  void release(Wire& wire) {
    state_ = State::Releasing;
    const SyncLink next = std::bit_cast<SyncLink>(wire.load(MemberWord::Next));
    next_ = next.epoch == epoch_ ? next : SyncLink{};
    wire.change({SyncStep::Release, self_, next_.member, 0, epoch_, 0});
  }
  /// Only when Waiting: leaves the queue before its turn. The others who wait queue again, as soon as they grow
  /// impatient, in any order. Idle at the end; if it was its turn already, the lock has been given back.
  template <class Wire>
  void leave(Wire& wire) {
    state_ = State::Leaving;
    wire.change({SyncStep::Disband, self_, 0, 0, epoch_, 0});
  }
  /// The expected answer will not come, or must not be taken any more. The command may have been carried out.
  template <class Wire>
  void answer_lost(Wire& wire) {
    switch (state_) {
      case State::Looking:
      case State::Probing:
      case State::Breaking: state_ = State::Waiting; return;  // it looks again
      case State::Asking: purpose_ = Purpose::Acquire; break;
      case State::Leaving: purpose_ = Purpose::Leave; break;
      case State::Releasing:
      case State::BreakingOwn: purpose_ = Purpose::Release; break;
      case State::Recovering:
      case State::Disbanding: break;
      default: return;  // it waits for none
    }
    // After the command: the word shows its result.
    state_ = State::Recovering;
    wire.change({SyncStep::Look, 0, 0, 0, 0, 0});
  }
  /// Looks at its own words.
  template <class Wire>
  void poll(Wire& wire) {
    if (state_ == State::Waiting) {
      const SyncGrant grant = std::bit_cast<SyncGrant>(wire.load(grant_word(epoch_)));
      if (grant.is_there != 0 && grant.epoch == epoch_ && grant.serial == serial_) state_ = State::Held;
    } else if (state_ == State::AwaitingNext) {
      const SyncLink next = std::bit_cast<SyncLink>(wire.load(MemberWord::Next));
      if (next.member != 0 && next.epoch == epoch_) release(wire);
    }
    // The event only says that it is worth looking.
    if (state_ == State::Idle || state_ == State::Waiting || state_ == State::Held) {
      while (wire.take_event()) {
      }
    }
  }
  /// To be called now and then while it waits.
  template <class Wire>
  void grow_impatient(Wire& wire) {
    if (state_ == State::Waiting) {
      state_ = State::Looking;
      wire.change({SyncStep::Look, 0, 0, 0, 0, 0});
    } else if (state_ == State::AwaitingNext && ++looks_ >= kPatience) {
      state_ = State::BreakingOwn;
      wire.change({SyncStep::BreakLock, self_, 0, 0, epoch_, 0});
    }
  }
  template <class Wire>
  void answer(Wire& wire, const SyncAnswer& answer) {
    if (state_ == State::Probing) {
      // A lost route says nothing about a holder that the home can still reach.
      const bool is_dead = is_gone(answer.error) || (answer.error == Error::RouteBroken && wire.is_home());
      state_ = is_dead ? State::Breaking : State::Waiting;
      if (is_dead) wire.change({SyncStep::BreakLock, suspect_, 0, 0, epoch_, 0});
      return;
    }
    if (answer.error != Error::None) {
      error_ = answer.error;
      state_ = State::Idle;
      return;
    }
    const SyncState word = to_state(answer.word);
    switch (state_) {
      case State::Asking: take_asked(wire, word); break;
      case State::Looking: take_look(wire, word); break;
      case State::Breaking: {
        // Another member was faster, or the holder is alive after all: look again.
        state_ = State::Waiting;
        if (word.head == self_) {
          hold(word);
        } else if (word.epoch != epoch_ || word.head == suspect_) {
          ask(wire);
        }
        break;
      }
      case State::Releasing: take_released(wire, word); break;
      case State::BreakingOwn:
        if (word.head == self_ && word.epoch != epoch_) {  // disbanded meanwhile, and its own still
          hold(word);
          release(wire);
          break;
        }
        was_broken_ = word.epoch != epoch_;
        state_ = State::Idle;
        break;
      case State::Leaving: end_leave(wire, word); break;
      case State::Recovering: recover(wire, word); break;
      case State::Disbanding:
        // It came before the word was looked at, so it is in no queue now, whoever began the epoch.
        if (word.head == self_) {
          hold(word);
        } else {
          ask(wire);
        }
        break;
      default: break;
    }
  }

 private:
  static constexpr std::uint8_t kPatience = 2;

  template <class Wire>
  void ask(Wire& wire) {
    state_ = State::Asking;
    ++serial_;
    wire.store(MemberWord::Next, 0);
    wire.change({SyncStep::Acquire, self_, 0, 0, 0, 0});
  }
  template <class Wire>
  void take_asked(Wire& wire, const SyncState& word) {
    const SyncChange change = make_step(word, {SyncStep::Acquire, self_, 0, 0, 0, 0}, Wire::kRules);
    epoch_ = word.epoch;
    state_ = change.outcome == SyncOutcome::Granted ? State::Held : State::Waiting;
    if (state_ == State::Waiting) {
      wire.tell(change.member, MemberWord::Next, std::bit_cast<std::uint64_t>(SyncLink{self_, 0, epoch_, serial_}));
    }
  }
  template <class Wire>
  void take_look(Wire& wire, const SyncState& word) {
    state_ = State::Waiting;
    if (word.head == self_) {
      hold(word);  // the member that should have said so is dead, or slow
    } else if (word.epoch != epoch_) {
      ask(wire);
    } else if (word.head != 0) {
      state_ = State::Probing;
      suspect_ = word.head;
      wire.probe(suspect_);
    }
  }
  template <class Wire>
  void take_released(Wire& wire, const SyncState& word) {
    const SyncChange change = make_step(word, {SyncStep::Release, self_, next_.member, 0, epoch_, 0}, Wire::kRules);
    state_ = State::Idle;
    if (change.outcome == SyncOutcome::Passed) {
      wire.tell(next_.member, grant_word(epoch_), std::bit_cast<std::uint64_t>(SyncGrant{1, 0, epoch_, next_.serial}));
    } else if (change.outcome == SyncOutcome::NextMissing) {
      state_ = State::AwaitingNext;
      epoch_ = word.epoch;
      looks_ = 0;
    } else {
      was_broken_ = change.outcome == SyncOutcome::Stale;
    }
  }

  void hold(const SyncState& word) {
    epoch_ = word.epoch;
    state_ = State::Held;
  }
  template <class Wire>
  void end_leave(Wire& wire, const SyncState& word) {
    state_ = State::Idle;
    if (word.head != self_) return;
    hold(word);
    release(wire);
  }
  template <class Wire>
  void recover(Wire& wire, const SyncState& word) {
    if (purpose_ == Purpose::Leave) {
      // Still in the queue, perhaps.
      if (word.head == self_ || word.head == 0 || word.epoch != epoch_) return end_leave(wire, word);
      state_ = State::Leaving;
      wire.change({SyncStep::Disband, self_, 0, 0, epoch_, 0});
    } else if (purpose_ == Purpose::Acquire) {
      if (word.head == self_) return hold(word);
      if (word.head == 0) return ask(wire);
      state_ = State::Disbanding;
      wire.change({SyncStep::Disband, self_, 0, 0, word.epoch, 0});
    } else if (word.head == self_) {
      hold(word);
      release(wire);
    } else {
      state_ = State::Idle;
      if (next_.member == 0 || word.head != next_.member) return;
      wire.tell(next_.member, grant_word(epoch_), std::bit_cast<std::uint64_t>(SyncGrant{1, 0, epoch_, next_.serial}));
    }
  }

  enum class Purpose : std::uint8_t { Acquire, Release, Leave };

  MemberId self_;
  State state_ = State::Idle;
  Error error_ = Error::None;
  bool was_broken_ = false;
  std::uint8_t looks_ = 0;
  MemberId suspect_ = 0;
  Purpose purpose_ = Purpose::Acquire;  ///< Of what is recovered.
  std::uint16_t epoch_ = 0;
  std::uint32_t serial_ = 0;
  SyncLink next_;
};

/// One member at a wait queue (8.3) or a semaphore (8.4). Woken in the order in which the home saw them come, as long
/// as no member dies. Each wake-up is one event of the member, so none is lost or doubled, whatever else happens.
///
/// A death can tear a queue: a member was woken and did not say who is next, or it cannot be reached. The member that
/// finds this breaks the queue: waiting members leave it as soon as they grow impatient. At a semaphore they queue
/// again, and no count is lost; at a wait queue they are woken for nothing, and must check their condition again
/// anyhow. Lost: the wake-up of a member that dies between making it and reporting it.
class QueueCore {
 public:
  enum class State : std::uint8_t {
    Idle,
    Inserting,     ///< Enqueue or P is under way.
    Waiting,       ///< In the queue.
    Looking,       ///< The same; Look is under way,
    Breaking,      ///< or BreakQueue,
    Returning,     ///< or a V for a wake-up of an older epoch.
    AwaitingNext,  ///< Woken; the next member has not said so yet.
    Heading,       ///< NewHead is under way.
    Telling,       ///< Waking another member.
    Tearing,       ///< The next one died: BreakQueue is under way,
    Repeating,     ///< then a V for the one that it did not get.
    Signalling,    ///< Dequeue or V is under way.
    Leaving,       ///< BreakQueue is under way, so as to be in the queue no more.
    Recovering,    ///< An answer was lost: Look is under way, then BreakQueue.
  };

  explicit constexpr QueueCore(MemberId self = 0, bool is_semaphore = false) noexcept
      : self_(self), is_semaphore_(is_semaphore) {}

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool is_idle() const noexcept { return state_ == State::Idle; }
  /// Only another member can end this state.
  [[nodiscard]] bool is_waiting() const noexcept { return state_ == State::Waiting; }
  [[nodiscard]] Error error() const noexcept { return error_; }
  /// Queue: the last wait ended because the queue was broken.
  [[nodiscard]] bool was_broken() const noexcept { return was_broken_; }

  /// Only when Idle: joins the queue, or counts the semaphore down. When it is Idle again, it has been woken.
  template <class Wire>
  void wait(Wire& wire) {
    error_ = Error::None;
    was_broken_ = false;
    if (is_semaphore_ && wire.take_event()) return;  // of an older epoch: it counts
    if (!is_semaphore_) {
      while (wire.take_event()) {
      }
    }
    insert(wire);
  }
  /// Only when Idle: wakes the first one; at a semaphore counts up if there is none.
  template <class Wire>
  void signal(Wire& wire) {
    error_ = Error::None;
    was_broken_ = false;
    state_ = State::Signalling;
    then_ = State::Idle;
    wire.change(signal_request());
  }
  /// Only when Waiting in a queue that is no semaphore: leaves it before its turn. The others are woken for nothing, as
  /// soon as they grow impatient. Idle at the end. A member cannot leave a semaphore: a count may be on its way, which
  /// only the member that waited can take.
  template <class Wire>
  void leave(Wire& wire) {
    state_ = State::Leaving;
    wire.change({SyncStep::BreakQueue, 0, 0, 0, epoch_, 0});
  }
  /// The expected answer will not come, or must not be taken any more. The command may have been carried out: the queue
  /// is broken, so that no member waits for a lost wake-up, and the call ends with ERR_QUEUE_FULL. A semaphore may lose
  /// a count.
  template <class Wire>
  void answer_lost(Wire& wire) {
    switch (state_) {
      case State::Looking:
      case State::Breaking: state_ = State::Waiting; return;  // it looks again
      case State::Tearing: tear(wire, torn_epoch_, repeats_); return;
      case State::Telling:  // it was woken, or has died
        error_ = Error::Full;
        state_ = then_;
        return;
      case State::Returning: break;  // then it goes on waiting
      case State::Leaving: then_ = State::Idle; break;
      case State::Heading:
      case State::Inserting:
      case State::Repeating:
      case State::Signalling:
        if (state_ != State::Heading) error_ = Error::Full;  // that has been woken
        then_ = State::Idle;
        break;
      case State::Recovering: break;
      default: return;  // it waits for none
    }
    state_ = State::Recovering;
    wire.change({});
  }
  template <class Wire>
  void poll(Wire& wire) {
    if (state_ == State::Waiting && wire.take_event()) take_event(wire);
    if (state_ != State::AwaitingNext) return;
    next_ = std::bit_cast<SyncLink>(wire.load(MemberWord::Next));
    if (next_.member == 0 || next_.epoch != epoch_) return;
    state_ = State::Heading;
    then_ = State::Idle;
    wire.change(heading_request());
  }
  /// To be called now and then while it waits.
  template <class Wire>
  void grow_impatient(Wire& wire) {
    if (state_ == State::Waiting) {
      state_ = State::Looking;
      wire.change({});
    } else if (state_ == State::AwaitingNext && ++looks_ >= kPatience) {
      then_ = State::Idle;
      tear(wire, epoch_, false);
    }
  }
  template <class Wire>
  void answer(Wire& wire, const SyncAnswer& answer) {
    if (state_ == State::Telling) {
      state_ = then_;
      if (is_gone(answer.error)) {
        tear(wire, told_epoch_, is_semaphore_);
      } else {
        error_ = answer.error;  // a lost node got it, or not
      }
      return;
    }
    if (answer.error != Error::None) {
      error_ = answer.error;
      state_ = State::Idle;
      return;
    }
    const SyncState word = to_state(answer.word);
    switch (state_) {
      case State::Inserting: take_inserted(wire, word); break;
      case State::Looking: take_look(wire, word); break;
      case State::Breaking: leave_broken(wire); break;
      case State::Leaving: state_ = State::Idle; break;
      case State::Recovering: tear(wire, word.epoch, false); break;
      case State::Heading: take_wake_up(wire, make_step(word, heading_request(), Wire::kRules)); break;
      case State::Returning:
      case State::Repeating:
      case State::Signalling: take_wake_up(wire, make_step(word, signal_request(), Wire::kRules)); break;
      case State::Tearing:
        state_ = then_;
        if (repeats_) {
          state_ = State::Repeating;
          wire.change(signal_request());
        }
        break;
      default: break;
    }
  }

 private:
  static constexpr std::uint8_t kPatience = 2;

  [[nodiscard]] SyncRequest signal_request() const noexcept {
    return {is_semaphore_ ? SyncStep::SemaphoreV : SyncStep::Dequeue, self_, 0, 0, 0, 0};
  }
  [[nodiscard]] SyncRequest insert_request() const noexcept {
    return {is_semaphore_ ? SyncStep::SemaphoreP : SyncStep::Enqueue, self_, 0, 0, 0, 0};
  }
  [[nodiscard]] SyncRequest heading_request() const noexcept {
    return {SyncStep::NewHead, self_, next_.member, 0, epoch_, 0};
  }

  template <class Wire>
  void insert(Wire& wire) {
    state_ = State::Inserting;
    // The source leaves this out for the semaphore, whose second round then finds the words of the first.
    wire.store(MemberWord::Next, 0);
    wire.store(MemberWord::EvenGrant, 0);
    wire.store(MemberWord::OddGrant, 0);
    wire.change(insert_request());
  }
  template <class Wire>
  void take_inserted(Wire& wire, const SyncState& word) {
    const SyncChange change = make_step(word, insert_request(), Wire::kRules);
    epoch_ = word.epoch;
    has_looked_ = false;
    state_ = change.outcome == SyncOutcome::Granted ? State::Idle : State::Waiting;
    if (state_ == State::Waiting && change.member != 0) {
      wire.tell(change.member, MemberWord::Next, std::bit_cast<std::uint64_t>(SyncLink{self_, 0, epoch_, 0}));
    }
  }
  template <class Wire>
  void take_event(Wire& wire) {
    const SyncGrant grant = std::bit_cast<SyncGrant>(wire.load(grant_word(epoch_)));
    if (grant.is_there != 0 && grant.epoch == epoch_) {
      state_ = grant.waiting == 0 ? State::Idle : State::AwaitingNext;
      looks_ = 0;
    } else if (is_semaphore_) {
      // A wake-up of an older epoch: another member may have it.
      state_ = State::Returning;
      then_ = State::Waiting;
      wire.change(signal_request());
    }
  }
  template <class Wire>
  void take_look(Wire& wire, const SyncState& word) {
    state_ = State::Waiting;
    if (word.epoch != epoch_) return leave_broken(wire);
    // No member has become the head in all that time, though this one waits.
    const bool is_torn = word.head == 0 && has_looked_ && word == looked_;
    has_looked_ = true;
    looked_ = word;
    if (!is_torn) return;
    state_ = State::Breaking;
    wire.change({SyncStep::BreakQueue, 0, 0, 0, epoch_, 0});
  }
  template <class Wire>
  void leave_broken(Wire& wire) {
    was_broken_ = !is_semaphore_;
    state_ = State::Idle;
    if (is_semaphore_ && !wire.take_event()) insert(wire);
  }
  /// The result of a wake-up, one's own or one that was owed.
  template <class Wire>
  void take_wake_up(Wire& wire, const SyncChange& change) {
    state_ = then_;
    if (change.outcome != SyncOutcome::Woken) return;
    state_ = State::Telling;
    told_epoch_ = change.after.epoch;
    const SyncGrant grant{1, change.waiting, told_epoch_, 0};
    wire.tell_surely(change.member, grant_word(told_epoch_), std::bit_cast<std::uint64_t>(grant));
  }
  template <class Wire>
  void tear(Wire& wire, std::uint16_t epoch, bool repeats) {
    state_ = State::Tearing;
    repeats_ = repeats;
    torn_epoch_ = epoch;
    wire.change({SyncStep::BreakQueue, 0, 0, 0, epoch, 0});
  }

  MemberId self_;
  bool is_semaphore_;
  State state_ = State::Idle;
  State then_ = State::Idle;  ///< When the telling is done.
  Error error_ = Error::None;
  bool was_broken_ = false;
  bool repeats_ = false;
  bool has_looked_ = false;
  std::uint8_t looks_ = 0;
  std::uint16_t epoch_ = 0;
  std::uint16_t told_epoch_ = 0;
  std::uint16_t torn_epoch_ = 0;
  SyncState looked_;  ///< At the last look.
  SyncLink next_;
};

}  // namespace stopbit::nic
