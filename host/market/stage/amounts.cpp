#include "host/market/stage/amounts.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "host/market/event/fixed.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::market {
namespace {

/// A decimal number below 2^64 without leading zeros.
bool read_decimal(std::string_view text, std::uint64_t& value) noexcept {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::int64_t Amounts::number(std::uint8_t slot, std::int32_t unit, std::int32_t of_integers, std::int64_t none,
                             bool& is_wide) const noexcept {
  if (!values_.has(slot)) return none;
  const FieldType type = values_.type(slot);
  const std::uint64_t bits = values_.bits(slot);
  std::optional<std::int64_t> value;
  if (type == FieldType::Decimal) {
    value = fixed(static_cast<std::int64_t>(bits), values_.exponent(slot), unit);
  } else if (!record::is_text(type) && (record::is_signed(type) || bits <= INT64_MAX)) {
    value = fixed(static_cast<std::int64_t>(bits), of_integers, unit);
  }
  if (value) return *value;
  is_wide = true;
  return none;
}

std::int64_t Amounts::price(std::uint8_t slot, bool& is_wide) const noexcept {
  return number(slot, -9, -static_cast<std::int32_t>(map_.source.price_decimals), kNoPrice, is_wide);
}

std::int64_t Amounts::quantity(std::uint8_t slot, bool& is_wide) const noexcept {
  return number(slot, -static_cast<std::int32_t>(map_.source.quantity_decimals), 0, kNoQuantity, is_wide);
}

std::uint64_t Amounts::identifier(std::uint8_t slot, bool& is_wide) const noexcept {
  if (!values_.has(slot)) return 0;
  if (!record::is_text(values_.type(slot))) return values_.bits(slot);
  std::array<char, 8> room;
  const std::string_view text = values_.text(slot, room);
  std::uint64_t value = 0;
  if (read_decimal(text, value)) return value;
  is_wide = true;
  return values_.is_long_text(slot) ? values_.bits(slot) : fnv1a(text);
}

std::uint64_t Amounts::integer(std::uint8_t slot) const noexcept {
  if (!record::is_text(values_.type(slot))) return values_.bits(slot);
  std::array<char, 8> room;
  std::uint64_t value = 0;
  return read_decimal(values_.text(slot, room), value) ? value : 0;
}

}  // namespace stopbit::market
