#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench.hpp"
#include "host/device/kernel.hpp"
#include "host/device/registers.hpp"
#include "host/device/ring.hpp"
#include "kernel_model.hpp"
#include "microcode/image/image.hpp"
#include "model_device.hpp"

// The kernel with a bench core in the decode core's place, driven by the host's own code (host/device): registers,
// firmware, datagrams in, records out. What the bench core makes of a datagram is said in core/stopbit_core.sv.

namespace stopbit::sim {
namespace {

namespace reg = device::registers;

Program program_of(std::uint32_t max_record_slots) {
  Program program;
  program.max_record_slots = max_record_slots;
  return program;
}

Packet make_packet(Random& random, std::size_t bytes) {
  Packet packet;
  packet.bytes.resize(bytes);
  for (std::byte& byte : packet.bytes) byte = static_cast<std::byte>(random.below(255));  // 0xFF is given up
  packet.socket = static_cast<std::uint16_t>(random.bits());
  packet.arrival_ns = random.bits();
  return packet;
}

struct Marks {
  std::uint64_t number;  // of the datagram
  std::uint8_t source;
  std::uint8_t time_quality;
  std::uint16_t preamble;
};

constexpr std::size_t kMaxBytes = 16'384;

void expect_record_of(const Packet& packet, const Marks& marks, std::span<const record::Slot> record) {
  ASSERT_EQ(record.size(), 1U);
  const auto& words = record[0].words;
  const bool is_cut = packet.bytes.size() > kMaxBytes;
  const std::size_t length = is_cut ? kMaxBytes : packet.bytes.size();
  std::uint64_t head = 0;
  if (length > 0) std::memcpy(&head, packet.bytes.data(), std::min<std::size_t>(length, 8));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < length; ++i) sum += static_cast<std::uint64_t>(packet.bytes[i]);
  EXPECT_EQ(words[1], packet.arrival_ns);
  EXPECT_EQ(words[2] >> 32 & 0xFFFF, packet.socket);
  EXPECT_EQ(words[3] >> 48 & 0xFF, marks.source);
  EXPECT_EQ(words[3] >> 56, marks.time_quality);
  EXPECT_EQ(words[3] >> 16 & 1, is_cut ? 1U : 0U);
  EXPECT_EQ(words[4] >> 32, marks.number);
  EXPECT_EQ(words[4] >> 16 & 0xFFFF, marks.preamble);
  EXPECT_EQ(words[4] & 0xFFFF, length);
  EXPECT_EQ(words[5], head);
  EXPECT_EQ(words[6] & 0xFFFF'FFFF, sum);
}

TEST(Kernel, says_who_it_is) {
  KernelModel model(1, 0);
  ModelDevice device(model);
  const Result<device::Kernel> kernel = device::Kernel::open(device);
  ASSERT_TRUE(kernel.ok()) << kernel.message();
  EXPECT_EQ(kernel.value().capabilities(), 0xFFU);
}

TEST(Kernel, registers_keep_what_is_written_and_others_read_as_zero) {
  KernelModel model(2, 60);
  Random random(2);
  const std::array<std::pair<std::uint32_t, std::uint32_t>, 6> writable{
      {{reg::kClockRate, ~0U},
       {reg::kPreambleBytes, 0xFFFF},
       {reg::kFirmwareBank, 1},
       {reg::ring::base(0) + reg::ring::kSegments, ~0U},
       {reg::ring::base(0) + reg::ring::kSlotsLog2, 31},
       {reg::ring::base(0) + reg::ring::kTimeout, ~0U}}};
  for (const auto& [offset, bits] : writable) {
    EXPECT_EQ(model.read(offset), 0U);
    const auto value = static_cast<std::uint32_t>(random.bits());
    model.write(offset, value);
    EXPECT_EQ(model.read(offset), value & bits);
  }
  EXPECT_EQ(model.read(reg::kErrors), 0U);
  for (const std::uint32_t offset : {0U, 4U, 8U, 12U, 0xFFFCU, 0x3FCU}) EXPECT_EQ(model.read(offset), 0U);
  model.write(0xFFFC, 1);
  EXPECT_EQ(model.read(reg::kErrors), reg::kErrorsBadAccess);
  model.write(reg::kErrors, reg::kErrorsWriteError);
  EXPECT_EQ(model.read(reg::kErrors), reg::kErrorsBadAccess) << "only what is written as 1 is cleared";
  model.write(reg::kErrors, reg::kErrorsBadAccess);
  EXPECT_EQ(model.read(reg::kErrors), 0U);
  model.reset();
  for (const auto& [offset, bits] : writable) EXPECT_EQ(model.read(offset), 0U);
  EXPECT_EQ(model.problem(), "");
}

TEST(Kernel, a_64_bit_register_changes_when_its_upper_half_is_written) {
  KernelModel model(3, 0);
  model.write(reg::kClockOffset, 5);
  EXPECT_EQ(model.read(reg::kClockOffset), 0U);
  model.write(reg::kClockOffset + 4, 7);
  EXPECT_EQ(model.read(reg::kClockOffset), 5U);
  EXPECT_EQ(model.read(reg::kClockOffset + 4), 7U);
}

TEST(Kernel, counts_time_at_the_rate_it_is_told) {
  KernelModel model(4, 0);
  ModelDevice device(model);
  Result<device::Kernel> kernel = device::Kernel::open(device);
  ASSERT_TRUE(kernel.ok());
  ASSERT_TRUE(kernel.value().set_clock({.side_band = false, .ns_per_cycle = 4.5, .offset_ns = 1'000'000'000'000}).ok());
  const std::uint64_t before = kernel.value().clock().value();
  const std::uint64_t cycles = model.cycles();
  model.run(10'000);
  const std::uint64_t after = kernel.value().clock().value();
  EXPECT_GT(before, 1'000'000'000'000U);
  EXPECT_NEAR(static_cast<double>(after - before), 4.5 * static_cast<double>(model.cycles() - cycles), 50);
  EXPECT_FALSE(kernel.value().set_clock({.side_band = false, .ns_per_cycle = 256, .offset_ns = 0}).ok());
  EXPECT_FALSE(kernel.value().set_clock({.side_band = false, .ns_per_cycle = -1, .offset_ns = 0}).ok());
}

TEST(Kernel, loads_firmware_and_proves_that_it_arrived) {
  KernelModel model(5, 30);
  ModelDevice device(model);
  Result<device::Kernel> kernel = device::Kernel::open(device);
  ASSERT_TRUE(kernel.ok());
  Random random(5);
  std::vector<device::LoadWord> words;
  for (std::uint32_t table = 0; table < 8; ++table) {
    for (std::uint32_t i = 0; i < 20; ++i)
      words.push_back({table << 16 | i, static_cast<std::uint32_t>(random.bits())});
  }
  for (const std::uint32_t bank : {0U, 1U}) {
    const device::Status loaded = kernel.value().load(bank, words);
    EXPECT_TRUE(loaded.ok()) << loaded.message();
  }
  EXPECT_FALSE(kernel.value().load(2, words).ok());
  EXPECT_TRUE(kernel.value().load(0, {}).ok());
  // A word that nobody sent is found out.
  class Meddler final : public device::Device {
   public:
    explicit Meddler(KernelModel& model) : model_(model) {}
    Result<std::uint32_t> read(std::uint32_t offset) override { return model_.read(offset); }
    device::Status write(std::uint32_t offset, std::uint32_t value) override {
      model_.write(offset, offset == reg::kFirmwareData ? value ^ 4 : value);
      return device::Done{};
    }
    Result<std::unique_ptr<device::HostBuffer>> allocate(std::size_t) override { return Failure{"none"}; }

   private:
    KernelModel& model_;
  } meddler(model);
  Result<device::Kernel> cheated = device::Kernel::open(meddler);
  ASSERT_TRUE(cheated.ok());
  const device::Status refused = cheated.value().load(0, words);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.message().find("did not arrive as it was sent"), std::string::npos) << refused.message();
}

class KernelTraffic : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(KernelTraffic, every_datagram_becomes_its_record) {
  const std::uint32_t stall = GetParam();
  KernelModel model(100 + stall, stall);
  ModelDevice device(model);
  Random random(200 + stall);
  Result<device::Kernel> opened = device::Kernel::open(device);
  ASSERT_TRUE(opened.ok());
  device::Kernel& kernel = opened.value();
  const std::vector<std::byte> image = image::write(program_of(1));
  auto ring = device::DeviceRing::start(device, program_of(1), image,
                                        {.index = 0,
                                         .slot_count = 64,
                                         .mode = device::RingMode::Stall,
                                         .image_generation = 1,
                                         .segment_slots = 7,
                                         .timeout_cycles = 0});
  ASSERT_TRUE(ring.ok()) << ring.message();
  ASSERT_TRUE(kernel.set_clock({.side_band = true, .ns_per_cycle = 1, .offset_ns = 0}).ok());
  ASSERT_TRUE(kernel.describe_input(2, 3, 5).ok());
  ASSERT_TRUE(kernel.receive(true).ok());

  std::vector<Packet> packets;
  constexpr std::array<std::size_t, 18> kEdges{0,  1,   7,   8,   15,   16,   17,     63,        64,
                                               65, 127, 128, 129, 1472, 9000, 16'383, kMaxBytes, kMaxBytes + 1};
  for (const std::size_t bytes : kEdges) packets.push_back(make_packet(random, bytes));
  packets.push_back(make_packet(random, kMaxBytes + 64));
  packets.push_back(make_packet(random, 3 * kMaxBytes));
  for (int i = 0; i < 300; ++i) packets.push_back(make_packet(random, random.below(200)));
  for (std::size_t i = 0; i < packets.size(); i += 17) {
    if (!packets[i].bytes.empty() && i > 30) packets[i].bytes[0] = std::byte{0xFF};  // given up
  }

  std::uint64_t bytes = 0;
  std::uint64_t given_up = 0;
  std::uint64_t records = 0;
  std::size_t sent = 0;
  std::size_t got = 0;
  const std::uint64_t begin = model.cycles();
  while (got < packets.size() && !HasFatalFailure() && model.cycles() - begin < 5'000'000) {
    if (sent < packets.size() && model.waiting() < 4) model.send(packets[sent++]);
    model.run(1 + random.below(200));
    const auto is_given_up = [&] {
      return got < packets.size() && !packets[got].bytes.empty() && packets[got].bytes[0] == std::byte{0xFF};
    };
    const ring::Poll poll = ring.value()->poll();
    ASSERT_TRUE(poll == ring::Poll::Nothing || poll == ring::Poll::Record) << ring.value()->problem();
    if (poll == ring::Poll::Nothing) {
      if (sent == packets.size() && model.waiting() == 0 && is_given_up() && got + 1 == packets.size()) break;
      continue;
    }
    for (; is_given_up(); ++got) ++given_up;
    SCOPED_TRACE("datagram " + std::to_string(got));
    expect_record_of(packets[got], {.number = got + 1, .source = 2, .time_quality = 3, .preamble = 5},
                     ring.value()->record());
    ++got;
    ++records;
  }
  given_up += packets.size() - got;
  for (const Packet& packet : packets) bytes += std::min(packet.bytes.size(), kMaxBytes);
  for (int i = 0; i < 1000 && !kernel.idle().value(); ++i) model.run(100);
  EXPECT_TRUE(kernel.idle().value());
  const device::Counters counters = kernel.counters().value();
  EXPECT_EQ(counters.datagrams, packets.size());
  EXPECT_EQ(counters.datagram_bytes, bytes);
  EXPECT_EQ(counters.datagrams_dropped, 0U);
  EXPECT_EQ(counters.datagrams_decoded, packets.size());
  EXPECT_GT(counters.instructions, 0U);
  EXPECT_EQ(counters.records, records);
  EXPECT_EQ(counters.records_withdrawn, given_up);
  EXPECT_EQ(records + given_up, packets.size());
  EXPECT_EQ(kernel.take_errors().value(), reg::kErrorsOversized);
  EXPECT_EQ(kernel.take_errors().value(), 0U);
  const device::RingCounters of_ring = ring.value()->counters().value();
  EXPECT_TRUE(of_ring.running);
  EXPECT_EQ(of_ring.records, records);
  EXPECT_EQ(of_ring.dropped, 0U);
  EXPECT_EQ(ring.value()->header().records, records);
  ASSERT_TRUE(ring.value()->stop().ok());
  EXPECT_FALSE(ring.value()->counters().value().running);
  EXPECT_EQ(model.problem(), "");
}

INSTANTIATE_TEST_SUITE_P(stalls, KernelTraffic, ::testing::Values(0U, 20U, 60U, 90U));

TEST(Kernel, drops_and_counts_what_comes_while_it_does_not_receive) {
  KernelModel model(7, 10);
  ModelDevice device(model);
  Random random(7);
  device::Kernel kernel = device::Kernel::open(device).value();
  const auto settle = [&] {
    for (int i = 0; i < 1000 && (model.waiting() > 0 || !kernel.idle().value()); ++i) model.run(100);
  };
  for (int i = 0; i < 5; ++i) model.send(make_packet(random, 100));
  settle();
  ASSERT_TRUE(kernel.receive(true).ok());
  for (int i = 0; i < 3; ++i) model.send(make_packet(random, 100));
  settle();
  EXPECT_EQ(kernel.counters().value().datagrams_dropped, 5U);
  EXPECT_EQ(kernel.counters().value().datagrams, 3U);
  EXPECT_EQ(kernel.counters().value().records, 3U) << "without a ring they go nowhere, but nothing stops";
}

TEST(Kernel, begins_anew_after_a_reset_in_the_middle_of_everything) {
  Random random(8);
  for (std::uint64_t round = 0; round < 20; ++round) {
    KernelModel model(300 + round, 30);
    ModelDevice device(model);
    for (int half = 0; half < 2; ++half) {
      device::Kernel kernel = device::Kernel::open(device).value();
      auto ring = device::DeviceRing::start(device, program_of(1), {},
                                            {.index = 0,
                                             .slot_count = 16,
                                             .mode = device::RingMode::Lossy,
                                             .image_generation = 0,
                                             .segment_slots = 3,
                                             .timeout_cycles = 0});
      ASSERT_TRUE(ring.ok()) << ring.message();
      ASSERT_TRUE(kernel.set_clock({.side_band = true, .ns_per_cycle = 0, .offset_ns = 0}).ok());
      ASSERT_TRUE(kernel.receive(true).ok());
      const Packet packet = make_packet(random, 300);
      for (int i = 0; i < 40; ++i) model.send(packet);
      if (half == 0) {
        model.run(100 + random.below(2000));
        model.reset();
        continue;
      }
      for (int i = 0; i < 1000 && (model.waiting() > 0 || !kernel.idle().value()); ++i) model.run(100);
      EXPECT_EQ(kernel.counters().value().datagrams, 40U);
      EXPECT_EQ(ring.value()->header().records, 40U);
      ASSERT_EQ(ring.value()->poll(), ring::Poll::Lost);
      const std::uint64_t lost = ring.value()->lost_records();
      std::uint64_t records = 0;
      while (ring.value()->poll() == ring::Poll::Record) {
        expect_record_of(packet, {.number = lost + records + 1, .source = 0, .time_quality = 0, .preamble = 0},
                         ring.value()->record());
        ++records;
      }
      EXPECT_EQ(lost + records, 40U);
    }
    EXPECT_EQ(model.problem(), "");
  }
}

TEST(Kernel, reports_a_ring_that_cannot_be) {
  KernelModel model(9, 0);
  ModelDevice device(model);
  const auto start = [&](std::uint64_t slots, std::uint32_t index, std::uint32_t longest) {
    auto ring = device::DeviceRing::start(device, program_of(longest), {},
                                          {.index = index,
                                           .slot_count = slots,
                                           .mode = device::RingMode::Lossy,
                                           .image_generation = 0,
                                           .segment_slots = 0,
                                           .timeout_cycles = 0});
    return ring.ok() ? std::string("fine") : ring.message();
  };
  EXPECT_NE(start(65, 0, 1).find("power of two"), std::string::npos);
  EXPECT_NE(start(64, 0, 9).find("an eighth of the ring"), std::string::npos);
  EXPECT_NE(start(64, 1, 1).find("has 1 rings"), std::string::npos);
  EXPECT_EQ(start(64, 0, 8), "fine");
}

}  // namespace
}  // namespace stopbit::sim
