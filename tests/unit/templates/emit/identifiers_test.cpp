#include "templates/emit/cpp/identifiers.hpp"

#include <gtest/gtest.h>

namespace stopbit::emit::identifiers_test {

using namespace std::string_view_literals;

TEST(Identifier, keeps_letters_and_digits) {
  EXPECT_EQ(identifier("MDEntryPx2"), "MDEntryPx2");
  EXPECT_EQ(identifier("no_more"), "no_more");
}

TEST(Identifier, makes_one_underscore_of_anything_else_and_is_never_reserved) {
  EXPECT_EQ(identifier("a - b"), "a_b");
  EXPECT_EQ(identifier("__x__y__"), "x_y");
  EXPECT_EQ(identifier("_X"), "X");
  EXPECT_EQ(identifier("caf\xc3\xa9"), "caf");
  EXPECT_EQ(identifier("\xc3\xa9"), "unnamed");
  EXPECT_EQ(identifier(""), "unnamed");
  EXPECT_EQ(identifier("*/ int x; /*"), "int_x");
  EXPECT_EQ(identifier("a\nb\\\n#define c"), "a_b_define_c");
}

TEST(Identifier, puts_a_letter_before_a_digit) {
  EXPECT_EQ(identifier("0"), "v0");
  EXPECT_EQ(identifier("1stPx"), "v1stPx");
}

TEST(Identifier, avoids_keywords_and_macros) {
  for (const char* word :
       {"class", "co_await", "xor_eq", "NULL", "EOF", "errno", "INT_MAX", "SIGINT", "ENOENT", "unix"}) {
    EXPECT_EQ(identifier(word), std::string(word) + '_');
  }
  EXPECT_EQ(identifier("End"), "End");
  EXPECT_EQ(identifier("SignalTime"), "SignalTime");
}

TEST(Identifier, may_be_long) {
  EXPECT_EQ(identifier(std::string(250, 'x')), std::string(250, 'x'));
}

TEST(Scope, gives_every_identifier_once) {
  const std::set<std::string> reserved = {"taken"};
  Scope scope(reserved);
  EXPECT_EQ(scope.unique("a"), "a");
  EXPECT_EQ(scope.unique("a"), "a_2");
  EXPECT_EQ(scope.unique("a_3"), "a_3");
  EXPECT_EQ(scope.unique("a"), "a_4");
  EXPECT_EQ(scope.unique("taken"), "taken_2");
  EXPECT_EQ(scope.unique("class"), "class_");
  EXPECT_EQ(scope.unique("class"), "class_2");
}

TEST(Scope, takes_no_longer_for_the_last_of_many) {
  Scope scope;
  std::string last;
  for (int i = 0; i < 200'000; ++i) last = scope.unique("x");
  EXPECT_EQ(last, "x_200000");
}

TEST(Literal, escapes_whatever_could_end_it) {
  EXPECT_EQ(literal("abc"), "\"abc\"");
  EXPECT_EQ(literal("\"\\\n"), "\"\\042\\134\\012\"");
  EXPECT_EQ(literal("?\?/"), "\"\\077\\077/\"");
  EXPECT_EQ(literal("\x00\x31\xff"sv), "\"\\0001\\377\"");
}

TEST(Comment, stays_on_its_line) {
  EXPECT_EQ(comment("MD-Entry [2] a/b"), "MD-Entry [2] a/b");
  for (const char c : comment(std::string("\n\r\\?*\x85\0", 7))) EXPECT_EQ(c, '.');
}

TEST(Namespace, is_made_of_identifiers) {
  for (const char* name : {"feed", "a::b", "cme_2"}) EXPECT_TRUE(is_namespace(name)) << name;
  for (const char* name : {"", "a::", "::a", "a b", "a:b", "class", "a::class", "1a", "a;", "_a"}) {
    EXPECT_FALSE(is_namespace(name)) << name;
  }
}

}  // namespace stopbit::emit::identifiers_test
