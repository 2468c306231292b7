#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host/device/generated/registers.hpp"
#include "host/device/kernel.hpp"
#include "host/device/ring.hpp"
#include "host/device/sim/feed.hpp"
#include "host/device/xrt/xrt_device.hpp"
#include "tests/lib/file_text.hpp"

// The host's XRT code, the XRT library as Debian ships it, and a driver whose card is the Verilated kernel around the
// bench core: each datagram becomes a record of one slot (core/stopbit_core.sv).

namespace stopbit::device {
namespace {

std::string feed_path() {
  return "./xrt_feed_" + std::to_string(::getpid());
}

class Xrt : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv("STOPBIT_SIM_FEED", feed_path().c_str(), 1); }
  static void TearDownTestSuite() { ::unlink(feed_path().c_str()); }

  static std::unique_ptr<Device> open() {
    Result<std::unique_ptr<Device>> device = open_xrt({.card = 0, .xclbin = STOPBIT_XCLBIN, .kernel = 0, .memory = 0});
    EXPECT_TRUE(device.ok()) << (device.ok() ? "" : device.message());
    return device.ok() ? std::move(device).value() : nullptr;
  }
};

TEST_F(Xrt, loads_firmware_feeds_datagrams_and_reads_records) {
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

TEST_F(Xrt, a_kernel_belongs_to_one_at_a_time) {
  const std::unique_ptr<Device> first = open();
  ASSERT_NE(first, nullptr);
  const Result<std::unique_ptr<Device>> second =
      open_xrt({.card = 0, .xclbin = STOPBIT_XCLBIN, .kernel = 0, .memory = 0});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.message().find("cannot use card 0"), std::string::npos) << second.message();
}

TEST_F(Xrt, refuses_a_register_outside_the_window) {
  const std::unique_ptr<Device> device = open();
  ASSERT_NE(device, nullptr);
  EXPECT_FALSE(device->read(registers::kWindowBytes).ok());
  EXPECT_FALSE(device->write(registers::kWindowBytes + 4096, 1).ok());
}

TEST_F(Xrt, refuses_cards_that_are_not_there) {
  EXPECT_FALSE(open_xrt({.card = 7, .xclbin = STOPBIT_XCLBIN, .kernel = 0, .memory = 0}).ok());
  EXPECT_FALSE(open_xrt({.card = 0, .xclbin = STOPBIT_XCLBIN, .kernel = 3, .memory = 0}).ok());
}

TEST_F(Xrt, refuses_files_that_would_make_the_library_crash) {
  const std::string whole = testing::file_text(STOPBIT_XCLBIN);
  ASSERT_GT(whole.size(), 500U);
  const std::string path = "./xrt_bad_" + std::to_string(::getpid()) + ".xclbin";
  const auto refused = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    const Result<std::unique_ptr<Device>> device = open_xrt({.card = 0, .xclbin = path, .kernel = 0, .memory = 0});
    return device.ok() ? std::string() : device.message();
  };
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{7}, std::size_t{455}, std::size_t{600}, whole.size() - 1}) {
    EXPECT_NE(refused(whole.substr(0, bytes)).find("is not an xclbin"), std::string::npos) << bytes << " bytes";
  }
  std::string other = whole;
  other[0] = 'X';
  EXPECT_NE(refused(other).find("does not begin with"), std::string::npos);
  other = whole;
  constexpr std::size_t kFirstSectionSize = 456 + 32;
  other[kFirstSectionSize + 3] = 0x7F;
  EXPECT_NE(refused(other).find("ends after the end of the file"), std::string::npos);
  other = whole;
  constexpr std::size_t kSections = 448;
  other[kSections + 3] = 0x7F;
  EXPECT_NE(refused(other).find("cannot hold"), std::string::npos);
  ::unlink(path.c_str());
  EXPECT_NE(refused("").size(), 0U);
  ::unlink(path.c_str());
  const Result<std::unique_ptr<Device>> absent =
      open_xrt({.card = 0, .xclbin = "./not-there", .kernel = 0, .memory = 0});
  ASSERT_FALSE(absent.ok());
  EXPECT_NE(absent.message().find("cannot open"), std::string::npos);
}

}  // namespace
}  // namespace stopbit::device
