#include "host/cli/common/instrument_json.hpp"

#include <fmt/format.h>

#include "host/cli/common/text.hpp"
#include "host/market/book/any_book.hpp"
#include "host/market/event/print.hpp"
#include "host/market/instrument/table.hpp"

namespace stopbit::tools {

void append_instrument_json(std::string& out, std::uint32_t number, const market::InstrumentRow& row) {
  out += fmt::format("{{\"row\":{},\"instrument\":{}", number, json(market::key_of(row)));
  if (row.name_bytes != 0) out += ",\"name\":" + json(market::instrument_name(row));
  if (row.product_bytes != 0) out += ",\"product\":" + json(market::product_of(row));
  if (row.tick != 0) {
    out += ",\"tick\":\"";
    market::append_price(row.tick, out);
    out += '"';
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (row.book_kind[i] == 0) continue;
    out += fmt::format(",\"{}\":\"{}\"", i == 0 ? "book" : "implied",
                       market::name_of(static_cast<market::BookKind>(row.book_kind[i])));
    if (row.depth[i] != 0) out += fmt::format(",\"{}\":{}", i == 0 ? "depth" : "implied_depth", row.depth[i]);
  }
  const std::string_view state = market::name_of(static_cast<market::TradingState>(row.state));
  out += fmt::format(",\"trading_state\":\"{}\"", state);
  if (row.state_code != 0) out += fmt::format(",\"trading_state_code\":{}", row.state_code);
  if (row.session != 0) out += fmt::format(",\"session\":{}", row.session);
  if (row.first_number != 0) out += fmt::format(",\"first_number\":{}", row.first_number);
  if ((row.flags & market::kRowDefined) != 0) {
    out += fmt::format(",\"defined\":{{\"channel\":{},\"seq\":{}}}", row.definition_channel, row.definition_sequence);
  }
  if ((row.flags & market::kRowRemoved) != 0) out += ",\"removed\":true";
  if ((row.flags & market::kRowTickMoved) != 0) out += ",\"tick_changed\":true";
  if ((row.flags & market::kRowEarlier) != 0) out += ",\"earlier\":true";
  out += '}';
}

}  // namespace stopbit::tools
