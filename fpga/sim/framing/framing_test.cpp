#include <Vstopbit_framing.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench.hpp"
#include "datagram_stage.hpp"
#include "datagrams.hpp"
#include "framings.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/byte_order.hpp"

namespace stopbit::sim {
namespace {

using ByteVector = std::vector<std::byte>;

/// A channel for each.
constexpr std::array<std::string_view, 13> kFramings = {
    "cme",
    "b3",
    "moex",
    "t7",
    "none",
    "custom:skip=3",
    "custom:seq=u16be@0,len=u16be@2",
    "custom:seq=u64le@7,len=u32le@15,skip=20",
    "custom:len=u64be@30,skip=0",
    "custom:seq=u64be@40",
    "custom:skip=100,seq=u32be@44",
    "custom:seq=u16le@31,len=u16le@46,skip=1024",
    "custom:len=u16be@15",
};

class FramingStage : public ::testing::Test {
 protected:
  FramingStage() {
    for (const std::string_view text : kFramings) framings_.push_back(net::parse_framing(text).value());
    restart();
  }

  void restart() {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->write_i = 0;
    bench_.reset();
    for (std::size_t i = 0; i < framings_.size(); ++i) {
      bench_->write_i = 1;
      bench_->write_valid_i = 1;
      bench_->write_channel_i = static_cast<std::uint8_t>(i);
      bench_->write_framing_i = framing_bits(framings_[i]);
      bench_.step();
    }
    bench_->write_i = 0;
    channels_.assign(framings_.size(), {});
  }

  /// What host/feed/packet reads, as host/replay hands it to an engine; of chunks only the preamble, as cut.
  void expect(const SentDatagram& sent, std::vector<SentDatagram>& expected) {
    const net::Framing& framing = framings_[sent.info.channel];
    Sender& channel = channels_[sent.info.channel];
    const net::Preamble preamble = net::read_preamble(framing, sent.bytes);
    SentDatagram result = sent;
    if (preamble.error == ErrorCode::None) {
      result.info.sequence_number = static_cast<std::uint32_t>(preamble.sequence);
      result.info.data_offset = static_cast<std::uint16_t>(preamble.data_begin);
      result.info.length_bytes = preamble.data_end;
      result.bytes.resize(preamble.data_end);
      if (channel.known && channel.sender != preamble.sender) ++channel.epoch;
      channel.known = true;
      channel.sender = preamble.sender;
      if (preamble.chunks != 1) {
        ++chunks_;
        result.info.length_bytes = result.info.data_offset;
        result.info.cut = true;
        result.bytes.resize(result.info.data_offset);
      }
    } else {
      result.info.data_offset = static_cast<std::uint16_t>(sent.bytes.size() + 1);
      ++refused_;
    }
    result.info.sender_epoch = channel.epoch;
    expected.push_back(result);
  }

  void run(Random& random, const std::vector<SentDatagram>& datagrams, std::uint32_t in_stall,
           std::uint32_t out_stall) {
    std::vector<SentDatagram> expected;
    const std::size_t chunks_before = chunks_;
    for (const SentDatagram& datagram : datagrams) expect(datagram, expected);
    std::size_t chunks_seen = 0;
    const auto result =
        stage_through(bench_, random, datagrams, in_stall, out_stall, [&] { chunks_seen += bench_->chunk_o; });
    EXPECT_EQ(chunks_seen, chunks_ - chunks_before);
    ASSERT_EQ(result.size(), expected.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      const DatagramInfo& info = result[i].info;
      const DatagramInfo& wanted = expected[i].info;
      ASSERT_TRUE(result[i] == expected[i])
          << "datagram " << i << " of framing " << kFramings[wanted.channel] << ": sequence " << info.sequence_number
          << " for " << wanted.sequence_number << ", offset " << info.data_offset << " for " << wanted.data_offset
          << ", length " << info.length_bytes << " for " << wanted.length_bytes << ", epoch " << info.sender_epoch
          << " for " << wanted.sender_epoch;
    }
  }

  /// Bytes that begin like a datagram of the framing, mostly.
  ByteVector random_bytes(Random& random, std::size_t channel) {
    static constexpr std::size_t kSizes[] = {0, 1, 2, 5, 9, 10, 11, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 100, 1500};
    ByteVector bytes(random.chance(70) ? kSizes[random.below(std::size(kSizes))] : random.below(120));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits());
    const auto put = [&](std::size_t at, std::uint64_t value, std::size_t width, bool big_endian) {
      if (bytes.size() < at + width) return;
      for (std::size_t i = 0; i < width; ++i) {
        bytes[at + i] = static_cast<std::byte>(value >> 8 * (big_endian ? width - 1 - i : i) & 0xFF);
      }
    };
    const net::Framing& framing = framings_[channel];
    if (framing.kind == net::FramingKind::B3) {
      const std::uint64_t chunks = 1 + (random.chance(80) ? 0 : random.below(4));
      put(4, chunks, 2, true);
      put(6, random.chance(90) ? 1 + random.below(chunks) : random.below(6), 2, true);
      const std::uint64_t length = bytes.size() - (random.chance(50) ? 0 : std::min<std::size_t>(10, bytes.size()));
      put(8, random.chance(80) ? length : random.below(bytes.size() + 4), 2, true);
    } else if (framing.kind == net::FramingKind::T7) {
      ByteVector header;
      const auto entity = [&](std::size_t most) {
        for (std::uint64_t i = random.below(most); i > 0; --i)
          header.push_back(static_cast<std::byte>(random.below(128)));
        header.push_back(static_cast<std::byte>(0x80 | random.below(128)));
      };
      const std::size_t most = random.chance(90) ? 5 : 7;
      header.push_back(static_cast<std::byte>(random.chance(90) ? 0xC0 : random.below(256)));
      entity(most);
      if (random.chance(50)) entity(most);
      if (random.chance(70)) {
        header.push_back(std::byte{0xA5});
      } else {
        entity(most);
      }
      header.push_back(static_cast<std::byte>(random.chance(95) ? 0x84 : 0x85));
      for (int i = 0; i < 4; ++i) header.push_back(static_cast<std::byte>(random.bits()));
      header.push_back(static_cast<std::byte>(random.chance(95) ? 0x88 : 0x08));
      for (int i = 0; i < 8; ++i) header.push_back(static_cast<std::byte>(random.bits()));
      if (random.chance(60)) bytes.resize(std::max(bytes.size(), header.size()));
      std::copy_n(header.begin(), std::min(header.size(), bytes.size()), bytes.begin());
    } else if (framing.length.bytes != 0 && bytes.size() >= framing.skip && random.chance(85)) {
      put(framing.length.offset, random.below(bytes.size() - framing.skip + 2), framing.length.bytes,
          framing.length.big_endian);
    }
    return bytes;
  }

  std::vector<SentDatagram> random_datagrams(Random& random, std::size_t count) {
    std::vector<SentDatagram> result;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t channel = random.below(framings_.size());
      ByteVector bytes = random_bytes(random, channel);
      const DatagramInfo info{.arrival_ns = random.bits(),
                              .number = i,
                              .length_bytes = static_cast<std::uint32_t>(bytes.size()),
                              .channel = static_cast<std::uint16_t>(channel),
                              .source = static_cast<std::uint8_t>(random.bits()),
                              .time_quality = 2};
      result.push_back({info, std::move(bytes)});
    }
    return result;
  }

  struct Sender {
    bool known = false;
    std::uint64_t sender = 0;
    std::uint16_t epoch = 0;
  };
  Bench<Vstopbit_framing> bench_{73};
  std::vector<net::Framing> framings_;
  std::vector<Sender> channels_;
  std::size_t chunks_ = 0;
  std::size_t refused_ = 0;
};

TEST_F(FramingStage, reads_every_preamble_as_host_net_does_at_every_stall_rate) {
  std::size_t sent = 0;
  for (const std::uint32_t in : {0U, 40U, 90U}) {
    for (const std::uint32_t out : {0U, 40U, 90U}) {
      SCOPED_TRACE(testing::Message() << "stalls of input " << in << " %, of output " << out << " %");
      Random random(in + 3 * out + 1);
      run(random, random_datagrams(random, 3000), in, out);
      sent += 3000;
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(chunks_, 50U);
  EXPECT_GT(refused_, sent / 20);
  EXPECT_LT(refused_, sent / 2);
  EXPECT_GT(channels_[3].epoch, 20) << "senders of t7";
}

TEST_F(FramingStage, knows_no_framing_and_no_sender_after_a_reset_in_the_middle) {
  Random random(79);
  for (int round = 0; round < 30; ++round) {
    const auto datagrams = random_datagrams(random, 5);
    DatagramFeeder feeder;
    bench_->ready_i = random.chance(50);
    std::size_t next = 0;
    for (std::uint64_t cycles = 1 + random.below(30); cycles > 0; --cycles) {
      if (!feeder.busy()) feeder.begin(datagrams[next++ % 5]);
      feeder.show(bench_->beat_i, bench_->datagram_i, 0);
      bench_->valid_i = 1;
      bench_.settle();
      if (bench_->ready_o) feeder.advance();
      bench_.step();
    }
    restart();
    run(random, random_datagrams(random, 60), 20, 20);
    if (HasFatalFailure()) return;
  }
}

TEST_F(FramingStage, leaves_datagrams_of_channels_without_framing_alone) {
  bench_->write_i = 1;
  bench_->write_valid_i = 0;
  bench_->write_channel_i = 0;
  bench_.step();
  bench_->write_i = 0;
  Random random(81);
  std::vector<SentDatagram> sent;
  for (std::uint16_t i = 0; i < 200; ++i) {
    const ByteVector bytes(random.below(70), std::byte{7});
    sent.push_back({{.sequence_number = static_cast<std::uint32_t>(random.bits()),
                     .length_bytes = static_cast<std::uint32_t>(bytes.size()),
                     .data_offset = static_cast<std::uint16_t>(random.below(40)),
                     .channel = static_cast<std::uint16_t>(i % 2 == 0 ? 0 : 63),
                     .cut = random.chance(20)},
                    bytes});
  }
  const auto result = stage_through(bench_, random, sent, 20, 20, [] {});
  ASSERT_EQ(result.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_TRUE(result[i] == sent[i]) << "datagram " << i;
}

TEST_F(FramingStage, passes_a_datagram_that_ends_before_its_length_as_short_as_it_came) {
  // As a frame that is cut through and turns out bad: whole beats, then one without bytes.
  for (std::uint16_t channel = 0; channel < framings_.size(); ++channel) {
    for (std::size_t beats = 1; beats <= 5; ++beats) {
      bench_->ready_i = 1;
      bench_->valid_i = 0;
      DatagramCollector collector;
      collector.allow_short();
      std::size_t sent = 0;
      std::size_t whole = 0;
      for (int cycle = 0; cycle < 60; ++cycle) {
        BitWriter beat(bench_->beat_i);
        beat.put(sent == beats, 1);
        beat.put(sent == beats ? 0 : 16, 5);
        put_info(bench_->datagram_i, {.length_bytes = 500, .channel = channel});
        bench_->valid_i = sent <= beats;
        bench_.settle();
        sent += bench_->valid_i && bench_->ready_o ? 1 : 0;
        if (bench_->valid_o) {
          const char* fault = nullptr;
          whole += collector.take(bench_->beat_o, bench_->datagram_o, fault) ? 1 : 0;
          ASSERT_EQ(fault, nullptr) << fault;
        }
        bench_.step();
      }
      ASSERT_EQ(sent, beats + 1) << kFramings[channel];
      ASSERT_EQ(whole, 1U) << kFramings[channel];
      ASSERT_LE(collector.datagram().bytes.size(), 16 * beats) << kFramings[channel];
    }
  }
}

TEST_F(FramingStage, needs_a_cycle_for_a_preamble_in_the_first_beat) {
  const auto latency = [&](std::size_t channel, const ByteVector& bytes) {
    const SentDatagram datagram{
        {.length_bytes = static_cast<std::uint32_t>(bytes.size()), .channel = static_cast<std::uint16_t>(channel)},
        bytes};
    DatagramFeeder feeder;
    feeder.begin(datagram);
    bench_->ready_i = 1;
    std::size_t cycles = 0;
    for (;; ++cycles) {
      bench_->valid_i = feeder.busy();
      if (feeder.busy()) feeder.show(bench_->beat_i, bench_->datagram_i, 0);
      bench_.settle();
      if (bench_->valid_o || cycles == 100) break;
      if (feeder.busy() && bench_->ready_o) feeder.advance();
      bench_.step();
    }
    for (int i = 0; i < 20; ++i) {
      bench_->valid_i = feeder.busy();
      if (feeder.busy()) feeder.show(bench_->beat_i, bench_->datagram_i, 0);
      bench_.settle();
      if (feeder.busy() && bench_->ready_o) feeder.advance();
      bench_.step();
    }
    return cycles;
  };
  EXPECT_EQ(latency(0, ByteVector(26)), 1U);  // cme
  EXPECT_EQ(latency(1, ByteVector(26)), 1U);  // b3
  EXPECT_EQ(latency(4, ByteVector(21)), 1U);  // none
  EXPECT_EQ(latency(6, ByteVector(21)), 3U);  // a length, too
  const ByteVector t7 = {std::byte{0xC0},
                         std::byte{0xC8},
                         std::byte{0xA5},
                         std::byte{0x84},
                         {},
                         {},
                         {},
                         {},
                         std::byte{0x88},
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         {},
                         std::byte{0xC0},
                         std::byte{0xF8}};
  EXPECT_EQ(latency(3, t7), 9U);
}

}  // namespace
}  // namespace stopbit::sim
