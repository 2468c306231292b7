#include "host/refill/ranges.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/lib/random.hpp"

namespace stopbit::refill::ranges_test {

TEST(Ranges, that_touch_are_one) {
  Ranges ranges(8);
  for (const Range range : {Range{10, 20}, Range{30, 40}, Range{21, 29}, Range{5, 9}, Range{1, 2}}) {
    EXPECT_TRUE(ranges.add(range));
  }
  EXPECT_EQ(ranges.all(), (std::vector<Range>{{1, 2}, {5, 40}}));
  EXPECT_TRUE(ranges.add({0, ~std::uint64_t{0}}));
  EXPECT_EQ(ranges.all(), (std::vector<Range>{{0, ~std::uint64_t{0}}}));
  EXPECT_TRUE(ranges.remove({0, ~std::uint64_t{0}}));
  EXPECT_TRUE(ranges.empty());
  EXPECT_TRUE(ranges.add({5, 4})) << "no numbers";
  EXPECT_TRUE(ranges.empty());
}

TEST(Ranges, without_room_change_nothing) {
  Ranges ranges(2);
  EXPECT_TRUE(ranges.add({10, 20}));
  EXPECT_TRUE(ranges.add({30, 40}));
  EXPECT_FALSE(ranges.add({50, 60}));
  EXPECT_FALSE(ranges.remove({35, 35}));
  EXPECT_EQ(ranges.all(), (std::vector<Range>{{10, 20}, {30, 40}}));
  EXPECT_TRUE(ranges.remove({15, 35}));
  EXPECT_EQ(ranges.all(), (std::vector<Range>{{10, 14}, {36, 40}}));
}

TEST(Ranges, are_a_set_of_numbers) {
  cases::Random random(7);
  for (int round = 0; round < 300; ++round) {
    Ranges ranges(1 + random.below(5));
    std::set<std::uint64_t> numbers;
    for (int step = 0; step < 40; ++step) {
      const std::uint64_t first = random.below(40);
      const Range range{first, first + random.below(10)};
      const bool adds = random.chance(60);
      if (adds ? ranges.add(range) : ranges.remove(range)) {
        for (std::uint64_t n = range.first; n <= range.last; ++n)
          adds ? (void)numbers.insert(n) : (void)numbers.erase(n);
      }
      for (std::uint64_t n = 0; n < 60; ++n) ASSERT_EQ(ranges.contains(n), numbers.contains(n)) << n;
      for (std::size_t i = 1; i < ranges.size(); ++i) ASSERT_GT(ranges.all()[i].first, ranges.all()[i - 1].last + 1);
    }
  }
}

}  // namespace stopbit::refill::ranges_test
