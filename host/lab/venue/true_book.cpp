#include "host/lab/venue/true_book.hpp"

namespace stopbit::venue {
namespace {

bool is_better(Side side, std::int64_t a, std::int64_t b) noexcept {
  return side == Side::Bid ? a > b : a < b;
}

}  // namespace

std::size_t TrueBook::place_for(Side side, std::int64_t price) const noexcept {
  const std::vector<Order>& all = orders(side);
  std::size_t place = 0;
  while (place < all.size() && !is_better(side, price, all[place].price)) ++place;
  return place;
}

void TrueBook::insert(Side side, std::size_t place, const Order& order) {
  std::vector<Order>& all = sides_[index(side)];
  all.insert(all.begin() + static_cast<std::ptrdiff_t>(place), order);
}

void TrueBook::remove(Side side, std::size_t place, std::size_t count) {
  std::vector<Order>& all = sides_[index(side)];
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(place);
  all.erase(from, from + static_cast<std::ptrdiff_t>(count));
}

void TrueBook::clear() noexcept {
  for (std::vector<Order>& side : sides_) side.clear();
}

std::vector<Level> TrueBook::levels(Side side, std::size_t depth) const {
  std::vector<Level> levels;
  for (const Order& order : orders(side)) {
    if (levels.empty() || levels.back().price != order.price) {
      if (levels.size() == depth) break;
      levels.push_back({.price = order.price});
    }
    levels.back().size += order.size;
    ++levels.back().orders;
  }
  return levels;
}

}  // namespace stopbit::venue
