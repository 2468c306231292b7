#include "bench/lib/histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/lib/random.hpp"

namespace stopbit::bench {
namespace {

/// By definition: the least value that at least this share of the values does not exceed.
std::uint64_t exact(std::vector<std::uint64_t> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

TEST(Histogram, is_exact_for_small_values) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 1000; ++value) histogram.record(value);
  EXPECT_EQ(histogram.count(), 1000U);
  EXPECT_EQ(histogram.percentile(0), 1U);
  EXPECT_EQ(histogram.percentile(0.5), 500U);
  EXPECT_EQ(histogram.percentile(0.999), 999U);
  EXPECT_EQ(histogram.percentile(1), 1000U);
}

TEST(Histogram, is_never_more_than_a_thousandth_off) {
  cases::Random random(7);
  std::vector<std::uint64_t> values;
  Histogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(random.bits() >> random.below(64));
    histogram.record(values.back());
  }
  for (const double share : {0.0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
    const std::uint64_t right = exact(values, share);
    const std::uint64_t found = histogram.percentile(share);
    EXPECT_GE(found, right) << share;
    EXPECT_LE(found - right, right / 1000) << share;
  }
}

TEST(Histogram, takes_the_least_and_the_greatest_value_there_is) {
  Histogram histogram;
  histogram.record(0);
  histogram.record(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(histogram.min(), 0U);
  EXPECT_EQ(histogram.max(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(histogram.percentile(0.5), 0U);
  EXPECT_EQ(histogram.percentile(1), std::numeric_limits<std::uint64_t>::max());
}

TEST(Histogram, keeps_values_apart_at_every_power_of_two) {
  for (unsigned bit = 1; bit < 63; ++bit) {
    Histogram histogram;
    const std::uint64_t value = std::uint64_t{1} << bit;
    histogram.record(value - 1);
    histogram.record(value);
    histogram.record(value * 2);
    EXPECT_EQ(histogram.percentile(0.3), value - 1) << bit;
    EXPECT_GE(histogram.percentile(0.6), value) << bit;
    EXPECT_LE(histogram.percentile(0.6), value + value / 1000) << bit;
  }
}

TEST(Histogram, adds_another_as_if_all_had_been_recorded_in_one) {
  cases::Random random(8);
  Histogram one;
  Histogram two;
  Histogram all;
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t value = random.below(1'000'000);
    (i % 3 == 0 ? one : two).record(value);
    all.record(value);
  }
  one.add(two);
  EXPECT_EQ(one.count(), all.count());
  EXPECT_EQ(one.min(), all.min());
  EXPECT_EQ(one.max(), all.max());
  for (const double share : {0.1, 0.5, 0.9, 0.99}) EXPECT_EQ(one.percentile(share), all.percentile(share));
}

TEST(Histogram, is_empty_again_when_cleared) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile(0.5), 0U);
  EXPECT_EQ(histogram.min(), 0U);
  EXPECT_TRUE(histogram.points().empty());
  histogram.record(5);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.max(), 0U);
  histogram.record(9);
  EXPECT_EQ(histogram.min(), 9U);
}

TEST(Histogram, plots_up_to_the_last_value) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 10'000; ++value) histogram.record(value);
  const auto points = histogram.points();
  ASSERT_GT(points.size(), 50U);
  EXPECT_EQ(points.back().share, 1);
  EXPECT_EQ(points.back().value, 10'000U);
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end(),
                             [](const auto& a, const auto& b) { return a.share < b.share && a.value <= b.value; }));
  EXPECT_GT(points[points.size() - 2].share, 0.9998);
}

}  // namespace
}  // namespace stopbit::bench
