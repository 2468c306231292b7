#include "templates/sema/value.hpp"

#include <charconv>
#include <cstdint>
#include <limits>

#include "microcode/base/hex.hpp"
#include "templates/ast/vocabulary.hpp"
#include "templates/report.hpp"

namespace stopbit::templates::sema {
namespace {

constexpr std::int64_t kMaxExponent = 63;

bool is_digits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

template <class Integer>
Result<ast::Value> integer(std::string_view text) {
  const std::string_view trimmed = ast::trim(text);
  const bool negative = std::is_signed_v<Integer> && trimmed.starts_with('-');
  const std::string_view digits = trimmed.substr(negative ? 1 : 0);
  if (digits.empty() || !is_digits(digits)) return Failure{quoted(text) + " is not an integer"};
  Integer number = 0;
  if (std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number).ec != std::errc()) {
    return Failure{quoted(trimmed) + " is outside " + std::to_string(std::numeric_limits<Integer>::min()) + " to " +
                   std::to_string(std::numeric_limits<Integer>::max())};
  }
  ast::Value value;
  value.integer = static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
  return value;
}

Result<ast::Value> decimal(std::string_view text) {
  const std::string_view trimmed = ast::trim(text);
  const bool negative = trimmed.starts_with('-');
  const std::string_view number = trimmed.substr(negative ? 1 : 0);
  const std::size_t point = number.find('.');
  const std::string_view whole = number.substr(0, point);
  const std::string_view fraction = point == std::string_view::npos ? std::string_view() : number.substr(point + 1);
  const bool ends_in_point = point != std::string_view::npos && fraction.empty();
  if ((whole.empty() && fraction.empty()) || ends_in_point || !is_digits(whole) || !is_digits(fraction)) {
    return Failure{quoted(text) + " is not a decimal number"};
  }
  std::string digits = std::string(whole) + std::string(fraction);
  ast::Value value;
  const std::size_t last = digits.find_last_not_of('0');
  if (last == std::string::npos) return value;  // 0 * 10^0
  value.exponent = static_cast<std::int64_t>(digits.size() - 1 - last) - static_cast<std::int64_t>(fraction.size());
  digits.resize(last + 1);
  digits.erase(0, digits.find_first_not_of('0'));
  if (negative) digits.insert(0, 1, '-');
  std::int64_t mantissa = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), mantissa).ec != std::errc()) {
    return Failure{"the mantissa of " + quoted(trimmed) + " does not fit in 64 bits"};
  }
  if (value.exponent < -kMaxExponent || value.exponent > kMaxExponent) {
    return Failure{"the exponent of " + quoted(trimmed) + " is outside -63 to 63"};
  }
  value.integer = static_cast<std::uint64_t>(mantissa);
  return value;
}

Result<ast::Value> hex_bytes(std::string_view text) {
  ast::Value value;
  std::string digits;
  for (const char c : text) {
    if (ast::trim(std::string_view(&c, 1)).empty()) continue;
    if (hex_digit(c) < 0) return Failure{quoted(text) + " is not a string of hexadecimal digits"};
    digits += c;
  }
  if (digits.size() % 2 != 0) return Failure{quoted(text) + " has an odd number of hexadecimal digits"};
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    value.bytes += static_cast<char>(byte);
  }
  return value;
}

Failure no_element(std::string_view text, const ElementIndex& elements) {
  return {quoted(text) + " is not an element" + (elements.name().empty() ? "" : " of " + quoted(elements.name()))};
}

Result<ast::Value> enumerated(std::string_view text, const ElementIndex& elements) {
  text = ast::trim(text);
  ast::Value value;
  if (const std::optional<std::uint32_t> number = ast::number_from(text); number && *number < elements.size()) {
    value.integer = *number;
  } else if (const std::optional<std::size_t> index = elements.find(text)) {
    value.integer = *index;
  } else {
    return no_element(text, elements);
  }
  return value;
}

Result<ast::Value> set(std::string_view text, const ElementIndex& elements) {
  text = ast::trim(text);
  if (Result<ast::Value> bits = integer<std::uint64_t>(text)) {
    if (elements.size() >= 64 || bits.value().integer >> elements.size() == 0) return bits;
  }
  ast::Value value;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find_first_of(" \t\r\n"));
    const std::optional<std::size_t> index = elements.find(name);
    if (!index) return no_element(name, elements);
    if (*index < 64) value.integer |= std::uint64_t{1} << *index;
    text = ast::trim(text.substr(name.size()));
  }
  return value;
}

Result<ast::Value> boolean(std::string_view text) {
  text = ast::trim(text);
  ast::Value value;
  if (text == "true" || text == "1") {
    value.integer = 1;
  } else if (text != "false" && text != "0") {
    return Failure{quoted(text) + " is neither 'true' nor 'false'"};
  }
  return value;
}

}  // namespace

ElementIndex::ElementIndex(const ast::Enumeration& enumeration)
    : name_(enumeration.name), size_(enumeration.elements.size()) {
  for (const auto member : {&ast::EnumerationElement::name, &ast::EnumerationElement::label}) {
    for (std::size_t i = 0; i < size_; ++i) {
      const std::string& text = enumeration.elements[i].*member;
      if (!text.empty()) index_.try_emplace(text, i);
    }
  }
}

std::optional<std::size_t> ElementIndex::find(std::string_view text) const {
  const auto found = index_.find(text);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

Result<ast::Value> convert(std::string_view text, FieldType type, const ElementIndex* elements) {
  ast::Value value;
  switch (type) {
    case FieldType::Int8: return integer<std::int8_t>(text);
    case FieldType::UInt8: return integer<std::uint8_t>(text);
    case FieldType::Int16: return integer<std::int16_t>(text);
    case FieldType::UInt16: return integer<std::uint16_t>(text);
    case FieldType::Int32: return integer<std::int32_t>(text);
    case FieldType::UInt32: return integer<std::uint32_t>(text);
    case FieldType::Int64:
    case FieldType::Timestamp: return integer<std::int64_t>(text);
    case FieldType::UInt64: return integer<std::uint64_t>(text);
    case FieldType::Decimal: return decimal(text);
    case FieldType::ByteVector: return hex_bytes(text);
    case FieldType::Boolean: return boolean(text);
    case FieldType::Set: return set(text, *elements);
    case FieldType::Enum: return enumerated(text, *elements);
    case FieldType::Ascii:
      for (const char c : text) {
        if (static_cast<unsigned char>(c) >= 0x80) return Failure{quoted(text) + " has characters that ASCII lacks"};
      }
      [[fallthrough]];
    case FieldType::Unicode: value.bytes = text; return value;
  }
  return Failure{"the type has no values"};
}

bool is_ambiguous(std::string_view text, const ElementIndex& elements) {
  text = ast::trim(text);
  const std::optional<std::uint32_t> number = ast::number_from(text);
  const std::optional<std::size_t> named = elements.find(text);
  return number && named && *number < elements.size() && *number != *named;
}

Result<ast::Value> convert_exponent(std::string_view text) {
  Result<ast::Value> value = integer<std::int32_t>(text);
  if (!value) return value;
  const auto exponent = static_cast<std::int64_t>(value.value().integer);
  if (exponent < -kMaxExponent || exponent > kMaxExponent)
    return Failure{"exponent " + std::to_string(exponent) + " is outside -63 to 63"};
  return value;
}

}  // namespace stopbit::templates::sema
