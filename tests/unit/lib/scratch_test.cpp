#include "tests/lib/scratch.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <system_error>

namespace stopbit::testing::scratch_test {

namespace fs = std::filesystem;

TEST(Scratch, is_a_folder_of_its_own_for_this_user_alone) {
  const Scratch one;
  const Scratch other;
  EXPECT_NE(one.folder(), other.folder());
  EXPECT_TRUE(fs::is_empty(one.folder()));
  EXPECT_EQ(fs::status(one.folder()).permissions(), fs::perms::owner_all);
}

TEST(Scratch, gives_back_the_bytes_of_a_file) {
  const Scratch scratch;
  const std::string bytes("a\0\r\n\xFF", 5);
  EXPECT_EQ(scratch.write("deep/er/file", bytes), scratch.path("deep/er/file"));
  EXPECT_EQ(scratch.read("deep/er/file"), bytes);
}

TEST(Scratch, throws_what_the_system_says) {
  const Scratch scratch;
  EXPECT_THROW((void)scratch.read("nothing"), std::system_error);
  scratch.write("file", "");
  EXPECT_THROW(scratch.write("file/below", "x"), std::system_error);
}

TEST(Scratch, vanishes_with_all_that_is_in_it) {
  std::optional<Scratch> scratch(std::in_place);
  scratch->write("deep/file", "x");
  const fs::path folder = scratch->folder();
  scratch.reset();
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace stopbit::testing::scratch_test
