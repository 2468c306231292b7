#include "decoder/wire/presence_map.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace stopbit::wire {
namespace {

using Bytes = std::vector<std::uint8_t>;

PresenceMap load(const Bytes& bytes) {
  Cursor in{std::as_bytes(std::span(bytes))};
  PresenceMap map;
  EXPECT_TRUE(map.load(in));
  EXPECT_EQ(in.offset(), bytes.size());
  return map;
}

TEST(PresenceMap, gives_its_bits_from_the_left_and_zeros_behind_the_end) {
  PresenceMap map = load({0xc1});
  EXPECT_TRUE(map.take());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(map.take());
  EXPECT_TRUE(map.take());
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(map.take());
}

TEST(PresenceMap, has_no_fixed_length) {
  // 200 bytes, 1,400 bits, every third set.
  Bytes bytes(200, 0);
  for (std::size_t bit = 0; bit < bytes.size() * 7; bit += 3) bytes[bit / 7] |= static_cast<std::uint8_t>(0x40U >> bit % 7);
  bytes.back() |= kStop;
  PresenceMap map = load(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 7; ++bit) EXPECT_EQ(map.take(), bit % 3 == 0) << bit;
  EXPECT_FALSE(map.take());
}

TEST(PresenceMap, knows_whether_it_is_overlong) {
  EXPECT_FALSE(load({0x80}).overlong());
  EXPECT_TRUE(load({0x40, 0x80}).overlong());
  EXPECT_TRUE(load({0x00, 0x80}).overlong());
  EXPECT_FALSE(load({0x00, 0x81}).overlong());
}

TEST(PresenceMap, knows_whether_bits_are_left_that_nobody_took) {
  PresenceMap map = load({0xe0});
  EXPECT_TRUE(map.has_unused_bits());
  EXPECT_TRUE(map.take() && map.take());
  EXPECT_TRUE(map.has_unused_bits());
  EXPECT_TRUE(map.take());
  EXPECT_FALSE(map.has_unused_bits());
  Bytes far(20, 0);
  far.back() = 0x81;
  PresenceMap long_map = load(far);
  EXPECT_FALSE(long_map.take());
  EXPECT_TRUE(long_map.has_unused_bits());
}

TEST(PresenceMap, an_incomplete_map_is_not_taken) {
  const Bytes bytes{0x40, 0x00};
  Cursor in{std::as_bytes(std::span(bytes))};
  PresenceMap map;
  EXPECT_FALSE(map.load(in));
  EXPECT_EQ(in.offset(), 0U);
}

}  // namespace
}  // namespace stopbit::wire
