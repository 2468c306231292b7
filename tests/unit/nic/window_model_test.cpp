// Every state of two small windows between two nodes, over the code that runs (link/links.cpp).

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/nic/models/window_model.hpp"

namespace stopbit::nic::window_model_test {

using window_model::explore;
using window_model::Fault;
using window_model::Findings;
using window_model::Scenario;
using window_model::wander;

constexpr std::uint32_t kSize = 4;

void expect_sound(const char* name, const Scenario& scenario) {
  const Findings result = explore<kSize>(scenario);
  EXPECT_EQ(result.failure, "") << name;
  std::printf("%s: %llu states\n", name, static_cast<unsigned long long>(result.states));
}

TEST(WindowModel, delivers_each_packet_once_and_in_order) {
  expect_sound("4 packets, 2 frames under way", {{4, 0}, {2, 1}});
  expect_sound("2 and 2 packets, 1 frame under way each way", {{2, 2}, {1, 1}});
}
TEST(WindowModel, keeps_what_a_receiver_does_not_take) {
  Scenario scenario{{4, 0}, {1, 1}};
  scenario.blocks = true;
  expect_sound("4 packets, 1 frame under way, blocked at times", scenario);
}
TEST(WindowModel, agrees_about_a_session) {
  Scenario scenario{{1, 1}, {1, 1}};
  scenario.in_session = false;
  expect_sound("1 packet each, nobody knows the other", scenario);
}
TEST(WindowModel, begins_anew_when_a_node_does) {
  Scenario scenario{{2, 0}, {1, 1}};
  scenario.restarts = 1;
  expect_sound("2 packets, one restart", scenario);
}
TEST(WindowModel, begins_anew_when_a_node_gives_up) {
  Scenario scenario{{2, 0}, {1, 1}};
  scenario.silences = 1;
  expect_sound("2 packets, somebody gives up", scenario);
}

TEST(WindowModel, keeps_its_promises_in_random_runs) {
  const Findings small = wander<kSize>(1, 100'000);
  EXPECT_EQ(small.failure, "");
  EXPECT_GT(small.work, 10'000U);
  const Findings whole = wander<Links::kWindow>(2, 100'000);
  EXPECT_EQ(whole.failure, "");
  EXPECT_GT(whole.work, 10'000U);
}

// The faults that the model must find.

struct Broken {
  Fault fault;
  const char* failure;
};

TEST(WindowModel, finds_what_is_broken_in_a_window) {
  Scenario blocked{{6, 0}, {2, 1}};
  blocked.blocks = true;
  for (const auto& [fault, failure] : {Broken{Fault::AcknowledgesTooMuch, "a frame is refused"},
                                       {Fault::AcknowledgesTooLittle, "it goes on for ever, or not at all"},
                                       {Fault::ShiftsBitMap, "acknowledged, but not here"},
                                       {Fault::ShiftsBitMapBack, "acknowledged, but not here"},
                                       {Fault::NoWindow, "more under way than the window has room for"},
                                       {Fault::TakesTwice, "early data come twice"},
                                       {Fault::DropsDoubles, "it goes on for ever, or not at all"},
                                       {Fault::NoticeTooSoon, "notice before the data"}}) {
    EXPECT_EQ(explore<kSize>(blocked, fault).failure, failure) << static_cast<int>(fault);
    EXPECT_NE(wander<Links::kWindow>(3, 100'000, fault).failure, "") << static_cast<int>(fault);
  }
}

TEST(WindowModel, finds_that_the_numbers_of_sessions_are_not_compared) {
  Scenario scenario{{3, 0}, {2, 1}};
  scenario.restarts = 1;
  EXPECT_NE(explore<kSize>(scenario, Fault::AnySession).failure, "");
  EXPECT_NE(wander<Links::kWindow>(4, 100'000, Fault::AnySession).failure, "");
}

}  // namespace stopbit::nic::window_model_test
