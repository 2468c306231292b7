#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/nic/notify/events.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "host/nic/sync/core.hpp"

/// Locks, wait queues, semaphores and monitors between ports of one host or of several. README.md says how they work.
namespace stopbit::nic {

/// Words in a window that others may read and write.
struct SyncPlace {
  NodeId node = 0;
  Vpid vpid = 0;
  WindowName window;
  std::uint64_t offset = 0;  ///< A multiple of 8.
};

/// One thread that may wait at an object.
struct SyncMember {
  SyncPlace words;         ///< Its kMemberWords words.
  std::uint8_t event = 0;  ///< Of its port, 1 to 63, and used for nothing else.
};

/// A lock, a queue or a semaphore, as all its members must know it. At most 255 members; number 1 is the first.
struct SyncObject {
  SyncPlace home;  ///< Its word (sync/word.hpp): 0, or to_word of a count, before its first use.
  std::vector<SyncMember> members;
};

class SyncUser;

/// What one thread needs of its port: where its commands go, and what comes back. It reads the port's notifications, so
/// a port has one of these, or its owner hands over what it read itself (`take`).
class SyncPort {
 public:
  SyncPort(NodeId node, const CommandQueue& queue, NotificationReader& notifications, EventCounters& events) noexcept
      : node_(node), queue_(queue), notifications_(notifications), events_(events) {}
  SyncPort(const SyncPort&) = delete;
  SyncPort& operator=(const SyncPort&) = delete;

  /// Reads notifications, and hands on those that are for a user of it.
  void pump() noexcept;
  /// False: it is not about a command of these users.
  bool take(const Notification& notification) noexcept;
  /// Notifications that were about something else, and are forgotten.
  [[nodiscard]] std::uint64_t foreign() const noexcept { return foreign_; }

 private:
  friend class SyncWire;
  friend class SyncUser;
  NodeId node_;
  CommandQueue queue_;
  NotificationReader& notifications_;
  EventCounters& events_;
  std::vector<SyncUser*> users_;
  std::uint64_t foreign_ = 0;
};

/// The wire of a core (core.hpp): commands of the port, words of its memory. A command that finds no room in the port's
/// ring waits here; there are never more than a few.
class SyncWire {
 public:
  static constexpr SyncRules kRules = SyncRules::Sound;

  SyncWire(SyncPort& port, const SyncObject& object, MemberId self, std::span<std::uint64_t, kMemberWords> words,
           std::size_t index) noexcept
      : port_(port), object_(object), self_(self), words_(words), index_(index) {}

  void change(const SyncRequest& request) noexcept;
  void tell(MemberId member, MemberWord word, std::uint64_t value) noexcept;
  void tell_surely(MemberId member, MemberWord word, std::uint64_t value) noexcept;
  void probe(MemberId member) noexcept;
  [[nodiscard]] std::uint64_t load(MemberWord word) const noexcept { return at(word).load(std::memory_order_acquire); }
  void store(MemberWord word, std::uint64_t value) const noexcept { at(word).store(value, std::memory_order_release); }
  [[nodiscard]] bool take_event() noexcept;
  [[nodiscard]] bool is_home() const noexcept { return object_.home.node == port_.node_; }

  /// Inserts what waits. What the port's ring refuses for good is answered with an error: true, and `answer` has it.
  [[nodiscard]] bool flush(SyncAnswer& answer) noexcept;
  /// Whether the notification is the answer that is waited for.
  [[nodiscard]] bool take(const Notification& notification, SyncAnswer& answer) noexcept;
  /// The port has lost notifications since the pending command was sent, so its answer may not come. Gives up waiting
  /// for it.
  [[nodiscard]] bool give_up_answer() noexcept;

 private:
  static constexpr std::uint64_t kTagMark = 0x53594E43;  ///< In the high half of the tags of these commands.

  [[nodiscard]] std::atomic_ref<std::uint64_t> at(MemberWord word) const noexcept {
    return std::atomic_ref<std::uint64_t>(words_[static_cast<std::size_t>(word)]);
  }
  [[nodiscard]] static Command command_for(Operation operation, const SyncPlace& place) noexcept;
  [[nodiscard]] Command command_for_word(MemberId member, MemberWord word, std::uint64_t value) const noexcept;
  void ask(Command& command) noexcept;
  void post(const Command& command) noexcept;
  [[nodiscard]] std::uint64_t tag() const noexcept { return kTagMark << 32U | index_ << 16U | number_; }

  SyncPort& port_;
  const SyncObject& object_;
  MemberId self_;
  std::span<std::uint64_t, kMemberWords> words_;
  std::size_t index_;
  std::uint16_t number_ = 0;  ///< Of the last command with an answer.
  bool is_asked_ = false;
  std::uint64_t dropped_ = 0;  ///< Notifications of the port, when it asked.
  std::array<Command, 4> waiting_{};
  std::size_t waiting_count_ = 0;
};

/// How long a thread is patient: it spins for `spin`, then it sleeps; every `look` it checks for dead members.
struct SyncPatience {
  std::chrono::nanoseconds spin = std::chrono::microseconds(20);
  std::chrono::nanoseconds look = std::chrono::milliseconds(100);
};

/// Base of the members of all objects. `object`, `words` (registered memory of the port, in the window that
/// `object` names for this member) and `port` must outlive it. One thread, that of the port. Allocates in the
/// constructor only. Cannot be moved; make all users of a port before any is used, and destroy none before the
/// last.
class SyncUser {
 public:
  SyncUser(const SyncUser&) = delete;
  SyncUser& operator=(const SyncUser&) = delete;

  /// Goes on as far as it can, without waiting: for those who have a loop of their own.
  void step() noexcept;
  /// Looks for dead members and dropped answers; call it from time to time while waiting.
  void grow_impatient() noexcept;

 protected:
  using Clock = std::chrono::steady_clock;

  SyncUser(SyncPort& port, const SyncObject& object, MemberId self, std::span<std::uint64_t, kMemberWords> words,
           const SyncPatience& patience);
  virtual ~SyncUser() = default;
  /// Until `is_done`; false: not before the deadline.
  template <class IsDone>
  bool run(Clock::time_point deadline, const IsDone& is_done) noexcept;

  SyncWire wire_;

 private:
  friend class SyncPort;
  virtual void poll() noexcept = 0;
  virtual void look() noexcept = 0;
  virtual void answer(const SyncAnswer& answer) noexcept = 0;
  virtual void lose_answer() noexcept = 0;
  [[nodiscard]] virtual bool is_waiting() const noexcept = 0;

  SyncPort& port_;
  std::size_t event_;
  SyncPatience patience_;
};

/// The user of one core: hands the port's steps and answers to it.
template <class Core>
class SyncCoreUser : public SyncUser {
 public:
  [[nodiscard]] const Core& core() const noexcept { return core_; }

 protected:
  SyncCoreUser(SyncPort& port, const SyncObject& object, MemberId self, std::span<std::uint64_t, kMemberWords> words,
               const SyncPatience& patience, const Core& core)
      : SyncUser(port, object, self, words, patience), core_(core) {}

  Core core_;

 private:
  void poll() noexcept override { core_.poll(wire_); }
  void look() noexcept override { core_.grow_impatient(wire_); }
  void answer(const SyncAnswer& answer) noexcept override { core_.answer(wire_, answer); }
  void lose_answer() noexcept override { core_.answer_lost(wire_); }
  [[nodiscard]] bool is_waiting() const noexcept override { return core_.is_waiting(); }
};

/// A mutual-exclusion lock of MCS's kind (LockCore).
class SyncLock final : public SyncCoreUser<LockCore> {
 public:
  SyncLock(SyncPort& port, const SyncObject& object, MemberId self, std::span<std::uint64_t, kMemberWords> words,
           const SyncPatience& patience = {})
      : SyncCoreUser(port, object, self, words, patience, LockCore(self)) {}

  /// False: timed out, or `error` says why not. After a timeout the member is still in the queue: it must go on with
  /// `acquire`, and release the lock when it has it, or `leave`.
  [[nodiscard]] bool acquire(std::chrono::nanoseconds timeout) noexcept;
  /// Of the holder. False: not in this time (go on with `release`), or `error` says why not, or the lock had been
  /// broken.
  [[nodiscard]] bool release(std::chrono::nanoseconds timeout) noexcept;

  /// Out of the queue, without the lock: before its turn if need be, which makes all others who wait queue again when
  /// they grow impatient, in any order. False: not in this time (go on with `leave`), or `error` says why not.
  [[nodiscard]] bool leave(std::chrono::nanoseconds timeout) noexcept;

  /// Begin it; `step` goes on. Only when idle, and when held.
  void start_acquire() noexcept { core_.acquire(wire_); }
  void start_release() noexcept { core_.release(wire_); }
};

/// A wait queue, whose signals are lost without a waiting member, or a semaphore (QueueCore).
class SyncQueue final : public SyncCoreUser<QueueCore> {
 public:
  enum class Kind : std::uint8_t { Queue, Semaphore };

  SyncQueue(SyncPort& port, const SyncObject& object, MemberId self, std::span<std::uint64_t, kMemberWords> words,
            Kind kind, const SyncPatience& patience = {})
      : SyncCoreUser(port, object, self, words, patience, QueueCore(self, kind == Kind::Semaphore)), kind_(kind) {}

  /// Waits until woken, or the semaphore was counted down. False: timed out, or `error` says why not. After a timeout
  /// the member is still in the queue: it must go on with `wait`, or `leave`. ERR_QUEUE_FULL: an answer was dropped
  /// because the port's notification ring was full; whether the command was carried out is unknown.
  [[nodiscard]] bool wait(std::chrono::nanoseconds timeout) noexcept;
  /// Wakes the first one, or counts up. False: not in this time, or `error` says why not.
  [[nodiscard]] bool signal(std::chrono::nanoseconds timeout) noexcept;
  /// Joins the queue and returns; call `wait` next. Signals from now on are not lost.
  [[nodiscard]] bool insert(std::chrono::nanoseconds timeout) noexcept;

  /// Leaves a queue before its turn; the others are woken for nothing when they grow impatient. False: timed out (go on
  /// with `leave`), `error` says why not, or it is a semaphore, which no member can leave (QueueCore::leave).
  [[nodiscard]] bool leave(std::chrono::nanoseconds timeout) noexcept;

  /// Begin it; `step` goes on. Only when idle.
  void start_wait() noexcept { core_.wait(wire_); }
  void start_signal() noexcept { core_.signal(wire_); }

 private:
  Kind kind_;
  bool is_inserted_ = false;
};

/// A monitor of Mesa's kind (8.3.1): a lock, and wait queues as its conditions. After `wait` returns, the caller must
/// check its condition again.
class SyncMonitor {
 public:
  explicit SyncMonitor(SyncLock& lock) noexcept : lock_(lock) {}

  [[nodiscard]] bool enter(std::chrono::nanoseconds timeout) noexcept { return lock_.acquire(timeout); }
  [[nodiscard]] bool exit(std::chrono::nanoseconds timeout) noexcept { return lock_.release(timeout); }
  /// Inside. Leaves, waits, and is inside again. False: an error of lock or condition, or not in this time, and then it
  /// must go on with `wait` until it is inside.
  [[nodiscard]] bool wait(SyncQueue& condition, std::chrono::nanoseconds timeout) noexcept;
  /// Inside. Wakes the first one, if any waits.
  [[nodiscard]] bool signal(SyncQueue& condition, std::chrono::nanoseconds timeout) noexcept {
    return condition.signal(timeout);
  }

 private:
  enum class Stage : std::uint8_t { Inside, Inserting, Leaving, Waiting, Entering };
  SyncLock& lock_;
  Stage stage_ = Stage::Inside;
};

}  // namespace stopbit::nic
