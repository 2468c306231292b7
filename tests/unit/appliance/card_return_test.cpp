#include "host/appliance/card_return.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/appliance/card_feed.hpp"
#include "tests/unit/appliance/card_fixture.hpp"

// A card that has failed, and comes back after software has had its channels.

namespace stopbit::test {
namespace {

using ::testing::HasSubstr;
namespace reg = device::registers;

/// A card that has failed, and what becomes of it.
class ReturningCard : public CardFeedTest {
 protected:
  using CardFeedTest::CardFeedTest;
  void break_card() {
    hollow.answer = [](std::uint32_t offset, std::uint32_t value) { return offset == reg::kId ? ~0U : value; };
    one.now += kLooked;
    one.work();
    EXPECT_THAT(one.made->take_card_failure(), HasSubstr("software takes over"));
  }
  void mend() { hollow.answer = {}; }
  bool tend() { return one.made->tend_card(one.now).is_back; }
  /// Both hear 1 to 5, the card fails, software goes on to 8, and the card is back.
  void come_back() {
    for (std::uint32_t sequence = 1; sequence <= 5; ++sequence) publish(sequence);
    host_hears(1, 5);
    break_card();
    host_hears(6, 8);
    mend();
    EXPECT_FALSE(tend()) << "not yet";
    one.now += appliance::CardReturn::kFirstNs;
    EXPECT_TRUE(tend());
    EXPECT_EQ(one.made->tend_card(one.now + appliance::CardReturn::kMostNs).text, "") << "it is back";
    one.work();
  }
  void publish_gap(std::uint64_t first, std::uint64_t count) {
    record::Slot slot{};
    slot.words[0] = record::kEventIndex | 1U << 16;
    slot.words[1] = 1'234;
    slot.words[2] = first | std::uint64_t{7} << 32;
    slot.words[4] = static_cast<std::uint64_t>(record::EventKind::Gap);
    slot.words[5] = first;
    slot.words[6] = count;
    hollow.publish({&slot, 1});
  }
  /// Numbers of records, and of gaps as "first+count".
  std::vector<std::string> seen() {
    std::vector<std::string> all;
    for (const OneChannel::Seen& seen : one.seen()) {
      EXPECT_TRUE(!seen.is_event || seen.kind == record::EventKind::Gap) << static_cast<int>(seen.kind);
      EXPECT_EQ(seen.epoch, 0U);
      all.push_back(seen.is_event ? std::to_string(seen.first) + "+" + std::to_string(seen.count)
                                  : std::to_string(seen.sequence));
    }
    return all;
  }
  static std::vector<std::string> numbers(std::uint32_t from, std::uint32_t to) {
    std::vector<std::string> all;
    for (; from <= to; ++from) all.push_back(std::to_string(from));
    return all;
  }
};

TEST_F(ReturningCard, takes_its_channel_when_it_has_come_up_to_software) {
  come_back();
  EXPECT_EQ(count("card_receiving"), 1U);
  EXPECT_EQ(count("card_channels"), 0U);
  publish(7);
  one.work();
  host_hears(9, 9);
  publish(8);
  one.work();
  EXPECT_EQ(count("card_channels"), 0U) << "software is ahead";
  publish(9);
  one.work();
  EXPECT_EQ(count("card_channels"), 1U);
  host_hears(10, 12);
  EXPECT_EQ(seen(), numbers(1, 9)) << "the ports are not listened to any more";
  for (std::uint32_t sequence = 10; sequence <= 12; ++sequence) publish(sequence);
  one.work();
  EXPECT_EQ(seen(), numbers(10, 12));
  EXPECT_EQ(count("numbers_delivered"), 12U);
  EXPECT_EQ(count("numbers_expected"), 12U);
  EXPECT_EQ(count("next_sequence"), 13U);
  EXPECT_EQ(count("card_returns"), 1U);
  EXPECT_EQ(count("channel_on_card"), 1U);
  EXPECT_EQ(count("channel_card_packets"), 5U + 3U) << "all but those of software";
  publish_gap(13, 4);
  one.work();
  EXPECT_EQ(count("channel_card_gaps"), 1U);
  EXPECT_EQ(count("channel_card_lost"), 4U);
  break_card();
  EXPECT_EQ(count("channel_on_card"), 0U);
  one.expect_balanced();
}

TEST_F(ReturningCard, takes_its_channel_at_once_with_the_next_number) {
  come_back();
  publish(9);  // before the ports
  one.work();
  host_hears(9, 10);
  publish(10);
  one.work();
  EXPECT_EQ(seen(), numbers(1, 10));
  EXPECT_EQ(count("numbers_lost"), 0U);
  one.expect_balanced();
}

TEST_F(ReturningCard, counts_numbers_without_records_as_passed_once_it_has_overlapped) {
  come_back();
  publish(8);
  publish(11);  // 9 and 10 had no message
  one.work();
  EXPECT_EQ(seen(), [] {
    auto all = numbers(1, 8);
    all.emplace_back("11");
    return all;
  }());
  EXPECT_EQ(count("numbers_delivered"), 11U);
  EXPECT_EQ(count("numbers_lost"), 0U);
}

TEST_F(ReturningCard, waits_for_software_to_come_up_if_it_begins_later) {
  come_back();
  publish(11);
  publish(12);
  one.work();
  EXPECT_EQ(seen(), numbers(1, 8));
  host_hears(9, 9);
  EXPECT_EQ(seen(), numbers(9, 9));
  host_hears(10, 10);
  one.work();
  EXPECT_EQ(seen(), numbers(10, 12)) << "two of them from the card";
  host_hears(12, 12);
  EXPECT_TRUE(seen().empty());
  EXPECT_EQ(count("numbers_lost"), 0U);
  EXPECT_EQ(count("card_channels"), 1U);
  one.expect_balanced();
}

TEST_F(ReturningCard, goes_on_with_a_stated_gap_if_software_does_not_hear_the_line) {
  come_back();
  publish(11);
  one.work();
  one.now += 50'000'000;
  one.work();
  EXPECT_EQ(seen(), numbers(1, 8));
  one.now += 100'000'000;
  one.work();
  EXPECT_EQ(seen(), (std::vector<std::string>{"9+2", "11"}));
  EXPECT_EQ(count("numbers_lost"), 2U);
  EXPECT_EQ(count("numbers_expected"), 11U);
  one.expect_balanced();
}

TEST_F(ReturningCard, takes_over_with_a_gap_only_if_software_does_not_fill_it) {
  come_back();
  publish(4);
  publish_gap(5, 3);  // its own: software has them
  publish_gap(9, 2);  // 8 had no message
  publish(11);
  one.work();
  EXPECT_EQ(seen(), numbers(1, 8)) << "software may have them";
  one.now += 100'000'000;
  one.work();
  EXPECT_EQ(seen(), (std::vector<std::string>{"9+2", "11"}));
  EXPECT_EQ(count("numbers_lost"), 2U);
  one.expect_balanced();
}

TEST_F(ReturningCard, waits_with_a_gap_of_which_software_has_the_beginning) {
  come_back();
  publish(6);
  publish_gap(7, 4);
  publish(11);
  one.work();
  EXPECT_EQ(seen(), numbers(1, 8));
  host_hears(9, 10);
  EXPECT_EQ(seen(), numbers(9, 11));
  EXPECT_EQ(count("numbers_lost"), 0U);
  one.expect_balanced();
}

TEST_F(ReturningCard, takes_nothing_twice_of_a_datagram_with_several_messages) {
  come_back();
  std::vector<std::byte> datagram = tick(9, 90);
  const std::vector<std::byte> more = tick(9, 91);
  datagram.insert(datagram.end(), more.begin() + 5, more.end());
  cases::RecordingSink sink(program);
  (void)engine->decode(datagram, {.arrival_ns = 77, .sequence = 9, .data_offset = 5, .channel = 7}, sink);
  ASSERT_EQ(sink.records().size(), 2U);
  publish(8 - 1);
  one.give(0, datagram);
  one.work();
  hollow.publish(sink.records()[0]);
  one.work();
  EXPECT_EQ(count("card_channels"), 0U) << "its rest is still to come";
  hollow.publish(sink.records()[1]);
  publish(10);
  one.work();
  auto expected = numbers(1, 9);
  expected.insert(expected.end(), {"9", "10"});
  EXPECT_EQ(seen(), expected);
}

TEST_F(ReturningCard, that_flaps_is_left_for_longer_each_time_and_costs_no_record) {
  std::uint32_t sequence = 0;
  std::vector<std::uint64_t> waits;
  for (int round = 0; round < 10; ++round) {
    ++sequence;
    host_hears(sequence, sequence);
    publish(sequence);  // where it may take over
    one.work();
    ++sequence;
    publish(sequence);
    host_hears(sequence, sequence);
    EXPECT_EQ(count("card_channels"), 1U) << round;
    ++sequence;
    host_hears(sequence, sequence);  // the card has no more
    break_card();
    mend();
    std::uint64_t waited = 0;
    while (!tend() && waited < 1'000) {
      ++waited;
      one.now += 1'000'000'000;
      if (waited % 7 == 0) {
        ++sequence;
        host_hears(sequence, sequence);
      }
    }
    waits.push_back(waited);
  }
  EXPECT_THAT(waits, ::testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256, 300));
  EXPECT_EQ(seen(), numbers(1, sequence));
  EXPECT_EQ(count("card_failures"), 10U);
  EXPECT_EQ(count("card_returns"), 10U);
  EXPECT_EQ(count("card_return_tries"), 10U);
  EXPECT_EQ(count("numbers_lost"), 0U);
  EXPECT_EQ(count("numbers_delivered"), sequence);
  one.expect_balanced();
}

TEST_F(ReturningCard, is_looked_at_in_vain_until_it_answers) {
  host_hears(1, 2);
  break_card();
  for (int second = 0; second < 20; ++second) {
    one.now += 1'000'000'000;
    const appliance::Appliance::CardNews news = one.made->tend_card(one.now);
    EXPECT_FALSE(news.is_back);
    EXPECT_EQ(news.text.find("its first register reads") != std::string::npos, second == 1) << "said once";
  }
  EXPECT_EQ(count("card_return_tries"), 4U) << "after 1, 3, 7 and 15 s";
  EXPECT_EQ(count("card_receiving"), 0U);
  host_hears(3, 3);
  EXPECT_EQ(seen(), numbers(1, 3));
  mend();
  one.now += 32'000'000'000;
  EXPECT_TRUE(tend());
  break_card();
}

TEST_F(ReturningCard, does_not_come_back_with_an_image_of_before) {
  host_hears(1, 2);
  break_card();
  mend();
  Diagnostics diagnostics;
  ASSERT_TRUE(one.made->reload("ticks", diagnostics));
  one.work();
  one.made->retire();
  EXPECT_THAT(one.made->tend_card(one.now).text, HasSubstr("it does not come back until a restart"));
  for (int i = 0; i < 100; ++i) {
    one.now += 10'000'000'000;
    EXPECT_EQ(one.made->tend_card(one.now).text, "") << "said once";
  }
  EXPECT_EQ(count("card_return_tries"), 0U);
}

TEST_F(ReturningCard, does_not_come_back_while_an_image_waits_for_its_agent) {
  host_hears(1, 2);
  break_card();
  mend();
  one.now += appliance::CardReturn::kFirstNs;
  (void)tend();
  Diagnostics diagnostics;
  ASSERT_TRUE(one.made->reload("ticks", diagnostics));
  one.now += 10 * appliance::CardReturn::kFirstNs;
  EXPECT_FALSE(tend()) << "the agent has not begun with it";
  one.work();
  one.made->retire();
  one.now += 10 * appliance::CardReturn::kFirstNs;
  EXPECT_FALSE(tend()) << "the card has the image of before";
  EXPECT_EQ(count("card_return_tries"), 0U);
}

TEST_F(ReturningCard, that_dies_at_any_register_of_its_set_up_is_tried_again) {
  host_hears(1, 2);
  publish(1);
  publish(2);
  one.work();
  break_card();
  std::uint32_t sequence = 2;
  std::uint64_t dead = 0;
  for (std::uint64_t reads_left = 0;; reads_left += 1 + reads_left / 8) {
    std::uint64_t left = reads_left;
    hollow.answer = [&left](std::uint32_t, std::uint32_t value) { return left == 0 ? ~0U : (--left, value); };
    one.now += appliance::CardReturn::kMostNs;
    (void)tend();  // is due from now on
    one.now += appliance::CardReturn::kMostNs;
    const bool is_back = tend();
    ++sequence;
    host_hears(sequence, sequence);
    EXPECT_LE(hollow.memory_in_use(), 2) << "after " << reads_left;
    if (!is_back) {
      ++dead;
      continue;
    }
    if (left != 0) break;  // it has lived through it
    one.now += kLooked;
    one.work();
    EXPECT_NE(one.made->take_card_failure(), "");
  }
  mend();
  EXPECT_GT(dead, 10U);
  ++sequence;
  publish(sequence);
  one.work();
  EXPECT_EQ(count("card_channels"), 1U);
  EXPECT_EQ(seen(), numbers(1, sequence));
  EXPECT_EQ(count("numbers_lost"), 0U);
  EXPECT_EQ(hollow.memory_in_use(), 1);
  one.expect_balanced();
}

TEST_F(ReturningCard, keeps_the_memory_of_one_ring_while_it_may_write_to_it) {
  for (int round = 0; round < 50; ++round) {
    hollow.answer = [](std::uint32_t, std::uint32_t) { return ~0U; };
    one.now += kLooked;
    one.work();
    EXPECT_NE(one.made->take_card_failure(), "");
    publish(1);  // off the bus, it writes on
    one.now += appliance::CardReturn::kMostNs;
    EXPECT_FALSE(tend());
    EXPECT_EQ(hollow.memory_in_use(), 1);
    publish(2);
    mend();
    one.now += appliance::CardReturn::kMostNs;
    EXPECT_TRUE(tend());
    EXPECT_EQ(hollow.memory_in_use(), 1) << "it has come to rest since";
  }
}

TEST_F(ReturningCard, loses_nothing_when_its_thread_was_stopped_for_long) {
  come_back();
  publish(11);  // waits for software
  publish(12);
  one.work();
  one.now += 10'000'000'000;
  for (std::uint32_t sequence = 9; sequence <= 300; ++sequence) one.give(0, tick(sequence, sequence * 10));
  for (std::uint32_t sequence = 13; sequence <= 300; ++sequence) publish(sequence);
  one.work();
  publish(301);
  one.work();
  EXPECT_EQ(seen(), numbers(1, 301));
  EXPECT_EQ(count("numbers_lost"), 0U);
  EXPECT_EQ(count("card_channels"), 1U);
  one.expect_balanced();
}

TEST_F(ReturningCard, lets_software_go_on_that_hears_its_line_and_does_not_come_up_to_it) {
  come_back();
  publish(5'000);  // wild
  for (std::uint32_t sequence = 9; sequence <= 40; ++sequence) {
    one.now += 10'000'000;
    host_hears(sequence, sequence);
  }
  EXPECT_EQ(count("card_channels"), 0U);
  publish(41);
  one.work();
  EXPECT_EQ(count("card_channels"), 1U);
  EXPECT_EQ(seen(), numbers(1, 41));
  EXPECT_EQ(count("numbers_lost"), 0U);
  one.expect_balanced();
}

TEST_F(ReturningCard, takes_nothing_from_records_that_it_left_when_it_failed_again) {
  come_back();
  one.now += kLooked;
  one.work();
  one.now += 50'000'000;
  publish(11);
  publish(12);
  one.work();
  hollow.answer = [](std::uint32_t, std::uint32_t) { return ~0U; };
  one.now += 60'000'000;  // a look is due before those have waited long enough
  one.work();
  EXPECT_NE(one.made->take_card_failure(), "");
  host_hears(9, 13);
  EXPECT_EQ(seen(), numbers(1, 13));
  mend();
  EXPECT_FALSE(tend());
  one.now += 10 * appliance::CardReturn::kFirstNs;
  ASSERT_TRUE(tend());
  one.work();  // nothing is left of before
  publish(14);
  one.work();
  EXPECT_EQ(seen(), numbers(14, 14));
  EXPECT_EQ(count("numbers_lost"), 0U);
  one.expect_balanced();
}

TEST_F(ReturningCard, goes_on_within_a_datagram_that_it_had_begun) {
  std::vector<std::byte> datagram = tick(2, 20);
  for (const std::uint32_t number : {21, 22}) {
    const std::vector<std::byte> more = tick(2, number);
    datagram.insert(datagram.end(), more.begin() + 5, more.end());
  }
  cases::RecordingSink sink(program);
  (void)engine->decode(datagram, {.arrival_ns = 77, .sequence = 2, .data_offset = 5, .channel = 7}, sink);
  ASSERT_EQ(sink.records().size(), 3U);
  publish(1);
  hollow.publish(sink.records()[0]);
  hollow.publish(sink.records()[1]);
  one.work();
  break_card();
  mend();
  EXPECT_FALSE(tend());
  one.now += appliance::CardReturn::kFirstNs;
  ASSERT_TRUE(tend());
  for (const cases::Record& record : sink.records()) hollow.publish(record);
  publish(3);
  one.work();
  std::vector<std::uint64_t> values;
  for (const OneChannel::Seen& seen : one.seen()) values.push_back(seen.value);
  EXPECT_EQ(values, (std::vector<std::uint64_t>{10, 20, 21, 22, 30}));
  EXPECT_EQ(count("numbers_delivered"), 3U);
  one.expect_balanced();
}

TEST_F(ReturningCard, does_not_remember_numbers_that_it_brought_before_it_failed_again) {
  come_back();
  publish(5);
  one.work();
  break_card();
  host_hears(9, 9);
  mend();
  EXPECT_FALSE(tend());
  one.now += 10 * appliance::CardReturn::kFirstNs;
  EXPECT_TRUE(tend());
  publish(11);
  one.work();
  EXPECT_EQ(seen(), numbers(1, 9)) << "10 is still to come";
  host_hears(10, 10);
  EXPECT_EQ(seen(), numbers(10, 11));
}

TEST_F(ReturningCard, leaves_a_line_that_begins_anew_to_software) {
  come_back();
  one.now += 60'000'000'000;  // longer than senders are silent
  host_hears(1, 3);
  std::vector<std::string> all;
  for (const OneChannel::Seen& seen : one.seen()) {
    all.push_back(seen.is_event ? "event" : std::to_string(seen.sequence) + "/" + std::to_string(seen.epoch));
  }
  const std::vector<std::string> expected = {"1/0", "2/0", "3/0",   "4/0", "5/0", "6/0",
                                             "7/0", "8/0", "event", "1/1", "2/1", "3/1"};
  EXPECT_EQ(all, expected);
  publish(9);  // of before
  one.work();
  EXPECT_EQ(count("card_channels"), 0U);
  one.now += 100'000'000;
  one.work();
  publish(2);
  publish(3);
  publish(4);
  one.work();
  EXPECT_EQ(count("card_channels"), 1U);
  const auto rest = one.seen();
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].sequence, 4U);
  EXPECT_EQ(rest[0].epoch, 1U);
  EXPECT_EQ(count("numbers_lost"), 0U);
  one.expect_balanced();
}

TEST_F(ReturningCard, is_left_again_if_it_is_deaf) {
  come_back();
  for (std::uint32_t sequence = 9; sequence <= 40; ++sequence) {
    one.now += 50'000'000;
    host_hears(sequence, sequence);
  }
  EXPECT_THAT(one.made->take_card_failure(), HasSubstr("it has decoded nothing"));
  EXPECT_EQ(seen(), numbers(1, 40));
  EXPECT_EQ(count("card_receiving"), 0U);
}

TEST_F(ReturningCard, that_sends_garbage_is_left_again_and_costs_nothing) {
  come_back();
  for (std::uint64_t i = 0; i < appliance::CardFeed::kMostFaults; ++i) publish_fault();
  one.work();
  EXPECT_THAT(one.made->take_card_failure(), HasSubstr("no working card sends"));
  host_hears(9, 10);
  EXPECT_EQ(seen(), numbers(1, 10));
  EXPECT_EQ(count("card_faults"), appliance::CardFeed::kMostFaults);
  one.now += 10 * appliance::CardReturn::kFirstNs;
  (void)tend();
  one.now += 10 * appliance::CardReturn::kFirstNs;
  EXPECT_TRUE(tend());
  publish(11);
  one.work();
  EXPECT_EQ(seen(), numbers(11, 11));
  EXPECT_EQ(count("card_channels"), 1U);
  one.expect_balanced();
}

TEST_F(ReturningCard, does_not_take_its_channel_with_garbage) {
  come_back();
  publish(7);
  cases::Record record = made_of(9);
  record[0].words[0] = (record[0].words[0] & ~std::uint64_t{0xFFFF}) | 77;  // no template of the image
  hollow.publish(record);
  publish_gap(9, 0);
  publish_gap(9, ~std::uint64_t{0});
  record = made_of(1U << 26);
  hollow.publish(record);
  publish_gap(1U << 26, 5);
  one.work();
  EXPECT_EQ(count("card_channels"), 0U);
  EXPECT_EQ(count("card_faults"), 3U);
  one.now += 200'000'000;
  host_hears(9, 10);
  EXPECT_EQ(seen(), numbers(1, 10));
  publish(11);
  one.work();
  EXPECT_EQ(seen(), numbers(11, 11));
  EXPECT_EQ(count("card_channels"), 1U);
  EXPECT_EQ(count("numbers_lost"), 0U);
  one.expect_balanced();
}

/// The image changes while another thread brings the card back.
TEST_F(ReturningCard, is_left_at_once_if_its_image_has_changed_meanwhile) {
  host_hears(1, 2);
  break_card();
  mend();
  EXPECT_FALSE(tend());
  one.now += 10 * appliance::CardReturn::kFirstNs;
  bool is_loaded = false;
  hollow.wrote = [&](std::uint32_t) {
    if (std::exchange(is_loaded, true)) return;
    Diagnostics diagnostics;
    EXPECT_TRUE(one.made->reload("ticks", diagnostics));
    one.work();
  };
  EXPECT_TRUE(tend());
  publish(3);
  one.work();
  EXPECT_THAT(one.made->take_card_failure(), HasSubstr("have changed while it came back"));
  EXPECT_EQ(one.made->take_card_fault(), "");
  host_hears(3, 4);
  EXPECT_EQ(count("card_receiving"), 0U);
  EXPECT_EQ(count("numbers_delivered"), 4U);
  one.now += 10 * appliance::CardReturn::kMostNs;
  EXPECT_FALSE(tend());
}

TEST_F(ReturningCard, does_not_take_late_copies_for_a_line_that_begins_anew) {
  for (std::uint32_t sequence = 1; sequence <= 5; ++sequence) publish(sequence);
  one.work();
  break_card();
  one.now += 1'000;
  for (std::uint32_t sequence = 3; sequence <= 6; ++sequence) one.give(1, tick(sequence, sequence * 10));
  one.work();
  EXPECT_EQ(seen(), numbers(1, 6));
  one.expect_balanced();
}

class OpenedAnew : public ReturningCard {};

TEST_F(OpenedAnew, is_no_card_of_a_confined_process) {
  hollow.answer = [](std::uint32_t, std::uint32_t) { return ~0U; };
  one.now += kLooked;
  one.work();
  (void)one.made->take_card_failure();
  (void)tend();
  one.now += appliance::CardReturn::kFirstNs;
  const appliance::Appliance::CardNews news = one.made->tend_card(one.now);
  EXPECT_FALSE(news.is_back);
  EXPECT_THAT(news.text, HasSubstr("a confined process cannot open it again, so it comes back when it answers, or "
                                   "after a restart"));
  EXPECT_EQ(card->reopened, 0U);
  mend();
  one.now += 10 * appliance::CardReturn::kFirstNs;
  EXPECT_TRUE(tend());
  EXPECT_EQ(card->reopened, 0U) << "it answers";
}

TEST_F(OpenedAnew, is_reset_by_a_confined_process_if_it_can_be) {
  hollow.answer = [](std::uint32_t, std::uint32_t) { return ~0U; };
  one.now += kLooked;
  one.work();
  (void)one.made->take_card_failure();
  (void)tend();
  card->mends = [this] { mend(); };
  card->resets_mend = true;
  one.now += appliance::CardReturn::kFirstNs;
  EXPECT_TRUE(tend());
  EXPECT_EQ(card->resets, 1U);
  EXPECT_EQ(card->reopened, 0U);
  publish(1);
  one.work();
  EXPECT_EQ(seen(), numbers(1, 1));
}

class FreeProcess : public ReturningCard {
 protected:
  FreeProcess() : ReturningCard("", [](appliance::Settings& settings) { settings.confined = false; }) {}
};

TEST_F(FreeProcess, opens_the_card_again) {
  hollow.answer = [](std::uint32_t, std::uint32_t) { return ~0U; };
  one.now += kLooked;
  one.work();
  (void)one.made->take_card_failure();
  (void)tend();
  for (unsigned tries = 1; tries <= 5; ++tries) {
    one.now += appliance::CardReturn::kMostNs;
    EXPECT_FALSE(tend());
    EXPECT_EQ(card->reopened, tries);
    EXPECT_EQ(hollow.memory_in_use(), 1) << "of its ring";
    publish_fault();  // off the bus, it writes on
  }
  card->mends = [this] { mend(); };
  one.now += appliance::CardReturn::kMostNs;
  EXPECT_TRUE(tend());
  EXPECT_EQ(card->reopened, 6U);
  EXPECT_EQ(hollow.memory_in_use(), 1) << "it has come to rest since";
  publish(1);
  one.work();
  EXPECT_EQ(seen(), numbers(1, 1));
}

/// T7, whose datagrams name their sender.
class CardOfSenders : public ReturningCard {
 protected:
  static constexpr std::string_view kTemplates = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Head" id="2">
    <uInt32 name="Sender" id="2"/><byteVector name="Sequence" id="3"/><byteVector name="Time" id="4"/>
  </template>
</templates>
)";
  CardOfSenders()
      : ReturningCard("", [](appliance::Settings& settings) {
          feed::Description& feed = settings.feeds[0].description;
          std::ofstream(feed.images[0].templates[0]) << kTemplates;
          feed.channels[0].framing = net::parse_framing("t7").value();
        }) {}
  static std::vector<std::byte> of(unsigned sender, std::uint8_t sequence) {
    std::vector<std::byte> bytes = {std::byte{0xC0}, std::byte{0x82}, static_cast<std::byte>(0x80 + sender)};
    bytes.insert(bytes.end(), {std::byte{0x84}, {}, {}, {}, static_cast<std::byte>(sequence), std::byte{0x88}});
    bytes.insert(bytes.end(), 8, std::byte{});
    return bytes;
  }
  void card_publishes(unsigned sender, std::uint8_t sequence, std::uint16_t epoch) {
    cases::RecordingSink sink(heads);
    (void)interpreter->decode(of(sender, sequence),
                              {.arrival_ns = 77, .sequence = sequence, .channel = 7, .sender_epoch = epoch}, sink);
    ASSERT_EQ(sink.records().size(), 1U);
    hollow.publish(sink.records()[0]);
    one.work();
  }
  void ports_hear(unsigned sender, std::uint8_t from, std::uint8_t to) {
    for (; from <= to; ++from) one.give(0, of(sender, from));
    one.work();
  }
  std::vector<std::string> seen() {
    std::vector<std::string> all;
    for (const OneChannel::Seen& seen : one.seen()) {
      all.push_back((seen.is_event ? "event " : "") + std::to_string(seen.epoch) + "/" + std::to_string(seen.sequence));
    }
    return all;
  }

  Program heads = bench::compile_text("heads", std::string(kTemplates)).value();
  std::unique_ptr<Engine> interpreter = make_interpreter(heads, {.channels = 8});
};

TEST_F(CardOfSenders, waits_until_software_has_turned_to_its_sender) {
  for (std::uint8_t sequence = 1; sequence <= 3; ++sequence) card_publishes(1, sequence, 0);
  break_card();
  ports_hear(1, 4, 5);
  mend();
  EXPECT_FALSE(tend());
  one.now += appliance::CardReturn::kFirstNs;
  ASSERT_TRUE(tend());
  card_publishes(1, 4, 0);
  card_publishes(2, 6, 1);  // another sender, whose number would be next
  EXPECT_EQ(seen(), (std::vector<std::string>{"0/1", "0/2", "0/3", "0/4", "0/5"}));
  EXPECT_EQ(count("card_channels"), 0U);
  one.now += 500'000'000;
  ports_hear(2, 6, 8);
  one.now += 60'000'000'000;
  hollow.set(reg::kDatagramsDecoded, 1);
  ports_hear(2, 9, 10);
  std::vector<std::string> of_both = seen();
  ASSERT_FALSE(of_both.empty());
  EXPECT_EQ(of_both.back(), "1/10");
  card_publishes(2, 10, 1);
  card_publishes(2, 11, 1);
  EXPECT_EQ(seen(), (std::vector<std::string>{"1/11"}));
  EXPECT_EQ(count("card_channels"), 1U);
  one.expect_balanced();
}

TEST_F(CardOfSenders, waits_for_a_card_that_has_yet_to_turn_to_the_sender_of_software) {
  card_publishes(1, 100, 0);
  break_card();
  ports_hear(1, 101, 105);
  mend();
  EXPECT_FALSE(tend());
  one.now += appliance::CardReturn::kFirstNs;
  ASSERT_TRUE(tend());
  card_publishes(1, 104, 0);
  one.now += 60'000'000'000;
  hollow.set(reg::kDatagramsDecoded, 1);
  ports_hear(2, 50, 60);
  one.now += 1'000'000;
  ports_hear(2, 61, 62);
  std::vector<std::string> of_both = seen();
  ASSERT_FALSE(of_both.empty());
  EXPECT_EQ(of_both.back(), "1/62");
  card_publishes(1, 63, 0);  // of the sender before
  EXPECT_EQ(seen(), std::vector<std::string>());
  EXPECT_EQ(count("card_channels"), 0U);
  card_publishes(2, 62, 1);
  card_publishes(2, 63, 1);
  EXPECT_EQ(seen(), (std::vector<std::string>{"1/63"}));
  EXPECT_EQ(count("card_channels"), 1U);
  one.expect_balanced();
}

TEST(CardReturn, begins_anew_after_a_card_has_worked_for_a_while) {
  using appliance::CardReturn;
  constexpr std::uint64_t kSecond = 1'000'000'000;
  CardReturn looks;
  std::uint64_t now = 100 * kSecond;
  const auto wait = [&] {
    std::uint64_t waited = 0;
    while (!looks.is_due(now)) now += kSecond, ++waited;
    looks.came_back(now);
    return waited;
  };
  EXPECT_EQ(wait(), 1U);
  now += 59 * kSecond;
  EXPECT_EQ(wait(), 2U) << "it has failed within a minute";
  now += 60 * kSecond;
  EXPECT_EQ(wait(), 1U);
  for (int i = 0; i < 4; ++i) (void)wait();
  now += 100 * kSecond;
  EXPECT_EQ(wait(), 32U) << "the longer it was left, the longer it has to work";
  now += 641 * kSecond;
  EXPECT_EQ(wait(), 1U);
}

TEST(CardReturn, is_only_for_channels_whose_numbers_tell_where_software_is) {
  feed::Channel channel;
  channel.name = "one";
  channel.framing = net::parse_framing("cme").value();
  EXPECT_EQ(appliance::why_no_return({&channel, 1}), "");
  feed::Channel other = channel;
  other.role = feed::Role::Carousel;
  EXPECT_THAT(appliance::why_no_return({&other, 1}), HasSubstr("channel 'one': the numbers of a carousel"));
  other = channel;
  other.framing = net::parse_framing("none").value();
  EXPECT_NE(appliance::why_no_return({&other, 1}), "");
  other = channel;
  other.framing.reset = ResetRule::Never;
  EXPECT_THAT(appliance::why_no_return({&other, 1}), HasSubstr("its dictionary outlives a datagram"));
}

}  // namespace
}  // namespace stopbit::test
