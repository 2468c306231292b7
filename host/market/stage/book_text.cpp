#include "host/market/stage/book_text.hpp"

#include <algorithm>

#include "decoder/record/text.hpp"
#include "host/market/event/print.hpp"

namespace stopbit::market {

BookView read_book(const BookSet& books, std::uint32_t row, std::span<Row> rows) {
  const std::size_t levels = rows.size() / 2;
  BookView view{.bids = rows.first(levels), .asks = rows.subspan(levels, levels), .is_known = true};
  for (const Side side : {Side::Bid, Side::Ask}) {
    const std::span<Row> to = rows.subspan(side == Side::Ask ? levels : 0, levels);
    const std::size_t count = books.rows(row, side, to);
    std::fill(to.begin() + static_cast<std::ptrdiff_t>(count), to.end(), Row());
    (side == Side::Ask ? view.ask_end : view.bid_end) = books.is_open(row, side) ? levels : count;
    view.is_known = view.is_known && books.extent(row, side).is_whole;
  }
  return view;
}

void append_row_json(const Row& row, std::uint32_t quantity_decimals, std::string& out) {
  if (row.is_known == 0) {
    out += "null";
    return;
  }
  out += '[';
  if (row.price == kNoPrice) {
    out += "null";
  } else {
    out += '"';
    append_price(row.price, out);
    out += '"';
  }
  out += ',';
  if (row.quantity == kNoQuantity) {
    out += "null";
  } else {
    append_fixed(row.quantity, quantity_decimals, out);
  }
  out += ',';
  if (row.orders == kOrdersUnknown) {
    out += "null";
  } else {
    record::append_unsigned(out, row.orders);
  }
  out += ']';
}

void append_book_json(const BookView& book, std::uint32_t sequence, std::string_view instrument, std::uint64_t epoch,
                      std::uint32_t quantity_decimals, std::string& out) {
  out += "{\"seq\":";
  record::append_unsigned(out, sequence);
  out += ",\"instrument\":";
  out += instrument;
  out += book.is_known ? ",\"state\":\"known\",\"epoch\":" : ",\"state\":\"partial\",\"epoch\":";
  record::append_unsigned(out, epoch);
  for (const auto& [name, rows] : {std::pair(",\"bids\":[", book.bids), std::pair("],\"asks\":[", book.asks)}) {
    out += name;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i != 0) out += ',';
      append_row_json(rows[i], quantity_decimals, out);
    }
  }
  out += "]}\n";
}

}  // namespace stopbit::market
