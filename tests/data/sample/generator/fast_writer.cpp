#include "tests/data/sample/generator/fast_writer.hpp"

#include <stdexcept>

namespace stopbit::sample {
namespace {

constexpr char kStop = static_cast<char>(0x80);

std::string stop_bit(std::uint64_t value) {
  std::string bytes(1, static_cast<char>((value & 0x7F) | 0x80));
  while ((value >>= 7) != 0) bytes.insert(bytes.begin(), static_cast<char>(value & 0x7F));
  return bytes;
}

std::string stop_bit_signed(std::int64_t value) {
  std::string bytes(1, static_cast<char>((value & 0x7F) | 0x80));
  bool negative = (value & 0x40) != 0;
  for (value >>= 7; value != (negative ? -1 : 0); value >>= 7) {
    bytes.insert(bytes.begin(), static_cast<char>(value & 0x7F));
    negative = (value & 0x40) != 0;
  }
  return bytes;
}

std::string decimal_text(Decimal value) {
  std::string digits = std::to_string(value.mantissa < 0 ? -value.mantissa : value.mantissa);
  const std::string sign = value.mantissa < 0 ? "-" : "";
  if (value.exponent > 0) return sign + digits + "e" + std::to_string(value.exponent);
  const auto fraction = static_cast<std::size_t>(-value.exponent);
  if (fraction == 0) return sign + digits;
  if (digits.size() <= fraction) digits.insert(0, fraction + 1 - digits.size(), '0');
  return sign + digits.insert(digits.size() - fraction, 1, '.');
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------- structure

std::string FastWriter::Segment::bytes() const {
  if (bits.empty()) return body;
  std::string map;
  for (std::size_t i = 0; i < bits.size(); i += 7) {
    unsigned byte = 0;
    for (std::size_t bit = i; bit < i + 7; ++bit) byte = byte << 1 | (bit < bits.size() && bits[bit] ? 1U : 0U);
    map += static_cast<char>(byte);
  }
  while (map.size() > 1 && map.back() == 0) map.pop_back();
  map.back() = static_cast<char>(map.back() | kStop);
  return map + body;
}

void FastWriter::begin_message(std::uint32_t id, std::string_view name, bool resets) {
  segments_.assign(1, {});
  Previous& last = previous("template id");
  const bool same = last.number == static_cast<std::int64_t>(id);
  segment().bits.push_back(!same);
  if (!same) put_unsigned(id);
  if (resets) reset();
  previous("template id").number = id;
  json_ = "{\"template\":\"" + std::string(name) + "\",\"id\":" + std::to_string(id) + ",\"fields\":{";
}

std::string FastWriter::end_message() {
  json_ += "}}";
  return segment().bytes();
}

void FastWriter::pop_segment() {
  const std::string bytes = segment().bytes();
  segments_.pop_back();
  segment().body += bytes;
}

void FastWriter::begin_group(std::string_view name, bool present) {
  segment().bits.push_back(present);
  if (!present) return;
  segments_.emplace_back();
  json_name(name);
  json_ += '{';
}

void FastWriter::end_group() {
  pop_segment();
  json_ += '}';
}

void FastWriter::begin_sequence(std::string_view name, std::uint32_t count) {
  put_unsigned(count);
  json_name(name);
  json_ += '[';
}

void FastWriter::begin_optional_sequence(std::string_view name, std::optional<std::uint32_t> count) {
  put_nullable(count);
  if (!count) return;
  json_name(name);
  json_ += '[';
}

void FastWriter::end_sequence() {
  json_ += ']';
}

void FastWriter::begin_element() {
  segments_.emplace_back();
  if (json_.back() != '[') json_ += ',';
  json_ += '{';
}

void FastWriter::end_element() {
  pop_segment();
  json_ += '}';
}

// ------------------------------------------------------------------------------------------------------------- fields

void FastWriter::constant(std::string_view name, std::string_view value) {
  json_text(name, value);
}

void FastWriter::plain(std::string_view name, std::uint64_t value) {
  put_unsigned(value);
  json_number(name, value);
}

void FastWriter::plain(std::string_view name, std::string_view value) {
  put_text(value);
  json_text(name, value);
}

void FastWriter::plain_unicode(std::string_view name, std::string_view value) {
  put_unsigned(value.size());
  segment().body += value;
  json_text(name, value);
}

void FastWriter::plain(std::string_view name, Decimal value) {
  put_signed(value.exponent);
  put_signed(value.mantissa);
  json_decimal(name, value);
}

void FastWriter::plain_optional(std::string_view name, std::optional<std::uint64_t> value) {
  put_nullable(value);
  if (value) json_number(name, *value);
}

void FastWriter::plain_optional(std::string_view name, std::optional<std::string_view> value) {
  put_nullable_text(value);
  if (value) json_text(name, *value);
}

void FastWriter::plain_optional(std::string_view name, std::optional<Decimal> value) {
  if (!value) {
    segment().body += kStop;
    return;
  }
  put_signed(value->exponent >= 0 ? value->exponent + 1 : value->exponent);
  put_signed(value->mantissa);
  json_decimal(name, *value);
}

void FastWriter::with_default(std::string_view name, std::uint64_t value, std::uint64_t initial) {
  segment().bits.push_back(value != initial);
  if (value != initial) put_unsigned(value);
  json_number(name, value);
}

void FastWriter::with_default(std::string_view name, std::string_view value, std::string_view initial) {
  segment().bits.push_back(value != initial);
  if (value != initial) put_text(value);
  json_text(name, value);
}

void FastWriter::with_default_optional(std::string_view name, std::optional<std::uint64_t> value,
                                       std::uint64_t initial) {
  segment().bits.push_back(value != initial);
  if (value != initial) put_nullable(value);
  if (value) json_number(name, *value);
}

void FastWriter::with_default_optional(std::string_view name, std::optional<std::string_view> value,
                                       std::string_view initial) {
  segment().bits.push_back(value != initial);
  if (value != initial) put_nullable_text(value);
  if (value) json_text(name, *value);
}

void FastWriter::copied(std::string_view name, std::uint64_t value, std::optional<std::uint64_t> initial) {
  Previous& last = previous(name);
  const auto number = static_cast<std::int64_t>(value);
  const bool same = last.number ? *last.number == number : initial == value;
  segment().bits.push_back(!same);
  if (!same) put_unsigned(value);
  last.number = number;
  json_number(name, value);
}

void FastWriter::copied_signed(std::string_view name, std::int64_t value, std::int64_t initial) {
  Previous& last = previous(name);
  const bool same = last.number.value_or(initial) == value;
  segment().bits.push_back(!same);
  if (!same) put_signed(value);
  last.number = value;
  json_decimal(name, {value, 0});
}

void FastWriter::copied(std::string_view name, std::string_view value, std::optional<std::string_view> initial) {
  Previous& last = previous(name);
  const bool same = last.text ? *last.text == value : initial == value;
  segment().bits.push_back(!same);
  if (!same) put_text(value);
  last.text = value;
  json_text(name, value);
}

void FastWriter::incremented(std::string_view name, std::uint64_t value) {
  Previous& last = previous(name);
  const auto number = static_cast<std::int64_t>(value);
  const bool next = last.number && *last.number + 1 == number;
  segment().bits.push_back(!next);
  if (!next) put_unsigned(value);
  last.number = number;
  json_number(name, value);
}

void FastWriter::delta(std::string_view name, std::uint64_t value) {
  Previous& last = previous(name);
  const auto number = static_cast<std::int64_t>(value);
  put_signed(number - last.number.value_or(0));
  last.number = number;
  json_number(name, value);
}

void FastWriter::delta_optional(std::string_view name, std::optional<std::uint64_t> value) {
  if (!value) {
    segment().body += kStop;
    return;
  }
  Previous& last = previous(name);
  const std::int64_t difference = static_cast<std::int64_t>(*value) - last.number.value_or(0);
  put_signed(difference >= 0 ? difference + 1 : difference);
  last.number = static_cast<std::int64_t>(*value);
  json_number(name, *value);
}

void FastWriter::delta(std::string_view name, Decimal value) {
  Previous& last = previous(name);
  put_signed(value.exponent - last.exponent.value_or(0));
  put_signed(value.mantissa - last.number.value_or(0));
  last.exponent = value.exponent;
  last.number = value.mantissa;
  json_decimal(name, value);
}

void FastWriter::split_decimal(std::string_view name, Decimal value, std::int32_t initial_exponent) {
  segment().bits.push_back(value.exponent != initial_exponent);
  if (value.exponent != initial_exponent) put_signed(value.exponent);
  Previous& last = previous(std::string(name) + " mantissa");  // a key of its own, made from the decimal's name
  put_signed(value.mantissa - last.number.value_or(0));
  last.number = value.mantissa;
  json_decimal(name, value);
}

void FastWriter::tail(std::string_view name, std::string_view value) {
  Previous& last = previous(name);
  const std::string base = last.text.value_or("");
  const bool same = last.text && base == value;
  segment().bits.push_back(!same);
  if (!same) {
    // The shortest tail that makes the value of the base. A longer value replaces the base; a shorter one has no tail.
    if (value.size() < base.size())
      throw std::logic_error("no tail makes '" + std::string(value) + "' of '" + base + "'");
    std::size_t kept = 0;
    while (base.size() == value.size() && base[kept] == value[kept]) ++kept;
    put_text(value.substr(kept));
  }
  last.text = value;
  json_text(name, value);
}

// -------------------------------------------------------------------------------------------------------- wire, JSON

void FastWriter::put_unsigned(std::uint64_t value) {
  segment().body += stop_bit(value);
}

void FastWriter::put_signed(std::int64_t value) {
  segment().body += stop_bit_signed(value);
}

void FastWriter::put_nullable(std::optional<std::uint64_t> value) {
  segment().body += stop_bit(value ? *value + 1 : 0);
}

void FastWriter::put_text(std::string_view value) {
  segment().body += value.empty() ? std::string(1, '\0') : std::string(value);
  segment().body.back() = static_cast<char>(segment().body.back() | kStop);
}

void FastWriter::put_nullable_text(std::optional<std::string_view> value) {
  if (!value) {
    segment().body += kStop;
    return;
  }
  if (value->empty()) segment().body += '\0';
  put_text(*value);
}

void FastWriter::json_name(std::string_view name) {
  if (json_.back() != '{') json_ += ',';
  json_ += "\"" + std::string(name) + "\":";
}

void FastWriter::json_number(std::string_view name, std::uint64_t value) {
  json_name(name);
  json_ += std::to_string(value);
}

void FastWriter::json_text(std::string_view name, std::string_view value) {
  json_name(name);
  json_ += "\"" + std::string(value) + "\"";
}

void FastWriter::json_decimal(std::string_view name, Decimal value) {
  json_name(name);
  json_ += decimal_text(value);
}

}  // namespace stopbit::sample
