#pragma once

#include <cstdint>

#include "host/market/event/fixed.hpp"
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

  [[nodiscard, gnu::always_inline]] std::int64_t price(std::uint8_t slot, bool& is_wide) const noexcept {
    return number(slot, -9, -static_cast<std::int32_t>(map_.source.price_decimals), kNoPrice, is_wide);
  }
  [[nodiscard, gnu::always_inline]] std::int64_t quantity(std::uint8_t slot, bool& is_wide) const noexcept {
    return number(slot, -static_cast<std::int32_t>(map_.source.quantity_decimals), 0, kNoQuantity, is_wide);
  }
  /// A number below 2^64 without leading zeros, or a hash.
  [[nodiscard]] std::uint64_t identifier(std::uint8_t slot, bool& is_wide) const noexcept {
    if (!values_.has(slot)) return 0;
    return values_.is_text(slot) ? identifier_of_text(slot, is_wide) : values_.bits(slot);
  }
  /// 0 for a text that is no such number.
  [[nodiscard, gnu::always_inline]] std::uint64_t integer(std::uint8_t slot) const noexcept {
    return values_.is_text(slot) ? integer_of_text(slot) : values_.bits(slot);
  }
  [[nodiscard]] bool has(std::uint8_t slot) const noexcept { return values_.has(slot); }

 private:
  [[nodiscard, gnu::always_inline]] std::int64_t number(std::uint8_t slot, std::int32_t unit, std::int32_t of_integers,
                                                        std::int64_t none, bool& is_wide) const noexcept {
    if (!values_.has(slot)) return none;
    const SlotPlace::Form form = values_.form(slot);
    const std::uint64_t bits = values_.bits(slot);
    const bool is_number = form == SlotPlace::Form::Decimal || form == SlotPlace::Form::Signed ||
                           (form == SlotPlace::Form::Unsigned && bits <= INT64_MAX);
    const std::int64_t exponent = form == SlotPlace::Form::Decimal ? values_.exponent(slot) : of_integers;
    if (is_number) [[likely]] {
      if (const auto value = fixed(static_cast<std::int64_t>(bits), exponent, unit)) [[likely]]
        return *value;
    }
    is_wide = true;
    return none;
  }
  [[nodiscard]] std::uint64_t identifier_of_text(std::uint8_t slot, bool& is_wide) const noexcept;
  [[nodiscard]] std::uint64_t integer_of_text(std::uint8_t slot) const noexcept;

  const Map& map_;
  const Values& values_;
};

}  // namespace stopbit::market
