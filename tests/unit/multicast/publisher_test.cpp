#include "host/multicast/publisher.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "host/relay/unpacker.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::multicast::publisher_test {

using ring::test::seed_of;
using ring::test::write_record;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kEpoch = 1'700'000'000'000'000'000;

using Datagram = std::vector<std::byte>;

/// A line whose socket has room for `room` packets.
struct FakeLine final : Line {
  Outcome send(std::span<const std::byte> packet) noexcept override {
    if (is_refusing) return Outcome::Refused;
    if (room == 0) return Outcome::Full;
    --room;
    sent.emplace_back(packet.begin(), packet.end());
    return Outcome::Sent;
  }
  [[nodiscard]] int error() const noexcept override { return is_refusing ? 101 : 0; }

  std::vector<Datagram> sent;
  std::size_t room = ~std::size_t{0};
  bool is_refusing = false;
};

/// What a reader of the packets gets.
struct ReadBack : record::RecordSink {
  explicit ReadBack(std::uint32_t max_record_slots) : slots(max_record_slots) {}
  Place open() noexcept override { return {slots.data(), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t count) noexcept override {
    slots.front() = first;
    seeds.push_back(seed_of({slots.data(), count}));
  }
  std::vector<record::Slot> slots;
  std::vector<std::uint64_t> seeds;
  std::uint64_t lost = 0;
  std::uint64_t damaged = 0;
  std::uint64_t heartbeats = 0;
  std::vector<relay::Ending> endings;
  std::vector<std::uint64_t> epochs;
};

ReadBack read_back(const std::vector<Datagram>& packets, std::uint32_t max_record_slots = 4) {
  ReadBack back(max_record_slots);
  relay::Unpacker unpacker;
  for (const Datagram& datagram : packets) {
    const auto packet = decode_packet(datagram);
    EXPECT_TRUE(packet) << (packet ? "" : packet.message());
    if (!packet) continue;
    if (packet.value().messages.empty()) {
      ++back.heartbeats;
      continue;
    }
    const auto content = decode_messages(packet.value().messages);
    EXPECT_TRUE(content) << (content ? "" : content.message());
    if (!content) continue;
    const relay::Head& ring = content.value().ring;
    if (unpacker.is_of_next_ring(ring)) {
      back.lost += unpacker.begin_ring(ring, back, max_record_slots);
      back.epochs.push_back(ring.epoch);
    }
    const relay::Taken taken = unpacker.take(ring, content.value().slots);
    back.lost += taken.lost;
    back.damaged += taken.is_damaged ? 1 : 0;
    if (ring.kind == relay::Kind::End) back.endings.push_back(ring.ending);
  }
  return back;
}

std::vector<std::uint64_t> up_to(std::uint64_t count, std::uint64_t from = 0) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = from; i < count; ++i) all.push_back(i);
  return all;
}

class MulticastPublisher : public ring::test::RingTest {
 protected:
  std::unique_ptr<Publisher> make_publisher(PublisherOptions options = {}) {
    options.ring = name_;
    options.epoch_ns = kEpoch;
    Publisher::Lines lines;
    for (std::size_t i = 0; i < kLines; ++i) {
      auto line = std::make_unique<FakeLine>();
      line_[i] = line.get();
      lines[i] = std::move(line);
    }
    return std::make_unique<Publisher>(std::move(options), std::move(lines),
                                       [this](const std::string& line) { told_.push_back(line); });
  }
  /// Steps of 1 us, so that no heartbeat is due, until nothing is sent.
  void level(Publisher& publisher) {
    do {
      now_ += 1000;
    } while (publisher.step(now_, kEpoch + now_) != 0);
  }
  /// Past every look at the ring's writer, and every heartbeat.
  void pass(Publisher& publisher, std::uint64_t ns) {
    for (const std::uint64_t end = now_ + ns; now_ < end;) {
      now_ += 5 * kMs;
      (void)publisher.step(now_, kEpoch + now_);
    }
  }

  FakeLine* line_[kLines] = {};
  std::uint64_t now_ = 1'000 * kMs;
  std::vector<std::string> told_;
};

TEST_F(MulticastPublisher, sends_each_record_once_on_both_lines_and_the_end_of_the_ring) {
  auto writer = std::make_unique<ring::Writer>(make_writer(1024));
  for (std::uint64_t i = 0; i < 100; ++i) write_record(*writer, static_cast<std::uint32_t>(1 + i % 4), i);
  const auto publisher = make_publisher();
  level(*publisher);
  for (std::uint64_t i = 100; i < 150; ++i) write_record(*writer, 1, i);
  writer->finish();
  writer.reset();
  pass(*publisher, 100 * kMs);
  EXPECT_EQ(line_[0]->sent, line_[1]->sent);
  const ReadBack back = read_back(line_[0]->sent);
  EXPECT_EQ(back.seeds, up_to(150));
  EXPECT_EQ(back.lost + back.damaged, 0U);
  EXPECT_EQ(back.endings, std::vector{relay::Ending::Finished});
  EXPECT_EQ(publisher->counts().records, 150U);
  EXPECT_EQ(publisher->counts().lines[1].packets, line_[1]->sent.size());
}

TEST_F(MulticastPublisher, numbers_packets_without_a_hole_from_the_first_of_its_epoch) {
  ring::Writer writer = make_writer(1024);
  const auto publisher = make_publisher();
  for (std::uint64_t i = 0; i < 50; ++i) {
    write_record(writer, 3, i);
    level(*publisher);
  }
  pass(*publisher, 1'000 * kMs);
  std::uint64_t sequence = first_sequence(kEpoch);
  for (const Datagram& datagram : line_[0]->sent) {
    const auto packet = decode_packet(datagram);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet.value().head.sequence, sequence++);
    EXPECT_EQ(packet.value().head.epoch, kEpoch);
    EXPECT_GT(packet.value().head.sent_ns, kEpoch);
  }
  EXPECT_EQ(publisher->next_sequence(), sequence);
}

TEST_F(MulticastPublisher, sends_heartbeats_while_there_is_nothing_else_with_and_without_a_ring) {
  const auto publisher = make_publisher({.heartbeat_ns = 100 * kMs});
  pass(*publisher, 1'000 * kMs);
  EXPECT_GE(publisher->counts().heartbeats, 9U);
  EXPECT_LE(publisher->counts().heartbeats, 11U);
  EXPECT_EQ(told_.size(), 1U) << "that there is no ring";
  ring::Writer writer = make_writer(1024);
  pass(*publisher, 1'000 * kMs);
  EXPECT_GE(publisher->counts().heartbeats, 18U);
  EXPECT_EQ(read_back(line_[1]->sent).heartbeats, publisher->counts().heartbeats);
}

TEST_F(MulticastPublisher, cuts_records_longer_than_a_packet) {
  constexpr std::uint32_t kLong = 300;
  ring::Writer writer = make_writer(4096, kLong);
  const auto publisher = make_publisher({.packet_bytes = 600});
  for (std::uint64_t i = 0; i < 8; ++i) write_record(writer, i % 2 == 0 ? kLong : 2, i);
  level(*publisher);
  for (const Datagram& datagram : line_[0]->sent) EXPECT_LE(datagram.size(), 600U);
  const ReadBack back = read_back(line_[0]->sent, kLong);
  EXPECT_EQ(back.seeds, up_to(8));
  EXPECT_EQ(back.lost + back.damaged, 0U);
}

TEST_F(MulticastPublisher, tells_what_the_ring_no_longer_had) {
  ring::Writer writer = make_writer(64);
  const auto publisher = make_publisher();
  write_record(writer, 1, 0);
  level(*publisher);
  for (std::uint64_t i = 1; i < 1'000; ++i) write_record(writer, 1, i);
  level(*publisher);
  const ReadBack back = read_back(line_[0]->sent);
  EXPECT_EQ(back.lost + back.seeds.size(), 1'000U);
  EXPECT_GT(back.lost, 0U);
  EXPECT_EQ(publisher->counts().lost, back.lost);
  EXPECT_EQ(back.seeds.back(), 999U);
}

TEST_F(MulticastPublisher, waits_for_a_full_socket_and_then_goes_on_without_the_line) {
  ring::Writer writer = make_writer(1024);
  const auto publisher = make_publisher({.patience_ns = 2 * kMs});
  level(*publisher);
  line_[1]->room = 0;
  for (std::uint64_t i = 0; i < 100; ++i) write_record(writer, 4, i);
  EXPECT_EQ(publisher->step(now_ += 1000, kEpoch), 1U);
  EXPECT_EQ(publisher->step(now_ += 1000, kEpoch), 0U) << "no other packet is made";
  EXPECT_EQ(publisher->counts().waited, 1U);
  line_[1]->room = 1;  // in time
  (void)publisher->step(now_ += 1000, kEpoch);
  EXPECT_EQ(publisher->counts().lines[1].full, 0U);
  pass(*publisher, 200 * kMs);
  EXPECT_GT(publisher->counts().lines[1].full, 0U);
  EXPECT_EQ(publisher->counts().lines[0].full, 0U);
  EXPECT_EQ(publisher->counts().missed, 0U);
  EXPECT_EQ(read_back(line_[0]->sent).seeds, up_to(100)) << "the other line has all";
  EXPECT_EQ(line_[0]->sent.size(), line_[1]->sent.size() + publisher->counts().lines[1].full);
}

TEST_F(MulticastPublisher, counts_packets_that_no_line_takes_and_says_why_once) {
  ring::Writer writer = make_writer(1024);
  const auto publisher = make_publisher();
  level(*publisher);
  line_[0]->is_refusing = line_[1]->is_refusing = true;
  for (std::uint64_t i = 0; i < 100; ++i) write_record(writer, 4, i);
  level(*publisher);
  EXPECT_GT(publisher->counts().missed, 3U);
  EXPECT_EQ(publisher->counts().lines[0].refused, publisher->counts().missed);
  EXPECT_EQ(told_.size(), 2U);
  EXPECT_NE(told_.at(0).find("line A"), std::string::npos);
}

TEST_F(MulticastPublisher, keeps_its_rate) {
  constexpr std::uint64_t kRate = 1 << 20;
  ring::Writer writer = make_writer(65'536);
  for (std::uint64_t i = 0; i < 15'000; ++i) write_record(writer, 4, i);
  const auto publisher = make_publisher({.bytes_per_second = kRate});
  pass(*publisher, 1'000 * kMs);
  // A tenth of a second's bytes may go at once.
  EXPECT_GT(publisher->counts().lines[0].bytes, kRate * 9 / 10);
  EXPECT_LT(publisher->counts().lines[0].bytes, kRate * 12 / 10);
  EXPECT_GT(publisher->counts().limited, 0U);
  pass(*publisher, 5'000 * kMs);
  EXPECT_EQ(read_back(line_[0]->sent).seeds, up_to(15'000));
}

TEST_F(MulticastPublisher, follows_the_next_ring_of_the_name) {
  auto writer = std::make_unique<ring::Writer>(make_writer(1024));
  const auto publisher = make_publisher();
  for (std::uint64_t i = 0; i < 10; ++i) write_record(*writer, 1, i);
  level(*publisher);
  writer->finish();
  writer.reset();
  pass(*publisher, 100 * kMs);
  writer = std::make_unique<ring::Writer>(make_writer(1024));
  for (std::uint64_t i = 10; i < 20; ++i) write_record(*writer, 1, i);
  pass(*publisher, 100 * kMs);
  const ReadBack back = read_back(line_[0]->sent);
  EXPECT_EQ(back.seeds, up_to(20));
  EXPECT_EQ(back.epochs.size(), 2U);
  EXPECT_EQ(publisher->counts().rings, 2U);
}

TEST_F(MulticastPublisher, sends_market_events_as_messages_that_need_no_table) {
  ring::Writer writer = make_writer(1024);
  const auto event = [](std::uint64_t id) {
    return market::Event::of({.arrival_ns = kEpoch, .kind = market::Kind::New, .price = 5, .quantity = 2, .id = id});
  };
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto place = writer.open();
    writer.commit(event(i).slot(place.stamp(), place.phase()), 1);
  }
  const auto publisher = make_publisher();
  level(*publisher);
  std::uint64_t id = 0;
  for (const Datagram& datagram : line_[0]->sent) {
    EXPECT_LE(datagram.size(), 1'472U);
    const auto packet = decode_packet(datagram);
    ASSERT_TRUE(packet);
    const auto content = decode_messages(packet.value().messages);
    ASSERT_TRUE(content) << content.message();
    EXPECT_TRUE(content.value().slots.empty());
    for (std::size_t at = 0; at < content.value().events.size(); at += kEventBytes) {
      const auto read = market::read_sbe(content.value().events.subspan(at));
      ASSERT_TRUE(read);
      const market::Event expected = event(id++);
      EXPECT_EQ(std::memcmp(&read->event, &expected, sizeof(expected)), 0);
    }
  }
  EXPECT_EQ(id, 100U);
}

TEST_F(MulticastPublisher, says_at_the_end_what_the_ring_still_has) {
  auto writer = std::make_unique<ring::Writer>(make_writer(1024));
  const auto publisher = make_publisher();
  level(*publisher);
  for (std::uint64_t i = 0; i < 200; ++i) write_record(*writer, 4, i);
  writer->finish();
  writer.reset();
  publisher->finish([this] { return now_ += 1000; }, kEpoch, now_ + 1'000 * kMs);
  const ReadBack back = read_back(line_[0]->sent);
  EXPECT_EQ(back.seeds, up_to(200));
  EXPECT_EQ(back.endings, std::vector{relay::Ending::Finished});
  EXPECT_EQ(back.heartbeats, 1U) << "a number after the last packet";
}

}  // namespace stopbit::multicast::publisher_test
