#include "host/nic/notify/events.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "host/nic/notify/ring.hpp"
#include "tests/unit/nic/fixture.hpp"
#include "tests/unit/nic/interleavings.hpp"

namespace stopbit::nic {
namespace {

using namespace std::chrono_literals;

/// STOPBIT_SCHEDULES=100000000 for the long run.
std::uint64_t schedules(std::uint64_t otherwise) {
  const char* const text = std::getenv("STOPBIT_SCHEDULES");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// The node signals event 1 so often.
Machine::Thread node(std::uint64_t times, std::size_t events = 1) {
  return [times, events](Machine& machine) {
    std::uint64_t doorbell = 0;
    for (std::uint64_t i = 1; i <= times; ++i) {
      for (std::size_t event = 1; event <= events; ++event) signal_event(machine, event, i, doorbell);
    }
  };
}

/// The port sleeps until it has seen all of them.
Machine::Thread sleeper(std::size_t event, std::uint64_t times) {
  return [event, times](Machine& machine) {
    for (std::uint64_t seen = 0; seen != times;) {
      (void)await_event(machine, event, seen, 0);
      const std::uint64_t count = machine.load(EventLayout::signals(event));
      if (count <= seen || count > times) machine.fail("woken for nothing");
      seen = count;
    }
  };
}

/// The port is called for each of them.
Machine::Thread dispatcher(std::uint64_t times, std::size_t events = 1) {
  return [times, events](Machine& machine) {
    std::uint64_t taken[EventLayout::kEvents] = {};
    std::uint64_t calls = 0;
    for (std::size_t event = 1; event <= events; ++event) arm_event(machine, event);
    while (calls < times * events) {
      const std::uint64_t seen = machine.load(EventLayout::signals(EventLayout::kDoorbell));
      const std::size_t made = dispatch_events(machine, taken, [&](std::size_t) { ++calls; });
      if (calls == times * events || made != 0) continue;
      (void)await_event(machine, EventLayout::kDoorbell, seen, 0);
    }
    if (calls != times * events) machine.fail("a handler was called too often");
  };
}

TEST(EventProtocol, loses_no_wake_up_of_a_sleeper_in_any_order_of_steps) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "sanitizers do not follow stacks that change";
  const Exploration result = explore_all(false, [] { return std::vector<Machine::Thread>{node(2), sleeper(1, 2)}; });
  EXPECT_EQ(result.failure, "");
  EXPECT_GT(result.orders, 500U);
  std::printf("%llu orders\n", static_cast<unsigned long long>(result.orders));
}

TEST(EventProtocol, calls_a_handler_once_for_each_event_in_any_order_of_steps) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "sanitizers do not follow stacks that change";
  const Exploration result = explore_all(false, [] { return std::vector<Machine::Thread>{node(1), dispatcher(1)}; });
  EXPECT_EQ(result.failure, "");
  EXPECT_GT(result.orders, 500U);
  std::printf("%llu orders\n", static_cast<unsigned long long>(result.orders));
}

TEST(EventProtocol, loses_nothing_with_sleepers_and_a_dispatcher_in_random_orders) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "sanitizers do not follow stacks that change";
  const Exploration result = explore_random(false, 1, schedules(2'000), [] {
    return std::vector<Machine::Thread>{node(3, 2), sleeper(1, 3), sleeper(2, 3), dispatcher(3, 2)};
  });
  EXPECT_EQ(result.failure, "");
}

/// The explorer finds what it is there for: with stores that wait in the processor, both sides look before the other's
/// store is out.
TEST(EventProtocol, needs_its_stores_in_sequence) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "sanitizers do not follow stacks that change";
  EXPECT_EQ(explore_all(true,
                        [] {
                          return std::vector<Machine::Thread>{node(2), sleeper(1, 2)};
                        })
                .failure,
            "somebody sleeps for ever");
}

/// And a sleeper that looks first and announces itself then is not woken.
TEST(EventProtocol, needs_the_sleeper_to_be_announced_before_it_looks) {
  if (!kCanSwitchStacks) GTEST_SKIP() << "sanitizers do not follow stacks that change";
  const Machine::Thread hasty = [](Machine& machine) {
    if (machine.load(EventLayout::signals(1)) != 0) return;
    (void)machine.wait(EventLayout::signals(1), 0, 0);
  };
  EXPECT_EQ(explore_all(false,
                        [&] {
                          return std::vector<Machine::Thread>{node(1), hasty};
                        })
                .failure,
            "somebody sleeps for ever");
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

}  // namespace
}  // namespace stopbit::nic
