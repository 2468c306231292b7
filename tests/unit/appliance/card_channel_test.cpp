#include "host/appliance/card_channel.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "decoder/record/builder.hpp"
#include "decoder/record/views.hpp"
#include "host/device/record_copy.hpp"
#include "host/feed/channel/channel_decoder.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/recording_sink.hpp"
#include "tests/lib/workloads/workload.hpp"

// A channel of a card by itself: the records are an engine's, as the card's are.

namespace stopbit::test {
namespace {

using appliance::CardFault;

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
    card.emplace(channel, target, counts, heard, stale_after, program.templates.size());
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
    for (const cases::Record& record : made_of(sequence, tick(sequence, 1), sender_epoch)) {
      EXPECT_EQ(card->take(record, 5), CardFault::None) << sequence;
    }
  }
  /// A record with this number that the card cannot have made.
  void refuse(std::uint32_t sequence) {
    for (const cases::Record& record : made_of(sequence, tick(sequence, 1))) {
      EXPECT_EQ(card->take(record, 5), CardFault::Number) << sequence;
    }
  }
  /// An event of the card; a gap has its first number in its header, too.
  static record::Slot event(record::EventKind kind, std::uint64_t word5, std::uint64_t word6, std::uint8_t code = 0,
                            std::uint16_t sender_epoch = 0) {
    record::Slot slot{};
    slot.words[0] = record::kEventIndex | 1U << 16;
    slot.words[1] = 1'234;
    slot.words[2] = (word5 & 0xFFFF'FFFF) | std::uint64_t{7} << 32;
    slot.words[3] = std::uint64_t{sender_epoch} << 32;
    slot.words[4] = static_cast<std::uint64_t>(kind) | std::uint64_t{code} << 8;
    slot.words[5] = word5;
    slot.words[6] = word6;
    return slot;
  }
  CardFault gap(std::uint64_t first, std::uint64_t count, std::uint16_t sender_epoch = 0) {
    const record::Slot slot = event(record::EventKind::Gap, first, count, 0, sender_epoch);
    return card->take({&slot, 1}, 5);
  }
  void expect_numbers(std::uint64_t expected, std::uint64_t lost) {
    EXPECT_EQ(card->account().numbers.expected, expected);
    EXPECT_EQ(card->account().numbers.lost, lost);
    EXPECT_TRUE(card->account().balanced());
  }
  void take_bad(std::uint32_t sequence) {
    std::vector<std::byte> datagram = tick(sequence, 1);
    datagram[6] = std::byte{0x82};
    for (const cases::Record& record : made_of(sequence, datagram)) (void)card->take(record, 5);
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
  EXPECT_EQ(card->take(records[0], 5), CardFault::None);
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

TEST_F(CardChannelTest, refuses_gaps_that_no_card_makes_and_keeps_its_account) {
  constexpr std::uint64_t kBit60 = std::uint64_t{1} << 60;
  begin();
  take(100);
  EXPECT_EQ(gap(90, 5), CardFault::Gap) << "back";
  EXPECT_EQ(gap(100, 1), CardFault::Gap) << "100 has passed";
  EXPECT_EQ(gap(0xFFFF'FFFF, 3), CardFault::Gap) << "back, over the end of numbers";
  EXPECT_EQ(gap(101, 0), CardFault::Gap) << "of nothing";
  EXPECT_EQ(gap(101, 0x7FFF'FFFF), CardFault::Gap) << "2^31 ahead counts as lower";
  EXPECT_EQ(gap(101 + kBit60, 2), CardFault::Gap);
  EXPECT_EQ(gap(101, 2 + kBit60), CardFault::Gap);
  EXPECT_EQ(gap(101, ~std::uint64_t{0}), CardFault::Gap);
  EXPECT_EQ(gap(102 + appliance::CardChannel::kMostUnseen, 1), CardFault::Gap) << "that many passed unseen";
  EXPECT_TRUE(heard.gaps.empty());
  EXPECT_EQ(out.records().size(), 1U);
  EXPECT_EQ(card->last(), 100U);
  expect_numbers(1, 0);
}

TEST_F(CardChannelTest, reports_as_missing_what_a_refused_event_may_have_been_about) {
  begin();
  take(100);
  EXPECT_EQ(gap(std::uint64_t{1} << 60, 2), CardFault::Gap);
  take(104);  // 101 to 103: nothing good was heard of them
  ASSERT_EQ(heard.gaps.size(), 1U);
  EXPECT_EQ(heard.gaps[0].first, 101U);
  EXPECT_EQ(heard.gaps[0].count, 3U);
  expect_numbers(5, 3);
  take(106);  // 105 had no messages
  expect_numbers(7, 3);
  EXPECT_EQ(gap(90, 1), CardFault::Gap);
  EXPECT_EQ(gap(109, 2), CardFault::None);
  ASSERT_EQ(heard.gaps.size(), 2U);
  EXPECT_EQ(heard.gaps[1].first, 107U) << "one gap, with the doubtful numbers before it";
  EXPECT_EQ(heard.gaps[1].count, 4U);
  EXPECT_EQ(card->last(), 110U);
  expect_numbers(11, 7);
  EXPECT_EQ(counts.datagrams, 4U);
}

TEST_F(CardChannelTest, takes_the_gaps_that_a_card_makes_over_the_end_of_numbers) {
  begin();
  take(0xFFFF'FFFE);
  EXPECT_EQ(gap(0xFFFF'FFFF, 3), CardFault::None);
  EXPECT_EQ(card->last(), 1U);
  take(2);
  ASSERT_EQ(heard.gaps.size(), 1U);
  EXPECT_EQ(heard.gaps[0].count, 3U);
  EXPECT_EQ(gap(5, 0x7FFF'FFFE), CardFault::None) << "the longest";
  EXPECT_EQ(card->last(), 0x8000'0002U);
  take(0x8000'0003);
  EXPECT_TRUE(card->account().balanced());
  EXPECT_EQ(heard.runs.size(), 1U);
}

TEST_F(CardChannelTest, refuses_records_that_go_back_or_leap) {
  begin();
  take(100);
  refuse(99);
  refuse(101 + appliance::CardChannel::kMostUnseen);
  refuse(0x8000'0064);
  EXPECT_EQ(out.records().size(), 1U);
  EXPECT_EQ(heard.runs.size(), 1U);
  EXPECT_EQ(heard.resets, 0);
  expect_numbers(1, 0);
  take(100 + appliance::CardChannel::kMostUnseen);
  expect_numbers(1 + std::uint64_t{appliance::CardChannel::kMostUnseen}, appliance::CardChannel::kMostUnseen - 1);
}

TEST_F(CardChannelTest, refuses_events_and_templates_that_the_card_does_not_have) {
  begin();
  take(1);
  for (const auto kind : {record::EventKind::Reset, record::EventKind::Stale, record::EventKind::Recovered,
                          record::EventKind::LayoutChanged, record::EventKind{0}, record::EventKind{200}}) {
    const record::Slot slot = event(kind, 2, 0);
    EXPECT_EQ(card->take({&slot, 1}, 5), CardFault::Event) << static_cast<int>(kind);
  }
  for (const int code : {0, 255}) {
    const record::Slot slot = event(record::EventKind::DecodeError, 2, 0, static_cast<std::uint8_t>(code));
    EXPECT_EQ(card->take({&slot, 1}, 5), CardFault::Event) << code;
  }
  const std::vector<record::Slot> two(2, event(record::EventKind::Dropped, 2, 0));
  EXPECT_EQ(card->take(two, 5), CardFault::Event);
  for (const std::uint16_t index : {static_cast<std::uint16_t>(program.templates.size()), record::kMarketEventIndex}) {
    cases::Record record = made_of(2, tick(2, 1)).at(0);
    record[0].words[0] = device::with_bits(record[0].words[0], 0, 16, index);
    EXPECT_EQ(card->take(record, 5), CardFault::Template) << index;
  }
  EXPECT_EQ(out.records().size(), 1U);
  EXPECT_EQ(counts.messages, 1U);
  expect_numbers(1, 0);
}

TEST_F(CardChannelTest, begins_a_run_with_a_gap_whose_first_datagrams_left_no_record) {
  begin();
  card->resume_after(10);
  EXPECT_EQ(gap(14, 2), CardFault::None);  // 13 was seen first, without a record
  ASSERT_EQ(heard.gaps.size(), 2U);
  EXPECT_EQ(heard.gaps[0].first, 11U);
  EXPECT_EQ(heard.gaps[0].reason, arbitrate::GapReason::Down);
  EXPECT_EQ(heard.gaps[1].first, 14U);
  take(16);
  EXPECT_EQ(gap(3, 1, 1), CardFault::None) << "another sender, whose number 2 left no record";
  EXPECT_EQ(heard.resets, 1);
  EXPECT_EQ(heard.gaps.back().epoch, 1U);
  take(4, 1);
  EXPECT_EQ(counts.datagrams, 4U);
  expect_numbers(9, 5);
}

TEST_F(CardChannelTest, takes_back_nothing_once_a_gap_has_ended_the_datagram) {
  begin();
  const auto records = made_of(1, ticks(1, {10, 20}));
  EXPECT_EQ(card->take(records[0], 5), CardFault::None);
  EXPECT_EQ(gap(2, 1), CardFault::None);
  EXPECT_EQ(card->take_back(), 0U);
  EXPECT_EQ(card->last(), 2U);
  expect_numbers(2, 1);
}

}  // namespace
}  // namespace stopbit::test
