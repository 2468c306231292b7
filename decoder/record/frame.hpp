#pragma once

#include <span>

#include "decoder/record/layout.hpp"
#include "decoder/record/read_error.hpp"
#include "decoder/record/views.hpp"

namespace stopbit::record {

/// Checks what can be checked without a schema: lengths, phase and number of each slot, tags of the header and of
/// events, kind of an event; market events have kinds of their own (host/market/event). `slots` begins with the record
/// and may contain more after it.
[[nodiscard]] inline ReadError check_frame(std::span<const Slot> slots) noexcept {
  if (slots.empty()) return ReadError::Truncated;
  const HeaderView header(slots[0]);
  if (header.is_pad()) return ReadError::Pad;
  const std::size_t total = header.slots();
  const std::size_t strings = header.string_slots();
  if (total == 0 || total > slots.size() || strings >= total) return ReadError::Truncated;
  const bool has_event_words = header.is_event() || header.is_market_event();
  if (has_event_words && total != 1) return ReadError::Truncated;

  const bool phase = slots[0].words[kTagWord] >> 63 != 0;
  for (std::size_t i = 0; i < total; ++i) {
    if ((slots[i].words[kTagWord] ^ tag_word_base(phase, i)) >> 56 != 0) return ReadError::ForeignSlot;
  }
  constexpr std::uint64_t kHeaderTags =
      kHeaderTag | (kHeaderTag + 1U) << 8 | (kHeaderTag + 2U) << 16 | static_cast<std::uint64_t>(kHeaderTag + 3U) << 24;
  if ((slots[0].words[kTagWord] & 0xFFFF'FFFF) != kHeaderTags) return ReadError::WrongTag;
  if (has_event_words) {
    constexpr std::uint64_t kEventTags = kEventTag | kEventTag << 8 | kEventTag << 16;
    if ((slots[0].words[kTagWord] >> 32 & 0xFF'FFFF) != kEventTags) return ReadError::WrongTag;
  }
  if (header.is_event()) {
    const EventKind kind = EventView(slots[0]).kind();
    if (kind < EventKind::DecodeError || kind > EventKind::Lost) return ReadError::UnknownEvent;
  }
  return ReadError::None;
}

}  // namespace stopbit::record
