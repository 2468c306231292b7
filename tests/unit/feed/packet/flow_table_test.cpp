#include "host/feed/packet/flow_table.hpp"

#include <gtest/gtest.h>

namespace stopbit::net::flow_table_test {

TEST(FlowTable, numbers_groups_in_the_order_they_appear) {
  FlowTable table(4);
  EXPECT_EQ(table.channel({1, 100}), 0);
  EXPECT_EQ(table.channel({1, 101}), 1);
  EXPECT_EQ(table.channel({2, 100}), 2);
  EXPECT_EQ(table.channel({1, 101}), 1);
  EXPECT_EQ(table.find({2, 100}), 2);
  EXPECT_EQ(table.find({2, 101}), std::nullopt);
  ASSERT_EQ(table.groups().size(), 3U) << "a search adds nothing";
  EXPECT_EQ(table.groups()[2], (Endpoint{2, 100}));
}

TEST(FlowTable, refuses_groups_beyond_its_size_and_keeps_the_others) {
  constexpr std::uint16_t kSize = 100;
  FlowTable table(kSize);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const auto channel = table.channel({i * 65'536, 5000});
    EXPECT_EQ(channel.has_value(), i < kSize);
  }
  for (std::uint16_t i = 0; i < kSize; ++i) EXPECT_EQ(table.channel({i * 65'536U, 5000}), i);
  EXPECT_EQ(table.groups().size(), kSize);
}

TEST(GroupFilter, accepts_all_groups_when_none_is_asked_for) {
  EXPECT_TRUE(GroupFilter({}).accepts({1, 2}));
  const GroupFilter filter({{1, 2}, {3, 4}});
  EXPECT_TRUE(filter.accepts({3, 4}));
  EXPECT_FALSE(filter.accepts({3, 2}));
}

TEST(GroupFilter, does_not_rule_out_what_it_cannot_know) {
  const GroupFilter filter({{1, 2}, {3, 4}});
  EXPECT_TRUE(filter.may_accept({0, 0}));
  EXPECT_TRUE(filter.may_accept({3, 0}));
  EXPECT_FALSE(filter.may_accept({5, 0}));
  EXPECT_FALSE(filter.may_accept({3, 2}));
  EXPECT_TRUE(GroupFilter({}).may_accept({5, 6}));
}

}  // namespace stopbit::net::flow_table_test
