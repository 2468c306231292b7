#include "host/appliance/card_feed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/views.hpp"
#include "host/appliance/card_return.hpp"
#include "host/device/record_copy.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/hollow_card.hpp"
#include "tests/lib/one_card.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/lib/workloads/workload.hpp"

// An appliance with a card whose records and registers are the test's: what it does with those that no working card
// has, and how much of its thread a look at the registers takes.

namespace stopbit::test {
namespace {

using appliance::CardFeed;
using ::testing::HasSubstr;
namespace reg = device::registers;

constexpr std::uint64_t kFastTurn = 10'000;
constexpr std::uint64_t kLooked = 200'000'000;
constexpr std::uint64_t kPublished = 2'000'000;

class CardFeedTest : public ::testing::Test {
 protected:
  CardFeedTest()
      : one("mode = \"fast\"\n",
            "engine = \"xrt\"\n[card]\nxclbin = \"x\"\ningress = \"port\"\nclock = \"mac\"\n"
            "[recorder]\nfolder = \"packets\"\nqueue = \"1MiB\"\n",
            {}, appliance::Topology(), [this](const device::CardOptions&) -> Result<std::unique_ptr<device::Card>> {
              return std::unique_ptr<device::Card>(new OneCard(hollow));
            }) {}
  void SetUp() override { ASSERT_TRUE(one.made) << one.problem; }
  void TearDown() override {
    hollow.answer = {};  // what they use ends with the test, the appliance after it
    hollow.wrote = {};
  }

  /// What the card makes of a datagram with a tick.
  cases::Record made_of(std::uint32_t sequence) {
    cases::RecordingSink sink(program);
    (void)engine->decode(
        tick(sequence, sequence * 10),
        {.arrival_ns = 77, .sequence = sequence, .data_offset = 5, .channel = 7, .source = record::SourceLine::LineA},
        sink);
    return sink.records().at(0);
  }
  void publish(std::uint32_t sequence) { hollow.publish(made_of(sequence)); }
  /// A record of no channel of the card.
  void publish_fault() {
    cases::Record record = made_of(1);
    record[0].words[2] ^= std::uint64_t{1} << 40;
    hollow.publish(record);
  }
  void host_hears(std::uint32_t from, std::uint32_t to) {
    for (; from <= to; ++from) one.give(0, tick(from, from * 10));
    one.work();
  }
  std::vector<std::uint32_t> sequences() {
    std::vector<std::uint32_t> all;
    for (const OneChannel::Seen& seen : one.seen()) {
      EXPECT_FALSE(seen.is_event) << static_cast<int>(seen.kind);
      all.push_back(seen.sequence);
    }
    return all;
  }
  std::uint64_t count(const char* family) {
    one.now += kPublished;
    one.work();
    return one.counts().sum(family);
  }

  Program program = bench::compile_text("ticks", std::string(kTickTemplates)).value();
  std::unique_ptr<Engine> engine = make_interpreter(program, {.channels = 8});
  HollowCard hollow;
  OneChannel one;
};

TEST_F(CardFeedTest, says_once_what_no_working_card_sends_and_goes_on) {
  publish(1);
  publish_fault();
  publish(2);
  publish(1);  // back
  publish(3);
  one.work();
  EXPECT_THAT(sequences(), ::testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(one.made->take_card_fault(), "a record of a channel that it does not have");
  EXPECT_EQ(one.made->take_card_fault(), "") << "reported once";
  EXPECT_EQ(count("card_faults"), 2U);
  EXPECT_EQ(count("card_receiving"), 1U);
  EXPECT_EQ(count("numbers_lost"), 0U);
  EXPECT_EQ(one.made->take_card_failure(), "");
  one.expect_balanced();
}

TEST_F(CardFeedTest, leaves_a_card_that_is_wrong_again_and_again) {
  host_hears(1, 3);
  publish(1);
  for (std::uint64_t i = 1; i < CardFeed::kMostFaults; ++i) publish_fault();
  publish(2);
  one.work();
  EXPECT_EQ(one.made->take_card_failure(), "");
  publish(1);
  publish(3);  // nothing of it is believed any more
  one.work();
  EXPECT_THAT(one.made->take_card_failure(),
              HasSubstr("it has sent 16 records and events that no working card sends, the last one a record whose "
                        "sequence number cannot follow the last one; software takes over with 1 datagrams"));
  host_hears(4, 5);
  EXPECT_THAT(sequences(), ::testing::ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(count("card_receiving"), 0U);
  EXPECT_EQ(count("numbers_lost"), 0U);
  one.expect_balanced();
}

TEST_F(CardFeedTest, leaves_a_card_whose_counters_go_back) {
  hollow.set(reg::kDatagrams, 500);
  one.now += kLooked;
  one.work();
  EXPECT_EQ(one.made->take_card_failure(), "");
  hollow.set(reg::kDatagrams, 1);
  one.now += kLooked;
  one.work();
  EXPECT_THAT(one.made->take_card_failure(), HasSubstr("its counters have gone back"));
}

TEST_F(CardFeedTest, does_not_wait_for_a_card_that_writes_for_ever) {
  std::uint32_t sequence = 0;
  cases::Record record = made_of(1);
  const auto write = [&](int records) {
    for (int i = 0; i < records; ++i) {
      record[0].words[2] = device::with_bits(record[0].words[2], 0, 32, ++sequence);
      hollow.publish(record);
    }
  };
  write(20'000);
  bool is_endless = true;
  hollow.wrote = [&](std::uint32_t offset) {  // each time that the host has read a quarter of the ring
    if (offset != reg::ring::base(0) + reg::ring::kCredit + 4 || !is_endless) return;
    write(16'384);
    is_endless = sequence < 2'000'000;  // else the test would not end, either
  };
  hollow.answer = [](std::uint32_t offset, std::uint32_t value) { return offset == reg::kId ? ~0U : value; };
  one.now += kLooked;
  (void)one.agent().do_work();
  EXPECT_THAT(one.made->take_card_failure(), HasSubstr("its first register reads"));
  EXPECT_LT(sequence, 200'000U);
}

TEST_F(CardFeedTest, reads_two_registers_a_turn_unless_its_thread_sleeps) {
  one.now += kLooked;
  (void)one.agent().do_work();  // what was due since the start
  // Each step reads something, but the one for the clock, which is the MAC's.
  std::size_t quiet = 0;
  std::size_t turns = 0;
  for (std::size_t steps = 0; steps + 1 < device::LiveCard::kLookSteps && quiet < 20'000;) {
    one.now += kFastTurn;
    const std::uint64_t before = hollow.reads;
    (void)one.agent().do_work();
    const std::uint64_t reads = hollow.reads - before;
    EXPECT_LE(reads, device::LiveCard::kReadsOfStep);
    if (reads != 0) ++steps;
    if (steps == 0) {
      ++quiet;
    } else {
      ++turns;
    }
  }
  EXPECT_EQ((quiet + 1) * kFastTurn, 100'000'000U) << "a tenth of a second after the last look";
  EXPECT_EQ(turns, device::LiveCard::kLookSteps) << "a step a turn";

  const std::uint64_t before = hollow.reads;
  one.now += kLooked;
  (void)one.agent().do_work();
  EXPECT_EQ(hollow.reads - before, 2 * device::kCounters + 3) << "a thread that sleeps does all at once";
}

/// A card that has failed, and what becomes of it.
class ReturningCard : public CardFeedTest {
 protected:
  void break_card() {
    hollow.answer = [](std::uint32_t offset, std::uint32_t value) { return offset == reg::kId ? ~0U : value; };
    one.now += kLooked;
    one.work();
    EXPECT_THAT(one.made->take_card_failure(), HasSubstr("software takes over"));
  }
  void mend() { hollow.answer = {}; }
  /// Both hear 1 to 5, the card fails, software goes on to 8, and the card is back.
  void come_back() {
    for (std::uint32_t sequence = 1; sequence <= 5; ++sequence) publish(sequence);
    host_hears(1, 5);
    break_card();
    host_hears(6, 8);
    mend();
    EXPECT_EQ(one.made->tend_card(one.now), "") << "not yet";
    one.now += appliance::CardReturn::kFirstNs;
    EXPECT_THAT(one.made->tend_card(one.now), HasSubstr("takes its channels back"));
    EXPECT_EQ(one.made->tend_card(one.now + appliance::CardReturn::kMostNs), "") << "it is back";
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
  EXPECT_EQ(count("card_channels"), 0U) << "it is behind";
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
  one.expect_balanced();
}

TEST_F(ReturningCard, takes_its_channel_at_once_if_it_has_overlapped_and_is_ahead) {
  come_back();
  publish(8 - 1);
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
  host_hears(9, 10);
  EXPECT_EQ(seen(), numbers(9, 10));
  host_hears(11, 11);
  one.work();
  EXPECT_EQ(seen(), numbers(11, 12)) << "the second one from the card";
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

TEST_F(ReturningCard, passes_over_gaps_that_software_does_not_have) {
  come_back();
  publish(4);
  publish_gap(5, 3);  // its own: software has them
  publish(8);
  publish_gap(9, 2);
  publish(11);
  one.work();
  auto expected = numbers(1, 8);
  expected.insert(expected.end(), {"9+2", "11"});
  EXPECT_EQ(seen(), expected);
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
  EXPECT_EQ(seen(), [] {
    auto all = numbers(9, 10);
    all.emplace_back("11");
    return all;
  }());
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
    while (one.made->tend_card(one.now).empty() && waited < 1'000) {
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
    EXPECT_EQ(one.made->tend_card(one.now), "");
  }
  EXPECT_EQ(count("card_return_tries"), 4U) << "after 1, 3, 7 and 15 s";
  EXPECT_EQ(count("card_receiving"), 0U);
  host_hears(3, 3);
  EXPECT_EQ(seen(), numbers(1, 3));
  mend();
  one.now += 32'000'000'000;
  EXPECT_NE(one.made->tend_card(one.now), "");
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
  for (int i = 0; i < 100; ++i) {
    one.now += 10'000'000'000;
    EXPECT_EQ(one.made->tend_card(one.now), "");
  }
  EXPECT_EQ(count("card_return_tries"), 0U);
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
