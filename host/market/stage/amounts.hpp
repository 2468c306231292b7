#pragma once

#include <cstdint>

#include "host/market/map/map.hpp"
#include "host/market/stage/extractor.hpp"

namespace stopbit::market {

/// A level or a depth of the wire, cut to what an event has.
[[nodiscard]] constexpr std::uint16_t as_level(std::uint64_t value) noexcept {
  return value < kLevelBehind ? static_cast<std::uint16_t>(value) : kLevelBehind;
}

/// Prices, quantities and identifiers of a record's values, in the units of events. Nothing is rounded: what does not
/// fit is wide.
class Amounts {
 public:
  Amounts(const Map& map, const Values& values) noexcept : map_(map), values_(values) {}

  [[nodiscard]] std::int64_t price(std::uint8_t slot, bool& is_wide) const noexcept;
  [[nodiscard]] std::int64_t quantity(std::uint8_t slot, bool& is_wide) const noexcept;
  /// A number below 2^64 without leading zeros, or a hash.
  [[nodiscard]] std::uint64_t identifier(std::uint8_t slot, bool& is_wide) const noexcept;
  /// 0 for a text that is no such number.
  [[nodiscard]] std::uint64_t integer(std::uint8_t slot) const noexcept;
  [[nodiscard]] bool has(std::uint8_t slot) const noexcept { return values_.has(slot); }

 private:
  [[nodiscard]] std::int64_t number(std::uint8_t slot, std::int32_t unit, std::int32_t of_integers, std::int64_t none,
                                    bool& is_wide) const noexcept;

  const Map& map_;
  const Values& values_;
};

}  // namespace stopbit::market
