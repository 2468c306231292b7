#include "tests/lib/arguments.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace stopbit::testing::arguments_test {

struct Said {
  std::string form;
  std::string folder = ".";
  std::uint64_t count = 7;
  double rate = 0;
  bool is_long = false;
  std::optional<int> status;
};

Said read(std::vector<const char*> words) {
  Said said;
  Arguments arguments("A program.");
  arguments.word("FORM", said.form, "one of two", {"first", "second"});
  arguments.text("--folder", said.folder, "where");
  arguments.number("--count", said.count, "how many", std::uint64_t{1}, std::uint64_t{9});
  arguments.number("--rate", said.rate, "how much", 0.0, 1.0);
  arguments.flag("--long", said.is_long, "how long");
  words.insert(words.begin(), "program");
  said.status = arguments.read(static_cast<int>(words.size()), words.data());
  return said;
}

TEST(Arguments, come_in_any_order_and_keep_what_they_were_if_they_are_not_given) {
  const Said all = read({"--count", "9", "--long", "second", "--rate", "0.25", "--folder", "there"});
  EXPECT_FALSE(all.status);
  EXPECT_EQ(all.form, "second");
  EXPECT_EQ(all.folder, "there");
  EXPECT_EQ(all.count, 9U);
  EXPECT_EQ(all.rate, 0.25);
  EXPECT_TRUE(all.is_long);
  const Said least = read({"first"});
  EXPECT_FALSE(least.status);
  EXPECT_EQ(least.count, 7U);
  EXPECT_EQ(least.folder, ".");
  EXPECT_FALSE(least.is_long);
}

TEST(Arguments, that_are_wrong_end_the_program_with_2) {
  const std::vector<std::vector<const char*>> wrong = {
      {},
      {"third"},
      {"first", "second"},
      {"first", "--other"},
      {"first", "--count"},
      {"first", "--count", "0"},
      {"first", "--count", "10"},
      {"first", "--count", "-1"},
      {"first", "--count", "5x"},
      {"first", "--count", ""},
      {"first", "--count", "99999999999999999999"},
      {"first", "--rate", "1.5"},
      {"first", "--rate", "nan"},
  };
  for (const auto& words : wrong) EXPECT_EQ(read(words).status, 2) << ::testing::PrintToString(words);
}

TEST(Arguments, help_ends_it_with_0) {
  EXPECT_EQ(read({"--help"}).status, 0);
}

}  // namespace stopbit::testing::arguments_test
