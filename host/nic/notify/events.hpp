#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "host/nic/notify/event_protocol.hpp"
#include "host/nic/queue/page.hpp"

namespace stopbit::nic {

/// The words of a port's page of events, shared between two processes; a futex on each.
class EventMemory {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  explicit EventMemory(const Page& page) noexcept : page_(page) {}

  [[nodiscard]] std::uint64_t load(std::size_t word) const noexcept { return at(word).load(); }
  void store(std::size_t word, std::uint64_t value) const noexcept { at(word).store(value); }
  void add(std::size_t word, std::uint64_t value) const noexcept { at(word).fetch_add(value); }
  void fetch_or(std::size_t word, std::uint64_t bits) const noexcept { at(word).fetch_or(bits); }
  void fetch_and(std::size_t word, std::uint64_t bits) const noexcept { at(word).fetch_and(bits); }
  [[nodiscard]] std::uint64_t exchange(std::size_t word, std::uint64_t value) const noexcept {
    return at(word).exchange(value);
  }
  [[nodiscard]] bool wait(std::size_t word, std::uint64_t seen, const Deadline& deadline) const noexcept;
  void wake(std::size_t word) const noexcept;

 private:
  [[nodiscard]] std::atomic_ref<std::uint64_t> at(std::size_t word) const noexcept {
    return page_.word(PageLayout::kEventsAt, word);
  }
  Page page_;
};

/// The node's side of a port's 63 event counters. It believes nothing in the page: the counts are its own, and a port
/// that writes nonsense there only harms itself. A system call happens only when the port sleeps. One thread.
class EventSource {
 public:
  explicit EventSource(const Page& page) noexcept : memory_(page) {}

  /// False: there is no such event. 0 is none, and nothing happens.
  bool signal(std::uint64_t event) noexcept;
  /// Sleepers are woken by `wake` from now on, not at once: a port's sleepers are system calls of the node.
  void defer_wakes() noexcept { defers_ = true; }
  /// Words whose sleepers are to be woken; a bit for each.
  [[nodiscard]] std::uint64_t waiting() const noexcept { return waiting_; }
  /// Wakes those of one of them.
  void wake() noexcept;

 private:
  /// Notes who is to be woken.
  struct Deferred {
    EventMemory& memory;
    std::uint64_t& waiting;
    [[nodiscard]] std::uint64_t load(std::size_t word) const noexcept { return memory.load(word); }
    void store(std::size_t word, std::uint64_t value) const noexcept { memory.store(word, value); }
    void fetch_or(std::size_t word, std::uint64_t bits) const noexcept { memory.fetch_or(word, bits); }
    void wake(std::size_t word) const noexcept { waiting |= std::uint64_t{1} << word; }
  };

  bool defers_ = false;
  std::uint64_t waiting_ = 0;
  unsigned last_ = 0;
  EventMemory memory_;
  std::array<std::uint64_t, EventLayout::kEvents> counts_{};
};

/// The port's side: how often did an event happen, by looking, spinning, sleeping, or being called. Each event has one
/// consumer at a time; different events may have different threads. Events are 1 to 63.
class EventCounters {
 public:
  using Handler = std::function<void(std::size_t event)>;

  explicit EventCounters(const Page& page) noexcept : memory_(page) {}

  /// How often it has happened and was not taken.
  [[nodiscard]] std::uint64_t pending(std::size_t event) const noexcept {
    return memory_.load(EventLayout::signals(event)) - taken_[event];
  }
  /// Takes one occurrence, if there is one.
  [[nodiscard]] bool poll(std::size_t event) noexcept;
  /// Spins, or sleeps, until there is one, and takes it. False: not in this time.
  [[nodiscard]] bool spin(std::size_t event, std::chrono::nanoseconds timeout) noexcept;
  [[nodiscard]] bool wait(std::size_t event, std::chrono::nanoseconds timeout) noexcept;
  /// Sleeps until there is one, and leaves it. False: not in this time.
  [[nodiscard]] bool await(std::size_t event, std::chrono::nanoseconds timeout) noexcept;

  /// From now on `dispatch` calls the handler, once for each occurrence, those before included. Allocates. Arm before
  /// the dispatcher's thread runs, or from it.
  void arm(std::size_t event, Handler handler);
  /// Removes the handler. Occurrences not yet dispatched can be polled, or reach the next handler. By the dispatcher's
  /// thread, also from a handler.
  void disarm(std::size_t event);
  /// Calls handlers for what has happened. Returns how many calls it made.
  std::size_t dispatch();
  /// The same, but sleeps first if there is nothing.
  std::size_t dispatch(std::chrono::nanoseconds timeout);

  /// From now on `next` gives the event, once for each occurrence, those before included: for callers with a loop
  /// instead of handlers. Ended by disarm.
  void watch(std::size_t event);
  /// Takes one occurrence of a watched event; they come in turn. 0: there is none. By the dispatcher's thread, too.
  [[nodiscard]] std::size_t next() noexcept;
  /// The same, but sleeps first if there is none. 0: not in this time.
  [[nodiscard]] std::size_t next(std::chrono::nanoseconds timeout) noexcept;

 private:
  EventMemory memory_;
  std::array<std::uint64_t, EventLayout::kEvents> taken_{};
  std::uint64_t handled_ = 0;  ///< Bits of events with a handler,
  std::uint64_t watched_ = 0;  ///< and of those that next() gives;
  std::uint64_t ready_ = 0;    ///< of these, the ones to be looked at.
  std::size_t last_ = 0;       ///< Given by next().
  std::array<Handler, EventLayout::kEvents> handlers_;
};

}  // namespace stopbit::nic
