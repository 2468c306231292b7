// Two nodes on two threads, over shared memory.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "host/nic/transport/shm/shm_transport.hpp"
#include "host/os/clock.hpp"
#include "tests/unit/nic/remote_fixture.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::remote::remote_shm_test {

nic::NodeOptions patient() {
  nic::NodeOptions options;
  options.ports = 8;
  options.link.resend_ns = 20'000'000;
  options.link.silence_ns = 30'000'000'000;  // the machine may have other things to do
  return options;
}

/// Node 1, its subscriber, and a reader of the ring that it makes.
class Other {
 public:
  Other(const std::string& network, const std::string& ring, SubscriberOptions::Way way) {
    nic::ShmOptions how;
    how.network = network;
    how.node = 1;
    transport_ = std::move(nic::ShmTransport::open(how)).value();
    node_ = std::make_unique<nic::Node>(*transport_, patient());
    SubscriberOptions wanted;
    wanted.ring = "ring";
    wanted.name = ring;
    wanted.follows = false;
    wanted.way = way;
    wanted.silence_ns = 60'000'000'000;
    wanted.max_slots = kRingSlots * 256;
    subscriber = std::move(Subscriber::open(*node_, wanted)).value();
  }
  void step() {
    const std::uint64_t now = os::monotonic_clock_ns();
    (void)node_->step(now);
    (void)subscriber->step(now);
  }
  std::unique_ptr<nic::ShmTransport> transport_;
  std::unique_ptr<nic::Node> node_;
  std::unique_ptr<Subscriber> subscriber;
};

void carry(SubscriberOptions::Way way) {
  const RingName source;
  const RingName target;
  const std::string network = "test-remote-net-" + std::to_string(::getpid());
  constexpr std::uint64_t kRecords = 100'000;
  nic::ShmOptions how;
  how.network = network;
  const std::unique_ptr<nic::ShmTransport> transport = std::move(nic::ShmTransport::open(how)).value();
  nic::Node node(*transport, patient());
  std::atomic<bool> is_live = false;
  std::atomic<bool> is_over = false;
  std::atomic<std::uint64_t> next = 0;
  std::uint64_t told_lost = 0;
  std::string problem;
  std::thread other([&] {
    Other far(network, target.get(), way);
    std::optional<ring::Reader> reader;
    const auto read = [&] {
      while (reader) {
        const ring::Poll poll = reader->poll();
        if (poll == ring::Poll::Lost) told_lost += reader->lost_records();
        if (poll == ring::Poll::Lost) next += reader->lost_records();
        if (poll != ring::Poll::Record) return;
        EXPECT_EQ(ring::test::seed_of(reader->record()), next++);
      }
    };
    while (!is_over && far.subscriber->state() != SubscriberState::Ended) {
      far.step();
      if (!reader && far.subscriber->state() == SubscriberState::Live) {
        reader.emplace(std::move(ring::Reader::open(target.get())).value());
        is_live = true;
      }
      read();
    }
    read();
    problem = far.subscriber->problem();
    EXPECT_EQ(far.subscriber->counters().lost, 0U);
  });
  PublisherOptions published;
  published.rings = {{"ring", source.get(), ""}};
  const std::unique_ptr<Publisher> publisher = std::move(Publisher::open(node, published)).value();
  Result<ring::Writer> made = ring::Writer::create(source.get(), market(), {.slot_count = kRingSlots * 256});
  ASSERT_TRUE(made.ok());
  std::optional<ring::Writer> writer(std::move(made).value());
  std::uint64_t written = 0;
  const std::uint64_t limit = os::monotonic_clock_ns() + 120'000'000'000;
  while (os::monotonic_clock_ns() < limit) {
    (void)node.step(os::monotonic_clock_ns());
    (void)publisher->step(os::monotonic_clock_ns());
    // Never so far ahead that a record could be lost.
    const std::vector<SubscriptionStatus> status = publisher->status();
    const bool may_write = is_live && !status.empty() && written - next < kRingSlots;
    if (may_write && written < kRecords) {
      ring::test::write_record(*writer, 1 + static_cast<std::uint32_t>(written % kMaxRecordSlots), written);
      ++written;
    }
    if (written == kRecords) writer.reset();
    if (is_live && written == kRecords && (status.empty() || next == kRecords)) break;
  }
  is_over = true;
  other.join();
  EXPECT_EQ(next, kRecords) << problem;
  EXPECT_EQ(told_lost, 0U) << "the writer is never far ahead of the reader";
}

TEST(RemoteShm, carries_a_ring_from_one_thread_to_another) {
  carry(SubscriberOptions::Way::Far);
}

TEST(RemoteShm, writes_a_ring_that_another_thread_has_asked_for) {
  carry(SubscriberOptions::Way::Near);
}

}  // namespace stopbit::remote::remote_shm_test
