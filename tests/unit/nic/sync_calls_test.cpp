// The calls of locks, queues, semaphores, monitors and barriers that wait: threads with ports of their own at two
// nodes, over memory and over a bad network; and processes that are killed.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "host/nic/node/broker.hpp"
#include "host/nic/node/client.hpp"
#include "host/nic/sync/barrier.hpp"
#include "host/nic/sync/sync.hpp"
#include "host/os/clock.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/nic/carrier.hpp"

namespace stopbit::nic::sync_calls_test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kNodes = 2;
constexpr std::uint8_t kFirstEvent = 5;
constexpr auto kLimit = 120s;  // for what must happen; a machine may be slow

/// Two nodes with their brokers, stepped by one thread.
class Cluster {
 public:
  Cluster(const Carrier& carrier, const testing::Scratch& scratch) : network_(carrier.connect(kNodes)) {
    for (NodeId i = 0; i < kNodes; ++i) {
      NodeOptions options;
      options.ports = 64;
      options.link.silence_ns = 600'000'000'000;  // this thread may not be run for long
      nodes_.push_back(std::make_unique<Node>(network_->port(i), options));
      BrokerOptions how;
      how.socket = socket(scratch, i);
      how.entitlements = {{}};
      how.entitlements[0].ports = 32;
      Result<std::unique_ptr<Broker>> opened = Broker::open(*nodes_[i], how);
      if (!opened) throw std::runtime_error(opened.message());
      brokers_.push_back(std::move(opened).value());
    }
    thread_ = std::thread([this] {
      for (std::uint64_t round = 0; !is_over_; ++round) {
        const std::uint64_t now = os::monotonic_clock_ns();
        network_->set_time(now);
        std::size_t work = 0;
        is_still_ = is_paused_.load();
        for (const auto& node : nodes_) {
          if (!is_still_ || node != nodes_.front()) work += node->step(now);
        }
        if (round % 16 == 0) {
          for (const auto& broker : brokers_) work += broker->step();
        }
        if (work == 0) ::sched_yield();
      }
    });
  }
  ~Cluster() {
    is_over_ = true;
    thread_.join();
  }
  /// Nothing happens at the first node from now on.
  void pause() {
    is_paused_ = true;
    while (!is_still_) ::usleep(100);
  }
  void go_on() { is_paused_ = false; }
  static std::string socket(const testing::Scratch& scratch, std::size_t node) {
    return scratch.path("broker" + std::to_string(node));
  }

 private:
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Broker>> brokers_;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> is_paused_ = false;
  std::atomic<bool> is_still_ = false;
  std::thread thread_;
};

/// A port with words for some objects.
struct Seat {
  Seat(const std::string& socket, const SyncPatience& how) : patience(how) {
    Result<std::unique_ptr<Client>> opened = Client::open(socket, 64, 60'000);
    if (!opened) throw std::runtime_error(opened.message());
    client = std::move(opened).value();
    Result<SharedRegion> region = client->share(kPageBytes, Access::ReadWrite);
    if (!region) throw std::runtime_error(region.message());
    memory = std::move(region).value();
    Result<WindowName> opened_window = client->open_window(memory.address, kPageBytes, Access::ReadWrite);
    if (!opened_window) throw std::runtime_error(opened_window.message());
    window = opened_window.value();
    events.emplace(client->page());
    port.emplace(client->node(), client->queue(CommandRing::Transfer), client->notifications(), *events);
  }
  [[nodiscard]] SyncPlace place(std::size_t object) const {
    return {client->node(), client->vpid(), window, object * kMemberWords * sizeof(std::uint64_t)};
  }
  [[nodiscard]] std::uint64_t* words(std::size_t object) const {
    return reinterpret_cast<std::uint64_t*>(memory.memory.span().data()) + object * kMemberWords;
  }
  [[nodiscard]] std::span<std::uint64_t, kMemberWords> member_words(std::size_t object) const {
    return std::span<std::uint64_t, kMemberWords>(words(object), kMemberWords);
  }
  [[nodiscard]] SyncMember member(std::size_t object) const {
    return {place(object), static_cast<std::uint8_t>(kFirstEvent + object)};
  }

  SyncPatience patience;
  std::unique_ptr<Client> client;
  SharedRegion memory;
  WindowName window;
  std::optional<EventCounters> events;
  std::optional<SyncPort> port;
};

/// Some members with seats at the two nodes in turn, and the objects' home.
class Calls : public ::testing::TestWithParam<const char*> {
 protected:
  Calls() {
    for (const Carrier& carrier : carriers()) {
      if (carrier.name == GetParam()) cluster.emplace(carrier, scratch);
    }
    home.emplace(Cluster::socket(scratch, 0), patience);
  }
  void seat(std::size_t members) {
    for (std::size_t i = 0; i < members; ++i) {
      seats.push_back(std::make_unique<Seat>(Cluster::socket(scratch, i % kNodes), patience));
    }
  }
  /// Of all seats that there are.
  const SyncObject& object(std::uint16_t count = 0) {
    const std::size_t number = objects.size();
    SyncState word;
    word.count = count;
    // The home's words are apart, one for each object.
    *home->words(number) = to_word(word);
    objects.push_back(std::make_unique<SyncObject>());
    objects.back()->home = home->place(number);
    for (const auto& seat : seats) objects.back()->members.push_back(seat->member(number));
    return *objects.back();
  }
  /// Its process ends. Comes back when its node knows: what reaches the port before is lost with it.
  void kill(std::size_t member) {
    Client& other = *home->client;
    const NodeId node = seats[member]->client->node();
    const Vpid vpid = seats[member]->client->vpid();
    seats[member]->client.reset();
    SendHow how;
    how.acknowledges = true;
    const std::array<std::byte, 1> nothing{};
    for (const auto end = Clock::now() + kLimit; Clock::now() < end;) {
      ASSERT_EQ(other.send(node, vpid, nothing, how), Reply::NoError);
      Notification told;
      while (!other.notifications().take(told) && Clock::now() < end) ::usleep(1000);
      if (told.error == Error::TargetVpid) return;
    }
    FAIL() << "the port stays open";
  }

  /// The member of a barrier of all seats that there are.
  Barrier barrier(std::size_t self) {
    std::vector<BarrierMember> members;
    for (const auto& seat : seats) members.push_back({seat->client->node(), seat->client->vpid()});
    Seat& mine = *seats[self];
    return {mine.client->queue(CommandRing::Transfer), *mine.events, std::move(members), self, kFirstEvent};
  }

  SyncPatience patience{20us, 20ms};
  testing::Scratch scratch;
  std::optional<Cluster> cluster;
  std::optional<Seat> home;
  std::vector<std::unique_ptr<Seat>> seats;
  std::vector<std::unique_ptr<SyncObject>> objects;
};

TEST_P(Calls, of_a_lock_let_one_in_at_a_time_and_end_when_their_time_is_over) {
  constexpr std::size_t kMembers = 4;
  constexpr int kRounds = 24;
  seat(kMembers);
  object();
  std::atomic<int> inside = 0;
  std::uint64_t guarded = 0;
  std::atomic<int> failures = 0;
  std::atomic<std::uint64_t> hurried = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kMembers; ++i) {
    threads.emplace_back([&, i] {
      SyncLock mine(*seats[i]->port, *objects[0], static_cast<MemberId>(i + 1), seats[i]->member_words(0), patience);
      for (int round = 0; round < kRounds; ++round) {
        // Now and then a member is delayed and goes on later.
        bool has = false;
        for (const auto end = Clock::now() + kLimit; !has && Clock::now() < end;) {
          has = mine.acquire(round % 8 == 3 ? 1us : std::chrono::nanoseconds(kLimit));
          if (!has) ++hurried;
          if (!has && mine.core().error() != Error::None) break;
        }
        if (!has || inside.fetch_add(1) != 0) ++failures;
        ++guarded;
        inside.fetch_sub(1);
        if (!mine.release(kLimit)) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(guarded, kMembers * kRounds);
  EXPECT_GT(hurried, 0U);
  EXPECT_EQ(to_state(*home->words(0)).head, 0);
}

TEST_P(Calls, of_a_lock_go_on_when_its_holder_dies_or_one_that_waits) {
  seat(3);
  object();
  std::optional<SyncLock> dying(std::in_place, *seats[0]->port, *objects[0], MemberId{1}, seats[0]->member_words(0),
                                patience);
  ASSERT_TRUE(dying->acquire(kLimit));
  std::atomic<int> got = 0;
  std::atomic<int> broken = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < 3; ++i) {
    threads.emplace_back([&, i] {
      SyncLock mine(*seats[i]->port, *objects[0], static_cast<MemberId>(i + 1), seats[i]->member_words(0), patience);
      EXPECT_FALSE(mine.acquire(50ms)) << "the holder lives";
      EXPECT_EQ(mine.core().error(), Error::None);
      ++got;
      ASSERT_TRUE(mine.acquire(kLimit));
      broken += mine.core().epoch() != 0 ? 1 : 0;
      ASSERT_TRUE(mine.release(kLimit));
    });
  }
  while (got != 2) ::usleep(1000);
  kill(0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken, 2);
}

TEST_P(Calls, of_who_leaves_before_its_turn_hold_nobody_up) {
  seat(3);
  object();
  object();
  const auto lock = [&](std::size_t i) {
    return std::make_unique<SyncLock>(*seats[i]->port, *objects[0], static_cast<MemberId>(i + 1),
                                      seats[i]->member_words(0), patience);
  };
  const auto queue = [&](std::size_t i) {
    return std::make_unique<SyncQueue>(*seats[i]->port, *objects[1], static_cast<MemberId>(i + 1),
                                       seats[i]->member_words(1), SyncQueue::Kind::Queue, patience);
  };
  const auto holder = lock(0);
  const auto first_queue = queue(0);
  const auto leaver = lock(1);
  const auto leaver_queue = queue(1);
  ASSERT_TRUE(holder->acquire(kLimit));
  EXPECT_FALSE(leaver->acquire(20ms));
  std::atomic<bool> has_woken = false;
  std::thread last([&] {
    const auto mine = lock(2);
    const auto waiting = queue(2);
    EXPECT_FALSE(mine->acquire(20ms)) << "behind the one that leaves";
    ASSERT_TRUE(mine->acquire(kLimit));
    ASSERT_TRUE(mine->release(kLimit));
    ASSERT_TRUE(waiting->wait(kLimit));
    has_woken = true;
  });
  while (to_state(std::atomic_ref(*home->words(0)).load()).tail != 3) ::usleep(1000);
  ASSERT_TRUE(leaver->leave(kLimit));
  EXPECT_EQ(leaver->core().state(), LockCore::State::Idle);
  EXPECT_TRUE(leaver->leave(kLimit)) << "it is out already";
  ASSERT_TRUE(holder->release(kLimit)) << "it never lost the lock";
  // A wait queue; then the first one leaves, and no member waits for it.
  EXPECT_FALSE(leaver_queue->wait(20ms));
  ASSERT_TRUE(leaver_queue->leave(kLimit));
  for (const auto end = Clock::now() + kLimit; !has_woken && Clock::now() < end;) {
    ASSERT_TRUE(first_queue->signal(kLimit));
    ::usleep(1000);
  }
  last.join();
  // A member that left may come again; one whose turn it is gives the lock back.
  ASSERT_TRUE(leaver->acquire(kLimit));
  ASSERT_TRUE(leaver->leave(kLimit));
  ASSERT_TRUE(holder->acquire(kLimit));
  ASSERT_TRUE(holder->release(kLimit));
}

TEST_P(Calls, whose_answer_was_dropped_end) {
  seat(2);
  object();
  object(1);
  Seat& seat = *seats[1];
  SyncLock lock(*seat.port, *objects[0], MemberId{2}, seat.member_words(0), patience);
  SyncQueue semaphore(*seat.port, *objects[1], MemberId{2}, seat.member_words(1), SyncQueue::Kind::Semaphore, patience);
  // A request is under way while the port's notifications fill its ring.
  const auto drop_answer_of = [&](SyncUser& user, const auto& start) {
    const std::uint64_t before = seat.client->notifications().dropped();
    cluster->pause();
    start();
    user.step();
    for (const Priority priority : {Priority::High, Priority::Low}) {
      SendHow how;
      how.priority = priority;
      how.acknowledges = true;
      const std::array<std::byte, 1> nothing{};
      for (std::size_t i = 0; i < PageLayout::kCommands; ++i) {
        (void)seat.client->send(seat.client->node(), seat.client->vpid(), nothing, how);
      }
    }
    const auto are_dropped = [&](std::uint64_t count) {
      for (const auto end = Clock::now() + kLimit; Clock::now() < end; ::usleep(1000)) {
        if (seat.client->notifications().dropped() - before >= count) return true;
      }
      return false;
    };
    constexpr std::uint64_t kOfTheFlood = 2 * PageLayout::kCommands - PageLayout::kNotifications;
    ASSERT_TRUE(are_dropped(kOfTheFlood));
    cluster->go_on();
    ASSERT_TRUE(are_dropped(kOfTheFlood + 1)) << "that is the answer";
  };
  drop_answer_of(lock, [&] { lock.start_acquire(); });
  ASSERT_TRUE(lock.acquire(kLimit));
  EXPECT_EQ(to_state(std::atomic_ref(*home->words(0)).load()).head, 2);
  drop_answer_of(lock, [&] { lock.start_release(); });
  ASSERT_TRUE(lock.release(kLimit));
  EXPECT_EQ(to_state(std::atomic_ref(*home->words(0)).load()).head, 0);
  drop_answer_of(semaphore, [&] { semaphore.start_wait(); });
  EXPECT_FALSE(semaphore.wait(kLimit)) << "nobody can say whether it was counted";
  EXPECT_EQ(semaphore.core().error(), Error::Full);
  ASSERT_TRUE(semaphore.signal(kLimit));
  ASSERT_TRUE(semaphore.wait(kLimit));
}

TEST_P(Calls, of_a_semaphore_end_as_often_as_it_is_signalled) {
  constexpr std::size_t kMembers = 4;
  constexpr int kRounds = 24;
  seat(kMembers);
  object(2);
  std::atomic<int> waited = 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kMembers; ++i) {
    threads.emplace_back([&, i] {
      SyncQueue mine(*seats[i]->port, *objects[0], static_cast<MemberId>(i + 1), seats[i]->member_words(0),
                     SyncQueue::Kind::Semaphore, patience);
      for (int round = 0; round < kRounds; ++round) {
        if (i % 2 == 0) {
          ASSERT_TRUE(mine.signal(kLimit));
          continue;
        }
        bool is_woken = round % 8 == 3 && mine.wait(1us);
        if (!is_woken) is_woken = mine.wait(kLimit);
        ASSERT_TRUE(is_woken) << to_name(mine.core().error());
        ++waited;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(waited, 2 * kRounds);
  const SyncState word = to_state(*home->words(0));
  EXPECT_EQ(word.count, 2) << "as many signals as waits";
  EXPECT_EQ(word.waiting, 0);
}

TEST_P(Calls, of_a_semaphore_go_on_when_one_that_waits_dies) {
  seat(3);
  object();
  const auto queue = [&](std::size_t i) {
    return std::make_unique<SyncQueue>(*seats[i]->port, *objects[0], static_cast<MemberId>(i + 1),
                                       seats[i]->member_words(0), SyncQueue::Kind::Semaphore, patience);
  };
  const auto dying = queue(0);
  EXPECT_FALSE(dying->wait(50ms)) << "nobody signals";
  std::thread waiting([&] {
    const auto mine = queue(1);
    ASSERT_TRUE(mine->wait(kLimit));
  });
  while (to_state(std::atomic_ref(*home->words(0)).load()).waiting != 2) ::usleep(1000);
  kill(0);
  const auto signaller = queue(2);
  ASSERT_TRUE(signaller->signal(kLimit));
  waiting.join();
}

/// Cost of a call without contention: one command to the home, which answers it.
TEST_P(Calls, that_need_not_wait_are_one_command_each) {
  seat(2);
  object();
  object(3);
  const SyncPatience unhurried{20us, kLimit};  // a member that looks around sends more
  Seat& mine = *seats[1];
  SyncLock lock(*mine.port, *objects[0], MemberId{2}, mine.member_words(0), unhurried);
  SyncQueue semaphore(*mine.port, *objects[1], MemberId{2}, mine.member_words(1), SyncQueue::Kind::Semaphore,
                      unhurried);
  const auto commands_of = [&](auto call) {
    const std::uint64_t before = mine.client->page().word(PageWord::TransferClaimed).load();
    EXPECT_TRUE(call());
    return mine.client->page().word(PageWord::TransferClaimed).load() - before;
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(commands_of([&] { return lock.acquire(kLimit); }), 1U);
    EXPECT_EQ(commands_of([&] { return lock.release(kLimit); }), 1U);
    EXPECT_EQ(commands_of([&] { return semaphore.wait(kLimit); }), 1U);
    EXPECT_EQ(commands_of([&] { return semaphore.signal(kLimit); }), 1U);
  }
}

/// A port of the domain that is no member, and has none of the windows, can still put words into a member's ring of
/// notifications, under any tag.
TEST_P(Calls, believe_no_answer_that_another_port_made_up) {
  seat(3);
  object();
  const SyncPatience unhurried{20us, kLimit};
  SyncLock held(*seats[0]->port, *objects[0], MemberId{1}, seats[0]->member_words(0), unhurried);
  ASSERT_TRUE(held.acquire(kLimit));
  Seat& stranger = *seats[2];
  Command made_up;
  made_up.operation = Operation::NotificationPut;
  made_up.modifiers = kNotifyCompleter | kAcknowledge;
  made_up.target_node = seats[1]->client->node();
  made_up.target_vpid = seats[1]->client->vpid();
  made_up.tag = std::uint64_t{0x53594E43} << 32U | 1;  // of the first command of the first user of a port
  made_up.address = to_word(SyncState{});              // held by no member
  ASSERT_EQ(stranger.client->queue(CommandRing::Transfer).insert({&made_up, 1}).reply, Reply::NoError);
  Notification told;
  for (const auto end = Clock::now() + kLimit; !stranger.client->notifications().take(told) && Clock::now() < end;) {
    ::usleep(100);
  }
  ASSERT_EQ(told.error, Error::None);
  ASSERT_EQ(told.teller, Teller::Acknowledge);

  SyncLock mine(*seats[1]->port, *objects[0], MemberId{2}, seats[1]->member_words(0), unhurried);
  EXPECT_FALSE(mine.acquire(200ms)) << "it is held by another";
  EXPECT_EQ(mine.core().error(), Error::None);
  EXPECT_EQ(seats[1]->port->foreign(), 1U);
  EXPECT_TRUE(held.release(kLimit));
  EXPECT_TRUE(mine.acquire(kLimit));
  EXPECT_TRUE(mine.release(kLimit));
}

/// A buffer of four places in one's own memory, guarded by a monitor with two conditions.
TEST_P(Calls, of_a_monitor_pass_everything_on_once) {
  constexpr std::size_t kMembers = 4;  // two fill, two empty
  constexpr int kItems = 16;           // of each who fills
  seat(kMembers);
  object();
  object();
  object();
  std::deque<int> buffer;  // inside only
  std::size_t most = 0;
  std::atomic<int> inside = 0;
  std::atomic<int> failures = 0;
  std::vector<int> taken;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kMembers; ++i) {
    threads.emplace_back([&, i] {
      Seat& seat = *seats[i];
      const auto self = static_cast<MemberId>(i + 1);
      SyncLock lock(*seat.port, *objects[0], self, seat.member_words(0), patience);
      SyncQueue room(*seat.port, *objects[1], self, seat.member_words(1), SyncQueue::Kind::Queue, patience);
      SyncQueue items(*seat.port, *objects[2], self, seat.member_words(2), SyncQueue::Kind::Queue, patience);
      SyncMonitor monitor(lock);
      const bool fills = i < 2;
      for (int item = 0; item < kItems; ++item) {
        if (!monitor.enter(kLimit)) {
          ++failures;
          return;
        }
        if (inside.fetch_add(1) != 0) ++failures;
        while (fills ? buffer.size() == 4 : buffer.empty()) {
          inside.fetch_sub(1);
          bool is_back = item % 8 == 3 && monitor.wait(fills ? room : items, 1us);
          if (!is_back) is_back = monitor.wait(fills ? room : items, kLimit);
          if (!is_back) {
            ++failures;
            return;
          }
          if (inside.fetch_add(1) != 0) ++failures;
        }
        if (fills) {
          buffer.push_back(static_cast<int>(i) * kItems + item);
          most = std::max(most, buffer.size());
        } else {
          taken.push_back(buffer.front());
          buffer.pop_front();
        }
        if (!monitor.signal(fills ? items : room, kLimit)) ++failures;
        inside.fetch_sub(1);
        if (!monitor.exit(kLimit)) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_LE(most, 4U);
  ASSERT_EQ(taken.size(), 2U * kItems);
  for (int producer = 0; producer < 2; ++producer) {
    std::vector<int> of_one;
    std::copy_if(taken.begin(), taken.end(), std::back_inserter(of_one),
                 [&](int item) { return item / kItems == producer; });
    EXPECT_EQ(of_one.size(), static_cast<std::size_t>(kItems));
    EXPECT_TRUE(std::is_sorted(of_one.begin(), of_one.end()));
  }
}

TEST_P(Calls, of_a_barrier_let_nobody_through_before_all_have_come) {
  constexpr std::size_t kMembers = 5;
  constexpr std::uint64_t kRounds = 40;
  seat(kMembers);
  std::atomic<std::uint64_t> arrived = 0;
  std::atomic<std::uint64_t> hurried = 0;
  std::atomic<int> failures = 0;
  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kMembers; ++i) {
    threads.emplace_back([&, i] {
      Barrier mine = barrier(i);
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        ++arrived;
        // Now and then a member is delayed and goes on later.
        bool is_through = round % 8 == 3 && mine.wait(1us);
        if (!is_through) {
          if (round % 8 == 3) ++hurried;
          is_through = mine.wait(kLimit);
        }
        if (!is_through || arrived < kMembers * (round + 1)) {
          ++failures;
          return;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(arrived, kMembers * kRounds);
  EXPECT_GT(hurried, 0U);
  EXPECT_LT(Clock::now() - begin, kLimit / 2) << "somebody was not woken";
}

TEST_P(Calls, of_a_barrier_sleep_until_the_last_one_has_come) {
  constexpr std::size_t kMembers = 3;
  constexpr auto kShort = 20ms;
  constexpr auto kAsleep = 500ms;
  seat(kMembers);
  std::atomic<std::size_t> asleep = 0;
  std::atomic<bool> is_last_there = false;
  std::atomic<int> failures = 0;
  std::atomic<std::uint64_t> most_ns = 0;
  const auto begin = Clock::now();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i + 1 < kMembers; ++i) {
    threads.emplace_back([&, i] {
      Barrier mine = barrier(i);
      const auto before = Clock::now();
      if (mine.wait(kShort) || Clock::now() - before < kShort) ++failures;
      ++asleep;
      const std::uint64_t worked_ns = os::clock_ns(CLOCK_THREAD_CPUTIME_ID);
      if (!mine.wait(kLimit) || !is_last_there) ++failures;
      const std::uint64_t own_ns = os::clock_ns(CLOCK_THREAD_CPUTIME_ID) - worked_ns;
      for (std::uint64_t most = most_ns; most < own_ns && !most_ns.compare_exchange_weak(most, own_ns);) {
      }
    });
  }
  while (asleep != kMembers - 1) ::usleep(1000);
  // A time, not a state: what is measured is how much of a processor they use meanwhile.
  std::this_thread::sleep_for(kAsleep);
  is_last_there = true;
  Barrier last = barrier(kMembers - 1);
  EXPECT_TRUE(last.wait(kLimit));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_LT(std::chrono::nanoseconds(most_ns), kAsleep / 20) << "it does not sleep";
  EXPECT_LT(Clock::now() - begin, kLimit / 2) << "somebody was not woken";
}

INSTANTIATE_TEST_SUITE_P(Carriers, Calls, ::testing::Values("shm", "model, bad network"));

// Processes

/// What parent and children share.
struct Board {
  static constexpr std::size_t kChildren = 4;
  struct Child {
    std::atomic<bool> is_there = false;
    SyncPlace words;
    std::atomic<std::uint64_t> rounds = 0;
  };
  Child children[kChildren];
  SyncPlace home;
  std::atomic<bool> is_open = false;    ///< The brokers listen.
  std::atomic<bool> has_begun = false;  ///< All places are known.
  std::atomic<bool> is_over = false;
  std::atomic<std::uint32_t> holder = 0;  ///< The child that is inside, plus 1.
  std::atomic<std::uint64_t> intruders = 0;
};

/// A child: takes the lock and gives it back, until it is killed or told to end. Exit code 0: all went well.
[[noreturn]] void run_child(Board& board, std::size_t number, const std::string& socket) {
  ::alarm(240);
  while (!board.is_open) ::usleep(1000);
  const SyncPatience patience{20us, 20ms};
  Seat seat(socket, patience);
  board.children[number].words = seat.place(0);
  board.children[number].is_there = true;
  while (!board.has_begun) ::usleep(1000);
  SyncObject object;
  object.home = board.home;
  for (const Board::Child& child : board.children) object.members.push_back({child.words, kFirstEvent});
  SyncLock lock(*seat.port, object, static_cast<MemberId>(number + 1), seat.member_words(0), patience);
  while (!board.is_over) {
    if (!lock.acquire(kLimit)) ::_exit(2);
    // No other member may be inside, except one that was killed there.
    const std::uint32_t before = board.holder.exchange(static_cast<std::uint32_t>(number + 1));
    if (before != 0 && board.children[before - 1].is_there) ++board.intruders;
    for (int i = 0; i < 200; ++i) {
      if (board.holder != number + 1) ++board.intruders;
    }
    board.holder = 0;
    if (!lock.release(kLimit)) ::_exit(3);
    ++board.children[number].rounds;
  }
  ::_exit(0);
}

TEST(CallsOfProcesses, go_on_when_processes_are_killed_wherever_they_are) {
  void* const memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Board& board = *new (memory) Board;
  const testing::Scratch scratch;
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < Board::kChildren; ++i) {
    const pid_t child = ::fork();  // before this process has threads
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        run_child(board, i, Cluster::socket(scratch, 0));
      } catch (const std::exception& failure) {
        std::fprintf(stderr, "child %zu: %s\n", i, failure.what());
        ::_exit(4);
      }
    }
    children.push_back(child);
  }
  {
    Cluster cluster(carriers().front(), scratch);
    board.is_open = true;
    const Seat home(Cluster::socket(scratch, 1), {});
    board.home = home.place(0);
    const auto wait_for = [](const auto& is_so) {
      for (const auto end = Clock::now() + kLimit; !is_so() && Clock::now() < end;) ::usleep(1000);
      return is_so();
    };
    EXPECT_TRUE(wait_for([&] {
      return std::all_of(std::begin(board.children), std::end(board.children),
                         [](const Board::Child& child) { return child.is_there.load(); });
    }));
    board.has_begun = true;
    const auto all_go_on = [&](std::size_t from) {
      std::vector<std::uint64_t> before;
      for (const Board::Child& child : board.children) before.push_back(child.rounds);
      return wait_for([&] {
        for (std::size_t i = from; i < Board::kChildren; ++i) {
          if (board.children[i].rounds < before[i] + 5) return false;
        }
        return true;
      });
    };
    EXPECT_TRUE(all_go_on(0));
    std::mt19937 random(1);
    for (std::size_t victim = 0; victim + 2 < Board::kChildren; ++victim) {
      ::usleep(static_cast<useconds_t>(random() % 20'000));
      board.children[victim].is_there = false;  // its remains are no intrusion
      ASSERT_EQ(::kill(children[victim], SIGKILL), 0);
      EXPECT_TRUE(all_go_on(victim + 1)) << victim;
    }
    board.is_over = true;
    for (std::size_t i = 0; i < children.size(); ++i) {
      int status = 0;
      ASSERT_EQ(::waitpid(children[i], &status, 0), children[i]);
      const bool was_killed = i + 2 < Board::kChildren;
      EXPECT_TRUE(was_killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0)
          << i << ' ' << status;
    }
  }
  EXPECT_EQ(board.intruders, 0U);
  ::munmap(memory, sizeof(Board));
}

}  // namespace stopbit::nic::sync_calls_test
