#pragma once

#include <cstdint>

#include "host/market/event/event.hpp"

namespace stopbit::market {

inline constexpr std::uint32_t kOrdersUnknown = 0xFFFF'FFFF;

/// A price of one side.
struct Row {
  std::int64_t price = kNoPrice;
  std::int64_t quantity = kNoQuantity;
  std::uint64_t arrival_ns = 0;           ///< Of its last change; 0 in books of orders.
  std::uint32_t orders = kOrdersUnknown;  ///< How many make up the quantity.
  std::uint32_t is_known = 0;             ///< 0: the row exists, its content is not known.

  [[nodiscard]] friend constexpr bool operator==(const Row&, const Row&) = default;
};
static_assert(sizeof(Row) == 32);

/// How much of a side is known.
struct Extent {
  std::uint32_t known_to = 0;  ///< Rows from the best before which there is no unknown one.
  bool is_whole = false;       ///< All rows are known, and there are no others.

  [[nodiscard]] friend constexpr bool operator==(const Extent&, const Extent&) = default;
};

/// What best bid and best ask are compared by.
[[nodiscard]] constexpr bool same_best(const Row& a, const Row& b) noexcept {
  return a.is_known == b.is_known && a.price == b.price && a.quantity == b.quantity;
}

/// Prices of a side in one order: the better, the greater. Orders without price (market orders in auctions) come first.
/// One to one.
[[nodiscard]] constexpr std::uint64_t rank_of(Side side, std::int64_t price) noexcept {
  const std::uint64_t flipped = static_cast<std::uint64_t>(price) ^ (std::uint64_t{1} << 63);
  // flipped - 1 or ~flipped, without a branch, as an entry's side cannot be predicted.
  const std::uint64_t is_ask = side == Side::Ask ? 1 : 0;
  return (flipped ^ (std::uint64_t{0} - is_ask)) - (1 - is_ask);
}
[[nodiscard]] constexpr std::int64_t price_of(Side side, std::uint64_t rank) noexcept {
  const std::uint64_t flipped = side == Side::Ask ? ~rank : rank + 1;
  return static_cast<std::int64_t>(flipped ^ (std::uint64_t{1} << 63));
}
static_assert(rank_of(Side::Bid, 2) > rank_of(Side::Bid, 1) && rank_of(Side::Ask, 1) > rank_of(Side::Ask, 2));
static_assert(rank_of(Side::Bid, kNoPrice) == ~std::uint64_t{0} && rank_of(Side::Ask, kNoPrice) == ~std::uint64_t{0});
static_assert(price_of(Side::Bid, rank_of(Side::Bid, -7)) == -7 && price_of(Side::Ask, rank_of(Side::Ask, -7)) == -7);

/// Number of orders in `id` of an entry of a level.
[[nodiscard]] constexpr std::uint32_t orders_of(const Event& event) noexcept {
  return event.id() < kOrdersUnknown ? static_cast<std::uint32_t>(event.id()) : kOrdersUnknown;
}
[[nodiscard]] constexpr Row row_of(const Event& event) noexcept {
  return {event.price(), event.quantity(), event.arrival_ns(), orders_of(event), 1};
}

/// What quantities are added up from: none counts as nothing.
[[nodiscard]] constexpr std::int64_t summand(std::int64_t quantity) noexcept {
  return quantity == kNoQuantity ? 0 : quantity;
}

}  // namespace stopbit::market
