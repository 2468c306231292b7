#include "tests/data/sample/generator/market.hpp"

#include <algorithm>
#include <array>

namespace stopbit::sample {
namespace {

constexpr std::size_t kDepth = 10;
constexpr std::size_t kThin = 4;  ///< Fewer levels than this: only new orders come.

struct Listing {
  const char* symbol;
  const char* description;
  const char* currency;
  std::int32_t exponent;
  std::int64_t tick;
  std::int64_t opening;
  std::uint32_t maturity;  ///< 0 = none.
};

// Wood, paper and water of a country that is on no map.
constexpr std::array<Listing, 20> kListings = {{
    {"ALDER", "Alder Mills", "EUR", -2, 1, 8450, 0},
    {"ASPEN", "Aspen Paper", "EUR", -2, 1, 2315, 0},
    {"BEECH", "Beech & Sons", "EUR", -2, 5, 31250, 0},
    {"BIRCH", "Birch Bark Canoes", "EUR", -3, 5, 4870, 0},
    {"CEDAR", "Cedar Roofs", "EUR", -2, 1, 11985, 0},
    {"ELDER", "Elderflower Springs", "EUR", -3, 1, 9120, 0},
    {"HAZEL", "Hazel Söhne", "EUR", -2, 1, 6420, 0},
    {"LARCH", "Larch Shipyards", "CHF", -2, 1, 15240, 0},
    {"MAPLE", "Maple Syrup Works", "CAD", -2, 1, 3990, 0},
    {"OLIVE", "Olive Oil Presses", "EUR", -2, 1, 7215, 0},
    {"ROWAN", "Rowan Rail", "EUR", -2, 1, 5530, 0},
    {"SYLVA-IX", "Sylva Index of Timber", "EUR", -1, 1, 98765, 0},
    {"TEAKH7", "Teak future, March", "USD", -2, 25, 184525, 20270319},
    {"TEAKM7", "Teak future, June", "USD", -2, 25, 185800, 20270618},
    {"TEAKU7", "Teak future, September", "USD", -2, 25, 187150, 20270917},
    {"PULPH7", "Wood pulp future, March", "USD", -4, 5, 89315, 20270319},
    {"PULPM7", "Wood pulp future, June", "USD", -4, 5, 90120, 20270618},
    {"TEAK:H7M7", "Teak calendar spread, March to June", "USD", -2, 5, -1275, 20270319},
    {"PULP:H7M7", "Wood pulp calendar spread, March to June", "USD", -4, 1, -805, 20270319},
    {"RESIN", "Résine Générale", "EUR", -2, 1, 1475, 0},
}};

std::vector<Leg> legs_of(const std::string& symbol) {
  if (symbol == "TEAK:H7M7") return {{"TEAKH7", 1}, {"TEAKM7", -1}};
  if (symbol == "PULP:H7M7") return {{"PULPH7", 1}, {"PULPM7", -1}};
  return {};
}

constexpr std::int64_t outward(Side side) {
  return side == Side::Bid ? -1 : 1;
}

/// Whether price `a` is better than `b` on that side.
bool better(Side side, std::int64_t a, std::int64_t b) {
  return side == Side::Bid ? a > b : a < b;
}

std::uint32_t order_size(Random& random, const Instrument& instrument) {
  return static_cast<std::uint32_t>(1 + random.below(20) * random.below(20)) * instrument.lot;
}

/// A part of a size, in whole lots.
std::uint32_t some_of(std::uint32_t size, const Instrument& instrument, Random& random) {
  return static_cast<std::uint32_t>(1 + random.below(size / instrument.lot)) * instrument.lot;
}

/// A price for a new order: near the best of its side, inside the spread at times, never beyond the other side's best.
std::int64_t order_price(const Instrument& instrument, Side side, Random& random) {
  const auto& own = instrument.sides[static_cast<int>(side)];
  const auto& other = instrument.sides[1 - static_cast<int>(side)];
  const std::int64_t step = outward(side) * instrument.tick;
  std::int64_t price = instrument.opening + step;
  if (!own.empty()) {
    price = own.front().price;
  } else if (!other.empty()) {
    price = other.front().price + step;
  }
  price += random.percent(30) ? -step : step * static_cast<std::int64_t>(random.falling(kDepth));
  if (!other.empty() && !better(side, other.front().price, price) && !better(side, price, other.front().price))
    price += step;
  if (!other.empty() && better(side, price, other.front().price)) price = other.front().price + step;
  return price;
}

BookChange add_order(Instrument& instrument, Side side, Random& random) {
  auto& levels = instrument.sides[static_cast<int>(side)];
  const std::int64_t price = order_price(instrument, side, random);
  const std::uint32_t size = order_size(random, instrument);
  auto at =
      std::find_if(levels.begin(), levels.end(), [&](const Level& level) { return !better(side, level.price, price); });
  BookChange change;
  change.side = side;
  if (at == levels.end() && levels.size() == kDepth)
    at = levels.begin();  // too far away to be seen: join the best instead
  if (at != levels.end() && (at->price == price || levels.size() == kDepth)) {
    at->size += size;
    ++at->orders;
  } else {
    at = levels.insert(at, {price, size, 1});
    change.action = Action::New;
  }
  change.level = static_cast<std::uint32_t>(at - levels.begin() + 1);
  change.after = *at;
  return change;
}

BookChange take(std::vector<Level>& levels, Side side, std::size_t index, std::uint32_t size, std::uint32_t orders) {
  BookChange change;
  change.side = side;
  change.level = static_cast<std::uint32_t>(index + 1);
  Level& level = levels[index];
  if (size >= level.size) {
    change.action = Action::Delete;
    change.after = level;
    levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(index));
    return change;
  }
  level.size -= size;
  level.orders = std::max(level.orders - std::min(level.orders, orders), 1U);
  change.after = level;
  return change;
}

}  // namespace

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t value = state_;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9U;
  value = (value ^ value >> 27) * 0x94D049BB133111EBU;
  return value ^ value >> 31;
}

std::uint64_t Random::falling(std::uint64_t most) {
  std::uint64_t value = 0;
  for (std::uint64_t bits = next(); value < most && (bits & 1) != 0; bits >>= 1) ++value;
  return value;
}

std::vector<Instrument> open_market(Random& random) {
  std::vector<Instrument> market;
  for (std::size_t i = 0; i < kListings.size(); ++i) {
    const Listing& listing = kListings[i];
    Instrument instrument;
    instrument.symbol = listing.symbol;
    instrument.description = listing.description;
    instrument.currency = listing.currency;
    instrument.id = static_cast<std::uint32_t>(1001 + i);
    instrument.exponent = listing.exponent;
    instrument.tick = listing.tick;
    instrument.lot = listing.maturity == 0 ? 10 : 1;
    if (listing.maturity != 0) instrument.maturity = listing.maturity;
    instrument.limited = i % 3 == 0;
    instrument.legs = legs_of(instrument.symbol);
    instrument.opening = listing.opening;
    while (instrument.sides[0].size() < kDepth / 2 || instrument.sides[1].size() < kDepth / 2) {
      (void)add_order(instrument, static_cast<Side>(random.below(2)), random);
    }
    market.push_back(std::move(instrument));
  }
  return market;
}

BookChange change_book(Instrument& instrument, Random& random) {
  const auto side = static_cast<Side>(random.below(2));
  auto& levels = instrument.sides[static_cast<int>(side)];
  BookChange change;
  if (levels.size() < kThin || random.percent(45)) {
    change = add_order(instrument, side, random);
  } else {
    const std::size_t index = static_cast<std::size_t>(random.falling(levels.size() - 1));
    const Level& level = levels[index];
    const bool all = level.orders == 1 || random.percent(40);
    change = take(levels, side, index, all ? level.size : some_of(level.size, instrument, random), 1);
  }
  change.rpt_seq = ++instrument.rpt_seq;
  return change;
}

Execution trade(Instrument& instrument, Random& random) {
  auto side = static_cast<Side>(random.below(2));
  if (instrument.sides[static_cast<int>(side)].size() < 2) side = static_cast<Side>(1 - static_cast<int>(side));
  auto& levels = instrument.sides[static_cast<int>(side)];
  const Level best = levels.front();
  Execution execution;
  execution.price = best.price;
  execution.size = random.percent(70) ? best.size : some_of(best.size, instrument, random);
  execution.aggressor = side == Side::Bid ? Side::Offer : Side::Bid;
  execution.net_change = best.price - instrument.opening;
  execution.change = take(levels, side, 0, execution.size, static_cast<std::uint32_t>(random.falling(3)));
  execution.change.rpt_seq = ++instrument.rpt_seq;
  return execution;
}

}  // namespace stopbit::sample
