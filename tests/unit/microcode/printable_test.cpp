#include "microcode/base/printable.hpp"

#include <gtest/gtest.h>

#include <string>

#include "microcode/base/utf8.hpp"

namespace stopbit::printable_test {

std::string utf8(char32_t value) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (value < 0x80) return {byte(value)};
  if (value < 0x800) return {byte(0xC0 | value >> 6), byte(0x80 | (value & 0x3F))};
  if (value < 0x10000) return {byte(0xE0 | value >> 12), byte(0x80 | (value >> 6 & 0x3F)), byte(0x80 | (value & 0x3F))};
  return {byte(0xF0 | value >> 18), byte(0x80 | (value >> 12 & 0x3F)), byte(0x80 | (value >> 6 & 0x3F)),
          byte(0x80 | (value & 0x3F))};
}

TEST(Utf8, lengths_and_values_agree_for_every_character) {
  for (char32_t value = 0; value <= 0x10FFFF; ++value) {
    const std::string text = utf8(value);
    const bool is_surrogate = value >= 0xD800 && value < 0xE000;
    ASSERT_EQ(utf8_length(text), is_surrogate ? 0 : text.size()) << std::hex << static_cast<unsigned>(value);
    if (!is_surrogate) {
      ASSERT_EQ(utf8_value(text), value);
      ASSERT_TRUE(is_utf8(text + "x" + text));
    }
  }
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xE2\x80", "\xFF"}) {
    EXPECT_EQ(utf8_length(bad), 0U);
    EXPECT_FALSE(is_utf8(bad));
  }
}

TEST(Printable, leaves_text_as_it_is) {
  for (const char* text : {"", "MDIncRefresh_83", "Grüße", "Цена", "価格", "'\"\\<>&", "😀"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, escapes_what_moves_hides_or_reorders) {
  EXPECT_EQ(printable("\x1b[2J\x7f"), "\\x1b[2J\\x7f");
  EXPECT_EQ(printable("a\tb\nc\r"), "a\\x09b\\x0ac\\x0d");
  EXPECT_EQ(printable(utf8(0x9B) + "31m"), "\\u009b31m");
  EXPECT_EQ(printable("x" + utf8(0x202E) + "y" + utf8(0x2066)), "x\\u202ey\\u2066");
  EXPECT_EQ(printable(utf8(0x200B) + utf8(0xFEFF) + utf8(0xAD)), "\\u200b\\ufeff\\u00ad");
  EXPECT_EQ(printable(utf8(0xE0041)), "\\U000e0041");
  EXPECT_EQ(printable("a\x9b\xff\xc3"), "a\\x9b\\xff\\xc3");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
}

TEST(Printable, keeps_lines_where_there_are_several) {
  EXPECT_EQ(printable_lines("a\nb\x1b\n"), "a\nb\\x1b\n");
}

TEST(Printable, shows_nothing_that_disturbs_and_is_the_same_twice) {
  for (char32_t value = 0; value <= 0x10FFFF; ++value) {
    if (value >= 0xD800 && value < 0xE000) continue;
    const std::string shown = printable(utf8(value));
    ASSERT_EQ(shown == utf8(value), !disturbs_terminal(value));
    ASSERT_EQ(printable(shown), shown);
  }
  for (const char32_t value : {0x00U, 0x1FU, 0x7FU, 0x80U, 0x9FU, 0x61CU, 0x200EU, 0x202AU, 0x2069U, 0x2028U})
    EXPECT_TRUE(disturbs_terminal(value));
  for (const char32_t value : {0x20U, 0x7EU, 0xA0U, 0xE9U, 0x2010U, 0x2030U, 0xFFFDU})
    EXPECT_FALSE(disturbs_terminal(value));
}

}  // namespace stopbit::printable_test
