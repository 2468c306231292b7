#include "templates/lower/facts.hpp"

namespace stopbit::templates::lower {
namespace {

using Kind = isa::Operator;

std::size_t bits_of(const ast::Operator& op, bool optional) {
  switch (op.kind) {
    case Kind::Def:
    case Kind::Cop:
    case Kind::Inc:
    case Kind::Tai: return 1;
    case Kind::Con: return optional ? 1 : 0;
    default: return 0;
  }
}

bool is_always_on_wire(const ast::Operator& op) {
  return op.kind == Kind::Non || op.kind == Kind::Del;
}

std::size_t field_bytes(const ast::Field& field) {
  if (field.parts) {
    const std::size_t exponent = is_always_on_wire(field.parts->exponent) ? 1 : 0;
    const std::size_t mantissa = !field.optional && is_always_on_wire(field.parts->mantissa) ? 1 : 0;
    return exponent + mantissa;
  }
  if (!is_always_on_wire(field.op)) return 0;
  if (field.optional) return 1;  // NULL
  const bool is_string =
      field.type == FieldType::Ascii || field.type == FieldType::Unicode || field.type == FieldType::ByteVector;
  const bool two_entities = field.type == FieldType::Decimal || (is_string && field.op.kind == Kind::Del);
  return two_entities ? 2 : 1;
}

std::size_t item_bytes(const std::vector<ir::Item>& items, std::size_t index) {
  const ir::Item& item = items[index];
  switch (item.kind) {
    case NodeKind::Field: return field_bytes(*item.field);
    case NodeKind::Sequence: return is_always_on_wire(item.length->op) ? 1 : 0;
    case NodeKind::Reference: return 1;  // The presence map; the identifier may be copied.
    case NodeKind::Group: break;
  }
  if (item.group->optional) return 0;
  if (item.group->is_bits) {
    const bool is_whole = item.group->op.kind == Kind::Non;
    return is_whole ? isa::group_bytes(item.group->bits) : is_always_on_wire(item.group->op) ? 1 : 0;
  }
  return (presence_bits(items, index + 1, item.end) != 0 ? 1 : 0) + min_bytes(items, index + 1, item.end);
}

}  // namespace

bool is_schema_constant(const ast::Field& field) {
  if (field.optional) return false;
  if (!field.parts) return field.op.kind == Kind::Con;
  return field.parts->exponent.kind == Kind::Con && field.parts->mantissa.kind == Kind::Con;
}

std::size_t words_of(const ast::Field& field) {
  if (is_schema_constant(field)) return 0;
  return field.type == FieldType::Decimal ? 2 : 1;
}

std::size_t presence_bits(const ir::Item& item) {
  switch (item.kind) {
    case NodeKind::Field:
      if (!item.field->parts) return bits_of(item.field->op, item.field->optional);
      return bits_of(item.field->parts->exponent, item.field->optional) + bits_of(item.field->parts->mantissa, false);
    case NodeKind::Group:
      return (item.group->optional ? 1U : 0U) + (item.group->is_bits ? bits_of(item.group->op, false) : 0U);
    case NodeKind::Sequence: return bits_of(item.length->op, item.group->optional);
    case NodeKind::Reference: return 0;
  }
  return 0;
}

std::size_t presence_bits(const std::vector<ir::Item>& items, std::size_t begin, std::size_t end) {
  std::size_t bits = 0;
  for (std::size_t i = begin; i < end; i = items[i].end) bits += presence_bits(items[i]);
  return bits;
}

std::size_t min_bytes(const std::vector<ir::Item>& items, std::size_t begin, std::size_t end) {
  std::size_t bytes = 0;
  for (std::size_t i = begin; i < end; i = items[i].end) bytes += item_bytes(items, i);
  return bytes;
}

}  // namespace stopbit::templates::lower
