#include "host/relay/books/books.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/lib/market_tables.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::relay::books_test {

using stopbit::testing::Scratch;
using Market = stopbit::testing::MarketTables;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint32_t kRows = 20;

/// A server that outlives its sessions.
class FakeKeyValues final : public KeyValues {
 public:
  Result<Done, StoreFailure> begin() override {
    if (is_away) return StoreFailure{StoreFailure::Kind::Away, "no server"};
    put_ = stored_ = 0;
    return Done{};
  }
  Result<Done, StoreFailure> put(std::string_view key, std::string_view value, bool /*asks*/) override {
    if (is_away) return StoreFailure{StoreFailure::Kind::Away, "gone"};
    values[std::string(key)] = value;
    if (key != kStatusKey) written.emplace_back(key);
    ++put_;
    return Done{};
  }
  Result<std::uint64_t, StoreFailure> stored(std::uint64_t /*wait_ms*/) override {
    if (is_away) return StoreFailure{StoreFailure::Kind::Away, "gone"};
    if (!is_silent) stored_ = put_;
    return stored_;
  }

  bool is_away = false;
  bool is_silent = false;
  std::map<std::string, std::string, std::less<>> values;
  std::vector<std::string> written;  ///< Keys of instruments, in order.

 private:
  std::uint64_t put_ = 0;
  std::uint64_t stored_ = 0;
};

class BooksTest : public ::testing::Test {
 protected:
  void start(BooksOptions options = {}) {
    options.ring = name();
    options.period_ns = 100 * kMs;
    books_.emplace(
        store_, options, [this](const std::string& line) { said_ += line + "\n"; }, [] { return std::uint64_t{77}; });
  }
  [[nodiscard]] std::string name() const { return folder_.path("events"); }
  /// A time goes by in which everything happens that has to.
  Books::State pass(std::uint64_t ms = 200) {
    Books::State state{};
    for (const std::uint64_t end = now_ns_ + ms * kMs; now_ns_ < end; now_ns_ += kMs) {
      while ((state = books_->step(now_ns_)) == Books::State::Busy) {
      }
    }
    return state;
  }
  [[nodiscard]] std::vector<std::string> written() { return std::exchange(store_.written, {}); }
  [[nodiscard]] ::testing::AssertionResult has(const std::string& key, const std::string& text) const {
    const auto found = store_.values.find(key);
    const std::string value = found == store_.values.end() ? "nothing" : found->second;
    if (value.find(text) != std::string::npos) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << key << " is " << value;
  }

  Scratch folder_;
  FakeKeyValues store_;
  std::optional<Books> books_;
  std::string said_;
  std::uint64_t now_ns_ = 1'000 * kMs;
};

using Keys = std::vector<std::string>;

TEST(KeyOfBook, has_only_characters_that_a_bucket_takes_and_is_of_one_instrument) {
  EXPECT_EQ(key_of_book("SBER/TQBR"), "book.SBER/TQBR");
  EXPECT_EQ(key_of_book("a.b c=d*>"), "book.a=2Eb=20c=3Dd=2A=3E");
  EXPECT_EQ(key_of_book("\xFF\n"), "book.=FF=0A");
  EXPECT_EQ(key_of_book(""), "book.=");
}

TEST_F(BooksTest, writes_every_row_once_and_then_what_has_changed_with_its_newest_state) {
  Market market(name(), kRows);
  market.add("A");
  market.add("B/X");
  start();
  (void)pass();
  EXPECT_EQ(written(), (Keys{"book.A", "book.B/X"}));
  EXPECT_TRUE(has("book.A", "{\"epoch\":" + std::to_string(market.epoch()) + ",\"row\":1,\"instrument\":\"A\""));
  EXPECT_TRUE(has("status", R"({"time":77,"writer":"running")"));
  EXPECT_TRUE(has("status", R"("instruments":2)"));
  // Three changes between two looks are one value.
  for (const std::int64_t price : {5, 6, 7}) market.bid(2, price);
  (void)pass();
  EXPECT_EQ(written(), (Keys{"book.B/X"}));
  EXPECT_TRUE(has("book.B/X", R"("book":"latest","bid":"7","bid_quantity":"7")"));
  // What changes seldom is seen, too: a definition, a new instrument, a book in doubt.
  market.rename(1, "first");
  market.add("C");
  market.take({.instrument = 2, .kind = market::Kind::Stale, .level = 4, .id = 9});
  (void)pass();
  EXPECT_EQ(written(), (Keys{"book.A", "book.B/X", "book.C"}));
  EXPECT_TRUE(has("book.A", R"("name":"first")"));
  EXPECT_TRUE(has("book.B/X", R"("book":"stale","cause":"gap")"));
  (void)pass();
  EXPECT_EQ(written(), Keys{});
}

TEST_F(BooksTest, keeps_no_more_than_it_may_while_the_store_confirms_nothing_and_then_writes_what_is_newest) {
  Market market(name(), kRows);
  for (std::uint32_t row = 1; row <= kRows; ++row) market.add("I" + std::to_string(row));
  store_.is_silent = true;
  start({.outstanding = 8});
  (void)pass(1'000);
  EXPECT_EQ(written().size(), 8U);
  for (std::int64_t price = 1; price <= 1'000; ++price) market.bid(kRows, price);
  store_.is_silent = false;
  (void)pass();
  EXPECT_EQ(written().size(), kRows - 8);
  EXPECT_TRUE(has("book.I20", R"("bid":"1000")"));
  // Nothing for longer than a session may wait: another session, which begins with all rows.
  store_.is_silent = true;
  market.bid(1, 2);
  (void)pass(7'000);
  EXPECT_NE(said_.find("confirmed nothing for 5000 ms"), std::string::npos) << said_;
  store_.is_silent = false;
  (void)pass(7'000);
  EXPECT_GE(written().size(), kRows);
  EXPECT_TRUE(has("book.I1", R"("bid":"2")"));
}

TEST_F(BooksTest, begins_every_session_with_all_rows) {
  Market market(name(), kRows);
  market.add("A");
  market.add("B");
  start();
  (void)pass();
  store_.is_away = true;
  market.bid(1, 3);
  (void)pass(1'000);
  EXPECT_NE(said_.find("gone; trying again"), std::string::npos) << said_;
  store_.is_away = false;
  (void)written();
  (void)pass(3'000);
  EXPECT_EQ(written(), (Keys{"book.A", "book.B"}));
  EXPECT_TRUE(has("book.A", R"("bid":"3")"));
  // So does another relay.
  start();
  (void)pass();
  EXPECT_EQ(written(), (Keys{"book.A", "book.B"}));
}

TEST_F(BooksTest, says_that_books_are_stale_when_their_writer_ends_and_goes_on_with_the_next_tables) {
  std::optional<Market> market(std::in_place, name(), kRows);
  market->add("A");
  market->add("B");
  market->bid(1, 3);
  start();
  (void)pass();
  EXPECT_TRUE(has("book.A", R"("book":"latest")"));
  // Other tables have the name: the old ones are stale, the new ones are what they say.
  std::optional<Market> next(std::in_place, name(), kRows, &*market);
  next->add("B");
  (void)written();
  (void)pass(500);
  EXPECT_EQ(written(), (Keys{"book.A", "book.B", "book.B"}));
  EXPECT_TRUE(has("book.A", R"("book":"stale","cause":"replaced","bid":"3")"));
  EXPECT_TRUE(has("book.B", "{\"epoch\":" + std::to_string(next->epoch())));
  EXPECT_TRUE(has("book.B", R"("book":"latest")"));
  next->finish();
  (void)pass();
  EXPECT_TRUE(has("book.B", R"("book":"stale","cause":"writer_ended")"));
  EXPECT_TRUE(has("status", R"("writer":"writer_ended")"));
}

TEST_F(BooksTest, says_that_books_are_stale_while_their_writer_stands_still) {
  Market market(name(), kRows);
  market.add("A");
  start();
  // A writer that has never said that it is well, as a replay, is not judged by it.
  (void)pass(8'000);
  EXPECT_TRUE(has("book.A", R"("book":"latest")"));
  market.beat(1);
  (void)pass(4'000);
  EXPECT_TRUE(has("book.A", R"("book":"latest")"));
  (void)pass(2'000);
  EXPECT_TRUE(has("book.A", R"("book":"stale","cause":"writer_silent")"));
  market.beat(2);
  (void)pass();
  EXPECT_TRUE(has("book.A", R"("book":"latest")"));
}

TEST_F(BooksTest, waits_for_tables_and_ends_with_them_if_it_shall) {
  start({.once = true});
  EXPECT_EQ(pass(), Books::State::Idle);
  EXPECT_NE(said_.find("waiting for tables"), std::string::npos) << said_;
  EXPECT_TRUE(has("status", R"("writer":"absent")"));
  Market market(name(), kRows);
  market.add("A");
  EXPECT_EQ(pass(), Books::State::Idle);
  market.finish();
  EXPECT_EQ(pass(), Books::State::Done);
  EXPECT_TRUE(has("book.A", R"("cause":"writer_ended")"));
}

}  // namespace stopbit::relay::books_test
