#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

/// How producers and the node use the words of a command ring, and in which memory order. Templates over the memory, so
/// that the code that runs is the code that is model-checked (tests/unit/nic/queue_model_test.cpp).
///
/// `Memory` has
///   kSlots, kWords                   slots of the ring; words of a slot, of which the last is its number,
///   load<Step>(), store<Step>(value)          the word that the step is about,
///   claim(expected, desired)         compare-and-swap of the claimed word, which may fail for nothing,
///   load_slot<Step>(number, word), store_slot<Step>(number, word, value).
namespace stopbit::nic {

/// Every access to shared memory, by what it is for.
enum class QueueStep : std::uint8_t {
  LoadClaimed,
  LoadSeen,     ///< What some producer has seen of `taken`: as good while there is room, and a line less to transfer.
  LoadTaken,    ///< The node has read what lay in the slots before it gave them back.
  StoreSeen,    ///< Passes that on.
  Claim,        ///< Only the number of the slot.
  StoreWord,    ///< Of a command,
  StoreNumber,  ///< Publishes the command.
  LoadNumber,   ///< A node that sees it sees the command.
  LoadWord,
  StoreTaken,  ///< The slots have been read.
};
inline constexpr std::size_t kQueueSteps = static_cast<std::size_t>(QueueStep::StoreTaken) + 1;

[[nodiscard]] constexpr std::memory_order order_of(QueueStep step) noexcept {
  switch (step) {
    case QueueStep::LoadSeen:
    case QueueStep::LoadTaken:
    case QueueStep::LoadNumber: return std::memory_order_acquire;
    case QueueStep::StoreSeen:
    case QueueStep::StoreNumber:
    case QueueStep::StoreTaken: return std::memory_order_release;
    default: return std::memory_order_relaxed;
  }
}

struct ClaimedSlots {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// A producer claims up to `wanted` slots, all or none of them if `is_whole`. Never waits.
template <class Memory>
ClaimedSlots claim_slots(Memory& memory, std::uint64_t wanted, bool is_whole) {
  constexpr std::uint64_t kSlots = Memory::kSlots;
  // `claimed` is read before `taken`: if it is unchanged when it is exchanged, at least the computed slots are free.
  std::uint64_t claimed = memory.template load<QueueStep::LoadClaimed>();
  for (;;) {
    std::uint64_t taken = memory.template load<QueueStep::LoadSeen>();
    if (claimed - taken > kSlots - std::min(kSlots, wanted)) {
      taken = memory.template load<QueueStep::LoadTaken>();
      memory.template store<QueueStep::StoreSeen>(taken);
    }
    const auto used = static_cast<std::int64_t>(claimed - taken);
    if (used < 0) {  // others were faster in between
      claimed = memory.template load<QueueStep::LoadClaimed>();
      if (static_cast<std::int64_t>(claimed - taken) < 0) return {};  // nonsense in the page
      continue;
    }
    const std::uint64_t room = kSlots - std::min(kSlots, static_cast<std::uint64_t>(used));
    const std::uint64_t count = is_whole && room < wanted ? 0 : std::min(wanted, room);
    if (count == 0) return {};
    if (memory.claim(claimed, claimed + count)) return {claimed, count};
  }
}

/// A producer fills a slot that it has claimed; the last word of `words` is not looked at.
template <class Memory>
void fill_slot(Memory& memory, std::uint64_t number, const std::uint64_t* words) {
  for (std::size_t w = 0; w + 1 < Memory::kWords; ++w) {
    memory.template store_slot<QueueStep::StoreWord>(number, w, words[w]);
  }
  memory.template store_slot<QueueStep::StoreNumber>(number, Memory::kWords - 1, number + 1);
}

/// The node copies slot `number` out, if its command has been published.
template <class Memory>
bool read_slot(Memory& memory, std::uint64_t number, std::uint64_t* words) {
  if (memory.template load_slot<QueueStep::LoadNumber>(number, Memory::kWords - 1) != number + 1) return false;
  for (std::size_t w = 0; w + 1 < Memory::kWords; ++w) {
    words[w] = memory.template load_slot<QueueStep::LoadWord>(number, w);
  }
  words[Memory::kWords - 1] = number + 1;
  return true;
}

/// The node gives back all slots before `taken`.
template <class Memory>
void give_back(Memory& memory, std::uint64_t taken) {
  memory.template store<QueueStep::StoreTaken>(taken);
}

}  // namespace stopbit::nic
