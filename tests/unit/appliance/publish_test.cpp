#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "host/appliance/distribution.hpp"
#include "host/appliance/status.hpp"
#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/shm/shm_transport.hpp"
#include "host/remote/subscriber.hpp"
#include "tests/lib/appliance_fixture.hpp"

namespace stopbit::appliance::publish_test {

using remote::SubscriberState;
using test::OneChannel;

constexpr std::chrono::seconds kPatience{20};
constexpr std::uint64_t kLeastSlots = 32'768;  // for records of any size
constexpr std::uint64_t kStepNs = 20'000;      // of the clock that nodes see

/// A subscriber on a node of its own, as another process of this host and user has it.
class Guest {
 public:
  using Way = remote::SubscriberOptions::Way;
  Guest(const std::string& network, nic::NodeId node, const std::string& name, bool is_lossless = false,
        Way way = Way::Best) {
    nic::ShmOptions options;
    options.network = network;
    options.node = node;
    options.nodes = nic::ShmOptions::kUsualNodes;
    auto opened = nic::ShmTransport::open(options);
    if (!opened) throw std::runtime_error(opened.message());
    carrier_ = std::move(opened).value();
    nic::NodeOptions how;
    how.ports = 8;
    how.link.silence_ns = 10'000'000'000;
    node_ = std::make_unique<nic::Node>(*carrier_, how);
    remote::SubscriberOptions wanted;
    wanted.ring = "mine";
    wanted.name = name;
    wanted.is_lossless = is_lossless;
    wanted.way = way;
    wanted.ask_ns = 10'000'000;
    auto made = remote::Subscriber::open(*node_, wanted);
    if (!made) throw std::runtime_error(made.message());
    subscriber_ = std::move(made).value();
  }
  void step(std::uint64_t now_ns) {
    if (is_asleep) return;
    (void)node_->step(now_ns);
    (void)subscriber_->step(now_ns);
  }
  [[nodiscard]] remote::Subscriber& subscriber() { return *subscriber_; }
  [[nodiscard]] bool is_live() const { return subscriber_->state() == SubscriberState::Live; }

  bool is_asleep = false;

 private:
  std::unique_ptr<nic::Transport> carrier_;
  std::unique_ptr<nic::Node> node_;
  std::unique_ptr<remote::Subscriber> subscriber_;
};

/// An appliance that publishes its ring as 'mine', its nodes and those of its guests in one thread, on a clock of their
/// own: each wait is limited to a number of steps, and the test fails after some seconds in any case.
class Publishing : public ::testing::Test {
 protected:
  void start(const std::string& publish = "", const std::string& nic = "", std::uint64_t slots = 65'536) {
    one.emplace("",
                "[rings]\nslots = " + std::to_string(slots) + "\n[nic]\nnetwork = \"" + network + "\"\n" + nic +
                    "[[publish]]\nring = \"ring\"\nas = \"mine\"\n" + publish,
                [this](Settings& settings) {
                  if (change) change(settings);
                });
    if (!one->made) throw std::runtime_error(one->problem);
  }
  Distribution& distribution() { return *one->made->distribution(); }
  std::string ring_of(nic::NodeId node, Guest::Way way = Guest::Way::Best) {
    // A ring that the publisher makes has no path.
    return way == Guest::Way::Near ? network + "-" + std::to_string(node) : files.path("ring-" + std::to_string(node));
  }
  Guest& guest(nic::NodeId node, bool is_lossless = false, Guest::Way way = Guest::Way::Best) {
    guests.push_back(std::make_unique<Guest>(network, node, ring_of(node, way), is_lossless, way));
    return *guests.back();
  }
  void step() {
    now += kStepNs;
    (void)distribution().step(now);
    for (const auto& guest : guests) {
      if (guest) guest->step(now);
    }
    std::string line;
    while (distribution().next_line(line)) lines.push_back(line);
  }
  template <class Happens>
  void until(Happens happens, const char* what) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!happens()) {
      if (std::chrono::steady_clock::now() > end) {
        FAIL() << "never: " << what << "\n" << ::testing::PrintToString(lines) << guests_text();
      }
      step();
    }
  }
  std::string guests_text() {
    std::string text;
    for (const auto& guest : guests) {
      if (!guest) continue;
      remote::Subscriber& subscriber = guest->subscriber();
      text += std::string("\n") + to_text(subscriber.state()) + ": " + subscriber.problem() + ", " +
              std::to_string(subscriber.counters().records) + " records";
    }
    const auto last = static_cast<nic::NodeId>(guests.size());
    for (nic::NodeId node = 1; node <= last; ++node) text += "\n" + ::testing::PrintToString(ticks_of(node));
    return text;
  }
  void until_live(Guest& guest) {
    until([&] { return guest.is_live(); }, "live");
  }
  void tick(std::uint32_t number) {
    one->give(0, test::tick(++sequence, number));
    one->work();
  }
  /// The status some steps on: counters are published now and then, and reading them takes far longer than a step.
  StatusReport later_status() {
    for (int i = 0; i < 500; ++i) step();
    return read_status(one->counts(), {one->now, one->now});
  }
  /// The status, once the counters say so.
  template <class Holds>
  StatusReport until_counted(Holds holds) {
    StatusReport status;
    until(
        [&] {
          status = later_status();
          return holds(status.nic.publishers.at(0));
        },
        "counted");
    return status;
  }
  /// Numbers of the ticks in a guest's ring.
  std::vector<std::uint64_t> ticks_of(nic::NodeId node) {
    auto opened = ring::Reader::open(ring_of(node), ring::Start::Oldest);
    return opened ? ticks_in(opened.value()) : std::vector<std::uint64_t>();
  }
  static std::vector<std::uint64_t> ticks_in(ring::Reader& reader) {
    std::vector<std::uint64_t> numbers;
    while (reader.poll() == ring::Poll::Record) {
      if (!record::HeaderView(reader.record()[0]).is_event()) numbers.push_back(reader.record()[0].words[4]);
    }
    return numbers;
  }

  testing::Scratch files;
  std::string network = "test-publish-" + std::to_string(::getpid());
  std::function<void(Settings&)> change;
  std::optional<OneChannel> one;
  std::vector<std::unique_ptr<Guest>> guests;
  std::vector<std::string> lines;
  std::uint64_t now = 1'000'000'000;
  std::uint32_t sequence = 0;
};

/// A port of this host that is free.
std::string free_address() {
  const os::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(here);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&here), length), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &length), 0);
  return "127.0.0.1:" + std::to_string(::ntohs(here.sin_port));
}

TEST_F(Publishing, says_what_is_to_be_done_when_nobody_starts_libfabric_any_more) {
  if (const Status has = nic::FabricTransport::available(); !has) GTEST_SKIP() << has.message();
  start("", "listen = \"" + free_address() + "\"\n");
  std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  pid_t supervisor = 0;
  ASSERT_TRUE(file >> supervisor);
  ASSERT_FALSE(later_status().nic.publishers.at(1).is_cut_off);
  ASSERT_EQ(::kill(supervisor, SIGKILL), 0);
  until([&] { return later_status().nic.publishers.at(1).is_cut_off; }, "cut off");
  EXPECT_FALSE(later_status().nic.publishers.at(0).is_cut_off);
  EXPECT_EQ(one->counts().sum("nic_carrier_deaths"), 1U);
  // Ten minutes: at once, after one, three and seven of them.
  for (int i = 0; i < 600; ++i) (void)distribution().step(now += 1'000'000'000);
  std::size_t told = 0;
  const auto count = [&](const std::string& line) {
    const bool is_of_it = line.find("fabric") != std::string::npos;
    if (is_of_it) {
      EXPECT_EQ(line,
                "fabric: other hosts are no longer served: the supervisor of the libfabric processes died; "
                "restart the appliance");
    }
    told += is_of_it ? 1 : 0;
  };
  for (const std::string& line : lines) count(line);
  for (std::string line; distribution().next_line(line);) count(line);
  EXPECT_EQ(told, 4U);
}

TEST_F(Publishing, gives_what_was_there_before_and_what_comes_and_counts_it) {
  start();
  for (std::uint32_t number = 1; number <= 5; ++number) tick(number);
  one->now += 200'000'000;  // the first numbers wait for the other line
  one->work();
  Guest& late = guest(1);
  until_live(late);
  for (std::uint32_t number = 6; number <= 9; ++number) tick(number);
  until([&] { return ticks_of(1).size() == 9; }, "all ticks");
  EXPECT_THAT(ticks_of(1), ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
  const std::uint64_t records = late.subscriber().counters().records;
  EXPECT_GE(late.subscriber().counters().fetched, 5U);
  const StatusReport status =
      until_counted([](const PublisherStatus& shm) { return shm.subscribers.size() == 1 && shm.admitted == 1; });
  ASSERT_EQ(status.nic.publishers[0].subscribers.size(), 1U);
  EXPECT_EQ(status.nic.publishers[0].subscribers[0].ring, "mine");
  EXPECT_EQ(records, one->reader->published());
}

TEST_F(Publishing, detaches_who_takes_nothing_after_the_time_that_was_set) {
  start("detach_after = \"500ms\"\n");
  Guest& asleep = guest(1);
  Guest& awake = guest(2);
  until_live(asleep);
  until_live(awake);
  asleep.is_asleep = true;
  std::uint32_t number = 0;
  until(
      [&] {
        tick(++number);
        return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
          return line.find("it took no records although some were waiting") != std::string::npos;
        });
      },
      "detached");
  const StatusReport status = until_counted([](const PublisherStatus& shm) { return shm.detached == 1; });
  EXPECT_EQ(status.nic.publishers[0].subscribers.size(), 1U);
  asleep.is_asleep = false;
  until_live(asleep);
  until([&] { return ticks_of(2).size() == number; }, "the other has all");
  EXPECT_EQ(awake.subscriber().counters().lost, 0U);
}

TEST_F(Publishing, refuses_by_code_what_is_one_too_many_or_may_not_wait) {
  start("", "subscribers = 1\n");
  Guest& first = guest(1);
  until_live(first);
  Guest& second = guest(2);
  until([&] { return second.subscriber().refusal() == remote::Refusal::Full; }, "one too many");
  Guest& waits = guest(3, true);
  until([&] { return waits.subscriber().state() == SubscriberState::Refused; }, "not lossless");
  EXPECT_EQ(waits.subscriber().refusal(), remote::Refusal::Waiting);
  const StatusReport status = until_counted(
      [](const PublisherStatus& shm) { return shm.refusals.contains("Full") && shm.refusals.contains("Waiting"); });
  std::uint64_t sum = 0;
  for (const auto& [why, count] : status.nic.publishers[0].refusals) sum += count;
  EXPECT_EQ(sum, status.nic.publishers[0].refused);
  guests[0].reset();
  until_live(second);
}

TEST_F(Publishing, of_a_lossless_ring_loses_nothing_whoever_is_slow) {
  // As an agent with captures alone may have it: it waits for the subscriber, which another thread would serve.
  change = [](Settings& settings) {
    settings.nic->publish[0].lossless = true;
    settings.nic->publish[0].detach_after_ns = 1'000'000'000;
  };
  start("", "", kLeastSlots);
  Guest& here = guest(1, true);
  until(
      [&] {
        one->made->agents()[0]->do_work();  // beats, and lets readers sit down
        one->now += 10'000'000;
        return here.is_live();
      },
      "live");
  EXPECT_EQ(one->reader->mode(), ring::Mode::Lossless);
  // More than the ring has room for, in parts that it has.
  std::uint32_t number = 0;
  for (int part = 0; part < 10; ++part) {
    for (std::size_t i = 0; i < kLeastSlots / 5; ++i) tick(++number);
    until([&] { return here.subscriber().counters().records >= number; }, "records");
  }
  EXPECT_EQ(here.subscriber().counters().lost, 0U);
  // It sleeps: the agent waits for a second, gives it up, and goes on.
  here.is_asleep = true;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < 2 * kLeastSlots; ++i) tick(++number);
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, std::chrono::milliseconds(500));
  EXPECT_LT(waited, kPatience);
}

/// The appliance ends in this thread, while each guest lives in one of its own, as elsewhere.
TEST_F(Publishing, ends_with_all_records_and_the_word_that_this_was_all) {
  start();
  const std::array<Guest::Way, 2> ways = {Guest::Way::Near, Guest::Way::Far};
  std::vector<ring::Reader> readers;  // of rings whose names go with the publisher
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const auto node = static_cast<nic::NodeId>(1 + i);
    Guest& here = guest(node, false, ways[i]);
    until_live(here);
    EXPECT_EQ(here.subscriber().is_near(), ways[i] == Guest::Way::Near);
    auto opened = ring::Reader::open(ring_of(node, ways[i]), ring::Start::Oldest);
    ASSERT_TRUE(opened) << opened.message();
    readers.push_back(std::move(opened).value());
  }
  for (std::uint32_t number = 1; number <= 1'000; ++number) tick(number);
  one->now += 200'000'000;  // the first numbers wait for the other line
  one->work();
  std::atomic<bool> goes_on = true;
  std::vector<std::thread> lives;
  for (const auto& guest : guests) {
    lives.emplace_back([&goes_on, &guest = *guest, then_ns = now] {
      const auto begin = std::chrono::steady_clock::now();
      while (goes_on && guest.is_live()) {
        const std::chrono::nanoseconds passed = std::chrono::steady_clock::now() - begin;
        guest.step(then_ns + static_cast<std::uint64_t>(passed.count()));
      }
    });
  }
  one->made->stop();
  const auto is_told = [](const auto& guest) { return !guest->is_live(); };
  for (int i = 0; i < 5'000 && !std::all_of(guests.begin(), guests.end(), is_told); ++i) ::usleep(1'000);
  goes_on = false;
  for (std::thread& life : lives) life.join();
  for (std::size_t i = 0; i < guests.size(); ++i) {
    EXPECT_EQ(guests[i]->subscriber().problem(), "the ring has ended") << i;
    EXPECT_EQ(ticks_in(readers[i]).size(), 1'000U) << i;
  }
}

TEST_F(Publishing, takes_other_publications_while_subscribers_are_there) {
  start();
  Guest& here = guest(1);
  until_live(here);
  const NicSettings& began_with = *one->made->settings().nic;
  NicSettings now_wanted = began_with;
  now_wanted.publish.push_back(began_with.publish[0]);
  now_wanted.publish[1].name = "also";
  const auto more = distribution().republish(now_wanted);
  ASSERT_TRUE(more) << more.message();
  EXPECT_EQ(more.value(), "2 rings published: mine, also");
  tick(1);
  one->now += 200'000'000;  // the first number waits for the other line
  one->work();
  until([&] { return ticks_of(1).size() == 1; }, "goes on");
  EXPECT_EQ(here.subscriber().counters().sessions, 1U);

  // A file with any error changes nothing.
  NicSettings wrong = began_with;
  wrong.publish[0].name = "other";
  wrong.subscribers = 3;
  EXPECT_THAT(distribution().republish(wrong).message(), ::testing::HasSubstr("'subscribers' of [nic]"));
  wrong.subscribers = began_with.subscribers;
  wrong.publish[0].token_file = files.path("none");
  EXPECT_THAT(distribution().republish(wrong).message(), ::testing::HasSubstr("cannot read the token"));
  for (int i = 0; i < 1'000; ++i) step();
  EXPECT_TRUE(here.is_live());

  now_wanted.publish.erase(now_wanted.publish.begin());
  ASSERT_TRUE(distribution().republish(now_wanted));
  until([&] { return here.subscriber().state() == SubscriberState::Refused; }, "it may not have it any more");
  EXPECT_EQ(here.subscriber().refusal(), remote::Refusal::Ring);
  EXPECT_THAT(lines, ::testing::Contains(::testing::HasSubstr("no longer subscribed to 'mine': no such ring")));
  (void)until_counted([](const PublisherStatus& shm) { return shm.subscribers.empty() && shm.ended == 1; });
}

}  // namespace stopbit::appliance::publish_test
