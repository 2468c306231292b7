// What the log says of books that do not become right in time. The test is the agent: it sets the counters.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/appliance/calendar.hpp"
#include "host/appliance/housekeeper.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/why.hpp"

namespace stopbit::appliance::book_alarms_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kSecond = 1'000'000'000;

class Watched {
 public:
  explicit Watched(const std::string& more = "", const std::function<void(Settings&)>& change = {}) {
    one_.emplace(test::map_of_ticks(folder_), more, change);
    keeper_.emplace(*one_->made, one_->clocks(), [this](const Change& told) {
      const std::string line = to_text(told);
      for (const char* const of_books : {"books stale", "books right", "snapshots", "contradicted"}) {
        if (line.find(of_books) != std::string::npos) log_.push_back(std::string(to_text(told.level)) + " " + line);
      }
    });
    EXPECT_EQ(testing::why(keeper_->prepare()), "");
    (void)look();
  }
  MarketCounterSet& counters() { return one_->made->outputs()[0]->market_counter_set(); }
  /// What the log says half a second later.
  std::vector<std::string> look(std::uint64_t later_ns = kSecond / 2) {
    one_->now += later_ns;
    keeper_->step();
    return std::exchange(log_, {});
  }

 private:
  testing::Scratch folder_;
  std::optional<test::OneChannel> one_;
  std::optional<Housekeeper> keeper_;
  std::vector<std::string> log_;
};

TEST(BookAlarms, tell_once_of_a_book_that_is_stale_for_too_long) {
  Watched watched;
  watched.counters().stale.set(3);
  watched.counters().stale_for_ns.set(kSecond);
  EXPECT_THAT(watched.look(), ElementsAre()) << "no limit is known";
  watched.counters().stale_limit_ns.set(kSecond);
  EXPECT_THAT(watched.look(), ElementsAre()) << "not longer than the limit";
  watched.counters().stale_for_ns.set(kSecond + 1);
  EXPECT_THAT(watched.look(), ElementsAre(AllOf(HasSubstr("warning what=\"books stale\""), HasSubstr("books=3"),
                                                HasSubstr("limit=\"1 s\""))));
  watched.counters().stale_for_ns.set(2 * kSecond);
  EXPECT_THAT(watched.look(), ElementsAre()) << "it is known";
  watched.counters().stale_for_ns.set(0);
  EXPECT_THAT(watched.look(), ElementsAre(HasSubstr("info what=\"books right again\"")));
}

TEST(BookAlarms, tell_of_snapshots_that_take_longer_than_one_and_a_half_cycles) {
  Watched watched;
  (void)watched.look(100 * kSecond);
  watched.counters().cycle_ns.set(100 * kSecond);
  EXPECT_THAT(watched.look(), ElementsAre()) << "nothing is announced";
  watched.counters().announced_cycle_ns.set(20 * kSecond);
  watched.counters().cycle_ns.set(30 * kSecond);
  EXPECT_THAT(watched.look(), ElementsAre());
  watched.counters().cycle_ns.set(30 * kSecond + 1);
  EXPECT_THAT(watched.look(),
              ElementsAre(AllOf(HasSubstr("warning what=\"snapshots late\""), HasSubstr("announced=\"20 s\""))));
  EXPECT_THAT(watched.look(), ElementsAre());
  watched.counters().cycle_ns.set(20 * kSecond);
  EXPECT_THAT(watched.look(), ElementsAre(HasSubstr("info what=\"snapshots in time\"")));
}

TEST(BookAlarms, tell_of_contradictions_and_not_of_a_lack_of_room) {
  Watched watched;
  watched.counters().faults[static_cast<std::size_t>(market::Fault::Room)].set(7);
  watched.counters().faults[static_cast<std::size_t>(market::Fault::NoBook)].set(7);
  EXPECT_THAT(watched.look(), ElementsAre());
  watched.counters().faults[static_cast<std::size_t>(market::Fault::Disorder)].set(2);
  watched.counters().faults[static_cast<std::size_t>(market::Fault::Twice)].set(1);
  EXPECT_THAT(watched.look(), ElementsAre(AllOf(HasSubstr("error what=\"books contradicted\""), HasSubstr("all=3"))));
}

TEST(BookAlarms, are_silent_while_the_market_is_closed) {
  // The clock begins at midnight of a Thursday, UTC.
  Watched watched("", [](Settings& settings) {
    Diagnostics diagnostics;
    settings.feeds[0].calendar = read_calendar("calendar.toml",
                                               "zone = \"UTC\"\n[[session]]\ndays = [\"thu\"]\n"
                                               "from = \"10:00\"\nto = \"18:00\"\n",
                                               diagnostics)
                                     .calendar;
    ASSERT_TRUE(settings.feeds[0].calendar) << diagnostics.format();
  });
  watched.counters().stale_limit_ns.set(kSecond);
  watched.counters().stale_for_ns.set(5 * kSecond);
  watched.counters().announced_cycle_ns.set(kSecond);
  watched.counters().cycle_ns.set(5 * kSecond);
  EXPECT_THAT(watched.look(), ElementsAre());
  EXPECT_EQ(watched.look(10 * 3'600 * kSecond).size(), 1U) << "it has opened";
}

TEST(BookAlarms, do_not_take_the_pause_for_a_cycle_of_snapshots) {
  Watched watched("", [](Settings& settings) {
    Diagnostics diagnostics;
    settings.feeds[0].calendar = read_calendar("calendar.toml",
                                               "zone = \"UTC\"\n[[session]]\ndays = [\"thu\"]\n"
                                               "from = \"10:00\"\nto = \"18:00\"\n",
                                               diagnostics)
                                     .calendar;
    ASSERT_TRUE(settings.feeds[0].calendar) << diagnostics.format();
  });
  constexpr std::uint64_t kPause = 10 * 3'600 * kSecond;
  watched.counters().announced_cycle_ns.set(20 * kSecond);
  watched.counters().cycle_ns.set(kPause);
  EXPECT_THAT(watched.look(kPause), ElementsAre()) << "it has opened";
  EXPECT_THAT(watched.look(19 * kSecond), ElementsAre()) << "the first one has begun, the last whole one has the pause";
  watched.counters().cycle_ns.set(20 * kSecond);
  EXPECT_THAT(watched.look(20 * kSecond), ElementsAre());
  watched.counters().cycle_ns.set(31 * kSecond);
  EXPECT_THAT(watched.look(31 * kSecond), ElementsAre(HasSubstr("snapshots late")));
}

TEST(BookAlarms, tell_of_snapshots_that_do_not_come_after_the_opening) {
  Watched watched;
  watched.counters().announced_cycle_ns.set(20 * kSecond);
  watched.counters().cycle_ns.set(3'600 * kSecond);
  EXPECT_THAT(watched.look(59 * kSecond), ElementsAre());
  EXPECT_THAT(watched.look(2 * kSecond), ElementsAre(HasSubstr("snapshots late")));
}

}  // namespace stopbit::appliance::book_alarms_test
