#include "host/replay/replay.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/frames.hpp"
#include "tests/unit/ports/captures.hpp"
#include "tests/unit/replay/fixture.hpp"

namespace stopbit::replay::replay_test {

using net::testing::be16;
using net::testing::be32;
using net::testing::bytes;
using net::testing::ByteVector;
using net::testing::ethernet;
using net::testing::ipv4;
using net::testing::operator+;
using testing::Bench;
using testing::expect_accounted;
using testing::framing;
using testing::MemorySource;

using Items = std::vector<MemorySource::Item>;

/// Value 1 is a number as it is; value 2 one more than the last.
constexpr const char* kTemplates = R"(
<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Value" id="1"><uInt32 name="Number"><copy/></uInt32></template>
  <template name="Next" id="2"><uInt32 name="Number"><increment/></uInt32></template>
  <template name="Start" id="3" reset="yes"><uInt32 name="Number"><copy/></uInt32></template>
</templates>)";

ByteVector value(int number) {
  return bytes({0xE0, 0x81, 0x80 | number});
}
ByteVector next() {
  return bytes({0xC0, 0x82});
}
ByteVector start(int number) {
  return bytes({0xE0, 0x83, 0x80 | number});
}

ByteVector cme(std::size_t sequence, const ByteVector& data) {
  return be32(sequence) + bytes({0}) + data;
}

/// A frame to 224.0.31.1 and the port.
MemorySource::Item frame(const ByteVector& payload, std::size_t port = 10001, std::uint64_t arrival_ns = 0) {
  return {ethernet(ipv4(be16(20000) + be16(port) + be16(8 + payload.size()) + be16(0) + payload)), arrival_ns, 0};
}

class ReplayTest : public ::testing::Test {
 protected:
  static Options options(std::string_view framing_text) {
    Options options;
    options.framing = framing(framing_text);
    options.channels = 4;
    return options;
  }

  const Program program_ = testing::compile(kTemplates);
};

TEST_F(ReplayTest, turns_packets_into_records) {
  Bench bench(program_, options("cme"));
  const Summary summary =
      bench.run({frame(cme(7, value(5)), 10001, 1000), frame(cme(8, value(6) + next()), 10002, 2000)});
  EXPECT_EQ(bench.lines(),
            "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":5}}\n"
            "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":6}}\n"
            "{\"template\":\"Next\",\"id\":2,\"fields\":{\"Number\":7}}\n");
  EXPECT_EQ(summary.packets, 2U);
  EXPECT_EQ(summary.datagrams, 2U);
  EXPECT_EQ(summary.datagram_bytes, 8U + 10U);
  EXPECT_EQ(summary.messages, 3U);
  EXPECT_EQ(summary.fields, 3U);
  EXPECT_EQ(summary.error_count(), 0U);
  EXPECT_EQ(summary.first_arrival_ns, 1000U);
  EXPECT_EQ(summary.last_arrival_ns, 2000U);
  ASSERT_EQ(summary.groups.size(), 2U);
  EXPECT_EQ(net::to_text(summary.groups[1].group), "224.0.31.1:10002");
  EXPECT_EQ(summary.groups[1].datagrams, 1U);
  expect_accounted(summary);

  EXPECT_EQ(bench.header(0).sequence(), 7U);
  EXPECT_EQ(bench.header(0).channel(), 0U);
  EXPECT_EQ(bench.header(0).arrival_ns(), 1000U);
  EXPECT_EQ(bench.header(0).time_quality(), record::TimeQuality::Hardware);
  EXPECT_EQ(bench.header(0).source(), record::SourceLine::File);
  EXPECT_EQ(bench.header(2).sequence(), 8U);
  EXPECT_EQ(bench.header(2).channel(), 1U);
  EXPECT_EQ(bench.header(2).message_index(), 1U);
}

TEST_F(ReplayTest, takes_only_the_groups_asked_for) {
  Options only = options("cme");
  only.groups = {net::parse_endpoint("224.0.31.1:10002").value()};
  Bench bench(program_, only);
  MemorySource::Item cut = frame(cme(3, value(3)), 10001);
  cut.frame.pop_back();
  cut.missing_bytes = 1;
  const Summary summary = bench.run({frame(cme(1, value(1)), 10001), frame(cme(2, value(2)), 10002), cut});
  EXPECT_EQ(bench.lines(), "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":2}}\n");
  EXPECT_EQ(summary.filtered, 2U) << "what is cut of another group is no loss";
  EXPECT_EQ(summary.error_count(), 0U);
  expect_accounted(summary);
}

TEST_F(ReplayTest, stops_at_the_limit) {
  Options two = options("cme");
  two.limit = 2;
  Bench bench(program_, two);
  const Summary summary = bench.run({{ethernet(bytes("arp"), be16(0x0806)), 0, 0},
                                     frame(cme(1, value(1))),
                                     frame(cme(2, value(2))),
                                     frame(cme(3, value(3)))});
  EXPECT_EQ(summary.datagrams, 2U);
  EXPECT_TRUE(summary.limited);
  EXPECT_EQ(summary.packets, 3U) << "other traffic does not count";
}

TEST_F(ReplayTest, names_errors_with_packet_and_place) {
  Bench bench(program_, options("cme"));
  const Summary summary =
      bench.run({frame(cme(1, value(1))), frame(cme(2, bytes({0xC0, 0xE3}))), frame(bytes({0, 0, 0, 3})),
                 frame(cme(4, bytes({0xE0, 0x81, 0x01}))), frame(cme(5, value(5)))});
  EXPECT_EQ(summary.messages, 2U) << "the other packets are decoded";
  EXPECT_EQ(summary.errors[static_cast<std::size_t>(ErrorCode::D9)], 1U);
  EXPECT_EQ(summary.errors[static_cast<std::size_t>(ErrorCode::X9)], 1U);
  EXPECT_EQ(summary.errors[static_cast<std::size_t>(ErrorCode::X1)], 1U);
  EXPECT_EQ(summary.error_count(), 3U);
  ASSERT_EQ(summary.problems.size(), 3U);
  EXPECT_EQ(summary.problems[0],
            "test.pcap: packet 2, byte 6: no template has the identifier 99 [D9]\n"
            "  0000: 00 00 00 02 00 c0 e3\n"
            "                          ^^");
  EXPECT_EQ(summary.problems[1],
            "test.pcap: packet 3, byte 4: the datagram is shorter than the preamble of its framing, or the preamble "
            "contradicts it "
            "[X9]\n"
            "  0000: 00 00 00 03\n"
            "                    ^^");
  EXPECT_EQ(summary.problems[2],
            "test.pcap: packet 4, byte 7: the datagram ends inside an entity, in template 'Value' (id 1), field "
            "'Number' (templates.xml:3) [X1]\n"
            "  0001: 00 00 04 00 e0 81 01\n"
            "                          ^^");
  EXPECT_EQ(std::count(bench.lines().begin(), bench.lines().end(), '\n'), 5) << bench.lines();
  EXPECT_NE(bench.lines().find("{\"error\":\"X9\",\"packet\":3"), std::string::npos) << bench.lines();
  expect_accounted(summary);
}

TEST_F(ReplayTest, names_only_the_first_problems) {
  Bench bench(program_, options("cme"));
  Items items(25, frame(cme(2, bytes({0xC0, 0xE3}))));
  const Summary summary = bench.run(items);
  EXPECT_EQ(summary.problems.size(), 10U);
  EXPECT_EQ(summary.problems_unnamed, 15U);
  EXPECT_EQ(summary.error_count(), 25U);
}

TEST_F(ReplayTest, counts_damaged_and_cut_frames_as_errors) {
  Bench bench(program_, options("cme"));
  MemorySource::Item cut = frame(cme(1, value(1)));
  cut.frame.pop_back();
  cut.missing_bytes = 1;
  MemorySource::Item damaged = frame(cme(1, value(1)));
  damaged.frame.pop_back();
  const Summary summary = bench.run({cut, damaged, frame(cme(3, value(3)))});
  EXPECT_EQ(summary.messages, 1U);
  EXPECT_EQ(summary.error_count(), 2U);
  ASSERT_EQ(summary.problems.size(), 2U);
  EXPECT_EQ(summary.problems[0],
            "test.pcap: packet 1, to 224.0.31.1:10001: cut by the capture: 49 of 50 bytes are present");
  EXPECT_EQ(summary.problems[1],
            "test.pcap: packet 2: IPv4 total length shorter than its header or longer than the frame");
  expect_accounted(summary);
}

TEST_F(ReplayTest, reports_a_source_that_breaks_off_and_goes_on_with_the_next) {
  Bench bench(program_, options("cme"));
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  sources.push_back(std::make_unique<MemorySource>(Items{frame(cme(1, value(1)))}, "a.pcap: packet 2 is cut"));
  sources.push_back(std::make_unique<MemorySource>(Items{frame(cme(2, value(2)))}));
  const Summary summary = bench.run(std::move(sources));
  EXPECT_EQ(summary.captures, 2U);
  EXPECT_EQ(summary.messages, 2U);
  EXPECT_EQ(summary.faults, 1U);
  EXPECT_EQ(summary.error_count(), 1U);
  EXPECT_EQ(summary.problems, std::vector<std::string>{"a.pcap: packet 2 is cut"});
}

TEST_F(ReplayTest, refuses_more_groups_than_it_has_channels) {
  Bench bench(program_, options("cme"));
  Items items;
  for (std::size_t port = 1; port <= 6; ++port) items.push_back(frame(cme(1, value(1)), port));
  items.push_back(frame(cme(2, value(2)), 1));
  const Summary summary = bench.run(items);
  EXPECT_EQ(summary.ungrouped, 2U);
  EXPECT_EQ(summary.datagrams, 5U);
  ASSERT_EQ(summary.problems.size(), 1U);
  EXPECT_NE(summary.problems[0].find("packet 5, to 224.0.31.1:5: more than 4 groups"), std::string::npos)
      << summary.problems[0];
  expect_accounted(summary);
}

TEST_F(ReplayTest, keeps_the_dictionaries_of_channels_apart) {
  Bench bench(program_, options("none"));
  const Summary summary =
      bench.run({frame(start(10), 1), frame(start(20), 2), frame(next(), 1), frame(next(), 2), frame(next(), 1)});
  EXPECT_EQ(summary.error_count(), 0U);
  EXPECT_EQ(bench.lines(),
            "{\"template\":\"Start\",\"id\":3,\"fields\":{\"Number\":10}}\n"
            "{\"template\":\"Start\",\"id\":3,\"fields\":{\"Number\":20}}\n"
            "{\"template\":\"Next\",\"id\":2,\"fields\":{\"Number\":11}}\n"
            "{\"template\":\"Next\",\"id\":2,\"fields\":{\"Number\":21}}\n"
            "{\"template\":\"Next\",\"id\":2,\"fields\":{\"Number\":12}}\n");
}

TEST_F(ReplayTest, publishes_nothing_of_a_channel_that_lost_data_until_its_reset) {
  // Not reset per packet: after a lost datagram the dictionary is not to be trusted.
  MemorySource::Item cut = frame(next(), 1);
  cut.frame.pop_back();
  cut.missing_bytes = 1;
  Bench bench(program_, options("none"));
  const Summary summary = bench.run({frame(start(10), 1), frame(start(20), 2), cut, frame(next(), 1), frame(next(), 2),
                                     frame(start(30), 1), frame(next(), 1)});
  EXPECT_EQ(summary.dropped, 1U);
  EXPECT_EQ(summary.messages, 5U);
  EXPECT_EQ(bench.lines().find("\"Number\":11"), std::string::npos);
  EXPECT_NE(bench.lines().find("\"Number\":21"), std::string::npos);
  EXPECT_NE(bench.lines().find("\"Number\":31"), std::string::npos);
  EXPECT_EQ(summary.error_count(), 2U) << "the cut one and the dropped one";
}

TEST_F(ReplayTest, joins_chunks) {
  const auto chunk = [](std::size_t sequence, std::size_t chunks, std::size_t number, const ByteVector& data) {
    return frame(be32(sequence) + be16(chunks) + be16(number) + be16(data.size()) + data);
  };
  const ByteVector message = value(9);
  Bench bench(program_, options("b3"));
  const Summary summary =
      bench.run({chunk(1, 1, 1, value(8)), chunk(2, 2, 1, ByteVector(message.begin(), message.begin() + 1)),
                 chunk(2, 2, 2, ByteVector(message.begin() + 1, message.end())), chunk(3, 2, 2, message),
                 chunk(4, 2, 1, message)});
  EXPECT_EQ(bench.lines(),
            "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":8}}\n"
            "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":9}}\n");
  EXPECT_EQ(bench.header(1).sequence(), 2U);
  EXPECT_EQ(summary.datagrams, 2U);
  EXPECT_EQ(summary.chunks, 4U);
  EXPECT_EQ(summary.joined, 1U);
  EXPECT_EQ(summary.incomplete, 2U) << "an orphan, and one that the end left open";
  EXPECT_EQ(summary.error_count(), 2U);
  expect_accounted(summary);
}

TEST_F(ReplayTest, decodes_blocks_and_resets_once_per_datagram) {
  Bench bench(program_, options("custom:blocks=yes,reset=packet"));
  const Summary summary =
      bench.run({frame(bytes({0x83}) + value(5) + bytes({0x82}) + next()), frame(bytes({0x82}) + next())});
  EXPECT_EQ(bench.lines().substr(0, bench.lines().find("{\"error")),
            "{\"template\":\"Value\",\"id\":1,\"fields\":{\"Number\":5}}\n"
            "{\"template\":\"Next\",\"id\":2,\"fields\":{\"Number\":6}}\n");
  EXPECT_EQ(summary.errors[static_cast<std::size_t>(ErrorCode::D5)], 1U)
      << "the second datagram knows nothing of the first";
  EXPECT_EQ(summary.messages, 2U);
  expect_accounted(summary);
}

TEST_F(ReplayTest, reports_faulty_blocks) {
  Bench bench(program_, options("custom:blocks=yes,reset=packet"));
  const Summary summary =
      bench.run({frame(bytes({0x83}) + value(5) + bytes({0x80}) + value(6)), frame(bytes({0x85}) + value(7))});
  EXPECT_EQ(summary.messages, 1U);
  EXPECT_EQ(summary.errors[static_cast<std::size_t>(ErrorCode::D12)], 1U);
  EXPECT_EQ(summary.errors[static_cast<std::size_t>(ErrorCode::X1)], 1U);
  EXPECT_NE(bench.lines().find("{\"error\":\"D12\",\"packet\":1,\"offset\":4"), std::string::npos) << bench.lines();
  EXPECT_NE(bench.lines().find("{\"error\":\"X1\",\"packet\":2,\"offset\":0"), std::string::npos) << bench.lines();
}

TEST_F(ReplayTest, ignores_what_lies_behind_the_length_in_the_preamble) {
  Bench bench(program_, options("custom:len=u16be@0"));
  const Summary summary = bench.run({frame(be16(3) + value(5) + bytes("trailer"))});
  EXPECT_EQ(summary.messages, 1U);
  EXPECT_EQ(summary.ignored_bytes, 7U);
  EXPECT_EQ(summary.error_count(), 0U);
}

TEST_F(ReplayTest, counts_an_epoch_for_every_new_sender) {
  const Program program = testing::compile(R"(
<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Header" id="5"><uInt32 name="SenderCompID"/><byteVector name="PacketSeqNum"/><byteVector name="SendingTime"/></template>
</templates>)");
  const auto packet = [](int sender, std::size_t sequence) {
    return frame(bytes({0xC0, 0x85, 0x80 | sender, 0x84}) + be32(sequence) + bytes({0x88}) + be32(0) + be32(1));
  };
  Bench bench(program, options("t7"));
  const Summary summary = bench.run({packet(1, 100), packet(1, 101), packet(2, 7), packet(2, 8)});
  EXPECT_EQ(summary.error_count(), 0U) << (summary.problems.empty() ? "" : summary.problems[0]);
  ASSERT_EQ(bench.records().size(), 4U);
  EXPECT_EQ(bench.header(1).sender_epoch(), 0U);
  EXPECT_EQ(bench.header(1).sequence(), 101U);
  EXPECT_EQ(bench.header(2).sender_epoch(), 1U);
  EXPECT_EQ(bench.header(3).sender_epoch(), 1U);
  EXPECT_EQ(bench.header(3).sequence(), 8U);
}

TEST_F(ReplayTest, keeps_the_pace_of_the_capture) {
  Options paced = options("cme");
  paced.speed = 2;
  Bench bench(program_, paced);
  constexpr std::uint64_t kMillisecond = 1'000'000;
  const Summary summary = bench.run({frame(cme(1, value(1)), 1, 0), frame(cme(2, value(2)), 1, 60 * kMillisecond),
                                     frame(cme(3, value(3)), 1, 100 * kMillisecond)});
  EXPECT_EQ(summary.messages, 3U);
  EXPECT_GE(summary.seconds, 0.05);
}

TEST_F(ReplayTest, stops_in_the_middle_of_a_wait) {
  Options paced = options("cme");
  paced.speed = 1;
  int calls = 0;
  Replay* running = nullptr;
  paced.progress_interval_ns = 5'000'000;
  paced.on_progress = [&](const Progress& progress) {
    if (++calls == 3 && !progress.finished) running->request_stop();
  };
  Bench bench(program_, paced);
  running = &bench.replay();
  const Summary summary = bench.run({frame(cme(1, value(1)), 1, 0), frame(cme(2, value(2)), 1, 3'600'000'000'000)});
  EXPECT_TRUE(summary.stopped);
  EXPECT_EQ(summary.messages, 1U);
  EXPECT_EQ(summary.packets, 1U);
  EXPECT_GE(calls, 3);
}

TEST_F(ReplayTest, reports_progress_over_all_sources) {
  Options watched = options("cme");
  watched.progress_interval_ns = 0;
  std::vector<Progress> seen;
  watched.on_progress = [&](const Progress& progress) { seen.push_back(progress); };
  Bench bench(program_, watched);
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  for (int i = 0; i < 2; ++i) sources.push_back(std::make_unique<MemorySource>(Items(1000, frame(cme(1, value(1))))));
  (void)bench.run(std::move(sources));
  ASSERT_GE(seen.size(), 3U);
  for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_GE(seen[i].bytes_done, seen[i - 1].bytes_done);
  EXPECT_TRUE(seen.back().finished);
  EXPECT_EQ(seen.back().bytes_done, 2000U);
  EXPECT_EQ(seen.back().bytes_total, 2000U);
  EXPECT_EQ(seen.back().packets, 2000U);
  EXPECT_EQ(seen.back().seconds_left(), 0.0);
}

/// The whole line on a capture cut at every byte: as many messages as packets are whole, one fault, never more.
TEST_F(ReplayTest, decodes_the_good_packets_of_a_capture_cut_anywhere) {
  std::string file = ingest::testing::pcap_header();
  std::vector<std::size_t> ends;
  for (int i = 1; i <= 3; ++i) {
    const ByteVector bytes_of_frame = frame(cme(static_cast<std::size_t>(i), value(i))).frame;
    file += ingest::testing::pcap_record(1, 2,
                                         {reinterpret_cast<const char*>(bytes_of_frame.data()), bytes_of_frame.size()});
    ends.push_back(file.size());
  }
  for (std::size_t size = 24; size <= file.size(); ++size) {
    auto source = ingest::open_capture(ingest::testing::memory_file(file.substr(0, size)), "cut.pcap");
    ASSERT_TRUE(source.ok());
    Bench bench(program_, options("cme"));
    const Summary summary = bench.run(std::move(source).value());
    const auto whole = static_cast<std::uint64_t>(
        std::count_if(ends.begin(), ends.end(), [&](std::size_t end) { return end <= size; }));
    const bool clean = size == 24 || std::find(ends.begin(), ends.end(), size) != ends.end();
    EXPECT_EQ(summary.messages, whole) << size;
    EXPECT_EQ(summary.error_count(), clean ? 0U : 1U) << size;
    if (!clean) {
      EXPECT_EQ(summary.problems.at(0).find("cut.pcap: packet " + std::to_string(whole + 1) + ", at byte "), 0U);
    }
  }
}

}  // namespace stopbit::replay::replay_test
