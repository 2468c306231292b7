#include "host/market/stage/picture.hpp"

#include <algorithm>

namespace stopbit::market {
namespace {

constexpr std::uint32_t kRow = 1;  ///< That of the book beside, in its set.

BookRoom of_one(BookRoom room) {
  room.instruments = 1;
  room.implied = std::min(room.implied, 1U);
  return room;
}

bool is_same(const Row& left, const Row& right) noexcept {
  const bool has_orders = left.orders != kOrdersUnknown && right.orders != kOrdersUnknown;
  return left.price == right.price && left.quantity == right.quantity && (!has_orders || left.orders == right.orders);
}

}  // namespace

BookBeside::BookBeside(BookRoom room)
    : books_(of_one(room)), rows_(std::make_unique_for_overwrite<Row[]>(2 * kCompared)) {}

bool BookBeside::build(const Picture& picture, const InstrumentShape& shape) noexcept {
  if (books_.define(kRow, shape) != Fault::None) return false;
  Event begin = Event::of({.flags = record::kFlagSnapshot, .instrument = kRow, .kind = Kind::SnapshotBegin});
  (void)books_.apply(begin);
  for (Event event : picture.events()) {
    if (!is_entry(event.kind())) continue;
    event.set_instrument(kRow);
    (void)books_.apply(event);
  }
  (void)books_.apply(Event::of({.instrument = kRow, .kind = Kind::SnapshotEnd}));
  return books_.take_stale().row == 0;
}

bool BookBeside::is_like(const BookSet& books, std::uint32_t row) const noexcept {
  for (const BookOf of : {BookOf::Direct, BookOf::Implied}) {
    if (books.find(row, of) == nullptr) continue;
    if (!is_like(books, row, Side::Bid, of) || !is_like(books, row, Side::Ask, of)) return false;
  }
  return true;
}

bool BookBeside::is_like(const BookSet& books, std::uint32_t row, Side side, BookOf of) const noexcept {
  const std::span<Row> ours(rows_.get(), kCompared);
  const std::span<Row> theirs(rows_.get() + kCompared, kCompared);
  const Extent known = books.extent(row, side, of);
  const std::size_t count = std::min<std::size_t>(books.rows(row, side, ours, of), known.known_to);
  const std::size_t expected = books_.rows(kRow, side, theirs, of);
  if (known.is_whole ? count != expected : count > expected) return false;
  return std::equal(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(count), theirs.begin(), is_same);
}

}  // namespace stopbit::market
