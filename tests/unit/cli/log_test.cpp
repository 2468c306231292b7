#include "host/cli/common/log.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "host/os/shm/segment.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::tools::log_test {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    there = os::Descriptor(ends[0]);
    here = os::Descriptor(ends[1]);
    EXPECT_GT(::fcntl(here.get(), F_SETPIPE_SZ, 4096), 0);
  }
  /// Reads until the text has arrived, or the pipe ends.
  [[nodiscard]] std::string read_until(const std::string& word) {
    while (text.find(word) == std::string::npos) {
      std::array<char, 65'536> chunk;
      const ssize_t count = ::read(there.get(), chunk.data(), chunk.size());
      if (count <= 0) break;
      text.append(chunk.data(), static_cast<std::size_t>(count));
    }
    return text;
  }
  os::Descriptor there;
  os::Descriptor here;
  std::string text;
};

std::string line(std::size_t number) {
  return std::to_string(number) + std::string(1'000, '.') + "\n";
}

TEST(Log, writes_lines_in_their_order) {
  Pipe pipe;
  Log log(pipe.here.get());
  log.write("one\ntwo");
  log.write({appliance::Change::Level::Info, "three", {{"is", "3"}}});
  log.start();
  EXPECT_THAT(pipe.read_until("three"), ::testing::MatchesRegex("one\ntwo\n[^ ]* level=info what=\"three\" is=3\n"));
  log.close(60s);
  EXPECT_EQ(log.lost(), 0U);
}

TEST(Log, never_waits_for_its_reader_and_tells_what_it_has_lost) {
  Pipe pipe;
  Log log(pipe.here.get());
  log.start();
  std::size_t written = 0;
  while (log.lost() < 10) log.write(line(written++));  // without a reader
  EXPECT_LT(written * line(0).size(), 2 * Log::kMaxBytes);
  const std::string text = pipe.read_until(" all=10\n");
  // The lines that found room, and then the count.
  std::size_t seen = 0;
  for (std::size_t i = 0; i < written; ++i) seen += ("\n" + text).find("\n" + line(i)) != std::string::npos ? 1 : 0;
  EXPECT_EQ(seen, written - 10);
  log.write("after\n");
  EXPECT_THAT(pipe.read_until("after\n"), HasSubstr(" all=10\nafter\n"));
}

TEST(Log, a_file_that_cannot_be_written_costs_lines_only) {
  const os::Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Log log(full.get());
  log.start();
  log.write("one\ntwo\n");
  log.write("three\n");
  log.close(60s);
  EXPECT_EQ(log.lost(), 3U);
}

TEST(Log, tells_what_was_lost_as_soon_as_the_file_takes_lines_again) {
  const testing::Scratch scratch;
  const os::Descriptor file(::open(scratch.path("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit nothing{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &nothing), 0);
  Log log(file.get());
  log.start();
  log.write("one\ntwo\n");
  while (log.lost() != 2) std::this_thread::yield();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  log.write("three\n");
  log.close(60s);
  EXPECT_THAT(scratch.read("log"), ::testing::MatchesRegex(".*what=\"log lines lost\" more=2 all=2\nthree\n"));
}

TEST(Log, ends_although_its_reader_has_stopped) {
  Pipe pipe;
  {
    Log log(pipe.here.get());
    log.start();
    for (std::size_t i = 0; i < 100; ++i) log.write(line(i));
    log.close(1ms);
    log.write("too late\n");
  }
  // The thread that is left ends when it can.
  pipe.here = {};
  EXPECT_THAT(pipe.read_until("never"), Not(HasSubstr("too late")));
}

TEST(Log, a_log_that_was_not_started_is_written_at_the_end) {
  Pipe pipe;
  {
    Log log(pipe.here.get());
    log.write("why it cannot start\n");
  }
  pipe.here = {};
  EXPECT_EQ(pipe.read_until("never"), "why it cannot start\n");
}

TEST(Log, many_threads_write_whole_lines) {
  Pipe pipe;
  Log log(pipe.here.get());
  log.start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < 100; ++i) log.write(std::string(20, static_cast<char>('a' + t)) + "\n");
    });
  }
  std::thread reader([&pipe] { (void)pipe.read_until("end\n"); });
  for (std::thread& thread : threads) thread.join();
  log.write("end\n");
  reader.join();
  EXPECT_EQ(log.lost(), 0U);
  for (char t = 'a'; t < 'e'; ++t) {
    std::size_t count = 0;
    const std::string whole = std::string(20, t) + "\n";
    for (std::size_t at = 0; (at = pipe.text.find(whole, at)) != std::string::npos; at += whole.size()) ++count;
    EXPECT_EQ(count, 100U);
  }
}

}  // namespace stopbit::tools::log_test
