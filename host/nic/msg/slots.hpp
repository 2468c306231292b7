#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "host/nic/msg/mailbox.hpp"
#include "host/nic/word_copy.hpp"

/// How a message lies in slots, wherever these are: in the page of a port (mailbox.hpp) or in segments of its memory
/// (segments.hpp).
namespace stopbit::nic {

/// A slot: its words, the last of which is the status, and the lap that makes it valid.
struct SlotPlace {
  std::uint64_t* words = nullptr;
  std::uint8_t lap = 0;
};

namespace detail {

/// Word of the slot at which `bytes` bytes begin that end right before the status.
constexpr std::size_t first_word(std::size_t bytes, std::size_t slot_bytes) noexcept {
  return slot_bytes / kWordBytes - 1 - (bytes + kWordBytes - 1) / kWordBytes;
}

}  // namespace detail

/// Writes the message; `at(i)` is its slot number i, which must not be read at this time. The first slot's status is
/// stored last: a reader that sees it has the whole message.
template <class At>
void write_slots(const MessageHead& head, std::span<const std::byte> payload, std::size_t slot_bytes,
                 const At& at) noexcept {
  const std::size_t per_slot = slot_bytes - kWordBytes;
  const std::size_t slots = slots_of(payload.size(), slot_bytes);
  for (std::size_t i = 0; i < slots; ++i) {
    const std::span<const std::byte> part =
        payload.subspan(i * per_slot, std::min(per_slot, payload.size() - i * per_slot));
    std::uint64_t* word = at(i).words + detail::first_word(part.size(), slot_bytes);
    for (std::size_t done = 0; done < part.size(); done += kWordBytes) {
      const std::size_t left = part.size() - done;
      const std::uint64_t value =
          left >= kWordBytes ? load_word(part.data() + done) : load_tail(part.data() + done, left);
      std::atomic_ref<std::uint64_t>(*word++).store(value, std::memory_order_relaxed);
    }
  }
  const auto status_of = [&](const SlotPlace& slot) {
    return std::atomic_ref<std::uint64_t>(slot.words[per_slot / kWordBytes]);
  };
  for (std::size_t i = slots - 1; i > 0; --i) {
    status_of(at(i)).store(to_word({head, i + 1 == slots, at(i).lap}), std::memory_order_relaxed);
  }
  // An order that is chosen while it runs would be the strictest one.
  status_of(at(0)).store(to_word({head, slots == 1, at(0).lap}), std::memory_order_release);
}

/// What lies in the next slots.
struct SlotsRead {
  enum class What : std::uint8_t { Nothing, Malformed, Message };
  What what = What::Nothing;
  std::uint64_t status = 0;  ///< Of its first slot.
  std::size_t slots = 0;     ///< Of the message.
  [[nodiscard]] MessageHead head() const noexcept { return from_word(status).head; }
};

/// Copies the message that begins with slot `at(0)`. `at(i)` has no words if there is no such slot.
template <class At>
[[nodiscard]] SlotsRead read_slots(std::size_t slot_bytes, std::span<std::byte, kMaxMessageBytes> into,
                                   const At& at) noexcept {
  const std::size_t per_slot = slot_bytes - kWordBytes;
  const auto status_of = [&](const SlotPlace& slot) {
    return std::atomic_ref<std::uint64_t>(slot.words[per_slot / kWordBytes]).load(std::memory_order_acquire);
  };
  const SlotPlace start = at(0);
  if (start.words == nullptr) return {};
  const std::uint64_t status = status_of(start);
  const SlotStatus first = from_word(status);
  if (first.lap != start.lap) return {};
  const MessageHead& head = first.head;
  const std::size_t slots = slots_of(head.length, slot_bytes);
  bool is_whole = head.length >= 1 && head.length <= kMaxMessageBytes && first.is_end == (slots == 1);
  for (std::size_t i = 1; is_whole && i < slots; ++i) {
    const SlotPlace slot = at(i);
    if (slot.words == nullptr) return {SlotsRead::What::Malformed, 0, 0};
    const SlotStatus next = from_word(status_of(slot));
    is_whole = next.lap == slot.lap && next.is_end == (i + 1 == slots);
  }
  if (!is_whole) return {SlotsRead::What::Malformed, 0, 0};
  for (std::size_t i = 0; i < slots; ++i) {
    const std::size_t begin = i * per_slot;
    const std::size_t bytes = std::min(per_slot, head.length - begin);
    std::uint64_t* word = at(i).words + detail::first_word(bytes, slot_bytes);
    for (std::size_t done = 0; done < bytes; done += kWordBytes) {
      const std::uint64_t value = std::atomic_ref<std::uint64_t>(*word++).load(std::memory_order_relaxed);
      if (bytes - done >= kWordBytes) {
        store_word(into.data() + begin + done, value);
      } else {
        std::memcpy(into.data() + begin + done, &value, bytes - done);
      }
    }
  }
  return {SlotsRead::What::Message, status, slots};
}

}  // namespace stopbit::nic
