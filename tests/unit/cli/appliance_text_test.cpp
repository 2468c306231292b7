#include "host/cli/common/appliance_text.hpp"

#include <gmock/gmock.h>

namespace stopbit::tools::appliance_text_test {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kHour = 3'600 * kSecond;

TEST(Head, has_the_time_since_the_start_by_the_clock_that_is_never_stepped) {
  for (const std::uint64_t wall : {kHour, 10 * kHour}) {
    appliance::StatusReport status;
    status.now_ns = wall;
    status.monotonic_ns = 3 * kSecond;
    status.started_ns = 2 * kHour;
    status.running_ns = 90 * kSecond;
    EXPECT_THAT(head_line(status), HasSubstr("for 00:01:30")) << wall;
  }
}

TEST(Books, are_shown_if_a_channel_has_a_map) {
  appliance::StatusReport status;
  EXPECT_THAT(ready_text(status), Not(HasSubstr("instruments")));

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
  EXPECT_THAT(stat_text(status), HasSubstr("Instruments and books"));
}

}  // namespace stopbit::tools::appliance_text_test
