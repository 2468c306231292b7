// Books over a restart: what a process has saved, and another one takes over.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/lib/form.hpp"
#include "tests/unit/market/stage/simulated_exchange.hpp"

namespace stopbit::market::restart_test {

using namespace simulated;

constexpr std::uint32_t kInstruments = 6;
constexpr std::uint64_t kEra = 17;

/// A process that has followed the exchange without a loss, and another one after it.
class Restart : public ::testing::TestWithParam<ScopeOf> {
 protected:
  void SetUp() override {
    first_.begin_era(kEra);
    first_.message(kIncrements, 1, exchange_.reset(first_.now).json);
    for (int i = 0; i < 60; ++i) deliver(first_);
    for (std::uint32_t one = 1; GetParam() == ScopeOf::Product && one <= kInstruments; ++one) {
      std::uint32_t number = 0;
      for (const std::string& part : exchange_.snapshot(one, first_.now)) first_.message(kSnapshots, ++number, part);
    }
    ASSERT_EQ(first_.books().count_of(Standing::Latest), kInstruments);
    file_ = first_.save();
  }
  void deliver(Stage& to) {
    const Exchange::Message message = exchange_.next(to.now += 1'000);
    to.message(kIncrements, message.sequence, message.json);
  }
  void expect_right(Stage& of) {
    for (std::uint32_t one = 1; one <= kInstruments; ++one) {
      if (of.standing(one) != Standing::Latest) continue;
      EXPECT_TRUE(same_rows(of.book(of.row(one)), exchange_.book(one))) << one;
    }
  }
  std::uint32_t count(Stage& of, Standing standing) { return of.books().count_of(standing); }

  Exchange exchange_{GetParam(), 3, kInstruments};
  Stage first_{GetParam(), kInstruments};
  Stage next_{GetParam(), kInstruments};
  std::vector<record::Slot> file_;
};

TEST_P(Restart, has_all_books_again_if_nothing_was_missed) {
  const Translator::Restored restored = next_.restore(file_, first_.era(), exchange_.sequence());
  EXPECT_EQ(restored.instruments, kInstruments);
  EXPECT_EQ(restored.books, kInstruments);
  EXPECT_EQ(count(next_, Standing::Latest), 0U) << "nothing says yet that nothing was missed";
  for (std::uint32_t one = 1; one <= kInstruments; ++one) {
    EXPECT_TRUE(same_rows(next_.book(next_.row(one)), exchange_.book(one))) << one;
    EXPECT_TRUE(next_.is_whole(next_.row(one)));
  }
  for (int i = 0; i < 100; ++i) {
    deliver(next_);
    expect_right(next_);
    if (GetParam() != ScopeOf::Product) {
      EXPECT_EQ(count(next_, Standing::Latest), kInstruments);
    }
  }
  EXPECT_EQ(count(next_, Standing::Latest), kInstruments);
  EXPECT_EQ(next_.counts().refused, 0U);
  EXPECT_EQ(next_.table().count(), kInstruments) << "records find their instruments by key";
}

TEST_P(Restart, has_no_wrong_book_if_something_was_missed) {
  for (std::uint32_t missed = 1; missed <= 4; ++missed) {
    Stage next(GetParam(), kInstruments);
    const std::uint64_t last = exchange_.sequence();
    file_ = first_.save();
    EXPECT_EQ(next.restore(file_, first_.era(), last).books, kInstruments);
    for (std::uint32_t i = 0; i < missed; ++i) deliver(first_);
    next.event(kIncrements, record::EventKind::Gap, static_cast<std::uint32_t>(last + 1), missed);
    EXPECT_EQ(count(next, Standing::Latest), 0U);
    EXPECT_EQ(count(next, Standing::Stale), GetParam() == ScopeOf::Channel ? kInstruments : 0U);
    for (int i = 0; i < 60; ++i) {
      const Exchange::Message message = exchange_.next(first_.now += 1'000);
      first_.message(kIncrements, message.sequence, message.json);
      next.message(kIncrements, message.sequence, message.json);
      expect_right(next);
    }
    EXPECT_EQ(count(next, Standing::Suspect), 0U) << "later messages show what was missed";
    EXPECT_EQ(count(first_, Standing::Latest), kInstruments);
  }
}

/// What passed between the last save and the end of the process is missing, too, though it was delivered.
TEST_P(Restart, counts_what_came_after_the_save_as_missed) {
  for (int i = 0; i < 3; ++i) deliver(first_);
  EXPECT_EQ(next_.restore(file_, first_.era(), exchange_.sequence()).books, kInstruments);
  deliver(next_);
  EXPECT_LT(count(next_, Standing::Latest), kInstruments);
  for (int i = 0; i < 60; ++i) {
    deliver(next_);
    expect_right(next_);
  }
}

TEST_P(Restart, takes_no_book_of_another_era) {
  const Translator::Restored restored = next_.restore(file_, first_.era() + 1, exchange_.sequence());
  EXPECT_EQ(restored.instruments, kInstruments);
  EXPECT_EQ(restored.books, 0U);
  EXPECT_EQ(count(next_, Standing::Stale), 0U) << "no books are known";
  deliver(next_);
  expect_right(next_);
}

TEST_P(Restart, takes_no_book_whose_numbers_are_ahead) {
  EXPECT_EQ(next_.restore(file_, first_.era(), exchange_.sequence() - 1).books, 0U);
}

TEST_P(Restart, begins_a_new_era_with_each_reset) {
  EXPECT_EQ(first_.era(), kEra + 1) << "the first message was one";
  first_.message(kIncrements, exchange_.sequence() + 1, exchange_.reset(first_.now).json);
  EXPECT_EQ(first_.era(), kEra + 2);
  EXPECT_EQ(next_.restore(file_, first_.era(), exchange_.sequence()).books, 0U);
}

TEST_P(Restart, knows_nothing_any_more_if_the_numbers_have_begun_anew) {
  ASSERT_EQ(next_.restore(file_, first_.era(), exchange_.sequence()).books, kInstruments);
  Exchange again(GetParam(), 5, kInstruments);
  for (int i = 0; i < 40; ++i) {
    const Exchange::Message message = again.next(next_.now += 1'000);
    next_.message(kIncrements, message.sequence, message.json);
    EXPECT_EQ(count(next_, Standing::Latest), 0U) << i;
  }
  EXPECT_NE(next_.era(), first_.era()) << "and the file is of no use for another process";
}

/// As the appliance says when another sender has the channel.
TEST_P(Restart, knows_nothing_any_more_of_a_channel_that_begins_anew) {
  ASSERT_EQ(next_.restore(file_, first_.era(), exchange_.sequence()).books, kInstruments);
  next_.translator().begin_anew(kIncrements, next_.now);
  EXPECT_EQ(count(next_, Standing::Stale), kInstruments);
  EXPECT_NE(next_.era(), first_.era());
  deliver(next_);
  EXPECT_EQ(count(next_, Standing::Latest), 0U);
}

/// Numbers of instruments and products have begun anew while no process ran, and those of messages have not, or are
/// higher again.
TEST_P(Restart, finds_that_the_exchange_has_begun_anew_by_numbers_of_instruments) {
  const std::uint32_t last = exchange_.sequence();
  ASSERT_EQ(next_.restore(file_, first_.era(), last).books, kInstruments);
  Exchange again(GetParam(), 5, kInstruments);
  again.go_on_after(last + 10);
  next_.event(kIncrements, record::EventKind::Gap, last + 1, 10);
  for (int i = 0; i < 300; ++i) {
    const Exchange::Message message = again.next(next_.now += 1'000);
    next_.message(kIncrements, message.sequence, message.json);
    for (std::uint32_t one = 1; one <= kInstruments; ++one) {
      if (next_.standing(one) != Standing::Latest) continue;
      ASSERT_TRUE(same_rows(next_.book(next_.row(one)), again.book(one))) << "security " << one << " message " << i;
    }
  }
}

TEST_P(Restart, saves_what_it_has_taken_over_before_the_first_message) {
  ASSERT_EQ(next_.restore(file_, first_.era(), exchange_.sequence()).books, kInstruments);
  const std::vector<record::Slot> again = next_.save();
  Stage third(GetParam(), kInstruments);
  EXPECT_EQ(third.restore(again, next_.era(), exchange_.sequence()).books, kInstruments);
  deliver(third);
  expect_right(third);
  EXPECT_GT(count(third, Standing::Latest), 0U);
}

TEST_P(Restart, saves_no_stale_book) {
  first_.event(kIncrements, record::EventKind::Reset, exchange_.sequence());
  const auto saved = SavedBooks::over(std::as_bytes(std::span<const record::Slot>(file_ = first_.save())));
  ASSERT_TRUE(saved) << saved.message();
  saved.value().for_each([](const SavedRow& row, std::span<const Event> events) {
    EXPECT_EQ(row.has & kSavedBook, 0);
    EXPECT_TRUE(events.empty());
  });
}

TEST_P(Restart, finds_any_damage_of_a_file) {
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(file_));
  ASSERT_TRUE(SavedBooks::over(bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const std::byte flip : {std::byte{1}, std::byte{0x80}}) {
      if (i >= bytes.size() - 32) continue;  // what the end does not use
      bytes[i] ^= flip;
      EXPECT_FALSE(SavedBooks::over(bytes)) << "byte " << i << " of " << bytes.size();
      bytes[i] ^= flip;
    }
  }
  for (std::size_t cut = 0; cut < bytes.size(); cut += 8) EXPECT_FALSE(SavedBooks::over(bytes.first(cut))) << cut;
}

/// Rows by their keys: a file that has one twice, or more than there is room for.
TEST_P(Restart, takes_each_instrument_once) {
  Stage small(GetParam(), 2);
  EXPECT_EQ(small.restore(file_, first_.era(), exchange_.sequence()).instruments, 2U);
  ASSERT_EQ(next_.restore(file_, first_.era(), exchange_.sequence()).instruments, kInstruments);
  EXPECT_EQ(next_.restore(file_, first_.era(), exchange_.sequence()).instruments, 0U);
  EXPECT_EQ(next_.table().count(), kInstruments);
}

INSTANTIATE_TEST_SUITE_P(scopes, Restart, ::testing::Values(ScopeOf::Instrument, ScopeOf::Product, ScopeOf::Channel));

/// Entries of a book, as for_each_entry gives them.
std::vector<Event> entries_of(const BookSet& books) {
  std::vector<Event> all;
  for (const BookOf of : {BookOf::Direct, BookOf::Implied}) {
    for (const Side side : {Side::Bid, Side::Ask}) {
      const std::size_t before = all.size();
      for_each_entry(books, 1, side, of, [&](const Event& event) { all.push_back(event); });
      EXPECT_EQ(all.size() - before, entry_count(books, 1, side, of));
    }
  }
  return all;
}

TEST(BookEntries, make_the_same_book_of_any_kind) {
  for (const BookShape made :
       {BookShape{BookKind::Level}, BookShape{BookKind::Level, 5}, BookShape{BookKind::Price},
        BookShape{BookKind::Price, 5}, BookShape{BookKind::Order, 0, 1}, BookShape{BookKind::Position}}) {
    const BookKind kind = made.kind;
    cases::Random random(7);
    std::uint64_t pictured = 0;
    const BookRoom room{.instruments = 1,
                        .implied = 1,
                        .rows = 4'096,
                        .orders = 1'024,
                        .levels = 1'024,
                        .listed = 1'024,
                        .ladders = 4,
                        .placed = 1'024,
                        .positions = 4'096};
    const InstrumentShape shape{.direct = made, .implied = {BookKind::Price, 0, 0}, .channel = 1};
    BookSet books(room);
    ASSERT_EQ(books.define(1, shape), Fault::None);
    (void)books.apply(Event::of({.channel = 1, .instrument = 1, .kind = Kind::Clear, .id = 1}));
    for (int i = 0; i < by_form(500, 2'000, 2'000); ++i) {
      const bool is_ask = random.chance(50);
      const auto level = static_cast<std::uint16_t>(1 + random.below(6));
      const auto step = static_cast<std::int64_t>(
          kind == BookKind::Level || kind == BookKind::Position ? level * 10 + random.below(5) : random.below(120));
      const Kind what = random.chance(60) ? Kind::New : random.chance(50) ? Kind::Change : Kind::Delete;
      Content entry = {.channel = 1, .instrument = 1, .kind = what, .side = is_ask ? Side::Ask : Side::Bid};
      entry.price = is_ask ? 1'000 + step : 1'000 - step;
      entry.quantity = static_cast<std::int64_t>(1 + random.below(100));
      entry.id = kind == BookKind::Order || kind == BookKind::Position ? 1 + random.below(300) : random.below(4);
      if (kind == BookKind::Level || kind == BookKind::Position) entry.level = level;
      const auto is_whole = [&](Side side) { return is_pictured(books, 1, side, BookOf::Direct); };
      if (!is_whole(Side::Bid) || !is_whole(Side::Ask)) {  // after a fall from a full side, and a deletion
        if (books.apply(Event::of(entry)).fault == Fault::None) continue;
        while (books.take_stale().row != 0) {
        }
        (void)books.apply(Event::of({.channel = 1, .instrument = 1, .kind = Kind::Clear, .id = 1}));
        continue;
      }
      ++pictured;
      BookSet trial = BookSet(room);  // an entry that the book rules out is not sent
      ASSERT_EQ(trial.define(1, shape), Fault::None);
      (void)trial.apply(Event::of({.instrument = 1, .kind = Kind::SnapshotBegin}));
      for (Event known : entries_of(books)) {
        known.set_instrument(1);
        (void)trial.apply(known);
      }
      (void)trial.apply(Event::of({.instrument = 1, .kind = Kind::SnapshotEnd}));
      ASSERT_EQ(trial.take_stale().row, 0U);
      for (const Side side : {Side::Bid, Side::Ask}) {
        std::vector<Row> ours(64);
        std::vector<Row> theirs(64);
        const std::size_t count = books.rows(1, side, ours);
        ASSERT_EQ(trial.rows(1, side, theirs), count);
        if (kind == BookKind::Price) {
          EXPECT_EQ(trial.extent(1, side), books.extent(1, side));
        }
        for (std::size_t r = 0; r < count; ++r) {
          EXPECT_EQ(ours[r].price, theirs[r].price);
          EXPECT_EQ(ours[r].quantity, theirs[r].quantity);
          EXPECT_EQ(ours[r].orders, theirs[r].orders);
        }
      }
      if (trial.apply(Event::of(entry)).fault != Fault::None) continue;
      ASSERT_EQ(books.apply(Event::of(entry)).fault, Fault::None) << name_of(kind) << " " << i;
    }
    EXPECT_GT(pictured, 300U) << name_of(kind) << " " << made.depth;
  }
}

}  // namespace stopbit::market::restart_test
