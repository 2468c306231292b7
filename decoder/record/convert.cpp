#include "decoder/record/convert.hpp"
#include "microcode/base/ascii.hpp"
#include "microcode/base/hex.hpp"

#include <algorithm>
#include <limits>

namespace stopbit::record {
namespace {

constexpr std::int64_t kFarExponent = 1'000'000;
constexpr std::size_t kMaxIntegerDigits = 20;  ///< Of a uint64.
constexpr std::int32_t kMaxDecimalExponent = 63;

constexpr bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/// At most kMaxIntegerDigits digits.
Int128 value_of(std::string_view digits) {
  Int128 value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

}  // namespace

bool read_number(std::string_view text, bool may_have_exponent, NumberText& out) {
  out = {};
  std::size_t at = 0;
  const auto skip_digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(from, at - from);
  };
  if (at < text.size() && text[at] == '-') {
    out.is_negative = true;
    ++at;
  }
  const std::string_view whole = skip_digits();
  std::string_view fraction;
  if (at < text.size() && text[at] == '.') {
    ++at;
    fraction = skip_digits();
  }
  if (whole.empty() && fraction.empty()) return false;
  out.digits.append(whole).append(fraction);
  out.digits.erase(0, std::min(out.digits.find_first_not_of('0'), out.digits.size()));
  if (may_have_exponent && at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool is_negative = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::string_view digits = skip_digits();
    if (digits.empty()) return false;
    for (const char c : digits) out.exponent = std::min(kFarExponent, out.exponent * 10 + (c - '0'));
    if (is_negative) out.exponent = -out.exponent;
  }
  out.exponent -= static_cast<std::int64_t>(fraction.size());
  return at == text.size();
}

ErrorCode to_integer(const NumberText& number, Int128 min, Int128 max, Int128& out) {
  std::string_view digits = number.digits;
  out = 0;
  if (digits.empty()) return min <= 0 && max >= 0 ? ErrorCode::None : ErrorCode::R4;
  std::int64_t exponent = number.exponent;
  while (exponent < 0 && !digits.empty() && digits.back() == '0') {
    digits.remove_suffix(1);
    ++exponent;
  }
  if (exponent < 0) return ErrorCode::R5;
  if (digits.size() + static_cast<std::size_t>(exponent) > kMaxIntegerDigits) return ErrorCode::R4;
  Int128 value = value_of(digits);
  for (; exponent > 0; --exponent) value *= 10;
  if (number.is_negative) value = -value;
  if (value < min || value > max) return ErrorCode::R4;
  out = value;
  return ErrorCode::None;
}

ErrorCode to_decimal(const NumberText& number, std::int64_t& mantissa, std::int32_t& exponent) {
  if (number.digits.size() > kMaxIntegerDigits) return ErrorCode::R1;
  if (number.exponent < -kMaxDecimalExponent || number.exponent > kMaxDecimalExponent) return ErrorCode::R1;
  const Int128 value = number.is_negative ? -value_of(number.digits) : value_of(number.digits);
  if (value < std::numeric_limits<std::int64_t>::min() || value > std::numeric_limits<std::int64_t>::max()) {
    return ErrorCode::R1;
  }
  mantissa = static_cast<std::int64_t>(value);
  exponent = static_cast<std::int32_t>(number.exponent);
  return ErrorCode::None;
}

ErrorCode to_bytes(std::string_view hex, std::string& out) {
  out.clear();
  int high = -1;
  for (const char c : hex) {
    if (is_space(c)) continue;
    const int digit = hex_digit(c);
    if (digit < 0) return ErrorCode::D11;
    if (high < 0) {
      high = digit;
    } else {
      out += static_cast<char>(high << 4 | digit);
      high = -1;
    }
  }
  return high < 0 ? ErrorCode::None : ErrorCode::D11;
}

ErrorCode to_ascii(std::string_view utf8, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    if (lead < 0x80) {
      out += utf8[i];
      continue;
    }
    if (lead > 0xC3 || i + 1 == utf8.size()) return ErrorCode::R3;  // U+00FF is C3 BF
    const auto next = static_cast<unsigned char>(utf8[++i]);
    out += static_cast<char>((lead & 0x03) << 6 | (next & 0x3F));
  }
  return ErrorCode::None;
}

}  // namespace stopbit::record
