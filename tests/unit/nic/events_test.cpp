#include "host/nic/notify/events.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "host/nic/notify/ring.hpp"
#include "tests/lib/nic/fixture.hpp"
#include "tests/nic/models/event_model.hpp"

namespace stopbit::nic::events_test {

using namespace std::chrono_literals;

using event_model::bit_of;
using event_model::explore;
using event_model::Fault;
using event_model::Findings;
using event_model::Scenario;
using event_model::Step;
using event_model::Steps;
using event_model::wander;

/// One or two signals of event 1, or of events 1 and 2.
const Scenario kSleeper{{1, 1}, {{1, 2}}, {}, 1};
const Scenario kHandler{{1, 1}, {}, {{1}}, 1};
const Scenario kHandlerOfTwo{{1, 2}, {}, {{2}}, 0};

void expect_sound(const char* name, const Scenario& scenario, Steps weakened = 0) {
  const Findings result = explore(scenario, weakened);
  EXPECT_EQ(result.failure, "") << name;
  EXPECT_GT(result.ends, 0U) << name;
  std::printf("%s: %llu states\n", name, static_cast<unsigned long long>(result.states));
}

TEST(EventModel, loses_no_wake_up_of_a_sleeper) {
  expect_sound("a sleeper, 3 events", {{1, 1, 1}, {{1, 3}}, {}, 2});
  expect_sound("two sleepers of one event", {{1, 1}, {{1, 2}, {1, 2}}, {}, 1});
  expect_sound("two sleepers of two events", {{1, 2, 1, 2}, {{1, 2}, {2, 2}}, {}, 0});
}

TEST(EventModel, calls_a_handler_once_for_each_event) {
  expect_sound("a handler, 3 events", {{1, 1, 1}, {}, {{1}}, 2});
  expect_sound("a handler of two events", {{1, 2, 1}, {}, {{2}}, 1});
}

TEST(EventModel, calls_a_handler_that_was_taken_away_again_when_it_is_armed_again) {
  expect_sound("a handler, taken away and armed again", {{1, 1, 1}, {}, {{1, false, false, true}}, 1});
  expect_sound("the same of two events", {{1, 2, 1}, {}, {{2, false, false, true}}, 0});
}

TEST(EventModel, gives_watched_events_once_each) {
  expect_sound("a loop, 3 events", {{1, 1, 1}, {}, {{1, false, true}}, 1});
  expect_sound("a loop of two events", {{1, 2, 1}, {}, {{2, false, true}}, 1});
  expect_sound("a loop of two events and a sleeper", {{1, 2}, {{1, 1}}, {{2, false, true}}, 0});
  expect_sound("closed before its loop has all", {{1, 2}, {{2, 2, true}}, {{2, true, true}}, 0});
}

TEST(EventModel, keeps_sleepers_and_a_handler_apart) {
  expect_sound("a sleeper and a handler", {{2, 1, 2}, {{2, 2}}, {{1}}, 1});
  expect_sound("two sleepers and a handler", {{1, 2}, {{1, 1}, {2, 1}}, {{2}}, 0});
}

/// The node stops in the middle, or the port's threads do.
TEST(EventModel, comes_to_an_end_when_the_port_is_closed) {
  expect_sound("closed before its sleepers have all", {{1, 1}, {{1, 3, true}, {1, 2, true}}, {}, 1});
  expect_sound("closed before its handler has all", {{1, 2, 1}, {{2, 2, true}}, {{2, true}}, 0});
}

// The faults that the model must find.

/// On either side of each meeting, a store before the load that follows: node and sleeper (helped by the futex,
/// which is a fence), node and arming thread, node and dispatcher (helped, too).
constexpr std::array kNeeded = {Step::StoreCount, Step::LoadSleepers,     Step::LoadArmed, Step::Arm,
                                Step::StoreBell,  Step::LoadBellSleepers, Step::LoadCalls};

TEST(EventModel, needs_its_accesses_in_sequence) {
  for (const Step step : kNeeded) {
    const bool is_found = !explore(kSleeper, bit_of(step)).failure.empty() ||
                          !explore(kHandler, bit_of(step)).failure.empty() ||
                          !explore(kHandlerOfTwo, bit_of(step)).failure.empty();
    EXPECT_TRUE(is_found) << static_cast<int>(step);
  }
}

/// All others could be acquiring and releasing, at once: stores that wait, and loads that see old values, change
/// nothing.
TEST(EventModel, bears_delayed_stores_and_old_values_elsewhere) {
  Steps others = (Steps{1} << event_model::kSteps) - 1;
  for (const Step step : kNeeded) others &= ~bit_of(step);
  expect_sound("a sleeper", kSleeper, others);
  expect_sound("two sleepers", {{1, 1}, {{1, 2}, {1, 1}}, {}, 0}, others);
  expect_sound("a handler", kHandler, others);
  expect_sound("a handler of two events", kHandlerOfTwo, others);
  expect_sound("a loop of two events", {{1, 2}, {}, {{2, false, true}}, 0}, others);
}

TEST(EventModel, needs_the_sleeper_to_be_announced) {
  EXPECT_EQ(explore(kSleeper, 0, Fault::NoAnnounce).failure, "somebody sleeps although it has happened");
}

TEST(EventModel, needs_the_bell_to_be_read_before_the_events_are_looked_at) {
  EXPECT_NE(explore(kHandler, 0, Fault::LateBell).failure, "");
}

TEST(EventModel, needs_arming_to_look_at_what_was_before) {
  EXPECT_NE(explore(kHandler, 0, Fault::NoLookAgain).failure, "");
}

TEST(EventModel, keeps_its_promises_in_random_schedules_and_breaks_them_with_weaker_stores) {
  const Scenario all{{1, 2, 1, 2, 1, 2}, {{1, 3}, {2, 3}}, {{2}}, 2};
  const Findings result = wander(all, 1, 20'000);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(wander({{1, 2, 1, 2, 1, 2}, {{1, 3}, {2, 3}}, {{2, false, true}}, 2}, 2, 20'000).failure, "");
  EXPECT_EQ(result.states, 20'000U);
  EXPECT_NE(wander(all, 1, 20'000, bit_of(Step::StoreCount)).failure, "");
}

TEST(Events, are_counted_and_taken_one_by_one) {
  PageMemory memory;
  EventSource source(memory.page());
  EventCounters counters(memory.page());
  EXPECT_FALSE(counters.poll(5));
  EXPECT_TRUE(source.signal(5));
  EXPECT_TRUE(source.signal(5));
  EXPECT_TRUE(source.signal(63));
  EXPECT_EQ(counters.pending(5), 2U);
  EXPECT_TRUE(counters.poll(5));
  EXPECT_TRUE(counters.spin(5, 0ns));
  EXPECT_FALSE(counters.poll(5));
  EXPECT_TRUE(counters.wait(63, 0ns));
  EXPECT_TRUE(source.signal(0)) << "none is no fault";
  EXPECT_FALSE(source.signal(64));
  EXPECT_FALSE(source.signal(~std::uint64_t{0}));
  EXPECT_FALSE(counters.spin(5, 1ms));
  EXPECT_FALSE(counters.wait(5, 1ms)) << "nothing happens, and it comes back";
}

TEST(Events, are_waited_for_longer_than_a_clock_can_count) {
  PageMemory memory;
  EventSource source(memory.page());
  EventCounters counters(memory.page());
  // Some of the signals come when the wait has begun, as threads take their time to start.
  for (int i = 0; i < 100; ++i) {
    std::thread signalling([&] { EXPECT_TRUE(source.signal(1)); });
    EXPECT_TRUE(i % 2 == 0 ? counters.wait(1, std::chrono::nanoseconds::max())
                           : counters.spin(1, std::chrono::nanoseconds::max()));
    signalling.join();
  }
}

TEST(Events, wake_a_sleeping_thread_and_call_handlers_once_for_each) {
  PageMemory memory;
  EventSource source(memory.page());
  EventCounters counters(memory.page());
  constexpr std::uint64_t kTimes = 4'000;
  std::uint64_t waited = 0;
  std::uint64_t called = 0;
  counters.arm(2, [&](std::size_t event) { called += event / 2; });
  std::thread sleeper([&] {
    while (waited < kTimes && counters.wait(1, 10s)) ++waited;
  });
  std::thread dispatching([&] {
    while (called < kTimes && counters.dispatch(10s) != 0) {
    }
  });
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    EXPECT_TRUE(source.signal(1));
    EXPECT_TRUE(source.signal(2));
    if (i % 64 == 0) std::this_thread::yield();
  }
  sleeper.join();
  dispatching.join();
  EXPECT_EQ(waited, kTimes);
  EXPECT_EQ(called, kTimes);
}

TEST(Events, of_before_the_handler_was_armed_reach_it_too) {
  PageMemory memory;
  EventSource source(memory.page());
  EventCounters counters(memory.page());
  EXPECT_TRUE(source.signal(7));
  EXPECT_TRUE(source.signal(7));
  std::uint64_t called = 0;
  counters.arm(7, [&](std::size_t) { ++called; });
  EXPECT_EQ(counters.dispatch(), 2U);
  EXPECT_EQ(called, 2U);
  EXPECT_EQ(counters.dispatch(1ms), 0U);
}

TEST(Events, of_a_handler_that_was_taken_away_can_be_polled_and_reach_the_next_handler) {
  PageMemory memory;
  EventSource source(memory.page());
  EventCounters counters(memory.page());
  std::uint64_t called = 0;
  counters.arm(7, [&](std::size_t) {
    if (++called == 2) counters.disarm(7);
  });
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(source.signal(7));
  EXPECT_EQ(counters.dispatch(), 2U) << "the handler has taken itself away";
  EXPECT_TRUE(source.signal(7));
  EXPECT_EQ(counters.dispatch(), 0U);
  EXPECT_EQ(counters.dispatch(1ms), 0U) << "nobody rings for it";
  EXPECT_EQ(counters.pending(7), 4U);
  EXPECT_TRUE(counters.poll(7));
  counters.arm(7, [&](std::size_t) { called += 10; });
  EXPECT_EQ(counters.dispatch(), 3U);
  EXPECT_EQ(called, 32U);
}

TEST(Events, that_are_watched_come_in_turn_and_each_once) {
  PageMemory memory;
  EventSource source(memory.page());
  EventCounters counters(memory.page());
  EXPECT_EQ(counters.next(), 0U);
  EXPECT_TRUE(source.signal(3));
  for (const std::size_t event : {3U, 5U, 63U}) counters.watch(event);
  std::uint64_t called = 0;
  counters.arm(9, [&](std::size_t) { ++called; });
  for (const std::size_t event : {3U, 5U, 63U, 9U}) EXPECT_TRUE(source.signal(event));
  EXPECT_TRUE(source.signal(20)) << "nobody watches it";
  const std::size_t expected[] = {3, 5, 63, 3, 0};
  for (const std::size_t event : expected) EXPECT_EQ(counters.next(), event);
  EXPECT_EQ(counters.dispatch(), 1U) << "the handler's event was left to it";
  EXPECT_TRUE(source.signal(5));
  EXPECT_TRUE(source.signal(9));
  EXPECT_EQ(counters.dispatch(), 1U);
  EXPECT_EQ(counters.next(), 5U) << "and the watched one was left to next";
  EXPECT_EQ(counters.next(1ms), 0U);
  EXPECT_TRUE(source.signal(5));
  counters.disarm(5);
  EXPECT_EQ(counters.next(), 0U);
  EXPECT_EQ(counters.pending(5), 1U);
  EXPECT_EQ(called, 2U);
}

TEST(Events, that_are_watched_wake_a_sleeping_thread_once_for_each) {
  PageMemory memory;
  EventSource source(memory.page());
  EventCounters counters(memory.page());
  constexpr std::uint64_t kTimes = 4'000;
  std::array<std::uint64_t, EventLayout::kEvents> got{};
  counters.watch(1);
  counters.watch(40);
  std::thread reader([&] {
    for (std::uint64_t i = 0; i < 2 * kTimes; ++i) {
      const std::size_t event = counters.next(10s);
      if (event == 0) break;
      ++got[event];
    }
  });
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    EXPECT_TRUE(source.signal(1));
    EXPECT_TRUE(source.signal(40));
    if (i % 64 == 0) std::this_thread::yield();
  }
  reader.join();
  EXPECT_EQ(got[1], kTimes);
  EXPECT_EQ(got[40], kTimes);
  EXPECT_EQ(counters.next(), 0U);
}

TEST(NotificationRing, drops_and_counts_when_the_port_does_not_read) {
  PageMemory memory;
  NotificationWriter writer(memory.page());
  NotificationReader reader(memory.page());
  Notification told;
  for (std::uint64_t i = 0; i < 100; ++i) {
    Notification notification;
    notification.tag = i;
    EXPECT_EQ(writer.put(notification), i < PageLayout::kNotifications);
  }
  EXPECT_EQ(memory.page().word(PageWord::DroppedNotifications).load(), 36U);
  for (std::uint64_t i = 0; i < PageLayout::kNotifications; ++i) {
    ASSERT_TRUE(reader.take(told));
    EXPECT_EQ(told.tag, i);
  }
  EXPECT_FALSE(reader.take(told));
  EXPECT_TRUE(writer.put({}));
  EXPECT_TRUE(reader.take(told));
}

TEST(NotificationRing, survives_nonsense_in_the_page) {
  PageMemory memory;
  NotificationWriter writer(memory.page());
  std::mt19937_64 random(3);
  for (int i = 0; i < 10'000; ++i) {
    memory.page().word(PageWord::NotificationsRead).store(random());
    (void)writer.put({});
  }
  EXPECT_LE(writer.written(), 10'000U);
}

}  // namespace stopbit::nic::events_test
