#include "host/market/stage/amounts.hpp"

#include <array>
#include <charconv>
#include <string_view>

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

std::uint64_t Amounts::identifier_of_text(std::uint8_t slot, bool& is_wide) const noexcept {
  std::array<char, 8> room;
  const std::string_view text = values_.text(slot, room);
  std::uint64_t value = 0;
  if (read_decimal(text, value)) return value;
  is_wide = true;
  return values_.is_long_text(slot) ? values_.bits(slot) : fnv1a(text);
}

std::uint64_t Amounts::integer_of_text(std::uint8_t slot) const noexcept {
  std::array<char, 8> room;
  std::uint64_t value = 0;
  return read_decimal(values_.text(slot, room), value) ? value : 0;
}

}  // namespace stopbit::market
