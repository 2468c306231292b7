#include "host/ports/out/pcap/pcap_writer.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/frames.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::egress::pcap_writer_test {

using net::testing::bytes;

TEST(PcapWriter, writes_what_a_source_reads) {
  std::string content;
  {
    auto writer = PcapWriter::open([&](std::string_view piece) { content += piece; });
    ASSERT_TRUE(writer) << writer.message();
    writer.value().write(bytes("first frame, long enough for a header"), 1'600'000'000'000'000'001);
    writer.value().write(bytes("second"), 1'600'000'001'999'999'999);
  }
  const stopbit::testing::Scratch scratch;
  auto source = ingest::open_capture(scratch.write("capture", content));
  ASSERT_TRUE(source) << source.message();
  ingest::Packet packet;
  ASSERT_EQ(source.value()->next(packet), ingest::Next::Packet);
  EXPECT_EQ(packet.arrival_ns, 1'600'000'000'000'000'001U);
  EXPECT_EQ(packet.frame.size(), 37U);
  EXPECT_EQ(packet.link, net::LinkType::Ethernet);
  ASSERT_EQ(source.value()->next(packet), ingest::Next::Packet);
  EXPECT_EQ(packet.arrival_ns, 1'600'000'001'999'999'999U);
  EXPECT_EQ(packet.original_bytes, 6U);
  EXPECT_EQ(source.value()->next(packet), ingest::Next::End);
}

TEST(PcapWriter, passes_on_what_its_sink_throws) {
  bool fails = false;
  auto writer = PcapWriter::open([&](std::string_view) {
    if (fails) throw std::runtime_error("disk full");
  });
  ASSERT_TRUE(writer);
  fails = true;
  EXPECT_THROW(writer.value().write(bytes("frame"), 0), std::runtime_error);
  const auto fail = [](std::string_view) { throw std::runtime_error("disk full"); };
  EXPECT_THROW(static_cast<void>(PcapWriter::open(fail)), std::runtime_error);
}

}  // namespace stopbit::egress::pcap_writer_test
