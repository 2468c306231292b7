#pragma once

#include <cstdint>

#include "host/market/book/book_set.hpp"
#include "host/market/event/event.hpp"

namespace stopbit::market {

/// Whether the entries of a side make the same side again, or one of which no less is known than after a snapshot of
/// the exchange.
[[nodiscard]] inline bool is_pictured(const BookSet& books, std::uint32_t row, Side side, BookOf of) noexcept {
  const AnyBook* const book = books.find(row, of);
  if (book == nullptr) return true;
  if (const LevelBook* const levels = book->as_level(); levels != nullptr && levels->is_full(side)) return true;
  if (const PriceBook* const prices = book->as_price()) {
    return prices->boundary(side) < PriceBook::kEverything - 2 * PriceBook::kMaxRows;
  }
  return book->kind() == BookKind::None || (!book->is_open(side) && book->extent(side, books.pools()).is_whole);
}

/// Entries of a side: rows, or orders.
[[nodiscard]] inline std::uint32_t entry_count(const BookSet& books, std::uint32_t row, Side side, BookOf of) noexcept {
  const AnyBook* const book = books.find(row, of);
  if (book == nullptr) return 0;
  switch (book->kind()) {
    case BookKind::None: return 0;
    case BookKind::Level: return book->as_level()->listed(side);
    case BookKind::Price: {
      const PriceBook& prices = *book->as_price();
      if (prices.boundary(side) == 0) return prices.listed(side);
      const unsigned known = prices.known_to(side, books.pools().rows);
      return prices.listed(side) + 1 + 2 * (prices.depth() - known);
    }
    case BookKind::Order: return book->as_order()->orders(side);
    case BookKind::Position: return book->as_position()->listed(side);
  }
  return 0;
}

/// The rows of a side of a book by price, of which put(row) and remove(price) make the same side. Where prices are
/// unseen, they are so after one that fell off a full side, and this is how it comes about again: rows that take the
/// place of those that were deleted since then come and go.
template <class Put, class Remove>
void for_each_price(const PriceBook& book, Side side, const BookPools& pools, const Put& put, const Remove& remove) {
  const std::uint64_t boundary = book.boundary(side);
  const unsigned known = boundary == 0 ? book.listed(side) : book.known_to(side, pools.rows);
  for (unsigned i = 0; i < known; ++i) put(book.row(side, i, pools.rows));
  if (boundary == 0) return;
  const auto for_each_gone = [&](const auto& take) {
    std::uint64_t rank = boundary;
    unsigned worst = known;  // the rows from there on are of a lower rank
    for (unsigned left = book.depth() - known; left != 0; ++rank) {
      if (worst != 0 && rank_of(side, book.row(side, worst - 1, pools.rows).price) == rank) {
        --worst;
      } else {
        take(price_of(side, rank));
        --left;
      }
    }
  };
  for_each_gone([&](std::int64_t price) { put(Row{.price = price}); });
  put(Row{.price = price_of(side, boundary - 1)});
  for_each_gone(remove);
  for (unsigned i = known; i < book.listed(side); ++i) put(book.row(side, i, pools.rows));
}

/// Calls take(event) with the entries of a side that is_pictured(), best first, as a snapshot has them: a
/// book that gets them from nothing is the same.
template <class Take>
void for_each_entry(const BookSet& books, std::uint32_t row, Side side, BookOf of, const Take& take) {
  const AnyBook* const book = books.find(row, of);
  if (book == nullptr) return;
  Content entry = {.flags = record::kFlagSnapshot, .kind = Kind::New, .side = side, .book = of};
  const auto put_row = [&](const Row& from, std::uint16_t level) {
    entry.level = level;
    entry.price = from.price;
    entry.quantity = from.quantity;
    entry.id = from.orders == kOrdersUnknown ? kNoCount : from.orders;
    take(Event::of(entry));
  };
  const std::uint32_t count = entry_count(books, row, side, of);
  const BookPools& pools = books.pools();
  switch (book->kind()) {
    case BookKind::None: return;
    case BookKind::Level:
      for (std::uint32_t i = 0; i < count; ++i)
        put_row(book->as_level()->row(side, i, pools.rows), static_cast<std::uint16_t>(i + 1));
      return;
    case BookKind::Price:
      return for_each_price(
          *book->as_price(), side, pools, [&](const Row& from) { put_row(from, kNoLevel); },
          [&](std::int64_t price) {
            entry.kind = Kind::Delete;
            put_row({.price = price}, kNoLevel);
            entry.kind = Kind::New;
          });
    case BookKind::Order:
      book->as_order()->for_each_level(side, pools.orders, [&](const PriceLevel& level) {
        entry.price = price_of(side, level.rank);
        for (std::uint32_t at = level.first; at != kNoHandle; at = pools.orders.orders[at].next) {
          entry.quantity = pools.orders.orders[at].quantity;
          entry.id = pools.orders.orders[at].id;
          take(Event::of(entry));
        }
        return true;
      });
      return;
    case BookKind::Position:
      for (std::uint32_t i = 1; i <= count; ++i) {
        const Order* const order = book->as_position()->order(side, i, pools.placed);
        if (order == nullptr) return;
        entry.level = static_cast<std::uint16_t>(i);
        entry.price = order->price;
        entry.quantity = order->quantity;
        entry.id = order->id;
        take(Event::of(entry));
      }
      return;
  }
}

}  // namespace stopbit::market
