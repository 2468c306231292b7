#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Integers as decimal digits, two at a time. Writers return the end of what they wrote and may overwrite up to
/// `kDigitsRoom` bytes from where they began.
namespace stopbit::record {

/// Room that a writer needs: the longest decimal, "-0." and 63 digits after it, and whole blocks that it copies.
inline constexpr std::size_t kDigitsRoom = 128;

namespace digits {

inline constexpr auto kPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

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

inline void pair(char* to, std::uint32_t below_100) noexcept {
  std::memcpy(to, kPairs.data() + std::size_t{2} * below_100, 2);
}

inline void eight(char* to, std::uint32_t value) noexcept {
  const std::uint32_t high = value / 10'000;
  const std::uint32_t low = value % 10'000;
  pair(to, high / 100);
  pair(to + 2, high % 100);
  pair(to + 4, low / 100);
  pair(to + 6, low % 100);
}

}  // namespace digits

inline char* write_unsigned(char* to, std::uint64_t value) noexcept {
  constexpr std::uint64_t kEightDigits = 100'000'000;
  char* const end = to + digits::count(value);
  char* at = end;
  while (value >= kEightDigits) {
    at -= 8;
    digits::eight(at, static_cast<std::uint32_t>(value % kEightDigits));
    value /= kEightDigits;
  }
  auto rest = static_cast<std::uint32_t>(value);
  while (rest >= 100) {
    at -= 2;
    digits::pair(at, rest % 100);
    rest /= 100;
  }
  if (rest >= 10) {
    digits::pair(at - 2, rest);
  } else {
    at[-1] = static_cast<char>('0' + rest);
  }
  return end;
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
