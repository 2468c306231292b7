// The rules of the synchroniser, one by one.

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>

#include "tests/sync/view.hpp"

namespace stopbit::market::synchroniser_test {

using testing::PicturePart;
using testing::View;

struct Entry {
  std::uint32_t row;
  std::uint64_t number;
};

SyncOptions options_of(ScopeOf scope) {
  SyncOptions options;
  options.scope = scope;
  options.instruments = 3;
  options.products = 2;
  return options;
}

/// A synchroniser and what it says. The value of an entry is its number, that of shared numbers the message's.
class Feed {
 public:
  explicit Feed(const SyncOptions& options) : options_(options), view_(options.scope, 3), machine_(options, view_) {
    for (std::uint32_t row = 1; options.scope == ScopeOf::Product && row <= 3; ++row) {
      machine_.attach(row, 1 + row % 2);
      view_.set_product(row, 1 + row % 2);
    }
  }

  /// The outputs of the message; `product`: its number in product 2 (rows 1 and 3).
  std::string message(std::uint64_t number, std::initializer_list<Entry> entries, std::uint64_t product = 0) {
    machine_.begin(number);
    if (product != 0) (void)machine_.product(2, product);
    for (const Entry& entry : entries) {
      const std::uint64_t value = entry.number != 0 ? entry.number : number;
      const Event event =
          Event::of({.instrument = entry.row, .kind = Kind::New, .price = static_cast<std::int64_t>(value)});
      if (machine_.entry(entry.row, entry.number, event)) view_.apply(event);
    }
    machine_.end();
    return said();
  }
  std::string loss(std::uint64_t first, std::uint64_t last) {
    machine_.loss(first, last, now);
    return said();
  }
  /// A picture in `parts` parts; the book is its number.
  std::string picture(std::uint32_t row, std::uint64_t number, std::uint64_t message, std::uint64_t parts = 1) {
    for (std::uint64_t i = 0; i < parts; ++i) part(row, ++place, number, message, i, parts);
    return said();
  }
  void part(std::uint32_t row, std::uint64_t at, std::uint64_t number, std::uint64_t message, std::uint64_t index,
            std::uint64_t parts) {
    const Synchroniser::Part part = {.row = row,
                                     .place = at,
                                     .number = number,
                                     .message = message,
                                     .sent_ns = sent,
                                     .is_first = index == 0,
                                     .is_last = index + 1 == parts};
    if (!machine_.part(part)) return;
    if (index == 0) view_.picture.clear();
    view_.picture.push_back({index, parts, book != 0 ? book : number});
    machine_.part_end();
  }
  std::string tick(std::uint64_t to) {
    now = to;
    machine_.tick(to);
    return said();
  }
  std::string said() { return view_.lines(machine_); }
  std::string state(std::uint32_t row) const {
    constexpr const char* kStates[] = {"latest", "suspect", "stale"};
    return kStates[static_cast<std::size_t>(machine_.mark(row).state)];
  }
  Synchroniser& machine() { return machine_; }
  View& view() { return view_; }

  std::uint64_t now = 0;
  std::int64_t sent = 0;
  std::uint64_t place = 0;
  std::uint64_t book = 0;  ///< Of pictures; 0: their number.

 private:
  SyncOptions options_;
  View view_;
  Synchroniser machine_;
};

/// From the exchange's start on: all books are known.
std::unique_ptr<Feed> started(SyncOptions options) {
  auto feed = std::make_unique<Feed>(options);
  feed->machine().reset(0);
  (void)feed->said();
  return feed;
}
std::unique_ptr<Feed> started(ScopeOf scope = ScopeOf::Instrument) {
  return started(options_of(scope));
}

TEST(Synchroniser, applies_what_is_in_order) {
  const auto feed = started();
  EXPECT_EQ(feed->message(1, {{1, 1}, {1, 2}, {2, 1}}), "= apply 1 1\n= apply 1 2\n= apply 2 1\n");
  EXPECT_EQ(feed->state(1), "latest");
}

TEST(Synchroniser, refuses_copies) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  EXPECT_EQ(feed->message(1, {{1, 1}}), "");
  EXPECT_EQ(feed->machine().counts().repeats, 1U) << "the entry";
}

TEST(Synchroniser, knows_where_instruments_in_step_are) {
  const auto feed = started();
  // In one message, so that no state is read in between.
  EXPECT_EQ(feed->message(1, {{1, 1}, {1, 2}, {1, 3}, {1, 2}, {1, 5}}),
            "= apply 1 1\n= apply 1 2\n= apply 1 3\n= state 1 stale 4 gap\n");
  EXPECT_EQ(feed->machine().counts().repeats, 1U);
  EXPECT_EQ(feed->machine().reached(1), 3U);
}

TEST(Synchroniser, a_product_leaves_out_a_number_though_no_message_is_lost) {
  const auto feed = started(ScopeOf::Product);
  (void)feed->message(1, {{1, 0}, {3, 0}}, 1);
  (void)feed->message(2, {{1, 0}, {3, 0}}, 2);
  EXPECT_EQ(feed->message(3, {{3, 0}}, 4), "= state 1 stale 3 gap\n= state 3 stale 3 gap\n");
  EXPECT_EQ(feed->message(4, {{1, 0}}, 5), "") << "it waits";
  EXPECT_EQ(feed->machine().waiting(1), 1U);
}

TEST(Synchroniser, keeps_entries_after_a_hole_until_it_closes) {
  const auto feed = started();
  EXPECT_EQ(feed->message(1, {{1, 2}, {1, 4}}), "= state 1 stale 1 gap\n");
  EXPECT_EQ(feed->machine().waiting(1), 2U);
  EXPECT_EQ(feed->message(2, {{1, 1}}), "");
  EXPECT_EQ(feed->message(3, {{1, 3}}), "= apply 1 1\n= apply 1 2\n= apply 1 3\n= apply 1 4\n= state 1 latest 0\n");
}

TEST(Synchroniser, a_loss_puts_all_in_doubt_and_asks_for_it) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  EXPECT_EQ(feed->loss(2, 3),
            "= ask 0 2 3\n= state 1 suspect 2 gap\n= state 2 suspect 2 gap\n= state 3 suspect 2 gap\n");
}

TEST(Synchroniser, a_loss_that_only_numbers_show_is_one_too) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  EXPECT_EQ(feed->message(4, {{1, 2}}), "= ask 0 2 3\n= apply 1 2\n= state 2 suspect 2 gap\n= state 3 suspect 2 gap\n");
}

TEST(Synchroniser, a_step_of_one_after_the_loss_ends_the_doubt) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  (void)feed->loss(2, 3);
  EXPECT_EQ(feed->message(2, {{1, 2}}), "= apply 1 2\n") << "a late message proves nothing of the one after it";
  EXPECT_EQ(feed->message(4, {{1, 3}}), "= apply 1 3\n= state 1 latest 0\n");
}

TEST(Synchroniser, everything_that_arrives_ends_the_doubt) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  (void)feed->loss(2, 3);
  (void)feed->message(4, {});
  EXPECT_EQ(feed->message(3, {}), "");
  EXPECT_EQ(feed->message(2, {}), "= state 1 latest 0\n= state 2 latest 0\n= state 3 latest 0\n");
}

TEST(Synchroniser, a_snapshot_ends_the_doubt_if_it_is_not_from_before_the_loss) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  (void)feed->loss(2, 3);
  (void)feed->message(4, {});
  EXPECT_EQ(feed->picture(1, 1, 2), "= audit 1 0\n= load 1 1\n= state 1 suspect 3 gap\n") << "message 3 is not in it";
  EXPECT_EQ(feed->picture(1, 1, 3), "= audit 1 1\n= state 1 latest 0\n");
}

TEST(Synchroniser, a_snapshot_heals_a_hole_and_what_waits_follows) {
  const auto feed = started();
  (void)feed->message(1, {{1, 3}});
  (void)feed->message(2, {{1, 4}});
  EXPECT_EQ(feed->picture(1, 3, 1), "= load 1 3\n= apply 1 4\n= state 1 latest 0\n") << "entry 3 is in it";
}

TEST(Synchroniser, a_snapshot_that_is_too_old_changes_nothing) {
  const auto feed = started();
  for (std::uint64_t number = 1; number <= 4; ++number) (void)feed->message(number, {{1, number}});
  (void)feed->message(5, {{1, 6}});
  EXPECT_EQ(feed->picture(1, 3, 3), "");
  EXPECT_EQ(feed->picture(1, 4, 4), "");
  EXPECT_EQ(feed->machine().counts().useless, 2U);
  EXPECT_EQ(feed->state(1), "stale");
}

TEST(Synchroniser, a_snapshot_within_a_hole_moves_the_hole) {
  const auto feed = started();
  (void)feed->message(1, {{1, 5}});
  EXPECT_EQ(feed->picture(1, 2, 1), "= load 1 2\n= state 1 stale 3 gap\n");
  EXPECT_EQ(feed->message(2, {{1, 2}}), "") << "it is in the snapshot";
}

TEST(Synchroniser, parts_join_only_if_none_is_missing) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.message(10, {});
  feed.part(1, 1, 5, 10, 0, 3);
  feed.part(1, 3, 5, 10, 2, 3);
  EXPECT_EQ(feed.said(), "");
  EXPECT_EQ(feed.machine().counts().torn, 1U);
  EXPECT_EQ(feed.picture(1, 5, 10, 3), "= load 1 5\n= state 1 latest 0\n");
}

TEST(Synchroniser, parts_of_two_cycles_do_not_join) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.message(10, {});
  feed.part(1, 1, 5, 10, 0, 2);
  feed.part(1, 2, 5, 11, 1, 2);
  feed.part(1, 1, 5, 10, 0, 2);
  feed.part(1, 2, 6, 10, 1, 2);
  feed.part(1, 1, 5, 10, 0, 2);
  feed.part(2, 2, 5, 10, 1, 2);
  EXPECT_EQ(feed.said(), "");
  feed.part(1, 1, 5, 10, 0, 2);
  feed.machine().cycle(1);
  feed.part(1, 2, 5, 10, 1, 2);
  EXPECT_EQ(feed.said(), "");
  EXPECT_EQ(feed.machine().counts().torn, 4U);
}

TEST(Synchroniser, joining_late_is_a_loss) {
  Feed feed(options_of(ScopeOf::Instrument));
  EXPECT_EQ(feed.picture(1, 5, 90), "= load 1 5\n= state 1 suspect 91 join\n");
  EXPECT_EQ(feed.picture(2, 7, 99), "= load 2 7\n= state 2 suspect 100 join\n");
  EXPECT_EQ(feed.message(100, {{3, 4}}), "= state 2 latest 0\n") << "its snapshot was from message 99";
  EXPECT_EQ(feed.message(101, {{1, 6}}), "= apply 1 6\n= state 1 latest 0\n");
  EXPECT_EQ(feed.picture(3, 4, 100), "= load 3 4\n= state 3 latest 0\n");
}

TEST(Synchroniser, an_early_snapshot_proves_nothing_of_losses_after_joining) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.picture(1, 5, 120);
  EXPECT_EQ(feed.message(100, {}), "= state 1 latest 0\n");
  feed.machine().begin(101);
  (void)feed.machine().entry(1, 6, Event::of({.instrument = 1}));
  EXPECT_TRUE(feed.machine().entry(1, 7, Event::of({.instrument = 1}))) << "without a further look";
  feed.machine().end();
  (void)feed.said();
  EXPECT_EQ(feed.loss(102, 103), "= ask 0 102 103\n= state 1 suspect 102 gap\n");
}

TEST(Synchroniser, an_early_snapshot_far_ahead_of_the_first_message_was_of_other_numbers) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.picture(1, 5, 646);
  EXPECT_EQ(feed.message(94, {{2, 1}}), "= state 1 suspect 1 join\n");
  EXPECT_EQ(feed.message(95, {{1, 6}}), "= apply 1 6\n= state 1 latest 0\n") << "its next entry shows it";
}

TEST(Synchroniser, an_early_snapshot_far_ahead_of_the_first_message_of_all_is_of_no_use) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.picture(1, 76, 121);
  (void)feed.picture(2, 0, 0);
  EXPECT_EQ(feed.state(1), "suspect") << "of an instrument without entries no message is known";
  EXPECT_EQ(feed.message(1, {{3, 1}}), "= state 1 stale 0 join\n= state 2 latest 0\n");
  EXPECT_EQ(feed.message(2, {{1, 1}}), "");
  EXPECT_EQ(feed.picture(1, 1, 2), "= load 1 1\n= state 1 latest 0\n");
}

TEST(Synchroniser, an_early_snapshot_far_ahead_was_of_other_numbers_of_its_instrument_if_these_go_back) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.picture(1, 76, 121);
  EXPECT_EQ(feed.message(2, {{3, 1}}), "= state 1 suspect 1 join\n");
  EXPECT_EQ(feed.message(3, {{1, 2}}), "= state 1 stale 0 reset\n");
  EXPECT_EQ(feed.machine().counts().returns, 1U);
}

TEST(Synchroniser, an_early_snapshot_is_of_other_numbers_if_a_later_one_is_far_below_it) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.picture(1, 5, 646);
  EXPECT_EQ(feed.picture(2, 8, 77), "= load 2 8\n= state 1 suspect 1 join\n= state 2 suspect 78 join\n");
  EXPECT_EQ(feed.message(78, {{3, 1}}), "= state 2 latest 0\n");
  EXPECT_EQ(feed.state(1), "suspect");
}

TEST(Synchroniser, after_a_reset_books_are_known_to_be_empty) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.message(100, {{1, 7}});
  feed.machine().reset(50);
  EXPECT_EQ(feed.said(), "= restart 0\n");
  EXPECT_EQ(feed.state(1), "latest");
  EXPECT_EQ(feed.machine().waiting(), 0U);
  feed.sent = 49;
  EXPECT_EQ(feed.picture(1, 9, 9), "") << "of the old numbers";
  EXPECT_EQ(feed.machine().counts().outdated, 1U);
  EXPECT_EQ(feed.message(1, {{1, 1}}), "= apply 1 1\n");
}

TEST(Synchroniser, the_oldest_make_room_and_only_a_later_snapshot_will_do) {
  SyncOptions options = options_of(ScopeOf::Instrument);
  options.queued_each = 2;
  const auto feed = started(options);
  (void)feed->message(1, {{1, 2}, {1, 3}});
  EXPECT_EQ(feed->message(2, {{1, 4}}), "= lost 1 2\n= state 1 stale 0 queue\n");
  EXPECT_EQ(feed->machine().mark(1).since, 2U);
  EXPECT_EQ(feed->message(3, {{1, 1}}), "") << "it cannot help any more";
  EXPECT_EQ(feed->picture(1, 1, 1), "");
  EXPECT_EQ(feed->picture(1, 2, 1), "= load 1 2\n= apply 1 3\n= apply 1 4\n= state 1 latest 0\n");
}

TEST(Synchroniser, the_instrument_that_waits_longest_makes_room_for_others) {
  SyncOptions options = options_of(ScopeOf::Instrument);
  options.queued = 2;
  const auto feed = started(options);
  (void)feed->message(1, {{1, 2}});
  (void)feed->message(2, {{2, 2}});
  EXPECT_EQ(feed->message(3, {{3, 2}}), "= lost 1 2\n= state 1 stale 0 queue\n= state 3 stale 1 gap\n");
  EXPECT_EQ(feed->machine().waiting(), 2U);
}

TEST(Synchroniser, holes_without_room_are_not_waited_for) {
  SyncOptions options = options_of(ScopeOf::Instrument);
  options.holes_each = 1;
  const auto feed = started(options);
  (void)feed->message(1, {{1, 2}, {1, 4}});
  EXPECT_EQ(feed->machine().counts().forgotten, 1U);
  EXPECT_EQ(feed->message(2, {{1, 3}, {1, 1}}), "");
  EXPECT_EQ(feed->state(1), "stale");
  EXPECT_EQ(feed->picture(1, 2, 1), "= load 1 2\n= apply 1 3\n= apply 1 4\n= state 1 latest 0\n");
}

TEST(Synchroniser, a_pessimist_lets_all_wait_after_a_loss) {
  SyncOptions options = options_of(ScopeOf::Instrument);
  options.policy = Policy::Pessimistic;
  const auto feed = started(options);
  (void)feed->message(1, {{1, 1}});
  EXPECT_EQ(feed->loss(2, 3), "= ask 0 2 3\n= state 1 stale 2 gap\n= state 2 stale 2 gap\n= state 3 stale 2 gap\n");
  EXPECT_EQ(feed->message(2, {{1, 2}}), "") << "it waits";
  EXPECT_EQ(feed->message(3, {}), "= apply 1 2\n= state 1 latest 0\n= state 2 latest 0\n= state 3 latest 0\n");
}

TEST(Synchroniser, a_refreshed_book_goes_on_from_nothing) {
  SyncOptions options = options_of(ScopeOf::Instrument);
  options.refresh = true;
  options.patience_ns = 5;
  const auto feed = started(options);
  EXPECT_EQ(feed->message(1, {{1, 2}}), "= state 1 stale 1 gap\n") << "a replay may close the hole";
  (void)feed->tick(5);
  EXPECT_EQ(feed->message(2, {{1, 3}}), "= refresh 1\n= apply 1 2\n= apply 1 3\n");
  EXPECT_EQ(feed->message(3, {{1, 4}}), "= apply 1 4\n");
  EXPECT_EQ(feed->message(4, {{1, 1}}), "") << "too late";
  EXPECT_EQ(feed->state(1), "stale");
  EXPECT_EQ(feed->picture(1, 3, 2), "= load 1 3\n= apply 1 4\n= state 1 latest 0\n");
}

TEST(Synchroniser, a_refreshed_book_begins_anew_after_another_hole) {
  SyncOptions options = options_of(ScopeOf::Instrument);
  options.refresh = true;
  const auto feed = started(options);
  EXPECT_EQ(feed->message(1, {{1, 2}}), "= refresh 1\n= apply 1 2\n= state 1 stale 1 gap\n");
  EXPECT_EQ(feed->message(2, {{1, 4}}), "= refresh 1\n= apply 1 4\n");
}

TEST(Synchroniser, a_snapshot_that_differs_from_the_book_replaces_it) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  feed->book = feed->view().book(1);
  EXPECT_EQ(feed->picture(1, 1, 1), "= audit 1 1\n");
  feed->view().spoil(1);
  EXPECT_EQ(feed->picture(1, 1, 1), "= audit 1 0\n= load 1 1\n");
  EXPECT_EQ(feed->view().book(1), feed->book);
  EXPECT_EQ(feed->machine().counts().differences, 1U);
  EXPECT_EQ(feed->state(1), "latest");
}

TEST(Synchroniser, a_book_that_is_distrusted_needs_a_snapshot_of_what_it_had) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}, {1, 2}});
  feed->machine().distrust(1, Cause::Contradiction);
  EXPECT_EQ(feed->said(), "= state 1 stale 0 contradiction\n");
  EXPECT_EQ(feed->message(2, {{1, 3}}), "");
  EXPECT_EQ(feed->picture(1, 1, 1), "");
  EXPECT_EQ(feed->picture(1, 2, 1), "= load 1 2\n= apply 1 3\n= state 1 latest 0\n");
}

TEST(Synchroniser, a_loss_of_the_channel_s_numbers_makes_all_stale) {
  const auto feed = started(ScopeOf::Channel);
  EXPECT_EQ(feed->message(1, {{1, 0}}), "= apply 1 1\n");
  EXPECT_EQ(feed->loss(2, 2), "= ask 0 2 2\n= state 1 stale 2 gap\n= state 2 stale 2 gap\n= state 3 stale 2 gap\n");
  EXPECT_EQ(feed->message(3, {{1, 0}, {2, 0}}), "");
  EXPECT_EQ(feed->picture(2, 2, 2), "= load 2 2\n= apply 2 3\n= state 2 latest 0\n");
  EXPECT_EQ(feed->message(2, {{3, 0}}), "= apply 1 3\n= apply 3 2\n= state 1 latest 0\n= state 3 latest 0\n");
}

TEST(Synchroniser, a_loss_in_a_product_concerns_its_instruments_only) {
  const auto feed = started(ScopeOf::Product);
  EXPECT_EQ(feed->message(1, {{1, 0}}, 1), "= apply 1 1\n");
  EXPECT_EQ(feed->message(2, {{1, 0}}, 3), "= state 1 stale 2 gap\n= state 3 stale 2 gap\n");
  EXPECT_EQ(feed->state(2), "latest");
  EXPECT_EQ(feed->message(3, {{3, 0}}, 2), "= apply 1 2\n= apply 3 3\n= state 1 latest 0\n= state 3 latest 0\n");
}

TEST(Synchroniser, a_message_may_be_of_several_products) {
  const auto feed = started(ScopeOf::Product);
  (void)feed->message(1, {{1, 0}}, 2);
  Synchroniser& machine = feed->machine();
  const auto event = [](std::uint32_t row, std::int64_t price) {
    return Event::of({.instrument = row, .kind = Kind::New, .price = price});
  };
  machine.begin(2);
  EXPECT_TRUE(machine.product(2, 1));
  EXPECT_TRUE(machine.entry(3, 0, event(3, 7))) << "nothing of it waits";
  EXPECT_TRUE(machine.product(1, 1));
  EXPECT_EQ(feed->said(), "= apply 1 1\n= state 1 latest 0\n= state 3 latest 0\n") << "the first product has healed";
  EXPECT_TRUE(machine.entry(2, 0, event(2, 8)));
  machine.end();
  EXPECT_EQ(feed->said(), "");
  EXPECT_FALSE(machine.product(3, 1)) << "there is no such product";
}

TEST(Synchroniser, a_snapshot_ahead_of_its_scope_outlives_a_hole_below_it) {
  const auto feed = started(ScopeOf::Channel);
  (void)feed->message(1, {{1, 0}});
  feed->machine().distrust(1, Cause::Contradiction);
  (void)feed->said();
  EXPECT_EQ(feed->picture(1, 4, 4), "= load 1 4\n= state 1 latest 0\n");
  EXPECT_EQ(feed->loss(2, 3), "= ask 0 2 3\n= state 2 stale 2 gap\n= state 3 stale 2 gap\n");
  EXPECT_EQ(feed->message(4, {{1, 0}}), "") << "it is in the snapshot";
  EXPECT_EQ(feed->message(5, {{1, 0}}), "= apply 1 5\n");
}

TEST(Synchroniser, a_quiet_instrument_is_compared_though_its_scope_went_on) {
  const auto feed = started(ScopeOf::Channel);
  (void)feed->message(1, {{1, 0}});
  (void)feed->message(2, {{2, 0}});
  (void)feed->message(3, {{2, 0}});
  feed->book = feed->view().book(1);
  EXPECT_EQ(feed->picture(1, 2, 2), "= audit 1 1\n");
  EXPECT_EQ(feed->picture(2, 2, 2), "") << "its entry of message 3 is not in it";
}

TEST(Synchroniser, an_instrument_that_moves_to_another_product_loses_its_book) {
  const auto feed = started(ScopeOf::Product);
  feed->machine().attach(1, 1);
  feed->view().set_product(1, 1);
  EXPECT_EQ(feed->said(), "= state 1 stale 0 join\n");
}

TEST(Synchroniser, takes_numbers_from_0_on) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.message(0, {{1, 1}});
  (void)feed.message(1, {{1, 2}});
  (void)feed.message(2, {{1, 3}});
  (void)feed.message(1, {{1, 2}});  // a copy
  EXPECT_EQ(feed.machine().newest(), 2U);
}

TEST(Synchroniser, begins_anew_with_an_instrument_whose_numbers_go_back_after_a_loss) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}, {1, 2}, {2, 1}});
  (void)feed->message(2, {{1, 3}});
  (void)feed->loss(3, 3);
  EXPECT_EQ(feed->message(4, {{1, 1}}), "= state 1 stale 0 reset\n");
  EXPECT_EQ(feed->machine().counts().returns, 1U);
  EXPECT_EQ(feed->message(3, {{2, 2}}), "") << "what comes late may have the numbers of before";
  EXPECT_EQ(feed->state(2), "suspect");
  EXPECT_EQ(feed->picture(1, 1, 4), "= load 1 1\n= state 1 latest 0\n");
  EXPECT_EQ(feed->message(5, {{1, 2}}), "= apply 1 2\n");
}

TEST(Synchroniser, begins_anew_with_a_snapshot_that_goes_back_over_a_loss) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}, {1, 2}});
  (void)feed->loss(2, 2);
  (void)feed->message(3, {{2, 1}});
  EXPECT_EQ(feed->picture(1, 1, 1), "") << "it is older than the loss";
  EXPECT_EQ(feed->picture(1, 0, 3), "= load 1 0\n= state 1 latest 0\n");
  EXPECT_EQ(feed->message(4, {{1, 1}}), "= apply 1 1\n");
}

/// Numbers that begin anew in a loss, and the first one is what the old ones would have had next.
std::unique_ptr<Feed> returned_unnoticed() {
  auto feed = started();
  (void)feed->loss(1, 3);
  EXPECT_EQ(feed->message(4, {{1, 1}}), "= apply 1 1\n= state 1 latest 0\n");
  return feed;
}

TEST(Synchroniser, begins_anew_if_a_late_message_has_a_number_that_it_cannot_have) {
  const auto feed = returned_unnoticed();
  EXPECT_EQ(feed->message(2, {{1, 2}, {1, 3}}), "= state 1 stale 0 reset\n");
  EXPECT_EQ(feed->machine().counts().returns, 1U);
  EXPECT_FALSE(feed->machine().is_new_entry());
  EXPECT_EQ(feed->message(2, {{1, 2}}), "") << "a copy";
  EXPECT_EQ(feed->message(5, {{1, 2}}), "");
  EXPECT_EQ(feed->picture(1, 1, 4), "= load 1 1\n= apply 1 2\n= state 1 latest 0\n");
}

TEST(Synchroniser, takes_no_snapshot_with_a_number_that_its_message_cannot_have) {
  const auto feed = returned_unnoticed();
  EXPECT_EQ(feed->picture(1, 2, 2), "");
  EXPECT_EQ(feed->state(1), "latest");
  EXPECT_EQ(feed->message(5, {{1, 4}}), "= state 1 stale 2 gap\n");
  EXPECT_EQ(feed->picture(1, 3, 2), "");
  EXPECT_EQ(feed->machine().counts().outdated, 2U);
  EXPECT_EQ(feed->picture(1, 3, 4), "= load 1 3\n= apply 1 4\n= state 1 latest 0\n");
}

TEST(Synchroniser, takes_late_messages_and_snapshots_with_numbers_that_they_can_have) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  (void)feed->loss(2, 3);
  (void)feed->message(4, {{1, 5}, {1, 6}});
  EXPECT_EQ(feed->message(3, {{1, 3}, {1, 4}}), "");
  EXPECT_EQ(feed->picture(1, 2, 2),
            "= load 1 2\n= apply 1 3\n= apply 1 4\n= apply 1 5\n= apply 1 6\n= state 1 latest 0\n");
  EXPECT_EQ(feed->machine().counts().returns, 0U);
}

TEST(Synchroniser, after_a_reset_messages_from_before_it_are_over) {
  const auto feed = started();
  feed->machine().reset(1, 10);
  (void)feed->said();
  EXPECT_EQ(feed->message(9, {{1, 57}}), "");
  EXPECT_EQ(feed->state(1), "latest");
  EXPECT_EQ(feed->message(11, {{1, 1}}), "= apply 1 1\n");
}

TEST(Synchroniser, forgets_what_snapshots_said_before_their_numbers_began_anew) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.picture(1, 463, 1'628);
  (void)feed.picture(2, 80, 1'628);
  (void)feed.picture(1, 462, 1'600);  // of the same time: it came out of order
  EXPECT_EQ(feed.machine().counts().returns, 0U);
  feed.sent = 1;
  (void)feed.picture(1, 41, 161);
  EXPECT_EQ(feed.machine().counts().returns, 1U);
  // The increments that come at last are within what snapshots may be ahead.
  (void)feed.message(1'600, {{1, 464}, {2, 81}});
  EXPECT_EQ(feed.state(1), "stale");
  EXPECT_EQ(feed.state(2), "stale");
}

TEST(Synchroniser, takes_snapshots_of_later_messages_before_it_joins) {
  Feed feed(options_of(ScopeOf::Instrument));
  (void)feed.picture(1, 41, 161);
  (void)feed.picture(1, 41, 161);
  (void)feed.picture(1, 43, 1'600);
  (void)feed.message(1'600, {{1, 44}});
  EXPECT_EQ(feed.state(1), "latest");
  EXPECT_EQ(feed.machine().counts().returns, 0U);
}

TEST(Synchroniser, takes_what_a_snapshot_ahead_has_brought_for_repetitions) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  (void)feed->loss(2, 2);
  EXPECT_EQ(feed->picture(1, 4, 6), "= load 1 4\n= state 1 latest 0\n");
  (void)feed->loss(3, 3);
  (void)feed->message(4, {{1, 3}});
  (void)feed->message(5, {{1, 4}});
  EXPECT_EQ(feed->machine().counts().returns, 0U);
}

TEST(Synchroniser, tells_that_a_cycle_of_snapshots_does_not_come) {
  SyncOptions options = options_of(ScopeOf::Instrument);
  options.cycle_ns = 100;
  const auto feed = started(options);
  feed->machine().cycle(1'000);
  (void)feed->tick(1'150);
  EXPECT_EQ(feed->machine().counts().overdue_cycles, 0U);
  (void)feed->tick(1'151);
  (void)feed->tick(1'900);
  EXPECT_EQ(feed->machine().counts().overdue_cycles, 1U);
}

TEST(Synchroniser, refuses_what_it_has_no_row_for) {
  const auto feed = started();
  EXPECT_EQ(feed->message(1, {{1, 1}}), "= apply 1 1\n");
  feed->machine().begin(2);
  EXPECT_FALSE(feed->machine().entry(4, 1, Event::of({})));
  EXPECT_FALSE(feed->machine().entry(0, 1, Event::of({})));
  EXPECT_FALSE(feed->machine().entry(1, ~std::uint64_t{0}, Event::of({})));
  feed->machine().end();
  EXPECT_FALSE(feed->machine().part({.row = 4, .is_first = true}));
  EXPECT_FALSE(feed->machine().part({.row = 1, .message = ~std::uint64_t{0}, .is_first = true}));
  EXPECT_EQ(feed->machine().counts().refused, 5U);
  EXPECT_EQ(feed->machine().mark(4).state, SyncState::Stale);
}

// What the stage needs beside: damage, restarts, feeds without snapshots.

TEST(Synchroniser, waits_for_a_message_that_cannot_be_read_to_its_end) {
  const auto feed = started(ScopeOf::Channel);
  (void)feed->message(1, {{1, 0}});
  feed->machine().begin(2);
  feed->machine().damage(0);
  feed->machine().end();
  EXPECT_EQ(feed->state(1), "stale");
  EXPECT_EQ(feed->machine().mark(1).since, 2U);
  EXPECT_EQ(feed->message(3, {{1, 0}}), "= state 1 stale 2 gap\n= state 2 stale 2 gap\n= state 3 stale 2 gap\n");
  // Its other copy, or a replay, brings the rest.
  EXPECT_EQ(feed->message(2, {{1, 0}}),
            "= apply 1 2\n= apply 1 3\n= state 1 latest 0\n= state 2 latest 0\n= state 3 latest 0\n");
}

TEST(Synchroniser, doubts_instruments_with_own_numbers_after_such_a_message) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  feed->machine().begin(2);
  feed->machine().damage(0);
  feed->machine().end();
  EXPECT_EQ(feed->state(1), "suspect");
  (void)feed->message(3, {{1, 2}});
  EXPECT_EQ(feed->state(1), "latest") << "its next number shows that it lost nothing";
  EXPECT_EQ(feed->state(2), "suspect");
}

TEST(Synchroniser, loses_what_a_product_had_in_such_a_message) {
  const auto feed = started(ScopeOf::Product);
  (void)feed->message(1, {{1, 0}}, 1);
  feed->machine().begin(2);
  (void)feed->machine().product(2, 2);
  feed->machine().damage(0);
  feed->machine().end();
  EXPECT_EQ(feed->state(1), "stale");
  EXPECT_EQ(feed->state(3), "stale");
  EXPECT_EQ(feed->state(2), "suspect") << "of another product";
}

TEST(Synchroniser, knows_nothing_after_it_was_made_to_forget) {
  for (const ScopeOf scope : {ScopeOf::Instrument, ScopeOf::Channel}) {
    const auto feed = started(scope);
    (void)feed->message(100, {{1, 1}});
    feed->machine().forget(Cause::Reset, 50);
    (void)feed->said();
    EXPECT_EQ(feed->state(1), "stale");
    EXPECT_EQ(feed->machine().mark(1).cause, Cause::Reset);
    // The numbers begin anew, and a snapshot from before does not help.
    feed->sent = 49;
    (void)feed->message(7, {{1, 3}});
    (void)feed->picture(1, 500, 500);
    EXPECT_EQ(feed->state(1), "stale");
    EXPECT_EQ(feed->machine().counts().outdated, 1U);
    feed->sent = 50;
    (void)feed->picture(1, scope == ScopeOf::Instrument ? 3 : 7, 7);
    EXPECT_EQ(feed->state(1), "latest");
  }
}

TEST(Synchroniser, begins_the_numbers_of_one_instrument_anew) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}, {2, 1}});
  (void)feed->message(2, {{1, 5}, {2, 2}});
  EXPECT_EQ(feed->state(1), "stale");
  feed->machine().restart(1);
  EXPECT_EQ(feed->said(), "= state 1 latest 0\n");
  EXPECT_EQ(feed->machine().waiting(), 0U) << "what waited was of the numbers before";
  EXPECT_EQ(feed->message(3, {{1, 1}, {2, 3}}), "= apply 1 1\n= apply 2 3\n");
}

TEST(Synchroniser, begins_them_anew_whatever_was_proved_of_the_numbers_before) {
  const auto feed = started();
  (void)feed->loss(1, 2);
  (void)feed->message(3, {{1, 1}});
  feed->machine().restart(1);
  (void)feed->message(4, {{1, 1}, {1, 2}});
  EXPECT_EQ(feed->message(2, {{1, 2}}), "") << "a repetition";
  EXPECT_EQ(feed->machine().counts().returns, 0U);
  EXPECT_EQ(feed->state(1), "latest");
}

TEST(Synchroniser, keeps_nothing_for_snapshots_that_do_not_come) {
  SyncOptions options = options_of(ScopeOf::Instrument);
  options.refresh = true;
  options.snapshots = false;
  Feed feed(options);
  EXPECT_EQ(feed.message(5, {{1, 10}}), "= refresh 1\n= apply 1 10\n");
  EXPECT_EQ(feed.message(6, {{1, 11}}), "= apply 1 11\n") << "it costs no more than a latest one";
  EXPECT_EQ(feed.message(7, {{1, 13}}), "= refresh 1\n= apply 1 13\n");
  EXPECT_EQ(feed.machine().waiting(), 0U);
  // Then one comes after all: entries were not kept, so it must have them.
  feed.machine().expect_snapshots();
  EXPECT_EQ(feed.picture(1, 12, 6), "");
  (void)feed.message(8, {{1, 14}});
  EXPECT_EQ(feed.machine().waiting(), 1U);
  EXPECT_EQ(feed.picture(1, 13, 7), "= load 1 13\n= apply 1 14\n= state 1 latest 0\n");
}

TEST(Synchroniser, takes_several_events_of_one_entry) {
  const auto feed = started();
  const Event both[] = {Event::of({.instrument = 1, .kind = Kind::Clear, .price = 1}),
                        Event::of({.instrument = 1, .kind = Kind::New, .price = 2})};
  feed->machine().begin(1);
  EXPECT_TRUE(feed->machine().entry(1, 1, both));
  EXPECT_FALSE(feed->machine().entry(1, 3, both)) << "2 is missing";
  EXPECT_TRUE(feed->machine().is_new_entry());
  EXPECT_EQ(feed->machine().waiting(1), 2U);
  EXPECT_FALSE(feed->machine().entry(1, 3, both));
  EXPECT_FALSE(feed->machine().is_new_entry()) << "a copy";
  feed->machine().end();
  (void)feed->said();
  EXPECT_EQ(feed->message(2, {{1, 2}}), "= apply 1 2\n= apply 1 1\n= apply 1 2\n= state 1 latest 0\n");
}

TEST(Synchroniser, needs_a_snapshot_past_a_number_that_the_book_cannot_be_continued_over) {
  const auto feed = started();
  (void)feed->message(1, {{1, 1}});
  (void)feed->message(2, {{1, 3}});
  feed->machine().need(1, 3);
  (void)feed->said();
  (void)feed->picture(1, 2, 2);
  EXPECT_EQ(feed->state(1), "stale");
  (void)feed->picture(1, 3, 2);
  EXPECT_EQ(feed->state(1), "latest");
}

TEST(Synchroniser, replaces_a_right_book_if_the_snapshot_says_so) {
  const auto feed = started(ScopeOf::Product);
  (void)feed->message(1, {{1, 0}}, 1);
  feed->view().picture = {{0, 1, 77}};
  ASSERT_TRUE(feed->machine().part(
      {.row = 1, .place = 9, .number = 1, .sent_ns = 0, .is_first = true, .is_last = true, .replaces = true}));
  feed->machine().part_end();
  EXPECT_EQ(feed->said(), "= load 1 1\n");
  EXPECT_EQ(feed->state(1), "latest");
  // One from before the book's last entry does not.
  (void)feed->message(2, {{1, 0}}, 2);
  ASSERT_TRUE(feed->machine().part(
      {.row = 1, .place = 11, .number = 1, .sent_ns = 0, .is_first = true, .is_last = true, .replaces = true}));
  feed->machine().part_end();
  EXPECT_EQ(feed->said(), "");
}

}  // namespace stopbit::market::synchroniser_test
