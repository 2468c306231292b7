#include "decoder/record/reader.hpp"

#include <algorithm>
#include <cstring>

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

ReadError Reader::open(std::span<const Slot> slots) noexcept {
  slots_ = {};
  error_ = ReadError::None;
  elements_left_ = kMaxElements;
  visits_left_ = kMaxVisits;
  references_ = 0;
  next_slot_ = 0;
  open_block_ = kNoBlock;
  if (slots.empty()) return error_ = ReadError::Truncated;
  const HeaderView header(slots[0]);
  if (header.is_pad()) return error_ = ReadError::Pad;
  const std::size_t total = header.slots();
  const std::size_t strings = header.string_slots();
  if (total == 0 || total > slots.size() || strings >= total) return error_ = ReadError::Truncated;
  if (header.is_event() && total != 1) return error_ = ReadError::Truncated;

  const bool phase = slots[0].words[kTagWord] >> 63 != 0;
  for (std::size_t i = 0; i < total; ++i) {
    if ((slots[i].words[kTagWord] ^ tag_word_base(phase, i)) >> 56 != 0) return error_ = ReadError::ForeignSlot;
  }
  constexpr std::uint64_t kHeaderTags =
      kHeaderTag | (kHeaderTag + 1U) << 8 | (kHeaderTag + 2U) << 16 | static_cast<std::uint64_t>(kHeaderTag + 3U) << 24;
  if ((slots[0].words[kTagWord] & 0xFFFF'FFFF) != kHeaderTags) return error_ = ReadError::WrongTag;
  if (header.is_event()) {
    constexpr std::uint64_t kEventTags = kEventTag | kEventTag << 8 | kEventTag << 16;
    if ((slots[0].words[kTagWord] >> 32 & 0xFF'FFFF) != kEventTags) return error_ = ReadError::WrongTag;
    const EventKind kind = EventView(slots[0]).kind();
    if (kind < EventKind::DecodeError || kind > EventKind::LayoutChanged) return error_ = ReadError::UnknownEvent;
  }
  slots_ = slots.first(total);
  body_slots_ = total - strings;
  return ReadError::None;
}

const Template* Reader::open_reference() noexcept {
  if (references_ == limits::kMaxCallDepth) {
    fail(ReadError::TooDeep);
    return nullptr;
  }
  if (next_slot_ == body_slots_) {
    fail(ReadError::MissingSlots);
    return nullptr;
  }
  const Slot& slot = slots_[next_slot_];
  if ((slot.words[kTagWord] & 0xFF) != kReferenceTag) {
    fail(ReadError::WrongTag);
    return nullptr;
  }
  const Template* item = slot.words[0] <= 0xFFFF ? schema_.find(static_cast<std::uint16_t>(slot.words[0])) : nullptr;
  if (item == nullptr) {
    fail(ReadError::UnknownTemplate);
    return nullptr;
  }
  if (!open_block(item->root_block, kReferenceWords)) return nullptr;
  ++references_;
  return item;
}

bool Reader::convert(const Node& node, Value& value) noexcept {
  if (is_text(node.type)) return convert_text(value.bytes);
  const bool has_elements = node.type == FieldType::Enum || node.type == FieldType::Set;
  if (!is_in_range(node.type, has_elements ? schema_.element_count(node) : 0, raw_)) return fail(ReadError::BadValue);
  if (node.type == FieldType::Decimal) {
    value.exponent = static_cast<std::int32_t>(raw_);
    bool present = false;
    if (!load_word(node.word + std::size_t{1}, present)) return false;
    if (!present) return fail(ReadError::MissingValue);
  }
  value.bits = raw_;
  return true;
}

bool Reader::convert_text(std::string_view& text) noexcept {
  const auto form = static_cast<std::uint8_t>(raw_ >> 56);
  if (form < 8 || form >= 0x80) {
    const std::uint64_t characters = raw_ & 0x7FFF'FFFF'FFFF'FFFFU;
    std::memcpy(text_.data(), &characters, sizeof(characters));
    text = {text_.data(), form < 8 ? form : std::size_t{8}};
    return true;
  }
  const auto length = static_cast<std::uint32_t>(raw_);
  const std::size_t first = raw_ >> 32 & 0xFFFF;
  const bool has_form = form == kLongString && (raw_ >> 48 & 0xFF) == 0 && length <= limits::kMaxStringBytes;
  if (!has_form || first + string_slots(length) > slots_.size() - body_slots_) return fail(ReadError::BadString);
  const Slot* from = slots_.data() + body_slots_ + first;
  for (std::size_t at = 0; at < length; at += kStringSlotBytes, ++from) {
    std::memcpy(text_.data() + at, from->words, std::min<std::size_t>(kStringSlotBytes, length - at));
  }
  text = {text_.data(), length};
  return true;
}

Value Reader::constant(const Schema& schema, const Node& node) noexcept {
  const Program& program = schema.program();
  const Constant& first = program.constants[node.constant_index];
  Value value;
  if (is_text(node.type)) {
    value.bytes = program.constant_bytes(first.bytes());
  } else if (node.type == FieldType::Decimal) {
    value.exponent = static_cast<std::int32_t>(first.value);
    value.bits = program.constants[node.constant_index + std::size_t{1}].value;
  } else {
    value.bits = first.value;
  }
  return value;
}

}  // namespace stopbit::record
