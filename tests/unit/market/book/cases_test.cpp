// What exchanges send and what books make of it, case by case.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "host/market/book/book.hpp"
#include "host/market/book/book_set.hpp"
#include "host/market/book/price_ladder.hpp"
#include "tests/lib/random.hpp"

namespace stopbit::market::cases_test {

__extension__ typedef __int128 Wide;
constexpr Wide kMost = std::numeric_limits<std::uint64_t>::max();

constexpr std::int64_t kUnit = kPriceUnits;
constexpr std::uint16_t kChannel = 4;

class Books : public ::testing::Test {
 protected:
  Books()
      : books_({.instruments = 4,
                .implied = 2,
                .rows = 4'096,
                .orders = 5'000,
                .levels = 5'000,
                .listed = 16'384,
                .ladders = 2,
                .placed = 100,
                .positions = 1'000}) {}

  void define(const BookShape& direct, const BookShape& implied = {}, std::uint32_t row = 1) {
    ASSERT_EQ(books_.define(row, {direct, implied, kChannel}), Fault::None);
    take({.instrument = row, .kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Exchange)});
  }
  Applied take(Content content) {
    if (content.instrument == kAllInstruments && content.kind != Kind::Clear) content.instrument = 1;
    content.channel = kChannel;
    return books_.apply(Event::of(content));
  }
  Applied entry(Kind kind, Side side, std::uint16_t level, std::int64_t price, std::int64_t quantity = 10,
                BookOf of = BookOf::Direct) {
    return take(
        {.kind = kind, .side = side, .book = of, .level = level, .price = price, .quantity = quantity, .id = 2});
  }
  Applied order(Kind kind, Side side, std::uint64_t id, std::int64_t price, std::int64_t quantity = 10) {
    return take({.kind = kind, .side = side, .price = price, .quantity = quantity, .id = id});
  }
  Applied end_of_event() {
    return take({.flags = kFlagLastOfEvent, .kind = Kind::Trade, .price = kUnit, .quantity = 1});
  }
  void become(TradingState state) { take({.kind = Kind::State, .id = StateCode{state, 0, 0}.packed()}); }

  /// "10@5 ? 3@2": the rows of a side.
  std::string rows(Side side, BookOf of = BookOf::Direct) {
    std::array<Row, 64> all;
    return text({all.data(), books_.rows(1, side, all, of)});
  }
  std::string merged(Side side, std::size_t most = 64) {
    std::vector<Row> all(most);
    return text({all.data(), books_.merged_rows(1, side, all)});
  }
  static std::string text(std::span<const Row> rows) {
    std::string out;
    for (const Row& row : rows) {
      if (!out.empty()) out += ' ';
      if (row.is_known == 0) {
        out += '?';
      } else {
        out +=
            std::to_string(row.quantity) + "@" + (row.price == kNoPrice ? "none" : std::to_string(row.price / kUnit));
      }
    }
    return out;
  }

  BookSet books_;
};

TEST_F(Books, by_level_shift_and_drop_the_row_beyond_the_depth) {
  define({BookKind::Level, 3, 0});
  for (std::uint16_t level = 1; level <= 3; ++level) entry(Kind::New, Side::Bid, level, (100 - level) * kUnit, level);
  EXPECT_EQ(rows(Side::Bid), "1@99 2@98 3@97");
  EXPECT_TRUE(entry(Kind::New, Side::Bid, 1, 100 * kUnit, 9).best_changed);
  EXPECT_EQ(rows(Side::Bid), "9@100 1@99 2@98");
  EXPECT_FALSE(entry(Kind::Delete, Side::Bid, 2, 99 * kUnit).best_changed);
  EXPECT_EQ(rows(Side::Bid), "9@100 2@98");
  EXPECT_EQ(books_.extent(1, Side::Bid), (Extent{2, true}));
  EXPECT_EQ(entry(Kind::New, Side::Bid, 4, kUnit).fault, Fault::BeyondEnd);
}

TEST_F(Books, after_a_loss_know_what_they_do_not_know) {
  define({BookKind::Level, 4, 0});
  entry(Kind::New, Side::Ask, 1, 10 * kUnit);
  take({.kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Gap)});
  EXPECT_EQ(rows(Side::Ask), "");
  EXPECT_FALSE(books_.extent(1, Side::Ask).is_whole);
  entry(Kind::Change, Side::Ask, 3, 12 * kUnit);
  EXPECT_EQ(rows(Side::Ask), "? ? 10@12");
  entry(Kind::New, Side::Ask, 1, 9 * kUnit, 1);
  EXPECT_EQ(rows(Side::Ask), "1@9 ? ? 10@12");
  EXPECT_EQ(books_.extent(1, Side::Ask), (Extent{1, false}));
  entry(Kind::Overlay, Side::Ask, 2, 10 * kUnit, 2);
  entry(Kind::Overlay, Side::Ask, 3, 11 * kUnit, 3);
  EXPECT_EQ(rows(Side::Ask), "1@9 2@10 3@11 10@12");
  EXPECT_EQ(books_.extent(1, Side::Ask), (Extent{4, true})) << "all rows of its depth are known";
  EXPECT_EQ(books_.status(1).standing, Standing::Stale) << "until the one who knows the numbers says otherwise";
}

TEST_F(Books, are_those_of_the_moment_of_a_loss_until_it_is_known_what_was_lost) {
  define({BookKind::Level, 4, 0});
  take({.kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Exchange)});
  entry(Kind::New, Side::Ask, 1, 10 * kUnit);
  take({.kind = Kind::Latest});
  const auto stale = [&](Cause cause) {
    take({.kind = Kind::Stale, .level = static_cast<std::uint16_t>(cause), .id = 7});
    return rows(Side::Ask);
  };
  EXPECT_EQ(stale(Cause::Gap), "10@10");
  EXPECT_EQ(stale(Cause::Queue), "10@10");
  EXPECT_EQ(books_.status(1).standing, Standing::Stale);
  EXPECT_EQ(books_.status(1).since, 7U);
  EXPECT_TRUE(books_.extent(1, Side::Ask).is_whole);
  EXPECT_EQ(stale(Cause::Audit), "") << "it was never right";
}

TEST_F(Books, of_a_channel_are_in_the_state_that_a_loss_says) {
  define({BookKind::Level, 4, 0});
  take({.kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Exchange)});
  take({.kind = Kind::Latest});
  const auto all = [&](Kind kind, BookOf of, std::uint64_t id) {
    (void)books_.apply(Event::of(
        {.channel = kChannel, .kind = kind, .book = of, .level = static_cast<std::uint16_t>(Cause::Gap), .id = id}));
    return books_.standing(1);
  };
  EXPECT_EQ(all(Kind::Suspect, BookOf::Implied, 5), Standing::Suspect);
  EXPECT_EQ(all(Kind::Suspect, BookOf::Implied, 9), Standing::Suspect);
  EXPECT_EQ(books_.status(1).since, 5U) << "the first loss counts";
  EXPECT_EQ(all(Kind::Latest, BookOf::Direct, 5), Standing::Suspect) << "that of message 5 has not healed";
  EXPECT_EQ(all(Kind::Latest, BookOf::Direct, 4), Standing::Latest);
  EXPECT_EQ(all(Kind::Stale, BookOf::Implied, 12), Standing::Stale);
  EXPECT_EQ(all(Kind::Suspect, BookOf::Implied, 13), Standing::Stale) << "a loss makes nothing better";
  take({.kind = Kind::Stale, .level = static_cast<std::uint16_t>(Cause::Gap), .id = 3});
  EXPECT_EQ(all(Kind::Latest, BookOf::Direct, 0), Standing::Stale) << "it has lost entries of its own";
  take({.instrument = kAllInstruments, .kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Exchange)});
  EXPECT_EQ(books_.standing(1), Standing::Latest) << "the exchange has emptied all books";
}

TEST_F(Books, without_a_depth_keep_no_row_beyond_the_highest_position_used) {
  define({BookKind::Level, 0, 0});
  entry(Kind::New, Side::Bid, 1, 10 * kUnit);
  EXPECT_TRUE(books_.extent(1, Side::Bid).is_whole);
  entry(Kind::New, Side::Bid, 1, 11 * kUnit);
  EXPECT_EQ(rows(Side::Bid), "10@11");
  EXPECT_FALSE(books_.extent(1, Side::Bid).is_whole) << "whether the exchange keeps it is not known";
  entry(Kind::New, Side::Bid, 2, 10 * kUnit);
  EXPECT_EQ(rows(Side::Bid), "10@11 10@10");
}

TEST_F(Books, delete_from_either_end) {
  define({BookKind::Level, 10, 0});
  for (std::uint16_t level = 1; level <= 6; ++level) entry(Kind::New, Side::Ask, level, level * kUnit, level);
  EXPECT_TRUE(entry(Kind::DeleteTop, Side::Ask, 2, kNoPrice).best_changed);
  EXPECT_EQ(rows(Side::Ask), "3@3 4@4 5@5 6@6");
  entry(Kind::DeleteBottom, Side::Ask, 3, kNoPrice);
  EXPECT_EQ(rows(Side::Ask), "3@3 4@4");
  EXPECT_TRUE(entry(Kind::DeleteSide, Side::Ask, 1, kNoPrice).best_changed);
  EXPECT_EQ(rows(Side::Ask), "");
  EXPECT_TRUE(books_.extent(1, Side::Ask).is_whole);
}

TEST_F(Books, report_contradictions_and_lose_what_they_hold) {
  const auto fill = [&] {
    take({.kind = Kind::Clear, .id = 1});
    entry(Kind::New, Side::Bid, 1, 10 * kUnit);
    entry(Kind::New, Side::Bid, 2, 8 * kUnit);
    take({.kind = Kind::Latest});
  };
  define({BookKind::Level, 5, 0});
  struct {
    Kind kind;
    std::uint16_t level;
    std::int64_t price;
    Fault fault;
  } const cases[] = {
      {Kind::Change, 1, 9 * kUnit, Fault::OtherPrice},  {Kind::Delete, 2, 9 * kUnit, Fault::OtherPrice},
      {Kind::Change, 3, 7 * kUnit, Fault::BeyondEnd},   {Kind::New, 4, 7 * kUnit, Fault::BeyondEnd},
      {Kind::New, 2, 10 * kUnit, Fault::Disorder},      {Kind::New, 2, 11 * kUnit, Fault::Disorder},
      {Kind::New, 1, 10 * kUnit, Fault::Disorder},      {Kind::Overlay, 1, 8 * kUnit, Fault::Disorder},
      {Kind::New, 0, 10 * kUnit, Fault::Address},       {Kind::New, kLevelBehind, 1, Fault::BeyondEnd},
      {Kind::DeleteTop, 3, kNoPrice, Fault::BeyondEnd}, {Kind::DeleteBottom, 3, kNoPrice, Fault::BeyondEnd},
  };
  std::uint64_t number = 0;
  for (const auto& one : cases) {
    fill();
    ASSERT_EQ(rows(Side::Bid), "10@10 10@8");
    EXPECT_EQ(name_of(entry(one.kind, Side::Bid, one.level, one.price).fault), name_of(one.fault)) << "case " << number;
    ++number;
    EXPECT_EQ(rows(Side::Bid), "");
    EXPECT_FALSE(books_.extent(1, Side::Bid).is_whole);
    EXPECT_EQ(books_.status(1).standing, Standing::Stale);
    EXPECT_EQ(books_.status(1).cause, Cause::Contradiction);
    EXPECT_EQ(books_.take_stale().row, 1U);
    EXPECT_EQ(books_.take_stale().row, 0U);
  }
  fill();
  EXPECT_EQ(entry(Kind::New, Side::None, 1, kUnit).fault, Fault::Address);
}

TEST_F(Books, may_be_locked_or_crossed_except_at_the_end_of_an_event_while_open) {
  define({BookKind::Level, 5, 0});
  become(TradingState::Open);
  entry(Kind::New, Side::Bid, 1, 10 * kUnit);
  entry(Kind::New, Side::Ask, 1, 10 * kUnit);
  end_of_event();
  EXPECT_EQ(books_.faults(Fault::Crossed), 0U) << "locked";
  entry(Kind::New, Side::Bid, 1, 11 * kUnit);
  entry(Kind::Delete, Side::Ask, 1, 10 * kUnit);
  end_of_event();
  EXPECT_EQ(books_.faults(Fault::Crossed), 0U) << "within an event it may be";

  become(TradingState::Auction);
  entry(Kind::New, Side::Ask, 1, 9 * kUnit);
  end_of_event();
  EXPECT_EQ(books_.faults(Fault::Crossed), 0U) << "auctions may be";
  EXPECT_EQ(rows(Side::Ask), "10@9");
  // The auction ends: orders are matched, and trading opens with what is left.
  entry(Kind::DeleteTop, Side::Bid, 1, kNoPrice);
  entry(Kind::Change, Side::Ask, 1, 9 * kUnit, 4);
  become(TradingState::Open);
  entry(Kind::DeleteTop, Side::Bid, 1, kNoPrice);
  end_of_event();
  EXPECT_EQ(books_.faults(Fault::Crossed), 0U);

  entry(Kind::New, Side::Bid, 1, 12 * kUnit);
  EXPECT_EQ(books_.status(1).standing, Standing::Stale);
  EXPECT_EQ(books_.take_stale().row, 0U) << "not before the event ends";
  end_of_event();
  EXPECT_EQ(books_.faults(Fault::Crossed), 1U);
  EXPECT_EQ(books_.take_stale().fault, Fault::Crossed);
  EXPECT_EQ(rows(Side::Bid), "");
}

TEST_F(Books, know_prices_of_0_and_below_as_any_others) {
  define({BookKind::Price, 0, 0});
  entry(Kind::New, Side::Bid, 0, 0);
  entry(Kind::New, Side::Bid, 0, -2 * kUnit);
  entry(Kind::New, Side::Bid, 0, kUnit);
  entry(Kind::New, Side::Ask, 0, -kUnit);
  EXPECT_EQ(rows(Side::Bid), "10@1 10@0 10@-2");
  EXPECT_EQ(entry(Kind::Delete, Side::Bid, 0, kUnit).best_changed, true);
  EXPECT_EQ(books_.best(1, Side::Bid).price, 0);
  EXPECT_EQ(books_.best(1, Side::Ask).price, -kUnit);
  EXPECT_EQ(entry(Kind::New, Side::Bid, 0, 0).fault, Fault::Twice);
}

TEST_F(Books, with_one_side_have_no_best_on_the_other) {
  define({BookKind::Price, 2, 0});
  EXPECT_TRUE(entry(Kind::New, Side::Ask, 0, 5 * kUnit).best_changed);
  EXPECT_EQ(books_.best(1, Side::Bid).is_known, 0U);
  EXPECT_TRUE(books_.extent(1, Side::Bid).is_whole) << "known to be empty";
  entry(Kind::New, Side::Ask, 0, 4 * kUnit);
  entry(Kind::New, Side::Ask, 0, 3 * kUnit);
  EXPECT_EQ(rows(Side::Ask), "10@3 10@4");
  EXPECT_EQ(books_.extent(1, Side::Ask), (Extent{2, false})) << "what fell off may still be there";
  EXPECT_EQ(entry(Kind::Delete, Side::Ask, 0, 5 * kUnit).fault, Fault::None);
  EXPECT_EQ(entry(Kind::Delete, Side::Ask, 0, 2 * kUnit).fault, Fault::Missing);
}

TEST_F(Books, merge_direct_and_implied_rows) {
  define({BookKind::Level, 5, 0}, {BookKind::Level, 2, 0});
  for (std::uint16_t level = 1; level <= 3; ++level)
    entry(Kind::New, Side::Bid, level, (20 - 2 * level) * kUnit, level);
  EXPECT_EQ(merged(Side::Bid), "1@18 2@16 3@14");
  EXPECT_TRUE(entry(Kind::New, Side::Bid, 1, 17 * kUnit, 5, BookOf::Implied).best_changed);
  entry(Kind::New, Side::Bid, 2, 16 * kUnit, 6, BookOf::Implied);
  EXPECT_EQ(rows(Side::Bid), "1@18 2@16 3@14");
  EXPECT_EQ(rows(Side::Bid, BookOf::Implied), "5@17 6@16");
  EXPECT_EQ(merged(Side::Bid), "1@18 5@17 8@16 3@14");
  EXPECT_EQ(merged(Side::Bid, 2), "1@18 5@17");
  EXPECT_EQ(merged(Side::Bid, 1), "1@18");
  entry(Kind::New, Side::Bid, 1, 19 * kUnit, 7, BookOf::Implied);
  EXPECT_EQ(merged(Side::Bid), "7@19 1@18 5@17 2@16 3@14") << "a full implied side has no further row";
  EXPECT_EQ(merged(Side::Ask), "");
}

TEST_F(Books, end_a_merged_side_before_what_an_unknown_row_could_change) {
  define({BookKind::Level, 5, 0}, {BookKind::Price, 0, 0});
  entry(Kind::New, Side::Bid, 0, 30 * kUnit, 1, BookOf::Implied);
  take({.kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Gap)});
  entry(Kind::New, Side::Bid, 1, 18 * kUnit, 1);
  EXPECT_EQ(merged(Side::Bid), "") << "an implied row may be anywhere";
}

TEST_F(Books, of_instruments_with_several_legs_are_as_others) {
  // A spread: its prices are differences, often negative, and its book is both direct and implied.
  define({BookKind::Level, 5, 0}, {BookKind::Level, 2, 0});
  entry(Kind::New, Side::Bid, 1, -3 * kUnit, 4);
  entry(Kind::New, Side::Ask, 1, 0, 4);
  entry(Kind::New, Side::Bid, 1, -2 * kUnit, 1, BookOf::Implied);
  EXPECT_EQ(merged(Side::Bid), "1@-2 4@-3");
  EXPECT_EQ(merged(Side::Ask), "4@0");
}

/// A row that fell off may be better than those that come later.
TEST_F(Books, by_price_have_no_best_where_one_that_fell_off_may_be_better) {
  define({BookKind::Price, 2, 0});
  const auto bid = [&](Kind kind, std::int64_t price) {
    return take({.kind = kind, .side = Side::Bid, .price = price * kUnit, .quantity = 1});
  };
  for (const std::int64_t price : {10, 11, 12}) (void)bid(Kind::New, price);
  EXPECT_EQ(rows(Side::Bid), "1@12 1@11");
  EXPECT_EQ(books_.extent(1, Side::Bid), (Extent{2, false}));
  EXPECT_FALSE(bid(Kind::Delete, 11).best_changed);
  EXPECT_FALSE(bid(Kind::New, 9).best_changed);
  EXPECT_EQ(rows(Side::Bid), "1@12 ? 1@9") << "10 exists, and is not listed";
  EXPECT_EQ(books_.extent(1, Side::Bid), (Extent{1, false}));
  EXPECT_TRUE(bid(Kind::Delete, 12).best_changed);
  EXPECT_EQ(rows(Side::Bid), "? 1@9");
  EXPECT_EQ(books_.best(1, Side::Bid), Row());
  EXPECT_EQ(books_.top(1).bid, Row());
  EXPECT_FALSE(bid(Kind::Delete, 9).best_changed) << "it was not known to be the best";
  EXPECT_TRUE(bid(Kind::New, 11).best_changed);
  EXPECT_EQ(rows(Side::Bid), "1@11");
  std::vector<Row> few(1);
  EXPECT_EQ(books_.rows(1, Side::Bid, few), 1U);
  EXPECT_EQ(books_.rows(1, Side::Bid, {}), 0U);
}

/// What is known of them crosses, whatever is not.
TEST_F(Books, that_are_crossed_are_lost_though_their_best_is_not_known) {
  for (const BookKind kind : {BookKind::Price, BookKind::Order}) {
    define({kind, 0, 0});
    take({.kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Gap)});
    become(TradingState::Open);
    EXPECT_FALSE(order(Kind::New, Side::Bid, 1, 10 * kUnit).best_changed);
    EXPECT_FALSE(order(Kind::New, Side::Ask, 2, 9 * kUnit).best_changed);
    EXPECT_EQ(rows(Side::Bid), "? 10@10") << name_of(kind);
    end_of_event();
    EXPECT_EQ(books_.take_stale().fault, Fault::Crossed) << name_of(kind);
    EXPECT_EQ(rows(Side::Bid), "") << name_of(kind);
  }
}

TEST_F(Books, with_a_negative_quantity_are_lost) {
  for (const BookKind kind : {BookKind::Level, BookKind::Price, BookKind::Order, BookKind::Position}) {
    define({kind, 0, 0});
    const auto add = [&](std::int64_t quantity) {
      return take({.kind = Kind::New, .side = Side::Bid, .level = 1, .price = kUnit, .quantity = quantity, .id = 7})
          .fault;
    };
    EXPECT_EQ(add(-1), Fault::Negative) << name_of(kind);
    EXPECT_EQ(books_.extent(1, Side::Bid), Extent());
    EXPECT_EQ(books_.take_stale().fault, Fault::Negative);
    EXPECT_EQ(add(0), Fault::None) << "nothing is a quantity: orders of auctions have it";
  }
}

TEST_F(Books, by_order_add_up_and_keep_their_turn) {
  define({BookKind::Order, 0, 0});
  order(Kind::New, Side::Bid, 1, 10 * kUnit, 5);
  order(Kind::New, Side::Bid, 2, 10 * kUnit, 6);
  EXPECT_FALSE(order(Kind::New, Side::Bid, 3, 9 * kUnit, 7).best_changed);
  EXPECT_EQ(rows(Side::Bid), "11@10 7@9");
  EXPECT_TRUE(order(Kind::Change, Side::None, 2, kNoPrice, 1).best_changed);
  EXPECT_EQ(rows(Side::Bid), "6@10 7@9");
  EXPECT_TRUE(order(Kind::Overlay, Side::Bid, 3, 11 * kUnit, 8).best_changed);
  EXPECT_EQ(rows(Side::Bid), "8@11 6@10");
  EXPECT_TRUE(order(Kind::Delete, Side::None, 3, kNoPrice, kNoQuantity).best_changed);
  EXPECT_EQ(rows(Side::Bid), "6@10");
  EXPECT_EQ(order(Kind::New, Side::Ask, 1, 12 * kUnit).fault, Fault::Twice);
}

TEST_F(Books, by_order_pass_over_orders_that_they_cannot_know) {
  define({BookKind::Order, 0, 0});
  EXPECT_EQ(order(Kind::Delete, Side::Bid, 77, kNoPrice).fault, Fault::Missing) << "a known book";
  EXPECT_EQ(order(Kind::Delete, Side::Bid, 77, kNoPrice).fault, Fault::None) << "no longer";
  EXPECT_EQ(books_.find(1)->as_order()->unseen(), 1U);
  order(Kind::New, Side::Bid, 78, 5 * kUnit);
  EXPECT_EQ(rows(Side::Bid), "? 10@5") << "others may be better";
  EXPECT_EQ(books_.best(1, Side::Bid), Row());
  EXPECT_EQ(books_.extent(1, Side::Bid), Extent());
  take({.kind = Kind::SnapshotBegin});
  take({.flags = record::kFlagSnapshot,
        .kind = Kind::New,
        .side = Side::Bid,
        .price = 6 * kUnit,
        .quantity = 1,
        .id = 90});
  take({.kind = Kind::SnapshotEnd, .id = 5});
  EXPECT_EQ(rows(Side::Bid), "1@6");
  EXPECT_TRUE(books_.extent(1, Side::Bid).is_whole);
}

TEST_F(Books, by_position_have_orders_without_price_first) {
  define({BookKind::Position, 0, 0});
  entry(Kind::New, Side::Bid, 1, 10 * kUnit, 1);
  entry(Kind::New, Side::Bid, 2, 10 * kUnit, 2);
  entry(Kind::New, Side::Bid, 3, 9 * kUnit, 3);
  EXPECT_EQ(rows(Side::Bid), "3@10 3@9");
  EXPECT_EQ(books_.best(1, Side::Bid).orders, 2U);
  EXPECT_TRUE(entry(Kind::New, Side::Bid, 1, kNoPrice, 50).best_changed);
  EXPECT_EQ(rows(Side::Bid), "50@none 3@10 3@9");
  EXPECT_TRUE(take({.kind = Kind::Delete, .side = Side::Bid, .level = 1}).best_changed);
  EXPECT_TRUE(take({.kind = Kind::Delete, .side = Side::Bid, .level = 1}).best_changed);
  EXPECT_EQ(rows(Side::Bid), "2@10 3@9");
  EXPECT_EQ(take({.kind = Kind::Change, .side = Side::Bid, .level = 1, .id = 99}).fault, Fault::OtherOrder);
}

TEST_F(Books, that_an_auction_left_crossed_may_not_stay_so) {
  define({BookKind::Level, 5, 0});
  become(TradingState::Auction);
  entry(Kind::New, Side::Bid, 1, 11 * kUnit);
  entry(Kind::New, Side::Ask, 1, 10 * kUnit);
  end_of_event();
  EXPECT_EQ(books_.faults(Fault::Crossed), 0U);
  become(TradingState::Open);
  end_of_event();
  EXPECT_EQ(books_.faults(Fault::Crossed), 1U);
  EXPECT_EQ(books_.best(1, Side::Bid).is_known, 0U);
}

TEST_F(Books, by_position_tell_a_price_only_with_all_its_orders) {
  define({BookKind::Position, 0, 0});
  take({.kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Gap)});
  const auto change = [&](std::uint16_t position, std::int64_t price) {
    return entry(Kind::Change, Side::Bid, position, price * kUnit, 5);
  };
  change(1, 10);
  EXPECT_EQ(books_.extent(1, Side::Bid), Extent()) << "the next order may have the same price";
  EXPECT_EQ(books_.best(1, Side::Bid).is_known, 0U);
  change(3, 10);  // so the second one has it too
  EXPECT_EQ(books_.extent(1, Side::Bid), Extent());
  EXPECT_EQ(rows(Side::Bid), "?");
  EXPECT_TRUE(change(2, 10).fault == Fault::None && books_.best(1, Side::Bid).is_known == 0);
  EXPECT_TRUE(change(4, 9).best_changed);
  EXPECT_EQ(books_.extent(1, Side::Bid), (Extent{1, false}));
  EXPECT_EQ(rows(Side::Bid), "15@10 ?");
  EXPECT_FALSE(take({.kind = Kind::DeleteBottom, .side = Side::Bid, .level = 5}).best_changed);
  EXPECT_EQ(rows(Side::Bid), "15@10 5@9") << "the side ends";
  EXPECT_TRUE(books_.extent(1, Side::Bid).is_whole);
}

TEST_F(Books, of_a_channel_are_emptied_together) {
  define({BookKind::Price, 0, 0});
  define({BookKind::Price, 0, 0}, {}, 2);
  ASSERT_EQ(books_.define(3, {{BookKind::Price, 0, 0}, {}, kChannel + 1}), Fault::None);
  for (std::uint32_t row = 1; row <= 3; ++row) {
    books_.apply(
        Event::of({.instrument = row, .kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Exchange)}));
    books_.apply(Event::of({.instrument = row, .kind = Kind::New, .side = Side::Bid, .price = kUnit, .quantity = 1}));
  }
  EXPECT_TRUE(take({.kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Reset)}).best_changed);
  EXPECT_EQ(books_.best(1, Side::Bid).is_known, 0U);
  EXPECT_EQ(books_.best(2, Side::Bid).is_known, 0U);
  EXPECT_EQ(books_.best(3, Side::Bid).is_known, 1U) << "another channel's";
}

TEST_F(Books, that_are_defined_anew_begin_anew) {
  define({BookKind::Level, 5, 0});
  entry(Kind::New, Side::Bid, 1, kUnit);
  EXPECT_EQ(books_.define(1, {{BookKind::Level, 5, 0}, {}, kChannel}), Fault::None);
  EXPECT_EQ(rows(Side::Bid), "10@1") << "nothing new";
  EXPECT_EQ(books_.define(1, {{BookKind::Level, 10, 0}, {}, kChannel}), Fault::None);
  EXPECT_EQ(rows(Side::Bid), "");
  EXPECT_EQ(books_.define(5, {}), Fault::Room);
  EXPECT_EQ(books_.define(0, {}), Fault::Room);
  EXPECT_EQ(books_.apply(Event::of({.instrument = 400, .kind = Kind::New})).fault, Fault::NoBook);
  EXPECT_EQ(books_.apply(Event::of({.kind = Kind::New})).fault, Fault::NoBook);
}

TEST(OrderTable, spreads_ids_that_instruments_could_cancel_out) {
  // The same id xor instrument << 40 in each: they must not belong to the same places.
  constexpr std::uint32_t kOrders = 20'000;
  OrderTable table(kOrders, 12'345);
  const auto id_of = [](std::uint32_t instrument) { return std::uint64_t{7} ^ std::uint64_t{instrument} << 40; };
  for (std::uint32_t i = 0; i < kOrders; ++i) {
    const std::uint32_t place = table.insert(i, id_of(i));
    ASSERT_NE(place, kNoHandle);
    table[place].level = i;
  }
  EXPECT_EQ(table.insert(kOrders, 1), kNoHandle);
  std::uint64_t passed = 0;
  for (std::uint32_t place = 0; place < table.bytes() / sizeof(ListedOrder); place += 2) passed += table[place].beyond;
  EXPECT_LT(passed, kOrders / 2) << "pairs between where an order belongs and where it is: 100 million in one row";
  const auto itself = [](std::uint32_t level) { return level; };
  for (std::uint32_t i = 0; i < kOrders; ++i) ASSERT_EQ(table[table.find(i, id_of(i), itself)].level, i);
  for (std::uint32_t i = 0; i < kOrders; ++i) table.erase(table.find(i, id_of(i), itself), i);
  for (std::uint32_t place = 0; place < table.bytes() / sizeof(ListedOrder); place += 2) {
    ASSERT_EQ(table[place].beyond, 0U);
  }
}

TEST(OrderBook, keeps_the_order_of_arrival_beside_another_book) {
  // Both books use the same ids, and the table is often full.
  constexpr std::uint64_t kIds = 12;
  BookSet books({.instruments = 2, .orders = 7, .levels = 7, .listed = 64, .salt = 5});
  using Live = std::pair<std::uint64_t, std::int64_t>;  // id, price
  std::vector<Live> live[3];                            // by instrument, in the order of arrival
  for (const std::uint32_t row : {1U, 2U}) {
    ASSERT_EQ(books.define(row, {{BookKind::Order, 0, kUnit}, {}, kChannel}), Fault::None);
    (void)books.apply(Event::of({.instrument = row, .kind = Kind::Clear, .id = 1}));
  }
  cases::Random random(3);
  for (int step = 0; step < 50'000; ++step) {
    const auto row = static_cast<std::uint32_t>(1 + random.below(2));
    const std::uint64_t id = 1 + random.below(kIds);
    auto& mine = live[row];
    const auto known = std::find_if(mine.begin(), mine.end(), [&](const Live& one) { return one.first == id; });
    const std::int64_t price = static_cast<std::int64_t>(1 + random.below(3)) * kUnit;
    Content content = {.instrument = row, .kind = Kind::New, .side = Side::Bid, .quantity = 1, .id = id};
    if (known == mine.end()) {
      if (live[1].size() + live[2].size() == 7) continue;
      content.price = price;
      mine.emplace_back(id, price);
    } else if (random.chance(70)) {
      content.kind = Kind::Delete;
      content.price = known->second;
      mine.erase(known);
    } else {
      content.kind = Kind::Overlay;
      content.price = price;
      const bool moves = known->second != price;
      if (moves) {
        mine.erase(known);
        mine.emplace_back(id, price);
      }
    }
    ASSERT_EQ(books.apply(Event::of(content)).fault, Fault::None) << step;
    for (const std::uint32_t of : {1U, 2U}) {
      std::vector<Live> expected = live[of];
      std::stable_sort(expected.begin(), expected.end(),
                       [](const Live& a, const Live& b) { return a.second > b.second; });
      std::vector<Live> listed;
      const OrderPools& pools = books.pools().orders;
      books.find(of, BookOf::Direct)->as_order()->for_each_level(Side::Bid, pools, [&](const PriceLevel& level) {
        std::uint32_t before = kNoHandle;
        for (std::uint32_t at = level.first; at != kNoHandle; before = at, at = pools.orders[at].next) {
          EXPECT_EQ(pools.orders[at].previous, before);
          listed.emplace_back(pools.orders[at].id, price_of(Side::Bid, level.rank));
        }
        EXPECT_EQ(level.last, before);
        return true;
      });
      ASSERT_EQ(listed, expected) << step;
    }
  }
}

TEST(OrderBook, has_its_ladder_where_the_prices_are_beside_orders_without) {
  for (const std::int64_t tick : {std::int64_t{0}, kUnit / 100}) {
    // The list has room for few levels: the others must be in the ladder.
    BookSet books({.instruments = 1, .orders = 1'000, .levels = 1'000, .listed = 256, .ladders = 2});
    ASSERT_EQ(books.define(1, {{BookKind::Order, 0, tick}, {}, kChannel}), Fault::None);
    books.apply(Event::of({.instrument = 1, .kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Exchange)}));
    const auto add = [&](std::uint64_t id, std::int64_t price) {
      return books
          .apply(Event::of(
              {.instrument = 1, .kind = Kind::New, .side = Side::Bid, .price = price, .quantity = 1, .id = id}))
          .fault;
    };
    ASSERT_EQ(add(1, kNoPrice), Fault::None);
    for (std::uint64_t id = 2; id <= 700; ++id) {
      ASSERT_EQ(add(id, 100 * kUnit + static_cast<std::int64_t>(id) * kUnit / 100), Fault::None) << id;
    }
    EXPECT_EQ(books.best(1, Side::Bid).price, kNoPrice);
    std::vector<Row> rows(701);
    EXPECT_EQ(books.rows(1, Side::Bid, rows), 700U);
    EXPECT_EQ(rows[1].price, 107 * kUnit);
    books.apply(Event::of({.instrument = 1, .kind = Kind::Delete, .side = Side::Bid, .id = 1}));
    EXPECT_EQ(books.best(1, Side::Bid).price, 107 * kUnit);
  }
}

TEST_F(Books, keep_their_order_where_the_price_leaves_the_ladder) {
  for (const std::int64_t tick : {std::int64_t{0}, kUnit / 100}) {
    define({BookKind::Order, 0, tick});
    const std::int64_t step = kUnit / 100;
    std::uint64_t id = 1;
    // The price walks 40,000 ticks, five ladders; the orders that it has passed are deleted.
    for (std::int64_t at = 0; at < 40'000; at += 4) {
      ASSERT_EQ(order(Kind::New, Side::Bid, id++, at * step).fault, Fault::None);
      ASSERT_EQ(books_.best(1, Side::Bid).price, at * step);
      if (id > 600) {
        ASSERT_EQ(order(Kind::Delete, Side::Bid, id - 600, kNoPrice).fault, Fault::None);
      }
    }
    std::vector<Row> all(1'000);
    const std::size_t count = books_.rows(1, Side::Bid, all);
    ASSERT_EQ(count, 599U);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(all[i].price, (39'996 - 4 * static_cast<std::int64_t>(i)) * step);
    }
  }
}

TEST(Book, of_one_instrument_passes_over_the_events_of_others) {
  Book book(77, {.direct = {BookKind::Level, 5, 0}, .implied = {}, .channel = kChannel});
  const auto take = [&](Content content) {
    content.channel = kChannel;
    return book.apply(Event::of(content));
  };
  EXPECT_FALSE(take({.instrument = 77, .kind = Kind::Clear, .id = 1}));
  EXPECT_TRUE(
      take({.instrument = 77, .kind = Kind::New, .side = Side::Bid, .level = 1, .price = kUnit, .quantity = 3}));
  EXPECT_FALSE(take({.instrument = 78, .kind = Kind::New, .side = Side::Bid, .level = 1, .price = 2 * kUnit}));
  EXPECT_FALSE(take({.instrument = 1, .kind = Kind::New, .side = Side::Bid, .level = 1, .price = 2 * kUnit}));
  EXPECT_FALSE(take({.instrument = 77, .kind = Kind::New, .side = Side::Bid, .level = 2, .price = 0, .quantity = 4}));
  EXPECT_EQ(book.bid(0).quantity, 3);
  EXPECT_EQ(book.bid(1).quantity, 4);
  EXPECT_EQ(book.bid(2).is_known, 0U);
  EXPECT_EQ(book.bid(64).is_known, 0U);
  EXPECT_EQ(book.ask(0).is_known, 0U);
  EXPECT_EQ(book.known(Side::Bid), (Extent{2, true}));
  take({.instrument = 77, .kind = Kind::State, .id = StateCode{TradingState::Open, 17, 1}.packed()});
  EXPECT_EQ(book.status().state, TradingState::Open);
  EXPECT_EQ(book.status().exchange_code, 17U);
  EXPECT_TRUE(take({.kind = Kind::Clear, .id = static_cast<std::uint64_t>(Cause::Reset)})) << "all of the channel";
  EXPECT_TRUE(take({.instrument = 77, .kind = Kind::Delete, .side = Side::Bid, .level = 1}));
  EXPECT_EQ(book.fault(), Fault::BeyondEnd);
}

TEST(Book, of_one_instrument_tells_a_change_when_the_event_ends_on_another_one) {
  Book book(77, {.direct = {BookKind::Level, 5, 0}, .implied = {}, .channel = kChannel});
  const auto add = [&](std::uint32_t instrument, std::uint8_t flags, std::uint16_t channel = kChannel) {
    return book.apply(Event::of({.channel = channel,
                                 .flags = flags,
                                 .instrument = instrument,
                                 .kind = Kind::New,
                                 .side = Side::Bid,
                                 .level = 1,
                                 .price = kUnit,
                                 .quantity = 1}));
  };
  EXPECT_TRUE(add(77, 0));
  EXPECT_FALSE(add(78, 0));
  EXPECT_FALSE(add(78, kFlagLastOfEvent, kChannel + 1));
  EXPECT_TRUE(add(78, kFlagLastOfEvent));
  EXPECT_FALSE(add(78, kFlagLastOfEvent)) << "the next event";
}

TEST(PriceLadder, finds_places_exactly_at_its_limits) {
  auto ladder = std::make_unique<PriceLadder>();
  for (const std::uint64_t tick : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{10'000'000},
                                   std::uint64_t{7'919}, PriceLadder::kMaxTick, PriceLadder::kMaxTick - 1}) {
    for (const std::uint64_t rank :
         {std::uint64_t{0}, std::uint64_t{5}, std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 1}) {
      ladder->begin(rank, tick);
      const std::uint32_t home = ladder->place_of(rank);
      ASSERT_LT(home, PriceLadder::kTicks);
      for (std::uint32_t place = 0; place < PriceLadder::kTicks; ++place) {
        const auto away = (std::int64_t{place} - std::int64_t{home});
        const auto other = static_cast<Wide>(rank) + static_cast<Wide>(away) * static_cast<Wide>(tick);
        if (other < 0 || other > kMost) continue;
        ASSERT_EQ(ladder->place_of(static_cast<std::uint64_t>(other)), place) << tick << " " << rank;
        if (tick > 1 && other + 1 <= kMost) {
          ASSERT_EQ(ladder->place_of(static_cast<std::uint64_t>(other) + 1), PriceLadder::kNowhere)
              << tick << " " << rank;
        }
      }
    }
  }
}

TEST(PriceLadder, finds_the_next_best_level) {
  auto ladder = std::make_unique<PriceLadder>();
  ladder->begin(1'000'000, 1);
  EXPECT_EQ(ladder->best(), PriceLadder::kNowhere);
  const std::uint32_t places[] = {0, 1, 63, 64, 4'095, 4'096, 4'097, 8'000, 8'191};
  for (const std::uint32_t place : places) ladder->put(place, place + 7);
  std::vector<std::uint32_t> found;
  for (std::uint32_t at = ladder->best(); at != PriceLadder::kNowhere; at = ladder->best_below(at)) {
    EXPECT_EQ(ladder->level(at), at + 7);
    found.push_back(at);
  }
  EXPECT_EQ(found, std::vector<std::uint32_t>(std::rbegin(places), std::rend(places)));
  ladder->remove(8'191);
  ladder->remove(8'000);
  EXPECT_EQ(ladder->best(), 4'097U);
  EXPECT_EQ(ladder->level(8'000), kNoHandle);
}

}  // namespace stopbit::market::cases_test
