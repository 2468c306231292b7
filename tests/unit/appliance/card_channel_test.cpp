#include "host/appliance/card_channel.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "decoder/record/builder.hpp"
#include "decoder/record/views.hpp"
#include "host/feed/channel/channel_decoder.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/lib/workloads/workload.hpp"

// A channel of a card by itself: the records are an engine's, as the card's are.

namespace stopbit::test {
namespace {

struct Heard final : feed::Watcher {
  void gap(const arbitrate::Gap& gap) noexcept override { gaps.push_back(gap); }
  void run_begins(const arbitrate::NewRun& run, bool is_reset) noexcept override {
    runs.push_back(run);
    resets += is_reset ? 1 : 0;
  }
  void stale(ErrorCode, std::uint32_t, const PacketInfo&) noexcept override { ++stales; }
  void recovered(const PacketInfo&) noexcept override { ++recoveries; }
  std::vector<arbitrate::Gap> gaps;
  std::vector<arbitrate::NewRun> runs;
  int resets = 0;
  int stales = 0;
  int recoveries = 0;
};

class CardChannelTest : public ::testing::Test {
 protected:
  CardChannelTest() {
    channel.number = 7;
    channel.name = "seven";
    channel.mode = feed::Mode::Fast;
    channel.framing = net::parse_framing("cme").value();
    channel.lines[0] = feed::Line{.group = kGroupA, .source = {}};
  }
  void begin(std::uint32_t stale_after = 0) {
    target = {.engine = software.get(), .sink = &out, .builder = &builder, .image_generation = 0, .session = nullptr};
    card.emplace(channel, target, counts, heard, stale_after);
  }
  /// The records that the card makes of a datagram with these messages; one of template 2 is an error.
  std::vector<cases::Record> made_of(std::uint32_t sequence, const std::vector<std::byte>& datagram,
                                     std::uint16_t sender_epoch = 0) {
    cases::RecordingSink sink(program);
    (void)engine->decode(datagram,
                         {.arrival_ns = sequence * 100ULL,
                          .sequence = sequence,
                          .data_offset = 5,
                          .channel = 7,
                          .sender_epoch = sender_epoch,
                          .source = record::SourceLine::LineA},
                         sink);
    return sink.records();
  }
  static std::vector<std::byte> ticks(std::uint32_t sequence, std::initializer_list<std::uint32_t> numbers) {
    std::vector<std::byte> all = tick(sequence, *numbers.begin());
    for (const std::uint32_t* number = numbers.begin() + 1; number != numbers.end(); ++number) {
      const std::vector<std::byte> more = tick(sequence, *number);
      all.insert(all.end(), more.begin() + 5, more.end());
    }
    return all;
  }
  void take(std::uint32_t sequence, std::uint16_t sender_epoch = 0) {
    for (const cases::Record& record : made_of(sequence, tick(sequence, 1), sender_epoch)) card->take(record, 5);
  }
  void take_bad(std::uint32_t sequence) {
    std::vector<std::byte> datagram = tick(sequence, 1);
    datagram[6] = std::byte{0x82};
    for (const cases::Record& record : made_of(sequence, datagram)) card->take(record, 5);
  }

  Program program = bench::compile_text("ticks", std::string(kTickTemplates)).value();
  std::unique_ptr<Engine> engine = make_interpreter(program, {.channels = 8});
  std::unique_ptr<Engine> software = make_interpreter(program, {.channels = 8});
  cases::RecordingSink out{program};
  record::Builder builder{program};
  feed::Channel channel;
  feed::Target target;
  feed::Counts counts;
  Heard heard;
  std::optional<appliance::CardChannel> card;
};

TEST_F(CardChannelTest, counts_numbers_that_left_no_record) {
  begin();
  take(1);
  take(4);  // 2 and 3 had no messages: a gap would have come before
  take(4);
  EXPECT_EQ(card->account().numbers.expected, 4U);
  EXPECT_EQ(card->account().numbers.delivered, 4U);
  EXPECT_EQ(card->account().packets.delivered, 4U);
  EXPECT_TRUE(card->account().balanced());
  EXPECT_EQ(counts.datagrams, 4U);
  EXPECT_EQ(counts.messages, 3U);
  EXPECT_EQ(card->last(), 4U);
  ASSERT_EQ(heard.runs.size(), 1U);
  EXPECT_EQ(heard.runs[0].reason, arbitrate::NewRun::Reason::Start);
  EXPECT_TRUE(out.problems().empty());
}

TEST_F(CardChannelTest, counts_the_cycles_of_a_carousel_as_software_does) {
  channel.role = feed::Role::Carousel;
  begin();
  for (const std::uint32_t sequence : {1, 2, 3, 1, 2}) take(sequence);
  ASSERT_EQ(out.records().size(), 5U);
  EXPECT_EQ(record::HeaderView(out.records()[2][0]).sender_epoch(), 0U);
  EXPECT_EQ(record::HeaderView(out.records()[3][0]).sender_epoch(), 1U);
  ASSERT_EQ(heard.runs.size(), 2U);
  EXPECT_EQ(heard.runs[1].reason, arbitrate::NewRun::Reason::Cycle);
  EXPECT_EQ(heard.resets, 0);
  EXPECT_EQ(card->account().numbers.expected, 5U);
  EXPECT_EQ(card->account().numbers.lost, 0U);
}

TEST_F(CardChannelTest, reports_another_sender_as_a_reset) {
  begin();
  take(5);
  take(900, 1);
  EXPECT_EQ(heard.resets, 1);
  ASSERT_EQ(out.records().size(), 3U);
  const record::Slot& event = out.records()[1][0];
  EXPECT_EQ(record::EventView(event).kind(), record::EventKind::Reset);
  EXPECT_EQ(record::HeaderView(out.records()[2][0]).sender_epoch(), 1U);
  EXPECT_EQ(card->account().numbers.expected, 2U) << "900 continues nothing";
}

TEST_F(CardChannelTest, misses_what_passed_after_the_numbers_of_an_earlier_process) {
  begin();
  card->resume_after(10);
  take(13);
  ASSERT_EQ(heard.gaps.size(), 1U);
  EXPECT_EQ(heard.gaps[0].first, 11U);
  EXPECT_EQ(heard.gaps[0].count, 2U);
  EXPECT_EQ(heard.gaps[0].reason, arbitrate::GapReason::Down);
  ASSERT_EQ(out.records().size(), 2U);
  EXPECT_EQ(record::EventView(out.records()[0][0]).kind(), record::EventKind::Gap);
  EXPECT_TRUE(card->account().balanced());
}

TEST_F(CardChannelTest, is_stale_after_errors_in_a_row_and_recovers) {
  begin(3);
  take(1);
  for (std::uint32_t sequence = 2; sequence <= 4; ++sequence) take_bad(sequence);
  EXPECT_EQ(heard.stales, 1);
  EXPECT_EQ(card->quality(), feed::Quality::Stale);
  for (std::uint32_t sequence = 5; sequence <= 7; ++sequence) take(sequence);
  EXPECT_EQ(heard.recoveries, 1);
  EXPECT_EQ(card->quality(), feed::Quality::Good);
  ASSERT_EQ(out.records().size(), 9U);
  EXPECT_EQ(record::EventView(out.records()[4][0]).kind(), record::EventKind::Stale);
  EXPECT_EQ(record::EventView(out.records()[8][0]).kind(), record::EventKind::Recovered);
}

TEST_F(CardChannelTest, lets_software_publish_the_rest_of_a_datagram_that_it_began) {
  begin();
  take(1);
  const std::vector<std::byte> datagram = ticks(2, {10, 20, 30});
  const auto records = made_of(2, datagram);
  ASSERT_EQ(records.size(), 3U);
  card->take(records[0], 5);
  EXPECT_EQ(card->last(), 2U);
  EXPECT_EQ(card->take_back(), 1U);
  EXPECT_EQ(card->take_back(), 0U);
  EXPECT_EQ(card->last(), 1U);
  EXPECT_EQ(card->account().numbers.delivered, 1U);
  EXPECT_TRUE(card->account().balanced());
  feed::ChannelDecoder decoder(channel, {}, target, counts, heard);
  decoder.resume_after(0, *card->last(), card->epoch());
  decoder.expect_rest(2, card->epoch(), 1);
  decoder.take(arbitrate::Line::A, {.payload = datagram, .arrival_ns = 200, .t_ns = 200, .number = 1});
  ASSERT_EQ(out.records().size(), 4U);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(out.records()[i][0].words[4], i * 10);
    EXPECT_EQ(record::HeaderView(out.records()[i][0]).sequence(), 2U);
  }
  EXPECT_EQ(counts.messages, 4U);
  EXPECT_EQ(counts.datagrams, 2U);
}

}  // namespace
}  // namespace stopbit::test
