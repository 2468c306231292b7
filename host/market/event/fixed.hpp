#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace stopbit::market {

/// mantissa * 10^exponent as a number of units of 10^unit_exponent (-9 for prices). Nothing if that is not a whole
/// number or does not fit: values are never rounded.
[[nodiscard]] constexpr std::optional<std::int64_t> fixed(std::int64_t mantissa, std::int64_t exponent,
                                                          std::int32_t unit_exponent) noexcept {
  constexpr auto kPowers = [] {
    std::array<std::int64_t, 19> powers{1};  // 10^18 is the largest power of ten in 63 bits
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
    return powers;
  }();
  if (mantissa == 0) return 0;
  // Far beyond what a value can have; the difference below cannot overflow.
  if (exponent < -1'000 || exponent > 1'000) return {};
  const std::int64_t steps = exponent - unit_exponent;
  const auto digits = static_cast<std::size_t>(steps < 0 ? -steps : steps);
  if (digits >= kPowers.size()) return {};
  std::int64_t value = 0;
  if (steps < 0) {
    if (mantissa % kPowers[digits] != 0) return {};
    value = mantissa / kPowers[digits];
  } else if (__builtin_mul_overflow(mantissa, kPowers[digits], &value)) {
    return {};
  }
  // The lowest number means none.
  if (value == std::numeric_limits<std::int64_t>::min()) return {};
  return value;
}

}  // namespace stopbit::market
