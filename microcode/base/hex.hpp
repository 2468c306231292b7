#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stopbit {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

/// Of a digit of either case, 0 to 15; -1 of anything else.
[[nodiscard]] constexpr int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// The lowest digits of the value, without a prefix.
inline void append_hex(std::string& out, std::uint64_t value, unsigned digits) {
  while (digits-- != 0) out += kHexDigits[value >> (4 * digits) & 0xF];
}

/// "0x1f", with at least `least_digits` digits.
[[nodiscard]] inline std::string hex_text(std::uint64_t value, unsigned least_digits = 1) {
  unsigned digits = least_digits;
  while (digits < 16 && value >> (4 * digits) != 0) ++digits;
  std::string out = "0x";
  append_hex(out, value, digits);
  return out;
}

}  // namespace stopbit
