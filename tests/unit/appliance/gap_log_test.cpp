#include "host/appliance/gap_log.hpp"

#include <gmock/gmock.h>

#include "tests/unit/appliance/fixture.hpp"

namespace stopbit::appliance {
namespace {

using ::testing::HasSubstr;

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
  ASSERT_EQ(log.prepare(), "");
  log.add(gap(kNoon - kDay, 1, 1));
  log.add(gap(kNoon, 10, 3));
  log.add(LateEntry{.time_ns = kNoon + 5, .channel = "seven", .sequence = 12, .late_by_ns = 5, .epoch = 3});
  log.add(LateEntry{.time_ns = kNoon + 5, .channel = "seven", .sequence = 12, .late_by_ns = 5, .epoch = 4});
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

TEST(GapLog, takes_old_days_away_and_leaves_other_files) {
  const testing::Scratch folder;
  GapLog log(folder.path(), 2);
  for (std::uint64_t day = 0; day < 5; ++day) log.add(gap(kNoon - day * kDay, day + 1, 1));
  folder.write("gaps-x.jsonl", "");
  log.clean(kNoon);
  EXPECT_EQ(read_gaps(folder.path(), 0).gaps.size(), 3U);
  EXPECT_TRUE(std::filesystem::exists(folder.path("gaps-x.jsonl")));
}

TEST(GapLog, counts_what_it_cannot_write_and_goes_on) {
  const testing::Scratch folder;
  GapLog log(folder.path("none"), 2);
  log.add(gap(kNoon, 1, 1));
  EXPECT_EQ(log.lost(), 1U);
  EXPECT_THAT(log.problem(), HasSubstr("No such file"));
  ASSERT_EQ(log.prepare(), "");
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
  EXPECT_EQ(time_text(kNoon + 1'234'567), "2019-04-04T12:00:00.001234Z");
  EXPECT_EQ(time_text(0), "never");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(250'000), "250 us");
  EXPECT_EQ(duration_text(3'200'000'000), "3.2 s");
  EXPECT_EQ(duration_text(7'200'000'000'000), "120 min");
  EXPECT_EQ(range_text(gap(kNoon, 5, 1)), "5");
  EXPECT_EQ(range_text(gap(kNoon, 5, 4)), "5-8");
}

}  // namespace
}  // namespace stopbit::appliance
