// Every state of a channel of few slots, over the code that runs (channel/ends.hpp).

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/nic/models/channel_model.hpp"

namespace stopbit::nic::channel_model_test {

using channel_model::explore;
using channel_model::Fault;
using channel_model::Findings;
using channel_model::Scenario;
using channel_model::wander;

template <std::uint32_t kReplenish>
void expect_sound(const Scenario& scenario) {
  const Findings result = explore<kReplenish>(scenario);
  EXPECT_EQ(result.failure, "") << kReplenish << " of " << scenario.slots;
  std::printf("credits for %u at once, %u slots, %u messages, %zu commands wait: %llu states\n", kReplenish,
              scenario.slots, scenario.messages, scenario.commands, static_cast<unsigned long long>(result.states));
}

TEST(ChannelModel, loses_and_doubles_no_credit_and_no_message) {
  expect_sound<1>({2, 6, 1});
  expect_sound<1>({3, 6, 2});
  expect_sound<2>({3, 7, 2});
  expect_sound<2>({4, 7, 1});
  expect_sound<3>({4, 8, 2});
  expect_sound<2>({6, 12, 3});
  expect_sound<4>({7, 14, 4});
}

TEST(ChannelModel, keeps_its_promises_in_random_runs) {
  const Findings result = wander(1, 300'000);
  EXPECT_EQ(result.failure, "");
  EXPECT_GT(result.work, 10'000U);
}

// The faults that the model must find.

TEST(ChannelModel, needs_a_slot_more_than_credits_that_come_at_once) {
  EXPECT_EQ(explore<2>({2, 4, 2}).failure, "somebody waits for ever");
  EXPECT_EQ(explore<3>({3, 4, 2}).failure, "somebody waits for ever");
}

TEST(ChannelModel, finds_lost_and_doubled_credits_and_messages) {
  for (const Fault fault : {Fault::LosesCredit, Fault::DoublesCredit, Fault::EventBeforeData, Fault::LosesCommand}) {
    EXPECT_NE(explore<2>({4, 7, 2}, fault).failure, "") << static_cast<int>(fault);
    EXPECT_NE(wander(2, 100'000, fault).failure, "") << static_cast<int>(fault);
  }
}

}  // namespace stopbit::nic::channel_model_test
