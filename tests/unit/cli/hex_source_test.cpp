#include "host/cli/common/hex_source.hpp"

#include <gtest/gtest.h>

#include "host/cli/common/command.hpp"
#include "host/feed/packet/packet.hpp"
#include "tests/lib/run_stopbit.hpp"

namespace stopbit::tools::hex_source_test {

struct Line {
  std::uint64_t number;
  std::string payload;
  bool operator==(const Line&) const = default;
};

struct Content {
  std::vector<Line> lines;
  std::uint64_t bad = 0;
  std::string errors;
};

Content read(std::string_view text) {
  const testing::Scratch scratch;
  HexSource source(InputFile::open(scratch.write("in", text)), [] {});
  Content content;
  ::testing::internal::CaptureStderr();
  for (ingest::Packet packet; source.next(packet) == ingest::Next::Packet;) {
    net::Datagram datagram;
    EXPECT_EQ(net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram), net::Verdict::Accepted);
    const auto* bytes = reinterpret_cast<const char*>(datagram.payload.data());
    content.lines.push_back({packet.number, std::string(bytes, datagram.payload.size())});
  }
  content.errors = ::testing::internal::GetCapturedStderr();
  content.bad = source.bad_lines();
  source.rethrow_error();
  return content;
}

TEST(HexSource, takes_blanks_comments_and_either_case) {
  const Content content = read("# nothing\n\n  41 42\t43 # abc\r\n4dAf\n41#b");
  EXPECT_EQ(content.lines, (std::vector<Line>{{1, "ABC"}, {2, "M\xAF"}, {3, "A"}}));
  EXPECT_EQ(content.errors, "");
}

TEST(HexSource, names_line_and_column_of_what_is_not_hex_and_goes_on) {
  const Content content = read("41\n 4x\n4\n4 1\n0x41\n42\n");
  EXPECT_EQ(content.lines, (std::vector<Line>{{1, "A"}, {6, "B"}}));
  EXPECT_EQ(content.bad, 4U);
  EXPECT_NE(content.errors.find("in:2:3: error: the second hex digit of a byte is missing"), std::string::npos);
  EXPECT_NE(content.errors.find("in:3:2: error: the second"), std::string::npos);
  EXPECT_NE(content.errors.find("in:4:2: error: the second"), std::string::npos);
  EXPECT_NE(content.errors.find("in:5:2: error: the second"), std::string::npos);
}

TEST(HexSource, takes_the_longest_datagram_and_refuses_a_longer_one) {
  constexpr std::size_t kLongest = 65'507;
  std::string text;
  for (std::size_t i = 0; i < kLongest; ++i) text += "41 ";
  const Content content = read(text + "\n" + text + "41\n42\n");
  ASSERT_EQ(content.lines.size(), 2U);
  EXPECT_EQ(content.lines[0].payload, std::string(kLongest, 'A'));
  EXPECT_EQ(content.lines[1], (Line{3, "B"}));
  EXPECT_NE(content.errors.find(":2:196522: error: longer than a UDP datagram"), std::string::npos);
}

TEST(HexSource, keeps_no_more_of_a_line_than_a_datagram_needs) {
  const Content content = read(std::string(3U << 20, ' ') + "41\n42\n");
  EXPECT_EQ(content.lines, (std::vector<Line>{{2, "B"}}));
  EXPECT_NE(content.errors.find("in:1:1048577: error: the line is too long"), std::string::npos);
}

TEST(HexSource, asks_to_be_heard_before_it_waits) {
  const testing::Scratch scratch;
  int waits = 0;
  HexSource source(InputFile::open(scratch.write("in", "41\n42\n")), [&] { ++waits; });
  ingest::Packet packet;
  ASSERT_EQ(source.next(packet), ingest::Next::Packet);
  EXPECT_EQ(waits, 1);
  ASSERT_EQ(source.next(packet), ingest::Next::Packet);
  EXPECT_EQ(waits, 1);
  ASSERT_EQ(source.next(packet), ingest::Next::End);
  EXPECT_EQ(waits, 2);
}

TEST(HexSource, a_folder_is_an_error_of_the_environment) {
  const testing::Scratch scratch;
  HexSource source(InputFile::open(scratch.path("")), [] {});
  ingest::Packet packet;
  EXPECT_EQ(source.next(packet), ingest::Next::Fault);
  EXPECT_NE(source.fault().message.find("Is a directory"), std::string::npos);
  EXPECT_THROW(source.rethrow_error(), ToolError);
}

}  // namespace stopbit::tools::hex_source_test
