#include "host/ports/merger.hpp"

#include <gtest/gtest.h>

#include "host/ports/capture/capture_port.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "tests/unit/ports/captures.hpp"

namespace stopbit::ingest::merger_test {

using testing::memory_file;
using testing::pcap_header;
using testing::pcap_record;

std::unique_ptr<PacketSource> source_of(const std::string& content, const std::string& name) {
  auto opened = open_capture(memory_file(pcap_header() + content), name);
  EXPECT_TRUE(opened.ok());
  return std::move(opened).value();
}

std::string record(std::size_t time_ns, const std::string& text) {
  return pcap_record(0, time_ns, text);
}

/// "a1 b1 a2!": packets as they came; "!" is a fault of source 0, "?" of source 1.
std::string merged(std::vector<std::unique_ptr<PacketSource>> sources) {
  Merger merger(sources);
  std::string text;
  Packet packet;
  for (Next next = Next::End; (next = merger.next(packet)) != Next::End;) {
    if (!text.empty()) text += ' ';
    if (next == Next::Fault)
      text += merger.source() == 0 ? "!" : "?";
    else
      text += std::string(reinterpret_cast<const char*>(packet.frame.data()), packet.frame.size()) + "#" +
              std::to_string(packet.number) + "@" + std::to_string(merger.source());
  }
  EXPECT_EQ(merger.next(packet), Next::End);
  return text;
}

std::vector<std::unique_ptr<PacketSource>> two(const std::string& a, const std::string& b) {
  std::vector<std::unique_ptr<PacketSource>> sources;
  sources.push_back(source_of(a, "a.pcap"));
  sources.push_back(source_of(b, "b.pcap"));
  return sources;
}

TEST(Merger, gives_packets_in_the_order_of_their_times) {
  EXPECT_EQ(merged(two(record(1, "x") + record(4, "y"), record(2, "p") + record(3, "q") + record(5, "r"))),
            "x#1@0 p#1@1 q#2@1 y#2@0 r#3@1");
}

TEST(Merger, gives_packets_of_equal_time_in_the_order_of_their_sources) {
  EXPECT_EQ(merged(two(record(1, "x") + record(1, "y"), record(1, "p"))), "x#1@0 y#2@0 p#1@1");
}

TEST(Merger, keeps_the_order_of_a_source_whose_times_go_back) {
  EXPECT_EQ(merged(two(record(5, "x") + record(2, "y"), record(3, "p") + record(6, "q"))), "p#1@1 x#1@0 y#2@0 q#2@1");
}

TEST(Merger, goes_on_with_the_others_when_one_is_damaged) {
  EXPECT_EQ(merged(two(record(1, "x") + "cut", record(2, "p") + record(3, "q"))), "x#1@0 ! p#1@1 q#2@1");
}

TEST(Merger, ends_at_once_without_packets) {
  EXPECT_EQ(merged({}), "");
  EXPECT_EQ(merged(two("", "")), "");
}

TEST(CapturePort, plays_several_captures_merged) {
  const auto port = make_capture_port(two(record(1, "x"), record(2, "p") + "cut"));
  std::vector<Arrival> batch(8);
  EXPECT_EQ(port->poll(batch), 0U) << "no datagrams in them";
  EXPECT_TRUE(port->ended());
  EXPECT_EQ(port->counters().frames.value(), 2U);
  EXPECT_EQ(port->counters().failures.value(), 1U);
  EXPECT_EQ(port->name(), "capture a.pcap + b.pcap");
}

}  // namespace stopbit::ingest::merger_test
