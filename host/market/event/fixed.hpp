#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace stopbit::market {

inline constexpr auto kPowersOfTen = [] {
  std::array<std::int64_t, 19> powers{1};  // 10^18 is the largest power of ten in 63 bits
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

/// The part of fixed() that divides.
[[nodiscard]] constexpr std::optional<std::int64_t> fixed_from_smaller(std::int64_t mantissa, std::int64_t exponent,
                                                                       std::int32_t unit_exponent) noexcept {
  if (mantissa == 0) return 0;
  // Far beyond what a value can have; the difference below cannot overflow.
  if (exponent < -1'000 || exponent > unit_exponent) return {};
  const auto digits = static_cast<std::size_t>(unit_exponent - exponent);
  if (digits >= kPowersOfTen.size() || mantissa % kPowersOfTen[digits] != 0) return {};
  return mantissa / kPowersOfTen[digits];
}

/// mantissa * 10^exponent as a number of units of 10^unit_exponent (-9 for prices). Nothing if that is not a whole
/// number or does not fit: values are never rounded.
[[nodiscard]] constexpr std::optional<std::int64_t> fixed(std::int64_t mantissa, std::int64_t exponent,
                                                          std::int32_t unit_exponent) noexcept {
  const std::uint64_t digits =
      static_cast<std::uint64_t>(exponent) - static_cast<std::uint64_t>(std::int64_t{unit_exponent});
  std::int64_t value = 0;
  if (digits >= kPowersOfTen.size()) return fixed_from_smaller(mantissa, exponent, unit_exponent);
  if (__builtin_mul_overflow(mantissa, kPowersOfTen[digits], &value)) return {};
  // The lowest number means none.
  if (value == std::numeric_limits<std::int64_t>::min()) return {};
  return value;
}

}  // namespace stopbit::market
