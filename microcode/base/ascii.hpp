#pragma once

/// Characters of ASCII, whatever the locale.
namespace stopbit {

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
[[nodiscard]] constexpr bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
[[nodiscard]] constexpr bool is_letter_or_digit(char c) noexcept {
  return is_letter(c) || is_digit(c);
}

}  // namespace stopbit
