// Two appliances that lose, stop, die and begin again, and what a reader of both gets.

#include "host/standby/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "tests/lib/form.hpp"
#include "tests/lib/random.hpp"
#include "tests/unit/standby/records.hpp"

namespace stopbit::standby::merge_test {

using record::EventKind;
using record::EventView;
using record::HeaderView;
using record::Slot;

constexpr std::uint64_t kMs = 1'000'000;

/// What came: "7" a message of packet 7, "7.1" its second one, "-7..9" a gap, "!7" an error, "r" a reset; before them
/// "+" if recovered, "|" if of another run.
class Told final : public Output {
 public:
  void record(std::span<const Slot> record, Side /*from*/) noexcept override {
    const HeaderView header(record[0]);
    if (header.sender_epoch() != epoch_) text_ += "| ";
    epoch_ = header.sender_epoch();
    if ((header.flags() & record::kFlagRecovered) != 0) text_ += "+";
    if (!header.is_event()) {
      text_ += std::to_string(header.sequence());
      if (header.message_index() != 0) text_ += "." + std::to_string(header.message_index());
    } else {
      const EventView event(record[0]);
      switch (event.kind()) {
        case EventKind::Gap:
          text_ += "-" + std::to_string(event.first_missing());
          if (event.missing() != 1) text_ += ".." + std::to_string(event.first_missing() + event.missing() - 1);
          break;
        case EventKind::Reset: text_ += "r"; break;
        default: text_ += "!" + std::to_string(header.sequence());
      }
    }
    text_ += " ";
  }
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
  std::uint16_t epoch_ = 0;
};

struct Bench {
  Told told;
  Merge merge{{.slots = 4'096, .max_record_slots = 16}, told};
  std::uint64_t now = 1'000'000 * kMs;
  std::array<std::uint16_t, 2> epoch = {7, 40};

  Bench() {
    merge.began(Side::First);
    merge.began(Side::Second);
  }
  Head head(Side side, std::uint32_t number, std::uint16_t index = 0, bool is_last = true) const {
    return {.epoch = epoch[static_cast<std::size_t>(side)],
            .number = number,
            .message = index,
            .is_last = is_last,
            .arrival_ns = now,
            .source = static_cast<std::uint8_t>(1 + static_cast<unsigned>(side))};
  }
  void message(Side side, std::uint32_t number, std::uint16_t index = 0, bool is_last = true) {
    merge.take(side, standby::message(head(side, number, index, is_last), salt + number * 16 + index), now);
  }
  void messages(Side side, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t n = first; n != last + 1; ++n) message(side, n);
  }
  void gap(Side side, std::uint32_t first, std::uint32_t last) {
    merge.take(side, event(head(side, first), EventKind::Gap, first, last - first + 1), now);
  }
  void error(Side side, std::uint32_t number) {
    merge.take(side, event(head(side, number), EventKind::DecodeError), now);
  }
  void reset(Side side, std::uint32_t number) {
    ++epoch[static_cast<std::size_t>(side)];
    merge.take(side, event(head(side, number), EventKind::Reset), now);
  }
  std::string wait(std::uint64_t ms) {
    for (std::uint64_t i = 0; i < ms; i += 10) merge.tick(now += 10 * kMs);
    return told.take();
  }
  std::uint64_t salt = 0;  ///< Of the feed.
};

constexpr Side kA = Side::First;
constexpr Side kB = Side::Second;

TEST(Standby, delivers_what_comes_first_and_drops_the_copy) {
  Bench bench;
  bench.messages(kA, 1, 3);
  bench.messages(kB, 1, 5);
  bench.messages(kA, 4, 6);
  EXPECT_EQ(bench.told.take(), "1 2 3 4 5 6 ");
  EXPECT_EQ(bench.merge.counts().copies, 5U);
}

TEST(Standby, waits_with_a_gap_for_the_other_side) {
  Bench bench;
  bench.messages(kA, 1, 2);
  bench.messages(kB, 1, 2);
  bench.gap(kA, 3, 4);
  bench.messages(kA, 5, 6);
  EXPECT_EQ(bench.told.take(), "1 2 ");
  bench.messages(kB, 3, 5);
  EXPECT_EQ(bench.told.take(), "3 4 5 6 ");
  EXPECT_EQ(bench.merge.waiting(), 0U);
}

TEST(Standby, says_what_neither_has_once_and_marks_what_comes_later) {
  Bench bench;
  bench.messages(kA, 1, 2);
  bench.messages(kB, 1, 2);
  bench.gap(kA, 3, 6);
  bench.messages(kA, 7, 7);
  bench.gap(kB, 5, 8);
  EXPECT_EQ(bench.told.take(), "1 2 -5..6 7 ") << "the second side read 3 and 4, in which no message is";
  bench.messages(kB, 9, 9);
  EXPECT_EQ(bench.told.take(), "");
  EXPECT_EQ(bench.wait(150), "-8 9 ");
  bench.messages(kA, 8, 9);
  EXPECT_EQ(bench.told.take(), "+8 ");
  EXPECT_EQ(bench.merge.counts().lost, 3U);
}

TEST(Standby, waits_for_no_side_that_has_ended) {
  Bench bench;
  bench.messages(kA, 1, 2);
  bench.messages(kB, 1, 2);
  bench.gap(kA, 3, 3);
  bench.messages(kA, 4, 4);
  EXPECT_EQ(bench.told.take(), "1 2 ");
  bench.merge.ended(kB, bench.now);
  EXPECT_EQ(bench.told.take(), "-3 4 ");
}

TEST(Standby, takes_the_rest_of_a_packet_with_an_error_from_the_other_side) {
  Bench bench;
  bench.message(kA, 1, 0, false);
  bench.error(kA, 1);
  bench.messages(kA, 2, 2);
  for (std::uint16_t index = 0; index < 3; ++index) bench.message(kB, 1, index, index == 2);
  EXPECT_EQ(bench.told.take(), "1 1.1 1.2 2 ");
  bench.error(kA, 3);
  bench.error(kB, 3);
  bench.messages(kA, 4, 4);
  EXPECT_EQ(bench.told.take(), "!3 4 ");
}

TEST(Standby, a_reset_of_both_is_one) {
  Bench bench;
  bench.messages(kA, 1, 3);
  bench.messages(kB, 1, 2);
  bench.now += 1'500 * kMs;
  bench.salt = 1'000'000;
  bench.reset(kA, 1);
  bench.messages(kA, 1, 2);
  bench.reset(kB, 1);
  bench.messages(kB, 1, 3);
  EXPECT_EQ(bench.told.take(), "1 2 3 | r 1 2 3 ");
}

TEST(Standby, numbers_wrap) {
  Bench bench;
  bench.messages(kA, 0xFFFF'FFFE, 1);
  bench.messages(kB, 0xFFFF'FFFE, 0xFFFF'FFFF);
  bench.gap(kB, 0, 2);
  bench.messages(kB, 3, 3);
  bench.gap(kA, 2, 2);
  bench.messages(kA, 3, 4);
  EXPECT_EQ(bench.told.take(), "4294967294 4294967295 0 1 -2 3 4 ");
}

TEST(Standby, goes_on_by_its_numbers_after_both_were_gone_and_says_what_passed) {
  Bench bench;
  bench.messages(kA, 1, 3);
  bench.merge.ended(kA, bench.now);
  bench.merge.ended(kB, bench.now);
  bench.now += 20'000 * kMs;
  bench.epoch = {0, 0};
  bench.merge.began(kB);
  bench.messages(kB, 10, 11);
  EXPECT_EQ(bench.told.take(), "1 2 3 -4..9 10 11 ");
  bench.merge.began(kA);
  bench.messages(kA, 11, 12);
  EXPECT_EQ(bench.told.take(), "12 ");
  EXPECT_EQ(bench.merge.counts().unsure, 1U);
}

TEST(Standby, lower_numbers_after_both_were_gone_are_a_new_run) {
  Bench bench;
  bench.messages(kA, 100, 103);
  bench.merge.ended(kA, bench.now);
  bench.merge.ended(kB, bench.now);
  bench.now += 20'000 * kMs;
  bench.merge.began(kA);
  bench.epoch = {7, 0};
  bench.messages(kA, 1, 2);
  EXPECT_EQ(bench.told.take(), "100 101 102 103 | 1 2 ");
}

TEST(Standby, records_that_were_overwritten_are_a_loss_of_one_side) {
  Bench bench;
  bench.messages(kA, 1, 2);
  bench.messages(kB, 1, 2);
  bench.merge.hole(kA);
  bench.messages(kA, 5, 6);
  EXPECT_EQ(bench.told.take(), "1 2 ");
  bench.messages(kB, 3, 7);
  EXPECT_EQ(bench.told.take(), "3 4 5 6 7 ");
  bench.merge.hole(kB);
  bench.message(kB, 9, 1);
  EXPECT_EQ(bench.wait(150), "-8..9 +9.1 ");
}

TEST(Standby, drops_the_records_of_another_feed) {
  Bench bench;
  for (std::uint32_t n = 1; n < 600; ++n) {
    bench.salt = 0;
    bench.message(kA, n);
    bench.salt = 1'000'000;
    bench.message(kB, n / 2);
    bench.message(kB, 100'000 + n);
    bench.merge.tick(bench.now += kMs);
  }
  std::string all;
  for (std::uint32_t n = 1; n < 600; ++n) all += std::to_string(n) + " ";
  EXPECT_EQ(bench.told.take(), all);
  EXPECT_EQ(bench.merge.counts().delivered[1], 0U);
}

TEST(Standby, a_channel_without_numbers_comes_from_one_side) {
  Bench bench;
  for (unsigned i = 0; i < 5; ++i) {
    bench.message(kA, 0);
    bench.message(kB, 0);
    bench.now += kMs;
  }
  EXPECT_EQ(bench.told.take(), "0 0 0 0 0 ");
  bench.merge.ended(kA, bench.now);
  bench.message(kB, 0);
  EXPECT_EQ(bench.told.take(), "0 ");
}

TEST(Standby, knows_the_run_of_what_waits_however_far_the_other_side_runs_ahead) {
  Bench bench;
  bench.messages(kA, 1, 10);
  bench.messages(kB, 1, 10);
  bench.merge.ended(kA, bench.now);
  bench.merge.began(kA);
  bench.epoch = {0, 40};
  bench.messages(kA, 200, 210);
  bench.merge.hole(kB);
  bench.messages(kB, 12, 900);
  std::string all = "-11 ";
  for (std::uint32_t n = 12; n <= 900; ++n) all += std::to_string(n) + " ";
  EXPECT_EQ(bench.wait(150), "1 2 3 4 5 6 7 8 9 10 " + all);
  EXPECT_EQ(bench.merge.waiting(), 0U) << "900 numbers later the history has no room for 200";
  EXPECT_EQ(bench.merge.counts().copies, 21U);
}

TEST(Standby, remembers_old_numbers_whichever_of_them_have_messages) {
  History history;
  const auto hash = [](std::uint32_t number) { return std::uint64_t{number} * 3; };
  for (std::uint32_t n = 1; n < 20'000; n += 2) history.add(n, hash(n), n);
  for (std::uint32_t n = 1; n < 19'000; n += 64) {
    ASSERT_NE(history.find(n), nullptr) << n;
    EXPECT_EQ(history.find(n)->hash, hash(n));
    EXPECT_EQ(history.find(n + 1), nullptr);
  }
}

TEST(Standby, a_packet_of_blocks_is_filled_whole) {
  Bench bench;
  const auto blocks = [&](Side side, std::uint32_t number) {
    bench.message(side, number, 0);
    bench.message(side, number, 1, false);  // the second block: its messages are 1 and 2 of the number here
    bench.message(side, number, 2);
  };
  for (const Side side : {kA, kB}) blocks(side, 1);
  bench.gap(kA, 2, 2);
  blocks(kA, 3);
  EXPECT_EQ(bench.wait(150), "1 1.1 1.2 -2 3 3.1 3.2 ");
  blocks(kB, 2);
  blocks(kB, 3);
  EXPECT_EQ(bench.told.take(), "+2 +2.1 +2.2 ");
}

TEST(Standby, says_that_a_later_block_could_not_be_decoded) {
  Bench bench;
  for (const Side side : {kA, kB}) {
    bench.message(side, 1, 0);
    bench.message(side, 1, 1);
  }
  for (const Side side : {kA, kB}) {
    bench.message(side, 2, 0);
    bench.error(side, 2);
    bench.messages(side, 3, 3);
  }
  EXPECT_EQ(bench.told.take(), "1 1.1 2 !2 3 ");
}

TEST(Standby, what_a_replay_brings_says_nothing_of_records_that_were_overwritten) {
  Bench bench;
  bench.messages(kA, 1, 2);
  bench.messages(kB, 1, 2);
  bench.merge.hole(kA);  // 3 and 5 are among them
  Head late = bench.head(kA, 4);
  late.is_recovered = true;
  bench.merge.take(kA, message(late, 4 * 16), bench.now);
  bench.gap(kB, 4, 4);
  bench.messages(kA, 6, 6);
  EXPECT_EQ(bench.told.take(), "1 2 +4 ");
  bench.messages(kB, 5, 6);
  EXPECT_EQ(bench.told.take(), "5 6 ");
}

TEST(Standby, what_waits_of_a_side_that_has_ended_comes_before_a_run_is_found_by_numbers) {
  Bench bench;
  bench.messages(kA, 1, 2);
  bench.messages(kB, 1, 2);
  bench.merge.ended(kA, bench.now);
  bench.merge.began(kA);
  bench.epoch[0] = 0;
  bench.gap(kB, 3, 3);
  bench.messages(kB, 4, 30);
  bench.salt = 1'000'000;  // the exchange begins anew, and only the first side sees it
  Head later = bench.head(kA, 5);
  later.arrival_ns += 3'000 * kMs;
  bench.merge.take(kA, event(later, EventKind::Gap, 5, 1), bench.now);
  later.number = 6;
  bench.merge.take(kA, message(later, bench.salt + 6 * 16), bench.now);
  bench.merge.ended(kB, bench.now);
  EXPECT_EQ(bench.told.take(), "1 2 ");
  std::string all = "-3 ";
  for (std::uint32_t n = 4; n <= 30; ++n) all += std::to_string(n) + " ";
  EXPECT_EQ(bench.wait(150), all + "| -5 6 ");
}

TEST(Standby, the_last_record_of_a_process_is_not_kept_for_one_in_common) {
  Bench bench;
  bench.messages(kA, 1, 10);
  bench.messages(kB, 1, 10);
  bench.merge.ended(kB, bench.now);
  bench.merge.began(kB);
  bench.epoch[1] = 0;
  bench.message(kA, 11);
  bench.gap(kA, 12, 12);
  bench.message(kB, 12);
  EXPECT_EQ(bench.wait(150), "1 2 3 4 5 6 7 8 9 10 11 -12 ");
  bench.merge.ended(kB, bench.now);
  bench.merge.began(kB);
  std::string all;
  for (std::uint32_t n = 13; n < 200; ++n) {
    bench.message(kA, n);
    bench.now += 10 * kMs;
    bench.merge.tick(bench.now);
  }
  const std::string told = bench.told.take();
  EXPECT_NE(told.find("+12 "), std::string::npos) << told;
  EXPECT_EQ(bench.merge.waiting(), 0U);
}

TEST(Standby, a_side_goes_on_in_a_run_that_is_forgotten_and_ends_no_other_one) {
  Bench bench;
  bench.messages(kA, 1, 10);
  bench.messages(kB, 1, 9);
  std::string all = "1 2 3 4 5 6 7 8 9 10 ";
  for (unsigned i = 1; i <= 5; ++i) {
    bench.now += 5'000 * kMs;
    bench.salt = i * 1'000'000;
    bench.reset(kA, 1);
    bench.messages(kA, 1, 2);
    all += "| r 1 2 ";
  }
  EXPECT_EQ(bench.told.take(), all);
  bench.salt = 0;
  bench.messages(kB, 10, 12);
  bench.gap(kB, 12, 14);
  bench.messages(kB, 15, 15);
  bench.messages(kA, 3, 4);
  EXPECT_EQ(bench.told.take(), "| 11 12 -13..14 15 | 3 4 ");
  EXPECT_EQ(bench.merge.counts().copies, 10U);
  EXPECT_EQ(bench.merge.counts().refused, 0U);
}

TEST(Standby, a_process_of_a_forgotten_run_begins_no_run_of_its_own) {
  Bench bench;
  bench.messages(kA, 1, 10);
  bench.messages(kB, 1, 10);
  bench.merge.ended(kB, bench.now);
  const Head old = bench.head(kB, 10);
  for (unsigned i = 1; i <= 5; ++i) {
    bench.now += 5'000 * kMs;
    bench.salt = i * 1'000'000;
    bench.reset(kA, 1);
    bench.messages(kA, 1, 2);
  }
  (void)bench.told.take();
  bench.merge.began(kB);
  Head head = old;
  head.epoch = 0;
  bench.merge.take(kB, message(head, 10 * 16), bench.now);
  head.number = 11;
  bench.merge.take(kB, message(head, 11 * 16), bench.now);
  bench.messages(kA, 3, 4);
  EXPECT_EQ(bench.wait(150), "3 4 | 11 ") << "10 has come, and 11 has not";
}

TEST(Standby, a_leap_of_one_side_does_not_silence_the_other_one) {
  constexpr std::uint32_t kFar = 1U << 30;
  for (const bool has_gap : {false, true}) {
    Bench bench;
    bench.messages(kA, 1, 3);
    bench.messages(kB, 1, 3);
    if (has_gap) bench.gap(kA, 4, kFar - 1);
    bench.messages(kA, kFar, kFar + 2);
    std::string all = "1 2 3 ";
    for (std::uint32_t n = 4; n < 40; ++n) {
      bench.message(kB, n);
      bench.merge.tick(bench.now += 10 * kMs);
      all += std::to_string(n) + " ";
    }
    EXPECT_EQ(bench.told.take(), all) << has_gap;
    EXPECT_EQ(bench.merge.waiting(), 0U);
    EXPECT_EQ(bench.merge.counts().foreign, has_gap ? 4U : 3U);
    bench.messages(kA, 40, 41);  // its arbiter has taken the leap back
    EXPECT_EQ(bench.wait(150), "40 41 ");
  }
}

TEST(Standby, a_leap_of_both_sides_or_of_one_that_is_alone_is_believed) {
  constexpr std::uint32_t kFar = 1U << 30;
  const std::string far = std::to_string(kFar);
  Bench bench;
  bench.messages(kA, 1, 3);
  bench.messages(kB, 1, 3);
  bench.gap(kA, 4, kFar - 1);
  bench.message(kA, kFar);
  EXPECT_EQ(bench.told.take(), "1 2 3 ");
  bench.gap(kB, 4, kFar - 1);
  bench.message(kB, kFar);
  EXPECT_EQ(bench.wait(150), "-4.." + std::to_string(kFar - 1) + " " + far + " ");

  Bench alone;
  alone.messages(kA, 1, 3);
  alone.messages(kB, 1, 3);
  (void)alone.wait(6'000);
  alone.message(kA, kFar);
  EXPECT_EQ(alone.told.take(), far + " ") << "the other side has been silent for long";
}

TEST(Standby, a_hole_of_the_other_side_makes_no_leap_true) {
  constexpr std::uint32_t kFar = 1U << 30;
  Bench bench;
  bench.messages(kA, 1, 3);
  bench.messages(kB, 1, 3);
  bench.messages(kA, kFar, kFar + 2);
  bench.merge.hole(kB);
  EXPECT_EQ(bench.wait(10), "1 2 3 ");
  bench.messages(kB, 4, 6);
  EXPECT_EQ(bench.wait(150), "4 5 6 ");
}

TEST(Standby, a_process_that_has_ended_is_of_another_feed_if_none_had_a_record_in_common) {
  Bench bench;
  bench.messages(kA, 1, 100);
  bench.salt = 1'000'000;
  bench.message(kB, 105);
  bench.merge.ended(kB, bench.now);
  bench.merge.began(kB);
  bench.salt = 0;
  bench.now += 1'500 * kMs;
  (void)bench.told.take();
  std::string all;
  for (std::uint32_t n = 101; n < 140; ++n) {
    bench.message(kA, n);
    bench.merge.tick(bench.now += 10 * kMs);
    all += std::to_string(n) + " ";
  }
  EXPECT_EQ(bench.told.take(), all) << "numbers near its own had come at its time";
}

TEST(Standby, an_old_number_ahead_is_of_the_run_before) {
  Bench bench;
  bench.messages(kA, 1, 10);
  bench.messages(kB, 1, 1'000);
  const auto begin_again = [&] {
    bench.merge.ended(kB, bench.now);
    bench.merge.began(kB);
    bench.epoch[1] = 0;
  };
  begin_again();
  bench.now += 700 * kMs;
  bench.message(kB, 2'000);  // all that this process brings
  begin_again();
  bench.now += 500 * kMs;
  bench.salt = 1'000'000;
  bench.reset(kA, 1);  // less than `skew_ns` later
  bench.messages(kA, 1, 2);
  (void)bench.told.take();
  bench.now += 600 * kMs;
  bench.message(kA, 3);
  EXPECT_EQ(bench.wait(150), "3 | -1001..1999 2000 ");
  bench.message(kA, 4);
  EXPECT_EQ(bench.told.take(), "| 4 ") << "its numbers up to 2000 are not lost";
}

TEST(Standby, waits_for_a_record_in_common_though_the_other_side_joined_the_run_much_later) {
  Bench bench;
  bench.messages(kB, 1, 100);
  bench.messages(kA, 1, 100);
  bench.now += 3'000 * kMs;
  bench.salt = 1'000'000;
  ++bench.epoch[0];  // it is stopped, and publishes the next two later
  const Record begins = event(bench.head(kA, 3), EventKind::Reset);
  const Record third = message(bench.head(kA, 3), bench.salt + 3 * 16);
  bench.now += 3'000 * kMs;
  bench.reset(kB, 5);  // 3 and 4 are lost on its lines
  bench.messages(kB, 5, 6);
  (void)bench.told.take();
  bench.merge.take(kA, begins, bench.now);
  bench.merge.take(kA, third, bench.now);
  bench.messages(kA, 5, 7);
  EXPECT_EQ(bench.told.take(), "7 ");
}

TEST(Standby, losses_of_a_side_in_a_forgotten_run_are_told) {
  Bench bench;
  bench.messages(kA, 1, 10);
  bench.messages(kB, 1, 9);
  for (unsigned i = 1; i <= 5; ++i) {
    bench.now += 5'000 * kMs;
    bench.salt = i * 1'000'000;
    bench.reset(kA, 1);
    bench.messages(kA, 1, 2);
  }
  (void)bench.told.take();
  bench.salt = 0;
  bench.messages(kB, 10, 11);
  bench.merge.hole(kB);
  bench.messages(kB, 15, 16);
  bench.message(kB, 17, 0, false);
  bench.error(kB, 17);
  bench.error(kB, 18);
  bench.messages(kB, 19, 19);
  EXPECT_EQ(bench.told.take(), "| 11 -12..14 15 16 17 !17 !18 19 ");
  EXPECT_EQ(bench.merge.counts().lost, 5U);
}

TEST(Standby, of_two_processes_that_end_together_what_arrived_first_shows_the_run) {
  Bench bench;
  bench.messages(kA, 1, 17);
  bench.messages(kB, 1, 17);
  for (const Side side : {kA, kB}) bench.merge.ended(side, bench.now);
  for (const Side side : {kA, kB}) bench.merge.began(side);
  bench.epoch = {0, 0};
  bench.now += 3'000 * kMs;
  bench.salt = 1'000'000;
  Head later = bench.head(kB, 18);  // a number that could go on in the old run
  later.arrival_ns += 50 * kMs;
  bench.merge.take(kB, message(later, bench.salt + 18 * 16), bench.now);
  bench.messages(kA, 3, 4);
  EXPECT_EQ(bench.wait(10), "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 ");
  for (const Side side : {kA, kB}) bench.merge.ended(side, bench.now);
  EXPECT_EQ(bench.wait(150), "| 3 4 -5..17 18 ");
}

TEST(Standby, what_the_other_side_brings_late_of_the_run_before_comes_before_a_run_is_found_by_numbers) {
  Bench bench;
  bench.messages(kA, 1, 1);
  bench.messages(kB, 1, 1);
  bench.merge.ended(kA, bench.now);
  bench.merge.began(kA);
  bench.epoch[0] = 0;
  for (const Side side : {kB, kA}) {  // another channel shows that the new process is of this feed
    Head head = bench.head(side, 50);
    head.channel = 1;
    bench.merge.take(side, message(head, 50), bench.now);
  }
  // The second side was stopped: what arrived 3 s apart comes at once.
  bench.gap(kB, 2, 2);
  bench.messages(kB, 3, 30);
  const std::uint64_t now = bench.now;
  bench.salt = 1'000'000;
  const auto take = [&](Side side, std::uint32_t number) {
    Head head = bench.head(side, number);
    head.arrival_ns += 3'000 * kMs;
    bench.merge.take(side, message(head, bench.salt + number * 16), now);
  };
  for (const std::uint32_t number : {2U, 3U}) take(kA, number);
  ++bench.epoch[1];
  for (const std::uint32_t number : {2U, 3U, 4U}) take(kB, number);
  std::string all = "1 50 -2 ";
  for (std::uint32_t n = 3; n <= 30; ++n) all += std::to_string(n) + " ";
  EXPECT_EQ(bench.wait(150), all + "| 2 3 4 ") << "2 does not go on after 1 of the run before";
}

TEST(Standby, of_two_sides_that_wait_one_goes_on_whatever_their_times) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  Bench bench;
  bench.messages(kA, 1, 2);
  ++bench.epoch[0];  // it leaves the newest run at the end of time
  Head last = bench.head(kA, 1);
  last.arrival_ns = kEnd - 1;
  Head stranger = bench.head(kB, 9);
  stranger.arrival_ns = kEnd;
  bench.merge.take(kB, message(stranger, 77), bench.now);
  bench.merge.take(kA, message(last, 78), bench.now);
  for (const Side side : {kA, kB}) bench.merge.ended(side, bench.now);
  EXPECT_EQ(bench.merge.waiting(), 0U) << bench.told.take();
}

// Random schedules.

/// A packet as the exchange sends it.
struct Truth {
  std::uint16_t channel = 0;
  std::uint64_t run = 0;
  std::uint32_t number = 0;
  std::uint16_t messages = 0;
};
using Name = std::tuple<std::uint16_t, std::uint64_t, std::uint32_t, std::uint16_t>;  // channel, run, number, message

std::uint64_t value_of(const Truth& packet, std::uint16_t index) {
  return (packet.run << 48) + (std::uint64_t{packet.channel} << 44) + (std::uint64_t{packet.number} << 8) + index;
}

std::uint16_t messages_of(std::uint32_t number) {
  return static_cast<std::uint16_t>(number * 7 % 4);  // none: a heartbeat
}

/// An appliance: what it publishes of the packets that it sees.
class Machine {
 public:
  Machine(cases::Random& random, unsigned loss_percent, std::uint64_t skew_ns)
      : random_(random), loss_(loss_percent), skew_ns_(skew_ns) {}

  void see(const Truth& packet, std::uint64_t now_ns) {
    if (is_dead || random_.chance(loss_)) return;
    const std::uint64_t arrival_ns = now_ns + skew_ns_;
    OfChannel& channel = channels_[packet.channel];
    Head head{.channel = packet.channel, .number = packet.number, .arrival_ns = arrival_ns};
    if (channel.run != packet.run) {
      const bool knows = channel.is_known && channel.run == 0 && channel.known_run == packet.run;
      const bool has_left = channel.run != 0;
      if (has_left) {
        ++channel.epoch;
        begun.insert({packet.channel, packet.run});
      }
      channel.run = packet.run;
      channel.next = knows ? channel.known_next : packet.number;
      channel.lost.clear();
      head.epoch = channel.epoch;
      if (has_left) put(event(head, EventKind::Reset));
    }
    head.epoch = channel.epoch;
    if (packet.number != channel.next) {
      Head of = head;
      of.number = channel.next;
      put(event(of, EventKind::Gap, channel.next, packet.number - channel.next));
      for (std::uint32_t n = channel.next; n != packet.number; ++n) channel.lost.push_back(n);
    }
    channel.next = packet.number + 1;
    publish(packet, head, loss_ != 0 && random_.below(50) == 0);
    while (!channel.lost.empty() && random_.chance(20)) {  // a replay brings it
      Truth late = packet;
      late.number = channel.lost.front();
      late.messages = messages_of(late.number);
      channel.lost.pop_front();
      Head of = head;
      of.number = late.number;
      of.is_recovered = true;
      publish(late, of, false);
    }
  }
  bool is_in(const Truth& packet) const {
    const auto found = channels_.find(packet.channel);
    return !is_dead && found != channels_.end() && found->second.run == packet.run;
  }
  /// Its process ends and begins again; it may know how far it was.
  void restart(bool knows) {
    is_dead = false;
    for (auto& [number, channel] : channels_) {
      OfChannel again;
      // Just after a wrap the numbers of one that knows nothing look like those of a sender that begins anew.
      again.is_known = knows || channel.next > 0xFFFF'0000;
      again.known_run = channel.run;
      again.known_next = channel.next;
      channel = again;
    }
  }
  /// The reader was too slow.
  void lose(std::size_t records) {
    for (; records != 0 && !out.empty(); --records) {
      const HeaderView header(out.front()[0]);
      if (!header.is_event()) {
        published.erase({header.channel(), out.front()[0].words[4] >> 48, header.sequence(), header.message_index()});
      }
      out.pop_front();
    }
  }
  /// Whether it has published what shows that the run is none that goes on after this number: a number that is not
  /// ahead of it, one of those with which a sender begins anew, or the event.
  bool has_shown(std::uint16_t channel, std::uint64_t run, std::uint32_t number) const {
    if (begun.contains({channel, run})) return true;
    return std::any_of(published.begin(), published.end(), [&](const Name& name) {
      const std::uint32_t one = std::get<2>(name);
      return std::get<0>(name) == channel && std::get<1>(name) == run &&
             (distance(one, number) <= 0 || (one <= 16 && number > 16));
    });
  }
  std::deque<Record> out;
  std::set<Name> published;
  std::set<std::pair<std::uint16_t, std::uint64_t>> begun;  ///< Runs of a channel that a process saw begin.
  bool is_dead = false;

 private:
  struct OfChannel {
    std::uint64_t run = 0;
    std::uint16_t epoch = 0;
    std::uint32_t next = 0;
    std::deque<std::uint32_t> lost;
    bool is_known = false;
    std::uint64_t known_run = 0;
    std::uint32_t known_next = 0;
  };
  void publish(const Truth& packet, Head head, bool has_error) {
    const std::uint16_t whole =
        has_error ? static_cast<std::uint16_t>(random_.below(packet.messages + 1)) : packet.messages;
    for (std::uint16_t i = 0; i < whole; ++i) {
      head.message = i;
      head.is_last = i + 1 == packet.messages;
      put(message(head, value_of(packet, i), 1U + packet.number % 3));
      published.insert({packet.channel, packet.run, packet.number, i});
    }
    if (has_error) put(event(head, EventKind::DecodeError));
  }
  void put(Record record) { out.push_back(std::move(record)); }

  cases::Random& random_;
  unsigned loss_;
  std::uint64_t skew_ns_;
  std::map<std::uint16_t, OfChannel> channels_;
};

/// What the one stream says.
class Check final : public Output {
 public:
  explicit Check(const std::array<Machine, 2>& machines) : machines_(machines) {}

  void record(std::span<const Slot> record, Side /*from*/) noexcept override {
    const HeaderView header(record[0]);
    if (unknowable.contains(header.channel())) return;
    OfRun& of = runs[{header.channel(), header.sender_epoch()}];
    const std::uint32_t number = header.sequence();
    if (header.is_event()) return event(of, record[0], number);
    const std::uint64_t run = record[0].words[4] >> 48;
    if (of.run == 0) of.run = run;
    if (of.run != run) {
      if (look_like_one(of, header, run)) {
        unknowable.insert(header.channel());
        return;
      }
      complain("two runs are one", header);
    }
    if (!seen.insert({header.channel(), run, number, header.message_index()}).second) complain("twice", header);
    of.begin({.number = number, .message = header.message_index()});
    if ((header.flags() & record::kFlagRecovered) != 0) return;
    const std::int32_t ahead = of.has_high ? static_cast<std::int32_t>(number - of.number) : 1;
    if (ahead < 0 || (ahead == 0 && header.message_index() <= of.message)) complain("out of order", header);
    if (of.has_high && ahead > 0) of.passed(of.number + 1, number);
    of.has_high = true;
    of.number = of.of_message = number;
    of.message = header.message_index();
  }
  struct OfRun {
    std::uint64_t run = 0;
    std::uint32_t of_message = 0;  ///< The highest number that came, not in a gap.
    bool has_high = false;
    bool has_first = false;
    Place first;
    std::uint32_t number = 0;
    std::int32_t message = -1;
    std::set<std::uint32_t> lost;
    std::set<std::uint32_t> empty;  ///< Passed without a message, and not said to be lost.
    void begin(const Place& place) {
      if (!has_first) first = place;
      has_first = true;
    }
    void passed(std::uint32_t from, std::uint32_t to) {
      for (std::uint32_t n = from; n != to; ++n) {
        if (!lost.contains(n)) empty.insert(n);
      }
    }
  };
  std::map<std::pair<std::uint16_t, std::uint16_t>, OfRun> runs;
  std::set<Name> seen;
  std::set<std::uint16_t> unknowable;  ///< Channels of which nothing more is asked.
  std::string wrong;

 private:
  /// Nothing shows that this is another run: the same records would come if the one before went on.
  bool look_like_one(const OfRun& of, const HeaderView& header, std::uint64_t run) const {
    return std::none_of(machines_.begin(), machines_.end(),
                        [&](const Machine& one) { return one.has_shown(header.channel(), run, of.of_message); });
  }
  void event(OfRun& of, const Slot& slot, std::uint32_t number) {
    const EventView event(slot);
    const HeaderView header(slot);
    if (event.kind() == EventKind::DecodeError && !of.lost.insert(number).second) complain("an error twice", header);
    if (event.kind() != EventKind::Gap) return;
    const auto first = static_cast<std::uint32_t>(event.first_missing());
    const auto end = static_cast<std::uint32_t>(event.first_missing() + event.missing());
    of.begin({.number = first});
    if (of.has_high && static_cast<std::int32_t>(first - of.number) < 0) complain("a gap below what came", header);
    for (std::uint32_t n = first; n != end; ++n) {
      if (!of.lost.insert(n).second) complain("lost twice", header);
    }
    if (of.has_high && static_cast<std::int32_t>(first - of.number) > 0) of.passed(of.number + 1, first);
    of.has_high = true;
    of.number = end - 1;
    of.message = 0xFFFF;
  }
  void complain(const std::string& what, const HeaderView& header) {
    if (!wrong.empty()) return;
    wrong = what + ": channel " + std::to_string(header.channel()) + ", run " + std::to_string(header.sender_epoch()) +
            ", number " + std::to_string(header.sequence()) + ", message " + std::to_string(header.message_index());
  }

  const std::array<Machine, 2>& machines_;
};

/// A schedule of everything that may go wrong.
class Schedule {
 public:
  explicit Schedule(std::uint64_t seed)
      : random_(seed),
        machines_{Machine(random_, loss(), random_.below(20) * kMs), Machine(random_, loss(), random_.below(20) * kMs)},
        check_(machines_),
        merge_({.slots = 65'536, .max_record_slots = 8}, check_) {
    const std::uint64_t channels = 1 + random_.below(4);
    for (std::uint16_t c = 0; c < channels; ++c) {
      const std::uint32_t first = random_.chance(30) ? 0xFFFF'FF00 : 1;
      feeds_[c] = {.channel = c, .run = 1, .number = first, .messages = 0};
    }
    merge_.began(kA);
    merge_.began(kB);
  }

  std::string play() {
    for (int step = 0; step < 2'000; ++step) {
      now_ += kMs;
      if (random_.below(700) == 0) reset();
      Truth& feed = feeds_[static_cast<std::uint16_t>(random_.below(feeds_.size()))];
      feed.messages = messages_of(feed.number);
      for (Machine& machine : machines_) machine.see(feed, now_);
      ++feed.number;
      harm();
      read(false);
    }
    now_ += 2'000 * kMs;
    for (Stop& stop : stops_) stop.until = 0;
    read(true);
    merge_.ended(kA, now_);
    merge_.ended(kB, now_);
    return verdict();
  }

 private:
  struct Stop {
    std::uint64_t until = 0;
    std::uint64_t dead_until = 0;
    bool has_ended = false;
  };
  unsigned loss() { return static_cast<unsigned>(random_.below(4) * 3); }

  /// The exchange begins anew, after a silence; what it sent before has been read.
  void reset() {
    now_ += 3'000 * kMs;
    for (Stop& stop : stops_) stop.until = 0;
    read(true);
    Truth& feed = feeds_[static_cast<std::uint16_t>(random_.below(feeds_.size()))];
    // If none of them sees that it begins anew, they cannot know.
    if (!machines_[0].is_in(feed) && !machines_[1].is_in(feed)) return;
    ++feed.run;
    feed.number = static_cast<std::uint32_t>(1 + random_.below(3));
  }

  void harm() {
    const std::size_t i = random_.below(2);
    const bool is_other_dead = machines_[1 - i].is_dead;
    if (!machines_[i].is_dead && random_.below(150) == 0 && (!is_other_dead || random_.chance(30))) {
      machines_[i].is_dead = true;
      stops_[i] = {.until = 0, .dead_until = now_ + random_.below(600) * kMs, .has_ended = false};
    }
    if (random_.below(200) == 0) stops_[i].until = now_ + random_.below(1'500) * kMs;
    if (random_.below(300) == 0) {
      machines_[i].lose(1 + random_.below(20));
      merge_.hole(static_cast<Side>(i));
    }
  }

  void read(bool is_all) {
    for (const std::size_t i : {0U, 1U}) {
      Machine& machine = machines_[i];
      Stop& stop = stops_[i];
      const auto side = static_cast<Side>(i);
      if (stop.until > now_) continue;
      for (std::uint64_t n = is_all ? 1U << 20 : random_.below(12); n > 0 && !machine.out.empty(); --n) {
        merge_.take(side, machine.out.front(), now_);
        machine.out.pop_front();
      }
      if (!machine.is_dead || !machine.out.empty()) continue;
      if (!stop.has_ended) merge_.ended(side, now_);
      stop.has_ended = true;
      if (stop.dead_until > now_) continue;
      machine.restart(random_.chance(60));
      merge_.began(side);
    }
    merge_.tick(now_);
  }

  std::string verdict() {
    if (!check_.wrong.empty()) return check_.wrong;
    if (merge_.counts().dropped + merge_.counts().refused != 0) return "records were dropped";
    if (merge_.waiting() != 0) return "records wait for ever";
    for (const Machine& machine : machines_) {
      for (const Name& name : machine.published) {
        if (check_.unknowable.contains(std::get<0>(name))) continue;
        if (!check_.seen.contains(name) && !is_before_the_first(name)) return "did not come: " + text_of(name);
      }
    }
    // What neither has was said.
    for (const auto& [place, run] : check_.runs) {
      if (check_.unknowable.contains(place.first)) continue;
      for (const std::uint32_t number : run.empty) {
        if (messages_of(number) != 0 && !has(place.first, run.run, number)) {
          return "not said to be lost: " + text_of({place.first, run.run, number, 0});
        }
      }
    }
    return "";
  }
  bool has(std::uint16_t channel, std::uint64_t run, std::uint32_t number) const {
    return std::any_of(machines_.begin(), machines_.end(), [&](const Machine& one) {
      return one.published.contains({channel, run, number, 0});
    });
  }
  /// The stream of a run begins with what came first.
  bool is_before_the_first(const Name& name) const {
    return std::any_of(check_.runs.begin(), check_.runs.end(), [&](const auto& one) {
      const std::int32_t after = distance(std::get<2>(name), one.second.first.number);
      return one.first.first == std::get<0>(name) && one.second.run == std::get<1>(name) &&
             (after < 0 || (after == 0 && std::get<3>(name) < one.second.first.message));
    });
  }
  static std::string text_of(const Name& name) {
    const auto& [channel, run, number, index] = name;
    return "channel " + std::to_string(channel) + ", run " + std::to_string(run) + ", number " +
           std::to_string(number) + ", message " + std::to_string(index);
  }

  cases::Random random_;
  std::array<Machine, 2> machines_;
  std::array<Stop, 2> stops_{};
  std::map<std::uint16_t, Truth> feeds_;
  std::uint64_t now_ = 1'000'000 * kMs;
  Check check_;
  Merge merge_;
};

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

/// The first seed and their number can be given, to look for more: STOPBIT_SEED, STOPBIT_SEEDS.
TEST(Standby, neither_loses_nor_repeats_whichever_dies_stops_or_restarts) {
  const std::uint64_t first = number("STOPBIT_SEED", 1);
  const std::uint64_t count = number("STOPBIT_SEEDS", by_form<std::uint64_t>(200, 1'000, 100'000));
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    EXPECT_EQ(Schedule(seed).play(), "") << "seed " << seed;
}

TEST(Standby, bears_any_records) {
  class Nothing final : public Output {
    void record(std::span<const Slot> /*record*/, Side /*from*/) noexcept override {}
  };
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    cases::Random random(seed);
    Nothing nothing;
    Merge merge({.slots = 4 + random.below(200), .patience_ns = 50, .skew_ns = 100, .max_record_slots = 4}, nothing);
    std::uint64_t now = 1;
    for (int i = 0; i < 3'000; ++i) {
      Record any(random.below(6), Slot{});
      for (Slot& slot : any) {
        for (std::uint64_t& word : slot.words) word = random.below(3) == 0 ? random.bits() : random.below(8);
      }
      if (!any.empty() && random.below(2) == 0) any[0].words[0] = record::kEventIndex;
      if (!any.empty()) any[0].words[2] &= ~(std::uint64_t{0xFFF8} << 32);
      merge.take(static_cast<Side>(random.below(2)), any, now += random.below(20));
      if (random.below(10) == 0) merge.tick(now);
      if (random.below(100) == 0) merge.hole(static_cast<Side>(random.below(2)));
      if (random.below(100) == 0) merge.ended(static_cast<Side>(random.below(2)), now);
      if (random.below(100) == 0) merge.began(static_cast<Side>(random.below(2)));
    }
    merge.ended(kA, now);
    merge.ended(kB, now);
    EXPECT_EQ(merge.waiting(), 0U) << "seed " << seed;
  }
}

}  // namespace stopbit::standby::merge_test
