#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Integers as decimal digits, eight at a time. Writers return the end of what they wrote and may overwrite up to
/// `kDigitsRoom` bytes from where they began.
namespace stopbit::record {

/// Room that a writer needs: the longest decimal, "-0." and 63 digits after it, and whole blocks that it copies.
inline constexpr std::size_t kDigitsRoom = 128;

namespace digits {

inline constexpr auto kPowers = [] {
  std::array<std::uint64_t, 20> powers{};
  std::uint64_t power = 1;
  for (std::uint64_t& item : powers) {
    item = power;
    power *= 10;
  }
  return powers;
}();

/// 1 for 0.
[[nodiscard]] inline unsigned count(std::uint64_t value) noexcept {
  constexpr unsigned kLog2Of10Inverse = 1233;  // of 4096
  value |= 1;                                  // no power of ten but 1 is odd: no other count changes
  const auto guess = static_cast<unsigned>(std::bit_width(value)) * kLog2Of10Inverse >> 12;
  return guess + (value >= kPowers[guess] ? 1 : 0);
}

inline constexpr std::uint32_t kBelow = 100'000'000;  ///< Eight digits.

/// The eight digits of a number below kBelow as bytes 0 to 9, the first one lowest: halves, pairs, digits, in parallel.
[[nodiscard]] inline std::uint64_t eight(std::uint32_t value) noexcept {
  const std::uint64_t halves = value / 10'000 | static_cast<std::uint64_t>(value % 10'000) << 32;
  const std::uint64_t hundreds = (halves * 10'486) >> 20 & 0x7F'0000'007F;
  const std::uint64_t pairs = hundreds | (halves - hundreds * 100) << 16;
  const std::uint64_t tens = (pairs * 103) >> 10 & 0x000F'000F'000F'000F;
  return tens | (pairs - tens * 10) << 8;
}

inline constexpr std::uint64_t kZeros = 0x3030'3030'3030'3030;

inline void write_word(char* to, std::uint64_t word) noexcept {
  std::memcpy(to, &word, sizeof(word));
}

/// Without leading zeros. Writes eight bytes.
inline char* write_below(char* to, std::uint32_t value) noexcept {
  const std::uint64_t all = eight(value);
  const int zeros = std::countr_zero(all | std::uint64_t{1} << 56) & ~7;  // the last digit is no leading zero
  write_word(to, (all | kZeros) >> zeros);
  return to + 8 - zeros / 8;
}

inline char* write_eight(char* to, std::uint32_t value) noexcept {
  write_word(to, eight(value) | kZeros);
  return to + 8;
}

}  // namespace digits

inline char* write_unsigned(char* to, std::uint64_t value) noexcept {
  using digits::kBelow;
  if (value < kBelow) [[likely]]
    return digits::write_below(to, static_cast<std::uint32_t>(value));
  const std::uint64_t high = value / kBelow;
  if (high < kBelow) {
    to = digits::write_below(to, static_cast<std::uint32_t>(high));
  } else {
    to = digits::write_below(to, static_cast<std::uint32_t>(high / kBelow));
    to = digits::write_eight(to, static_cast<std::uint32_t>(high % kBelow));
  }
  return digits::write_eight(to, static_cast<std::uint32_t>(value % kBelow));
}

inline char* write_signed(char* to, std::int64_t value) noexcept {
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0) return write_unsigned(to, bits);
  *to = '-';
  return write_unsigned(to + 1, 0 - bits);
}

/// Exactly, the exponent kept: 141150, -2 gives 1411.50; 1, 1 gives 1e1. `exponent` must be in -63..63.
inline char* write_decimal(char* to, std::int64_t mantissa, std::int32_t exponent) noexcept {
  if (exponent >= 0) {
    to = write_signed(to, mantissa);
    if (exponent == 0) return to;
    *to++ = 'e';
    return write_unsigned(to, static_cast<std::uint32_t>(exponent));
  }
  const auto bits = static_cast<std::uint64_t>(mantissa);
  const std::uint64_t value = mantissa < 0 ? 0 - bits : bits;
  if (mantissa < 0) *to++ = '-';
  const auto fraction = static_cast<std::size_t>(-exponent);
  const std::size_t length = digits::count(value);
  if (length > fraction) {
    char* const end = write_unsigned(to, value);
    std::array<char, 24> tail;  // at most 19 digits come after the point
    std::memcpy(tail.data(), end - fraction, tail.size());
    *(end - fraction) = '.';
    std::memcpy(end - fraction + 1, tail.data(), tail.size());
    return end + 1;
  }
  *to++ = '0';
  *to++ = '.';
  std::memset(to, '0', fraction - length);
  return write_unsigned(to + (fraction - length), value);
}

}  // namespace stopbit::record
