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
  static constexpr std::uint64_t kAll = ~std::uint64_t{0};
  static constexpr std::size_t kArmed = 128;  ///< Port: a bit for each event with a handler.
  static constexpr std::size_t kReady = 136;  ///< Both: a bit for each event that the dispatcher must look at.

  /// Node: how often it has happened. Never goes back.
  [[nodiscard]] static constexpr std::size_t signals(std::size_t event) noexcept { return event; }
  /// Port: how many threads sleep, or are about to.
  [[nodiscard]] static constexpr std::size_t sleepers(std::size_t event) noexcept { return kEvents + event; }
};

// `Memory` has load, store, add, fetch_or, fetch_and and exchange on words, all sequentially consistent, and the futex:
// wait(word, seen, deadline) sleeps while the word is `seen` and returns false when it is too late; wake(word) wakes
// all.
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

/// Disarms the event: no occurrence rings from now on. Earlier occurrences can still be taken.
template <class Memory>
void disarm_event(Memory& memory, std::size_t event) {
  memory.fetch_and(EventLayout::kArmed, ~(std::uint64_t{1} << event));
}

/// The `wanted` events that have become ready. The bits of `kept` stay for the next look, all others are forgotten.
template <class Memory>
std::uint64_t collect_ready(Memory& memory, std::uint64_t wanted, std::uint64_t kept) {
  const std::uint64_t ready = memory.exchange(EventLayout::kReady, 0);
  if ((ready & kept) != 0) memory.fetch_or(EventLayout::kReady, ready & kept);
  return ready & wanted;
}

/// Calls `handler(event)` once for each time that an armed event has happened since it was taken last; `taken` holds
/// how often that was. Returns the number of calls. `wanted` and `kept` as above; a handler may change `wanted`.
template <class Memory, class Handler>
std::size_t dispatch_events(Memory& memory, std::uint64_t* taken, const Handler& handler,
                            const std::uint64_t& wanted = EventLayout::kAll, std::uint64_t kept = 0) {
  std::size_t calls = 0;
  for (std::uint64_t ready = collect_ready(memory, wanted, kept); ready != 0; ready &= ready - 1) {
    const auto event = static_cast<std::size_t>(__builtin_ctzll(ready));
    while ((wanted >> event & 1U) != 0 && taken[event] != memory.load(EventLayout::signals(event))) {
      ++taken[event];
      ++calls;
      handler(event);
    }
  }
  return calls;
}

/// Takes one occurrence of an armed event and returns its number; 0: none. In turn, starting after `last`. `ready`
/// holds the bits that were collected and not looked at: a bit is cleared when its event has nothing left, and a bit
/// that comes back later was set later.
template <class Memory>
std::size_t next_event(Memory& memory, std::uint64_t* taken, std::uint64_t& ready, std::size_t last,
                       std::uint64_t wanted, std::uint64_t kept) {
  if (ready == 0) ready = collect_ready(memory, wanted, kept);
  while (ready != 0) {
    const std::uint64_t behind = last + 1 < EventLayout::kEvents ? ready >> (last + 1) << (last + 1) : 0;
    const auto event = static_cast<std::size_t>(__builtin_ctzll(behind != 0 ? behind : ready));
    if (taken[event] != memory.load(EventLayout::signals(event))) {
      ++taken[event];
      return event;
    }
    ready &= ~(std::uint64_t{1} << event);
    if (ready == 0) ready = collect_ready(memory, wanted, kept);
  }
  return 0;
}

}  // namespace stopbit::nic
