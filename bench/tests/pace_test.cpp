// Choice of the measurements that count, given the probes. Nothing here depends on the machine's speed.

#include "bench/lib/pace.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "bench/lib/ticks.hpp"

namespace stopbit::bench {
namespace {

/// No probe of a real machine is quicker, so the best pace stays what it is.
constexpr double kBest = 1e-3;
constexpr double kCalm = 1.05 * kBest;
constexpr double kShared = 1.5 * kBest;

class PaceTest : public testing::Test {
 protected:
  const TickClock clock_;
  Pace pace_{clock_, kBest};
};

TEST_F(PaceTest, the_best_of_earlier_programs_is_the_yardstick) {
  EXPECT_EQ(pace_.best_ns(), kBest);
  EXPECT_TRUE(pace_.is_undisturbed(kCalm));
  EXPECT_FALSE(pace_.is_undisturbed(kShared));
}

TEST_F(PaceTest, a_probe_takes_time_and_is_counted) {
  EXPECT_GT(pace_.probe(), 0);
  EXPECT_EQ(pace_.probes().count(), 1U);
}

TEST(Pace, finds_its_own_best_if_none_is_known) {
  const TickClock clock;
  const Pace pace(clock);
  EXPECT_GT(pace.probes().count(), 10U);
  EXPECT_GE(pace.best_ns(), clock.ns(static_cast<double>(pace.probes().min())));
  EXPECT_LE(pace.best_ns(), clock.ns(static_cast<double>(pace.probes().max())));
}

TEST(PaceOf, is_the_slowest_of_few_probes) {
  PaceOf pace;
  for (const double ns : {3.0, 9.0, 1.0}) pace.add(ns);
  EXPECT_EQ(pace.slowest_ns(), 9);
}

TEST(PaceOf, forgives_one_probe_in_sixteen) {
  PaceOf pace;
  for (int i = 0; i < 31; ++i) pace.add(1);
  pace.add(9);
  EXPECT_EQ(pace.slowest_ns(), 1);
  for (int i = 0; i < 2; ++i) pace.add(9);
  EXPECT_EQ(pace.slowest_ns(), 9);
}

TEST_F(PaceTest, repetitions_are_left_out_by_their_probes_whatever_their_values) {
  Repetitions repetitions(4);
  repetitions.add(1, kShared);  // the quickest of all, and out
  for (const double value : {7.0, 50.0, 8.0, 9.0}) repetitions.add(value, kCalm);
  const Repetitions::Chosen chosen = repetitions.choose(pace_);
  EXPECT_EQ(chosen.values, (std::vector<double>{7, 50, 8, 9}));
  EXPECT_EQ(chosen.left_out, 1U);
  EXPECT_EQ(chosen.pace_ns, kCalm);
  EXPECT_FALSE(chosen.is_disturbed);
}

TEST_F(PaceTest, too_few_undisturbed_ones_leave_nothing_out_and_say_so) {
  Repetitions repetitions(4);
  repetitions.add(5, kCalm);
  for (const double value : {6.0, 7.0, 8.0}) repetitions.add(value, kShared);
  const Repetitions::Chosen chosen = repetitions.choose(pace_);
  EXPECT_EQ(chosen.values, (std::vector<double>{5, 6, 7, 8}));
  EXPECT_EQ(chosen.left_out, 0U);
  EXPECT_EQ(chosen.pace_ns, kShared);
  EXPECT_TRUE(chosen.is_disturbed);
}

TEST_F(PaceTest, repetitions_go_on_until_enough_are_undisturbed) {
  Repetitions repetitions(2);
  repetitions.add(1, kCalm);
  repetitions.add(1, kShared);
  EXPECT_FALSE(repetitions.is_done(pace_));
  repetitions.add(1, kCalm);
  EXPECT_TRUE(repetitions.is_done(pace_));
}

TEST_F(PaceTest, repetitions_end_however_disturbed_they_are) {
  Repetitions repetitions(2);
  int count = 0;
  for (; !repetitions.is_done(pace_) && count < 1'000; ++count) repetitions.add(1, kShared);
  EXPECT_EQ(count, 10);
}

TEST_F(PaceTest, a_stretch_counts_as_undisturbed_if_both_its_probes_are) {
  PacedBurst burst(8);
  burst.begin(kCalm);
  burst.record(10);
  burst.end_stretch(kCalm, pace_);
  burst.record(20);
  burst.end_stretch(kShared, pace_);
  burst.record(30);
  burst.end_stretch(kCalm, pace_);
  burst.record(40);
  burst.end_stretch(kCalm, pace_);
  EXPECT_EQ(burst.all().count(), 4U);
  EXPECT_EQ(burst.undisturbed().count(), 2U);
  EXPECT_EQ(burst.undisturbed().min(), 10U);
  EXPECT_EQ(burst.undisturbed().max(), 40U);
  EXPECT_TRUE(burst.is_undisturbed());
  EXPECT_EQ(burst.pace_ns(false), kCalm);
  EXPECT_EQ(burst.pace_ns(true), (kCalm + kShared) / 2);  // two of four
}

TEST_F(PaceTest, a_burst_with_hardly_an_undisturbed_stretch_is_disturbed) {
  PacedBurst burst(32);
  burst.begin(kCalm);
  burst.record(1);
  burst.end_stretch(kCalm, pace_);
  for (int i = 0; i < 10; ++i) burst.record(2);
  burst.end_stretch(kShared, pace_);
  EXPECT_FALSE(burst.is_undisturbed());
}

}  // namespace
}  // namespace stopbit::bench
