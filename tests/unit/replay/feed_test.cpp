#include <gtest/gtest.h>

#include <cstdlib>

#include "host/feed/description/from_rdi.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/frames.hpp"
#include "tests/unit/replay/fixture.hpp"

/// Replays by a feed description.
namespace stopbit::replay::feed_test {

using net::testing::be16;
using net::testing::be32;
using net::testing::bytes;
using net::testing::ByteVector;
using net::testing::ethernet;
using net::testing::ipv4;
using net::testing::operator+;
using testing::Bench;
using testing::MemorySource;

constexpr const char* kTemplates = R"(
<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Value" id="1"><uInt32 name="Number"><copy/></uInt32></template>
  <template name="Next" id="2"><uInt32 name="Number"><increment/></uInt32></template>
  <template name="Start" id="3" reset="yes"><uInt32 name="Number"><copy/></uInt32></template>
</templates>)";

/// Channel 310 on two lines, channel 7 on one that is never reset per packet, both in a window of 1 us.
feed::Description description() {
  Diagnostics diagnostics;
  auto feed = feed::parse("feed.toml", R"(
[[image]]
name = "i"
firmware = "unused"
[defaults]
framing = "cme"
window = { time = "1us" }
[[channel]]
number = 310
a = { group = "224.0.31.1", port = 10001 }
b = { group = "224.0.31.1", port = 10002 }
[[channel]]
number = 7
a = { group = "224.0.31.1", port = 10007 }
)",
                          diagnostics);
  EXPECT_TRUE(feed) << diagnostics.format();
  return feed.value_or(feed::Description{});
}

MemorySource::Item packet(std::size_t sequence, int number, std::size_t port, std::uint64_t arrival_ns) {
  const ByteVector payload = be32(sequence) + bytes({0, 0xE0, 0x81, 0x80 | number});
  return {ethernet(ipv4(be16(20000) + be16(port) + be16(8 + payload.size()) + be16(0) + payload)), arrival_ns, 0};
}

void expect_feed_accounted(const Summary& summary) {
  std::uint64_t received = 0;
  std::uint64_t delivered = 0;
  for (const ChannelCount& channel : summary.channels) {
    EXPECT_TRUE(channel.account.balanced());
    EXPECT_EQ(channel.account.numbers.held, 0U);
    received += channel.account.packets.all_received();
    delivered += channel.account.packets.delivered;
  }
  EXPECT_EQ(summary.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)], received);
  EXPECT_EQ(summary.chunks + summary.datagrams - summary.joined, delivered);
}

class FeedReplayTest : public ::testing::Test {
 protected:
  FeedReplayTest() {
    for (const feed::Channel& channel : feed_.channels) options_.feed.push_back(&channel);
  }

  const Program program_ = testing::compile(kTemplates);
  const feed::Description feed_ = description();
  Options options_;
};

TEST_F(FeedReplayTest, merges_the_lines_of_each_channel_and_tells_gaps) {
  Bench bench(program_, options_);
  const Summary summary = bench.run({
      packet(5, 5, 10001, 1'000), packet(5, 5, 10002, 1'100), packet(90, 9, 10007, 1'200),
      packet(7, 7, 10001, 3'000),                              // 6 is missing on A
      packet(6, 6, 10002, 3'100),                              // and comes on B
      packet(7, 7, 10002, 3'200), packet(9, 9, 10001, 4'000),  // 8 is missing on both
      packet(91, 9, 10007, 9'000),                             // by whose time the window has closed
      packet(1, 1, 10009, 9'100),                              // none of ours
  });
  EXPECT_EQ(
      bench.lines(),
      "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":5}}\n"
      "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":9}}\n"
      "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":6}}\n"
      "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":7}}\n"
      "{\"event\":\"gap\",\"channel\":310,\"first\":8,\"missing\":1,\"detail\":\"sequence numbers are missing\"}\n"
      "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":9}}\n"
      "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":9}}\n");
  EXPECT_EQ(bench.header(0).channel(), 310);
  EXPECT_EQ(bench.header(1).channel(), 7);
  EXPECT_EQ(bench.header(2).source(), record::SourceLine::LineB);
  EXPECT_EQ(bench.header(2).sequence(), 6U);
  EXPECT_EQ(summary.filtered, 1U);
  EXPECT_EQ(summary.error_count(), 0U);
  ASSERT_EQ(summary.channels.size(), 2U);
  EXPECT_EQ(summary.channels[0].account.packets.duplicate, 2U);
  EXPECT_EQ(summary.channels[0].account.numbers.lost, 1U);
  EXPECT_EQ(summary.channels[0].lines[0].saved, 1U);
  expect_feed_accounted(summary);
  const std::string text = to_text(summary, program_, {.timing = false});
  EXPECT_NE(text.find("Channel 310, channel 310 (ordered)"), std::string::npos) << text;
  EXPECT_NE(text.find("sequence numbers missing, in 1 gap"), std::string::npos);
}

TEST_F(FeedReplayTest, tells_a_sequence_reset) {
  Bench bench(program_, options_);
  const Summary summary = bench.run({
      packet(500'000, 1, 10001, 1'000),
      packet(500'001, 2, 10001, 9'000),
      packet(1, 3, 10001, 2'000'000'000),
      packet(2, 4, 10001, 2'000'000'100),
  });
  EXPECT_NE(bench.lines().find("{\"event\":\"reset\",\"channel\":310,\"packet\":3"), std::string::npos)
      << bench.lines();
  EXPECT_EQ(bench.records().size(), 5U);
  EXPECT_EQ(bench.header(4).sender_epoch(), 1);
  EXPECT_EQ(summary.channels[0].resets, 1U);
  EXPECT_EQ(summary.channels[0].runs, 2U);
  expect_feed_accounted(summary);
}

TEST_F(FeedReplayTest, a_preamble_that_cannot_be_right_is_an_error_and_malformed) {
  Bench bench(program_, options_);
  const ByteVector payload = bytes({0, 0});
  MemorySource::Item damaged{ethernet(ipv4(be16(20000) + be16(10001) + be16(8 + payload.size()) + be16(0) + payload)),
                             2'000, 0};
  const Summary summary = bench.run({packet(5, 5, 10001, 1'000), std::move(damaged)});
  EXPECT_EQ(summary.errors[static_cast<std::size_t>(ErrorCode::X9)], 1U);
  EXPECT_NE(bench.lines().find("{\"error\":\"X9\",\"packet\":2,\"offset\":2,"), std::string::npos) << bench.lines();
  ASSERT_EQ(summary.problems.size(), 1U);
  EXPECT_NE(summary.problems[0].find("packet 2, byte 2: "), std::string::npos) << summary.problems[0];
  EXPECT_EQ(summary.channels[0].account.packets.malformed, 1U);
  EXPECT_EQ(summary.channels[0].account.packets.delivered, 1U);
  expect_feed_accounted(summary);
}

TEST_F(FeedReplayTest, after_a_gap_a_feed_without_resets_waits) {
  feed::Description never = feed_;
  for (feed::Channel& channel : never.channels) channel.framing.reset = ResetRule::Template;
  Options options;
  options.feed = {&never.channels[1]};
  EXPECT_TRUE(same_reset_rule(options.feed));
  Bench bench(program_, options);
  const ByteVector start = be32(94) + bytes({0, 0xE0, 0x83, 0x84});
  const Summary summary =
      bench.run({packet(90, 9, 10007, 1'000),
                 packet(92, 9, 10007, 9'000),
                 {ethernet(ipv4(be16(20000) + be16(10007) + be16(8 + start.size()) + be16(0) + start)), 99'000, 0}});
  EXPECT_EQ(summary.dropped, 1U);
  EXPECT_NE(bench.lines().find("\"template\":\"Start\""), std::string::npos);
}

TEST_F(FeedReplayTest, several_replays_share_one_pass) {
  Options first;
  Options second;
  first.feed = {&feed_.channels[0]};
  second.feed = {&feed_.channels[1]};
  Bench left(program_, first);
  Bench right(program_, second);
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::make_unique<MemorySource>(
      std::vector{packet(5, 5, 10001, 1'000), packet(90, 9, 10007, 1'200), packet(6, 6, 10002, 1'300)}));
  Replay* const replays[] = {&left.replay(), &right.replay()};
  const std::vector<Summary> summaries = Replay::run_together(replays, sources);
  ASSERT_EQ(summaries.size(), 2U);
  EXPECT_EQ(left.records().size(), 2U);
  EXPECT_EQ(right.records().size(), 1U);
  EXPECT_EQ(summaries[0].filtered, 1U);
  EXPECT_EQ(summaries[1].filtered, 2U);
}

TEST(FeedOfReferenceData, the_eurex_packet_lists_ten_feeds) {
  const char* const corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
  const std::string path = std::string(corpus) + "/eurex-rdi-2016";
  const Program program = testing::compile(stopbit::testing::file_text(path + "/templates.xml"));
  const record::Schema schema = record::Schema::make(program).value();
  feed::RdiReader reader(schema);
  record::BufferSink sink(program.max_record_slots, [&](std::span<const record::Slot> record) { reader.take(record); });
  Options options;
  options.framing = testing::framing("t7");
  const auto engine = make_interpreter(program, engine_options(options));
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::move(ingest::open_capture(path + "/capture.pcap")).value());
  (void)Replay(program, *engine, sink, options).run(sources);
  ASSERT_EQ(reader.feeds().size(), 10U);
  EXPECT_EQ(reader.feeds()[0].product, "FBTP");
  EXPECT_EQ(reader.feeds()[9].product, "FBTS");
  EXPECT_EQ(reader.feeds()[0].recovery_ms, 90'000U);
  EXPECT_EQ(net::to_text(reader.feeds()[1].lines[1]), "224.0.50.231:59501");
  const feed::RdiDescription made = feed::from_rdi(reader.feeds());
  EXPECT_EQ(made.description.channels.size(), 5U);
  EXPECT_EQ(made.description.channels[0].name, "0: FBTP FBTS, snapshot, book type 1");
  EXPECT_EQ(made.left_out, 0U);
}

}  // namespace stopbit::replay::feed_test
