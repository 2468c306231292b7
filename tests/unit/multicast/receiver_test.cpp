#include "host/multicast/receiver.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "host/feed/packet/socket_address.hpp"
#include "host/multicast/publisher.hpp"
#include "host/multicast/refill_server.hpp"
#include "host/os/clock.hpp"
#include "tests/unit/multicast/services.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::multicast::receiver_test {

using ring::test::seed_of;
using ring::test::write_record;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kEpoch = 1'700'000'000'000'000'000;

using Datagram = std::vector<std::byte>;
using test::KeepingLine;

struct Records final : relay::StreamSink, record::RecordSink {
  Result<relay::StreamSink::Place> begin_ring(const relay::Head& /*head*/, std::span<const std::byte> image) override {
    ++rings;
    EXPECT_FALSE(image.empty());
    return relay::StreamSink::Place{this, 4};
  }
  void end_ring(relay::Ending ending) override { endings.push_back(ending); }
  record::RecordSink::Place open() noexcept override { return {slots.data(), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t count) noexcept override {
    slots.front() = first;
    seeds.push_back(seed_of({slots.data(), count}));
  }
  std::vector<record::Slot> slots = std::vector<record::Slot>(4);
  std::vector<std::uint64_t> seeds;
  std::vector<relay::Ending> endings;
  int rings = 0;
};

struct Events final : EventSink {
  void event(const market::SbeEvent& event) override { ids.push_back(event.event.id()); }
  std::vector<std::uint64_t> ids;
};

std::vector<std::uint64_t> up_to(std::uint64_t count) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

/// Says that it keeps packets, and sends none, after a while for each request. Gives up after many requests, so that a
/// reader that does not ends.
class LyingService {
 public:
  explicit LyingService(std::uint64_t count, std::chrono::milliseconds delay = {}) : count_(count), delay_(delay) {
    thread_ = std::thread([this] { serve(); });
  }
  ~LyingService() {
    listener_.close();
    thread_.join();
  }
  [[nodiscard]] net::Endpoint address() const { return listener_.address(); }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }

 private:
  void serve() {
    for (;;) {
      const os::Descriptor client = listener_.accept();
      if (!client.ok()) return;
      // The service ends with the test, though the reader is still there.
      const timeval patience{.tv_sec = 1, .tv_usec = 0};
      (void)::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
      std::array<std::byte, kRequestBytes> request;
      while (requests_ < 1'000 && ::recv(client.get(), request.data(), request.size(), MSG_WAITALL) ==
                                      static_cast<ssize_t>(request.size())) {
        ++requests_;
        std::this_thread::sleep_for(delay_);
        std::array<std::byte, kAnswerHeadBytes + kDoneBytes> answer;
        encode(AnswerHead{AnswerHead::Kind::Done, kDoneBytes}, std::span(answer).first<kAnswerHeadBytes>());
        const std::uint64_t first = first_sequence(kEpoch);
        encode(Completion{Completion::Status::Complete, kEpoch, first, first + count_},
               std::span(answer).last<kDoneBytes>());
        (void)::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      }
    }
  }

  std::uint64_t count_;
  std::chrono::milliseconds delay_;
  test::Listener listener_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::thread thread_;
};

class MulticastReceiver : public ring::test::RingTest {
 protected:
  ~MulticastReceiver() override { stop_service(); }

  Publisher* make_publisher(std::uint64_t epoch_ns = kEpoch, std::size_t history = 16U << 20) {
    PublisherOptions options;
    options.ring = name_;
    options.epoch_ns = epoch_ns;
    options.history_bytes = history;
    auto line = std::make_unique<KeepingLine>();
    line_ = line.get();
    Publisher::Lines lines;
    lines[0] = std::move(line);
    publishers_.push_back(std::make_unique<Publisher>(std::move(options), std::move(lines), [](const std::string&) {}));
    return publishers_.back().get();
  }
  static void write_events(ring::Writer& writer, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto place = writer.open();
      writer.commit(market::Event::of({.arrival_ns = kEpoch, .kind = market::Kind::New, .id = i})
                        .slot(place.stamp(), place.phase()),
                    1);
    }
  }
  void publish_all(Publisher& publisher) {
    for (std::uint64_t end = now_ + 100 * kMs; now_ < end;) {
      now_ += kMs;
      (void)publisher.step(now_, kEpoch + now_);
    }
  }
  /// What the publisher has until then can be asked for; it must do nothing meanwhile.
  void start_service(const Publisher& publisher, std::uint64_t epoch_ns = kEpoch) {
    auto opened = RefillServer::open({.listen = {0x7F00'0001, 0}});
    ASSERT_TRUE(opened) << opened.message();
    server_ = std::move(opened).value();
    thread_ = std::thread([this, &publisher, epoch_ns] {
      while (!stop_) {
        (void)server_->step(os::monotonic_clock_ns(), {.history = publisher.history(),
                                                       .epoch = epoch_ns,
                                                       .layout = publisher.layout(),
                                                       .image = publisher.image()});
        std::this_thread::yield();
      }
    });
  }
  void stop_service() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    stop_ = false;
  }
  std::unique_ptr<Receiver> make_receiver(bool from_start = false) {
    ReceiverOptions options;
    options.groups = {{0xEFFF'0701, 7001}, {0xEFFF'0702, 7002}};
    if (server_) options.refill = server_->address();
    options.from_start = from_start;
    options.follows = true;
    return Receiver::without_sockets(options, records_, events_,
                                     [this](const std::string& line) { told_.push_back(line); });
  }
  /// Each packet on both lines, 100 us after the one before, unless a line drops it.
  void receive(Receiver& receiver, const std::vector<Datagram>& packets, double dropped_by_a, double dropped_by_b,
               bool may_drop_ends = false) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> share;
    for (std::size_t i = 0; i < packets.size(); ++i) {
      now_ += kMs / 10;
      const bool is_end = !may_drop_ends && (i < 2 || i + 2 > packets.size());
      if (share(random) >= dropped_by_a || is_end) receiver.offer(packets[i], arbitrate::Line::A, now_, kEpoch + now_);
      if (share(random) >= dropped_by_b || is_end) receiver.offer(packets[i], arbitrate::Line::B, now_, kEpoch + now_);
      ASSERT_NE(receiver.step(now_, kEpoch + now_), Receiver::State::Failed) << receiver.problem();
    }
    pass(receiver);
  }
  /// Until every window has closed.
  void pass(Receiver& receiver) {
    for (const std::uint64_t end = now_ + 3'000 * kMs; now_ < end;) {
      now_ += 5 * kMs;
      ASSERT_NE(receiver.step(now_, kEpoch + now_), Receiver::State::Failed) << receiver.problem();
    }
  }

  std::uint64_t now_ = 1'000 * kMs;
  KeepingLine* line_ = nullptr;
  std::vector<std::unique_ptr<Publisher>> publishers_;  ///< Until the service has stopped.
  std::unique_ptr<RefillServer> server_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
  Records records_;
  Events events_;
  std::vector<std::string> told_;
};

TEST_F(MulticastReceiver, has_each_record_once_though_each_line_lacks_packets) {
  ring::Writer writer = make_writer(65'536);
  for (std::uint64_t i = 0; i < 10'000; ++i) write_record(writer, static_cast<std::uint32_t>(1 + i % 4), i);
  const auto publisher = make_publisher();
  publish_all(*publisher);
  start_service(*publisher);
  const auto receiver = make_receiver();
  receive(*receiver, line_->sent, 0.2, 0.2);
  EXPECT_EQ(records_.seeds, up_to(10'000));
  EXPECT_TRUE(receiver->counts().is_complete());
  EXPECT_EQ(receiver->counts().missing, 0U);
  EXPECT_GT(receiver->counts().refilled, 10U) << "both lines lacked some";
  EXPECT_EQ(receiver->account().packets.balanced(), true);
}

TEST_F(MulticastReceiver, counts_the_records_of_packets_that_are_nowhere) {
  ring::Writer writer = make_writer(65'536);
  for (std::uint64_t i = 0; i < 10'000; ++i) write_record(writer, static_cast<std::uint32_t>(1 + i % 4), i);
  const auto publisher = make_publisher(kEpoch, 0);  // keeps nothing
  publish_all(*publisher);
  start_service(*publisher);
  const auto receiver = make_receiver();
  receive(*receiver, line_->sent, 0.2, 0.2);
  EXPECT_GT(receiver->counts().missing, 10U);
  EXPECT_GT(receiver->counts().lost, 10U);
  EXPECT_EQ(records_.seeds.size() + receiver->counts().lost, 10'000U);
  EXPECT_EQ(receiver->counts().damaged, 0U);
}

TEST_F(MulticastReceiver, that_begins_late_has_what_the_service_keeps) {
  ring::Writer writer = make_writer(65'536);
  for (std::uint64_t i = 0; i < 5'000; ++i) write_record(writer, 2, i);
  const auto publisher = make_publisher();
  publish_all(*publisher);
  const std::size_t before = line_->sent.size();
  for (std::uint64_t i = 5'000; i < 6'000; ++i) write_record(writer, 2, i);
  publish_all(*publisher);
  start_service(*publisher);
  const auto receiver = make_receiver(true);
  receive(*receiver, {line_->sent.begin() + static_cast<std::ptrdiff_t>(before), line_->sent.end()}, 0, 0);
  EXPECT_EQ(records_.seeds, up_to(6'000));
  EXPECT_TRUE(receiver->counts().is_complete());
}

TEST_F(MulticastReceiver, that_begins_late_takes_a_part_of_a_long_history_in_each_step) {
  ring::Writer writer = make_writer(65'536);
  for (std::uint64_t i = 0; i < 30'000; ++i) write_record(writer, 2, i);
  const auto publisher = make_publisher();
  for (int i = 0; i < 10; ++i) publish_all(*publisher);
  const std::uint64_t kept = publisher->history().next() - publisher->history().oldest();
  ASSERT_GT(kept, 2'000U);
  start_service(*publisher);
  const auto receiver = make_receiver(true);
  ASSERT_EQ(receiver->step(now_, kEpoch + now_), Receiver::State::Busy);
  EXPECT_LT(receiver->counts().refilled, kept / 2) << "what was not taken yet fills the memory";
  pass(*receiver);
  EXPECT_EQ(records_.seeds, up_to(30'000));
  EXPECT_TRUE(receiver->counts().is_complete());
}

TEST_F(MulticastReceiver, does_not_ask_for_ever_if_the_service_lies_about_what_it_keeps) {
  // Once with numbers that no epoch has, once with possible ones.
  for (const std::uint64_t count : {std::uint64_t{1} << 61U, std::uint64_t{1} << 28U}) {
    LyingService service(count);
    ReceiverOptions options;
    options.groups = {{0xEFFF'0701, 7001}};
    options.refill = service.address();
    options.from_start = true;
    options.follows = true;
    const auto receiver = Receiver::without_sockets(options, records_, events_,
                                                    [this](const std::string& line) { told_.push_back(line); });
    pass(*receiver);
    EXPECT_LE(service.requests(), 3U);
    ASSERT_FALSE(told_.empty());
    EXPECT_NE(told_.back().find("refill service"), std::string::npos);
    EXPECT_EQ(told_.back().find("closed"), std::string::npos) << told_.back();
    told_.clear();
  }
}

TEST_F(MulticastReceiver, waits_for_a_slow_service_once_however_many_holes_there_are) {
  ring::Writer writer = make_writer(4'096);
  write_events(writer, 3'000);
  const auto publisher = make_publisher();
  publish_all(*publisher);
  // Every second packet is missing. In 500 ms the service answers five requests.
  constexpr std::size_t kHoles = 64;
  ASSERT_GT(line_->sent.size(), 2 * kHoles);
  LyingService service(1'000, std::chrono::milliseconds(100));
  ReceiverOptions options;
  options.groups = {{0xEFFF'0701, 7001}};
  options.refill = service.address();
  options.follows = true;
  const auto receiver =
      Receiver::without_sockets(options, records_, events_, [this](const std::string& line) { told_.push_back(line); });
  for (std::size_t i = 0; i < 2 * kHoles; i += 2) {
    receiver->offer(line_->sent[i], arbitrate::Line::A, now_, kEpoch + now_);
  }
  while (service.requests() == 0) {
    now_ += 5 * kMs;
    ASSERT_NE(receiver->step(now_, kEpoch + now_), Receiver::State::Failed) << receiver->problem();
  }
  EXPECT_LE(service.requests(), 6U);
  ASSERT_FALSE(told_.empty());
  EXPECT_NE(told_.back().find("refill service"), std::string::npos) << told_.back();
  // What the service does not send is lost, and counted.
  pass(*receiver);
  EXPECT_GT(receiver->counts().missing, kHoles / 2);
  EXPECT_GT(receiver->counts().lost, 0U);
}

TEST_F(MulticastReceiver, reads_the_lines_for_as_long_as_it_waited_for_a_slow_service) {
  ring::Writer writer = make_writer(4'096);
  write_events(writer, 100);
  const auto publisher = make_publisher();
  publish_all(*publisher);
  ASSERT_GT(line_->sent.size(), 2U);
  constexpr int kDelayMs = 100;
  LyingService service(1'000, std::chrono::milliseconds(kDelayMs));
  ReceiverOptions options;
  options.groups = {{0xEFFF'0701, 7001}};
  options.refill = service.address();
  options.follows = true;
  const auto receiver =
      Receiver::without_sockets(options, records_, events_, [this](const std::string& line) { told_.push_back(line); });
  receiver->offer(line_->sent[0], arbitrate::Line::A, now_, kEpoch + now_);
  receiver->offer(line_->sent[2], arbitrate::Line::A, now_, kEpoch + now_);
  while (service.requests() == 0) {
    now_ += 5 * kMs;
    ASSERT_NE(receiver->step(now_, kEpoch + now_), Receiver::State::Failed) << receiver->problem();
  }
  // The step returned after the delay; for the same time there are others without a request.
  for (int ms = kDelayMs; ms < 2 * kDelayMs; ms += 5) {
    ASSERT_NE(receiver->step(now_ + std::uint64_t(ms) * kMs, kEpoch + now_), Receiver::State::Failed);
  }
  EXPECT_EQ(service.requests(), 1U);
}

TEST_F(MulticastReceiver, follows_a_publisher_that_begins_again) {
  auto writer = std::make_unique<ring::Writer>(make_writer(1'024));
  for (std::uint64_t i = 0; i < 100; ++i) write_record(*writer, 1, i);
  auto publisher = make_publisher();
  publish_all(*publisher);
  start_service(*publisher);
  const auto receiver = make_receiver();
  receive(*receiver, line_->sent, 0, 0);
  EXPECT_EQ(records_.seeds, up_to(100));
  // Killed: nothing says that the ring has ended.
  writer.reset();
  writer = std::make_unique<ring::Writer>(make_writer(1'024));
  for (std::uint64_t i = 100; i < 200; ++i) write_record(*writer, 1, i);
  const auto next = make_publisher(kEpoch + 5'000 * kMs);
  publish_all(*next);
  // The layout is the same; the service is that of the first one.
  receive(*receiver, line_->sent, 0.2, 0);
  EXPECT_EQ(records_.seeds, up_to(200));
  EXPECT_EQ(records_.rings, 2);
  EXPECT_EQ(receiver->counts().epochs, 2U);
  EXPECT_EQ(receiver->counts().missing, 0U);
  EXPECT_TRUE(receiver->counts().is_complete());
}

TEST_F(MulticastReceiver, needs_no_service_for_market_events) {
  ring::Writer writer = make_writer(4'096);
  write_events(writer, 1'000);
  const auto publisher = make_publisher();
  publish_all(*publisher);
  const auto receiver = make_receiver();
  receive(*receiver, line_->sent, 0.2, 0);
  EXPECT_EQ(events_.ids, up_to(1'000));
  EXPECT_TRUE(receiver->counts().is_complete());
}

TEST_F(MulticastReceiver, counts_events_of_packets_that_both_lines_lacked) {
  ring::Writer writer = make_writer(4'096);
  write_events(writer, 1'000);
  const auto publisher = make_publisher();
  publish_all(*publisher);
  const auto receiver = make_receiver();
  receive(*receiver, line_->sent, 0.4, 0.4);
  EXPECT_GT(receiver->counts().lost, 0U);
  EXPECT_EQ(events_.ids.size() + receiver->counts().lost, 1'000U);
}

TEST_F(MulticastReceiver, is_not_led_astray_by_strangers_at_the_groups) {
  ring::Writer writer = make_writer(65'536);
  for (std::uint64_t i = 0; i < 5'000; ++i) write_record(writer, 2, i);
  const auto publisher = make_publisher();
  publish_all(*publisher);
  start_service(*publisher);
  const auto receiver = make_receiver();
  std::vector<std::byte> room(1'472);
  PacketWriter forger(room);
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < line_->sent.size(); ++i) {
    now_ += kMs / 10;
    receiver->offer(line_->sent[i], arbitrate::Line::A, now_, kEpoch + now_);
    receiver->offer(line_->sent[i], arbitrate::Line::B, now_, kEpoch + now_);
    if (i > 3) {
      std::vector<std::byte> noise(random() % 1'400);
      for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
      receiver->offer(noise, arbitrate::Line::A, now_, kEpoch + now_);
      // A run of its own, of a later epoch: it does not have the channel while the true one goes on.
      receiver->offer(forger.heartbeat({first_sequence(kEpoch * 2) + i, kEpoch * 2, 0}), arbitrate::Line::B, now_,
                      kEpoch + now_);
    }
    ASSERT_NE(receiver->step(now_, kEpoch + now_), Receiver::State::Failed) << receiver->problem();
  }
  EXPECT_EQ(receiver->counts().epochs, 1U);
  pass(*receiver);
  EXPECT_EQ(records_.seeds, up_to(5'000));
  EXPECT_GT(receiver->counts().malformed, 0U);
}

TEST_F(MulticastReceiver, asks_for_holes_though_strangers_sent_numbers_far_ahead) {
  ring::Writer writer = make_writer(65'536);
  for (std::uint64_t i = 0; i < 5'000; ++i) write_record(writer, 2, i);
  const auto publisher = make_publisher();
  publish_all(*publisher);
  start_service(*publisher);
  const auto receiver = make_receiver();
  std::vector<Datagram> packets = line_->sent;
  const std::size_t begin = 50;
  receive(*receiver, {packets.begin(), packets.begin() + begin}, 0, 0);
  std::vector<std::byte> room(1'472);
  PacketWriter forger(room);
  for (std::uint64_t i = 0; i < 70'000; ++i) {
    receiver->offer(forger.heartbeat({first_sequence(kEpoch) + 1'000'000 + i * 7'919'000 % 1'000'000'007, kEpoch, 0}),
                    arbitrate::Line::B, now_, kEpoch + now_);
  }
  receive(*receiver, {packets.begin() + begin, packets.end()}, 0.2, 0.2);
  EXPECT_EQ(records_.seeds, up_to(5'000));
  EXPECT_GT(receiver->counts().refilled, 0U);
  EXPECT_TRUE(receiver->counts().is_complete());
}

TEST_F(MulticastReceiver, of_events_ends_with_the_newest_ring_of_the_history) {
  const auto publisher = make_publisher();
  const auto write_ring = [&](std::uint64_t from) {
    auto writer = std::make_unique<ring::Writer>(make_writer(4'096));
    for (std::uint64_t i = from; i < from + 10; ++i) {
      const auto place = writer->open();
      writer->commit(market::Event::of({.arrival_ns = kEpoch, .kind = market::Kind::New, .id = i})
                         .slot(place.stamp(), place.phase()),
                     1);
    }
    publish_all(*publisher);
    return writer;
  };
  write_ring(0).reset();
  publish_all(*publisher);
  const auto writer = write_ring(10);
  start_service(*publisher);
  ReceiverOptions options;
  options.groups = {{0xEFFF'0701, 7001}};
  options.refill = server_->address();
  options.from_start = true;
  const auto receiver = Receiver::without_sockets(options, records_, events_, [](const std::string&) {});
  for (const std::uint64_t end = now_ + 3'000 * kMs; now_ < end;) {
    now_ += 5 * kMs;
    ASSERT_EQ(static_cast<int>(receiver->step(now_, kEpoch + now_)) / 2, 0) << "neither done nor failed";
  }
  EXPECT_EQ(events_.ids, up_to(20));
}

TEST_F(MulticastReceiver, does_not_tell_of_each_datagram_that_strangers_send) {
  const auto receiver = make_receiver();
  for (int i = 0; i < 1'000; ++i) {
    Datagram datagram(32 + i % 2, std::byte{0x5B});
    if (i % 3 == 0) datagram.resize(7);
    now_ += kMs;
    receiver->offer(datagram, arbitrate::Line::A, now_, kEpoch + now_);
  }
  EXPECT_EQ(receiver->counts().malformed, 1'000U);
  EXPECT_EQ(told_.size(), 1U);
  now_ += 100'000 * kMs;
  receiver->offer(Datagram(7), arbitrate::Line::A, now_, kEpoch + now_);
  EXPECT_EQ(told_.size(), 2U) << "but that it goes on";
}

TEST_F(MulticastReceiver, says_that_records_need_a_service) {
  ring::Writer writer = make_writer(1'024);
  write_record(writer, 1, 0);
  const auto publisher = make_publisher();
  publish_all(*publisher);
  const auto receiver = make_receiver();
  for (const Datagram& datagram : line_->sent) receiver->offer(datagram, arbitrate::Line::A, now_, kEpoch + now_);
  Receiver::State state = Receiver::State::Idle;
  for (int i = 0; i < 1'000 && state != Receiver::State::Failed; ++i) state = receiver->step(now_ += kMs, kEpoch);
  EXPECT_EQ(state, Receiver::State::Failed);
  EXPECT_NE(receiver->problem().find("refill service"), std::string::npos);
}

TEST(MulticastAddress, names_one_or_two_groups) {
  EXPECT_EQ(parse_multicast_address("multicast://239.1.1.1:5").value().size(), 1U);
  EXPECT_EQ(parse_multicast_address("multicast://239.1.1.1:5,239.1.1.2:5").value()[1].address, 0xEF01'0102U);
  for (const char* wrong : {"multicast://", "multicast://10.1.1.1:5", "multicast://239.1.1.1",
                            "multicast://239.1.1.1:5,", "multicast://239.1.1.1:5,239.1.1.1:5",
                            "multicast://239.1.1.1:1,239.1.1.1:2,239.1.1.1:3", "udp://239.1.1.1:5"}) {
    EXPECT_FALSE(parse_multicast_address(wrong)) << wrong;
  }
}

}  // namespace stopbit::multicast::receiver_test
