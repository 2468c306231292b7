#include "tests/venue/history.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stopbit::venue_test {

History::History(std::size_t instruments, std::int64_t quantity_units)
    : quantity_units_(quantity_units), books_(instruments, std::vector<Book>(1)) {}

void History::add(const venue::Packet& packet) {
  const std::size_t index = sent_.size();
  sent_.push_back({packet.sequence, packet.time_ns});
  by_sequence_[static_cast<std::uint32_t>(packet.sequence)].push_back(index);
  const auto row_of = [this](const venue::Level& level) {
    constexpr std::int64_t kHundredth = market::kPriceUnits / 100;
    return market::Row{.price = level.price * kHundredth,
                       .quantity = static_cast<std::int64_t>(level.size) * quantity_units_,
                       .orders = level.orders,
                       .is_known = 1};
  };
  for (const venue::TruthRow& truth : packet.truth) {
    Book& book = books_[truth.instrument].emplace_back();
    book.since = index;
    book.number = truth.number;
    for (const venue::Level& level : truth.bids) book.sides[0].push_back(row_of(level));
    for (const venue::Level& level : truth.asks) book.sides[1].push_back(row_of(level));
  }
}

std::size_t History::find(std::uint32_t sequence, std::uint64_t arrival_ns) const {
  const auto known = by_sequence_.find(sequence);
  if (known == by_sequence_.end()) return kNone;
  for (auto index = known->second.rbegin(); index != known->second.rend(); ++index) {
    if (sent_[*index].time_ns <= arrival_ns) return *index;
  }
  return kNone;
}

std::size_t History::at(std::uint32_t instrument, std::size_t packet) const {
  const std::vector<Book>& books = books_[instrument];
  const auto after = std::upper_bound(books.begin() + 1, books.end(), packet,
                                      [](std::size_t at, const Book& book) { return at < book.since; });
  return static_cast<std::size_t>(after - books.begin()) - 1;
}

bool same_side(std::span<const market::Row> rows, std::span<const market::Row> others) noexcept {
  return std::equal(
      rows.begin(), rows.end(), others.begin(), others.end(), [](const market::Row& a, const market::Row& b) {
        return a.is_known == b.is_known && a.price == b.price && a.quantity == b.quantity && a.orders == b.orders;
      });
}

std::string to_text(std::span<const market::Row> rows) {
  std::string text;
  for (const market::Row& row : rows) {
    text += row.is_known == 0 ? std::string("? ")
                              : fmt::format("{}.{:02}*{}({}) ", row.price / market::kPriceUnits,
                                            row.price % market::kPriceUnits / 10'000'000, row.quantity, row.orders);
  }
  return text;
}

}  // namespace stopbit::venue_test
