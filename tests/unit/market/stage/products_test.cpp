#include "host/market/stage/products.hpp"

#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>

namespace stopbit::market::products_test {

TEST(Products, have_the_instruments_that_were_put_last_into_each) {
  constexpr std::uint32_t kRows = 40;
  constexpr std::uint32_t kProducts = 5;
  Products products(kProducts, kRows, 7);
  for (std::uint64_t name = 1; name <= kProducts; ++name) ASSERT_EQ(products.find_or_add({name}), name);
  EXPECT_EQ(products.find_or_add({99}), 0U) << "no room";
  std::map<std::uint32_t, std::set<std::uint32_t>> wanted;
  std::mt19937 random(1);
  for (int i = 0; i < 5'000; ++i) {
    const std::uint32_t row = 1 + static_cast<std::uint32_t>(random() % kRows);
    const std::uint32_t product = 1 + static_cast<std::uint32_t>(random() % kProducts);
    wanted[products.of(row)].erase(row);
    wanted[product].insert(row);
    products.put(row, product);
    for (std::uint32_t one = 1; one <= kProducts; ++one) {
      std::set<std::uint32_t> seen;
      products.for_each(one, [&](std::uint32_t its) { EXPECT_TRUE(seen.insert(its).second); });
      ASSERT_EQ(seen, wanted[one]) << i;
    }
  }
}

/// The row that was put first is the last of its product: a search for it would cost a thousand times as much.
TEST(Products, move_an_instrument_at_a_cost_that_does_not_depend_on_the_others) {
  constexpr std::uint32_t kRows = 1U << 15;
  constexpr std::uint32_t kMoved = 1'000;
  const auto cpu_ns = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
  };
  const auto cost = [&](bool is_newest_first) {
    std::uint64_t best = ~std::uint64_t{0};
    for (int round = 0; round < 5; ++round) {
      Products products(2, kRows, 7);
      (void)products.find_or_add({1});
      (void)products.find_or_add({2});
      for (std::uint32_t row = 1; row <= kRows; ++row) products.put(row, 1);
      const std::uint64_t begin = cpu_ns();
      for (std::uint32_t i = 0; i < kMoved; ++i) products.put(is_newest_first ? kRows - i : 1 + i, 2);
      best = std::min(best, cpu_ns() - begin);
    }
    return best;
  };
  EXPECT_LT(cost(false), 50 * cost(true) + 1'000'000);
}

}  // namespace stopbit::market::products_test
