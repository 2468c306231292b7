#pragma once

#include <bit>
#include <cstdint>

/// What a lock, a wait queue or a semaphore is: one 64-bit word of a window at its home, and the steps that change it.
/// The home's node makes a step in one piece (Operation::Synchronize) and gives back what the word was before; the
/// asker makes the same step with that and so knows everything.
///
/// The steps are those of network virtual memory (8.2 to 8.4), whose wait queue and semaphore lose wake-ups as printed;
/// the corrections are marked. New here: the epoch, which distinguishes a broken queue from the one before, and the
/// holder of a lock, without which its death could not be noticed.
namespace stopbit::nic {

/// Number of a member: 1 to 255, 0 is none. A member is one thread that may wait.
using MemberId = std::uint8_t;

/// The word, field by field.
struct SyncState {
  std::uint16_t epoch = 0;   ///< How often it was broken.
  MemberId head = 0;         ///< Lock: the holder. Queue: the next to be woken; 0 while that is unknown.
  MemberId tail = 0;         ///< The newest member.
  std::uint8_t waiting = 0;  ///< Queue: members in it, those included who are owed a wake-up.
  std::uint8_t pending = 0;  ///< Queue: wake-ups that wait for a head.
  std::uint16_t count = 0;   ///< Semaphore.
  friend constexpr bool operator==(const SyncState&, const SyncState&) = default;
};
static_assert(sizeof(SyncState) == sizeof(std::uint64_t));

[[nodiscard]] constexpr std::uint64_t to_word(const SyncState& state) noexcept {
  return std::bit_cast<std::uint64_t>(state);
}
[[nodiscard]] constexpr SyncState to_state(std::uint64_t word) noexcept {
  return std::bit_cast<SyncState>(word);
}

/// A semaphore may not count higher, so that the wake-ups of a broken queue always have room.
inline constexpr std::uint16_t kMaxCount = 65'000;

enum class SyncStep : std::uint8_t {
  Look = 0,        ///< Changes nothing.
  Acquire = 1,     ///< Lock: `member` gets it, or queues after the tail.
  Release = 2,     ///< Lock, by its holder: `other` is the next member, 0 if that is unknown.
  BreakLock = 3,   ///< Lock, if `member` holds it: free, all members queue again.
  Enqueue = 4,     ///< Queue: `member` becomes the last.
  Dequeue = 5,     ///< Queue: the first one leaves, if there is one.
  NewHead = 6,     ///< Queue, by a member that has left: `other` is the first one now.
  SemaphoreP = 7,  ///< Counts down, or enqueues `member`.
  SemaphoreV = 8,  ///< Dequeues, or counts up.
  BreakQueue = 9,  ///< Queue, semaphore: empty, all members queue again; pending wake-ups are counted.
  Disband = 10,    ///< Lock, if it is held, and not by `member`: the holder keeps it, all who wait queue again.
};
[[nodiscard]] const char* to_text(SyncStep step) noexcept;

/// What a member asks for: the operand of Operation::Synchronize.
struct SyncRequest {
  SyncStep step = SyncStep::Look;
  MemberId member = 0;
  MemberId other = 0;
  std::uint8_t reserved = 0;
  std::uint16_t epoch =
      0;  ///< NewHead, BreakLock, BreakQueue, Disband: only if it is still this one. Release: of `other`.
  std::uint16_t more_reserved = 0;
  friend constexpr bool operator==(const SyncRequest&, const SyncRequest&) = default;
};
static_assert(sizeof(SyncRequest) == sizeof(std::uint64_t));

enum class SyncOutcome : std::uint8_t {
  Seen,         ///< Look.
  Granted,      ///< The lock is held; the semaphore was counted down.
  Behind,       ///< The asker waits after `member`; first in line if that is 0.
  Freed,        ///< The lock is free.
  Passed,       ///< `member` holds the lock now, and must be woken.
  NextMissing,  ///< A member queued after the holder has not said so yet: repeat when it has.
  Woken,        ///< `member` has left the queue and must be woken; `waiting` follow it.
  Banked,       ///< A wake-up waits for the next head.
  Empty,        ///< The queue is empty: nothing happened.
  Counted,      ///< The semaphore was counted up.
  Headed,       ///< There is a head again.
  Broken,       ///< A new epoch has begun.
  Stale,        ///< The epoch, or the holder, is another one by now: nothing happened.
  Refused,      ///< No step, no member, or no room: nothing happened.
};

struct SyncChange {
  SyncState after;
  SyncOutcome outcome = SyncOutcome::Refused;
  MemberId member = 0;
  std::uint8_t waiting = 0;
};

/// How the steps are made. `AsPrinted` has the fault of the source: it takes a queue for occupied whose members are all
/// owed a wake-up already. Only tests ask for it.
enum class SyncRules : std::uint8_t { Sound, AsPrinted };

namespace detail {

constexpr SyncChange enqueue(SyncState state, MemberId member) noexcept {
  if (state.waiting == 0xFF) return {state, SyncOutcome::Refused};
  ++state.waiting;
  if (state.waiting == 1) {
    state.head = state.tail = member;
    return {state, SyncOutcome::Behind, 0};
  }
  const MemberId before = state.tail;
  state.tail = member;
  return {state, SyncOutcome::Behind, before};
}

constexpr bool has_waiter(const SyncState& state, SyncRules rules) noexcept {
  // Correction: members to whom a wake-up is owed wait no more.
  return rules == SyncRules::AsPrinted ? state.waiting != 0 : state.waiting > state.pending;
}

constexpr SyncChange dequeue(SyncState state) noexcept {
  if (state.head == 0) {
    ++state.pending;
    return {state, SyncOutcome::Banked};
  }
  --state.waiting;
  const MemberId woken = state.head;
  state.head = 0;
  return {state, SyncOutcome::Woken, woken, state.waiting};
}

}  // namespace detail

/// Makes the step. The word may hold anything, and so may the request.
[[nodiscard]] constexpr SyncChange make_step(const SyncState& before, const SyncRequest& request,
                                             SyncRules rules = SyncRules::Sound) noexcept {
  SyncState state = before;
  const auto refuse = [&](SyncOutcome why) { return SyncChange{before, why}; };
  switch (request.step) {
    case SyncStep::Look: return refuse(SyncOutcome::Seen);
    case SyncStep::Acquire: {
      if (request.member == 0 || request.member == state.head || request.member == state.tail) break;
      const MemberId before_me = state.tail;
      state.tail = request.member;
      if (before_me != 0) return {state, SyncOutcome::Behind, before_me};
      state.head = request.member;
      return {state, SyncOutcome::Granted};
    }
    case SyncStep::Release:
      if (request.member == 0) break;
      if (request.member != state.head) return refuse(SyncOutcome::Stale);
      if (state.tail == request.member) {
        state.head = state.tail = 0;
        return {state, SyncOutcome::Freed};
      }
      // The member after it before the queue was disbanded may be elsewhere by now.
      if (request.other == 0 || request.epoch != state.epoch) return refuse(SyncOutcome::NextMissing);
      state.head = request.other;
      return {state, SyncOutcome::Passed, request.other};
    case SyncStep::BreakLock:
      if (request.member == 0) break;
      if (request.epoch != state.epoch || request.member != state.head) return refuse(SyncOutcome::Stale);
      ++state.epoch;
      state.head = state.tail = 0;
      return {state, SyncOutcome::Broken};
    case SyncStep::Enqueue:
      if (request.member == 0) break;
      return detail::enqueue(state, request.member);
    case SyncStep::Dequeue:
      if (!detail::has_waiter(state, rules)) return refuse(SyncOutcome::Empty);
      return detail::dequeue(state);
    case SyncStep::NewHead:
      if (request.other == 0) break;
      if (request.epoch != state.epoch) return refuse(SyncOutcome::Stale);
      if (state.pending == 0 || state.waiting == 0) {
        state.head = request.other;
        return {state, SyncOutcome::Headed};
      }
      --state.pending;
      --state.waiting;
      return {state, SyncOutcome::Woken, request.other, state.waiting};
    case SyncStep::SemaphoreP:
      if (request.member == 0) break;
      if (state.count == 0) return detail::enqueue(state, request.member);
      --state.count;
      return {state, SyncOutcome::Granted};
    case SyncStep::SemaphoreV:
      if (detail::has_waiter(state, rules)) return detail::dequeue(state);
      if (state.count >= kMaxCount) break;
      ++state.count;
      return {state, SyncOutcome::Counted};
    case SyncStep::BreakQueue:
      if (request.epoch != state.epoch) return refuse(SyncOutcome::Stale);
      ++state.epoch;
      state.count = static_cast<std::uint16_t>(state.count + state.pending);
      state.head = state.tail = 0;
      state.waiting = state.pending = 0;
      return {state, SyncOutcome::Broken};
    case SyncStep::Disband:
      if (request.member == 0) break;
      if (request.epoch != state.epoch || state.head == 0 || state.head == request.member) {
        return refuse(SyncOutcome::Stale);
      }
      ++state.epoch;
      state.tail = state.head;
      return {state, SyncOutcome::Broken};
  }
  return refuse(SyncOutcome::Refused);
}

}  // namespace stopbit::nic
