#include "host/ports/capture/capture_port.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "host/ports/out/frame.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "tests/unit/ports/captures.hpp"

namespace stopbit::ingest::capture_port_test {

using testing::memory_file;
using testing::pcap_header;
using testing::pcap_record;

constexpr net::Endpoint kSource = {0xC0000201, 20'000};
constexpr net::Endpoint kLineA = {0xEF010101, 30'001};
constexpr net::Endpoint kLineB = {0xEF010201, 30'101};

std::string datagram_record(std::size_t time_ns, net::Endpoint group, std::string_view payload) {
  egress::FrameBuilder builder(kSource, group);
  const auto frame = builder.build(std::as_bytes(std::span(payload)));
  return pcap_record(100, time_ns, {reinterpret_cast<const char*>(frame.data()), frame.size()});
}

std::unique_ptr<Port> port_of(const std::string& content, CapturePortOptions options = {}) {
  auto opened = open_capture(memory_file(content), "day.pcap");
  EXPECT_TRUE(opened.ok());
  return make_capture_port(std::move(opened).value(), std::move(options));
}

std::vector<std::string> poll_texts(Port& port, std::size_t batch_size = 64) {
  std::vector<Arrival> batch(batch_size);
  std::vector<std::string> texts;
  for (const Arrival& arrival : std::span(batch).first(port.poll(batch))) {
    texts.emplace_back(reinterpret_cast<const char*>(arrival.payload.data()), arrival.payload.size());
  }
  return texts;
}

TEST(CapturePort, hands_out_the_datagrams_of_a_capture_with_its_times) {
  const auto port = port_of(pcap_header() + datagram_record(5, kLineA, "one") + pcap_record(100, 6, "no frame") +
                            datagram_record(7, kLineB, "two"));
  std::vector<Arrival> batch(8);
  ASSERT_EQ(port->poll(batch), 2U);
  EXPECT_EQ(batch[0].source, kSource);
  EXPECT_EQ(batch[0].destination, kLineA);
  EXPECT_EQ(batch[0].arrival_ns, 100'000'000'005U);
  EXPECT_EQ(batch[1].destination, kLineB);
  EXPECT_EQ(batch[1].arrival_ns, 100'000'000'007U);
  EXPECT_EQ(port->counters().frames.value(), 3U);
  EXPECT_EQ(port->counters().verdicts[static_cast<std::size_t>(net::Verdict::Accepted)].value(), 2U);
  EXPECT_TRUE(port->ended());
  EXPECT_EQ(port->poll(batch), 0U);
  EXPECT_EQ(port->name(), "capture day.pcap");
}

TEST(CapturePort, fills_batches_one_after_the_other) {
  std::string file = pcap_header();
  for (int i = 0; i < 5; ++i) file += datagram_record(static_cast<std::size_t>(i), kLineA, std::to_string(i));
  const auto port = port_of(file);
  EXPECT_EQ(poll_texts(*port, 2), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(poll_texts(*port, 2), (std::vector<std::string>{"2", "3"}));
  EXPECT_FALSE(port->ended());
  EXPECT_EQ(poll_texts(*port, 2), (std::vector<std::string>{"4"}));
  EXPECT_TRUE(port->ended());
}

TEST(CapturePort, keeps_all_payloads_of_a_batch_however_long) {
  std::string file = pcap_header();
  for (char c = 'a'; c < 'k'; ++c) file += datagram_record(1, kLineA, std::string(60'000, c));
  const auto port = port_of(file);
  std::size_t seen = 0;
  for (int polls = 0; polls < 10 && !port->ended(); ++polls) {
    for (const std::string& text : poll_texts(*port)) {
      EXPECT_EQ(text, std::string(60'000, static_cast<char>('a' + seen++)));
    }
  }
  EXPECT_EQ(seen, 10U);
}

TEST(CapturePort, keeps_the_pace_of_the_capture) {
  std::uint64_t now = 1'000;
  const auto port = port_of(pcap_header() + datagram_record(0, kLineA, "0") + datagram_record(100, kLineA, "100") +
                                datagram_record(101, kLineA, "101") + datagram_record(400, kLineA, "400"),
                            {.speed = 2, .clock = [&] { return now; }});
  EXPECT_EQ(poll_texts(*port), (std::vector<std::string>{"0"}));
  now += 49;
  EXPECT_EQ(poll_texts(*port), (std::vector<std::string>{}));
  now += 2;
  EXPECT_EQ(poll_texts(*port), (std::vector<std::string>{"100", "101"}));
  now += 148;
  EXPECT_EQ(poll_texts(*port), (std::vector<std::string>{}));
  now += 1;
  EXPECT_EQ(poll_texts(*port), (std::vector<std::string>{"400"}));
}

TEST(CapturePort, hands_out_what_was_joined_only) {
  const std::string file = pcap_header() + datagram_record(1, kLineA, "a") + datagram_record(2, kLineB, "b");
  const auto by_group = port_of(file);
  ASSERT_TRUE(by_group->join({kLineB, std::nullopt}).ok());
  EXPECT_EQ(poll_texts(*by_group), (std::vector<std::string>{"b"}));
  EXPECT_EQ(by_group->counters().frames.value(), 2U);
  const auto by_source = port_of(file);
  ASSERT_TRUE(by_source->join({kLineA, kSource.address + 1}).ok());
  ASSERT_TRUE(by_source->join({kLineB, kSource.address}).ok());
  EXPECT_EQ(poll_texts(*by_source), (std::vector<std::string>{"b"}));
}

TEST(CapturePort, ends_where_the_capture_breaks_off) {
  std::string file = pcap_header() + datagram_record(1, kLineA, "whole") + datagram_record(2, kLineA, "cut");
  file.resize(file.size() - 1);
  const auto port = port_of(file);
  EXPECT_EQ(poll_texts(*port), (std::vector<std::string>{"whole"}));
  EXPECT_TRUE(port->ended());
  EXPECT_EQ(port->counters().failures.value(), 1U);
  ASSERT_EQ(port->notes().size(), 1U);
  EXPECT_TRUE(port->notes()[0].starts_with("day.pcap: packet 2")) << port->notes()[0];
}

}  // namespace stopbit::ingest::capture_port_test
