#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "host/feed/arbitrate/sink.hpp"

namespace stopbit::arbitrate {

/// No slot.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// A packet that waits. The lists that it is in belong to those who took it.
struct Slot {
  Packet packet;
  std::uint64_t number = 0;
  bool is_copy = false;              ///< A second, different copy of its number.
  std::uint32_t next_chunk = kNone;  ///< Of the same number; a copy is last. Of a free slot: the next free one.
  std::uint32_t older = kNone;       ///< By arrival; of a stranger: by number.
  std::uint32_t newer = kNone;
};

/// Room for packets that wait, with their bytes. Allocates only when constructed.
class Slots {
 public:
  Slots(std::size_t count, std::uint32_t datagram_bytes)
      : datagram_bytes_(datagram_bytes),
        slots_(std::make_unique<Slot[]>(count)),
        payloads_(std::make_unique_for_overwrite<std::byte[]>(count * datagram_bytes)) {
    for (std::size_t i = count; i > 0; --i) free(static_cast<std::uint32_t>(i - 1));
  }

  [[nodiscard]] Slot& operator[](std::uint32_t slot) noexcept { return slots_[slot]; }
  [[nodiscard]] const Slot& operator[](std::uint32_t slot) const noexcept { return slots_[slot]; }

  /// Copies the packet, which must not be longer than datagram_bytes; a slot must be free.
  [[nodiscard]] std::uint32_t take(const Packet& packet, std::uint64_t number) noexcept {
    const std::uint32_t slot = free_;
    free_ = slots_[slot].next_chunk;
    slots_[slot] = {.packet = {}, .number = number};
    put(slot, packet);
    return slot;
  }
  /// Another packet in the place of that in the slot.
  void put(std::uint32_t slot, const Packet& packet) noexcept {
    std::byte* const bytes = payloads_.get() + std::size_t{slot} * datagram_bytes_;
    if (!packet.payload.empty()) std::memcpy(bytes, packet.payload.data(), packet.payload.size());
    slots_[slot].packet = packet;
    slots_[slot].packet.payload = {bytes, packet.payload.size()};
  }
  /// Its bytes stay until the slot is taken again.
  void free(std::uint32_t slot) noexcept {
    slots_[slot].next_chunk = free_;
    free_ = slot;
  }

 private:
  std::uint32_t datagram_bytes_;
  std::unique_ptr<Slot[]> slots_;
  std::unique_ptr<std::byte[]> payloads_;  ///< datagram_bytes for each slot; uninitialised.
  std::uint32_t free_ = kNone;             ///< Chained by next_chunk.
};

}  // namespace stopbit::arbitrate
