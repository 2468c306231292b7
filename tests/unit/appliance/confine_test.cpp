#include "host/appliance/confine.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>

#include "tests/unit/appliance/fixture.hpp"

namespace stopbit::appliance {
namespace {

/// Runs `check` in a process of its own, confined; its result is the exit status.
template <class Check>
int confined(const Confinement& confinement, Check check) {
  const pid_t child = ::fork();
  if (child == 0) {
    const std::vector<std::string> problems = confine(confinement);
    const bool ok = std::all_of(problems.begin(), problems.end(), [](const std::string& problem) {
      return problem.find("no Landlock") != std::string::npos;
    });
    ::_exit(ok ? check(problems.empty()) : 100);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

std::string status_line(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return line.substr(key.size() + 1);
  }
  return {};
}

TEST(Confinement, takes_all_capabilities_and_what_could_bring_them_back) {
  EXPECT_EQ(confined({.written = {}, .read = {"/proc"}, .filters_calls = true},
                     [](bool) {
                       if (status_line("CapEff:") != "0000000000000000") return 1;
                       if (status_line("CapPrm:") != "0000000000000000") return 2;
                       if (status_line("CapInh:") != "0000000000000000") return 3;
                       if (status_line("NoNewPrivs:") != "1") return 4;
                       return status_line("Seccomp:") == "2" ? 0 : 5;
                     }),
            0);
}

TEST(Confinement, forbids_programs_new_sockets_and_more) {
  EXPECT_EQ(confined({},
                     [](bool) {
                       char* arguments[] = {nullptr};
                       if (::execve("/bin/true", arguments, arguments) != -1 || errno != EPERM) return 1;
                       if (::socket(AF_INET, SOCK_STREAM, 0) != -1 || errno != EPERM) return 2;
                       if (::setuid(0) != -1 || errno != EPERM) return 3;
                       return ::chroot("/") == -1 && errno == EPERM ? 0 : 4;
                     }),
            0);
}

TEST(Confinement, leaves_the_folders_that_are_named_and_no_others) {
  const testing::Scratch folder;
  folder.write("read", "x");
  const testing::Scratch other;
  other.write("secret", "x");
  EXPECT_EQ(confined({.written = {folder.path()}, .read = {}, .filters_calls = true},
                     [&](bool has_landlock) {
                       const int file = ::open(folder.path("made").c_str(), O_WRONLY | O_CREAT, 0644);
                       if (file < 0 || ::write(file, "x", 1) != 1) return 1;
                       if (::unlink(folder.path("made").c_str()) != 0) return 2;
                       if (!has_landlock) return 0;
                       return ::open(other.path("secret").c_str(), O_RDONLY) == -1 && errno == EACCES ? 0 : 3;
                     }),
            0);
}

TEST(Confinement, lets_threads_run_and_end) {
  EXPECT_EQ(confined({},
                     [](bool) {
                       int done = 0;
                       std::thread thread([&] {
                         std::this_thread::sleep_for(std::chrono::milliseconds(1));
                         done = 1;
                       });
                       thread.join();
                       return done == 1 ? 0 : 1;
                     }),
            0);
}

}  // namespace
}  // namespace stopbit::appliance
