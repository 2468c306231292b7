#include "host/feed/arbitrate/strangers.hpp"

#include <utility>

namespace stopbit::arbitrate {

std::uint64_t Strangers::packets() const noexcept {
  std::uint64_t sum = 0;
  if (count_ == 0) return sum;
  for (const Stranger& stranger : all_) sum += stranger.packets;
  return sum;
}

std::uint64_t Strangers::begin_of(const Stranger& stranger) const noexcept {
  const std::uint64_t lowest = first(stranger).preamble.sequence;
  if (!stranger.has_dropped || numbering_.distance(stranger.lowest_dropped, lowest) >= 0) return lowest;
  return stranger.lowest_dropped;
}

bool Strangers::has_copy(const Stranger& stranger, const Packet& packet) const noexcept {
  if (packet.source == 0 || stranger.sources.has(packet.source)) return false;
  for (std::uint32_t slot = stranger.last; slot != kNone; slot = slots_[slot].older) {
    const Packet& other = slots_[slot].packet;
    const std::int64_t apart = numbering_.distance(packet.preamble.sequence, other.preamble.sequence);
    if (apart > 0) return false;
    if (apart == 0 && other.line != packet.line && other.preamble.chunk == packet.preamble.chunk &&
        std::ranges::equal(other.payload, packet.payload)) {
      return true;
    }
  }
  return false;
}

std::uint32_t Strangers::at_or_below(const Stranger& stranger, const Packet& packet) const noexcept {
  std::uint32_t below = stranger.last;  // most packets come last
  while (below != kNone && distance(packet.preamble, slots_[below].packet.preamble) < 0) below = slots_[below].older;
  return below;
}

void Strangers::put(Stranger& place, const Stranger& stranger) noexcept {
  place = stranger;
  ++count_;
}

void Strangers::insert(Stranger& stranger, const Packet& packet, std::uint32_t below) noexcept {
  const std::uint32_t slot = slots_.take(packet, 0);
  const std::uint32_t above = below != kNone ? slots_[below].newer : stranger.first;
  slots_[slot].older = below;
  slots_[slot].newer = above;
  (below != kNone ? slots_[below].newer : stranger.first) = slot;
  (above != kNone ? slots_[above].older : stranger.last) = slot;
  if (++stranger.packets > kOwnRoom) ++in_common_room_;
  stranger.successions += (follows(below, slot) ? 1U : 0U) + (follows(slot, above) ? 1U : 0U);
}

/// Whether the second number comes next after the first one.
bool Strangers::follows(std::uint32_t below, std::uint32_t above) const noexcept {
  if (below == kNone || above == kNone) return false;
  return numbering_.distance(slots_[above].packet.preamble.sequence, slots_[below].packet.preamble.sequence) == 1;
}

void Strangers::note_dropped(Stranger& stranger, std::uint64_t sequence) noexcept {
  if (!stranger.has_dropped || numbering_.distance(sequence, stranger.lowest_dropped) < 0) {
    stranger.lowest_dropped = sequence;
  }
  if (!stranger.has_dropped || numbering_.distance(sequence, stranger.highest_dropped) > 0) {
    stranger.highest_dropped = sequence;
  }
  stranger.has_dropped = true;
}

void Strangers::unlink(Stranger& stranger, std::uint32_t slot) noexcept {
  const Slot& taken = slots_[slot];
  (taken.older != kNone ? slots_[taken.older].newer : stranger.first) = taken.newer;
  (taken.newer != kNone ? slots_[taken.newer].older : stranger.last) = taken.older;
  if (stranger.packets-- > kOwnRoom) --in_common_room_;
}

std::uint32_t Strangers::unlink_first(Stranger& stranger) noexcept {
  const std::uint32_t slot = stranger.first;
  unlink(stranger, slot);
  return slot;
}

std::uint32_t Strangers::unlink_all(Stranger& stranger) noexcept {
  const std::uint32_t slot = stranger.first;
  in_common_room_ -= beyond_own(stranger);
  stranger = {};
  --count_;
  return slot;
}

void Strangers::release_if_empty(Stranger& stranger) noexcept {
  if (stranger.fit == Fit::InRun || stranger.packets != 0) return;
  stranger = {};
  --count_;
}

std::uint64_t Strangers::merge(Stranger& into, Stranger& from) noexcept {
  in_common_room_ -= beyond_own(into) + beyond_own(from);
  const std::uint64_t copies = merge_lists(into, from);
  in_common_room_ += beyond_own(into);
  if (from.has_dropped) {
    note_dropped(into, from.lowest_dropped);
    note_dropped(into, from.highest_dropped);
  }
  into.is_confirmed =
      into.is_confirmed || from.is_confirmed || first(into).preamble.sequence != last(into).preamble.sequence;
  into.fills_holes = into.fills_holes && from.fills_holes;
  into.lines = static_cast<std::uint8_t>(into.lines | from.lines);
  into.begin_t_ns = std::min(into.begin_t_ns, from.begin_t_ns);
  into.last_t_ns = std::max(into.last_t_ns, from.last_t_ns);
  into.sources.add(from.sources);
  from = {};
  --count_;
  return copies;
}

std::uint64_t Strangers::merge_lists(Stranger& into, const Stranger& from) noexcept {
  std::uint64_t copies = 0;
  std::uint32_t left = into.first;
  std::uint32_t right = from.first;
  into.first = into.last = kNone;
  into.packets = into.successions = 0;
  while (left != kNone || right != kNone) {
    const std::int64_t order = left == kNone    ? -1
                               : right == kNone ? 1
                                                : distance(slots_[right].packet.preamble, slots_[left].packet.preamble);
    std::uint32_t& list = order < 0 ? right : left;
    const std::uint32_t slot = std::exchange(list, slots_[list].newer);
    if (order == 0) {
      if (slots_[right].packet.line != slots_[slot].packet.line) into.is_confirmed = true;
      const std::uint32_t copy = std::exchange(right, slots_[right].newer);
      slots_.free(copy);
      ++copies;
    }
    append(into, slot);
  }
  return copies;
}

void Strangers::append(Stranger& stranger, std::uint32_t slot) noexcept {
  if (follows(stranger.last, slot)) ++stranger.successions;
  slots_[slot].older = stranger.last;
  slots_[slot].newer = kNone;
  (stranger.last != kNone ? slots_[stranger.last].newer : stranger.first) = slot;
  stranger.last = slot;
  ++stranger.packets;
}

}  // namespace stopbit::arbitrate
