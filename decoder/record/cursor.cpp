#include "decoder/record/cursor.hpp"

#include <algorithm>

#include "decoder/record/views.hpp"

namespace stopbit::record {

std::string_view error_text(ReadError error) noexcept {
  switch (error) {
    case ReadError::None: return {};
    case ReadError::Truncated: return "the record's lengths do not fit its slots";
    case ReadError::ForeignSlot: return "a slot belongs to another record";
    case ReadError::Pad: return "the slot is padding";
    case ReadError::UnknownTemplate: return "the record names a template that the schema does not have";
    case ReadError::UnknownEvent: return "the record is an event of unknown kind";
    case ReadError::WrongTag: return "a tag is not the one of its word";
    case ReadError::MissingSlots: return "a block begins where no slot is left";
    case ReadError::MissingValue: return "a mandatory value is missing";
    case ReadError::BadString: return "a string has no legal form or leaves the string area";
    case ReadError::BadValue: return "a value is outside its type";
    case ReadError::TooManyElements: return "the record has more sequence elements than a datagram can make";
    case ReadError::TooDeep: return "dynamic references are nested too deeply";
    case ReadError::TooMuchWork: return "the record takes more work than allowed";
    case ReadError::TooLong: return "the text of the record is longer than allowed";
    case ReadError::LeftOver: return "slots remain behind the record's last block";
  }
  return "the error is unknown";
}

ReadError Cursor::open(std::span<const Slot> slots) noexcept {
  slots_ = {};
  body_slots_ = 0;
  next_slot_ = 0;
  block_ = nullptr;
  if (slots.empty()) return ReadError::Truncated;
  const HeaderView header(slots[0]);
  if (header.is_pad()) return ReadError::Pad;
  const std::size_t total = header.slots();
  const std::size_t strings = header.string_slots();
  if (total == 0 || total > slots.size() || strings >= total) return ReadError::Truncated;
  if (header.is_event() && total != 1) return ReadError::Truncated;

  const bool phase = slots[0].words[kTagWord] >> 63 != 0;
  for (std::size_t i = 0; i < total; ++i) {
    if ((slots[i].words[kTagWord] ^ tag_word_base(phase, i)) >> 56 != 0) return ReadError::ForeignSlot;
  }
  constexpr std::uint64_t kHeaderTags =
      kHeaderTag | (kHeaderTag + 1U) << 8 | (kHeaderTag + 2U) << 16 | static_cast<std::uint64_t>(kHeaderTag + 3U) << 24;
  if ((slots[0].words[kTagWord] & 0xFFFF'FFFF) != kHeaderTags) return ReadError::WrongTag;
  if (header.is_event()) {
    constexpr std::uint64_t kEventTags = kEventTag | kEventTag << 8 | kEventTag << 16;
    if ((slots[0].words[kTagWord] >> 32 & 0xFF'FFFF) != kEventTags) return ReadError::WrongTag;
    const EventKind kind = EventView(slots[0]).kind();
    if (kind < EventKind::DecodeError || kind > EventKind::LayoutChanged) return ReadError::UnknownEvent;
  }
  slots_ = slots.first(total);
  body_slots_ = total - strings;
  return ReadError::None;
}

ReadError Cursor::reference(std::uint64_t& template_index) const noexcept {
  if (next_slot_ == body_slots_) return ReadError::MissingSlots;
  const Slot& slot = slots_[next_slot_];
  if ((slot.words[kTagWord] & 0xFF) != kReferenceTag) return ReadError::WrongTag;
  template_index = slot.words[0];
  return ReadError::None;
}

ReadError Cursor::text(std::uint64_t raw, std::string_view& out) noexcept {
  const auto form = static_cast<std::uint8_t>(raw >> 56);
  if (form < 8 || form >= 0x80) {
    const std::uint64_t characters = raw & 0x7FFF'FFFF'FFFF'FFFFU;
    std::memcpy(text_.data(), &characters, sizeof(characters));
    out = {text_.data(), form < 8 ? form : std::size_t{8}};
    return ReadError::None;
  }
  const auto length = static_cast<std::uint32_t>(raw);
  const std::size_t first = raw >> 32 & 0xFFFF;
  const bool has_form = form == kLongString && (raw >> 48 & 0xFF) == 0 && length <= limits::kMaxStringBytes;
  if (!has_form || first + string_slots(length) > slots_.size() - body_slots_) return ReadError::BadString;
  const Slot* from = slots_.data() + body_slots_ + first;
  for (std::size_t at = 0; at < length; at += kStringSlotBytes, ++from) {
    std::memcpy(text_.data() + at, from->words, std::min<std::size_t>(kStringSlotBytes, length - at));
  }
  out = {text_.data(), length};
  return ReadError::None;
}

}  // namespace stopbit::record
