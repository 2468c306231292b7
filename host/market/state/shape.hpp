#pragma once

#include <cstddef>

#include "host/market/book/book_set.hpp"
#include "host/market/instrument/layout.hpp"

namespace stopbit::market {

/// The books that a row of the table says the instrument has, for readers that build them from events. A kind that this
/// reader does not know is no book.
[[nodiscard]] inline InstrumentShape shape_of(const InstrumentRow& row) noexcept {
  const auto book = [&](BookOf of) -> BookShape {
    const auto i = static_cast<std::size_t>(of);
    const auto kind = static_cast<BookKind>(row.book_kind[i]);
    if (name_of(kind).empty()) return {};
    return {.kind = kind, .depth = row.depth[i], .tick = kind == BookKind::Order ? row.tick : 0};
  };
  return {book(BookOf::Direct), book(BookOf::Implied), row.channel};
}

}  // namespace stopbit::market
