#include "tests/venue/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "decoder/record/views.hpp"

namespace stopbit::venue_test {
namespace {

constexpr std::array kSidesOfBook = {market::Side::Bid, market::Side::Ask};

void add(Counts& counts, Count what, std::uint64_t by = 1) {
  counts[static_cast<std::size_t>(what)] += by;
}

struct Sides {
  std::array<std::vector<market::Row>, 2> rows;
  Sides(const market::BookSet& books, std::uint32_t row) {
    for (std::size_t side = 0; side < 2; ++side) {
      rows[side].resize(256);
      rows[side].resize(books.rows(row, kSidesOfBook[side], rows[side]));
    }
  }
  [[nodiscard]] bool is(const History::Book& book) const {
    return same_side(rows[0], book.sides[0]) && same_side(rows[1], book.sides[1]);
  }
  [[nodiscard]] std::string text() const { return to_text(rows[0]) + "| " + to_text(rows[1]); }
};

std::string text_of(const History::Book& book) {
  return fmt::format("#{} {}| {}", book.number, to_text(book.sides[0]), to_text(book.sides[1]));
}

}  // namespace

void Oracle::take(std::span<const record::Slot> record) {
  const record::HeaderView header(record[0]);
  if (header.channel() != venue::kIncrements) return;
  if (!header.is_event()) {
    const std::size_t packet = history_.find(header.sequence(), header.arrival_ns());
    if (packet == History::kNone) {
      if (fault_.empty()) fault_ = fmt::format("a record has number {}, which was not sent", header.sequence());
      return;
    }
    return deliver(packet);
  }
  const record::EventView event(record[0]);
  if (story_ >= 0) {
    fmt::print("{:9.3f} s event {} first {} count {}\n", static_cast<double>(now_ns_) / 1e9,
               static_cast<int>(event.kind()), event.first_missing(), event.missing());
  }
  switch (event.kind()) {
    case record::EventKind::Gap:
      add(counts_, Count::Gaps);
      told_.push_back({event.first_missing(), event.missing()});
      return;
    case record::EventKind::Reset:
      add(counts_, Count::Resets);
      is_reset_told_ = true;
      return;
    case record::EventKind::DecodeError:
    case record::EventKind::Dropped:
    case record::EventKind::Lost:
    case record::EventKind::LayoutChanged:
      if (fault_.empty()) fault_ = fmt::format("an event of kind {} has no reason", static_cast<int>(event.kind()));
      return;
    default: return;
  }
}

void Oracle::deliver(std::size_t packet) {
  if (packet == delivered_) return;  // another message of it
  const bool goes_on = delivered_ != History::kNone && packet > delivered_;
  const std::size_t first = goes_on ? delivered_ + 1 : packet;
  bool begins_anew = false;
  for (std::size_t i = first; goes_on && i <= packet; ++i) begins_anew = begins_anew || !history_.goes_on(i);
  add(counts_, Count::Lost, packet - first);
  if (packet != first) {
    before_loss_ = delivered_;
    lost_ = packet - 1;
  }
  // Numbers that begin anew in an outage, and have come further since, look like a gap.
  const auto looks_like_gap = [&] {
    const std::uint64_t from = history_.sequence_of(delivered_) + 1;
    const std::uint64_t to = history_.sequence_of(packet);
    return std::any_of(told_.begin(), told_.end(),
                       [&](const Told& told) { return told.first <= from && told.first + told.count >= to; });
  };
  if (begins_anew && !is_reset_told_ && history_.sequence_of(packet) == history_.sequence_of(delivered_) + 1) {
    is_hidden_ = true;
  } else if (begins_anew && !is_reset_told_ && !looks_like_gap() && fault_.empty()) {
    fault_ = fmt::format("the numbers began anew before {}, and nothing was told", history_.sequence_of(packet));
  }
  for (std::size_t missing = first; missing < packet && !begins_anew; ++missing) {
    const std::uint64_t number = history_.sequence_of(missing);
    const bool is_told = std::any_of(told_.begin(), told_.end(),
                                     [number](const Told& told) { return number - told.first < told.count; });
    if (!is_told && fault_.empty()) {
      fault_ =
          fmt::format("number {} is missing before {}, and nothing was told", number, history_.sequence_of(packet));
    }
  }
  if (!goes_on && delivered_ != History::kNone && fault_.empty()) {
    fault_ =
        fmt::format("number {} was delivered after {}", history_.sequence_of(packet), history_.sequence_of(delivered_));
  }
  told_.clear();
  is_reset_told_ = false;
  delivered_ = packet;
}

std::size_t Oracle::first_book(std::uint32_t instrument) const {
  return delivered_ == History::kNone ? 0 : history_.at(instrument, delivered_);
}

void Oracle::check(const Appliance& appliance, std::uint64_t now_ns) {
  if (is_hidden_) return;
  now_ns_ = now_ns;
  const market::EventMaker& maker = appliance.maker();
  for (std::uint32_t i = 0; i < venue_.instruments().size() && fault_.empty(); ++i) {
    const std::uint32_t row = maker.instruments().view().find(venue_.instruments()[i].key);
    if (row != 0) check_book(maker, i, row);
  }
}

void Oracle::check_book(const market::EventMaker& maker, std::uint32_t instrument, std::uint32_t row) {
  const market::BookSet& books = maker.books();
  const market::Standing standing = books.standing(row);
  if (story_ == static_cast<int>(instrument)) {
    const std::string line = fmt::format(
        "delivered {} {} since {} {} {}", delivered_ == History::kNone ? 0 : history_.sequence_of(delivered_),
        name_of(standing), books.status(row).since, name_of(books.status(row).cause), Sides(books, row).text());
    if (line != story_line_) {
      fmt::print("{:9.3f} s {}\n{:24} truth {}\n", static_cast<double>(now_ns_) / 1e9, line, "",
                 text_of(history_.books(instrument)[first_book(instrument)]));
    }
    story_line_ = line;
  }
  const std::span<const History::Book> all = history_.books(instrument);
  if (standing == market::Standing::Stale) {
    add(counts_, Count::StaleBooks);
    if (plan_.refresh && plan_.policy == market::Policy::Optimistic) check_known_rows(books, instrument, row);
    return;
  }
  const Sides sides(books, row);
  const std::size_t first = first_book(instrument);
  const auto is_it = [&](const History::Book& book) { return sides.is(book); };
  if (standing == market::Standing::Latest) {
    right_at_[instrument] = delivered_;
    add(counts_, Count::LatestBooks);
    if (is_it(all[first])) return;
    add(counts_, Count::AheadBooks);
    if (std::any_of(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), is_it)) return;
    return blame(instrument, "it is latest and not the exchange's: " + sides.text());
  }
  add(counts_, Count::SuspectBooks);
  if (std::any_of(all.rbegin(), all.rend(), is_it)) return;
  blame(instrument, "it is suspect and was never the exchange's: " + sides.text());
}

/// Of books by price level only: those of orders have rows that are a part of a price. Until the instrument's next
/// entry a stale book is that of before the loss, which was whole.
void Oracle::check_known_rows(const market::BookSet& books, std::uint32_t instrument, std::uint32_t row) {
  if (books.shape(row).direct.kind != market::BookKind::Level) return;
  if (books.extent(row, market::Side::Bid).is_whole && books.extent(row, market::Side::Ask).is_whole) return;
  const Sides sides(books, row);
  const auto is_right = [&sides](const History::Book& book) {
    for (std::size_t side = 0; side < 2; ++side) {
      const std::vector<market::Row>& rows = sides.rows[side];
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].is_known == 0) continue;
        if (i >= book.sides[side].size() || !same_side({&rows[i], 1}, {&book.sides[side][i], 1})) return false;
      }
    }
    return true;
  };
  add(counts_, Count::KnownRows, sides.rows[0].size() + sides.rows[1].size());
  const std::span<const History::Book> all = history_.books(instrument);
  const auto is_since = [&](std::size_t book) {
    return std::any_of(all.begin() + static_cast<std::ptrdiff_t>(book), all.end(), is_right);
  };
  if (is_since(first_book(instrument))) {
    right_at_[instrument] = delivered_;
    return;
  }
  // After a loss nothing shows yet whether it had an entry of the instrument.
  const std::size_t right_at = right_at_[instrument];
  const bool was_lost = before_loss_ != History::kNone && right_at != History::kNone && right_at <= before_loss_;
  if (was_lost && is_since(history_.at(instrument, right_at))) return;
  blame(instrument, "it is stale, and a row that is known is wrong: " + sides.text());
}

void Oracle::blame(std::uint32_t instrument, const std::string& what) {
  fault_ = fmt::format(
      "at {:.3f} s, after number {}, instrument {} ({}): {}; the exchange's: {}", static_cast<double>(now_ns_) / 1e9,
      delivered_ == History::kNone ? 0 : history_.sequence_of(delivered_), instrument,
      venue_.instruments()[instrument].key, what, text_of(history_.books(instrument)[first_book(instrument)]));
}

void Oracle::finish(const Appliance& appliance) {
  if (!fault_.empty() || is_hidden_) return;
  if (delivered_ + 1 != history_.packets()) {
    fault_ = fmt::format("packet {} of {} was the last one delivered", delivered_ + 1, history_.packets());
    return;
  }
  for (std::uint32_t i = 0; i < venue_.instruments().size() && fault_.empty(); ++i) check_end(appliance.maker(), i);
}

bool Oracle::is_beyond_room(std::uint32_t instrument) const {
  const std::span<const History::Book> books = history_.books(instrument);
  const std::uint64_t end_ns = history_.time_of(history_.packets() - 1);
  const std::uint64_t begin_ns = end_ns - plan_.settings.snapshot_every_ns;
  std::uint64_t before = books.back().number;
  for (auto book = books.rbegin(); book != books.rend() && history_.time_of(book->since) >= begin_ns; ++book) {
    before = std::min(before, book->number);
  }
  return books.back().number - before > plan_.queued;
}

bool Oracle::is_unproven(std::uint32_t instrument) const {
  const auto kind = plan_.settings.market->exchange;
  const auto is_of = [this](std::uint32_t other, std::string_view product) {
    return venue_.instruments()[other].key.starts_with(product);
  };
  const std::string& key = venue_.instruments()[instrument].key;
  const bool has_products = kind == simulate::VenueKind::T7 || kind == simulate::VenueKind::T7Mdi;
  if (!has_products && kind != simulate::VenueKind::MoexFx) return false;
  const std::string product = has_products ? key.substr(0, key.find('/') + 1) : std::string();
  for (std::uint32_t i = 0; i < venue_.instruments().size(); ++i) {
    const History::Book& book = history_.books(i).back();
    const bool shows_it = has_products ? lost_ == History::kNone || book.since > lost_ : book.number != 0;
    if (is_of(i, product) && shows_it) return false;
  }
  return true;
}

bool Oracle::is_out_of_loops(std::uint32_t instrument) const {
  const auto kind = plan_.settings.market->exchange;
  if (kind != simulate::VenueKind::B3 && kind != simulate::VenueKind::Cme) return false;
  const std::span<const History::Book> books = history_.books(instrument);
  if (books.back().number == 0) return true;
  std::size_t first = books.size() - 1;
  while (first != 0 && books[first - 1].number != 0) --first;
  return history_.time_of(books[first].since) + 2 * plan_.settings.snapshot_every_ns > now_ns_;
}

void Oracle::check_end(const market::EventMaker& maker, std::uint32_t instrument) {
  const History::Book& book = history_.books(instrument).back();
  const std::uint32_t row = maker.instruments().view().find(venue_.instruments()[instrument].key);
  if (is_out_of_loops(instrument)) return;
  if (row == 0) return blame(instrument, "it is not known at the end");
  const market::InstrumentStatus status = maker.books().status(row);
  if (status.standing == market::Standing::Stale && is_beyond_room(instrument)) return;
  const Sides sides(maker.books(), row);
  if (status.standing == market::Standing::Suspect && sides.is(book) && is_unproven(instrument)) return;
  if (status.standing != market::Standing::Latest) {
    return blame(instrument, fmt::format("it is {} at the end, since {}, cause {}", name_of(status.standing),
                                         status.since, name_of(status.cause)));
  }
  if (!sides.is(book)) blame(instrument, "it is another one at the end: " + sides.text());
}

}  // namespace stopbit::venue_test
