#include "tests/lib/byte_notation.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/lib/hex.hpp"

namespace stopbit::cases::byte_notation_test {

/// The bytes of the only datagram, or the diagnostics.
std::string encoded(std::string_view text) {
  Diagnostics diagnostics;
  const auto steps = parse_bytes(text, diagnostics);
  if (!steps) return diagnostics.format();
  return steps->size() == 1 ? testing::hex(steps->front().bytes) : "not one datagram";
}

/// Line:column of every error.
std::string errors(std::string_view text) {
  Diagnostics diagnostics;
  const auto steps = parse_bytes(text, diagnostics);
  EXPECT_EQ(steps.has_value(), diagnostics.errors() == 0);
  std::string result;
  for (const Diagnostic& found : diagnostics.all()) {
    const auto place = found.range.source->position(found.range.offset);
    result += std::to_string(place.line) + ":" + std::to_string(place.column) + " " + found.message + "\n";
  }
  return result;
}

// The worked examples of FAST 1.1, appendix 3, with its misprints mended.
TEST(ByteNotation, writes_the_integers_of_the_specification) {
  EXPECT_EQ(encoded("i32?(942755)"), "39 45 a4");
  EXPECT_EQ(encoded("i32(942755)"), "39 45 a3");
  EXPECT_EQ(encoded("i32?(-942755)"), "46 3a dd");
  EXPECT_EQ(encoded("i32(-7942755)"), "7c 1b 1b 9d");
  EXPECT_EQ(encoded("i32(8193)"), "00 40 81");
  EXPECT_EQ(encoded("i32(-8193)"), "7f 3f ff");
  EXPECT_EQ(encoded("i32(64)"), "00 c0");
  EXPECT_EQ(encoded("i32(-64)"), "c0");
  EXPECT_EQ(encoded("u32?(null) u32?(0) u32?(1)"), "80 81 82");
  EXPECT_EQ(encoded("i32(-5) i32(0)"), "fb 80");
}

TEST(ByteNotation, writes_the_largest_values_in_their_nullable_form) {
  EXPECT_EQ(encoded("u32(4294967295)"), "0f 7f 7f 7f ff");
  EXPECT_EQ(encoded("u32?(4294967295)"), "10 00 00 00 80");
  EXPECT_EQ(encoded("u64?(18446744073709551615)"), "02 00 00 00 00 00 00 00 00 80");
  EXPECT_EQ(encoded("i64?(9223372036854775807)"), "01 00 00 00 00 00 00 00 00 80");
  EXPECT_EQ(encoded("i64?(-9223372036854775808)"), "7f 00 00 00 00 00 00 00 00 80");
  EXPECT_EQ(encoded("i32?(2147483647)"), "08 00 00 00 80");
  EXPECT_EQ(encoded("delta(-4294967278)"), "70 00 00 00 92");
}

TEST(ByteNotation, writes_the_strings_of_the_specification) {
  EXPECT_EQ(encoded("ascii?(null)"), "80");
  EXPECT_EQ(encoded("ascii?(\"ABC\")"), "41 42 c3");
  EXPECT_EQ(encoded("ascii?(\"\")"), "00 80");
  EXPECT_EQ(encoded("ascii(\"\")"), "80");
  EXPECT_EQ(encoded("ascii(\"\\0\")"), "00 80");
  EXPECT_EQ(encoded("ascii?(\"\\0\")"), "00 00 80");
  EXPECT_EQ(encoded("ascii(\"CME\") ascii(\"ISE\")"), "43 4d c5 49 53 c5");
  EXPECT_EQ(encoded("bytes?(null)"), "80");
  EXPECT_EQ(encoded("bytes?(\"ABC\")"), "84 41 42 43");
  EXPECT_EQ(encoded("bytes?(\"\")"), "81");
  EXPECT_EQ(encoded("bytes(\"ABC\")"), "83 41 42 43");
  EXPECT_EQ(encoded("bytes(00 ff)"), "82 00 ff");
  EXPECT_EQ(encoded("uni(\"\\xe2\\x82\\xac\")"), "83 e2 82 ac");
}

TEST(ByteNotation, writes_the_decimals_of_the_specification) {
  EXPECT_EQ(encoded("dec(2 942755)"), "82 39 45 a3");
  EXPECT_EQ(encoded("dec(1 9427550)"), "81 04 3f 34 de");
  EXPECT_EQ(encoded("dec?(2 942755)"), "83 39 45 a3");
  EXPECT_EQ(encoded("dec(-2 942755)"), "fe 39 45 a3");
  EXPECT_EQ(encoded("dec?(-2 -942755)"), "fe 46 3a dd");
  EXPECT_EQ(encoded("dec(-3 -8193)"), "fd 7f 3f ff");
  EXPECT_EQ(encoded("dec?(null)"), "80");
}

TEST(ByteNotation, writes_the_deltas_of_the_specification) {
  EXPECT_EQ(encoded("i32(0) delta(-4)"), "80 fc");
  EXPECT_EQ(encoded("i32(-2) i64(1198)"), "fe 09 ae");
  EXPECT_EQ(encoded("i32(0) ascii(\"GEH6\")"), "80 47 45 48 b6");
  EXPECT_EQ(encoded("i32(2) ascii(\"M6\")"), "82 4d b6");
  EXPECT_EQ(encoded("i32(-3) ascii(\"ES\")"), "fd 45 d3");
  EXPECT_EQ(encoded("i32(-1) ascii(\"RS\")"), "ff 52 d3");
}

TEST(ByteNotation, writes_presence_maps_in_their_shortest_form) {
  EXPECT_EQ(encoded("pmap(1 1)"), "e0");
  EXPECT_EQ(encoded("pmap(0 0)"), "80");
  EXPECT_EQ(encoded("pmap()"), "80");
  EXPECT_EQ(encoded("pmap(1000000 1)"), "40 c0");
  EXPECT_EQ(encoded("pmap(1000000 0000000 0000001)"), "40 00 81");
  EXPECT_EQ(encoded("pmap(1 000000 0000000)"), "c0");
}

TEST(ByteNotation, writes_what_no_sender_would) {
  EXPECT_EQ(encoded("u32.overlong(5 2)"), "00 00 85");
  EXPECT_EQ(encoded("i32.overlong(-1 1)"), "7f ff");
  EXPECT_EQ(encoded("u32?.overlong(null 1)"), "00 80");
  EXPECT_EQ(encoded("ascii.overlong(\"A\")"), "00 c1");
  EXPECT_EQ(encoded("pmap.raw(00 80)"), "00 80");
  EXPECT_EQ(encoded("u32(1000000) cut(2)"), "3d");
  EXPECT_EQ(encoded("repeat(3 41 c2)"), "41 c2 41 c2 41 c2");
}

TEST(ByteNotation, takes_plain_hex_and_leaves_comments_out) {
  EXPECT_EQ(encoded("c0 F8 # the reset\n hex(0a 0B)"), "c0 f8 0a 0b");
}

TEST(ByteNotation, separates_datagrams_channels_and_resets) {
  Diagnostics diagnostics;
  const auto steps = parse_bytes("81 packet 82 packet(3) 83 reset(3) packet", diagnostics);
  ASSERT_TRUE(steps) << diagnostics.format();
  const std::vector<Step> expected = {{Step::Kind::Datagram, 0, {std::byte{0x81}}},
                                      {Step::Kind::Datagram, 0, {std::byte{0x82}}},
                                      {Step::Kind::Datagram, 3, {std::byte{0x83}}},
                                      {Step::Kind::Reset, 3, {}},
                                      {Step::Kind::Datagram, 0, {}}};
  EXPECT_EQ(*steps, expected);
}

TEST(ByteNotation, names_the_place_of_every_mistake) {
  EXPECT_EQ(errors("u32(4294967296)"), "1:5 the number is out of range\n");
  EXPECT_EQ(errors("80\n  i8(5) zz"), "2:3 unknown word 'i8'\n2:9 'zz' is neither a hex byte nor a word with '('\n");
  EXPECT_EQ(errors("u32(null)"), "1:5 expected a number\n");
  EXPECT_EQ(errors("u32(5"), "1:1 '(' has no ')'\n");
  EXPECT_EQ(errors("ascii(\"A)"), "1:7 the string has no end\n1:1 '(' has no ')'\n");
  EXPECT_EQ(errors("ascii(\"\\xe9\")"), "1:1 no sender can write this string; use hex(..)\n");
  EXPECT_EQ(errors("80 cut(2)"), "1:8 the number is out of range\n");
  EXPECT_EQ(errors("pmap(1 2)"), "1:8 expected 0 and 1\n");
  EXPECT_EQ(errors("reset 80"), "1:7 after 'reset', 'packet' comes first\n");
  EXPECT_EQ(errors("u32(99999999999999999999999999999999999999999999)"), "1:5 expected a number\n");
}

}  // namespace stopbit::cases::byte_notation_test
