#include "decoder/record/cursor.hpp"

#include <algorithm>

#include "decoder/record/frame.hpp"

namespace stopbit::record {

ReadError Cursor::open(std::span<const Slot> slots) noexcept {
  slots_ = {};
  body_slots_ = 0;
  next_slot_ = 0;
  block_slot_ = 0;
  block_ = nullptr;
  if (const ReadError error = check_frame(slots); error != ReadError::None) return error;
  const HeaderView header(slots[0]);
  slots_ = slots.first(header.slots());
  body_slots_ = slots_.size() - header.string_slots();
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
