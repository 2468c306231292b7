#include "decoder/wire/stop_bit.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace stopbit::wire::stop_bit_test {

using Bytes = std::vector<std::uint8_t>;

Cursor cursor(const Bytes& bytes) {
  return Cursor(std::as_bytes(std::span(bytes)));
}

/// The value, if the entity is complete; checks that exactly the entity was taken.
template <bool Signed>
std::optional<Integer> read(const Bytes& bytes) {
  Cursor in = cursor(bytes);
  Integer out;
  if (!read_long<Signed>(in, out)) {
    EXPECT_EQ(in.offset(), 0U) << "an incomplete entity must not be taken";
    return std::nullopt;
  }
  EXPECT_EQ(in.offset(), bytes.size());
  return out;
}

TEST(StopBit, reads_the_examples_of_the_specification) {
  EXPECT_EQ(read<true>({0x39, 0x45, 0xa3})->value, 942755);
  EXPECT_EQ(read<true>({0x7c, 0x1b, 0x1b, 0x9d})->value, -7942755);
  EXPECT_EQ(read<true>({0x00, 0x40, 0x81})->value, 8193);
  EXPECT_EQ(read<true>({0x7f, 0x3f, 0xff})->value, -8193);
  EXPECT_EQ(read<true>({0x00, 0xc0})->value, 64);
  EXPECT_EQ(read<true>({0xc0})->value, -64);
  EXPECT_EQ(read<false>({0x80})->value, 0);
}

TEST(StopBit, reads_the_largest_values_of_every_type_and_their_nullable_forms) {
  EXPECT_EQ(read<false>({0x0f, 0x7f, 0x7f, 0x7f, 0xff})->value, Int128{0xffffffff});
  EXPECT_EQ(read<false>({0x10, 0x00, 0x00, 0x00, 0x80})->value, Int128{0x100000000});
  EXPECT_EQ(read<false>({0x01, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0xff})->value,
            Int128{~std::uint64_t{0}});
  EXPECT_EQ(read<false>({0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0x80})->value, Int128{1} << 64);
  EXPECT_EQ(read<true>({0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0x80})->value, Int128{1} << 63);
}

TEST(StopBit, an_entity_without_stop_bit_is_incomplete) {
  EXPECT_FALSE(read<false>({}));
  EXPECT_FALSE(read<false>({0x01, 0x02}));
  EXPECT_FALSE(read<true>(Bytes(1000, 0x00)));
}

TEST(StopBit, padding_of_any_length_keeps_the_value_and_is_overlong) {
  for (std::size_t padding : {1U, 7U, 8U, 9U, 100U, 60'000U}) {
    Bytes zeros(padding, 0x00);
    zeros.push_back(0x85);
    EXPECT_EQ(read<false>(zeros)->value, 5);
    EXPECT_TRUE(read<false>(zeros)->overlong);
    Bytes ones(padding, 0x7f);
    ones.push_back(0xfb);
    EXPECT_EQ(read<true>(ones)->value, -5);
    EXPECT_TRUE(read<true>(ones)->overlong);
  }
}

TEST(StopBit, a_sign_byte_that_is_needed_is_not_overlong) {
  EXPECT_FALSE(read<true>({0x00, 0xc0})->overlong);
  EXPECT_FALSE(read<true>({0x7f, 0xbf})->overlong);
  EXPECT_TRUE(read<true>({0x00, 0xbf})->overlong);
  EXPECT_TRUE(read<true>({0x7f, 0xc0})->overlong);
  EXPECT_TRUE(read<false>({0x00, 0xff})->overlong);
}

TEST(StopBit, huge_values_saturate_outside_every_type) {
  Bytes huge(40, 0x7f);
  huge.front() = 0x3f;
  huge.back() = 0xff;
  EXPECT_EQ(read<false>(huge)->value, Int128{1} << kWideBits);
  EXPECT_EQ(read<true>(huge)->value, Int128{1} << kWideBits);
  Bytes low(40, 0x00);
  low.front() = 0x40;
  low.back() = 0x80;
  EXPECT_EQ(read<true>(low)->value, -(Int128{1} << kWideBits));
}

TEST(StopBit, the_short_reader_agrees_with_the_long_one_or_leaves_the_entity_to_it) {
  const auto compare = [](const Bytes& bytes) {
    Cursor short_in = cursor(bytes);
    Cursor long_in = cursor(bytes);
    std::int64_t value = 0;
    Integer wide;
    if (read_short<true>(short_in, value)) {
      ASSERT_TRUE(read_long<true>(long_in, wide));
      EXPECT_EQ(wide.value, value);
      EXPECT_FALSE(wide.overlong && bytes.size() > 2) << "overlong entities belong to the long reader";
      EXPECT_EQ(short_in.offset(), long_in.offset());
    } else {
      EXPECT_EQ(short_in.offset(), 0U);
    }
    short_in = cursor(bytes);
    long_in = cursor(bytes);
    if (read_short<false>(short_in, value)) {
      ASSERT_TRUE(read_long<false>(long_in, wide));
      EXPECT_EQ(wide.value, static_cast<Int128>(static_cast<std::uint64_t>(value)));
      EXPECT_FALSE(wide.overlong);
    }
  };
  for (unsigned first = 0; first < 256; ++first) {
    compare({static_cast<std::uint8_t>(first)});
    for (unsigned second = 0; second < 256; ++second) {
      compare({static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second)});
      compare(
          {static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second), 0x12, 0x55, 0x2a, 0x7f, 0x01, 0x93});
      compare({static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second), 1, 2, 3, 4, 5, 6, 7, 0x88});
    }
  }
}

}  // namespace stopbit::wire::stop_bit_test
