#include "host/cli/common/market_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "host/cli/common/command.hpp"
#include "host/cli/common/text.hpp"
#include "host/market/event/print.hpp"

namespace stopbit::tools {
namespace {

constexpr std::uint32_t kMostListed = 2'000;

std::string error_json(std::string_view why) {
  return R"({"error":)" + json(why) + '}';
}

std::string side_json(const LiveMarket& market, const std::vector<market::Row>& rows) {
  std::string out;
  for (const market::Row& row : rows) {
    if (!out.empty()) out += ',';
    if (row.is_known == 0) {
      out += "null";
      continue;
    }
    out += fmt::format(R"(["{}","{}"])", row.price == market::kNoPrice ? "market" : market.price(row.price),
                       market.quantity(row.quantity));
  }
  return '[' + out + ']';
}

std::string book_of(const LiveMarket& market, std::uint32_t number) {
  market::InstrumentRow known;
  market::state::Top top;
  market::state::DayView day;
  LadderRows ladder;
  if (!market.instruments().read(number, known) || !read_ladder(market, number, top, day, ladder)) {
    return error_json("the instrument's state cannot be read");
  }
  market.check();
  return fmt::format(R"({{"key":{},"name":{},"trading":"{}","book":{},"sequence":{},"last":"{}","bids":{},"asks":{}}})",
                     json(market::key_of(known)), json(market::instrument_name(known)), market::name_of(top.state),
                     json(standing_text(top)), top.sequence, market.price(day.last), side_json(market, ladder.bids),
                     side_json(market, ladder.asks));
}

}  // namespace

const LiveMarket& MarketPages::market(const std::string& ring) {
  const auto known = kept_.find(ring);
  if (known != kept_.end() && !known->second.replaced()) return known->second;
  if (known != kept_.end()) kept_.erase(known);
  LiveMarket opened(ring);
  if (kept_.size() >= kMostKept) kept_.clear();
  return kept_.emplace(ring, std::move(opened)).first->second;
}

template <class Make>
std::string MarketPages::page(const std::string& ring, const Make& make) try {
  return make(market(ring));
} catch (const ToolError& error) {
  return error_json(error.what());
}

std::string MarketPages::instruments(const std::string& ring) {
  return page(ring, [](const LiveMarket& market) {
    const std::uint32_t count = market.instruments().count();
    std::string keys;
    for (std::uint32_t number = 1; number <= std::min(count, kMostListed); ++number) {
      market::InstrumentRow row;
      if (!market.instruments().read(number, row)) continue;
      if (!keys.empty()) keys += ',';
      keys += json(market::key_of(row));
    }
    market.check();
    return fmt::format(R"({{"count":{},"instruments":[{}]}})", count, keys);
  });
}

std::string MarketPages::book(const std::string& ring, std::string_view instrument) {
  return page(ring, [&](const LiveMarket& market) { return book_of(market, market.row_of(std::string(instrument))); });
}

}  // namespace stopbit::tools
