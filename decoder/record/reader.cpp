#include "decoder/record/reader.hpp"

namespace stopbit::record {

ReadError Reader::open(std::span<const Slot> slots) noexcept {
  elements_left_ = kMaxElements;
  visits_left_ = kMaxVisits;
  references_ = 0;
  open_block_ = kNoBlock;
  return error_ = cursor_.open(slots);
}

const Template* Reader::open_reference() noexcept {
  if (references_ == limits::kMaxCallDepth) {
    fail(ReadError::TooDeep);
    return nullptr;
  }
  std::uint64_t index = 0;
  if (!pass(cursor_.reference(index))) return nullptr;
  const Template* item = index <= 0xFFFF ? schema_.find(static_cast<std::uint16_t>(index)) : nullptr;
  if (item == nullptr) {
    fail(ReadError::UnknownTemplate);
    return nullptr;
  }
  if (!open_block(item->root_block, kReferenceWords)) return nullptr;
  ++references_;
  return item;
}

bool Reader::convert_limited(const SchemaNode& node, Value& value) noexcept {
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

Value Reader::constant(const Schema& schema, const SchemaNode& node) noexcept {
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
