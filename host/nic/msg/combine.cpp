#include "host/nic/msg/combine.hpp"

#include <algorithm>
#include <cstring>

#include "host/nic/word_copy.hpp"

namespace stopbit::nic {
namespace {

constexpr unsigned kMessageAt = 8;
constexpr unsigned kOffsetAt = 16;
constexpr unsigned kTotalAt = 28;
constexpr unsigned kTypeAt = 40;
constexpr std::uint16_t kMask = 0xFFF;

constexpr std::size_t words_of(std::size_t bytes) noexcept {
  return (bytes + kWordBytes - 1) / kWordBytes;
}

}  // namespace

std::uint64_t to_tag(const PartHead& part) noexcept {
  return std::uint64_t{part.tag} | std::uint64_t{part.message} << kMessageAt |
         std::uint64_t{part.offset & unsigned{kMask}} << kOffsetAt |
         std::uint64_t{part.total & unsigned{kMask}} << kTotalAt | std::uint64_t{part.type & 3U} << kTypeAt;
}

PartHead part_of(std::uint64_t tag) noexcept {
  PartHead part;
  part.tag = static_cast<std::uint8_t>(tag);
  part.message = static_cast<std::uint8_t>(tag >> kMessageAt);
  part.offset = static_cast<std::uint16_t>(tag >> kOffsetAt & kMask);
  part.total = static_cast<std::uint16_t>(tag >> kTotalAt & kMask);
  part.type = static_cast<std::uint8_t>(tag >> kTypeAt & 3U);
  return part;
}

WriteCombiner::Slot* WriteCombiner::slot_for(std::uint8_t message, std::uint64_t now_ns) noexcept {
  Slot* free_slot = nullptr;
  for (Slot& slot : slots_) {
    const bool is_late = slot.is_used && now_ns - slot.since_ns >= patience_ns_;
    if (is_late) {
      slot.is_used = false;
      ++given_up_;
    }
    if (slot.is_used && slot.message == message) return &slot;
    if (!slot.is_used && free_slot == nullptr) free_slot = &slot;
  }
  if (free_slot == nullptr) return nullptr;
  free_slot->is_used = true;
  free_slot->message = message;
  free_slot->total = 0;
  free_slot->words = 0;
  free_slot->end = 0;
  free_slot->since_ns = now_ns;
  free_slot->here.fill(0);
  return free_slot;
}

WriteCombiner::Outcome WriteCombiner::refuse(Slot& slot, Error error) noexcept {
  slot.is_used = false;
  ++given_up_;
  return {error, std::nullopt};
}

Combined WriteCombiner::cut(Slot& slot, const Command& header) noexcept {
  slot.is_used = false;
  ++given_up_;
  for (std::size_t word = 0; word < words_of(slot.end); ++word) {
    if ((slot.here[word / 64] >> word % 64 & 1U) == 0)
      std::memset(slot.bytes.data() + word * kWordBytes, 0, kWordBytes);
  }
  return {header, part_of(header.tag), std::span<const std::byte>(slot.bytes).first(slot.end), true};
}

template <class IsOver>
std::optional<Combined> WriteCombiner::give_up_if(const IsOver& is_over) noexcept {
  for (Slot& slot : slots_) {
    if (!slot.is_used || !is_over(slot)) continue;
    if (slot.total != 0) return cut(slot, slot.header);
    slot.is_used = false;
    ++given_up_;
  }
  return std::nullopt;
}

std::optional<Combined> WriteCombiner::expire(std::uint64_t now_ns) noexcept {
  return give_up_if([&](const Slot& slot) { return now_ns - slot.since_ns >= patience_ns_; });
}

std::optional<Combined> WriteCombiner::give_up() noexcept {
  return give_up_if([](const Slot&) { return true; });
}

std::optional<std::uint64_t> WriteCombiner::expires_ns() const noexcept {
  std::optional<std::uint64_t> first;
  for (const Slot& slot : slots_) {
    if (slot.is_used) first = std::min(first.value_or(~std::uint64_t{0}), slot.since_ns + patience_ns_);
  }
  return first;
}

WriteCombiner::Outcome WriteCombiner::take(const Command& command, std::uint64_t now_ns) noexcept {
  const PartHead part = part_of(command.tag);
  if ((command.modifiers & kAbort) != 0) {
    Slot* const slot = std::find_if(slots_.begin(), slots_.end(),
                                    [&](const Slot& each) { return each.is_used && each.message == part.message; });
    if (slot == slots_.end()) return {Error::Command, std::nullopt};  // nothing to cut
    return {Error::None, cut(*slot, slot->total != 0 ? slot->header : command)};
  }
  const std::size_t length = command.window;
  const std::size_t end = part.offset + length;
  if (length == 0 || length > kMaxFastBytes || end > kMaxMessageBytes) return {Error::OriginLength, std::nullopt};
  if (part.offset % kWordBytes != 0) return {Error::OriginOffset, std::nullopt};
  Slot* const slot = slot_for(part.message, now_ns);
  if (slot == nullptr) return {Error::Full, std::nullopt};

  const std::size_t first = part.offset / kWordBytes;
  const std::size_t last = words_of(end);
  for (std::size_t word = first; word < last; ++word) {
    std::uint64_t& bits = slot->here[word / 64];
    const std::uint64_t bit = std::uint64_t{1} << word % 64;
    if ((bits & bit) != 0) return refuse(*slot, Error::OriginOffset);  // a second time
    bits |= bit;
  }
  slot->words = static_cast<std::uint16_t>(slot->words + (last - first));
  if (part.offset == 0) {
    if (part.total == 0 || part.total > kMaxMessageBytes) return refuse(*slot, Error::OriginLength);
    slot->total = part.total;
    slot->header = command;
  }
  // Only the last part may be ragged, and none may go beyond the message.
  const bool was_ragged = slot->end % kWordBytes != 0;
  if (end % kWordBytes != 0 && was_ragged) return refuse(*slot, Error::OriginLength);
  if ((end % kWordBytes != 0 && end < slot->end) || (was_ragged && end > slot->end)) {
    return refuse(*slot, Error::OriginLength);
  }
  slot->end = static_cast<std::uint16_t>(std::max<std::size_t>(slot->end, end));
  if (slot->total != 0 && (slot->end > slot->total || (slot->end % kWordBytes != 0 && slot->end != slot->total))) {
    return refuse(*slot, Error::OriginLength);
  }
  const auto* const payload = reinterpret_cast<const std::byte*>(&command) + kPayloadAt;
  std::memcpy(slot->bytes.data() + part.offset, payload, length);
  if (slot->total == 0 || slot->words != words_of(slot->total)) return {};
  if (slot->end != slot->total) return refuse(*slot, Error::OriginLength);
  slot->is_used = false;
  return {Error::None, Combined{slot->header, part_of(slot->header.tag),
                                std::span<const std::byte>(slot->bytes).first(slot->total), false}};
}

}  // namespace stopbit::nic
