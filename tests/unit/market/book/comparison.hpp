#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/market/book/book_set.hpp"
#include "tests/lib/random.hpp"
#include "tests/unit/market/book/reference.hpp"
#include "tests/unit/market/book/stream.hpp"

/// All kinds of books at once, and beside them references of std containers that get the same entries.
namespace stopbit::market::testing {

inline std::string text_of(const Row& row) {
  if (row.is_known == 0) return "?";
  return std::to_string(row.quantity) + "@" + std::to_string(row.price) + "/" + std::to_string(row.orders);
}
inline std::string text_of(std::span<const Row> rows) {
  std::string text;
  for (const Row& row : rows) text += text_of(row) + " ";
  return text;
}
inline std::string text_of(const Content& content) {
  return std::string(name_of(content.kind)) + " " + std::string(name_of(content.side)) + " level " +
         std::to_string(content.level) + " price " + std::to_string(content.price) + " quantity " +
         std::to_string(content.quantity) + " id " + std::to_string(content.id);
}

inline constexpr BookShape kShapes[] = {
    {BookKind::Level, 10, 0},   {BookKind::Level, 1, 0}, {BookKind::Level, 3, 0},
    {BookKind::Level, 64, 0},   {BookKind::Level, 0, 0}, {BookKind::Price, 0, 0},
    {BookKind::Price, 5, 0},    {BookKind::Order, 0, 0}, {BookKind::Order, 0, Stream::kTick},
    {BookKind::Position, 0, 0},
};
inline constexpr std::uint32_t kRows = std::size(kShapes);
inline constexpr BookRoom kEnough = {.instruments = kRows,
                                     .implied = kRows,
                                     .rows = 65'536,
                                     .orders = 20'000,
                                     .levels = 20'000,
                                     .listed = 65'536,
                                     .ladders = 8,
                                     .placed = 200'000,
                                     .positions = 1'000'000};

struct Tally {
  std::uint64_t events = 0;
  std::array<std::uint64_t, kFaults> faults{};
  std::uint64_t best_changes = 0;
  std::uint64_t quiet = 0;
  std::uint64_t whole = 0;    ///< Sides of which all was known, at a comparison.
  std::uint64_t partial = 0;  ///< Sides with known rows of which not all was known.
};

class Comparison {
 public:
  /// `source` is a seed, or bytes from which choices are made.
  template <class Source>
  Comparison(const BookRoom& room, Source source, unsigned hostile_permille)
      : set_(room), random_(source), stream_(random_, hostile_permille) {
    for (std::uint32_t row = 1; row <= kRows; ++row) {
      const BookShape& shape = kShapes[row - 1];
      const BookShape implied = row == 1   ? BookShape{BookKind::Level, 2, 0}
                                : row == 6 ? BookShape{BookKind::Price, 2, 0}
                                           : BookShape{};
      if (set_.define(row, {shape, implied, 0}) != Fault::None) problem_ = "no room for a book";
      subjects_.push_back({.row = row, .of = BookOf::Direct, .shape = shape, .reference = make_reference(shape)});
      if (implied.kind == BookKind::None) continue;
      subjects_.push_back({.row = row, .of = BookOf::Implied, .shape = implied, .reference = make_reference(implied)});
    }
  }

  /// One more entry. Says what is wrong after it; empty: nothing.
  std::string step(bool compares_all) {
    Subject& subject = random_.pick(subjects_);
    const Content content = stream_.next(subject);
    const Event event = Event::of(content);
    const std::uint32_t row = subject.row;
    const BookOf of = event.book();
    const Row before[2] = {set_.best(row, Side::Bid, of), set_.best(row, Side::Ask, of)};
    const Extent known_before[2] = {set_.extent(row, Side::Bid, of), set_.extent(row, Side::Ask, of)};
    const Applied applied = set_.apply(event);
    const BookSet::BecameStale stale = set_.take_stale();
    ++tally_.events;
    ++tally_.faults[static_cast<std::size_t>(applied.fault)];

    Fault expected = Fault::None;
    if (is_entry(event.kind())) {
      Subject* const target = find(row, of);
      const bool is_told_as_it_is = target != nullptr && target->is_building && event.has(record::kFlagSnapshot) &&
                                    (event.kind() == Kind::New || event.kind() == Kind::Change);
      const bool lacks_value = event.has(kFlagWide) && (event.price() == kNoPrice || event.quantity() == kNoQuantity);
      const bool makes_row = event.kind() == Kind::New || event.kind() == Kind::Change || event.kind() == Kind::Overlay;
      const bool is_negative = event.quantity() < 0 && event.quantity() != kNoQuantity;
      expected = target == nullptr          ? Fault::NoBook
                 : lacks_value && makes_row ? Fault::Wide
                 : is_negative && makes_row ? Fault::Negative
                                            : target->reference->apply(event, is_told_as_it_is);
      // Only the books know their room.
      if (applied.fault == Fault::Room) expected = Fault::Room;
      if (cause_of(expected) != Cause::None) lose(row);
    } else {
      apply_other(event, row);
    }
    const bool becomes_stale = cause_of(expected) != Cause::None;
    require(applied.fault == expected,
            "the fault is " + std::string(name_of(applied.fault)) + ", not " + std::string(name_of(expected)));
    require(stale.row == (becomes_stale ? row : 0U) && set_.take_stale().row == 0, "the stale instrument is another");
    if (!becomes_stale && is_entry(event.kind())) {
      const bool is_same =
          same_best(before[0], set_.best(row, Side::Bid, of)) && same_best(before[1], set_.best(row, Side::Ask, of));
      require(applied.best_changed != is_same, "best_changed is wrong");
      tally_.best_changes += applied.best_changed ? 1 : 0;
    }
    tally_.quiet += applied.is_quiet ? 1 : 0;
    const auto is_kept = [](const Extent& a, const Extent& b) { return (a.is_whole && b.is_whole) || a == b; };
    require(!applied.is_quiet ||
                (!applied.best_changed && !becomes_stale && is_kept(known_before[0], set_.extent(row, Side::Bid, of)) &&
                 is_kept(known_before[1], set_.extent(row, Side::Ask, of))),
            "a quiet entry has changed what is known");
    if (compares_all || (subject.shape.kind == BookKind::Level && tally_.events % 4 == 0)) {
      for (const Subject& one : subjects_) {
        if (one.row == row) compare(one);
      }
    }
    return problem_.empty() ? ""
                            : "event " + std::to_string(tally_.events) + ", row " + std::to_string(row) + ", " +
                                  text_of(content) + ": " + problem_;
  }

  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  Subject* find(std::uint32_t row, BookOf of) {
    for (Subject& subject : subjects_) {
      if (subject.row == row && subject.of == of) return &subject;
    }
    return nullptr;
  }
  void lose(std::uint32_t row) {
    for (Subject& subject : subjects_) {
      if (subject.row != row) continue;
      subject.reference->lose();
      subject.is_building = false;
    }
  }
  void apply_other(const Event& event, std::uint32_t row) {
    const Cause cause = event.cause();
    if (keeps_rows(event)) {
      for (Subject& subject : subjects_) {
        if (subject.row == row && subject.is_building) return lose(row);
      }
      return;
    }
    if (event.kind() == Kind::Stale ||
        (event.kind() == Kind::Clear && cause != Cause::Exchange && cause != Cause::Reset && cause != Cause::Session)) {
      return lose(row);
    }
    for (Subject& subject : subjects_) {
      if (subject.row != row) continue;
      switch (event.kind()) {
        case Kind::Clear:
        case Kind::Removed:
        case Kind::SnapshotBegin:
          subject.reference->clear();
          subject.is_building = event.kind() == Kind::SnapshotBegin;
          subject.next_level[0] = subject.next_level[1] = 1;
          break;
        case Kind::SnapshotEnd: subject.is_building = false; break;
        default: break;
      }
    }
  }
  void require(bool holds, const std::string& problem) {
    if (!holds && problem_.empty()) problem_ = problem;
  }
  void compare(const Subject& subject) {
    for (const Side side : {Side::Bid, Side::Ask}) {
      const std::span<const Row> rows(rows_.data(), set_.rows(subject.row, side, rows_, subject.of));
      std::vector<Row> expected = subject.reference->rows(side);
      const std::size_t known = subject.reference->extent(side).known_to;
      const bool has_gap = subject.shape.kind == BookKind::Price || subject.shape.kind == BookKind::Order;
      if (has_gap && known < expected.size()) {
        expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(known), Row());
      }
      const Extent extent = set_.extent(subject.row, side, subject.of);
      if (!std::equal(rows.begin(), rows.end(), expected.begin(), expected.end())) {
        require(false, std::string(name_of(side)) + " is " + text_of(rows) + "and not " + text_of(expected));
      }
      require(extent == (subject.is_building ? Extent() : subject.reference->extent(side)),
              std::string(name_of(side)) + " is known to another row");
      const Row first = rows.empty() ? Row() : rows.front();
      require(same_best(set_.best(subject.row, side, subject.of), first), "the best is not the first row");
      ++(extent.is_whole ? tally_.whole : tally_.partial);
    }
  }

  std::string problem_;
  BookSet set_;
  cases::Random random_;
  Stream stream_;
  std::vector<Subject> subjects_;
  std::vector<Row> rows_ = std::vector<Row>(8'000);
  Tally tally_;
};

}  // namespace stopbit::market::testing
