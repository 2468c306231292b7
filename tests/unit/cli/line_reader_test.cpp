#include "host/cli/common/line_reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stopbit::tools::line_reader_test {

/// "text" of each line, with a ! after those that are too long.
std::vector<std::string> lines_of(const std::string& text, std::size_t max_line_bytes) {
  LineReader reader(InputFile::of_text("test", text), max_line_bytes);
  std::vector<std::string> lines;
  while (reader.next()) {
    EXPECT_EQ(reader.number(), lines.size() + 1);
    lines.push_back(reader.is_too_long() ? "!" : std::string(reader.line()));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineReader, gives_every_line_once) {
  EXPECT_EQ(lines_of("", 10), Lines{});
  EXPECT_EQ(lines_of("\n", 10), Lines{""});
  EXPECT_EQ(lines_of("a\n\nb", 10), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\nb\n", 10), (Lines{"a", "b"}));
}

TEST(LineReader, tells_a_line_that_is_too_long_and_goes_on_behind_it) {
  EXPECT_EQ(lines_of("0123456789\nb", 10), (Lines{"0123456789", "b"}));
  EXPECT_EQ(lines_of("01234567890\nb\n", 10), (Lines{"!", "b"}));
  // Over several reads.
  const std::string much(300'000, 'x');
  EXPECT_EQ(lines_of("a\n" + much + "\nb\n" + much, 10), (Lines{"a", "!", "b", "!"}));
  EXPECT_EQ(lines_of(much + '\n' + much + "\n\nb", 10), (Lines{"!", "!", "", "b"}));
}

}  // namespace stopbit::tools::line_reader_test
