#include "host/cli/common/live_market.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/cli/common/command.hpp"
#include "host/cli/common/text.hpp"
#include "host/market/event/print.hpp"
#include "host/os/readable.hpp"

namespace stopbit::tools {
namespace {

using market::Row;

template <class T>
T opened(Result<T> result) {
  if (!result) throw ToolError(kExitEnvironment, result.message());
  return std::move(result).value();
}

constexpr std::size_t kPriceWidth = 14;
constexpr std::size_t kQuantityWidth = 12;
constexpr std::size_t kOrdersWidth = 7;

/// A bar of the quantity, as a share of the largest one shown.
std::string bar(std::int64_t quantity, std::int64_t largest, std::size_t width) {
  if (quantity <= 0 || largest <= 0 || width == 0) return {};
  const double share = static_cast<double>(quantity) / static_cast<double>(largest);
  const auto cells = static_cast<std::size_t>(share * static_cast<double>(width) + 0.5);
  return std::string(std::clamp<std::size_t>(cells, 1, width), '#');
}

std::string orders_text(const Row& row) {
  return row.orders == market::kOrdersUnknown ? std::string() : std::to_string(row.orders);
}

}  // namespace

LiveMarket::LiveMarket(const std::string& name) : name_(name), tables_(opened(market::Tables::open(name))) {}

bool has_live_market(const std::string& name) {
  return market::InstrumentView::open(name).ok();
}

std::uint32_t LiveMarket::row_of(const std::string& key_or_name) const {
  const std::uint32_t row = tables_.row_of(key_or_name);
  if (row == 0) throw ToolError(kExitRejected, "--instrument: there is no instrument '" + plain(key_or_name) + "'");
  return row;
}

void LiveMarket::check() const {
  if (tables_.is_broken()) throw ToolError(kExitRejected, name_ + ": " + std::string(market::Tables::broken_text()));
}

std::string_view LiveMarket::writer_text() const {
  switch (states().writer()) {
    case market::state::Reader::Writer::Running: return "runs";
    case market::state::Reader::Writer::Finished: return "has ended";
    case market::state::Reader::Writer::Dead: return "died";
  }
  return "";
}

std::string LiveMarket::price(std::int64_t price) const {
  std::string text;
  market::append_price(price, text);
  return text;
}

std::string LiveMarket::quantity(std::int64_t quantity) const {
  std::string text;
  if (quantity != market::kNoQuantity) market::append_fixed(quantity, instruments().quantity_decimals(), text);
  return text;
}

std::string standing_text(const market::state::Top& top) {
  std::string text(market::name_of(top.standing));
  if (top.standing != market::Standing::Latest) text += ": " + std::string(market::name_of(top.cause));
  return text;
}

std::string ladder_text(const LiveMarket& market, std::uint32_t row, std::size_t columns, std::size_t rows) {
  using market::state::Read;
  market::InstrumentRow known;
  market::state::Top top;
  market::state::DayView day;
  if (!market.instruments().read(row, known) || market.states().read(row, top, day) != Read::Ok) {
    return "the instrument's state cannot be read: its writer " + std::string(market.writer_text()) + "\n";
  }
  market.check();
  std::vector<Row> bids(std::max<std::size_t>(1, market.states().levels()));
  std::vector<Row> asks(bids.size());
  market::state::Reader::Counts counts;
  if (market.states().levels() == 0 || market.states().read_levels(row, bids, asks, counts) != Read::Ok) {
    bids[0] = {.price = top.bid, .quantity = top.bid_quantity, .is_known = top.bid != market::kNoPrice};
    asks[0] = {.price = top.ask, .quantity = top.ask_quantity, .is_known = top.ask != market::kNoPrice};
    for (Row* one : {&bids[0], &asks[0]}) one->orders = market::kOrdersUnknown;
    counts = {.bids = bids[0].is_known, .asks = asks[0].is_known};
  }
  const std::string name = plain(market::instrument_name(known));
  std::string out = fmt::format("{}{}{}   trading {}   book {}\n", plain(market::key_of(known)),
                                name.empty() ? "" : "  ", name, market::name_of(top.state), standing_text(top));
  out += fmt::format("last {} x {}   high {}   low {}   volume {}\n\n", market.price(day.last),
                     market.quantity(day.last_quantity), market.price(day.high), market.price(day.low),
                     market.quantity(day.volume));
  const std::size_t shown = std::max<std::size_t>(1, (std::max<std::size_t>(rows, 8) - 6) / 2);
  counts.bids = std::min(counts.bids, shown);
  counts.asks = std::min(counts.asks, shown);
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < counts.bids; ++i) largest = std::max(largest, bids[i].quantity);
  for (std::size_t i = 0; i < counts.asks; ++i) largest = std::max(largest, asks[i].quantity);
  const std::size_t fixed = kOrdersWidth + 2 * kQuantityWidth + kPriceWidth + 6;
  const std::size_t width = columns > fixed ? columns - fixed : 0;
  out += fmt::format("{:>{}} {:>{}} {:>{}} {:>{}}\n", "orders", kOrdersWidth, "bid", kQuantityWidth, "price",
                     kPriceWidth, "ask", kQuantityWidth);
  const auto line = [&](const Row& one, bool is_ask) {
    if (one.is_known == 0) {
      out += fmt::format("{:>{}} {:>{}} {:>{}}\n", "", kOrdersWidth, "", kQuantityWidth, "?", kPriceWidth);
      return;
    }
    const std::string price = one.price == market::kNoPrice ? "market" : market.price(one.price);
    const std::string quantity = market.quantity(one.quantity);
    std::string text = fmt::format("{:>{}} {:>{}} {:>{}} {:>{}}  {}", orders_text(one), kOrdersWidth,
                                   is_ask ? "" : quantity, kQuantityWidth, price, kPriceWidth, is_ask ? quantity : "",
                                   kQuantityWidth, bar(one.quantity, largest, width));
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  for (std::size_t i = counts.asks; i-- > 0;) line(asks[i], true);
  out += std::string(kOrdersWidth + kQuantityWidth + kPriceWidth + kQuantityWidth + 3, '-') + '\n';
  for (std::size_t i = 0; i < counts.bids; ++i) line(bids[i], false);
  if (market.states().levels() == 0) {
    out += "\nonly the best prices are published: set 'levels' of [books] for more\n";
  }
  return out;
}

}  // namespace stopbit::tools
