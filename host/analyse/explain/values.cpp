#include "host/analyse/explain/values.hpp"

#include <algorithm>

#include "decoder/record/text.hpp"

namespace stopbit::explain {
namespace {

constexpr std::size_t kMaxShownBytes = 256;

std::string length_note(std::size_t bytes) {
  return "... (" + std::to_string(bytes) + " bytes)";
}

std::string set_text(const record::Schema& schema, const SchemaNode& node, std::uint64_t value) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(schema.element_count(node), 64); ++i) {
    if ((value >> i & 1) == 0) continue;
    if (!text.empty()) text += ' ';
    text += plain(schema.element_name(node, i));
  }
  return std::to_string(value) + " {" + text + "}";
}

}  // namespace

std::string plain(std::string_view text) {
  const std::string out = record::json_string(text, false);
  return out.substr(1, out.size() - 2);
}

std::string quoted(std::string_view text, bool is_ascii) {
  const std::string out = record::json_string(text.substr(0, kMaxShownBytes), is_ascii);
  return text.size() > kMaxShownBytes ? out + length_note(text.size()) : out;
}

std::string hex(std::string_view bytes) {
  std::string out;
  record::append_hex(out, bytes.substr(0, kMaxShownBytes));
  return bytes.size() > kMaxShownBytes ? out + length_note(bytes.size()) : out;
}

std::string number_text(wire::Int128 value) {
  if (value == 0) return "0";
  const bool is_negative = value < 0;
  std::string digits;
  for (; value != 0; value /= 10) {
    const auto digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
  }
  if (is_negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string value_text(const record::Schema& schema, const SchemaNode* node, std::uint64_t value) {
  if (node == nullptr || node->kind != NodeKind::Field) return std::to_string(value);
  switch (node->type) {
    case FieldType::Enum:
      if (value >= schema.element_count(*node)) break;
      return plain(schema.element_name(*node, value)) + " (" + std::to_string(value) + ")";
    case FieldType::Set: return set_text(schema, *node, value);
    case FieldType::Boolean: return value == 0 ? "false" : value == 1 ? "true" : std::to_string(value);
    default: break;
  }
  const bool is_signed = record::is_signed(node->type) || node->type == FieldType::Decimal;
  return is_signed ? std::to_string(static_cast<std::int64_t>(value)) : std::to_string(value);
}

std::string string_text(const SchemaNode* node, std::string_view value) {
  if (node == nullptr || node->type == FieldType::ByteVector) return hex(value);
  return quoted(value, node->type == FieldType::Ascii);
}

std::string constant_text(const record::Schema& schema, const SchemaNode& node) {
  const Program& program = schema.program();
  const Constant& constant = program.constants[node.constant_index];
  if (record::is_text(node.type)) return string_text(&node, program.constant_bytes(constant.bytes()));
  if (node.type != FieldType::Decimal) return value_text(schema, &node, constant.value);
  std::string text;
  record::append_decimal(text, static_cast<std::int64_t>(program.constants[node.constant_index + 1U].value),
                         static_cast<std::int32_t>(constant.value));
  return text;
}

}  // namespace stopbit::explain
