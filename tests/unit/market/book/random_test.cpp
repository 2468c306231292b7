// Random entries for all kinds of books at once, beside a reference of std containers that gets the same.

#include <gtest/gtest.h>

#include <string>

#include "tests/lib/form.hpp"
#include "tests/unit/market/book/comparison.hpp"

namespace stopbit::market::random_test {

using testing::Comparison;
using testing::kEnough;
using testing::kRows;
using testing::Tally;

TEST(RandomBooks, are_those_of_a_naive_reference) {
  Comparison comparison(kEnough, std::uint64_t{20'261'124}, 3);
  const auto events = by_form<std::uint64_t>(1'000'000, 100'000'000);
  for (std::uint64_t i = 0; i < events; ++i) {
    ASSERT_EQ(comparison.step(i % 64 == 0), "");
  }
  const Tally& tally = comparison.tally();
  for (std::size_t i = 0; i < kFaults; ++i) {
    std::printf("%s: %llu\n", std::string(name_of(static_cast<Fault>(i))).c_str(),
                static_cast<unsigned long long>(tally.faults[i]));
    if (static_cast<Fault>(i) == Fault::Crossed) continue;  // of whole events, which these streams do not have
    EXPECT_GT(tally.faults[i], 0U) << "fault " << i << " never happened";
  }
  EXPECT_GT(tally.best_changes, events / 20);
  EXPECT_GT(tally.quiet, events / 20);
  EXPECT_GT(tally.whole, events / 10);
  EXPECT_GT(tally.partial, events / 10);
  std::printf("best changes %llu, whole sides %llu, partial sides %llu\n",
              static_cast<unsigned long long>(tally.best_changes), static_cast<unsigned long long>(tally.whole),
              static_cast<unsigned long long>(tally.partial));
}

TEST(RandomBooks, survive_any_entries) {
  for (std::uint64_t seed = 1; seed <= by_form<std::uint64_t>(4, 100); ++seed) {
    Comparison comparison(kEnough, seed, 500);
    for (int i = 0; i < 50'000; ++i) ASSERT_EQ(comparison.step(i % 64 == 0), "") << "seed " << seed;
  }
}

TEST(RandomBooks, without_room_lose_what_does_not_fit_and_nothing_else) {
  for (std::uint64_t seed = 1; seed <= by_form<std::uint64_t>(8, 200); ++seed) {
    cases::Random random(seed);
    const auto some = [&](std::uint64_t most) { return static_cast<std::uint32_t>(random.below(most)); };
    Comparison comparison({.instruments = kRows,
                           .implied = kRows,
                           .rows = some(300),
                           .orders = some(300),
                           .levels = some(300),
                           .listed = some(300),
                           .ladders = some(3),
                           .placed = some(100),
                           .positions = some(300)},
                          seed, 3);
    for (int i = 0; i < 30'000; ++i) ASSERT_EQ(comparison.step(i % 16 == 0), "") << "seed " << seed;
    EXPECT_GT(comparison.tally().faults[static_cast<std::size_t>(Fault::Room)], 0U);
  }
}

}  // namespace stopbit::market::random_test
