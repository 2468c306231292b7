#include "host/cli/common/appliance_text.hpp"

#include <gmock/gmock.h>

namespace stopbit::tools::appliance_text_test {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kHour = 3'600 * kSecond;

appliance::StatusReport status_at(const appliance::Now& now, std::uint64_t messages) {
  appliance::StatusReport status;
  status.now_ns = now.wall_ns;
  status.monotonic_ns = now.monotonic_ns;
  status.channels.resize(1);
  status.channels[0].name = "seven";
  status.channels[0].messages = messages;
  return status;
}

TEST(Screen, has_rates_by_the_clock_that_is_never_stepped) {
  const appliance::StatusReport before = status_at({.wall_ns = 10 * kHour, .monotonic_ns = kSecond}, 1'000);
  for (const std::uint64_t wall : {9 * kHour, 10 * kHour, 10 * kHour + 2 * kSecond, 11 * kHour}) {
    const appliance::StatusReport now = status_at({.wall_ns = wall, .monotonic_ns = 3 * kSecond}, 1'500);
    EXPECT_THAT(screen_text(now, before, 80, 24), HasSubstr("      0    250     0 ")) << wall;
  }
}

TEST(Head, has_the_time_since_the_start_by_the_clock_that_is_never_stepped) {
  for (const std::uint64_t wall : {kHour, 10 * kHour}) {
    appliance::StatusReport status = status_at({.wall_ns = wall, .monotonic_ns = 3 * kSecond}, 1);
    status.started_ns = 2 * kHour;
    status.running_ns = 90 * kSecond;
    EXPECT_THAT(screen_text(status, status, 80, 24), HasSubstr("for 00:01:30")) << wall;
  }
}

TEST(Screen, of_one_reading_has_no_rates) {
  const appliance::StatusReport once = status_at({.wall_ns = kHour, .monotonic_ns = kSecond}, 1'000);
  EXPECT_THAT(screen_text(once, once, 80, 24), HasSubstr("      -      -     0 "));
}

TEST(Books, are_shown_if_a_channel_has_a_map) {
  appliance::StatusReport status = status_at({.wall_ns = kHour, .monotonic_ns = kSecond}, 1'000);
  EXPECT_THAT(ready_text(status), Not(HasSubstr("instruments")));
  EXPECT_THAT(screen_text(status, status, 80, 24), Not(HasSubstr("instruments")));

  status.markets.resize(2);
  status.markets[0].name = "cme-events";
  status.markets[0].instruments = 12'000;
  status.markets[0].books = 7;
  status.markets[0].latest = 4;
  status.markets[0].suspect = 2;
  status.markets[0].stale = 1;
  status.markets[1] = status.markets[0];
  EXPECT_THAT(ready_text(status), HasSubstr("cme-events"));
  EXPECT_THAT(ready_text(status), HasSubstr("12,000"));
  EXPECT_THAT(screen_text(status, status, 80, 24),
              HasSubstr("24,000 instruments; 14 books: 8 latest, 4 suspect, 2 stale"));
  EXPECT_THAT(stat_text(status), HasSubstr("Instruments and books"));
}

}  // namespace stopbit::tools::appliance_text_test
