#include "host/market/state/table.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "host/market/state/publisher.hpp"
#include "host/market/state/reader.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::market::state::table_test {

using stopbit::testing::Scratch;

constexpr std::int64_t kUnit = kPriceUnits;

/// A table with books, of one row by level.
struct Market {
  explicit Market(Result<Table> made) : table(std::move(made)), books({.instruments = 3}) {
    for (std::uint32_t row = 1; row <= 3; ++row) (void)books.define(row, {{BookKind::Level, 5, 0}, {}, 1});
  }
  void take(Content content) {
    content.channel = 1;
    content.arrival_ns = ++now;
    Publisher(books, nullptr, &table.value()).take(Event::of(content));
  }
  void quote(std::uint32_t row, Side side, std::int64_t price, std::int64_t quantity) {
    take({.flags = kFlagLastOfEvent,
          .instrument = row,
          .kind = Kind::New,
          .side = side,
          .level = 1,
          .price = price,
          .quantity = quantity,
          .id = 1});
  }
  Result<Table> table;
  BookSet books;
  std::uint64_t now = 0;
};

Top top_of(const Reader& reader, std::uint32_t row) {
  Top top;
  EXPECT_EQ(reader.read(row, top), Read::Ok);
  return top;
}
DayView day_of(const Reader& reader, std::uint32_t row) {
  DayView day;
  EXPECT_EQ(reader.read(row, day), Read::Ok);
  return day;
}

TEST(Table, shows_books_and_days_to_readers_that_come_later) {
  const Scratch folder;
  Market market(Table::create(folder.path("market"), {.rows = 3, .levels = 2, .generation = 9}));
  ASSERT_TRUE(market.table) << market.table.message();
  market.take({.instrument = 2, .kind = Kind::Clear, .id = 1});
  market.quote(2, Side::Bid, 100 * kUnit, 7);
  market.quote(2, Side::Ask, -5, 8);
  market.take({.instrument = 2, .kind = Kind::Trade, .side = Side::Ask, .price = 0, .quantity = 3});
  market.take({.instrument = 2, .kind = Kind::Trade, .side = Side::Bid, .price = -kUnit, .quantity = 4});
  market.take({.instrument = 2, .kind = Kind::Bust, .price = 0, .quantity = 3});
  market.take({.instrument = 2, .kind = Kind::State, .id = StateCode{TradingState::Auction, 24, 2}.packed()});
  market.take({.instrument = 2, .kind = Kind::Latest, .id = 70});

  const Result<Reader> reader = Reader::open(folder.path("market"));
  ASSERT_TRUE(reader) << reader.message();
  EXPECT_EQ(reader.value().rows(), 3U);
  EXPECT_EQ(reader.value().generation(), 9U);
  EXPECT_EQ(reader.value().writer(), Reader::Writer::Running);
  Top top;
  DayView day;
  ASSERT_EQ(reader.value().read(2, top, day), Read::Ok);
  EXPECT_EQ(top.bid, 100 * kUnit);
  EXPECT_EQ(top.bid_quantity, 7);
  EXPECT_EQ(top.ask, -5);
  EXPECT_EQ(top.ask_quantity, 8);
  EXPECT_EQ(top.bid_known, kWhole);
  EXPECT_EQ(top.state, TradingState::Auction);
  EXPECT_EQ(top.standing, Standing::Latest);
  EXPECT_EQ(top.cause, Cause::None);
  EXPECT_EQ(top.channel, 1);
  EXPECT_EQ(day.last, -kUnit);
  EXPECT_EQ(day.last_quantity, 4);
  EXPECT_EQ(day.aggressor, Side::Bid);
  EXPECT_EQ(day.high, 0);
  EXPECT_EQ(day.low, -kUnit);
  EXPECT_EQ(day.volume, 4);
  EXPECT_EQ(day.exchange_state, 24U);
  EXPECT_EQ(day.scale, 2);

  Row bids[2];
  Row asks[2];
  Reader::Counts counts;
  ASSERT_EQ(reader.value().read_levels(2, bids, asks, counts), Read::Ok);
  EXPECT_EQ(counts.bids, 1U);
  EXPECT_EQ(counts.asks, 1U);
  EXPECT_EQ(bids[0].price, 100 * kUnit);
  EXPECT_EQ(bids[0].orders, 1U);

  // A row that nothing was heard of.
  EXPECT_EQ(top_of(reader.value(), 3).bid, kNoPrice);
  EXPECT_EQ(top_of(reader.value(), 3).standing, Standing::Stale);
  EXPECT_EQ(top_of(reader.value(), 3).cause, Cause::Join);
  EXPECT_EQ(top_of(reader.value(), 3).bid_known, 0);
  EXPECT_EQ(reader.value().read(0, top), Read::NoRow);
  EXPECT_EQ(reader.value().read(4, top), Read::NoRow);
}

TEST(Table, takes_the_exchanges_figures_before_its_own) {
  Market market(Table::create_private({.rows = 3}));
  const Result<Reader> reader = Reader::over(market.table.value().bytes());
  const auto trade = [&](std::int64_t price, std::int64_t quantity) {
    market.take({.instrument = 1, .kind = Kind::Trade, .price = price, .quantity = quantity});
  };
  const auto statistic = [&](Statistic which, std::int64_t price, std::int64_t quantity) {
    market.take({.instrument = 1,
                 .kind = Kind::Statistic,
                 .level = static_cast<std::uint16_t>(which),
                 .price = price,
                 .quantity = quantity});
  };
  trade(5 * kUnit, 10);
  EXPECT_EQ(day_of(reader.value(), 1).volume, 10);
  market.take({.flags = record::kFlagSnapshot, .instrument = 1, .kind = Kind::Trade, .price = kUnit, .quantity = 10});
  EXPECT_EQ(day_of(reader.value(), 1).volume, 10) << "a snapshot says it again";
  statistic(Statistic::Volume, kNoPrice, 500);
  trade(6 * kUnit, 10);
  EXPECT_EQ(day_of(reader.value(), 1).volume, 500) << "the exchange says what it is";
  statistic(Statistic::High, 9 * kUnit, kNoQuantity);
  EXPECT_EQ(day_of(reader.value(), 1).high, 9 * kUnit);
  statistic(Statistic::Reset, kNoPrice, kNoQuantity);
  EXPECT_EQ(day_of(reader.value(), 1).high, kNoPrice);
  EXPECT_EQ(day_of(reader.value(), 1).volume, kNoQuantity);
  trade(kNoPrice, kMaxQuantity);
  EXPECT_EQ(day_of(reader.value(), 1).volume, kMaxQuantity);
  EXPECT_EQ(day_of(reader.value(), 1).high, kNoPrice);
}

TEST(Table, says_of_a_stale_book_that_it_is_one) {
  Market market(Table::create_private({.rows = 3}));
  const Result<Reader> reader = Reader::over(market.table.value().bytes());
  market.take({.instrument = 1, .kind = Kind::Clear, .id = 1});
  market.quote(1, Side::Bid, kUnit, 1);
  market.take({.instrument = 1, .kind = Kind::Latest});
  EXPECT_EQ(top_of(reader.value(), 1).standing, Standing::Latest);
  market.take({.instrument = 1, .kind = Kind::Delete, .side = Side::Bid, .level = 3});
  const Top top = top_of(reader.value(), 1);
  EXPECT_EQ(top.standing, Standing::Stale);
  EXPECT_EQ(top.cause, Cause::Contradiction);
  EXPECT_EQ(top.bid, kNoPrice);
  EXPECT_EQ(top.bid_known, 0);
}

TEST(Table, of_a_writer_that_died_within_a_row_is_unfinished_there_and_sound_elsewhere) {
  const Scratch folder;
  const std::string name = folder.path("market");
  const pid_t child = ::fork();
  if (child == 0) {
    Market market(Table::create(name, {.rows = 3}));
    if (!market.table) ::_exit(1);
    for (std::uint32_t row = 1; row <= 3; ++row) {
      market.take({.instrument = row, .kind = Kind::Clear, .id = 1});
      market.quote(row, Side::Bid, row * kUnit, 1);
    }
    // As if the process ended after the first store of a change.
    auto* const word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(market.table.value().bytes().data()) +
                                                        kPageBytes + 2 * row_bytes(0));
    __atomic_store_n(word, *word + 1, __ATOMIC_RELAXED);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  Result<Reader> reader = Reader::open(name);
  ASSERT_TRUE(reader) << reader.message();
  EXPECT_EQ(reader.value().writer(), Reader::Writer::Dead);
  EXPECT_EQ(top_of(reader.value(), 1).bid, kUnit);
  EXPECT_EQ(top_of(reader.value(), 3).bid, 3 * kUnit);
  Top top;
  DayView day;
  EXPECT_EQ(reader.value().read(2, top), Read::Unfinished);
  EXPECT_EQ(reader.value().read(2, top, day), Read::Unfinished);
  EXPECT_EQ(reader.value().read(2, day), Read::Ok) << "the other part is sound";

  // The next writer takes the name; a reader of the old table keeps it.
  const Result<Table> next = Table::create(name, {.rows = 3});
  ASSERT_TRUE(next) << next.message();
  EXPECT_FALSE(Table::create(name, {.rows = 3})) << "the name has a live writer";
  const Result<Reader> other = Reader::open(name);
  ASSERT_TRUE(other);
  EXPECT_NE(other.value().epoch(), reader.value().epoch());
  EXPECT_EQ(top_of(other.value(), 1).bid, kNoPrice);
}

TEST(Table, gives_threads_whole_rows_while_it_changes) {
  Market market(Table::create_private({.rows = 3}));
  const Result<Reader> reader = Reader::over(market.table.value().bytes());
  market.take({.instrument = 1, .kind = Kind::Clear, .id = 1});
  market.quote(1, Side::Bid, 1, 1);
  std::atomic<bool> stops{false};
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> wrong{0};
  std::thread other([&] {
    while (!stops) {
      Top top;
      DayView day;
      if (reader.value().read(1, top, day) != Read::Ok) continue;
      ++reads;
      // Each trade has the price of the bid before it, or the one before that.
      if (top.bid != top.bid_quantity ||
          (day.last != kNoPrice && (day.last != day.last_quantity || day.last > top.bid)))
        ++wrong;
    }
  });
  for (std::int64_t i = 2; i < 50'000 || reads < 1'000; ++i) {
    market.take({.flags = kFlagLastOfEvent,
                 .instrument = 1,
                 .kind = Kind::Overlay,
                 .side = Side::Bid,
                 .level = 1,
                 .price = i,
                 .quantity = i});
    market.take({.instrument = 1, .kind = Kind::Trade, .price = i, .quantity = i});
  }
  stops = true;
  other.join();
  EXPECT_EQ(wrong, 0U);
}

TEST(Table, refuses_what_it_cannot_be) {
  const Scratch folder;
  EXPECT_NE(Table::create(folder.path("a"), {.rows = 0}).message().find("1 to 16777215 rows"), std::string::npos);
  EXPECT_FALSE(Table::create(folder.path("a"), {.rows = 1, .levels = 65}));
  folder.write("b.state", std::string(8'192, 'x'));
  EXPECT_NE(Reader::open(folder.path("b")).message().find("no state table"), std::string::npos);
  EXPECT_FALSE(Table::create(folder.path("b"), {.rows = 1})) << "a file that is no table is not replaced";
  folder.write("c.state", "short");
  EXPECT_NE(Reader::open(folder.path("c")).message().find("not a state table"), std::string::npos);
  EXPECT_FALSE(Reader::open(folder.path("none")));
}

TEST(Table, with_any_header_is_refused_or_read_inside) {
  const Result<Table> table = Table::create_private({.rows = 3, .levels = 2});
  std::vector<std::uint64_t> copy(table.value().bytes().size() / 8);
  const auto as_bytes = [&] { return std::as_bytes(std::span(copy)); };
  for (std::size_t word = 0; word < sizeof(Header) / 8; ++word) {
    for (const std::uint64_t value : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{3},
                                      std::uint64_t{4'097}, std::uint64_t{0xFFFF'FFFF}, std::uint64_t{1} << 32 | 1}) {
      std::memcpy(copy.data(), table.value().bytes().data(), table.value().bytes().size());
      copy[word] = value;
      const Result<Reader> reader = Reader::over(as_bytes());
      if (!reader) continue;
      Top top;
      DayView day;
      Row bids[2];
      Row asks[2];
      Reader::Counts counts;
      for (const std::uint32_t row : {1U, reader.value().rows()}) {
        (void)reader.value().read(row, top, day);
        (void)reader.value().read_levels(row, bids, asks, counts);
      }
    }
  }
  // Any words in the rows.
  std::memcpy(copy.data(), table.value().bytes().data(), table.value().bytes().size());
  std::fill(copy.begin() + kPageBytes / 8, copy.end(), 0xFEFE'FEFE'FEFE'FEFEU);
  const Result<Reader> reader = Reader::over(as_bytes());
  ASSERT_TRUE(reader);
  Top top;
  ASSERT_EQ(reader.value().read(1, top), Read::Ok);
  EXPECT_EQ(top.state, TradingState::Unknown);
  EXPECT_EQ(top.standing, Standing::Stale);
  Row bids[2];
  Row asks[2];
  Reader::Counts counts;
  ASSERT_EQ(reader.value().read_levels(1, bids, asks, counts), Read::Ok);
  EXPECT_EQ(counts.bids, 2U);
}

TEST(Page, has_the_places_of_everything) {
  const std::string page = stopbit::testing::file_text(STOPBIT_SOURCE_FOLDER "/host/market/state/state.md");
  const auto has = [&](std::size_t place, const std::string& name, const char* mark = "`") {
    const std::string row = "\n| " + std::to_string(place) + " | " + mark + name + mark + " |";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  };
#define EXPECT_PLACE(member) has(offsetof(Header, member), #member)
  EXPECT_PLACE(magic);
  EXPECT_PLACE(version);
  EXPECT_PLACE(event_schema);
  EXPECT_PLACE(rows);
  EXPECT_PLACE(levels);
  EXPECT_PLACE(row_bytes);
  EXPECT_PLACE(rows_offset);
  EXPECT_PLACE(segment_bytes);
  EXPECT_PLACE(epoch);
  EXPECT_PLACE(generation);
  EXPECT_PLACE(writer_pid);
  EXPECT_PLACE(ring_epoch);
  EXPECT_PLACE(heartbeat_ns);
  EXPECT_PLACE(writer_state);
#undef EXPECT_PLACE
  has(0, "book", "");
  has(sizeof(Book), "day", "");
  has(sizeof(Book) + sizeof(Day), "levels", "");
  EXPECT_NE(page.find("of this layout: " + std::to_string(kVersion)), std::string::npos);
}

TEST(Table, without_memory_is_an_error_and_no_signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    // A file system that is full: 64 GiB are not there.
    const Result<Table> table =
        Table::create("stopbit-test-too-large-" + std::to_string(::getpid()), {.rows = 16'000'000, .levels = 64});
    ::_exit(table ? 1 : table.message().find("cannot reserve memory") != std::string::npos ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace stopbit::market::state::table_test
