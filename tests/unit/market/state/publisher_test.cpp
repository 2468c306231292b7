// From events to ring and state table, and to the books of readers, who may begin at any clear or snapshot.

#include "host/market/state/publisher.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "host/market/state/followed_books.hpp"
#include "host/market/state/reader.hpp"
#include "tests/lib/form.hpp"
#include "tests/unit/market/book/stream.hpp"

namespace stopbit::market::publisher_test {

using testing::Stream;
using testing::Subject;

constexpr BookShape kShapes[] = {
    {BookKind::Level, 10, 0}, {BookKind::Level, 0, 0}, {BookKind::Price, 0, 0},
    {BookKind::Price, 4, 0},  {BookKind::Order, 0, 0}, {BookKind::Position, 0, 0},
};
constexpr std::uint32_t kRows = std::size(kShapes);
constexpr BookRoom kEnough = {.instruments = kRows,
                              .implied = kRows,
                              .rows = 65'536,
                              .orders = 50'000,
                              .levels = 50'000,
                              .listed = 65'536,
                              .ladders = 4,
                              .placed = 100'000,
                              .positions = 200'000};
/// Some of its books find no room now and then.
constexpr BookRoom kLittle = {.instruments = kRows,
                              .implied = kRows,
                              .rows = 180,
                              .orders = 300,
                              .levels = 120,
                              .listed = 150,
                              .ladders = 1,
                              .placed = 60,
                              .positions = 200};
constexpr std::uint16_t kChannel = 7;

void define_all(BookSet& books) {
  for (std::uint32_t row = 1; row <= kRows; ++row) {
    const BookShape implied = row == 1 ? BookShape{BookKind::Level, 2, 0} : BookShape{};
    ASSERT_EQ(books.define(row, {kShapes[row - 1], implied, kChannel}), Fault::None);
  }
}

/// Of all that a book says, but for the times of its rows if `has_times` is false.
std::size_t digest_of(const BookSet& books, std::uint32_t row, bool has_times = true) {
  static std::vector<Row> rows(2'000);
  std::size_t digest = 0xCBF2'9CE4'8422'2325U;
  const auto add = [&](std::uint64_t word) { digest = (digest ^ word) * 0x100'0000'01B3U; };
  for (const BookOf of : {BookOf::Direct, BookOf::Implied}) {
    for (const Side side : {Side::Bid, Side::Ask}) {
      const std::size_t count = books.rows(row, side, rows, of);
      const Extent extent = books.extent(row, side, of);
      add(count);
      add(extent.known_to);
      add(extent.is_whole ? 1 : 0);
      for (std::size_t i = 0; i < count; ++i) {
        add(static_cast<std::uint64_t>(rows[i].price));
        add(static_cast<std::uint64_t>(rows[i].quantity));
        add(has_times ? rows[i].arrival_ns : 0);
        add(rows[i].orders);
        add(rows[i].is_known);
      }
    }
  }
  return digest;
}

/// Whole events of several entries of an instrument: mostly sound ones, as the reference knows the book.
class Feed {
 public:
  explicit Feed(std::uint64_t seed) : random_(seed), stream_(random_, 2) {
    for (std::uint32_t row = 1; row <= kRows; ++row) {
      subjects_.push_back({.row = row,
                           .of = BookOf::Direct,
                           .shape = kShapes[row - 1],
                           .reference = testing::make_reference(kShapes[row - 1])});
    }
  }

  Event next() {
    if (left_ == 0) {
      left_ = static_cast<unsigned>(1 + random_.below(4));
      subject_ = &random_.pick(subjects_);
    }
    --left_;
    Content content = stream_.next(*subject_);
    if (random_.below(2'000) == 0) content = open_or_clear();
    content.channel = kChannel;
    content.sequence = ++sequence_;
    if (left_ == 0) content.flags |= kFlagLastOfEvent;
    const Event event = Event::of(content);
    follow(event);
    return event;
  }

 private:
  /// For one instrument, or for all of the channel.
  Content open_or_clear() {
    Content content;
    content.instrument = random_.chance(20) ? kAllInstruments : subject_->row;
    if (random_.chance(60)) {
      content.kind = Kind::State;
      content.id = StateCode{random_.chance(70) ? TradingState::Open : TradingState::Auction, 17, 1}.packed();
    } else {
      content.kind = Kind::Clear;
      content.id = static_cast<std::uint64_t>(random_.chance(50) ? Cause::Reset : Cause::Gap);
    }
    return content;
  }

  /// Keeps the references near enough to the books for the stream to make sense.
  void follow(const Event& event) {
    for (Subject& subject : subjects_) {
      if (event.instrument() != kAllInstruments && event.instrument() != subject.row) continue;
      if (is_entry(event.kind())) {
        if (event.book() == BookOf::Implied) continue;
        const bool sets = subject.is_building && event.has(record::kFlagSnapshot) &&
                          (event.kind() == Kind::New || event.kind() == Kind::Change);
        if (cause_of(subject.reference->apply(event, sets)) != Cause::None) {
          subject.reference->lose();
          subject.is_building = false;
        }
        continue;
      }
      switch (event.kind()) {
        case Kind::Stale:
          if (subject.is_building || !testing::keeps_rows(event)) subject.reference->lose();
          subject.is_building = false;
          break;
        case Kind::SnapshotEnd: subject.is_building = false; break;
        case Kind::Clear:
        case Kind::Removed:
        case Kind::SnapshotBegin:
          if (event.kind() == Kind::Clear && event.cause() != Cause::Exchange && event.cause() != Cause::Reset &&
              event.cause() != Cause::Session) {
            subject.reference->lose();
          } else {
            subject.reference->clear();
          }
          subject.is_building = event.kind() == Kind::SnapshotBegin;
          subject.next_level[0] = subject.next_level[1] = 1;
          break;
        default: break;
      }
    }
  }

  cases::Random random_;
  Stream stream_;
  std::vector<Subject> subjects_;
  Subject* subject_ = nullptr;
  unsigned left_ = 0;
  std::uint32_t sequence_ = 0;
};

/// Runs a feed through a publisher, and keeps what is in the ring, and the digests of the books at each last-of-event.
struct Published {
  std::vector<Event> ring;
  std::vector<std::array<std::size_t, kRows>> digests;  ///< By event; empty arrays where no event ended.
  std::array<std::uint64_t, kFaults> faults{};
};

Published publish(std::uint64_t seed, const BookRoom& room, std::size_t events) {
  Published run;
  BookSet books(room);
  define_all(books);
  record::BufferSink sink(1, [&](std::span<const record::Slot> slots) { run.ring.push_back(Event::from(slots[0])); });
  Result<state::Table> table = state::Table::create_private({.rows = kRows, .levels = 5, .generation = 3});
  EXPECT_TRUE(table);
  const Result<state::Reader> reader = state::Reader::over(table.value().bytes());
  EXPECT_TRUE(reader);
  Publisher publisher(books, &sink, &table.value());
  Feed feed(seed);
  std::array<bool, kRows + 1> was_touched{};
  for (std::size_t i = 0; i < events; ++i) {
    const Event event = feed.next();
    (void)publisher.take(event);
    run.digests.resize(run.ring.size());
    if (event.instrument() <= kRows) was_touched[event.instrument()] = true;
    if (!event.last_of_event()) continue;
    EXPECT_TRUE(run.ring.back().last_of_event()) << "the end of the event goes to the last of the ring";
    for (std::uint32_t row = 1; row <= kRows; ++row) {
      if (run.digests.size() > 1 && i % 512 != 0 && !was_touched[row] && !was_touched[0]) continue;
      run.digests.back()[row - 1] = digest_of(books, row);
      state::Top top;
      state::DayView day;
      EXPECT_EQ(reader.value().read(row, top, day), state::Read::Ok);
      EXPECT_EQ(top.bid, books.best(row, Side::Bid).price);
      EXPECT_EQ(top.bid_quantity, books.best(row, Side::Bid).quantity);
      EXPECT_EQ(top.ask, books.best(row, Side::Ask).price);
      EXPECT_EQ(top.ask_quantity, books.best(row, Side::Ask).quantity);
      EXPECT_EQ(top.standing, books.standing(row));
      EXPECT_EQ(top.cause, books.cause(row));
      EXPECT_EQ(top.state, books.trading_state(row));
      EXPECT_EQ(top.bid_known == state::kWhole, books.extent(row, Side::Bid).is_whole);
      EXPECT_EQ(day.exchange_state, books.status(row).exchange_code);
      std::array<Row, 5> shown[2];
      state::Reader::Counts counts;
      EXPECT_EQ(reader.value().read_levels(row, shown[0], shown[1], counts), state::Read::Ok);
      for (const Side side : {Side::Bid, Side::Ask}) {
        std::array<Row, 5> expected;
        const std::size_t count = books.rows(row, side, expected);
        if (!was_touched[row]) continue;  // until then it shows none
        EXPECT_EQ(side == Side::Bid ? counts.bids : counts.asks, count);
        for (std::size_t k = 0; k < count; ++k) {
          Row other = expected[k];
          other.arrival_ns = 0;
          EXPECT_EQ(shown[side == Side::Bid ? 0 : 1][k], other) << "row " << row << " event " << i;
        }
      }
    }
    if (::testing::Test::HasFailure()) break;
    was_touched.fill(false);
  }
  for (std::size_t i = 0; i < kFaults; ++i) run.faults[i] = books.faults(static_cast<Fault>(i));
  return run;
}

/// The instrument's events of a ring from one of its clears or snapshots on give its book at every last-of-event.
void expect_same_book_from(const Published& run, std::size_t begin, std::uint32_t row, std::size_t events,
                           std::uint64_t& comparisons) {
  BookSet books(kEnough);
  define_all(books);
  const std::size_t end = std::min(run.ring.size(), begin + events);
  for (std::size_t i = begin; i < end; ++i) {
    const Event& event = run.ring[i];
    (void)books.apply(event);
    while (books.take_stale().row != 0) {
    }
    if (!event.last_of_event() || run.digests[i][row - 1] == 0) continue;
    ++comparisons;
    ASSERT_EQ(digest_of(books, row), run.digests[i][row - 1])
        << "row " << row << ", from event " << begin << " to " << i;
  }
}

bool begins_a_book(const Event& event, std::uint32_t row) {
  const bool empties = event.kind() == Kind::Stale && !testing::keeps_rows(event);
  return (event.kind() == Kind::Clear || event.kind() == Kind::SnapshotBegin || empties) &&
         (event.instrument() == row || (event.instrument() == kAllInstruments && event.channel() == kChannel));
}

TEST(Publisher, gives_readers_its_books_from_any_clear_or_snapshot_on) {
  std::uint64_t comparisons = 0;
  std::array<std::uint64_t, kFaults> faults{};
  for (std::uint64_t seed = 1; seed <= by_form<std::uint64_t>(2, 200); ++seed) {
    const Published run = publish(seed, seed % 2 == 0 ? kLittle : kEnough, 30'000);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    for (std::size_t i = 0; i < kFaults; ++i) faults[i] += run.faults[i];
    cases::Random random(seed);
    for (int tries = 0; tries < 40; ++tries) {
      const auto row = static_cast<std::uint32_t>(1 + random.below(kRows));
      std::size_t begin = random.below(run.ring.size());
      while (begin < run.ring.size() && !begins_a_book(run.ring[begin], row)) ++begin;
      expect_same_book_from(run, begin, row, 3'000, comparisons);
      ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
  }
  EXPECT_GT(comparisons, 5'000U);
  EXPECT_GT(faults[static_cast<std::size_t>(Fault::Room)], 0U);
  EXPECT_GT(faults[static_cast<std::size_t>(Fault::Crossed)], 0U);
  EXPECT_GT(faults[static_cast<std::size_t>(Fault::BeyondEnd)], 0U);
  std::printf("%llu comparisons; crossed %llu, room %llu\n", static_cast<unsigned long long>(comparisons),
              static_cast<unsigned long long>(faults[static_cast<std::size_t>(Fault::Crossed)]),
              static_cast<unsigned long long>(faults[static_cast<std::size_t>(Fault::Room)]));
}

/// The instruments of the feed, as its appliance would list them.
InstrumentTable instruments_of_feed() {
  Result<InstrumentTable> made = InstrumentTable::make({.capacity = kRows});
  EXPECT_TRUE(made);
  for (std::uint32_t row = 1; row <= kRows; ++row) {
    const std::uint32_t added = made.value().add("I" + std::to_string(row), [&](InstrumentRow& to) {
      to.channel = kChannel;
      to.book_kind[0] = static_cast<std::uint8_t>(kShapes[row - 1].kind);
      to.depth[0] = kShapes[row - 1].depth;
      if (row != 1) return;
      to.book_kind[1] = static_cast<std::uint8_t>(BookKind::Level);
      to.depth[1] = 2;
    });
    EXPECT_EQ(added, row);
  }
  return std::move(made).value();
}

struct Late {
  bool knows_states = false;  ///< From the ring's beginning.
  std::uint64_t compared = 0;
  std::uint64_t right_at_once = 0;  ///< Books that the state had.
};

/// A level book without a depth does not know from its rows how many there were: from there on it may know fewer, and
/// those are right. Others are the same.
void expect_like(const BookSet& books, const BookSet& expected, std::uint32_t row) {
  if (kShapes[row - 1].kind != BookKind::Level || kShapes[row - 1].depth != 0) {
    ASSERT_EQ(digest_of(books, row, false), digest_of(expected, row, false));
    return;
  }
  for (const Side side : {Side::Bid, Side::Ask}) {
    std::array<Row, 64> ours;
    std::array<Row, 64> theirs;
    ASSERT_LE(books.rows(row, side, ours), expected.rows(row, side, theirs));
    for (std::uint32_t i = 0; i < books.extent(row, side).known_to; ++i) {
      ASSERT_EQ(std::pair(ours[i].price, ours[i].quantity), std::pair(theirs[i].price, theirs[i].quantity));
    }
  }
}

/// A reader that has the state before event `begin` of the ring, and then its events. `expected`: the books there.
void expect_right_from_state(const Published& run, const FollowedBooks& followed, BookSet& expected, std::size_t begin,
                             std::size_t events, Late& late) {
  BookSet books(kEnough);
  define_all(books);
  std::array<bool, kRows + 1> is_right{};
  followed.for_each_event([&](const Event& event) {
    ASSERT_TRUE(event.has(record::kFlagSnapshot));
    ASSERT_EQ(event.channel(), kChannel);
    if (event.kind() == Kind::SnapshotBegin) is_right[event.instrument()] = true;
    (void)books.apply(event);
    ASSERT_FALSE(books.has_stale()) << "the state contradicts itself";
  });
  for (std::uint32_t row = 1; row <= kRows; ++row) {
    if (!is_right[row]) {
      ASSERT_NE(books.standing(row), Standing::Latest);
      continue;
    }
    ++late.right_at_once;
    expect_like(books, expected, row);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "row " << row << ", event " << begin;
    // Never more trust than there is; one who came late may have less.
    ASSERT_LE(books.standing(row), expected.standing(row));
    ASSERT_TRUE(books.standing(row) == expected.standing(row) || !late.knows_states);
    const bool is_same = books.trading_state(row) == expected.trading_state(row);
    ASSERT_TRUE(is_same || !late.knows_states) << "row " << row;
  }
  const std::size_t end = std::min(run.ring.size(), begin + events);
  for (std::size_t i = begin; i < end; ++i) {
    const Event& event = run.ring[i];
    for (BookSet* const set : {&books, &expected}) {
      (void)set->apply(event);
      while (set->take_stale().row != 0) {
      }
    }
    for (std::uint32_t row = 1; row <= kRows; ++row) is_right[row] = is_right[row] || begins_a_book(event, row);
    if (!event.last_of_event()) continue;
    for (std::uint32_t row = 1; row <= kRows; ++row) {
      if (!is_right[row] || (event.instrument() != row && event.instrument() != kAllInstruments)) continue;
      ++late.compared;
      expect_like(books, expected, row);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "row " << row << ", from event " << begin << " to " << i;
      const bool is_same = books.trading_state(row) == expected.trading_state(row);
      ASSERT_TRUE(is_same || !late.knows_states) << "row " << row;
    }
  }
}

TEST(FollowedBooks, make_late_readers_right_from_the_next_event_on) {
  Late late;
  for (std::uint64_t seed = 1; seed <= by_form<std::uint64_t>(2, 60); ++seed) {
    const Published run = publish(seed, seed % 2 == 0 ? kLittle : kEnough, 8'000);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    const InstrumentTable instruments = instruments_of_feed();
    cases::Random random(seed);
    // One that has followed the ring from its beginning, one that came later, and one that missed events.
    for (const std::size_t from : {std::size_t{0}, run.ring.size() / 3, std::size_t{0}}) {
      const bool misses = from == 0 && late.compared != 0 && random.chance(50);
      FollowedBooks followed({.instruments = kRows, .orders = 100'000});
      followed.begin(&instruments.view(), from == 0);
      late.knows_states = from == 0;
      // As a feed defines its instruments.
      for (std::uint32_t row = 1; from == 0 && row <= kRows; ++row) {
        followed.take(Event::of({.channel = kChannel, .instrument = row, .kind = Kind::Definition}));
      }
      BookSet expected(kEnough);
      define_all(expected);
      std::size_t next_look = from + random.below(400);
      for (std::size_t i = 0; i < run.ring.size(); ++i) {
        if (i == next_look) {
          BookSet copy(kEnough);
          define_all(copy);
          for (std::size_t k = 0; k < i; ++k) {
            (void)copy.apply(run.ring[k]);
            while (copy.take_stale().row != 0) {
            }
          }
          expect_right_from_state(run, followed, copy, i, 600, late);
          ASSERT_FALSE(HasFailure()) << "seed " << seed;
          next_look += 1 + random.below(900);
        }
        if (misses && i == run.ring.size() / 2) {
          followed.lose();
          late.knows_states = false;
          i += 100;
          next_look = std::max(next_look, i + 1);
        }
        if (i >= from && i < run.ring.size()) followed.take(run.ring[i]);
      }
    }
  }
  EXPECT_GT(late.compared, 2'000U);
  EXPECT_GT(late.right_at_once, 50U);
}

TEST(Publisher, spends_no_time_on_instruments_that_an_event_does_not_concern) {
  constexpr std::uint32_t kMany = 20'000;
  BookSet books({.instruments = kMany, .rows = kMany * 16});
  Result<state::Table> table = state::Table::create_private({.rows = kMany, .levels = 0, .generation = 1});
  ASSERT_TRUE(table);
  Publisher publisher(books, nullptr, &table.value());
  for (std::uint32_t row = 1; row <= kMany; ++row) {
    ASSERT_EQ(books.define(row, {{BookKind::Level, 5, 0}, {}, kChannel}), Fault::None);
    for (const Side side : {Side::Bid, Side::Ask}) {
      (void)publisher.take(Event::of({.channel = kChannel,
                                      .instrument = row,
                                      .kind = Kind::New,
                                      .side = side,
                                      .level = 1,
                                      .price = side == Side::Bid ? 2 : 1,
                                      .quantity = 1}));
    }
  }
  // Entries without a key, and ends of another channel's events while all books of this one are crossed. If each cost
  // time for each instrument, that would be 800 million steps.
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t i = 0; i < kMany; ++i) {
    (void)publisher.take(Event::of({.channel = kChannel, .kind = Kind::Other}));
    (void)publisher.take(
        Event::of({.channel = kChannel + 1, .flags = kFlagLastOfEvent, .instrument = 1, .kind = Kind::Other}));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

}  // namespace stopbit::market::publisher_test
