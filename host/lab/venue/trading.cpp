#include "host/lab/venue/trading.hpp"

#include <algorithm>

namespace stopbit::venue {
namespace {

constexpr std::uint64_t kMostSize = 500;
constexpr std::uint64_t kSpread = 12;  ///< How far from the best price orders come, in ticks.

}  // namespace

void apply(const Deed& deed, TrueBook& book) {
  switch (deed.kind) {
    case Deed::Kind::Add: return book.insert(deed.side, deed.place, deed.order);
    case Deed::Kind::Resize: return book.resize(deed.side, deed.place, deed.order.size);
    case Deed::Kind::Move: book.remove(deed.side, deed.place); return book.insert(deed.side, deed.to, deed.order);
    case Deed::Kind::Remove: return book.remove(deed.side, deed.place, deed.count);
    case Deed::Kind::Trade: {
      const std::uint64_t rest = deed.fills.back().rest;
      book.remove(deed.side, 0, deed.fills.size() - (rest != 0 ? 1 : 0));
      if (rest != 0) book.resize(deed.side, 0, rest);
      return;
    }
    case Deed::Kind::Clear: return book.clear();
  }
}

Deed Trading::next(const TrueBook& book, impair::Random& random, std::uint64_t& last_order) {
  price_ = std::max<std::int64_t>(1'000, price_ + static_cast<std::int64_t>(random.below(5)) - 2);
  const Side side = kSides[random.below(2)];
  const std::size_t count = book.orders(side).size();
  const std::uint64_t dice = random.below(100);
  if (count == 0) return add(book, side, random, last_order);
  if (dice < 8) return trade(book, side, random);
  if (dice < 10) return cancel_many(book, side, random);
  if (dice < 30) return change(book, side, random, last_order);
  if (count < most_ && dice < 70) return add(book, side, random, last_order);
  // Most of those that go are near the best price.
  const std::size_t place = std::min(random.below(count), random.below(count));
  return {.kind = Deed::Kind::Remove, .side = side, .place = place, .order = book.orders(side)[place], .fills = {}};
}

std::int64_t Trading::price_for(const TrueBook& book, Side side, impair::Random& random) const {
  const auto away = static_cast<std::int64_t>(random.below(kSpread));
  const std::vector<Order>& against = book.orders(other(side));
  if (side == Side::Bid) {
    const std::int64_t highest = against.empty() ? price_ : std::min(price_, against.front().price - 1);
    return highest - away;
  }
  const std::int64_t lowest = against.empty() ? price_ + 1 : std::max(price_ + 1, against.front().price + 1);
  return lowest + away;
}

Deed Trading::add(const TrueBook& book, Side side, impair::Random& random, std::uint64_t& last_order) const {
  const Order order = {.id = ++last_order, .price = price_for(book, side, random), .size = 1 + random.below(kMostSize)};
  return {
      .kind = Deed::Kind::Add, .side = side, .place = book.place_for(side, order.price), .order = order, .fills = {}};
}

/// A smaller size keeps the order's place; with a larger one it is another order.
Deed Trading::change(const TrueBook& book, Side side, impair::Random& random, std::uint64_t& last_order) {
  const std::size_t place = random.below(book.orders(side).size());
  Order order = book.orders(side)[place];
  if (order.size > 1 && random.below(2) == 0) {
    order.size = 1 + random.below(order.size - 1);
    return {.kind = Deed::Kind::Resize, .side = side, .place = place, .order = order, .fills = {}};
  }
  order.id = ++last_order;
  order.size += 1 + random.below(kMostSize);
  TrueBook without = book;
  without.remove(side, place);
  return {.kind = Deed::Kind::Move,
          .side = side,
          .place = place,
          .to = without.place_for(side, order.price),
          .order = order,
          .fills = {}};
}

Deed Trading::trade(const TrueBook& book, Side side, impair::Random& random) {
  const std::vector<Order>& orders = book.orders(side);
  const std::size_t count = 1 + std::min(random.below(4), std::uint64_t{orders.size()} - 1);
  Deed deed = {.kind = Deed::Kind::Trade, .side = side, .order = {}, .fills = {}};
  for (std::size_t i = 0; i < count; ++i) {
    deed.fills.push_back({.price = orders[i].price, .size = orders[i].size, .rest = 0, .id = orders[i].id});
  }
  Deed::Fill& last = deed.fills.back();
  if (last.size > 1 && random.below(2) == 0) {
    last.rest = 1 + random.below(last.size - 1);
    last.size -= last.rest;
  }
  return deed;
}

Deed Trading::cancel_many(const TrueBook& book, Side side, impair::Random& random) {
  if (random.below(4) == 0) return {.kind = Deed::Kind::Clear, .order = {}, .fills = {}};
  const std::size_t count = book.orders(side).size();
  const std::size_t place = std::max(random.below(count), count - std::min(count, kMostDeleted));
  return {.kind = Deed::Kind::Remove,
          .side = side,
          .place = place,
          .count = count - place,
          .order = book.orders(side)[place],
          .fills = {}};
}

}  // namespace stopbit::venue
