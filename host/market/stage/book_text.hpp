#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "host/market/book/book_set.hpp"

namespace stopbit::market {

/// The book of an instrument at one moment.
struct BookView {
  std::span<const Row> bids;  ///< As many rows as are shown; `is_known` is 0 in unknown rows and beyond the last one.
  std::span<const Row> asks;
  std::size_t bid_end = 0;  ///< No row exists from this one on: beyond `bids` if the end is not known.
  std::size_t ask_end = 0;
  bool is_known = false;  ///< No row is missing.
};

/// Reads it from the books. `rows` has room for twice the levels.
[[nodiscard]] BookView read_book(const BookSet& books, std::uint32_t row, std::span<Row> rows);

/// One JSON line:
///   {"seq":7,"instrument":"27069","state":"partial","epoch":0,"bids":[["1411.5",917,162],null],"asks":[null,null]}
/// A row is price, quantity and number of orders. `instrument` is JSON, with quotes. `epoch`: how often the instrument
/// has lost entries.
void append_book_json(const BookView& book, std::uint32_t sequence, std::string_view instrument, std::uint64_t epoch,
                      std::uint32_t quantity_decimals, std::string& out);
/// One of its rows.
void append_row_json(const Row& row, std::uint32_t quantity_decimals, std::string& out);

}  // namespace stopbit::market
