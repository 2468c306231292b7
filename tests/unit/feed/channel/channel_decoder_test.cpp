#include "host/feed/channel/channel_decoder.hpp"
#include "host/feed/channel/session_stage.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/text.hpp"
#include "host/feed/channel/channel_set.hpp"
#include "host/feed/channel/stage.hpp"
#include "tests/unit/replay/fixture.hpp"

namespace stopbit::feed::channel_decoder_test {

using arbitrate::Line;
using record::EventKind;
using Payload = std::vector<std::byte>;

constexpr const char* kTemplates = R"(
<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Value" id="1"><uInt32 name="Number"><copy/></uInt32></template>
  <template name="Start" id="3" reset="yes"><uInt32 name="Number"><copy/></uInt32></template>
  <template name="MDSequenceReset" id="7"><uInt64 name="SendingTime" id="52"/><uInt32 name="NewSeqNo" id="36"/></template>
</templates>)";

Payload bytes(std::initializer_list<int> values) {
  Payload out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

/// A Value of a number below 128, in framing cme.
Payload value(int sequence, int number) {
  return bytes({0, 0, 0, sequence, 0, 0xE0, 0x81, 0x80 | number});
}
/// The same that copies the number before it.
Payload copy(int sequence) {
  return bytes({0, 0, 0, sequence, 0, 0xC0, 0x81});
}
/// A Start, which resets the dictionary.
Payload start(int sequence, int number) {
  return bytes({0, 0, 0, sequence, 0, 0xE0, 0x83, 0x80 | number});
}
/// The feed says that its next number is `next`.
Payload sequence_reset(int sequence, int next) {
  return bytes({0, 0, 0, sequence, 0, 0xC0, 0x87, 0x81, 0x80 | next});
}
const Payload kMalformed = bytes({0, 0, 0});

/// Writes down what it hears.
class Witness final : public Watcher {
 public:
  void decode_error(const Outcome& outcome, const PacketInfo& /*info*/,
                    std::span<const std::byte> /*datagram*/) noexcept override {
    heard += "error " + std::string(code_text(outcome.error)) + "\n";
  }
  void malformed(const Outcome& outcome, const PacketInfo& info,
                 std::span<const std::byte> datagram) noexcept override {
    heard += "malformed " + std::to_string(info.number) + ", byte " + std::to_string(outcome.offset_bytes) + " of " +
             std::to_string(datagram.size()) + "\n";
  }
  void stale(ErrorCode code, std::uint32_t datagrams, const PacketInfo& /*info*/) noexcept override {
    heard += "stale " + std::string(code_text(code)) + " " + std::to_string(datagrams) + "\n";
  }
  void recovered(const PacketInfo& /*info*/) noexcept override { heard += "recovered\n"; }
  void gap(const arbitrate::Gap& gap) noexcept override {
    heard += "gap " + std::to_string(gap.first) + "+" + std::to_string(gap.count) + "\n";
  }
  void run_begins(const arbitrate::NewRun& /*run*/, bool is_reset) noexcept override {
    heard += is_reset ? "reset\n" : "run\n";
  }
  void late(const arbitrate::Packet& packet, std::uint64_t /*late_ns*/) noexcept override {
    heard += "late " + std::to_string(packet.preamble.sequence) + "\n";
  }
  std::string heard;
};

class ChannelDecoderTest : public ::testing::Test {
 protected:
  struct Keep {
    ChannelDecoderTest* test;
    void operator()(std::span<const record::Slot> slots) const { test->records.push_back(slots[0]); }
  };

  void begin(const char* framing = "custom:skip=5,seq=u32be@0,reset=template", bool has_b = true) {
    description.number = 7;
    description.framing = replay::testing::framing(framing);
    description.window = {.packets = 8, .time_ns = 1'000, .datagram_bytes = 64};
    description.lines[0] = feed::Line{.group = {1, 1}, .source = {}};
    if (has_b) description.lines[1] = feed::Line{.group = {2, 1}, .source = {}};
    EngineOptions options;
    options.reset = engine_rule(description.framing);
    options.channels = 8;
    engine = make_interpreter(program, options);
    target.engine = engine.get();
    auto stage = SessionStage::make(program);
    target.session = stage.get();
    stages.add(std::move(stage));
    target.sink = &stages.connect(sink);
    decoder.emplace(description, ChannelOptions{.stale_after = 2}, target, counts, witness);
  }
  void take(Line line, const Payload& payload) {
    now += 100;
    decoder->tick(now);
    decoder->take(line, {.payload = payload, .arrival_ns = now, .t_ns = now, .number = ++number});
  }
  void pass_window() {
    now += 10'000;
    decoder->tick(now);
  }
  /// "v5" a Value of 5, "s5" a Start, else the event.
  std::string seen() {
    std::string text;
    for (const record::Slot& slot : records) {
      if (!text.empty()) text += ' ';
      const record::HeaderView header(slot);
      const record::EventView event(slot);
      if (!header.is_event()) {
        text += (header.template_index() == 0 ? "v" : "s") + std::to_string(slot.words[4]);
      } else if (event.kind() == EventKind::DecodeError) {
        text += std::string(code_text(event.code()));
      } else {
        text += std::string(record::event_name(event.kind()));
      }
    }
    records.clear();
    return text;
  }

  const Program program = replay::testing::compile(kTemplates);
  std::vector<record::Slot> records;
  record::BufferSink<Keep> sink{program.max_record_slots, Keep{this}};
  Stages stages;
  record::Builder builder{program};
  std::unique_ptr<Engine> engine;
  Target target{.engine = nullptr, .sink = &sink, .builder = &builder, .image_generation = 9};
  Channel description;
  Counts counts;
  Witness witness;
  std::optional<ChannelDecoder> decoder;
  std::uint64_t now = 1'000'000;
  std::uint64_t number = 0;
};

TEST_F(ChannelDecoderTest, a_malformed_datagram_is_told_and_leaves_the_dictionary_alone) {
  begin();
  take(Line::A, start(1, 5));
  pass_window();
  EXPECT_EQ(seen(), "s5");
  witness.heard.clear();
  take(Line::A, kMalformed);
  EXPECT_EQ(seen(), "X9");
  EXPECT_EQ(witness.heard, "malformed 2, byte 3 of 3\n");
  EXPECT_EQ(decoder->arbiter().total().packets.malformed, 1U);
  take(Line::B, copy(2));  // the good copy of what line A has damaged
  EXPECT_EQ(seen(), "v5") << "nothing was forgotten";
  take(Line::A, copy(3));
  EXPECT_EQ(seen(), "v5");
  EXPECT_EQ(counts.datagrams, 3U);
  EXPECT_EQ(counts.dropped, 0U);
}

TEST_F(ChannelDecoderTest, a_malformed_datagram_that_no_line_replaces_becomes_a_gap) {
  begin();
  take(Line::A, start(1, 5));
  pass_window();
  take(Line::A, kMalformed);
  take(Line::A, copy(3));
  pass_window();
  EXPECT_EQ(seen(), "s5 X9 gap dropped");
  take(Line::A, start(4, 6));
  EXPECT_EQ(seen(), "s6");
}

TEST_F(ChannelDecoderTest, the_event_of_a_malformed_datagram_says_where_it_came_from) {
  begin();
  take(Line::A, value(1, 5));
  pass_window();
  records.clear();
  take(Line::B, kMalformed);
  ASSERT_EQ(records.size(), 1U);
  const record::HeaderView header(records[0]);
  EXPECT_EQ(header.channel(), 7);
  EXPECT_EQ(header.source(), record::SourceLine::LineB);
  EXPECT_EQ(header.image_generation(), 9);
  EXPECT_EQ(header.arrival_ns(), now);
  EXPECT_EQ(record::EventView(records[0]).offset_bytes(), 3U);
  EXPECT_EQ(record::EventView(records[0]).packet_number(), 2U);
}

TEST_F(ChannelDecoderTest, without_sequence_numbers_a_malformed_datagram_invalidates) {
  begin("custom:skip=5,reset=template", false);
  take(Line::A, start(1, 5));
  take(Line::A, kMalformed);
  take(Line::A, copy(2));
  EXPECT_EQ(seen(), "s5 X9 dropped");
  EXPECT_EQ(witness.heard, "run\nerror X9\n");
}

TEST_F(ChannelDecoderTest, a_replayed_packet_says_so) {
  begin();
  take(Line::Replay, value(1, 5));
  pass_window();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(record::HeaderView(records[0]).source(), record::SourceLine::Replay);
}

TEST_F(ChannelDecoderTest, a_message_that_was_given_up_is_decoded_when_a_replay_brings_it) {
  begin("custom:skip=5,seq=u32be@0");
  take(Line::A, value(1, 5));
  take(Line::A, value(4, 6));
  pass_window();
  EXPECT_EQ(seen(), "v5 gap v6");
  const Payload message = bytes({0xE0, 0x81, 0x80 | 7});
  const std::uint16_t epoch = decoder->arbiter().epoch();
  const auto recover = [&](std::uint64_t sequence, std::uint16_t of) {
    return decoder->recover(
        {.message = message, .sequence = sequence, .epoch = of, .arrival_ns = now, .number = ++number});
  };
  EXPECT_TRUE(recover(3, epoch));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(record::HeaderView(records[0]).sequence(), 3U);
  EXPECT_EQ(record::HeaderView(records[0]).source(), record::SourceLine::Replay);
  EXPECT_EQ(record::HeaderView(records[0]).flags(), record::kFlagRecovered | record::kFlagLastOfPacket);
  EXPECT_EQ(seen(), "v7");
  EXPECT_FALSE(recover(3, epoch)) << "once";
  EXPECT_FALSE(recover(2, static_cast<std::uint16_t>(epoch + 1))) << "of another run";
  EXPECT_FALSE(recover(5, epoch)) << "not yet given up";
  EXPECT_EQ(seen(), "");
  EXPECT_TRUE(recover(2, epoch));
  take(Line::A, value(5, 8));
  EXPECT_EQ(record::HeaderView(records.back()).flags(), record::kFlagLastOfPacket)
      << "what a line brings is not marked";
  EXPECT_EQ(seen(), "v7 v8");
}

TEST_F(ChannelDecoderTest, a_bad_block_drops_the_rest_of_its_datagram_and_the_next_one_is_decoded) {
  begin("custom:skip=5,seq=u32be@0,blocks=yes,reset=packet");
  const Payload good = bytes({0xE0, 0x81, 0x85});
  const auto blocks = [&](int sequence, std::initializer_list<int> sizes) {
    Payload out = bytes({0, 0, 0, sequence, 0});
    for (const int size : sizes) {
      out.push_back(static_cast<std::byte>(0x80 | size));
      out.insert(out.end(), good.begin(), good.end());
    }
    return out;
  };
  take(Line::A, blocks(1, {3, 0, 3}));
  pass_window();
  EXPECT_EQ(seen(), "v5 D12");
  take(Line::A, blocks(2, {3, 3}));
  EXPECT_EQ(seen(), "v5 v5");
  take(Line::A, blocks(3, {3, 9}));
  EXPECT_EQ(seen(), "v5 X1") << "one bad datagram in a row, so not stale";
}

TEST_F(ChannelDecoderTest, is_stale_after_some_bad_datagrams_and_recovers_with_as_many_good_ones) {
  begin("cme", false);  // a copy on another line would be waited for
  const auto unknown = [](int sequence) { return bytes({0, 0, 0, sequence, 0, 0xC0, 0xFF}); };
  take(Line::A, value(1, 5));
  pass_window();
  EXPECT_EQ(decoder->decoder().quality(), Quality::Good);
  take(Line::A, unknown(2));
  EXPECT_EQ(decoder->decoder().quality(), Quality::Good);
  take(Line::A, unknown(3));
  EXPECT_EQ(decoder->decoder().quality(), Quality::Stale);
  take(Line::A, unknown(4));
  take(Line::A, value(5, 5));
  EXPECT_EQ(decoder->decoder().quality(), Quality::Stale);
  take(Line::A, value(6, 6));
  EXPECT_EQ(decoder->decoder().quality(), Quality::Good);
  EXPECT_EQ(seen(), "v5 D9 D9 stale D9 v5 v6 recovered");
  EXPECT_EQ(witness.heard, "run\nerror D9\nerror D9\nstale D9 2\nerror D9\nrecovered\n");
}

TEST_F(ChannelDecoderTest, what_the_feed_says_of_its_numbers_tells_a_reset_from_late_copies) {
  for (const bool is_said : {true, false}) {
    begin("cme", false);
    take(Line::A, value(50, 5));
    pass_window();
    take(Line::A, is_said ? sequence_reset(51, 40) : value(51, 5));
    take(Line::A, value(40, 6));
    now += description.switch_silence_ns;
    decoder->tick(now);
    EXPECT_EQ(seen(), is_said ? "v5 s1 reset v6" : "v5 v5") << "nothing but the message tells that 40 is no old packet";
  }
}

TEST_F(ChannelDecoderTest, a_number_that_was_given_up_is_late) {
  begin();
  take(Line::A, start(1, 5));
  pass_window();
  take(Line::A, start(3, 6));
  pass_window();
  take(Line::B, start(2, 5));
  EXPECT_EQ(seen(), "s5 gap s6");
  EXPECT_EQ(witness.heard, "run\ngap 2+1\nlate 2\n");
}

TEST_F(ChannelDecoderTest, another_image_decodes_from_the_next_datagram_on) {
  begin();
  take(Line::A, start(1, 5));
  pass_window();
  const auto other = make_interpreter(program, {.reset = ResetRule::Template, .channels = 8, .image_generation = 10});
  target.engine = other.get();
  target.image_generation = 10;
  decoder->image_changed();
  take(Line::A, copy(2));
  take(Line::A, start(3, 6));
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(record::HeaderView(records[2]).image_generation(), 10);
  EXPECT_EQ(seen(), "s5 dropped s6");
}

// ----------------------------------------------------------------------------------------------------------- stages

/// Drops Values, and adds an event after each Start.
class Picky final : public Stage {
 public:
  explicit Picky(record::Builder& builder) : builder_(builder) {}
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    const record::HeaderView header(first);
    if (header.template_index() == 0) return;
    next().commit(first, slots);
    if (header.template_index() == 1) builder_.write_event(next(), record::Header(), {.kind = EventKind::Recovered}, 0);
  }

 private:
  record::Builder& builder_;
};

class Count final : public Stage {
 public:
  explicit Count(int& count) : count_(count) {}
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    ++count_;
    next().commit(first, slots);
  }

 private:
  int& count_;
};

TEST_F(ChannelDecoderTest, stages_see_every_record_in_order_and_give_none_one_or_more) {
  begin();
  record::Builder own(program);
  int before = 0;
  int after = 0;
  Stages list;
  list.add(std::make_unique<Count>(before));
  list.add(std::make_unique<Picky>(own));
  list.add(std::make_unique<Count>(after));
  target.sink = &list.connect(sink);
  take(Line::A, start(1, 5));
  pass_window();
  take(Line::A, value(2, 6));
  take(Line::A, start(3, 7));
  EXPECT_EQ(seen(), "s5 recovered s7 recovered");
  EXPECT_EQ(before, 3);
  EXPECT_EQ(after, 4);
}

TEST(Stages, without_any_the_engine_writes_to_the_ring) {
  record::BufferSink ring(4, [](std::span<const record::Slot>) {});
  Stages stages;
  EXPECT_EQ(&stages.connect(ring), &ring);
}

// ------------------------------------------------------------------------------------------------------ channel set

TEST_F(ChannelDecoderTest, a_set_finds_lines_and_closes_windows_when_they_are_due) {
  begin();
  ChannelSet set(1);
  EXPECT_TRUE(set.empty());
  set.add(*decoder);
  EXPECT_EQ(set.find({3, 1}, 0), nullptr);
  const LineTarget* const a = set.find({1, 1}, 0);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(set.find({2, 1}, 0), nullptr);
  EXPECT_EQ(set.find({2, 1}, 0)->line, Line::B);
  const Payload payload = start(1, 5);
  set.take(*a, {.payload = payload, .arrival_ns = 50, .t_ns = 10'000, .number = 1});
  std::vector<std::uint32_t> ticked;
  const auto tick = [&](std::uint64_t at) { set.tick(at, [&](std::uint32_t index) { ticked.push_back(index); }); };
  tick(10'999);
  EXPECT_TRUE(ticked.empty());
  EXPECT_EQ(seen(), "");
  tick(11'000);
  EXPECT_EQ(ticked.size(), 1U);
  EXPECT_EQ(seen(), "s5");
  tick(99'000);
  EXPECT_EQ(ticked.size(), 1U);
}

}  // namespace stopbit::feed::channel_decoder_test
