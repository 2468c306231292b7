#include "host/ports/recorder/pcapng_writer.hpp"

#include <gtest/gtest.h>

#include <string>

#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::recorder::pcapng_writer_test {

TEST(PcapngWriter, writes_what_a_reader_of_captures_reads) {
  std::string file;
  constexpr std::string_view kNames[] = {"A", "line B"};
  PcapngWriter writer(
      [&](std::span<const std::byte> bytes) { file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); },
      kNames);
  std::vector<std::byte> frame(61);
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<std::byte>(i);
  writer.write(1, frame, 1'700'000'000'123'456'789);
  writer.write(0, std::span(frame).first(60), 1'700'000'000'123'456'790);
  EXPECT_EQ(writer.bytes(), file.size());

  const testing::Scratch scratch;
  const auto source = std::move(ingest::open_capture(scratch.write("capture", file))).value();
  ingest::Packet packet;
  ASSERT_EQ(source->next(packet), ingest::Next::Packet);
  EXPECT_EQ(packet.arrival_ns, 1'700'000'000'123'456'789U);
  EXPECT_EQ(std::vector<std::byte>(packet.frame.begin(), packet.frame.end()), frame);
  EXPECT_EQ(packet.original_bytes, 61U);
  ASSERT_EQ(source->next(packet), ingest::Next::Packet);
  EXPECT_EQ(packet.arrival_ns, 1'700'000'000'123'456'790U);
  EXPECT_EQ(packet.frame.size(), 60U);
  EXPECT_EQ(source->next(packet), ingest::Next::End);
}

TEST(PcapngWriter, puts_a_comment_after_the_frame) {
  std::vector<std::byte> file;
  constexpr std::string_view kNames[] = {"A"};
  PcapngWriter writer([&](std::span<const std::byte> bytes) { file.insert(file.end(), bytes.begin(), bytes.end()); },
                      kNames);
  const std::vector<std::byte> frame(61, std::byte{7});
  writer.write(0, frame, 1'000, "first after");
  writer.write(0, frame, 2'000, std::string(5'000, 'x'));
  writer.write(0, frame, 3'000);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  EXPECT_NE(text.find(std::string("\x01\0\x0b\0first after\0\0\0\0\0", 20)), std::string_view::npos);
  EXPECT_NE(text.find(std::string(PcapngWriter::kMaxCommentBytes, 'x')), std::string_view::npos);
  EXPECT_EQ(text.find(std::string(PcapngWriter::kMaxCommentBytes + 1, 'x')), std::string_view::npos);
  const testing::Scratch scratch;
  const auto source = std::move(ingest::open_capture(scratch.write("capture", text))).value();
  ingest::Packet packet;
  for (const std::uint64_t time : {1'000U, 2'000U, 3'000U}) {
    ASSERT_EQ(source->next(packet), ingest::Next::Packet);
    EXPECT_EQ(packet.arrival_ns, time);
    EXPECT_EQ(packet.frame.size(), 61U);
  }
  EXPECT_EQ(source->next(packet), ingest::Next::End);
}

TEST(PcapngWriter, hands_over_whole_blocks) {
  std::vector<std::size_t> blocks;
  constexpr std::string_view kNames[] = {"A"};
  PcapngWriter writer([&](std::span<const std::byte> bytes) { blocks.push_back(bytes.size()); }, kNames);
  ASSERT_EQ(blocks.size(), 2U);  // section, interface
  const std::vector<std::byte> frame(101);
  writer.write(0, frame, 1);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks[2], PcapngWriter::block_bytes(101));
  for (const std::size_t bytes : blocks) EXPECT_EQ(bytes % 4, 0U);
}

}  // namespace stopbit::recorder::pcapng_writer_test
