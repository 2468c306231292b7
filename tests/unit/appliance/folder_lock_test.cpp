#include "host/appliance/folder_lock.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "tests/lib/scratch.hpp"

namespace stopbit::appliance::folder_lock_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kOwner = "state/.stopbit-owner";

class FolderLockTest : public ::testing::Test {
 protected:
  [[nodiscard]] Result<FolderLock> take(const std::string& name) {
    return FolderLock::take(scratch_.path("state"), name);
  }

  testing::Scratch scratch_;
};

TEST_F(FolderLockTest, keeps_others_out_as_long_as_it_lives) {
  std::optional<FolderLock> first(std::move(take("one")).value());
  EXPECT_TRUE(first->is_of(scratch_.path("state/../state/")));
  EXPECT_FALSE(first->is_of(scratch_.path()));
  const auto second = take("two");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.message(), AllOf(HasSubstr("\"one\""), HasSubstr(std::to_string(::getpid()))));
  first.reset();
  const auto third = take("two");
  ASSERT_TRUE(third) << third.message();
  EXPECT_EQ(third.value().warning(), "");
}

TEST_F(FolderLockTest, warns_of_a_folder_that_others_can_change) {
  std::filesystem::create_directory(scratch_.path("state"));
  std::filesystem::permissions(scratch_.path("state"), std::filesystem::perms::all);
  {
    const auto open_to_all = take("one");
    ASSERT_TRUE(open_to_all) << open_to_all.message();
    EXPECT_THAT(open_to_all.value().warning(), HasSubstr("is writable by all users"));
  }
  std::filesystem::permissions(scratch_.path("state"), std::filesystem::perms::owner_all);
  if (::chown(scratch_.path("state").c_str(), 65'534, 65'534) != 0) GTEST_SKIP() << "root alone gives folders away";
  const auto foreign = take("one");
  ASSERT_TRUE(foreign) << foreign.message();
  EXPECT_THAT(foreign.value().warning(), HasSubstr("belongs to user 65534"));
}

TEST_F(FolderLockTest, does_not_believe_what_a_dead_owner_has_left) {
  scratch_.write(kOwner, "1 a-name-that-is-longer-than-what-comes-next\n");
  const auto mine = take("one");
  ASSERT_TRUE(mine) << mine.message();
  EXPECT_EQ(scratch_.read(kOwner), std::to_string(::getpid()) + " one\n");
}

TEST_F(FolderLockTest, rubbish_in_the_file_is_not_shown) {
  for (const std::string& text : {std::string(), std::string("\x1b[2J 4"), std::string("12"), std::string(5'000, 'x'),
                                  std::string(" one"), std::string("12 \x1b[2Jone\n"), std::string("12 a\0b", 6)}) {
    const auto mine = take("one");
    ASSERT_TRUE(mine) << mine.message();
    scratch_.write(kOwner, text);
    const auto other = take("two");
    ASSERT_FALSE(other);
    EXPECT_THAT(other.message(), AllOf(Not(HasSubstr("\x1b")), HasSubstr("is in use by "))) << text;
  }
}

TEST_F(FolderLockTest, follows_no_link_and_waits_for_no_pipe) {
  scratch_.write("state/other", "1 other\n");
  std::filesystem::create_symlink("other", scratch_.path(kOwner));
  EXPECT_FALSE(take("one"));
  EXPECT_EQ(scratch_.read("state/other"), "1 other\n");
}

}  // namespace stopbit::appliance::folder_lock_test
