#include "host/cli/common/live_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "host/cli/common/command.hpp"
#include "host/cli/common/text.hpp"
#include "host/market/event/print.hpp"
#include "host/os/clock.hpp"
#include "host/os/readable.hpp"

namespace stopbit::tools {
namespace {

using market::Row;

template <class T>
T opened(Result<T> result) {
  if (!result) throw ToolError(kExitEnvironment, result.message());
  return std::move(result).value();
}

constexpr std::uint64_t kSilentNs = 3'000'000'000;  // a writer says that it is well ten times a second

constexpr std::size_t kPriceWidth = 14;
constexpr std::size_t kQuantityWidth = 12;
constexpr std::size_t kOrdersWidth = 7;

/// A bar of the quantity, as a share of the largest one shown.
std::string bar(std::int64_t quantity, std::int64_t largest, std::size_t width) {
  if (quantity <= 0 || largest <= 0 || width == 0) return {};
  const double share = static_cast<double>(quantity) / static_cast<double>(largest);
  const auto cells = static_cast<std::size_t>(std::lround(share * static_cast<double>(width)));
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

void LiveMarket::follow() {
  if (!tables_.replaced()) return;
  // Until the new tables have both names, those from before are shown; their writer has ended.
  if (Result<market::Tables> now = market::Tables::open(name_); now.ok()) tables_ = std::move(now).value();
}

std::uint32_t LiveMarket::row_of(const std::string& key_or_name) const {
  const std::uint32_t row = find(key_or_name);
  if (row == 0)
    throw ToolError(kExitRejected, "--instrument: there is no instrument '" + plain(key_or_name) + "'" +
                                       plain(market::did_you_mean_instrument(key_or_name, instruments())));
  return row;
}

void LiveMarket::check() const {
  if (tables_.is_broken()) throw ToolError(kExitRejected, name_ + ": " + std::string(market::Tables::broken_text()));
}

std::uint64_t LiveMarket::silent_ns() {
  const std::uint64_t now = os::monotonic_clock_ns();
  if (const std::uint64_t beat = states().heartbeat_ns(); beat != heartbeat_ns_) {
    heartbeat_ns_ = beat;
    moved_ns_ = now;
  }
  return now - moved_ns_;
}

std::string LiveMarket::writer_text() {
  switch (states().writer()) {
    case market::state::Reader::Writer::Running: {
      const std::uint64_t silent = silent_ns();
      return silent < kSilentNs ? "runs" : "has given no sign of life for " + os::duration_text(silent);
    }
    case market::state::Reader::Writer::Finished: return "has ended";
    case market::state::Reader::Writer::Dead: return "died";
  }
  return "";
}

std::string LiveMarket::warning() {
  constexpr std::uint64_t kPatienceNs = 1'000'000'000;
  constexpr auto kStep = std::chrono::milliseconds(20);
  using Writer = market::state::Reader::Writer;
  const std::uint64_t said = states().heartbeat_ns();
  const std::uint64_t now = os::wall_clock_ns();
  if (states().writer() == Writer::Running && now > said && now - said >= kSilentNs) {
    const std::uint64_t begin = os::monotonic_clock_ns();
    while (states().heartbeat_ns() == said && os::monotonic_clock_ns() - begin < kPatienceNs) {
      std::this_thread::sleep_for(kStep);
    }
    if (states().heartbeat_ns() == said && states().writer() == Writer::Running) {
      return "has given no sign of life for " + os::duration_text(now - said);
    }
  }
  return states().writer() == Writer::Dead ? "died" : "";
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

bool read_ladder(const LiveMarket& market, std::uint32_t row, market::state::Top& top, market::state::DayView& day,
                 LadderRows& ladder) {
  using market::state::Read;
  if (market.states().read(row, top, day) != Read::Ok) return false;
  ladder.bids.assign(std::max<std::size_t>(1, market.states().levels()), {});
  ladder.asks.assign(ladder.bids.size(), {});
  market::state::Reader::Counts counts;
  if (market.states().levels() == 0 || market.states().read_levels(row, ladder.bids, ladder.asks, counts) != Read::Ok) {
    ladder.bids[0] = {.price = top.bid, .quantity = top.bid_quantity, .is_known = top.bid != market::kNoPrice};
    ladder.asks[0] = {.price = top.ask, .quantity = top.ask_quantity, .is_known = top.ask != market::kNoPrice};
    for (Row* one : {&ladder.bids[0], &ladder.asks[0]}) one->orders = market::kOrdersUnknown;
    counts = {.bids = ladder.bids[0].is_known, .asks = ladder.asks[0].is_known};
  }
  ladder.bids.resize(counts.bids);
  ladder.asks.resize(counts.asks);
  return true;
}

std::string ladder_text(LiveMarket& market, std::uint32_t row, std::size_t columns, std::size_t rows) {
  market::InstrumentRow known;
  market::state::Top top;
  market::state::DayView day;
  LadderRows ladder;
  if (!market.instruments().read(row, known) || !read_ladder(market, row, top, day, ladder)) {
    return "the instrument's state cannot be read: its writer " + market.writer_text() + "\n";
  }
  market.check();
  const std::string name = plain(market::instrument_name(known));
  std::string out = fmt::format("{}{}{}   trading {}   book {}\n", plain(market::key_of(known)),
                                name.empty() ? "" : "  ", name, market::name_of(top.state), standing_text(top));
  // Prices that no writer changes look like a quiet market.
  const std::string writer = market.writer_text();
  if (writer != "runs") out += fmt::format("the writer {}\n", writer);
  out += fmt::format("last {} x {}   high {}   low {}   volume {}\n\n", market.price(day.last),
                     market.quantity(day.last_quantity), market.price(day.high), market.price(day.low),
                     market.quantity(day.volume));
  const std::size_t others = writer == "runs" ? 6 : 7;  // lines
  const std::size_t shown = std::max<std::size_t>(1, (std::max<std::size_t>(rows, 8) - others) / 2);
  ladder.bids.resize(std::min(ladder.bids.size(), shown));
  ladder.asks.resize(std::min(ladder.asks.size(), shown));
  std::int64_t largest = 0;
  for (const Row& one : ladder.bids) largest = std::max(largest, one.quantity);
  for (const Row& one : ladder.asks) largest = std::max(largest, one.quantity);
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
  for (std::size_t i = ladder.asks.size(); i-- > 0;) line(ladder.asks[i], true);
  out += std::string(kOrdersWidth + kQuantityWidth + kPriceWidth + kQuantityWidth + 3, '-') + '\n';
  for (const Row& one : ladder.bids) line(one, false);
  if (market.states().levels() == 0) {
    out += "\nonly the best prices are published: set 'levels' of [books] for more\n";
  }
  return out;
}

}  // namespace stopbit::tools
