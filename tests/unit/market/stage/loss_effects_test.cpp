#include "host/market/stage/loss_effects.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace stopbit::market::loss_effects_test {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kNoon = 1'000'000 * kSecond;

struct Losses {
  std::uint64_t lose(std::uint64_t first, std::uint32_t books, std::uint64_t now_ns = kNoon, std::uint64_t cycle = 0) {
    effects->begin(1, 2, first, now_ns, cycle);
    std::uint64_t id = 0;
    for (std::uint32_t i = 0; i < books; ++i) id = effects->hit();
    effects->end();
    return id;
  }
  std::vector<LossEffect> told(std::uint64_t now_ns, bool is_last = false) {
    std::vector<LossEffect> all;
    for (LossEffect effect; effects->next(effect, now_ns, is_last);) all.push_back(effect);
    return all;
  }
  std::unique_ptr<LossEffects> effects = std::make_unique<LossEffects>();
};

TEST(LossEffects, are_told_once_when_all_books_are_right_again) {
  Losses losses;
  const std::uint64_t id = losses.lose(10, 3);
  losses.effects->note_stale(id);
  EXPECT_TRUE(losses.told(kNoon).empty());
  losses.effects->heal(id, false, 5);
  losses.effects->heal(id, true, 70);
  EXPECT_TRUE(losses.told(kNoon + 1).empty());
  losses.effects->heal(id, false, 6);
  const auto told = losses.told(kNoon + 2);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].channel, 1U);
  EXPECT_EQ(told[0].epoch, 2U);
  EXPECT_EQ(told[0].first, 10U);
  EXPECT_EQ(told[0].books, 3U);
  EXPECT_EQ(told[0].stale, 1U);
  EXPECT_EQ(told[0].by_message, 2U);
  EXPECT_EQ(told[0].by_snapshot, 1U);
  EXPECT_EQ(told[0].open(), 0U);
  EXPECT_EQ(told[0].longest_ns, 70U);
  EXPECT_TRUE(losses.told(kNoon + 1'000 * kSecond, true).empty());
}

TEST(LossEffects, say_which_cycle_of_snapshots_helped_and_what_was_refreshed) {
  Losses losses;
  const std::uint64_t id = losses.lose(10, 3, kNoon, 7);
  losses.effects->note_refreshed(id);
  losses.effects->heal(id, true, 5, 8);
  losses.effects->heal(id, false, 5, 12);  // a message belongs to no cycle
  losses.effects->heal(id, true, 5, 9);
  const std::uint64_t same = losses.lose(20, 1, kNoon, 9);
  losses.effects->heal(same, true, 5, 9);
  const auto told = losses.told(kNoon);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].cycles, 2U);
  EXPECT_EQ(told[0].refreshed, 1U);
  EXPECT_EQ(told[1].cycles, 0U);
  EXPECT_EQ(told[1].refreshed, 0U);
}

TEST(LossEffects, of_books_that_stay_wrong_are_told_ever_more_rarely) {
  Losses losses;
  (void)losses.lose(10, 1);
  std::vector<std::uint64_t> ages;
  for (std::uint64_t s = 0; s <= 2'000; ++s) {
    for (const LossEffect& effect : losses.told(kNoon + s * kSecond)) {
      EXPECT_EQ(effect.open(), 1U);
      ages.push_back(effect.longest_ns / kSecond);
    }
  }
  EXPECT_EQ(ages, (std::vector<std::uint64_t>{1, 10, 100, 1'000}));
  EXPECT_EQ(losses.told(kNoon + 2'001 * kSecond, true).size(), 1U) << "at the end";
  EXPECT_TRUE(losses.told(kNoon + 2'002 * kSecond, true).empty());
}

TEST(LossEffects, are_those_of_losses_that_hit_a_book) {
  Losses losses;
  EXPECT_EQ(losses.lose(10, 0), 0U);
  EXPECT_EQ(losses.effects->hit(), 0U) << "not by a loss of messages";
  losses.effects->heal(0, true, 1);
  losses.effects->note_stale(0);
  EXPECT_TRUE(losses.told(kNoon + kSecond, true).empty());
}

TEST(LossEffects, of_more_losses_than_are_followed_are_those_of_the_newest) {
  Losses losses;
  const std::uint64_t oldest = losses.lose(0, 1);
  for (std::uint64_t i = 1; i <= LossEffects::kFollowed; ++i) (void)losses.lose(i, 1);
  losses.effects->heal(oldest, true, 5);  // the book of a loss that is not followed any more
  const auto told = losses.told(kNoon, true);
  ASSERT_EQ(told.size(), LossEffects::kFollowed);
  for (const LossEffect& effect : told) {
    EXPECT_NE(effect.first, 0U);
    EXPECT_EQ(effect.open(), 1U);
  }
}

TEST(LossEffects, bear_a_clock_that_jumps) {
  Losses losses;
  (void)losses.lose(10, 1, 1);
  EXPECT_EQ(losses.told(~std::uint64_t{0}).size(), 1U);
  EXPECT_TRUE(losses.told(~std::uint64_t{0}).empty());
  EXPECT_EQ(losses.told(0, true).size(), 1U);
}

}  // namespace stopbit::market::loss_effects_test
