#include "host/appliance/gap_log.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include <cerrno>
#include <fstream>

#include "host/os/readable.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/failing_disk.hpp"
#include "tests/lib/why.hpp"

namespace stopbit::appliance::gap_log_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t kDay = 86'400'000'000'000;
constexpr std::uint64_t kNoon = 1'554'379'200'000'000'000;  // 2019-04-04T12:00:00Z

GapEntry gap(std::uint64_t time_ns, std::uint64_t first, std::uint64_t count) {
  GapEntry entry;
  entry.time_ns = time_ns;
  entry.channel = "seven";
  entry.feed = "f";
  entry.first = first;
  entry.count = count;
  entry.epoch = 3;
  entry.cause = GapCause::LineDown;
  entry.lines[0] = {.exists = true, .heard = true, .passed = true, .last_sequence = first + count, .silent_ns = 0};
  entry.lines[1] = {.exists = true, .heard = false};
  return entry;
}

TEST(GapLog, is_read_as_it_was_written_over_days) {
  const testing::Scratch folder;
  GapLog log(folder.path("state"), 7);
  ASSERT_EQ(testing::why(log.prepare()), "");
  log.add(gap(kNoon - kDay, 1, 1));
  log.add(gap(kNoon, 10, 3));
  log.add(LateEntry{.time_ns = kNoon + 5, .channel = "seven", .first = 10, .count = 1, .late_by_ns = 5, .epoch = 3});
  log.add(LateEntry{.time_ns = kNoon + 5, .channel = "seven", .first = 10, .count = 3, .late_by_ns = 5, .epoch = 4});
  EXPECT_EQ(log.lost(), 0U);
  const GapHistory all = read_gaps(folder.path("state"), 0);
  EXPECT_EQ(all.problem, "");
  ASSERT_EQ(all.gaps.size(), 2U);
  EXPECT_EQ(all.gaps[0].first, 1U);
  EXPECT_EQ(all.gaps[1].first, 10U);
  EXPECT_EQ(all.gaps[1].count, 3U);
  EXPECT_EQ(all.gaps[1].cause, GapCause::LineDown);
  EXPECT_EQ(all.gaps[1].came_late, 1U);
  EXPECT_EQ(all.gaps[1].late_by_ns, 5U);
  EXPECT_TRUE(all.gaps[1].lines[0].passed);
  EXPECT_TRUE(all.gaps[1].lines[1].exists);
  EXPECT_FALSE(all.gaps[1].lines[1].heard);
  EXPECT_EQ(read_gaps(folder.path("state"), kNoon - 1).gaps.size(), 1U);
  EXPECT_EQ(read_gaps(folder.path("state"), 0, 1).gaps.front().first, 10U);
}

TEST(GapLog, corrects_the_cause_when_all_numbers_came) {
  const testing::Scratch folder;
  GapLog log(folder.path(), 7);
  log.add(gap(kNoon, 10, 3));
  log.add(LateEntry{.time_ns = kNoon + 5, .channel = "seven", .first = 10, .count = 2, .late_by_ns = 5, .epoch = 3});
  EXPECT_EQ(read_gaps(folder.path(), 0).gaps[0].cause, GapCause::LineDown);
  log.add(LateEntry{.time_ns = kNoon + 9, .channel = "seven", .first = 10, .count = 3, .late_by_ns = 9, .epoch = 3});
  const GapEntry corrected = read_gaps(folder.path(), 0).gaps[0];
  EXPECT_EQ(corrected.cause, GapCause::Late);
  EXPECT_EQ(corrected.came_late, 3U);
  EXPECT_EQ(corrected.late_by_ns, 9U);
}

TEST(GapLog, says_with_a_gap_what_it_did_to_books) {
  const testing::Scratch folder;
  GapLog log(folder.path(), 7);
  log.add(gap(kNoon, 10, 3));
  const GapEntry none = read_gaps(folder.path(), 0).gaps[0];
  EXPECT_EQ(books_text(none), "");
  EXPECT_THAT(to_json(none), Not(HasSubstr("books")));
  BooksEntry entry{.time_ns = kNoon + 1'000'000'000,
                   .channel = "seven",
                   .first = 10,
                   .epoch = 3,
                   .books = {.hit = 12, .stale = 3, .by_message = 9, .longest_ns = 1'000'000'000}};
  log.add(entry);
  EXPECT_EQ(books_text(read_gaps(folder.path(), 0).gaps[0]),
            "12 books in doubt, 3 stale; right again: 9 by messages; 3 not after 1 s");
  entry.books.by_snapshot = 3;
  entry.books.cycles = 2;
  entry.books.refreshed = 1;
  entry.books.longest_ns = 1'500'000'000;
  log.add(entry);
  entry.epoch = 4;
  entry.books.hit = 100;
  log.add(entry);  // of another gap
  const GapHistory history = read_gaps(folder.path(), 0);
  EXPECT_EQ(history.skipped, 0U);
  EXPECT_EQ(books_text(history.gaps[0]),
            "12 books in doubt, 3 stale, 1 rebuilt from empty; right again: 9 by messages, 3 by a "
            "snapshot of cycle 2 after it, within 1.5 s");
  EXPECT_THAT(to_json(history.gaps[0]),
              HasSubstr(R"("books":{"hit":12,"stale":3,"refreshed":1,"by_snapshot":3,"cycles":2,"by_message":9,)"
                        R"("open":0,"longest_ns":1500000000})"));
}

TEST(GapLog, says_what_a_replay_has_brought_and_used_of_its_quota) {
  const testing::Scratch folder;
  GapLog log(folder.path(), 7);
  log.add(gap(kNoon, 10, 3));
  EXPECT_EQ(replay_text(read_gaps(folder.path(), 0).gaps[0]), "");
  LateEntry late{.time_ns = kNoon + 5, .channel = "seven", .first = 10, .replayed = 2, .epoch = 3};
  log.add(late);
  EXPECT_EQ(replay_text(read_gaps(folder.path(), 0).gaps[0]), "2 by replay");
  late.replayed = 3;
  late.quota_used = 4;
  late.quota = 20;
  log.add(late);
  const GapEntry healed = read_gaps(folder.path(), 0).gaps[0];
  EXPECT_EQ(replay_text(healed), "3 by replay (connection 4 of 20 a day)");
  EXPECT_THAT(to_json(healed), HasSubstr(R"("replayed":3,"quota_used":4,"quota":20)"));
}

TEST(GapLog, skips_books_whose_numbers_contradict_each_other) {
  const auto line = [](const std::string& books) {
    return parse_gap_line(R"({"time_ns":5,"channel":"seven","first":1,"epoch":3,"books":)" + books + "}");
  };
  EXPECT_TRUE(line(R"({"hit":2,"stale":2,"by_snapshot":1,"by_message":1})").books);
  for (const char* const bad : {R"({"hit":0})", R"({"hit":2,"stale":3})", R"({"hit":2,"refreshed":3})",
                                R"({"hit":2,"by_snapshot":2,"by_message":1})",
                                R"({"hit":4294967295,"by_snapshot":4294967295,"by_message":4294967295})", R"({})"}) {
    const ParsedLine parsed = line(bad);
    EXPECT_FALSE(parsed.books || parsed.gap || parsed.late) << bad;
  }
}

TEST(GapLog, takes_old_days_away_and_leaves_other_files) {
  const testing::Scratch folder;
  GapLog log(folder.path(), 2);
  for (std::uint64_t day = 0; day < 5; ++day) log.add(gap(kNoon - day * kDay, day + 1, 1));
  folder.write("gaps-x.jsonl", "");
  log.clean({.wall_ns = kNoon, .monotonic_ns = kDay});
  EXPECT_EQ(read_gaps(folder.path(), 0).gaps.size(), 3U);
  EXPECT_TRUE(std::filesystem::exists(folder.path("gaps-x.jsonl")));
}

std::vector<std::uint64_t> kept(const testing::Scratch& folder) {
  std::vector<std::uint64_t> firsts;
  for (const GapEntry& entry : read_gaps(folder.path(), 0).gaps) firsts.push_back(entry.first);
  return firsts;
}

TEST(GapLog, a_clock_stepped_forward_removes_no_file_before_its_time) {
  constexpr std::uint64_t kHour = kDay / 24;
  for (const std::uint64_t step : {12 * kHour, 30 * kDay}) {  // 12 hours after noon the next day begins
    const testing::Scratch folder;
    GapLog log(folder.path(), 2);
    for (std::uint64_t day = 0; day < 4; ++day) log.add(gap(kNoon - day * kDay, 10 + day, 1));
    std::uint64_t uptime = 5 * kHour;
    std::uint64_t wall = kNoon;
    log.clean({.wall_ns = wall, .monotonic_ns = uptime});
    EXPECT_THAT(kept(folder), ElementsAre(12, 11, 10));
    wall += step;
    for (int hour = 0; hour < 11; ++hour, wall += kHour, uptime += kHour) {
      log.clean({.wall_ns = wall, .monotonic_ns = uptime});
    }
    EXPECT_THAT(kept(folder), ElementsAre(12, 11, 10)) << "the day is not over: " << step;
    for (int hour = 0; hour < 14; ++hour, wall += kHour, uptime += kHour) {
      log.clean({.wall_ns = wall, .monotonic_ns = uptime});
    }
    EXPECT_THAT(kept(folder), ElementsAre(11, 10)) << "a day has passed: " << step;
    for (int hour = 0; hour < 26; ++hour, wall += kHour, uptime += kHour) {
      log.clean({.wall_ns = wall, .monotonic_ns = uptime});
    }
    EXPECT_THAT(kept(folder), IsEmpty()) << "the step has held for the kept time: " << step;
  }
}

TEST(GapLog, a_clock_stepped_forward_and_back_costs_nothing) {
  const testing::Scratch folder;
  GapLog log(folder.path(), 2);
  for (std::uint64_t day = 0; day < 3; ++day) log.add(gap(kNoon - day * kDay, 10 + day, 1));
  log.clean({.wall_ns = kNoon, .monotonic_ns = kDay});
  log.clean({.wall_ns = kNoon + 30 * kDay + 1, .monotonic_ns = kDay + 1});
  EXPECT_THAT(kept(folder), ElementsAre(12, 11, 10));
  log.clean({.wall_ns = kNoon + 2, .monotonic_ns = kDay + 2});
  EXPECT_THAT(kept(folder), ElementsAre(12, 11, 10));
  log.clean({.wall_ns = kNoon + kDay, .monotonic_ns = 2 * kDay});
  EXPECT_THAT(kept(folder), ElementsAre(11, 10)) << "as late as without the steps";
}

TEST(GapLog, a_clock_stepped_back_keeps_files_for_longer_by_the_step) {
  constexpr std::uint64_t kHour = kDay / 24;
  const testing::Scratch folder;
  GapLog log(folder.path(), 2);
  for (std::uint64_t day = 0; day < 3; ++day) log.add(gap(kNoon - day * kDay, 10 + day, 1));
  log.clean({.wall_ns = kNoon, .monotonic_ns = kDay});
  log.clean({.wall_ns = kNoon + 11 * kHour, .monotonic_ns = kDay + 12 * kHour});  // by an hour
  EXPECT_THAT(kept(folder), ElementsAre(12, 11, 10));
  log.clean({.wall_ns = kNoon + 12 * kHour, .monotonic_ns = kDay + 13 * kHour});
  EXPECT_THAT(kept(folder), ElementsAre(11, 10));
}

TEST(GapLog, says_why_a_part_of_a_line_was_not_written) {
  const testing::Scratch folder;
  GapLog log(folder.path(), 2);
  log.add(gap(kNoon, 1, 1));
  // A file that may not grow by a whole line, as on a disk that is full; an older error is not the reason.
  const auto files = std::filesystem::directory_iterator(folder.path());
  const std::uintmax_t size = std::filesystem::file_size(files->path());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit narrow{size + 5, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &narrow), 0);
  errno = EACCES;
  log.add(gap(kNoon, 2, 1));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_EQ(log.lost(), 1U);
  EXPECT_THAT(log.problem(), HasSubstr("File too large"));
  EXPECT_EQ(std::filesystem::file_size(files->path()), size);
}

TEST(GapLog, counts_what_it_cannot_write_and_goes_on) {
  const testing::Scratch folder;
  GapLog log(folder.path("none"), 2);
  log.add(gap(kNoon, 1, 1));
  EXPECT_EQ(log.lost(), 1U);
  EXPECT_THAT(log.problem(), HasSubstr("No such file"));
  ASSERT_EQ(testing::why(log.prepare()), "");
  log.add(gap(kNoon, 2, 1));
  EXPECT_EQ(log.lost(), 1U);
  EXPECT_EQ(read_gaps(folder.path("none"), 0).gaps.size(), 1U);
}

TEST(GapLog, leaves_damaged_lines_out) {
  const testing::Scratch folder;
  folder.write("gaps-20190404.jsonl", to_json(gap(kNoon, 1, 1)) + "\n{\"time_ns\":1\n[]\n" + std::string(5'000, 'x') +
                                          "\n" + to_json(gap(kNoon, 2, 1)).substr(0, 90));
  const GapHistory history = read_gaps(folder.path(), 0);
  EXPECT_EQ(history.gaps.size(), 1U);
  EXPECT_EQ(history.skipped, 4U);
}

TEST(GapLog, tells_times_and_durations) {
  EXPECT_EQ(os::time_text(kNoon + 1'234'567), "2019-04-04T12:00:00.001234Z");
  EXPECT_EQ(os::time_text(0), "never");
  EXPECT_EQ(os::duration_text(999), "999 ns");
  EXPECT_EQ(os::duration_text(250'000), "250 us");
  EXPECT_EQ(os::duration_text(3'200'000'000), "3.2 s");
  EXPECT_EQ(os::duration_text(7'200'000'000'000), "120 min");
  EXPECT_EQ(range_text(gap(kNoon, 5, 1)), "5");
  EXPECT_EQ(range_text(gap(kNoon, 5, 4)), "5-8");
}

TEST(GapLog, each_call_to_the_disk_fails_in_turn_and_costs_one_entry_at_most) {
  constexpr std::uint64_t kEntries = 6;
  for (const int error : {ENOSPC, EIO, EDQUOT, EROFS, testing::FailingDisk::kShortWrite}) {
    for (std::uint64_t last = 1; last <= 2; ++last) {  // fails once, or twice in a row: taking it back, too
      std::uint64_t n = 0;
      for (bool has_failed = true; has_failed; ++n) {
        SCOPED_TRACE(::testing::Message() << "error " << error << ", call " << n << " and " << last - 1 << " more");
        const testing::Scratch folder;
        GapLog log(folder.path("state"), 7);
        ASSERT_EQ(testing::why(log.prepare()), "");
        testing::FailingDisk disk;
        disk.fails_from = n;
        disk.fails_until = n + last;
        disk.error = error;
        const disk::ReplacedCalls replaced(disk);
        for (std::uint64_t i = 0; i < kEntries; ++i) {
          const std::uint64_t lost = log.lost();
          log.add(gap(kNoon + i, i + 1, 1));
          ASSERT_EQ(log.is_failing(), log.lost() != lost);
        }
        log.clean({.wall_ns = kNoon, .monotonic_ns = kDay});
        has_failed = disk.failures != 0;
        ASSERT_LE(log.lost(), last);
        ASSERT_FALSE(has_failed && n + last < 3 * kEntries && log.lost() == 0);
        const GapHistory history = read_gaps(folder.path("state"), 0);
        // What close says was not kept may be there all the same.
        ASSERT_GE(history.gaps.size() + log.lost(), kEntries);
        ASSERT_LE(history.skipped, log.lost());
      }
      ASSERT_GE(n, 3 * kEntries);
    }
  }
}

TEST(GapLog, goes_on_after_any_part_of_a_line_that_a_loss_of_power_has_left) {
  const std::string line = to_json(gap(kNoon, 1, 1)) + "\n";
  for (const char torn : {'\0', '{'}) {
    for (std::size_t left = 0; left <= line.size(); ++left) {
      SCOPED_TRACE(left);
      const testing::Scratch folder;
      GapLog log(folder.path("state"), 7);
      ASSERT_EQ(testing::why(log.prepare()), "");
      log.add(gap(kNoon, 1, 1));
      std::string path;
      for (const auto& entry : std::filesystem::directory_iterator(folder.path("state"))) path = entry.path();
      {
        std::ofstream file(path, std::ios::app | std::ios::binary);
        file << (torn == '\0' ? std::string(left, torn) : line.substr(0, left));
      }
      log.add(gap(kNoon + 1, 2, 1));
      ASSERT_EQ(log.lost(), 0U);
      const GapHistory history = read_gaps(folder.path("state"), 0);
      ASSERT_GE(history.gaps.size(), 2U);
      ASSERT_EQ(history.gaps.back().first, 2U);
      ASSERT_LE(history.skipped, 1U);
    }
  }
}

}  // namespace stopbit::appliance::gap_log_test
