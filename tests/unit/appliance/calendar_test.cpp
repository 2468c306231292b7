#include "host/appliance/calendar.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <span>

#include "tests/lib/scratch.hpp"

namespace stopbit::appliance::calendar_test {

using ::testing::HasSubstr;

constexpr std::uint64_t kNs = 1'000'000'000;

/// ns of a time in UTC.
std::uint64_t utc(int year, unsigned month, unsigned day, int hours, int minutes) {
  const std::chrono::sys_days date = std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
  return static_cast<std::uint64_t>(date.time_since_epoch().count() * 86'400 + hours * 3'600 + minutes * 60) * kNs;
}

std::shared_ptr<const Calendar> calendar(const std::string& text, const std::string& folder = {}) {
  Diagnostics diagnostics;
  auto read = read_calendar(folder + "/calendar.toml", text, diagnostics).calendar;
  EXPECT_TRUE(read) << diagnostics.format();
  return read;
}

constexpr const char* kBerlin =
    "zone = \"Europe/Berlin\"\n[[session]]\ndays = [\"mon\", \"tue\", \"wed\", \"thu\", \"fri\"]\nfrom = \"09:00\"\n"
    "to = \"17:30\"\n";

class CalendarTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists("/usr/share/zoneinfo/Europe/Berlin")) GTEST_SKIP() << "there is no tzdata";
  }
};

TEST_F(CalendarTest, has_sessions_in_local_time_with_summer_time) {
  const auto berlin = calendar(kBerlin);
  EXPECT_EQ(berlin->open_since(utc(2026, 1, 14, 7, 59)), std::nullopt);
  EXPECT_EQ(berlin->open_since(utc(2026, 1, 14, 8, 0)), utc(2026, 1, 14, 8, 0)) << "UTC+1";
  EXPECT_EQ(berlin->open_since(utc(2026, 1, 14, 16, 29)), utc(2026, 1, 14, 8, 0));
  EXPECT_EQ(berlin->open_since(utc(2026, 1, 14, 16, 30)), std::nullopt);
  EXPECT_EQ(berlin->open_since(utc(2026, 7, 15, 7, 0)), utc(2026, 7, 15, 7, 0)) << "UTC+2";
  EXPECT_EQ(berlin->open_since(utc(2026, 1, 17, 12, 0)), std::nullopt) << "a Saturday";
}

TEST_F(CalendarTest, has_sessions_over_midnight_and_over_the_change_of_clocks) {
  const auto night =
      calendar("zone = \"Europe/Berlin\"\n[[session]]\ndays = [\"sat\"]\nfrom = \"22:00\"\nto = \"06:00\"\n");
  // The night to 2026-03-29 has an hour less.
  EXPECT_EQ(night->open_since(utc(2026, 3, 28, 20, 59)), std::nullopt);
  EXPECT_EQ(night->open_since(utc(2026, 3, 29, 3, 59)), utc(2026, 3, 28, 21, 0));
  EXPECT_EQ(night->open_since(utc(2026, 3, 29, 4, 0)), std::nullopt);
  const auto round = calendar(
      "[[session]]\ndays = [\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"]\nfrom = \"00:00\"\nto = "
      "\"24:00\"\n");
  EXPECT_EQ(round->open_since(utc(2026, 1, 17, 0, 0)), utc(2026, 1, 17, 0, 0));
}

TEST_F(CalendarTest, has_holidays_on_which_no_session_begins) {
  const testing::Scratch folder;
  folder.write("holidays.txt", "# remarks\n2026-01-14 a feast\r\n\n2026-05-01\n");
  const auto berlin = calendar(std::string("holidays = \"holidays.txt\"\n") + kBerlin, folder.path());
  EXPECT_EQ(berlin->open_since(utc(2026, 1, 14, 12, 0)), std::nullopt);
  EXPECT_NE(berlin->open_since(utc(2026, 1, 15, 12, 0)), std::nullopt);
}

TEST_F(CalendarTest, has_holidays_from_a_file_of_its_folder_only) {
  const testing::Scratch folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  for (const auto& [name, what] : std::map<std::string, std::string>{{"../days.txt", "in the folder of the calendar"},
                                                                     {"/etc/hostname", "in the folder of the calendar"},
                                                                     {"pipe", "Invalid argument"}}) {
    Diagnostics diagnostics;
    const std::string text = "holidays = \"" + name + "\"\n" + kBerlin;
    EXPECT_FALSE(read_calendar(folder.path("c.toml"), text, diagnostics).calendar) << name;
    EXPECT_THAT(diagnostics.format(), HasSubstr(what));
  }
}

TEST_F(CalendarTest, refuses_what_makes_no_sense) {
  for (const auto& [text, what] : std::map<std::string, std::string>{
           {"", "session"},
           {"zone = \"Nowhere/Land\"\n[[session]]\ndays = [\"mon\"]\nfrom = \"09:00\"\nto = \"10:00\"\n",
            "no time zone"},
           {"zone = \"../passwd\"\n[[session]]\ndays = [\"mon\"]\nfrom = \"09:00\"\nto = \"10:00\"\n", "no time zone"},
           {"[[session]]\ndays = [\"Monday\"]\nfrom = \"09:00\"\nto = \"10:00\"\n", "must be one of mon"},
           {"[[session]]\ndays = [\"mon\"]\nfrom = \"9:00\"\nto = \"10:00\"\n", "is not a time of day"},
           {"[[session]]\ndays = [\"mon\"]\nfrom = \"09:00\"\nto = \"24:01\"\n", "is not a time of day"},
           {"holidays = \"none.txt\"\n[[session]]\ndays = [\"mon\"]\nfrom = \"09:00\"\nto = \"10:00\"\n",
            "No such file"}}) {
    Diagnostics diagnostics;
    EXPECT_FALSE(read_calendar("/nonexistent/c.toml", text, diagnostics).calendar) << text;
    EXPECT_THAT(diagnostics.format(), HasSubstr(what));
  }
  for (const char* wrong : {"2026-02-29", "2026-1-1", "20260101", "2026-01-01x", "x"}) {
    EXPECT_FALSE(parse_holidays(wrong)) << wrong;
  }
}

/// A file of version 2 with one change to an offset of an hour, and a rule after it.
std::string zone_file(std::int64_t from_s, const std::string& rule) {
  const auto number = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = bytes; i-- > 0;) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  const auto head = [&](std::uint64_t changes, std::uint64_t types) {
    return "TZif2" + std::string(15, '\0') + number(0, 12) + number(changes, 4) + number(types, 4) + number(0, 4);
  };
  const std::string types = number(0, 6) + number(3'600, 4) + number(0, 2);
  return head(0, 0) + head(1, 2) + number(static_cast<std::uint64_t>(from_s), 8) + number(1, 1) + types + "\n" + rule +
         "\n";
}

TEST(Zone, tells_where_a_file_leaves_the_offset_to_a_rule_that_is_not_read) {
  constexpr std::int64_t kChange = 846'378'000;  // 1996, as in files without the changes that a rule gives
  const auto parsed = [&](const std::string& rule) {
    const std::string file = zone_file(kChange, rule);
    return os::Zone::parse(std::as_bytes(std::span(file))).value();
  };
  const os::Zone slim = parsed("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_EQ(slim.offset_at(kChange), 3'600);
  EXPECT_FALSE(slim.is_left_to_rule(kChange));
  EXPECT_TRUE(slim.is_left_to_rule(kChange + 1));
  EXPECT_FALSE(parsed("MSK-3").is_left_to_rule(kChange + 1)) << "no summer time";
  EXPECT_FALSE(parsed("").is_left_to_rule(kChange + 1));
}

TEST(Zone, refuses_files_that_are_cut) {
  std::string bytes;
  if (!std::filesystem::exists("/usr/share/zoneinfo/Europe/Berlin")) GTEST_SKIP() << "there is no tzdata";
  std::FILE* const file = std::fopen("/usr/share/zoneinfo/Europe/Berlin", "rb");
  ASSERT_NE(file, nullptr);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) bytes += static_cast<char>(c);
  std::fclose(file);
  const auto all = std::as_bytes(std::span(bytes));
  ASSERT_TRUE(os::Zone::parse(all));
  const std::size_t footer = bytes.rfind('\n', bytes.size() - 2);
  for (std::size_t size = 0; size < footer; ++size) ASSERT_FALSE(os::Zone::parse(all.first(size))) << size;
}

}  // namespace stopbit::appliance::calendar_test
