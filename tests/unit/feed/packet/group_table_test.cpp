#include "host/feed/packet/group_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace stopbit::net::group_table_test {

/// As of an agent with more feeds than it had room for: adding ends, and so does the search for a stranger.
TEST(GroupTable, takes_more_entries_than_it_was_made_for) {
  constexpr std::uint32_t kGroups = 20'000;
  GroupTable<std::uint32_t> table(3);
  for (std::uint32_t i = 0; i < kGroups; ++i) table.add({0xE000'0000 + i, 1'000}, std::nullopt, i);
  for (std::uint32_t i = 0; i < kGroups; ++i) {
    const std::uint32_t* const found = table.find({0xE000'0000 + i, 1'000}, 7);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(*found, i);
    EXPECT_EQ(table.find({0xE000'0000 + i, 1'001}, 7), nullptr);
  }
}

TEST(GroupTable, prefers_the_first_of_a_group_however_often_it_grew) {
  GroupTable<std::uint32_t> table(1);
  const Endpoint group{0xE000'0001, 1'000};
  table.add(group, 1, 1);
  for (std::uint32_t i = 0; i < 3; ++i) table.add({0xE000'0002 + i, 1'000}, std::nullopt, 100 + i);
  table.add(group, 2, 2);
  table.add(group, std::nullopt, 3);
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    table.add({0xE100'0000 + i, 1'000}, std::nullopt, 1'000 + i);
    ASSERT_EQ(*table.find(group, 1), 1U) << i;
    ASSERT_EQ(*table.find(group, 2), 2U) << i;
    ASSERT_EQ(*table.find(group, 9), 3U) << i;
  }
}

}  // namespace stopbit::net::group_table_test
