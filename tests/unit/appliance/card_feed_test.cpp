#include "host/appliance/card_feed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "decoder/record/views.hpp"
#include "host/device/record_copy.hpp"
#include "tests/unit/appliance/card_fixture.hpp"

// An appliance with a card whose records and registers are the test's: what it does with those that no working card
// has, and how much of its thread a look at the registers takes.

namespace stopbit::test {
namespace {

using appliance::CardFeed;
using ::testing::HasSubstr;
namespace reg = device::registers;

constexpr std::uint64_t kFastTurn = 10'000;

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

}  // namespace
}  // namespace stopbit::test
