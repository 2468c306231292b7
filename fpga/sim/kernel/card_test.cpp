#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host/device/generated/registers.hpp"
#include "host/device/kernel.hpp"
#include "host/device/ring.hpp"
#include "host/device/sim/feed.hpp"
#include "host/device/sim/sim_card.hpp"
#include "tests/lib/card_leaf.hpp"

// The leaf of the run (XRT: its code here, the XRT library as Debian ships it, and a driver; VFIO: its code here, and a
// simulated machine), whose card is the Verilated kernel around the bench core: each datagram becomes a record of one
// slot (core/stopbit_core.sv).

namespace stopbit::device {
namespace {

std::string feed_path() {
  return "./card_feed_" + std::to_string(::getpid());
}

class OneKernel : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { ::unlink(feed_path().c_str()); }

  void SetUp() override {
    auto sim = SimCard::prepare(stopbit::testing::leaf_of_run(), feed_path());
    ASSERT_TRUE(sim.ok()) << sim.message();
    opener = sim.value()->opener();
  }
  std::unique_ptr<Device> open() {
    Result<std::unique_ptr<Device>> device = opener();
    EXPECT_TRUE(device.ok()) << (device.ok() ? "" : device.message());
    return device.ok() ? std::move(device).value() : nullptr;
  }

  OpenDevice opener;
};

TEST_F(OneKernel, loads_firmware_feeds_datagrams_and_reads_records) {
  const std::unique_ptr<Device> device = open();
  ASSERT_NE(device, nullptr);
  Result<Kernel> opened = Kernel::open(*device);
  ASSERT_TRUE(opened.ok()) << opened.message();
  Kernel& kernel = opened.value();
  const std::vector<LoadWord> words{{0, 1}, {1, 2}, {0x10000, 3}};
  const Status loaded = kernel.load(1, words);
  ASSERT_TRUE(loaded.ok()) << loaded.message();

  Program program;
  program.max_record_slots = 4;
  auto ring = DeviceRing::start(*device, program, {},
                                {.index = 0,
                                 .slot_count = 256,
                                 .mode = RingMode::Stall,
                                 .image_generation = 0,
                                 .segment_slots = 64,
                                 .timeout_cycles = 0});
  ASSERT_TRUE(ring.ok()) << ring.message();
  ASSERT_TRUE(kernel.set_clock({.side_band = true, .ns_per_cycle = 0, .offset_ns = 0}).ok());
  ASSERT_TRUE(kernel.receive(true).ok());

  Result<sim::Feed> feed = sim::Feed::connect(feed_path());
  ASSERT_TRUE(feed.ok()) << feed.message();
  constexpr std::uint64_t kPackets = 3000;
  std::thread sender([&] {
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < kPackets; ++i) {
      std::vector<std::byte> packet(8 + random() % 300);
      std::memcpy(packet.data(), &i, sizeof(i));
      if (!feed.value().send(packet, static_cast<std::uint16_t>(i % 7), 1'000'000 + i)) break;
    }
  });
  std::uint64_t records = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (records < kPackets && std::chrono::steady_clock::now() < end && !HasFailure()) {
    const ring::Poll poll = ring.value()->poll();
    if (poll == ring::Poll::Nothing) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      continue;
    }
    EXPECT_EQ(poll, ring::Poll::Record) << ring.value()->problem();
    if (poll != ring::Poll::Record) break;
    // Datagrams whose first byte is 0xFF are given up.
    while (records % 256 == 0xFF) ++records;
    const auto& words_of = ring.value()->record()[0].words;
    EXPECT_EQ(words_of[1], 1'000'000 + records);
    EXPECT_EQ(words_of[2] >> 32 & 0xFFFF, records % 7);
    EXPECT_EQ(words_of[5], records);
    EXPECT_EQ(words_of[6] >> 32, words.size()) << "words of firmware that came to the core";
    ++records;
  }
  sender.join();
  EXPECT_EQ(records, kPackets);
  EXPECT_EQ(kernel.counters().value().datagrams, kPackets);
  EXPECT_EQ(kernel.take_errors().value(), 0U);
  EXPECT_EQ(ring.value()->counters().value().dropped, 0U);
  EXPECT_TRUE(ring.value()->stop().ok());
}

TEST_F(OneKernel, belongs_to_one_at_a_time) {
  std::unique_ptr<Device> first = open();
  ASSERT_NE(first, nullptr);
  const Result<std::unique_ptr<Device>> second = opener();
  ASSERT_FALSE(second.ok());
  const bool is_xrt = stopbit::testing::leaf_of_run() == Leaf::Xrt;
  EXPECT_NE(second.message().find(is_xrt ? "cannot use card 0" : "another process uses it"), std::string::npos)
      << second.message();
  first.reset();
  EXPECT_NE(open(), nullptr);
}

TEST_F(OneKernel, refuses_a_register_outside_the_window) {
  const std::unique_ptr<Device> device = open();
  ASSERT_NE(device, nullptr);
  EXPECT_FALSE(device->read(registers::kWindowBytes).ok());
  EXPECT_FALSE(device->write(registers::kWindowBytes + 4096, 1).ok());
}

TEST_F(OneKernel, gives_memory_at_addresses_of_its_own_and_takes_it_back) {
  const std::unique_ptr<Device> device = open();
  ASSERT_NE(device, nullptr);
  EXPECT_FALSE(device->allocate(std::size_t{1} << 60).ok());
  auto one = device->allocate(5000);
  auto two = device->allocate(4096);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one.value()->bytes(), 8192U);
  EXPECT_EQ(one.value()->address() % 4096, 0U);
  EXPECT_NE(one.value()->address(), two.value()->address());
  for (std::size_t i = 0; i < one.value()->bytes(); ++i) ASSERT_EQ(one.value()->data()[i], std::byte{0});
}

}  // namespace
}  // namespace stopbit::device
