// Folders of rings and counters whose file system fails while they are read. A program of its own, as it replaces
// readdir for all of it.
#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "host/appliance/status.hpp"
#include "host/cli/common/ring_files.hpp"
#include "host/os/shm/folder.hpp"
#include "host/ring/layout.hpp"

namespace {

int entries_left = -1;  // until readdir fails; less than 0: it does not
int failures = 0;

}  // namespace

// Seen by the standard library, which is a library of its own.
extern "C" [[gnu::visibility("default")]] dirent* readdir(DIR* folder) {
  if (entries_left == 0) {
    ++failures;
    errno = EIO;
    return nullptr;
  }
  if (entries_left > 0) --entries_left;
  static auto* const real = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  return real(folder);
}

namespace stopbit::tools::folder_error_test {

TEST(FoldersOfRings, that_fail_while_they_are_read_end_no_process) {
  const std::string name = "folder-error-test-" + std::to_string(::getpid());
  const Status made = os::make_own_folder();
  ASSERT_TRUE(made) << made.message();
  const std::string path = os::own_folder() + '/' + name;
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&ring::kMagic), sizeof(ring::kMagic));
  const auto has_ring = [&](const std::vector<RingFile>& files) {
    return std::any_of(files.begin(), files.end(), [&](const RingFile& file) { return file.name == name; });
  };
  EXPECT_TRUE(has_ring(ring_files()));
  for (int after = 0; after < 4; ++after) {
    const int before = failures;
    entries_left = after;
    EXPECT_NO_THROW((void)ring_files()) << after;
    entries_left = after;
    EXPECT_NO_THROW((void)appliance::find_appliances()) << after;
    EXPECT_GT(failures, before);
  }
  entries_left = -1;
  EXPECT_TRUE(has_ring(ring_files()));
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

}  // namespace stopbit::tools::folder_error_test
