#include "decoder/wire/presence_map.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace stopbit::wire::presence_map_test {

using Bytes = std::vector<std::uint8_t>;

/// A loaded map and the bytes it points into.
struct Loaded {
  explicit Loaded(Bytes from) : bytes(std::move(from)) {
    Cursor in{std::as_bytes(std::span(bytes))};
    EXPECT_TRUE(map.load(in));
    EXPECT_EQ(in.offset(), bytes.size());
  }
  Bytes bytes;
  PresenceMap map;
};

TEST(PresenceMap, gives_its_bits_from_the_left_and_zeros_behind_the_end) {
  Loaded loaded({0xc1});
  PresenceMap& map = loaded.map;
  EXPECT_TRUE(map.take());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(map.take());
  EXPECT_TRUE(map.take());
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(map.take());
}

TEST(PresenceMap, has_no_fixed_length) {
  // 200 bytes, 1,400 bits, every third set.
  Bytes bytes(200, 0);
  for (std::size_t bit = 0; bit < bytes.size() * 7; bit += 3)
    bytes[bit / 7] |= static_cast<std::uint8_t>(0x40U >> bit % 7);
  bytes.back() |= kStop;
  Loaded loaded(bytes);
  PresenceMap& map = loaded.map;
  for (std::size_t bit = 0; bit < bytes.size() * 7; ++bit) EXPECT_EQ(map.take(), bit % 3 == 0) << bit;
  EXPECT_FALSE(map.take());
}

TEST(PresenceMap, knows_whether_it_is_overlong) {
  EXPECT_FALSE(Loaded({0x80}).map.overlong());
  EXPECT_TRUE(Loaded({0x40, 0x80}).map.overlong());
  EXPECT_TRUE(Loaded({0x00, 0x80}).map.overlong());
  EXPECT_FALSE(Loaded({0x00, 0x81}).map.overlong());
}

TEST(PresenceMap, knows_whether_bits_are_left_that_nobody_took) {
  Loaded loaded({0xf0});
  PresenceMap& map = loaded.map;
  EXPECT_TRUE(map.has_unused_bits());
  EXPECT_TRUE(map.take() && map.take());
  EXPECT_TRUE(map.has_unused_bits());
  EXPECT_TRUE(map.take());
  EXPECT_FALSE(map.has_unused_bits());
  Bytes far(20, 0);
  far.back() = 0x81;
  Loaded long_loaded(far);
  PresenceMap& long_map = long_loaded.map;
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

}  // namespace stopbit::wire::presence_map_test
