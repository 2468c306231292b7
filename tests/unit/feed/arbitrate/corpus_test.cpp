#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "host/feed/arbitrate/arbiter.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/ports/pcap/pcap_source.hpp"

/// Captures of real exchanges, with the figures that were counted without this code.
namespace stopbit::arbitrate::corpus_test {

struct Figures final : Sink {
  bool deliver(const Packet& packet, std::uint16_t /*epoch*/) noexcept override {
    EXPECT_TRUE(delivered.empty() || packet.preamble.sequence > delivered.back());
    delivered.push_back(packet.preamble.sequence);
    return true;
  }
  void gap(const Gap& gap) noexcept override {
    EXPECT_TRUE(!delivered.empty() && gap.first > delivered.back());
    ++gaps;
    missing += gap.count;
    for (std::uint64_t i = 0; i < gap.count; ++i) missing_numbers.push_back(gap.first + i);
  }
  void epoch(const NewRun& /*run*/) noexcept override { ++runs; }
  void reset(const NewRun& /*run*/) noexcept override { ++runs; }

  std::vector<std::uint64_t> delivered;
  std::vector<std::uint64_t> missing_numbers;
  std::uint64_t gaps = 0;
  std::uint64_t missing = 0;
  std::uint64_t runs = 0;
};

std::string corpus() {
  const char* const folder = std::getenv("STOPBIT_CORPUS");
  return folder == nullptr ? "" : folder;
}

Account arbitrate(const std::string& capture, const char* framing_name, Options options, Figures& figures) {
  const net::Framing framing = net::parse_framing(framing_name).value();
  const Options of_framing = options_for(framing);
  options.sequence_bits = of_framing.sequence_bits;
  options.lines = {true, false};
  Arbiter arbiter(options);
  const auto source = std::move(ingest::open_capture(corpus() + "/" + capture)).value();
  ingest::Packet frame;
  while (source->next(frame) == ingest::Next::Packet) {
    net::Datagram datagram;
    if (net::parse_frame(frame.link, frame.frame, frame.original_bytes, datagram) != net::Verdict::Accepted) continue;
    Packet packet;
    packet.payload = datagram.payload;
    packet.preamble = net::read_preamble(framing, datagram.payload);
    packet.arrival_ns = frame.arrival_ns;
    packet.number = frame.number;
    packet.t_ns = frame.arrival_ns;
    arbiter.tick(packet.t_ns, figures);
    arbiter.offer(packet, figures);
    EXPECT_TRUE(arbiter.account().balanced());
  }
  arbiter.finish(figures);
  return arbiter.total();
}

#define STOPBIT_NEED_CORPUS() \
  if (corpus().empty()) GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges"

TEST(ArbiterCorpus, cme_in_a_wide_window_is_in_order) {
  STOPBIT_NEED_CORPUS();
  Figures figures;
  const Account total =
      arbitrate("cme-mdp-2012/capture.pcap", "cme", {.window_packets = 8'192, .window_ns = 3'600'000'000'000}, figures);
  EXPECT_EQ(total.packets.delivered, 8'375U);
  EXPECT_EQ(total.packets.duplicate, 1'625U);
  EXPECT_EQ(total.packets.late, 0U);
  EXPECT_EQ(total.numbers.lost, 1'567U);
  EXPECT_EQ(figures.missing, 1'567U);
  EXPECT_EQ(figures.delivered.front(), 3'574'402U);
  EXPECT_EQ(figures.delivered.back(), 3'584'343U);
  EXPECT_EQ(figures.runs, 1U);
  // Delivered and missing numbers together are the whole range, each once.
  std::vector<std::uint64_t> all = figures.delivered;
  all.insert(all.end(), figures.missing_numbers.begin(), figures.missing_numbers.end());
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 3'584'343U - 3'574'402U + 1);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], 3'574'402U + i);
}

TEST(ArbiterCorpus, cme_in_any_window_loses_no_packet_from_sight) {
  STOPBIT_NEED_CORPUS();
  for (const bool ordered : {false, true}) {
    for (const std::uint32_t packets : {1U, 2U, 8U, 64U, 512U, 4'096U}) {
      for (const std::uint64_t window_ns :
           {std::uint64_t{1'000}, std::uint64_t{2'000'000}, std::uint64_t{1'000'000'000}}) {
        Figures figures;
        const Account total =
            arbitrate("cme-mdp-2012/capture.pcap", "cme",
                      {.ordered = ordered, .window_packets = packets, .window_ns = window_ns}, figures);
        EXPECT_EQ(total.packets.delivered + total.packets.late, 8'375U) << ordered << packets << " " << window_ns;
        EXPECT_EQ(total.packets.duplicate, 1'625U);
        EXPECT_EQ(total.packets.all_received(), 10'000U);
        EXPECT_TRUE(total.balanced());
        EXPECT_EQ(figures.runs, 1U);
      }
    }
  }
}

TEST(ArbiterCorpus, moex_has_the_gaps_that_were_counted) {
  STOPBIT_NEED_CORPUS();
  for (const bool ordered : {false, true}) {
    Figures figures;
    const Account total =
        arbitrate("moex-asts-trades-2019/capture.pcap", "moex", {.ordered = ordered, .window_packets = 16}, figures);
    EXPECT_EQ(total.packets.delivered, 5'020U);
    EXPECT_EQ(figures.gaps, 3'383U);
    EXPECT_EQ(figures.missing, 7'516U);
    EXPECT_EQ(total.numbers.expected, 104'185U - 91'650U + 1);
  }
}

TEST(ArbiterCorpus, eurex_packet_is_delivered) {
  STOPBIT_NEED_CORPUS();
  Figures figures;
  EXPECT_EQ(arbitrate("eurex-rdi-2016/capture.pcap", "t7", {}, figures).packets.delivered, 1U);
}

}  // namespace stopbit::arbitrate::corpus_test
