#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "host/device/generated/registers.hpp"
#include "host/device/kernel.hpp"
#include "host/device/ring.hpp"
#include "host/feed/framing/framing.hpp"
#include "kernel_model.hpp"
#include "microcode/image/image.hpp"
#include "model_device.hpp"
#include "tests/lib/frames.hpp"

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
  EXPECT_EQ(kernel.value().capabilities(), 0x3FFU);
  EXPECT_EQ(kernel.value().engines(), 1U);
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
    const Status loaded = kernel.value().load(bank, words);
    EXPECT_TRUE(loaded.ok()) << loaded.message();
  }
  EXPECT_FALSE(kernel.value().load(2, words).ok());
  EXPECT_TRUE(kernel.value().load(0, {}).ok());
  // Memory is read back, which also finds what another load has changed meanwhile.
  EXPECT_TRUE(kernel.value().verify(1, words).ok());
  std::vector<device::LoadWord> changed = words;
  changed[37].value ^= 1U << 20;
  EXPECT_NE(kernel.value().verify(1, changed).message().find("does not hold"), std::string::npos);
  ASSERT_TRUE(kernel.value().load(1, {&changed[37], 1}).ok());
  EXPECT_FALSE(kernel.value().verify(1, words).ok());
  EXPECT_TRUE(kernel.value().verify(1, changed).ok());
  EXPECT_TRUE(kernel.value().verify(0, words).ok());
  // A word that was never sent is detected.
  class Meddler final : public device::Device {
   public:
    explicit Meddler(KernelModel& model) : model_(model) {}
    Result<std::uint32_t> read(std::uint32_t offset) override { return model_.read(offset); }
    Status write(std::uint32_t offset, std::uint32_t value) override {
      model_.write(offset, offset == reg::kFirmwareData ? value ^ 4 : value);
      return Done{};
    }
    Result<std::unique_ptr<device::HostBuffer>> allocate(std::size_t) override { return Failure{"none"}; }

   private:
    KernelModel& model_;
  } meddler(model);
  Result<device::Kernel> cheated = device::Kernel::open(meddler);
  ASSERT_TRUE(cheated.ok());
  const Status refused = cheated.value().load(0, words);
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
  EXPECT_NE(start(64, 8, 1).find("has 8 rings"), std::string::npos);
  EXPECT_EQ(start(64, 0, 8), "fine");
}

namespace frames = net::testing;
using frames::operator+;

/// A kernel that takes frames: channel 1 has two lines and a choice between them, channel 2 is b3, channel 3 unframed.
class KernelFrames : public ::testing::TestWithParam<std::tuple<std::uint32_t, bool>> {
 protected:
  static constexpr std::uint32_t kGroupA = 0xE0001F01;

  struct Sent {
    frames::ByteVector bytes;
    bool bad = false;
    std::uint64_t arrival_ns = 0;
  };
  /// What a record has to say.
  struct Expected {
    std::uint64_t number = 0;
    std::uint64_t arrival_ns = 0;
    std::uint32_t sequence_number = 0;
    std::uint16_t channel = 0;
    std::uint8_t source = 0;
    std::uint32_t length = 0;
    std::uint32_t offset = 0;
    bool cut = false;
    std::uint64_t sum = 0;
    std::uint32_t gap_first = 0;
    std::uint32_t gap_count = 0;  // an event, if not 0
  };

  /// To 224.0.31.`group`:10000 + group from 10.1.2.`from`.
  static frames::ByteVector frame_to(std::uint8_t group, const frames::ByteVector& payload, std::uint8_t from = 3) {
    frames::ByteVector udp = frames::be16(20000) + frames::be16(10000U + group) + frames::be16(8 + payload.size()) +
                             frames::be16(0) + payload;
    frames::ByteVector frame = frames::ethernet(frames::ipv4(udp));
    frame[14 + 15] = static_cast<std::byte>(from);
    frame[14 + 19] = static_cast<std::byte>(group);
    return frame;
  }

  static frames::ByteVector random_payload(Random& random, std::size_t bytes) {
    frames::ByteVector payload(bytes);
    for (std::byte& byte : payload) byte = static_cast<std::byte>(random.below(255));
    return payload;
  }

  void set_up(device::Kernel& kernel, bool cut_through) {
    ASSERT_TRUE(kernel.set_intake({.frames = true, .check_header = false, .cut_through = cut_through}).ok());
    ASSERT_TRUE(kernel.set_group(0, device::Group{.address = kGroupA, .port = 10001, .channel = 1, .line = 1}).ok());
    ASSERT_TRUE(
        kernel.set_group(1, device::Group{.address = kGroupA + 1, .port = 10002, .channel = 1, .line = 2}).ok());
    ASSERT_TRUE(
        kernel.set_group(40, device::Group{.address = kGroupA + 2, .port = 10003, .channel = 2, .line = 1}).ok());
    ASSERT_TRUE(
        kernel
            .set_group(
                63, device::Group{.address = kGroupA + 3, .port = 10004, .channel = 3, .line = 1, .source = 0x0A010204})
            .ok());
    ASSERT_TRUE(kernel.set_group(5, std::nullopt).ok());
    ASSERT_TRUE(kernel.set_framing(1, net::parse_framing("cme").value()).ok());
    ASSERT_TRUE(kernel.set_framing(2, net::parse_framing("b3").value()).ok());
    ASSERT_TRUE(kernel.set_framing(3, net::parse_framing("cme").value()).ok());
    ASSERT_TRUE(kernel.set_framing(3, std::nullopt).ok());
    ASSERT_TRUE(kernel.set_line_rule(1, device::LineRule{}).ok());
    ASSERT_TRUE(kernel.set_clock({.side_band = true, .ns_per_cycle = 0, .offset_ns = 0}).ok());
    ASSERT_TRUE(kernel.describe_input(9, 3, 2).ok());
    ASSERT_TRUE(kernel.receive(true).ok());
  }

  void add(Sent frame) {
    ++number_;
    sent_.push_back(std::move(frame));
  }
  /// A frame that has to give a record.
  void expect(const Sent& frame, Expected expected, const frames::ByteVector& data) {
    expected.number = number_ + 1;
    expected.arrival_ns = frame.arrival_ns;
    for (std::size_t i = 0; i < expected.length; ++i) expected.sum += static_cast<std::uint64_t>(data[i]);
    expected_.push_back(expected);
  }

  void add_line_copies(Random& random) {
    next_ += 1 + (random.chance(20) ? static_cast<std::uint32_t>(random.below(5)) : 0);
    for (std::uint8_t line = 1; line <= 2; ++line) {
      if (line == 2 && random.chance(30)) continue;
      const frames::ByteVector payload =
          frames::be32(next_) + frames::bytes({7}) + random_payload(random, random.below(200));
      const Sent frame{.bytes = frame_to(line, payload), .arrival_ns = random.bits()};
      if (line == 1) {
        const std::uint32_t missing = highest_ == 0 ? 0 : next_ - highest_ - 1;
        const Expected record{.sequence_number = next_,
                              .channel = 1,
                              .source = line,
                              .length = static_cast<std::uint32_t>(payload.size()),
                              .offset = 5};
        if (missing > 0) {
          Expected event = record;
          event.length = 0;
          event.gap_first = highest_ + 1;
          event.sequence_number = highest_ + 1;
          event.gap_count = missing;
          expect(frame, event, {});
          ++gaps_;
          missing_ += missing;
        }
        expect(frame, record, payload);
        highest_ = next_;
      } else {
        ++duplicates_;
      }
      add(frame);
    }
  }

  void add_b3(Random& random) {
    const std::size_t chunks = random.chance(60) ? 1 : 2 + random.below(3);
    ++b3_next_;
    for (std::size_t chunk = 1; chunk <= chunks; ++chunk) {
      const frames::ByteVector data = random_payload(random, 1 + random.below(90));
      const frames::ByteVector payload =
          frames::be32(b3_next_) + frames::be16(chunks) + frames::be16(chunk) + frames::be16(data.size()) + data;
      const Sent frame{.bytes = frame_to(3, payload), .arrival_ns = random.bits()};
      expect(frame,
             {.sequence_number = b3_next_,
              .channel = 2,
              .source = 1,
              .length = static_cast<std::uint32_t>(chunks == 1 ? payload.size() : 10),
              .offset = 10,
              .cut = chunks > 1},
             payload);
      chunks_ += chunks > 1 ? 1 : 0;
      add(frame);
    }
  }

  void add_other(Random& random, bool with_bad) {
    const frames::ByteVector payload = random_payload(random, random.below(1500));
    Sent frame{.bytes = frame_to(4, payload, 4), .arrival_ns = random.bits()};
    const std::uint64_t kind = random.below(with_bad ? 5 : 3);
    if (kind == 0) {
      expect(frame, {.channel = 3, .source = 1, .length = static_cast<std::uint32_t>(payload.size()), .offset = 0},
             payload);
      ++accepted_others_;
    } else if (kind == 1) {
      frame.bytes = frame_to(4, payload, 5);  // another sender
      ++filtered_;
    } else if (kind == 2) {
      frame.bytes = frame_to(9, payload);
      ++filtered_;
    } else if (kind == 3) {
      frame.bad = true;
      ++bad_;
    } else {
      frame.bytes.resize(frame.bytes.size() - 1 - random.below(payload.size() + 1));
      ++short_;
    }
    add(frame);
  }

  std::vector<Sent> sent_;
  std::vector<Expected> expected_;
  std::uint64_t number_ = 0;
  std::uint32_t next_ = 100;
  std::uint32_t highest_ = 0;
  std::uint32_t b3_next_ = 7;
  std::uint64_t gaps_ = 0;
  std::uint64_t missing_ = 0;
  std::uint64_t duplicates_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t filtered_ = 0;
  std::uint64_t bad_ = 0;
  std::uint64_t short_ = 0;
  std::uint64_t accepted_others_ = 0;
};

void expect_words(const record::Slot& slot, std::uint64_t w4, std::uint64_t w5, std::uint64_t w6) {
  EXPECT_EQ(slot.words[4], w4);
  EXPECT_EQ(slot.words[5], w5);
  EXPECT_EQ(slot.words[6], w6);
}

TEST_P(KernelFrames, frames_become_records_with_sequence_line_and_gaps_in_their_place) {
  const auto [stall, cut_through] = GetParam();
  KernelModel model(400 + stall, stall);
  ModelDevice device(model);
  Random random(500 + stall);
  device::Kernel kernel = device::Kernel::open(device).value();
  auto ring = device::DeviceRing::start(device, program_of(1), {},
                                        {.index = 0,
                                         .slot_count = 64,
                                         .mode = device::RingMode::Stall,
                                         .image_generation = 0,
                                         .segment_slots = 7,
                                         .timeout_cycles = 0});
  ASSERT_TRUE(ring.ok()) << ring.message();
  set_up(kernel, cut_through);
  for (int i = 0; i < 250; ++i) {
    add_line_copies(random);
    if (random.chance(50)) add_b3(random);
    if (random.chance(50)) add_other(random, !cut_through);
  }

  std::size_t sent = 0;
  std::size_t got = 0;
  const std::uint64_t begin = model.cycles();
  while (got < expected_.size() && !HasFatalFailure() && model.cycles() - begin < 5'000'000) {
    if (sent < sent_.size() && model.waiting() < 4) {
      model.send({.bytes = sent_[sent].bytes, .arrival_ns = sent_[sent].arrival_ns, .bad = sent_[sent].bad});
      ++sent;
    }
    model.run(1 + random.below(100));
    const ring::Poll poll = ring.value()->poll();
    ASSERT_TRUE(poll == ring::Poll::Nothing || poll == ring::Poll::Record) << ring.value()->problem();
    if (poll == ring::Poll::Nothing) continue;
    const record::Slot& slot = ring.value()->record()[0];
    const Expected& expected = expected_[got];
    SCOPED_TRACE("record " + std::to_string(got) + ", frame " + std::to_string(expected.number));
    ASSERT_EQ(slot.words[1], expected.arrival_ns);
    ASSERT_EQ(slot.words[2] & 0xFFFF'FFFF'FFFF, expected.sequence_number | std::uint64_t{expected.channel} << 32);
    ASSERT_EQ(slot.words[3] >> 48, expected.gap_count != 0 ? 0 : expected.source | 3U << 8);
    if (expected.gap_count != 0) {
      EXPECT_EQ(slot.words[0] & 0xFFFF'FFFF, record::kEventIndex | 1U << 16);
      expect_words(slot, 0x00FF'FFFF'FFFF'0003, expected.gap_first, expected.gap_count);
    } else {
      EXPECT_EQ(slot.words[0] & 0xFFFF, 0U);
      EXPECT_EQ(slot.words[3] >> 16 & 1, expected.cut ? 1U : 0U);
      EXPECT_EQ(slot.words[4], expected.number << 32 | expected.offset << 16 | expected.length);
      EXPECT_EQ(slot.words[6] & 0xFFFF'FFFF, expected.sum);
    }
    ++got;
  }
  EXPECT_EQ(got, expected_.size());
  for (; sent < sent_.size(); ++sent) {
    model.send({.bytes = sent_[sent].bytes, .arrival_ns = sent_[sent].arrival_ns, .bad = sent_[sent].bad});
  }
  for (int i = 0; i < 1000 && (model.waiting() > 0 || !kernel.idle().value()); ++i) model.run(100);
  EXPECT_TRUE(kernel.idle().value());
  EXPECT_EQ(ring.value()->poll(), ring::Poll::Nothing);
  const device::Counters counters = kernel.counters().value();
  EXPECT_EQ(counters.gaps, gaps_);
  EXPECT_EQ(counters.numbers_missing, missing_);
  EXPECT_EQ(counters.line_duplicates, duplicates_);
  EXPECT_EQ(counters.line_late, 0U);
  EXPECT_EQ(counters.chunks, chunks_);
  EXPECT_EQ(counters.records, expected_.size());
  EXPECT_EQ(counters.datagrams, expected_.size() - gaps_ + duplicates_);
  EXPECT_EQ(counters.datagrams_decoded, expected_.size());
  EXPECT_EQ(counters.verdicts[0], counters.datagrams);
  EXPECT_EQ(counters.verdicts[device::kVerdictFiltered], filtered_);
  EXPECT_EQ(counters.verdicts[device::kVerdictFrameBad], bad_);
  std::uint64_t frames = 0;
  for (const std::uint64_t of : counters.verdicts) frames += of;
  EXPECT_EQ(frames, sent_.size());
  EXPECT_EQ(frames - counters.verdicts[0] - filtered_ - bad_, short_);
  EXPECT_GT(gaps_, 10U);
  EXPECT_GT(chunks_, 10U);
  EXPECT_GT(filtered_, 10U);
  EXPECT_GT(accepted_others_, 10U);
  EXPECT_EQ(kernel.take_errors().value(), 0U);
  EXPECT_EQ(model.problem(), "");
}

INSTANTIATE_TEST_SUITE_P(stalls, KernelFrames,
                         ::testing::Combine(::testing::Values(0U, 20U, 60U, 90U), ::testing::Bool()));

TEST(Kernel, refuses_what_its_tables_cannot_hold) {
  KernelModel model(10, 0);
  ModelDevice device(model);
  device::Kernel kernel = device::Kernel::open(device).value();
  EXPECT_NE(kernel.set_group(64, std::nullopt).message().find("groups 0 to 63"), std::string::npos);
  EXPECT_FALSE(kernel.set_group(0, device::Group{.channel = 64}).ok());
  EXPECT_FALSE(kernel.set_framing(64, std::nullopt).ok());
  EXPECT_FALSE(kernel.set_line_rule(64, std::nullopt).ok());
  EXPECT_FALSE(kernel.set_line_rule(0, device::LineRule{.window = 0}).ok());
  EXPECT_FALSE(kernel.set_line_rule(0, device::LineRule{.window = 65}).ok());
  for (const char* const text : {"custom:seq=u32be@45", "custom:len=u16le@47", "custom:blocks=yes"}) {
    const Status refused = kernel.set_framing(0, net::parse_framing(text).value());
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_NE(refused.message().find("cannot read framing"), std::string::npos) << refused.message();
  }
  net::Framing far = net::parse_framing("none").value();
  far.skip = 2048;
  EXPECT_FALSE(kernel.set_framing(0, far).ok());
  EXPECT_TRUE(kernel.set_framing(0, net::parse_framing("custom:skip=1024,seq=u32be@44").value()).ok());
  EXPECT_EQ(kernel.take_errors().value(), 0U);
}

device::RingOptions ring_options(std::uint32_t index, device::RingMode mode) {
  return {.index = index,
          .slot_count = 64,
          .mode = mode,
          .image_generation = 0,
          .segment_slots = 5,
          .timeout_cycles = 0,
          .credit_timeout_cycles = 0};
}

class KernelRings : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(KernelRings, each_consumer_gets_its_records_and_a_slow_one_holds_up_nobody) {
  const std::uint32_t stall = GetParam();
  KernelModel model(600 + stall, stall);
  ModelDevice device(model);
  Random random(700 + stall);
  device::Kernel kernel = device::Kernel::open(device).value();
  // Ring 0: records that match no filter. 1: channel 1. 2: lengths whose lowest bits are 01, of any channel; its reader
  // sleeps. 5: channel 2 with odd lengths. 7: all; it has no reader and overwrites.
  std::map<std::uint32_t, std::unique_ptr<device::DeviceRing>> rings;
  for (const auto& [index, mode] : std::map<std::uint32_t, device::RingMode>{{0, device::RingMode::Stall},
                                                                             {1, device::RingMode::Stall},
                                                                             {2, device::RingMode::Drop},
                                                                             {5, device::RingMode::Stall},
                                                                             {7, device::RingMode::Lossy}}) {
    auto ring = device::DeviceRing::start(device, program_of(1), {}, ring_options(index, mode));
    ASSERT_TRUE(ring.ok()) << ring.message();
    rings[index] = std::move(ring).value();
  }
  const std::array<device::Filter, 4> filters{{
      {.channel = 1, .template_index = 0, .rings = 1U << 1},
      {.word = 0, .mask = 3, .value = 1, .rings = 1U << 2},
      {.channel = 2, .word = 0, .mask = 1, .value = 1, .rings = 1U << 5},
      {.channel = 2, .word = 0, .mask = 1, .value = 1, .rings = 1U << 7},
  }};
  ASSERT_TRUE(kernel.set_filters(filters, true).ok());
  ASSERT_TRUE(kernel.set_clock({.side_band = true, .ns_per_cycle = 0, .offset_ns = 0}).ok());
  ASSERT_TRUE(kernel.receive(true).ok());

  std::map<std::uint32_t, std::vector<std::uint32_t>> expected;  // numbers of datagrams
  std::vector<Packet> packets;
  for (std::uint32_t number = 1; number <= 400; ++number) {
    Packet packet = make_packet(random, random.below(60));
    packet.socket = static_cast<std::uint16_t>(random.below(4));
    bool is_wanted = false;
    const auto wanted_by = [&](std::uint32_t ring) {
      expected[ring].push_back(number);
      is_wanted = true;
    };
    const bool is_odd = packet.bytes.size() % 2 == 1;
    if (packet.socket == 1) wanted_by(1);
    if (packet.bytes.size() % 4 == 1) wanted_by(2);
    if (packet.socket == 2 && is_odd) wanted_by(5);
    if (packet.socket == 2 && is_odd) wanted_by(7);
    if (!is_wanted) expected[0].push_back(number);
    packets.push_back(std::move(packet));
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> got;
  std::size_t sent = 0;
  const std::uint64_t begin = model.cycles();
  const auto is_done = [&] {
    return got[0] == expected[0] && got[1] == expected[1] && got[5] == expected[5] && sent == packets.size();
  };
  while (!is_done() && !HasFatalFailure() && model.cycles() - begin < 3'000'000) {
    if (sent < packets.size() && model.waiting() < 4) model.send(packets[sent++]);
    model.run(1 + random.below(100));
    for (const std::uint32_t index : {0U, 1U, 5U}) {
      const ring::Poll poll = rings[index]->poll();
      ASSERT_TRUE(poll == ring::Poll::Nothing || poll == ring::Poll::Record) << rings[index]->problem();
      if (poll == ring::Poll::Nothing) continue;
      got[index].push_back(static_cast<std::uint32_t>(rings[index]->record()[0].words[4] >> 32));
    }
  }
  for (int i = 0; i < 1000 && !kernel.idle().value(); ++i) model.run(100);
  for (const std::uint32_t index : {0U, 1U, 5U}) {
    EXPECT_EQ(got[index], expected[index]) << "ring " << index;
    EXPECT_EQ(rings[index]->counters().value().dropped, 0U);
  }
  // The one that slept gets what there was room for, and then learns what it has lost.
  const std::uint64_t lost = rings[2]->counters().value().dropped;
  EXPECT_GT(lost, 10U);
  EXPECT_EQ(lost + rings[2]->counters().value().records, expected[2].size());
  std::uint64_t events = 0;
  for (int i = 0; i < 1000 && events == 0 && !HasFatalFailure(); ++i) {
    model.run(100);
    const ring::Poll poll = rings[2]->poll();
    ASSERT_TRUE(poll == ring::Poll::Nothing || poll == ring::Poll::Record) << rings[2]->problem();
    if (poll == ring::Poll::Nothing) continue;
    const record::Slot& slot = rings[2]->record()[0];
    if ((slot.words[0] & 0xFFFF) != record::kEventIndex) {
      got[2].push_back(static_cast<std::uint32_t>(slot.words[4] >> 32));
      continue;
    }
    ++events;
    expect_words(slot, 0x00FF'FFFF'FFFF'0008, 0, lost);
    EXPECT_EQ(slot.words[1], packets[expected[2].back() - 1].arrival_ns) << "of the last one that was lost";
  }
  EXPECT_EQ(events, 1U);
  expected[2].resize(got[2].size());
  EXPECT_EQ(got[2], expected[2]);
  EXPECT_EQ(rings[7]->counters().value().records, expected[7].size());
  const device::Counters counters = kernel.counters().value();
  EXPECT_EQ(counters.records, packets.size());
  EXPECT_EQ(counters.records_unmatched, expected[0].size());
  EXPECT_EQ(kernel.take_errors().value(), 0U);
  EXPECT_EQ(model.problem(), "");
}

INSTANTIATE_TEST_SUITE_P(stalls, KernelRings, ::testing::Values(0U, 50U));

TEST(Kernel, a_ring_that_nobody_reads_holds_up_no_other_as_long_as_its_records_find_room) {
  KernelModel model(15, 20);
  ModelDevice device(model);
  Random random(15);
  device::Kernel kernel = device::Kernel::open(device).value();
  // Both wait for their readers for ever; each gets all records.
  auto still = device::DeviceRing::start(device, program_of(1), {}, ring_options(0, device::RingMode::Stall));
  auto read = device::DeviceRing::start(device, program_of(1), {}, ring_options(1, device::RingMode::Stall));
  ASSERT_TRUE(still.ok() && read.ok());
  const device::Filter all{.rings = 3};
  ASSERT_TRUE(kernel.set_filters({&all, 1}, false).ok());
  ASSERT_TRUE(kernel.receive(true).ok());
  constexpr int kRecords = 90;  // the ring takes at least 24, and 64 wait
  for (int i = 0; i < kRecords; ++i) model.send(make_packet(random, 10));
  int got = 0;
  for (int i = 0; i < 20'000 && got < kRecords; ++i) {
    model.run(10);
    got += read.value()->poll() == ring::Poll::Record ? 1 : 0;
  }
  EXPECT_EQ(got, kRecords);
  EXPECT_GT(still.value()->counters().value().stalled, 0U);
  EXPECT_FALSE(kernel.idle().value());
  // Its reader comes, and finds each of them.
  got = 0;
  for (int i = 0; i < 20'000 && got < kRecords; ++i) {
    model.run(10);
    got += still.value()->poll() == ring::Poll::Record ? 1 : 0;
  }
  EXPECT_EQ(got, kRecords);
  for (int i = 0; i < 1000 && !kernel.idle().value(); ++i) model.run(100);
  EXPECT_TRUE(kernel.idle().value());
  EXPECT_EQ(model.problem(), "");
}

TEST(Kernel, begins_anew_after_a_reset_in_the_middle_of_frames_rings_and_filters) {
  for (std::uint64_t round = 0; round < 12; ++round) {
    KernelModel model(800 + round, 30);
    ModelDevice device(model);
    Random random(900 + round);
    for (int half = 0; half < 2; ++half) {
      device::Kernel kernel = device::Kernel::open(device).value();
      EXPECT_TRUE(kernel.idle().value() || half == 0);
      auto first = device::DeviceRing::start(device, program_of(1), {}, ring_options(0, device::RingMode::Lossy));
      auto second = device::DeviceRing::start(device, program_of(1), {}, ring_options(3, device::RingMode::Lossy));
      ASSERT_TRUE(first.ok() && second.ok());
      const device::Filter filter{.channel = 5, .rings = 1U << 3};
      ASSERT_TRUE(kernel.set_filters({&filter, 1}, true).ok());
      ASSERT_TRUE(kernel.set_intake({.frames = true, .cut_through = round % 2 == 1}).ok());
      for (std::uint16_t channel = 5; channel <= 6; ++channel) {
        ASSERT_TRUE(kernel
                        .set_group(channel, device::Group{.address = 0xE0001F00U + channel,
                                                          .port = static_cast<std::uint16_t>(10000 + channel),
                                                          .channel = channel,
                                                          .line = 1})
                        .ok());
        ASSERT_TRUE(kernel.set_framing(channel, net::parse_framing("cme").value()).ok());
        ASSERT_TRUE(kernel.set_line_rule(channel, device::LineRule{}).ok());
      }
      ASSERT_TRUE(kernel.receive(true).ok());
      for (std::uint32_t number = 1; number <= 40; ++number) {
        const std::uint8_t channel = number % 2 == 0 ? 5 : 6;
        frames::ByteVector frame = frames::ethernet(
            frames::ipv4(frames::be16(1) + frames::be16(10000U + channel) + frames::be16(8 + 205) + frames::be16(0) +
                         frames::be32(number / 2) + frames::bytes({0}) + frames::ByteVector(200, std::byte{9})));
        frame[14 + 19] = static_cast<std::byte>(channel);
        model.send({.bytes = frame});
      }
      if (half == 0) {
        model.run(100 + random.below(1500));
        model.reset();
        continue;
      }
      for (int i = 0; i < 1000 && (model.waiting() > 0 || !kernel.idle().value()); ++i) model.run(100);
      EXPECT_EQ(kernel.counters().value().verdicts[0], 40U);
      EXPECT_EQ(first.value()->header().records, 20U);
      EXPECT_EQ(second.value()->header().records, 20U);
      EXPECT_EQ(kernel.counters().value().gaps, 0U);
    }
    EXPECT_EQ(model.problem(), "");
  }
}

/// A kernel whose register says something else.
class Changed final : public device::Device {
 public:
  Changed(device::Device& device, std::uint32_t offset, std::uint32_t value)
      : device_(device), offset_(offset), value_(value) {}
  Result<std::uint32_t> read(std::uint32_t offset) override {
    if (offset == offset_) return value_;
    return device_.read(offset);
  }
  Status write(std::uint32_t offset, std::uint32_t value) override { return device_.write(offset, value); }
  Result<std::unique_ptr<device::HostBuffer>> allocate(std::size_t bytes) override { return device_.allocate(bytes); }

 private:
  device::Device& device_;
  std::uint32_t offset_;
  std::uint32_t value_;
};

TEST(Kernel, of_another_kind_or_version_is_refused) {
  KernelModel model(16, 0);
  ModelDevice device(model);
  ASSERT_TRUE(device::Kernel::open(device).ok());
  Changed newer(device, reg::kInterfaceVersion, reg::kInterfaceVersionValue + 1);
  EXPECT_NE(device::Kernel::open(newer).message().find("registers have version"), std::string::npos);
  Changed hollow(device, reg::kEngines, 0);
  EXPECT_EQ(device::Kernel::open(hollow).message(), "the kernel says that it has no decode core");
  Changed other(device, reg::kId, reg::kIdValue ^ 1);
  EXPECT_NE(device::Kernel::open(other).message().find("its first register reads"), std::string::npos);
}

TEST(Kernel, filters_that_contradict_themselves_are_refused) {
  KernelModel model(12, 0);
  ModelDevice device(model);
  device::Kernel kernel = device::Kernel::open(device).value();
  const std::vector<device::Filter> many(17);
  EXPECT_FALSE(kernel.set_filters(many, false).ok());
  const device::Filter impossible{.mask = 1, .value = 2};
  EXPECT_FALSE(kernel.set_filters({&impossible, 1}, false).ok());
}

TEST(Kernel, is_idle_soon_after_a_host_that_returns_no_credit) {
  constexpr std::uint32_t kPatience = 2000;
  for (const bool with_filter : {false, true}) {
    KernelModel model(13, 20);
    ModelDevice device(model);
    Random random(13);
    device::Kernel kernel = device::Kernel::open(device).value();
    device::RingOptions options = ring_options(0, device::RingMode::Stall);
    options.credit_timeout_cycles = kPatience;
    auto ring = device::DeviceRing::start(device, program_of(1), {}, options);
    ASSERT_TRUE(ring.ok()) << ring.message();
    if (with_filter) {
      ASSERT_TRUE(kernel.set_filters({}, true).ok());
    }
    ASSERT_TRUE(kernel.receive(true).ok());
    for (int i = 0; i < 500; ++i) model.send(make_packet(random, random.below(200)));
    std::uint64_t last_beat = 0;
    for (int i = 0; i < 200'000 && model.waiting() > 0; ++i) model.run(1);
    EXPECT_EQ(model.waiting(), 0U) << "the network is held up";
    last_beat = model.cycles();
    while (!kernel.idle().value() && model.cycles() - last_beat < 100'000) model.run(10);
    EXPECT_LT(model.cycles() - last_beat, kPatience + 5000);
    EXPECT_TRUE(ring.value()->counters().value().starved);
    EXPECT_EQ(kernel.take_errors().value(), reg::kErrorsRingStarved);
    const device::RingCounters counters = ring.value()->counters().value();
    EXPECT_EQ(counters.records + counters.dropped, 500U);
    // The reader wakes up: all that was published, then the event, and life goes on.
    std::uint64_t records = 0;
    for (int i = 0; i < 2000; ++i) {
      records += ring.value()->poll() == ring::Poll::Record ? 1 : 0;
      model.run(20);
    }
    EXPECT_EQ(records, counters.records + 1);
    EXPECT_EQ(ring.value()->record().size(), 0U);
    EXPECT_FALSE(ring.value()->counters().value().starved);
    model.send(make_packet(random, 10));
    model.run(2000);
    EXPECT_EQ(ring.value()->poll(), ring::Poll::Record);
    EXPECT_EQ(model.problem(), "");
  }
}

TEST(Kernel, drops_and_counts_frames_that_come_while_it_does_not_receive) {
  KernelModel model(11, 10);
  ModelDevice device(model);
  Random random(11);
  device::Kernel kernel = device::Kernel::open(device).value();
  ASSERT_TRUE(kernel.set_intake({.frames = true}).ok());
  for (int i = 0; i < 5; ++i) model.send(make_packet(random, 100));
  for (int i = 0; i < 1000 && (model.waiting() > 0 || !kernel.idle().value()); ++i) model.run(100);
  const device::Counters counters = kernel.counters().value();
  EXPECT_EQ(counters.datagrams_dropped, 5U);
  for (const std::uint64_t frames : counters.verdicts) EXPECT_EQ(frames, 0U);
}

}  // namespace
}  // namespace stopbit::sim
