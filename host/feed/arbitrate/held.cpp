#include "host/feed/arbitrate/held.hpp"

#include <algorithm>

namespace stopbit::arbitrate {

void Held::hold(const Packet& packet, std::uint64_t number) noexcept {
  const std::uint32_t slot = slots_.take(packet, number);
  link_by_arrival(slot);
  link_by_chunk(slot);
  ++count_;
}

/// Lines are read one after the other, so some packets come out of the order of their arrival.
void Held::link_by_arrival(std::uint32_t slot) noexcept {
  Slot& taken = slots_[slot];
  std::uint32_t before_it = newest_;
  while (before_it != kNone && slots_[before_it].packet.t_ns > taken.packet.t_ns) before_it = slots_[before_it].older;
  const std::uint32_t after_it = before_it != kNone ? slots_[before_it].newer : oldest_;
  taken.older = before_it;
  taken.newer = after_it;
  (before_it != kNone ? slots_[before_it].newer : oldest_) = slot;
  (after_it != kNone ? slots_[after_it].older : newest_) = slot;
}

void Held::link_by_chunk(std::uint32_t slot) noexcept {
  Slot& taken = slots_[slot];
  Entry& known = table_[taken.number];
  std::uint32_t previous = kNone;
  std::uint32_t next = known.held - 1;  // entries count from 1: kNone if there is none
  while (next != kNone && slots_[next].packet.preamble.chunk < taken.packet.preamble.chunk) {
    previous = next;
    next = slots_[next].next_chunk;
  }
  taken.next_chunk = next;
  if (previous == kNone) {
    known.held = slot + 1;
  } else {
    slots_[previous].next_chunk = slot;
  }
}

bool Held::keep_copy(const Packet& packet, std::uint64_t number) noexcept {
  Slot& first = slots_[table_[number].held - 1];
  if (copies_ == kMostCopies || first.next_chunk != kNone || std::ranges::equal(first.packet.payload, packet.payload)) {
    return false;
  }
  const std::uint32_t slot = slots_.take(packet, number);
  slots_[slot].is_copy = true;
  first.next_chunk = slot;
  ++copies_;
  return true;
}

std::uint32_t Held::take_first(std::uint64_t number) noexcept {
  const std::uint32_t slot = table_[number].held - 1;
  const Slot& taken = slots_[slot];
  if (taken.is_copy) {  // its arrival counts for nothing
    table_[number].held = 0;
    --copies_;
    return slot;
  }
  (taken.older != kNone ? slots_[taken.older].newer : oldest_) = taken.newer;
  (taken.newer != kNone ? slots_[taken.newer].older : newest_) = taken.older;
  table_[number].held = taken.next_chunk + 1;
  --count_;
  return slot;
}

}  // namespace stopbit::arbitrate
