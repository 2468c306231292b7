#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "decoder/select/make_engine.hpp"
#include "microcode/verify/verify.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/engines.hpp"

// What an engine does around the fields: resets, channels, limits, events. The fields themselves have their case files.
namespace stopbit::engine_test {

using Bytes = std::vector<std::uint8_t>;

/// Keeps a copy of every record.
class KeepingSink final : public record::RecordSink {
 public:
  explicit KeepingSink(std::size_t max_slots) : buffer_(max_slots) {}
  Place open() noexcept override { return {buffer_.data(), stamp_, true}; }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    buffer_[0] = first;
    records.emplace_back(buffer_.begin(), buffer_.begin() + slots);
    stamp_ += slots;
  }
  std::vector<std::vector<record::Slot>> records;

 private:
  std::vector<record::Slot> buffer_;
  std::uint32_t stamp_ = 7;
};

Program compile(const std::string& body, std::uint32_t max_record_slots = 64) {
  const auto source = std::make_shared<const SourceBuffer>("test.xml", "<templates>" + body + "</templates>");
  Diagnostics diagnostics;
  templates::CompileOptions options;
  options.max_record_slots = max_record_slots;
  auto program = templates::compile({source}, options, diagnostics);
  EXPECT_TRUE(program) << diagnostics.format();
  return program ? *std::move(program) : Program{};
}

class Fixture {
 public:
  Fixture(const std::string& body, EngineOptions options, std::uint32_t max_record_slots = 64,
          EngineKind kind = testing::WithParamInterface<EngineKind>::GetParam())
      : program(compile(body, max_record_slots)),
        engine(make_engine(program, options, kind).engine),
        sink(program.max_record_slots) {}

  Outcome decode(const Bytes& bytes, PacketInfo info = {}) {
    // A copy of exactly the size, so that a sanitizer sees any access outside.
    const std::unique_ptr<std::byte[]> copy(new std::byte[bytes.size()]);
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), copy.get());
    return engine->decode({copy.get(), bytes.size()}, info, sink);
  }
  std::uint64_t word(std::size_t record, std::size_t word) const { return sink.records.at(record).at(0).words[word]; }

  Program program;
  std::unique_ptr<Engine> engine;
  KeepingSink sink;
};

class EveryEngine : public testing::TestWithParam<EngineKind> {};
class EveryEngineLimits : public testing::TestWithParam<EngineKind> {};

std::string kind_name(const testing::TestParamInfo<EngineKind>& test) {
  return std::string(engine_name(test.param));
}

INSTANTIATE_TEST_SUITE_P(All, EveryEngine, testing::ValuesIn(cases::engine_kinds()), kind_name);
INSTANTIATE_TEST_SUITE_P(All, EveryEngineLimits, testing::ValuesIn(cases::engine_kinds()), kind_name);

const std::string kQuote =
    R"(<template name="Quote" id="1"><uInt32 name="Px"><copy/></uInt32></template>
       <template name="Reset" id="2" reset="yes"><uInt32 name="Why"/></template>)";
const Bytes kQuote5{0xe0, 0x81, 0x85};  // pmap(1 1) tid(1) Px 5
const Bytes kQuoteCopy{0xc0, 0x81};     // pmap(1 0) tid(1) Px from the dictionary
const Bytes kReset{0xc0, 0x82, 0x80};
const Bytes kUnknown{0xc0, 0xe3};

TEST_P(EveryEngine, resets_the_dictionary_before_each_datagram_when_the_feed_does) {
  Fixture f(kQuote, {.reset = ResetRule::Packet});
  EXPECT_EQ(f.decode(kQuote5).error, ErrorCode::None);
  const Outcome outcome = f.decode(kQuoteCopy);
  EXPECT_EQ(outcome.error, ErrorCode::D5);
  EXPECT_EQ(outcome.offset_bytes, 2U);
  EXPECT_EQ(outcome.template_index, 0);
  EXPECT_EQ(outcome.word, 0);
}

TEST_P(EveryEngine, keeps_the_dictionary_until_a_template_resets_it) {
  Fixture f(kQuote, {.reset = ResetRule::Template});
  EXPECT_EQ(f.decode(kQuote5).error, ErrorCode::None);
  EXPECT_EQ(f.decode(kQuoteCopy).error, ErrorCode::None);
  EXPECT_EQ(f.word(1, 4), 5U);
  EXPECT_EQ(f.decode(kReset).error, ErrorCode::None);
  EXPECT_EQ(f.decode(kQuoteCopy).error, ErrorCode::D5);
}

TEST_P(EveryEngine, keeps_the_identifier_of_the_template_that_reset_the_dictionary) {
  Fixture f(kQuote, {.reset = ResetRule::Template});
  EXPECT_EQ(f.decode(kReset).error, ErrorCode::None);
  EXPECT_EQ(f.decode({0x80, 0x81}).error, ErrorCode::None);  // pmap(0): the identifier is copied
  EXPECT_EQ(f.word(1, 0) & 0xFFFF, 1U);
}

TEST_P(EveryEngine, after_an_error_drops_datagrams_until_a_reset_arrives) {
  Fixture f(kQuote, {.reset = ResetRule::Template});
  EXPECT_EQ(f.decode(kUnknown).error, ErrorCode::D9);
  const Outcome dropped = f.decode(kQuote5);
  EXPECT_TRUE(dropped.dropped);
  EXPECT_EQ(dropped.messages, 0U);
  EXPECT_EQ(f.word(1, 0) & 0xFFFF, record::kEventIndex);
  EXPECT_EQ(f.word(1, 4) & 0xFF, static_cast<std::uint64_t>(record::EventKind::Dropped));
  EXPECT_TRUE(f.decode({}).dropped);
  EXPECT_FALSE(f.decode(kReset).dropped);
  EXPECT_EQ(f.decode(kQuote5).messages, 1U);
}

TEST_P(EveryEngine, never_resets_by_itself_when_told_so) {
  Fixture f(kQuote, {.reset = ResetRule::Never});
  EXPECT_EQ(f.decode(kQuote5).error, ErrorCode::None);
  EXPECT_EQ(f.decode(kReset).error, ErrorCode::None);
  EXPECT_EQ(f.decode(kQuoteCopy).error, ErrorCode::None);
  EXPECT_EQ(f.decode(kUnknown).error, ErrorCode::D9);
  EXPECT_TRUE(f.decode(kReset).dropped);
  f.engine->reset(0);
  EXPECT_EQ(f.decode(kQuoteCopy).error, ErrorCode::D5);
}

TEST_P(EveryEngine, an_invalidated_channel_drops_datagrams_until_a_reset_and_no_record_says_so) {
  Fixture f(kQuote, {.reset = ResetRule::Template, .channels = 2});
  EXPECT_EQ(f.decode(kQuote5, {.channel = 0}).error, ErrorCode::None);
  EXPECT_EQ(f.decode(kQuote5, {.channel = 1}).error, ErrorCode::None);
  const std::size_t records = f.sink.records.size();
  f.engine->invalidate(0);
  f.engine->invalidate(0);
  EXPECT_EQ(f.sink.records.size(), records);
  EXPECT_FALSE(f.decode(kQuoteCopy, {.channel = 1}).dropped);
  EXPECT_TRUE(f.decode(kQuote5, {.channel = 0}).dropped);
  EXPECT_FALSE(f.decode(kReset, {.channel = 0}).dropped);
  EXPECT_EQ(f.decode(kQuote5, {.channel = 0}).messages, 1U);
  f.engine->invalidate(0);
  f.engine->reset(0);
  EXPECT_EQ(f.decode(kQuote5, {.channel = 0}).messages, 1U);
}

TEST_P(EveryEngine, a_channel_that_is_reset_before_each_datagram_cannot_be_invalidated) {
  Fixture f(kQuote, {.reset = ResetRule::Packet});
  f.engine->invalidate(0);
  EXPECT_FALSE(f.decode(kQuote5).dropped);
}

TEST_P(EveryEngine, channels_have_dictionaries_of_their_own) {
  Fixture f(kQuote, {.reset = ResetRule::Template, .channels = 2});
  EXPECT_EQ(f.decode(kQuote5, {.channel = 0}).error, ErrorCode::None);
  EXPECT_EQ(f.decode(kQuoteCopy, {.channel = 1}).error, ErrorCode::D5);
  EXPECT_EQ(f.decode(kQuoteCopy, {.channel = 0}).error, ErrorCode::None);
  EXPECT_TRUE(f.decode(kQuote5, {.channel = 1}).dropped);
}

TEST_P(EveryEngine, counts_messages_and_marks_the_last_of_a_datagram) {
  Fixture f(kQuote, {});
  const Outcome outcome =
      f.decode({0xe0, 0x81, 0x85, 0xa0, 0x86, 0x80}, {.arrival_ns = 11, .sequence = 22, .channel = 0});
  EXPECT_EQ(outcome.messages, 3U);
  EXPECT_EQ(outcome.fields, 3U);
  EXPECT_EQ(outcome.offset_bytes, 6U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(f.word(i, 1), 11U);
    EXPECT_EQ(f.word(i, 2) & 0xFFFFFFFF, 22U);
    EXPECT_EQ(f.word(i, 3) >> 16 & 0xFFFF, i);
    EXPECT_EQ(f.word(i, 2) >> 56, i == 2 ? record::kFlagLastOfPacket : 0U);
    EXPECT_EQ(f.word(i, 0) >> 32, 7 + i) << "stamp";
  }
  EXPECT_EQ(f.word(2, 4), 6U);
}

TEST_P(EveryEngine, an_error_keeps_the_messages_before_it_and_drops_the_rest) {
  Fixture f(kQuote, {});
  const Outcome outcome = f.decode({0xe0, 0x81, 0x85, 0xc0, 0xe3, 0xe0, 0x81, 0x85}, {.number = 9});
  EXPECT_EQ(outcome.error, ErrorCode::D9);
  EXPECT_EQ(outcome.messages, 1U);
  EXPECT_EQ(outcome.offset_bytes, 4U);
  EXPECT_EQ(outcome.template_id, 99U);
  ASSERT_EQ(f.sink.records.size(), 2U);
  EXPECT_EQ(f.word(1, 4) >> 8 & 0xFF, static_cast<std::uint64_t>(ErrorCode::D9));
  EXPECT_EQ(f.word(1, 5), 4U | std::uint64_t{99} << 32);
  EXPECT_EQ(f.word(1, 6), 9U);
}

TEST_P(EveryEngine, reads_nothing_behind_any_cut_of_a_datagram) {
  Fixture f(R"(<template name="T" id="1"><uInt32 name="A"/><string name="B"/><byteVector name="C"/>
      <decimal name="D"/><sequence name="S"><length name="N"/><string name="E"><copy/></string></sequence></template>)",
            {});
  const Bytes whole{0xc0, 0x81, 0x05, 0x85, 0x41, 0xc2, 0x83, 1,    2,   3,
                    0xfe, 0x39, 0x45, 0xa3, 0x82, 0xc0, 0x41, 0xc3, 0x80};
  ASSERT_EQ(f.decode(whole).error, ErrorCode::None);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const Outcome outcome = f.decode(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    // After the sequence's length the elements no longer fit, which is said first.
    EXPECT_TRUE(outcome.error == ErrorCode::X1 || outcome.error == ErrorCode::X2) << size;
  }
}

TEST_P(EveryEngineLimits, elements_of_a_message_count_over_all_its_sequences) {
  const std::string body = R"(<template name="T" id="1">
      <sequence name="A"><uInt32 name="X"/></sequence><sequence name="B"><uInt32 name="Y"/></sequence></template>)";
  const auto message = [](std::uint8_t a, std::uint8_t b) {
    Bytes bytes{0xc0, 0x81, static_cast<std::uint8_t>(0x80 | a)};
    bytes.insert(bytes.end(), a, 0x81);
    bytes.push_back(static_cast<std::uint8_t>(0x80 | b));
    bytes.insert(bytes.end(), b, 0x81);
    return bytes;
  };
  Fixture f(body, {.limits = {.elements = 5}});
  EXPECT_EQ(f.decode(message(2, 3)).error, ErrorCode::None);
  const Outcome outcome = f.decode(message(2, 4));
  EXPECT_EQ(outcome.error, ErrorCode::X2);
  EXPECT_EQ(outcome.offset_bytes, 5U) << "the second length";

  Bytes two = message(2, 3);
  two.insert(two.end(), two.begin(), two.end());
  EXPECT_EQ(f.decode(Bytes(two)).error, ErrorCode::None) << "each message by itself";
}

TEST_P(EveryEngineLimits, by_default_a_message_has_4096_elements) {
  const std::string body = R"(<template name="T" id="1"><sequence name="A"><uInt32 name="X"/></sequence></template>)";
  const auto message = [](std::uint32_t count) {
    Bytes bytes{0xc0, 0x81, static_cast<std::uint8_t>(count >> 7), static_cast<std::uint8_t>(0x80 | (count & 0x7f))};
    bytes.insert(bytes.end(), count, 0x81);
    return bytes;
  };
  Fixture f(body, {}, limits::kMaxRecordSlots);
  EXPECT_EQ(f.decode(message(4'096)).error, ErrorCode::None);
  EXPECT_EQ(f.decode(message(4'097)).error, ErrorCode::X2);
}

TEST_P(EveryEngineLimits, by_default_a_sequence_has_256_elements_that_take_no_bytes) {
  const std::string body = R"(<template name="T" id="1">
      <sequence name="A"><uInt32 name="X"><constant value="7"/></uInt32></sequence><byteVector name="B"/></template>)";
  const auto message = [](std::uint32_t count) {
    Bytes bytes{0xc0, 0x81, static_cast<std::uint8_t>(count >> 7), static_cast<std::uint8_t>(0x80 | (count & 0x7f)),
                0x07, 0xe8};
    bytes.resize(bytes.size() + 1'000);
    return bytes;
  };
  Fixture f(body, {}, limits::kMaxRecordSlots);
  EXPECT_EQ(f.decode(message(256)).error, ErrorCode::None);
  EXPECT_EQ(f.decode(message(257)).error, ErrorCode::X2);
  Fixture wider(body, {.limits = {.empty_elements = 300}}, limits::kMaxRecordSlots);
  EXPECT_EQ(wider.decode(message(300)).error, ErrorCode::None);
  EXPECT_EQ(wider.decode(message(301)).error, ErrorCode::X2);
}

TEST_P(EveryEngineLimits, nesting_counts_sequences_inside_each_other) {
  const std::string body = R"(<template name="T" id="1"><sequence name="A"><sequence name="B"><sequence name="C">
      <uInt32 name="X"/></sequence></sequence></sequence></template>)";
  const Bytes message{0xc0, 0x81, 0x81, 0x81, 0x81, 0x85};
  Fixture three(body, {.limits = {.nesting = 3}});
  EXPECT_EQ(three.decode(message).error, ErrorCode::None);
  Fixture two(body, {.limits = {.nesting = 2}});
  const Outcome outcome = two.decode(message);
  EXPECT_EQ(outcome.error, ErrorCode::X7);
  EXPECT_EQ(outcome.offset_bytes, 4U) << "the length of the third";
}

TEST_P(EveryEngineLimits, nesting_counts_dynamic_references) {
  const std::string body = R"(<template name="T" id="1"><templateRef/></template><template name="E" id="2"/>)";
  const Bytes message{0xc0, 0x81, 0xc0, 0x81, 0xc0, 0x82};
  Fixture two(body, {.limits = {.nesting = 2}});
  EXPECT_EQ(two.decode(message).error, ErrorCode::None);
  Fixture one(body, {.limits = {.nesting = 1}});
  EXPECT_EQ(one.decode(message).error, ErrorCode::X7);
}

TEST_P(EveryEngineLimits, strings_of_every_type_have_a_length) {
  const std::string body = R"(<template name="T" id="1"><string name="A"/><string name="U" charset="unicode"/>
      <byteVector name="V"><delta value="0102"/></byteVector></template>)";
  const Bytes message{0xc0, 0x81, 0x41, 0x42, 0xc3, 0x83, 0x41, 0x42, 0x43, 0x80, 0x81, 0x09};
  Fixture three(body, {.limits = {.string_bytes = 3}});
  EXPECT_EQ(three.decode(message).error, ErrorCode::None);
  Fixture two(body, {.limits = {.string_bytes = 2}});
  const Outcome outcome = two.decode(message);
  EXPECT_EQ(outcome.error, ErrorCode::X3);
  EXPECT_EQ(outcome.offset_bytes, 2U);
  const Bytes only_delta_too_long{0xc0, 0x81, 0xc1, 0x81, 0x41, 0x80, 0x81, 0x09};
  EXPECT_EQ(two.decode(only_delta_too_long).error, ErrorCode::X3) << "the result of an operator counts";
}

TEST_P(EveryEngineLimits, datagrams_have_a_length) {
  const std::string body = R"(<template name="T" id="1"><uInt32 name="X"/></template>)";
  Fixture f(body, {.limits = {.datagram_bytes = 6}});
  EXPECT_EQ(f.decode({0xc0, 0x81, 0x85, 0xc0, 0x81, 0x85}).error, ErrorCode::None);
  const Outcome outcome = f.decode({0xc0, 0x81, 0x85, 0xc0, 0x81, 0x85, 0xc0});
  EXPECT_EQ(outcome.error, ErrorCode::X1);
  EXPECT_EQ(outcome.offset_bytes, 6U);
  EXPECT_EQ(outcome.messages, 2U) << "what is whole stands";
}

TEST(Interpreter, counts_instructions) {
  Fixture f(R"(<template name="T" id="1"><uInt32 name="X"/><uInt32 name="Y"/></template>)", {}, 64, EngineKind::Interp);
  EXPECT_EQ(f.decode({0xc0, 0x81, 0x85, 0x86}).instructions, 4U) << "PMAP, TID and two fields";
  EXPECT_EQ(f.decode({0xc0, 0x81, 0x85, 0x86, 0xc0, 0x81, 0x85}).instructions, 8U) << "the faulty one counts";
}

TEST(Interpreter, comes_close_to_the_verifiers_bound) {
  // The shortest messages there are: map, two fields; the identifier is that of the message before.
  Fixture f(R"(<template name="T" id="1"><uInt32 name="X"/><uInt32 name="Y"/></template>)", {}, 64, EngineKind::Interp);
  Bytes bytes{0xc0, 0x81, 0x85, 0x86};
  for (int i = 0; i < 10; ++i) bytes.insert(bytes.end(), {0x80, 0x85, 0x86});
  const std::uint64_t bound = verify::instruction_bound(verify::check(f.program).costs, 34);
  EXPECT_EQ(f.decode(bytes).instructions, 44U);
  EXPECT_GE(bound, 44U);
  EXPECT_LE(bound, 34 * 3 + 4U) << "a datagram of nothing but FastReset, three instructions a byte";

  // Elements without bytes cost most.
  Fixture g(R"(<template name="T" id="1"><sequence name="A"><uInt32 name="X"><constant value="7"/></uInt32></sequence>
      <byteVector name="B"/></template>)",
            {}, 64, EngineKind::Interp);
  Bytes empty{0xc0, 0x81, 0x01, 0xe4, 0x01, 0xe4};  // 228 elements, and the bytes that allow them
  empty.resize(empty.size() + 228);
  const Outcome outcome = g.decode(empty);
  EXPECT_EQ(outcome.error, ErrorCode::None);
  const std::uint64_t most =
      verify::instruction_bound(verify::check(g.program).costs, static_cast<std::uint32_t>(empty.size()));
  EXPECT_GT(outcome.instructions, 228U);
  EXPECT_LE(outcome.instructions, most);
}

TEST_P(EveryEngine, refuses_a_preamble_that_is_longer_than_the_datagram) {
  Fixture f(kQuote, {});
  EXPECT_EQ(f.decode({1, 2, 3}, {.data_offset = 4}).error, ErrorCode::X9);
  EXPECT_EQ(f.decode({1, 2, 3}, {.data_offset = 3}).error, ErrorCode::None);
}

TEST_P(EveryEngine, refuses_a_datagram_beyond_64_KiB) {
  Fixture f(kQuote, {});
  Bytes bytes;
  while (bytes.size() <= limits::kMaxDatagramBytes) bytes.insert(bytes.end(), kQuote5.begin(), kQuote5.end());
  const Outcome outcome = f.decode(bytes);
  EXPECT_EQ(outcome.error, ErrorCode::X1);
  EXPECT_EQ(outcome.messages, limits::kMaxDatagramBytes / kQuote5.size());
}

const std::string kWide =
    R"(<template name="T" id="1"><sequence name="S"><length name="N"/><uInt32 name="A"/></sequence></template>)";

TEST_P(EveryEngine, refuses_a_sequence_longer_than_the_datagram_can_hold) {
  Fixture f(kWide, {});
  const Outcome outcome = f.decode({0xc0, 0x81, 0x07, 0x7f, 0x7f, 0x7f, 0xff, 0x81, 0x82, 0x83});
  EXPECT_EQ(outcome.error, ErrorCode::X2);
  EXPECT_EQ(outcome.offset_bytes, 2U);
}

TEST_P(EveryEngine, refuses_a_record_beyond_its_limit_of_slots) {
  Fixture f(kWide, {}, 16);
  Bytes bytes{0xc0, 0x81, 0x8f};  // 15 elements and the root: exactly 16 slots
  bytes.insert(bytes.end(), 15, 0x81);
  EXPECT_EQ(f.decode(bytes).error, ErrorCode::None);
  bytes[2] = 0x90;
  bytes.push_back(0x81);
  EXPECT_EQ(f.decode(bytes).error, ErrorCode::X4);
}

TEST_P(EveryEngine, elements_that_take_no_bytes_cannot_multiply) {
  // 60 outer elements of no bytes, each with 40 inner ones of no bytes: 2,400 from a datagram of 64 bytes.
  Fixture f(R"(<template name="T" id="1"><sequence name="O"><length name="N"/>
      <sequence name="I"><length name="M"><constant value="40"/></length><uInt32 name="A"><constant value="1"/></uInt32></sequence>
      </sequence><byteVector name="Rest"/></template>)",
            {}, 4096);
  Bytes bytes{0xc0, 0x81, 0xbc};
  bytes.resize(64, 0x80);
  EXPECT_EQ(f.decode(bytes).error, ErrorCode::X2);
  bytes[2] = 0x8a;  // 10 outer elements are within 8 elements a byte
  EXPECT_NE(f.decode(bytes).error, ErrorCode::X2);
}

}  // namespace stopbit::engine_test
