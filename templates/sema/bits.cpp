#include "templates/sema/bits.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "templates/report.hpp"
#include "templates/sema/value.hpp"

namespace stopbit::templates::sema {
namespace {

std::size_t elements_of(const ast::Field& field, const ast::TemplateSet& set) {
  return field.enumeration == ast::kNoEnumeration ? 2 : set.enumerations[field.enumeration].elements.size();
}

/// Whether the bits of a field stand for NULL or a value.
bool holds_value(const ast::Field& field, std::uint64_t bits, const ast::TemplateSet& set) {
  if (field.optional && bits == 0) return true;
  if (field.type == FieldType::Int8) {
    const unsigned unused = 64U - field.bits;
    auto value = static_cast<std::int64_t>(bits << unused) >> unused;
    if (field.optional && value > 0) --value;
    return fits_small(field, static_cast<std::uint64_t>(value));
  }
  const std::uint64_t value = field.optional ? bits - 1 : bits;
  if (field.type == FieldType::UInt8) return fits_small(field, value);
  const std::size_t elements = elements_of(field, set);
  return field.type == FieldType::Set ? elements >= 64 || value >> elements == 0 : value < elements;
}

}  // namespace

std::uint8_t bits_of(const ast::Field& field, const ast::TemplateSet& set) {
  const std::size_t null = field.optional ? 1 : 0;
  const std::size_t elements = elements_of(field, set);
  switch (field.type) {
    case FieldType::Int8:
    case FieldType::UInt8: return static_cast<std::uint8_t>(field.small_bits + null);
    case FieldType::Set: return static_cast<std::uint8_t>(std::min<std::size_t>(elements + null, UINT8_MAX));
    default: {
      const std::size_t values = std::max<std::size_t>(elements, 1) + null;
      return static_cast<std::uint8_t>(std::max(1, static_cast<int>(std::bit_width(values - 1))));
    }
  }
}

bool fits_small(const ast::Field& field, std::uint64_t value) {
  if (field.type == FieldType::UInt8) return value >> field.small_bits == 0;
  const std::int64_t bound = std::int64_t{1} << (field.small_bits - 1);
  const auto number = static_cast<std::int64_t>(value);
  return number >= -bound && number < bound;
}

Result<ast::Value> convert_bits(std::string_view text, const ast::Group& group, const ast::TemplateSet& set) {
  Result<ast::Value> value = convert(text, FieldType::UInt64, nullptr);
  if (!value) return value;
  std::uint64_t& number = value.value().integer;
  if (number >> group.bits != 0) {
    return Failure{quoted(text) + " needs more than the " + std::to_string(group.bits) + " bits of the group"};
  }
  unsigned behind = group.bits;
  for (const ast::Instruction& instruction : group.body) {
    const auto& field = std::get<ast::Field>(instruction.of);
    if (field.bits == 0) continue;
    behind -= field.bits;
    const std::uint64_t bits = number >> behind & ((std::uint64_t{1} << field.bits) - 1);
    if (!holds_value(field, bits, set)) {
      return Failure{"the bits of " + quoted(field.name.text) + " in " + quoted(text) + " are not one of its values"};
    }
  }
  number <<= isa::unused_bits(group.bits);
  return value;
}

}  // namespace stopbit::templates::sema
