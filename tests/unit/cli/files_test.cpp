#include "host/cli/common/files.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "host/cli/common/command.hpp"
#include "tests/lib/run_stopbit.hpp"

namespace stopbit::tools::files_test {

using testing::Scratch;

template <class Action>
int status_of(Action action) {
  try {
    action();
  } catch (const ToolError& error) {
    return error.status();
  }
  return -1;
}

TEST(ReadFile, refuses_a_file_longer_than_the_limit) {
  const Scratch scratch;
  const std::string path = scratch.write("x", "12345");
  EXPECT_EQ(read_file(path, 5), "12345");
  EXPECT_EQ(status_of([&] { (void)read_file(path, 4); }), kExitRejected);
  EXPECT_EQ(status_of([] { (void)read_file("/dev/zero", 1 << 20); }), kExitRejected);
}

TEST(ReadFile, what_cannot_be_opened_or_read_is_an_error_of_the_environment) {
  const Scratch scratch;
  EXPECT_EQ(status_of([&] { (void)read_file(scratch.path("none"), 10); }), kExitEnvironment);
  EXPECT_EQ(status_of([&] { (void)read_file(scratch.path(""), 10); }), kExitEnvironment);
}

TEST(Output, replaces_the_content_of_a_file) {
  const Scratch scratch;
  const std::string path = scratch.write("x", "something long");
  write_file(path, "new");
  EXPECT_EQ(scratch.read("x"), "new");
}

TEST(Output, a_full_disk_leaves_the_old_content) {
  const Scratch scratch;
  const std::string path = scratch.write("x", "old");
  // Files of this process may have 64 KiB: as if the disk were full then.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 65'536, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const int status = status_of([&] { write_file(path, std::string(1'000'000, 'n')); });
  const int of_none = status_of([&] { write_file(scratch.path("none"), std::string(1'000'000, 'n')); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status, kExitEnvironment);
  EXPECT_EQ(of_none, kExitEnvironment);
  EXPECT_EQ(scratch.read("x"), "old");
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path("")))
    left.push_back(entry.path().filename());
  EXPECT_EQ(left, std::vector<std::string>{"x"});
}

TEST(Output, a_reader_finds_the_old_content_or_the_new_one) {
  const Scratch scratch;
  const std::string path = scratch.write("x", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(::symlink("x", scratch.path("soft").c_str()), 0);
  std::ifstream reader(path);
  write_file(scratch.path("soft"), "new");
  std::string text;
  std::getline(reader, text);
  EXPECT_EQ(text, "old") << "which an open file still has";
  EXPECT_EQ(scratch.read("x"), "new");
  struct stat status = {};
  ASSERT_EQ(::lstat(scratch.path("soft").c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode)) << "the link stays";
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(Output, other_names_of_a_file_keep_its_content) {
  const Scratch scratch;
  const std::string path = scratch.write("x", "old");
  ASSERT_EQ(::link(path.c_str(), scratch.path("hard").c_str()), 0);
  write_file(path, "new");
  EXPECT_EQ(scratch.read("hard"), "new");
}

TEST(Output, a_link_that_leads_nowhere_makes_a_file_there) {
  const Scratch scratch;
  ASSERT_EQ(::symlink("x", scratch.path("soft").c_str()), 0);
  write_file(scratch.path("soft"), "new");
  EXPECT_EQ(scratch.read("x"), "new");
}

TEST(Output, never_overwrites_an_input_whatever_name_it_has) {
  const Scratch scratch;
  const std::string path = scratch.write("x", "input");
  ASSERT_EQ(::symlink(path.c_str(), scratch.path("soft").c_str()), 0);
  ASSERT_EQ(::link(path.c_str(), scratch.path("hard").c_str()), 0);
  for (const std::string& name : {path, scratch.path("./x"), scratch.path("soft"), scratch.path("hard")}) {
    EXPECT_EQ(status_of([&] { write_file(name, "gone", {scratch.path("other"), path}); }), kExitUsage) << name;
  }
  EXPECT_EQ(scratch.read("x"), "input");
}

TEST(Output, follows_no_link_to_a_name_that_the_command_has_chosen) {
  const Scratch scratch;
  const std::string other = scratch.write("other", "theirs");
  ASSERT_EQ(::symlink(other.c_str(), scratch.path("soft").c_str()), 0);
  ASSERT_EQ(::link(other.c_str(), scratch.path("hard").c_str()), 0);
  scratch.write("plain", "something long");
  for (const char* name : {"soft", "hard", "plain", "new"}) {
    replace_file(scratch.path(name), "mine");
    EXPECT_EQ(scratch.read(name), "mine") << name;
  }
  EXPECT_EQ(scratch.read("other"), "theirs");
  EXPECT_EQ(status_of([&] { replace_file(scratch.path(""), "x"); }), kExitEnvironment);
}

TEST(Output, writes_to_devices_and_pipes_as_they_are) {
  write_file("/dev/null", "x", {"/dev/null"});
  EXPECT_EQ(status_of([] { write_file("/dev/full", "x"); }), kExitEnvironment);
}

TEST(Output, cannot_write_to_a_folder_or_into_one_that_is_missing) {
  const Scratch scratch;
  EXPECT_EQ(status_of([&] { write_file(scratch.path(""), "x"); }), kExitEnvironment);
  EXPECT_EQ(status_of([&] { write_file(scratch.path("none/x"), "x"); }), kExitEnvironment);
}

TEST(Output, ends_quietly_when_the_reader_of_a_pipe_is_gone) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const std::string path = "/dev/fd/" + std::to_string(ends[1]);
  EXPECT_EQ(status_of([&] { write_file(path, "x"); }), kExitDone);
  ::close(ends[1]);
}

}  // namespace stopbit::tools::files_test
