#include "decoder/record/digits.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

namespace stopbit::record::digits_test {

std::string text_of(std::uint64_t value) {
  std::array<char, kDigitsRoom> text;
  return {text.data(), write_unsigned(text.data(), value)};
}

TEST(Digits, are_those_of_the_standard_library_around_powers_of_ten_and_two) {
  for (unsigned bits = 0; bits < 64; ++bits) {
    for (const std::uint64_t near : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      const std::uint64_t value = (std::uint64_t{1} << bits) + near;
      ASSERT_EQ(text_of(value), std::to_string(value));
    }
  }
  std::uint64_t power = 1;
  for (int i = 0; i < 20; ++i, power *= 10) {
    for (const std::uint64_t value : {power - 1, power, power + 1}) ASSERT_EQ(text_of(value), std::to_string(value));
  }
  ASSERT_EQ(text_of(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(Digits, are_right_for_every_number_of_five_digits_and_each_block_of_eight) {
  for (std::uint64_t value = 0; value < 100'000; ++value) {
    ASSERT_EQ(text_of(value), std::to_string(value));
    ASSERT_EQ(text_of(value * 1'000), std::to_string(value * 1'000));
    ASSERT_EQ(text_of(value * 100'000'000 + 7), std::to_string(value * 100'000'000 + 7));
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t value = random() >> random() % 64;
    ASSERT_EQ(text_of(value), std::to_string(value));
  }
}

TEST(Digits, of_signed_numbers_and_decimals) {
  std::array<char, kDigitsRoom> text;
  const auto decimal = [&](std::int64_t mantissa, std::int32_t exponent) {
    return std::string(text.data(), write_decimal(text.data(), mantissa, exponent));
  };
  EXPECT_EQ(std::string(text.data(), write_signed(text.data(), std::numeric_limits<std::int64_t>::min())),
            "-9223372036854775808");
  EXPECT_EQ(decimal(141'150, -2), "1411.50");
  EXPECT_EQ(decimal(-1, -3), "-0.001");
  EXPECT_EQ(decimal(0, -2), "0.00");
  EXPECT_EQ(decimal(1, 1), "1e1");
  EXPECT_EQ(decimal(std::numeric_limits<std::int64_t>::min(), -63).size(), 2U + 1 + 63);
  EXPECT_EQ(decimal(std::numeric_limits<std::int64_t>::max(), -1), "922337203685477580.7");
}

}  // namespace stopbit::record::digits_test
