#include "host/ports/packet_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/ports/read_ahead.hpp"

namespace stopbit::ingest::packet_queue_test {

constexpr auto kNever = [] { return false; };

/// Frame `number` of any run: its length and bytes follow from the number. Some are longer than a batch.
std::vector<std::byte> frame(std::uint64_t number) {
  std::mt19937_64 random(number);
  const std::size_t size = number % 97 == 96 ? 300'000 + random() % 100'000 : random() % 1500;
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

PacketQueue::Item item(std::uint64_t number, const std::vector<std::byte>& bytes) {
  PacketQueue::Item item;
  item.packet.frame = bytes;
  item.packet.number = number;
  item.packet.arrival_ns = 7 * number;
  item.source = number % 3;
  return item;
}

TEST(PacketQueue, gives_every_reader_every_packet_in_order) {
  constexpr std::uint64_t kPackets = 3'000;
  constexpr std::size_t kReaders = 3;
  PacketQueue queue(kReaders);
  std::vector<std::uint64_t> right(kReaders);
  std::vector<std::thread> readers;
  for (std::size_t reader = 0; reader < kReaders; ++reader) {
    readers.emplace_back([&queue, &right, reader] {
      std::uint64_t number = 0;
      while (const PacketQueue::Item* const next = queue.next(reader, kNever)) {
        const std::vector<std::byte> expected = frame(number);
        const bool same =
            std::equal(next->packet.frame.begin(), next->packet.frame.end(), expected.begin(), expected.end());
        if (same && next->packet.number == number && next->packet.arrival_ns == 7 * number &&
            next->source == number % 3)
          ++right[reader];
        ++number;
      }
    });
  }
  for (std::uint64_t number = 0; number < kPackets; ++number) {
    const std::vector<std::byte> bytes = frame(number);
    ASSERT_TRUE(queue.push(item(number, bytes)));
  }
  queue.close();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(right, std::vector<std::uint64_t>(kReaders, kPackets));
}

TEST(PacketQueue, shows_a_packet_of_a_batch_that_is_not_full) {
  PacketQueue queue(1);
  const std::vector<std::byte> bytes(10);
  ASSERT_TRUE(queue.push(item(5, bytes)));
  const PacketQueue::Item* const next = queue.next(0, kNever);  // the batch is open, and stays so
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->packet.number, 5U);
  EXPECT_EQ(queue.try_next(0), nullptr);
}

TEST(PacketQueue, holds_a_writer_back_until_the_slowest_reader_has_moved) {
  PacketQueue queue(2);
  const std::vector<std::byte> bytes(1000);
  std::atomic<std::uint64_t> pushed = 0;
  std::thread writer([&] {
    while (queue.push(item(pushed, bytes))) ++pushed;
  });
  constexpr std::uint64_t kRoom = 8 * (256U * 1024U / 1000U);  // packets of 1,000 bytes in all batches
  std::uint64_t taken = 0;
  while (taken < kRoom) taken += queue.try_next(0) != nullptr ? 1 : 0;
  EXPECT_EQ(queue.try_next(0), nullptr);  // reader 1 has not moved: its batch is not used again
  queue.cancel();
  writer.join();
  EXPECT_EQ(pushed, kRoom);
  EXPECT_FALSE(queue.push(item(0, bytes)));
  std::size_t left = 0;
  while (queue.next(1, kNever) != nullptr) ++left;
  EXPECT_LE(left, pushed);
}

TEST(PacketQueue, ends_a_wait_when_asked_to) {
  PacketQueue queue(1);
  bool is_stopped = false;
  EXPECT_EQ(queue.next(0, [&] { return std::exchange(is_stopped, true); }), nullptr);
}

/// `good` packets, and a fault after them.
class TestSource final : public PacketSource {
 public:
  explicit TestSource(std::uint64_t good, bool faulty) : good_(good), faulty_(faulty) { fault_.message = "cut"; }
  Next next(Packet& packet) noexcept override {
    if (at_ == good_) return std::exchange(faulty_, false) ? Next::Fault : Next::End;
    bytes_ = frame(at_);
    packet.frame = bytes_;
    packet.number = ++at_;
    return Next::Packet;
  }
  std::string_view name() const noexcept override { return "test"; }
  const Fault& fault() const noexcept override { return fault_; }
  SourceProgress progress() const noexcept override { return {at_, good_}; }
  record::TimeQuality time_quality() const noexcept override { return record::TimeQuality::Kernel; }

 private:
  std::uint64_t good_;
  bool faulty_;
  std::uint64_t at_ = 0;
  std::vector<std::byte> bytes_;
  Fault fault_;
};

TEST(ReadAhead, is_the_source_that_it_reads) {
  ReadAhead source(std::make_unique<TestSource>(500, true));
  EXPECT_EQ(source.progress().bytes_total, 500U);
  Packet packet;
  for (std::uint64_t number = 0; number < 500; ++number) {
    ASSERT_EQ(source.next(packet), Next::Packet);
    const std::vector<std::byte> expected = frame(number);
    ASSERT_TRUE(std::equal(packet.frame.begin(), packet.frame.end(), expected.begin(), expected.end()));
    ASSERT_EQ(packet.number, number + 1);
  }
  EXPECT_EQ(source.next(packet), Next::Fault);
  EXPECT_EQ(source.fault().message, "cut");
  EXPECT_EQ(source.next(packet), Next::End);
  EXPECT_EQ(source.next(packet), Next::End);
  EXPECT_EQ(source.progress().bytes_done, 500U);
  EXPECT_EQ(source.progress().bytes_total, 500U);
}

TEST(ReadAhead, may_be_left_in_the_middle) {
  ReadAhead source(std::make_unique<TestSource>(~std::uint64_t{0}, false));
  Packet packet;
  EXPECT_EQ(source.next(packet), Next::Packet);
}

}  // namespace stopbit::ingest::packet_queue_test
