#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/market/book/book_set.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/map/map.hpp"
#include "host/market/stage/counts.hpp"

namespace stopbit::market {

/// Sets the books of an instrument that no definition has come of, in a row of the table or of a file.
template <class Row>
void set_books(const Map& map, Row& row) noexcept {
  for (const CompiledBook& book : map.books) {
    row.book_kind[static_cast<std::size_t>(book.of)] = static_cast<std::uint8_t>(book.kind);
    row.depth[static_cast<std::size_t>(book.of)] = static_cast<std::uint16_t>(book.depth);
  }
}

/// What books the instruments have, and which channel's losses concern them. One thread; allocates when it is made
/// only.
class Shapes {
 public:
  Shapes(const Map& map, InstrumentTable& instruments, BookSet& books, MarketCounts& counts)
      : map_(map),
        instruments_(instruments),
        books_(books),
        counts_(counts),
        rows_(std::make_unique<Known[]>(std::size_t{instruments.view().capacity()} + 1)) {}

  [[nodiscard]] bool is_defined(std::uint32_t row) const noexcept { return rows_[row].is_defined; }
  /// Gives the instrument its books; the same as before changes nothing.
  void define(std::uint32_t row, std::uint16_t channel) noexcept;

  /// Of a definition: whether it is another depth than before. A depth of 65,535 is none that an exchange has.
  bool set_depth(std::uint32_t row, std::size_t book, std::uint16_t depth) noexcept {
    if (depth == 0 || depth == kLevelBehind || depth == rows_[row].depth[book]) return false;
    rows_[row].depth[book] = depth;
    return true;
  }
  [[nodiscard]] std::uint16_t depth(std::uint32_t row, std::size_t book) const noexcept {
    return rows_[row].depth[book];
  }
  /// A ladder that has orders keeps its tick; it works with any.
  void set_tick(std::uint32_t row, std::int64_t tick) noexcept {
    if (!rows_[row].is_defined && tick > 0) rows_[row].tick = tick;
  }

 private:
  struct Known {
    bool is_defined = false;
    std::uint16_t depth[kMaxBooks] = {};  ///< Of the definition; 0: none.
    std::int64_t tick = 0;
  };

  const Map& map_;
  InstrumentTable& instruments_;
  BookSet& books_;
  MarketCounts& counts_;
  std::unique_ptr<Known[]> rows_;
};

inline void Shapes::define(std::uint32_t row, std::uint16_t channel) noexcept {
  Known& known = rows_[row];
  const bool is_first = !known.is_defined;
  known.is_defined = true;
  InstrumentShape shape;
  shape.channel = channel;
  for (std::size_t i = 0; i < map_.books.size(); ++i) {
    const CompiledBook& book = map_.books[i];
    BookShape& one = book.of == BookOf::Direct ? shape.direct : shape.implied;
    one.kind = book.kind;
    one.depth = known.depth[i] != 0 ? known.depth[i] : static_cast<std::uint16_t>(book.depth);
    if (book.kind == BookKind::Order) one.tick = known.tick;
  }
  if (books_.define(row, shape) != Fault::None && is_first) ++counts_.no_book;
  // Readers learn from the table which channel's events concern the instrument.
  if (instruments_.row(row).channel != channel) {
    instruments_.change(row, [&](InstrumentRow& to) { to.channel = channel; });
  }
}

}  // namespace stopbit::market
