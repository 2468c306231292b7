// Holes, queues, asks and what is in step, each alone.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/market/sync/asks.hpp"
#include "host/market/sync/in_step.hpp"
#include "host/market/sync/numbers.hpp"
#include "host/market/sync/queues.hpp"

namespace stopbit::market::sync_parts_test {

std::string text_of(const Holes& holes, const Numbers& numbers) {
  std::string text;
  holes.for_each(numbers, 0, ~std::uint64_t{0}, [&](std::uint64_t first, std::uint64_t last) {
    text = std::to_string(first) + "-" + std::to_string(last) + (text.empty() ? "" : " ") + text;
  });
  return text;
}

TEST(Holes, does_not_wait_for_what_was_before_the_first_number) {
  Holes holes(8, 8);
  Numbers numbers;
  EXPECT_TRUE(holes.take(numbers, 10));
  EXPECT_EQ(numbers.floor, 9U);
  EXPECT_EQ(numbers.missing, 9U);
  EXPECT_FALSE(holes.take(numbers, 5));
}

TEST(Holes, are_filled_from_either_end_and_from_the_middle) {
  Holes holes(8, 8);
  Numbers numbers;
  EXPECT_TRUE(holes.take(numbers, 1));
  EXPECT_TRUE(holes.take(numbers, 10));
  EXPECT_EQ(text_of(holes, numbers), "2-9");
  EXPECT_TRUE(holes.take(numbers, 2));
  EXPECT_TRUE(holes.take(numbers, 9));
  EXPECT_TRUE(holes.take(numbers, 5));
  EXPECT_EQ(text_of(holes, numbers), "3-4 6-8");
  EXPECT_FALSE(holes.take(numbers, 5));
  EXPECT_EQ(numbers.missing, 8U);
  EXPECT_EQ(holes.first_above(numbers, 1), 3U);
  EXPECT_EQ(holes.first_above(numbers, 3), 4U);
  EXPECT_EQ(holes.reach(numbers, 1), 2U);
  EXPECT_EQ(holes.reach(numbers, 4), 5U);
  EXPECT_EQ(holes.reach(numbers, 8), 10U);
  for (const std::uint64_t n : {6U, 7U, 8U}) EXPECT_TRUE(holes.take(numbers, n));
  EXPECT_EQ(numbers.missing, 4U);
}

TEST(Holes, are_forgotten_up_to_a_snapshot) {
  Holes holes(8, 8);
  Numbers numbers;
  for (const std::uint64_t n : {1U, 5U, 10U}) EXPECT_TRUE(holes.take(numbers, n));
  holes.forget(numbers, 7);
  EXPECT_EQ(text_of(holes, numbers), "8-9");
  EXPECT_FALSE(holes.take(numbers, 3));
  holes.forget(numbers, 20);
  EXPECT_EQ(text_of(holes, numbers), "");
  EXPECT_EQ(numbers.high, 20U);
  EXPECT_LE(numbers.missing, 20U);
}

TEST(Holes, forget_the_lowest_if_a_scope_has_too_many) {
  Holes holes(8, 2);
  Numbers numbers;
  for (const std::uint64_t n : {1U, 3U, 5U, 7U}) EXPECT_TRUE(holes.take(numbers, n));
  EXPECT_EQ(text_of(holes, numbers), "4-4 6-6");
  EXPECT_EQ(numbers.floor, 2U);
  EXPECT_EQ(holes.forgotten(), 1U);
  EXPECT_FALSE(holes.take(numbers, 2));
  EXPECT_TRUE(holes.take(numbers, 4));
  EXPECT_TRUE(holes.take(numbers, 6));
  EXPECT_EQ(numbers.missing, 2U);
}

TEST(Holes, forget_the_lower_part_if_none_can_be_split) {
  Holes holes(1, 8);
  Numbers numbers;
  EXPECT_TRUE(holes.take(numbers, 1));
  EXPECT_TRUE(holes.take(numbers, 10));
  EXPECT_TRUE(holes.take(numbers, 5));
  EXPECT_EQ(text_of(holes, numbers), "6-9");
  EXPECT_EQ(numbers.floor, 4U);
}

TEST(Holes, of_other_scopes_stay_if_the_pool_is_empty) {
  Holes holes(1, 8);
  Numbers first;
  Numbers second;
  for (Numbers* numbers : {&first, &second}) {
    EXPECT_TRUE(holes.take(*numbers, 1));
    EXPECT_TRUE(holes.take(*numbers, 3));
  }
  EXPECT_EQ(text_of(holes, first), "2-2");
  EXPECT_EQ(text_of(holes, second), "");
  EXPECT_EQ(second.floor, 2U);
  EXPECT_EQ(second.missing, 2U);
}

Event event_of(std::int64_t price) {
  return Event::of({.instrument = 1, .kind = Kind::New, .price = price});
}

std::string taken(Queues& queues, std::uint32_t row, std::uint64_t last) {
  std::string text;
  queues.take(row, last, [&](const Event& event, std::uint64_t number) {
    text += std::to_string(number) + ":" + std::to_string(event.price()) + " ";
  });
  return text;
}

TEST(Queues, keep_the_order_of_numbers_whatever_the_order_of_arrival) {
  Queues queues(2, 16);
  const std::uint64_t arrival[] = {10, 12, 5, 6, 6, 11, 5};
  for (std::size_t i = 0; i < std::size(arrival); ++i)
    queues.push(1, arrival[i], event_of(static_cast<std::int64_t>(i)));
  EXPECT_EQ(queues.oldest(1), 5U);
  EXPECT_EQ(taken(queues, 1, 6), "5:2 5:6 6:3 6:4 ");
  queues.push(1, 7, event_of(7));
  EXPECT_EQ(taken(queues, 1, 99), "7:7 10:0 11:5 12:1 ");
  EXPECT_TRUE(queues.is_empty(1));
  EXPECT_EQ(queues.count(), 0U);
}

TEST(Queues, know_which_row_waits_longest) {
  Queues queues(3, 4);
  queues.push(2, 1, event_of(1));
  queues.push(3, 1, event_of(1));
  queues.push(1, 1, event_of(1));
  queues.push(2, 2, event_of(1));
  EXPECT_TRUE(queues.is_full());
  EXPECT_EQ(queues.first_row(), 2U);
  queues.drop(3, 1);
  EXPECT_EQ(queues.row_after(2), 1U);
  queues.drop(2, 5);
  EXPECT_EQ(queues.first_row(), 1U);
  EXPECT_EQ(queues.row_after(1), 0U);
  queues.clear();
  EXPECT_EQ(queues.first_row(), 0U);
  EXPECT_FALSE(queues.is_full());
}

TEST(Asks, wait_repeat_and_give_up) {
  Holes holes(8, 8);
  Numbers numbers;
  for (const std::uint64_t n : {1U, 10U}) EXPECT_TRUE(holes.take(numbers, n));
  Asks asks(20, 140, 400);
  std::string text;
  const auto tick = [&](std::uint64_t now) {
    text.clear();
    asks.tick(holes, numbers, now, [&](std::uint64_t first, std::uint64_t last) {
      text += std::to_string(first) + "-" + std::to_string(last) + " ";
    });
    return text;
  };
  EXPECT_FALSE(asks.add(2, 9, 1'000));
  EXPECT_EQ(tick(1'019), "");
  EXPECT_TRUE(holes.take(numbers, 5));
  EXPECT_EQ(tick(1'020), "6-9 2-4 ");
  EXPECT_EQ(tick(1'159), "");
  EXPECT_EQ(tick(1'160), "6-9 2-4 ");
  EXPECT_EQ(tick(1'400), "") << "given up";
  EXPECT_EQ(tick(1'800), "");
}

TEST(Asks, end_when_all_has_come) {
  Holes holes(8, 8);
  Numbers numbers;
  for (const std::uint64_t n : {1U, 3U}) EXPECT_TRUE(holes.take(numbers, n));
  Asks asks(0, 10, 1'000);
  EXPECT_TRUE(asks.add(2, 2, 0)) << "without a wait at once";
  EXPECT_TRUE(holes.take(numbers, 2));
  asks.tick(holes, numbers, 10, [](std::uint64_t, std::uint64_t) { ADD_FAILURE(); });
}

TEST(Asks, count_what_finds_no_room) {
  Holes holes(32, 32);
  Numbers numbers;
  for (std::uint64_t n = 1; n <= 2 * Asks::kRoom + 5; n += 2) EXPECT_TRUE(holes.take(numbers, n));
  Asks asks(20, 0, 400);
  for (std::uint64_t n = 2; n <= 2 * Asks::kRoom + 4; n += 2) EXPECT_FALSE(asks.add(n, n, 0));
  EXPECT_EQ(asks.dropped(), 2U);
  std::uint64_t lowest = 0;
  asks.tick(holes, numbers, 20, [&](std::uint64_t first, std::uint64_t) { lowest = lowest == 0 ? first : lowest; });
  EXPECT_EQ(lowest, 6U) << "the oldest make room";
}

constexpr auto kForgetNothing = [](std::uint32_t, std::uint64_t) { FAIL() << "it has to remember"; };

TEST(InStep, takes_the_next_number_only) {
  InStep steps(2);
  EXPECT_FALSE(steps.take(1, 0));
  steps.begin(1, 7);
  EXPECT_FALSE(steps.take(1, 6));
  EXPECT_FALSE(steps.take(1, 8));
  EXPECT_FALSE(steps.take(2, 7));
  EXPECT_TRUE(steps.take(1, 7));
  EXPECT_FALSE(steps.take(1, 7));
  EXPECT_EQ(steps.what(1), 8U);
  steps.end(1);
  EXPECT_FALSE(steps.take(1, 8));
  EXPECT_EQ(steps.what(1), 0U);
}

TEST(InStep, takes_no_number_that_looks_like_another_one_of_another_epoch) {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 40U;
  InStep steps(1);
  steps.begin(1, 5);
  for (std::uint64_t epochs = 0; epochs < 4; ++epochs) {
    EXPECT_FALSE(steps.is(1, epochs * kEnd + kEnd + 5));
    EXPECT_FALSE(steps.take(1, epochs * kEnd + kEnd + 5));
    steps.end_all(kForgetNothing);
    EXPECT_FALSE(steps.take(1, 5));
    EXPECT_EQ(steps.what(1), 5U) << "which is still to be known";
  }
  for (const std::uint64_t large : {kEnd, kEnd + 1, ~std::uint64_t{0}}) {
    steps.begin(1, large);
    EXPECT_FALSE(steps.take(1, large));
    EXPECT_EQ(steps.what(1), 0U);
  }
  steps.begin(1, kEnd - 2);
  EXPECT_TRUE(steps.take(1, kEnd - 2));
  EXPECT_FALSE(steps.take(1, kEnd - 1)) << "the next one has no room";
  EXPECT_EQ(steps.what(1), kEnd - 1);
}

TEST(InStep, forgets_what_is_as_old_as_there_are_epochs) {
  InStep steps(3);
  steps.begin(1, 5);
  steps.begin(3, 9);
  std::string forgotten;
  const auto forget = [&](std::uint32_t row, std::uint64_t what) {
    forgotten += " " + std::to_string(row) + ":" + std::to_string(what);
  };
  for (std::uint32_t i = 1; i < 1U << 24U; ++i) {
    steps.end_all(forget);
    ASSERT_EQ(forgotten.empty(), i < (1U << 24U) - 1) << i;
  }
  EXPECT_EQ(forgotten, " 1:5 3:9");
  EXPECT_FALSE(steps.take(1, 5));
  EXPECT_EQ(steps.what(1), 0U);
  steps.begin(1, 6);
  EXPECT_TRUE(steps.take(1, 6));
}

}  // namespace stopbit::market::sync_parts_test
