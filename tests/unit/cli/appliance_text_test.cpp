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

TEST(Card, is_shown_with_each_channel_that_it_has_or_has_had) {
  appliance::StatusReport status;
  status.channels.resize(3);
  EXPECT_THAT(stat_text(status), Not(HasSubstr("Channels of the card")));
  status.channels[0].name = "always in software";
  status.channels[1].name = "given back";
  status.channels[1].card_packets = 4'711;
  status.channels[1].card_lost = 2'345;
  status.channels[2].name = "on it";
  status.channels[2].on_card = 1;
  const std::string text = stat_text(status);
  const std::size_t begin = text.find("\nChannels of the card\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string of_card = text.substr(begin, text.find("\n\n", begin + 1) - begin);
  EXPECT_THAT(of_card, HasSubstr("given back"));
  EXPECT_THAT(of_card, HasSubstr("4,711"));
  EXPECT_THAT(of_card, HasSubstr("2,345"));
  EXPECT_THAT(of_card, HasSubstr("on it"));
  EXPECT_THAT(of_card, Not(HasSubstr("always in software")));
}

}  // namespace stopbit::tools::appliance_text_test
