// Pages that are revoked while transfers are under way: every state over the translation unit that runs.

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/nic/models/flush_model.hpp"

namespace stopbit::nic::flush_model_test {

using flush_model::explore;
using flush_model::Fault;
using flush_model::Findings;
using flush_model::Scenario;
using flush_model::wander;

void expect_sound(const char* name, const Scenario& scenario) {
  const Findings result = explore(scenario);
  EXPECT_EQ(result.failure, "") << name;
  EXPECT_GT(result.work, 0U) << name;
  std::printf("%s: %llu states\n", name, static_cast<unsigned long long>(result.states));
}

TEST(FlushModel, lets_no_unit_touch_a_page_after_its_owner_was_told_that_it_is_free) {
  expect_sound("1 page, 2 registrations, 3 transfers of 3 units", {1, 1, 1, 3, 2, 3});
  expect_sound("1 page, 3 registrations, 2 transfers of 2 units", {1, 2, 1, 2, 3, 2});
  expect_sound("2 pages, 3 registrations, 2 transfers of 1 unit", {2, 2, 1, 1, 3, 2});
}

TEST(FlushModel, keeps_its_promises_in_random_steps) {
  const Findings result = wander(1, 300'000);
  EXPECT_EQ(result.failure, "");
  EXPECT_GT(result.work, 1'000U);
}

TEST(FlushModel, finds_what_is_broken) {
  for (const Fault fault : {Fault::NobodyWaits, Fault::TwoSuffice, Fault::AcknowledgesTooSoon,
                            Fault::AcknowledgesTheNewest, Fault::CacheKeeps}) {
    EXPECT_NE(explore({2, 2, 1, 3, 3, 2}, fault).failure, "") << static_cast<int>(fault);
    EXPECT_NE(wander(2, 300'000, fault).failure, "") << static_cast<int>(fault);
  }
}

}  // namespace stopbit::nic::flush_model_test
