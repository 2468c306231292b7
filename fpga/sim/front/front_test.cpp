#include <Vstopbit_front.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "datagrams.hpp"
#include "frame_port.hpp"
#include "framings.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/flow_table.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/ports/pcap/pcap_source.hpp"

namespace stopbit::sim {
namespace {

using ByteVector = std::vector<std::byte>;

constexpr std::uint16_t kChannels = 64;
constexpr std::size_t kMostFrames = 20'000;  ///< Of a capture.

struct Capture {
  std::string_view name;
  std::string_view framing;
  bool of_corpus = true;
};
constexpr std::array<Capture, 5> kCaptures = {{
    {"sample", "cme", false},
    {"cme-mdp-2012", "cme"},
    {"complex30000", "none"},
    {"eurex-rdi-2016", "t7"},
    {"moex-asts-trades-2019", "moex"},
}};

struct Frame {
  ByteVector bytes;
  std::uint64_t arrival_ns = 0;
};

std::optional<std::vector<Frame>> read_frames(const Capture& capture) {
  std::string path = "tests/data/sample/capture.pcap.gz";
  if (capture.of_corpus) {
    const char* const corpus = std::getenv("STOPBIT_CORPUS");
    if (corpus == nullptr) return std::nullopt;
    path = std::string(corpus) + "/" + std::string(capture.name) + "/capture.pcap";
  } else {
    path = std::string(STOPBIT_SOURCE_DIR) + "/" + path;
  }
  auto source = ingest::open_capture(path);
  if (!source.ok()) {
    ADD_FAILURE() << source.message();
    return std::nullopt;
  }
  std::vector<Frame> frames;
  ingest::Packet packet;
  while (frames.size() < kMostFrames && source.value()->next(packet) == ingest::Next::Packet) {
    EXPECT_EQ(packet.link, net::LinkType::Ethernet);
    // What the capture cut off, the card would have got.
    frames.push_back({{packet.frame.begin(), packet.frame.end()}, packet.arrival_ns});
    frames.back().bytes.resize(std::max(packet.frame.size(), packet.original_bytes));
  }
  return frames;
}

class Front : public ::testing::TestWithParam<Capture> {
 protected:
  /// Sends the frames as fast as they are taken; compares each datagram with what host/feed/packet makes of its frame.
  /// Only the groups of `groups` are taken.
  void run(const std::vector<Frame>& frames, net::FlowTable& groups, bool cut_through = false) {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->group_write_i = 0;
    bench_->framing_write_i = 0;
    bench_->rule_write_i = 0;
    bench_->check_header_i = 0;
    bench_->fcs_i = 0;
    bench_->drop_when_full_i = 0;
    bench_->cut_through_i = cut_through;
    bench_->frames_i = 1;
    bench_->plain_valid_i = 0;
    bench_->gap_ready_i = 1;
    bench_->time_quality_i = 1;
    bench_.reset();
    const net::Framing framing = net::parse_framing(GetParam().framing).value();
    for (std::uint16_t i = 0; i < groups.groups().size(); ++i) {
      bench_->channel_i = static_cast<std::uint8_t>(i);
      bench_->framing_i = framing_bits(framing);
      bench_->framing_write_i = 1;
      bench_->framing_valid_i = 1;
      write_group(bench_, static_cast<std::uint8_t>(i),
                  {.address = groups.groups()[i].address, .port = groups.groups()[i].port, .channel = i, .line = 1});
      bench_->framing_write_i = 0;
    }

    std::vector<std::uint64_t> begun(frames.size());  // cycle in which a frame's first beat was taken
    std::vector<std::size_t> latencies;
    struct Sender {
      bool known = false;
      std::uint64_t sender = 0;
      std::uint16_t epoch = 0;
    };
    std::vector<Sender> senders(kChannels);
    FrameFeeder feeder;
    DatagramCollector collector;
    std::size_t sent = 0;
    std::size_t next = 0;  // frame whose datagram has not come
    std::size_t quiet = 0;
    bool in_datagram = false;
    bench_->ready_i = 1;
    while (quiet < 200) {
      if (!feeder.busy() && sent < frames.size()) {
        feeder.begin(frames[sent].bytes, false, frames[sent].arrival_ns);
        ++sent;
      }
      bench_->valid_i = feeder.busy();
      if (feeder.busy()) feeder.show(bench_, 0x55);
      bench_.settle();
      ++quiet;
      if (feeder.busy() && bench_->ready_o) {
        if (feeder.at_first()) begun[sent - 1] = bench_.cycles();
        feeder.advance();
        quiet = 0;
      }
      if (bench_->valid_o) {
        quiet = 0;
        if (!in_datagram) {
          const std::uint64_t number = info_of(bench_->datagram_o).number;
          ASSERT_LE(number, sent);
          latencies.push_back(bench_.cycles() - begun[number - 1]);
        }
        const char* fault = nullptr;
        in_datagram = !collector.take(bench_->beat_o, bench_->datagram_o, fault);
        ASSERT_EQ(fault, nullptr) << fault;
        if (!in_datagram) {
          const auto expected = next_datagram(frames, next, groups, framing, senders);
          ASSERT_TRUE(expected.has_value()) << "a datagram that host/feed/packet does not find";
          ASSERT_EQ(collector.datagram().info.number, expected->info.number);
          ASSERT_TRUE(collector.datagram() == *expected) << "frame " << expected->info.number;
          ++datagrams_;
        }
      }
      bench_.step();
    }
    EXPECT_EQ(sent, frames.size());
    EXPECT_FALSE(next_datagram(frames, next, groups, framing, senders))
        << "a datagram that only host/feed/packet finds";
    ASSERT_FALSE(latencies.empty());
    least_latency_ = *std::min_element(latencies.begin(), latencies.end());
    cycles_ = bench_.cycles();
  }

  /// The next datagram that host/feed/packet finds in the frames from `next` on.
  template <class Senders>
  std::optional<SentDatagram> next_datagram(const std::vector<Frame>& frames, std::size_t& next, net::FlowTable& groups,
                                            const net::Framing& framing, Senders& senders) {
    while (next < frames.size()) {
      const Frame& frame = frames[next++];
      net::Datagram datagram;
      if (net::parse_frame(net::LinkType::Ethernet, frame.bytes, frame.bytes.size(), datagram) !=
          net::Verdict::Accepted) {
        continue;
      }
      const auto channel = groups.find(datagram.destination);
      if (!channel) continue;
      const net::Preamble preamble = net::read_preamble(framing, datagram.payload);
      auto& sender = senders[*channel];
      SentDatagram result{{.arrival_ns = frame.arrival_ns,
                           .number = next,
                           .length_bytes = static_cast<std::uint32_t>(datagram.payload.size()),
                           .data_offset = static_cast<std::uint16_t>(datagram.payload.size() + 1),
                           .channel = *channel,
                           .source = 1,
                           .time_quality = 1},
                          {datagram.payload.begin(), datagram.payload.end()}};
      if (preamble.error == ErrorCode::None) {
        if (sender.known && sender.sender != preamble.sender) ++sender.epoch;
        sender.known = true;
        sender.sender = preamble.sender;
        result.info.sequence_number = static_cast<std::uint32_t>(preamble.sequence);
        result.info.data_offset = static_cast<std::uint16_t>(preamble.data_begin);
        result.info.length_bytes = preamble.data_end;
        result.bytes.resize(preamble.data_end);
      }
      result.info.sender_epoch = sender.epoch;
      return result;
    }
    return std::nullopt;
  }

  static net::FlowTable groups_of(const std::vector<Frame>& frames) {
    net::FlowTable groups(kChannels);
    for (const Frame& frame : frames) {
      net::Datagram datagram;
      if (net::parse_frame(net::LinkType::Ethernet, frame.bytes, frame.bytes.size(), datagram) ==
          net::Verdict::Accepted) {
        (void)groups.channel(datagram.destination);
      }
    }
    return groups;
  }

  Bench<Vstopbit_front> bench_{101};
  std::size_t datagrams_ = 0;
  std::size_t least_latency_ = 0;
  std::uint64_t cycles_ = 0;
};

TEST_P(Front, finds_the_datagrams_and_preambles_of_the_capture) {
  const auto frames = read_frames(GetParam());
  if (!frames) GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
  net::FlowTable groups = groups_of(*frames);
  run(*frames, groups);
  EXPECT_GT(datagrams_, frames->size() * 9 / 10);
  std::printf("front: %s, store and forward: %zu frames, %zu datagrams, %llu cycles, least latency %zu cycles\n",
              std::string(GetParam().name).c_str(), frames->size(), datagrams_,
              static_cast<unsigned long long>(cycles_), least_latency_);
  const std::size_t stored = datagrams_;
  run(*frames, groups, true);
  EXPECT_EQ(datagrams_, 2 * stored);
  std::printf("front: %s, cut-through: least latency %zu cycles\n", std::string(GetParam().name).c_str(),
              least_latency_);
}

TEST_P(Front, treats_mutated_and_cut_frames_as_host_net_does) {
  auto frames = read_frames(GetParam());
  if (!frames) GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
  net::FlowTable groups = groups_of(*frames);
  for (std::size_t i = 0; frames->size() < 2000; ++i) frames->push_back(Frame((*frames)[i]));
  Random random(103);
  for (Frame& frame : *frames) {
    for (std::uint64_t flips = random.below(4); flips > 0; --flips) {
      // Mostly in the headers and the preamble; types stay away from a third tag, which only host/feed/packet reads.
      const std::size_t at = random.below(std::min<std::size_t>(frame.bytes.size(), random.chance(80) ? 80 : 2000));
      if (at < 14) continue;
      frame.bytes[at] ^= static_cast<std::byte>(1U << random.below(8));
    }
    if (random.chance(10)) frame.bytes.resize(1 + random.below(frame.bytes.size()));
  }
  run(*frames, groups);
  EXPECT_GT(datagrams_, frames->size() / 4);
  EXPECT_LT(datagrams_, frames->size());
}

INSTANTIATE_TEST_SUITE_P(Captures, Front, ::testing::ValuesIn(kCaptures), [](const auto& test) {
  std::string name(test.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace stopbit::sim
