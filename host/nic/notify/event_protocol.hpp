#pragma once

#include <cstddef>
#include <cstdint>

/// How a node and a port agree that something has happened, so that no wake-up is lost. Templates over the memory, so
/// that a test can run them under every interleaving.
namespace stopbit::nic {

/// Words of a port's page of events. Event 0 is none; its words are those of the doorbell, which rings when an armed
/// event has become ready.
struct EventLayout {
  static constexpr std::size_t kEvents = 64;
  static constexpr std::size_t kDoorbell = 0;
  static constexpr std::size_t kArmed = 128;  ///< Port: a bit for each event with a handler.
  static constexpr std::size_t kReady = 136;  ///< Both: a bit for each event that the dispatcher must look at.

  /// Node: how often it has happened. Never goes back.
  [[nodiscard]] static constexpr std::size_t signals(std::size_t event) noexcept { return event; }
  /// Port: how many threads sleep, or are about to.
  [[nodiscard]] static constexpr std::size_t sleepers(std::size_t event) noexcept { return kEvents + event; }
};

// `Memory` has load, store, add, fetch_or and exchange on words, all sequentially consistent, and the futex: wait(word,
// seen, deadline) sleeps while the word is `seen` and returns false when it is too late; wake(word) wakes all.
//
// Both sides store first and look at the other's word then (Dekker's way): the node stores the count and looks for
// sleepers, the port announces the sleeper and looks at the count. So at least one of them sees the other.

/// The node's side: the event has happened `count` times, `doorbell` becomes one more if it is armed.
template <class Memory>
void signal_event(Memory& memory, std::size_t event, std::uint64_t count, std::uint64_t& doorbell) {
  memory.store(EventLayout::signals(event), count);
  if (memory.load(EventLayout::sleepers(event)) != 0) memory.wake(EventLayout::signals(event));
  const std::uint64_t bit = std::uint64_t{1} << event;
  if ((memory.load(EventLayout::kArmed) & bit) == 0) return;
  memory.fetch_or(EventLayout::kReady, bit);
  memory.store(EventLayout::signals(EventLayout::kDoorbell), ++doorbell);
  if (memory.load(EventLayout::sleepers(EventLayout::kDoorbell)) != 0) {
    memory.wake(EventLayout::signals(EventLayout::kDoorbell));
  }
}

/// The port's side: sleeps until the count is not `seen` any more. False: the deadline came first.
template <class Memory, class Deadline>
bool await_event(Memory& memory, std::size_t event, std::uint64_t seen, const Deadline& deadline) {
  memory.add(EventLayout::sleepers(event), 1);
  bool in_time = true;
  while (in_time && memory.load(EventLayout::signals(event)) == seen) {
    in_time = memory.wait(EventLayout::signals(event), seen, deadline);
  }
  memory.add(EventLayout::sleepers(event), ~std::uint64_t{0});
  return in_time || memory.load(EventLayout::signals(event)) != seen;
}

/// From now on the dispatcher looks at the event; at once, because it may have happened before.
template <class Memory>
void arm_event(Memory& memory, std::size_t event) {
  const std::uint64_t bit = std::uint64_t{1} << event;
  memory.fetch_or(EventLayout::kArmed, bit);
  memory.fetch_or(EventLayout::kReady, bit);
}

/// Calls `handler(event)` once for each time that an armed event has happened since it was taken last; `taken` holds
/// how often that was. Returns the number of calls.
template <class Memory, class Handler>
std::size_t dispatch_events(Memory& memory, std::uint64_t* taken, const Handler& handler) {
  std::size_t calls = 0;
  for (std::uint64_t ready = memory.exchange(EventLayout::kReady, 0); ready != 0; ready &= ready - 1) {
    const auto event = static_cast<std::size_t>(__builtin_ctzll(ready));
    while (taken[event] != memory.load(EventLayout::signals(event))) {
      ++taken[event];
      ++calls;
      handler(event);
    }
  }
  return calls;
}

}  // namespace stopbit::nic
