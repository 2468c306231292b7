#include <gmock/gmock.h>

#include <string>

#include "tests/unit/analyse/explain/fixture.hpp"

namespace stopbit::explain::explain_test {

using net::testing::be16;
using net::testing::be32;
using testing::bytes;
using testing::ByteVector;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::join;

constexpr const char* kTemplates = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Quote" id="1">
    <string name="Type"><constant value="Q"/></string>
    <uInt32 name="Seq"><increment/></uInt32>
    <decimal name="Px" presence="optional"><exponent><default value="-2"/></exponent><mantissa><delta/></mantissa></decimal>
    <string name="Name"><delta/></string>
    <group name="Extra" presence="optional"><uInt32 name="Size" presence="optional"><copy/></uInt32></group>
    <sequence name="Legs"><length name="NoLegs"/><uInt32 name="Leg"/><uInt32 name="Kind"><constant value="7"/></uInt32></sequence>
    <byteVector name="Raw"/>
  </template>
  <template name="Clear" id="2" reset="yes"><uInt32 name="N"/></template>
  <template name="Outer" id="3"><templateRef/><uInt32 name="After"/></template>
</templates>
)";

// Seq by its bit, Px -2 by default and +150, Name "AB", group with Size 5, two legs, Raw 00ff.
const ByteVector kQuote =
    bytes({0xE8, 0x81, 0x85, 0x01, 0x96, 0x80, 0x41, 0xC2, 0xC0, 0x86, 0x82, 0x83, 0x84, 0x82, 0x00, 0xFF});

class ExplainTest : public ::testing::Test {
 protected:
  Explanation explain(const std::vector<ByteVector>& datagrams, std::uint64_t packet,
                      std::string_view framing = "none") {
    return explain(testing::sample_of(datagrams), packet, framing);
  }
  Explanation explain(guess::Sample sample, std::uint64_t packet, std::string_view framing) {
    auto source = std::make_unique<guess::SampleSource>(std::move(sample));
    auto result = explain::explain(schema_, testing::options_of(framing), std::move(source), packet);
    EXPECT_TRUE(result.ok()) << result.message();
    if (!result) return {};
    testing::expect_sound(result.value());
    return std::move(result).value();
  }

  const Program program_ = testing::compile(kTemplates);
  const record::Schema schema_ = record::Schema::make(program_).value();
};

TEST_F(ExplainTest, tells_every_byte_and_every_field_without_bytes) {
  const Explanation found = explain({kQuote}, 1);
  EXPECT_FALSE(found.has_fault()) << found.fault;
  EXPECT_THAT(testing::lines_of(found),
              ElementsAre("0+0 | message 1 |  |  |  |  |  | ",                                       //
                          "0+1 | presence map |  |  |  |  |  | ",                                    //
                          "1+1 | template identifier | uInt32 | copy | 1 | undefined | stream | 1",  //
                          "2+0 | template Quote (id 1) |  |  |  |  |  | ",                           //
                          "2+0 | Type | string | constant |  |  | constant | \"Q\"",                 //
                          "2+1 | Seq | uInt32 | increment | 5 | undefined | stream | 5",             //
                          "3+0 | Px | exponent | default |  |  | default | -2",                      //
                          "3+2 | Px | mantissa | delta | 150 | undefined | stream | 150 = 1.50",     //
                          "5+3 | Name | string | delta | 0 \"AB\" | undefined | stream | \"AB\"",    //
                          "8+0 | Extra |  |  |  |  | present | ",                                    //
                          "8+1 | presence map |  |  |  |  |  | ",                                    //
                          "9+1 | Size | uInt32 | copy | 6 | undefined | stream | 5",                 //
                          "10+1 | NoLegs | length |  | 2 |  | stream | 2",                           //
                          "11+0 | Legs 1 of 2 |  |  |  |  |  | ",                                    //
                          "11+1 | Leg | uInt32 |  | 3 |  | stream | 3",                              //
                          "12+0 | Kind | uInt32 | constant |  |  | constant | 7",                    //
                          "12+0 | Legs 2 of 2 |  |  |  |  |  | ",                                    //
                          "12+1 | Leg | uInt32 |  | 4 |  | stream | 4",                              //
                          "13+0 | Kind | uInt32 | constant |  |  | constant | 7",                    //
                          "13+3 | Raw | byteVector |  | 2 00ff |  | stream | 00ff"));
  testing::expect_records(program_, testing::options_of("none"), found);
}

TEST_F(ExplainTest, names_the_owner_of_each_bit) {
  const Explanation found = explain({kQuote}, 1);
  std::string owners;
  for (const Row& row : found.rows) {
    for (const Bit& bit : row.bits) owners += (bit.is_set ? "1 " : "0 ") + bit.owner + ", ";
  }
  EXPECT_EQ(owners, "1 template identifier, 1 Seq, 0 Px exponent, 1 group Extra, 1 Size, ");
}

TEST_F(ExplainTest, decodes_earlier_packets_first_where_the_dictionary_is_kept) {
  const ByteVector second = bytes({0x80, 0x81, 0x81, 0x43, 0xC4, 0x80, 0x80});
  const Explanation found = explain({kQuote, second}, 2);
  EXPECT_FALSE(found.has_fault()) << found.fault;
  EXPECT_EQ(found.earlier_packets, 1U);
  EXPECT_THAT(testing::lines_of(found), ::testing::IsSupersetOf({
                                            "1+0 | template identifier | uInt32 | copy |  | 1 | previous | 1",
                                            "1+0 | Seq | uInt32 | increment |  | 5 | previous + 1 | 6",
                                            "1+1 | Px | mantissa | delta | 1 | 150 | stream | 151 = 1.51",
                                            "2+3 | Name | string | delta | 1 \"CD\" | \"AB\" | stream | \"ACD\"",
                                            "5+0 | Extra |  |  |  |  | absent | ",
                                        }));
}

TEST_F(ExplainTest, tells_resets_and_references) {
  const Explanation found = explain({bytes({0xC0, 0x83, 0xC0, 0x82, 0x85, 0x86})}, 1);
  EXPECT_FALSE(found.has_fault()) << found.fault;
  EXPECT_THAT(testing::lines_of(found), ::testing::IsSupersetOf({
                                            "4+0 | the template resets the dictionary |  |  |  |  |  | ",
                                            "4+0 | template Clear (id 2) |  |  |  |  |  | ",
                                            "4+1 | N | uInt32 |  | 5 |  | stream | 5",
                                            "5+1 | After | uInt32 |  | 6 |  | stream | 6",
                                        }));
  testing::expect_records(program_, testing::options_of("none"), found);
}

TEST_F(ExplainTest, tells_preambles_blocks_and_what_is_ignored) {
  const ByteVector clear = bytes({0xC0, 0x82, 0x85});
  EXPECT_EQ(testing::lines_of(explain({join({be32(7), bytes({1}), clear})}, 1, "cme"))[0],
            "0+4 | sequence | u32 big-endian |  |  |  |  | 7");
  const Explanation b3 = explain({join({be32(9), be16(1), be16(1), be16(3), clear})}, 1, "b3");
  EXPECT_EQ(b3.rows[3].name, "length");
  EXPECT_FALSE(b3.has_fault());
  const Explanation blocks =
      explain({join({bytes({0x83}), clear, bytes({0x83}), clear})}, 1, "custom:skip=0,blocks=yes");
  EXPECT_FALSE(blocks.has_fault()) << blocks.fault;
  EXPECT_EQ(std::count_if(blocks.rows.begin(), blocks.rows.end(),
                          [](const Row& row) { return row.kind == RowKind::BlockSize; }),
            2);
  const Explanation length = explain({join({bytes({0, 3}), clear, bytes({1, 2, 3})})}, 1, "custom:len=u16be@0");
  EXPECT_FALSE(length.has_fault()) << length.fault;
  EXPECT_EQ(length.rows.back().kind, RowKind::Ignored);
  EXPECT_EQ(length.rows.back().bytes.begin, 5U);
}

TEST_F(ExplainTest, puts_chunks_together_and_tells_a_chunk_that_waits) {
  const auto chunk = [](int number, const ByteVector& data) {
    return join({be32(9), be16(2), be16(static_cast<std::size_t>(number)), be16(data.size()), data});
  };
  const std::vector<ByteVector> datagrams = {chunk(1, bytes({0xC0, 0x82})), chunk(2, bytes({0x85}))};
  const Explanation first = explain(datagrams, 1, "b3");
  EXPECT_FALSE(first.has_fault());
  EXPECT_THAT(first.rows.back().name, HasSubstr("decoded with its last chunk"));
  const Explanation second = explain(datagrams, 2, "b3");
  EXPECT_TRUE(second.is_joined);
  EXPECT_EQ(second.datagram.size(), 13U);
  EXPECT_EQ(testing::lines_of(second).back(), "12+1 | N | uInt32 |  | 5 |  | stream | 5");
}

TEST_F(ExplainTest, marks_the_faulty_row_and_shows_the_bytes) {
  const Explanation found = explain({bytes({0xF0, 0x81, 0x10, 0x00, 0x00, 0x00, 0x80, 0x81})}, 1);
  ASSERT_TRUE(found.has_fault());
  EXPECT_EQ(found.fault,
            "test.pcap: packet 1, byte 2: the integer does not fit the type of the field, in template 'Quote' (id 1), "
            "field 'Seq' (templates.xml:4) [D2]\n"
            "  0000: f0 81 10 00 00 00 80 81\n"
            "              ^^^^^^^^^^^^^^");
  const auto faulty = std::find_if(found.rows.begin(), found.rows.end(), [](const Row& row) { return row.is_faulty; });
  ASSERT_NE(faulty, found.rows.end());
  EXPECT_EQ(faulty->name, "Seq");
  EXPECT_EQ(faulty->bytes.begin, 2U);
  EXPECT_EQ(faulty->bytes.end, 7U);
  EXPECT_EQ(found.rows.back().kind, RowKind::Undecoded);
}

TEST_F(ExplainTest, marks_an_entity_that_the_datagram_cuts) {
  const Explanation found = explain({bytes({0xF0, 0x81, 0x10, 0x00})}, 1);
  EXPECT_EQ(found.outcome.error, ErrorCode::X1);
  EXPECT_TRUE(found.rows.back().is_faulty);
  EXPECT_EQ(found.rows.back().bytes.begin, 2U);
}

TEST_F(ExplainTest, finds_a_wrong_framing) {
  std::vector<ByteVector> datagrams;
  for (std::size_t i = 0; i < 20; ++i) {
    datagrams.push_back(join({be32(1000 + i), bytes({1, 0xC0, 0x82, static_cast<int>(0x80 + i)})}));
  }
  const Explanation found = explain(datagrams, 3, "none");
  ASSERT_TRUE(found.has_fault());
  ASSERT_FALSE(found.causes.empty());
  EXPECT_EQ(found.causes[0].text, "the framing is cme, not none");
}

TEST_F(ExplainTest, finds_a_chunk_that_was_read_as_a_whole) {
  const Explanation found =
      explain({join({be32(9), bytes({0, 2, 0, 1, 0, 2, 0xC0, 0x82})})}, 1, "custom:skip=10,reset=packet");
  ASSERT_TRUE(found.has_fault());
  ASSERT_FALSE(found.causes.empty());
  EXPECT_THAT(found.causes[0].text, HasSubstr("chunk 1 of 2"));
}

TEST_F(ExplainTest, finds_a_rule_that_resets_too_often) {
  const ByteVector second = bytes({0x80, 0x81, 0x81, 0x43, 0xC4, 0x80, 0x80});
  const Explanation found = explain({kQuote, second, second, second}, 3, "custom:skip=0,reset=packet");
  EXPECT_EQ(found.outcome.error, ErrorCode::D5);
  ASSERT_FALSE(found.causes.empty());
  EXPECT_THAT(found.causes[0].text, HasSubstr("reset rule is template, not packet"));
}

TEST_F(ExplainTest, finds_a_missing_reset) {
  // A delta that takes the mantissa to the largest int64: once it fits, twice it does not.
  const ByteVector large =
      bytes({0xE0, 0x81, 0x85, 0x00, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0xFF, 0x80, 0xC1, 0x80, 0x80});
  const Explanation found = explain({large, large}, 2, "none");
  EXPECT_EQ(found.outcome.error, ErrorCode::R1) << found.fault;
  ASSERT_FALSE(found.causes.empty());
  EXPECT_THAT(found.causes[0].text + (found.causes.size() > 1 ? found.causes[1].text : ""), HasSubstr("reset"));
}

TEST_F(ExplainTest, names_the_nearest_templates) {
  const Explanation found = explain({bytes({0xC0, 0x84})}, 1);
  EXPECT_EQ(found.outcome.error, ErrorCode::D9);
  ASSERT_FALSE(found.causes.empty());
  EXPECT_THAT(found.causes[0].evidence, HasSubstr("nearest to 4 are 3 'Outer', 2 'Clear', 1 'Quote'"));
}

TEST_F(ExplainTest, points_from_a_dropped_packet_to_the_error_before) {
  const Explanation found = explain({bytes({0xC0, 0xE3}), kQuote}, 2);
  EXPECT_TRUE(found.outcome.dropped);
  EXPECT_THAT(found.fault, HasSubstr("after the error in packet 1"));
  EXPECT_THAT(found.causes[0].text, HasSubstr("--packet 1"));
}

TEST_F(ExplainTest, says_that_the_capture_cut_the_packet) {
  guess::Sample sample = testing::sample_of({kQuote});
  sample.packets[0].original_bytes = sample.packets[0].frame.size();
  sample.packets[0].frame.resize(50);
  const Explanation found = explain(std::move(sample), 1, "none");
  ASSERT_TRUE(found.has_fault());
  EXPECT_THAT(found.causes[0].text, HasSubstr("snap length"));
}

TEST_F(ExplainTest, says_honestly_that_it_does_not_know) {
  const Explanation found = explain({bytes({0xF0, 0x81, 0x10, 0x00, 0x00, 0x00, 0x80, 0x81})}, 1);
  EXPECT_TRUE(found.causes.empty());
  EXPECT_THAT(to_text(found, false), HasSubstr("Cause: unknown"));
}

TEST_F(ExplainTest, finds_settings_that_refuse_a_good_packet) {
  const auto causes_with = [&](const replay::Options& options, const ByteVector& datagram) {
    auto source = std::make_unique<guess::SampleSource>(testing::sample_of({datagram}));
    const auto found = explain::explain(schema_, options, std::move(source), 1);
    EXPECT_TRUE(found.ok() && found.value().has_fault());
    return found.value().causes.empty() ? std::string("none") : found.value().causes[0].text;
  };
  replay::Options strict = testing::options_of("none");
  strict.strict = true;
  EXPECT_THAT(causes_with(strict, bytes({0x40, 0x80, 0x82, 0x85})), HasSubstr("only --strict"));
  replay::Options narrow = testing::options_of("none");
  narrow.limits.elements = 1;
  EXPECT_THAT(causes_with(narrow, kQuote), HasSubstr("--max options"));
}

TEST_F(ExplainTest, tells_bit_groups_and_vectors) {
  const Program program = testing::compile(R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.2">
    <template name="B" id="1">
      <bitGroup name="Flags"><boolean name="Up"/><uInt3 name="Kind" presence="optional"/><int5 name="Step"/><copy/></bitGroup>
      <bitGroup name="More" presence="optional"><boolean name="Down" presence="optional"/></bitGroup>
      <uInt32Vector name="Levels"/>
    </template></templates>)");
  const record::Schema schema = record::Schema::make(program).value();
  auto source = std::make_unique<guess::SampleSource>(
      testing::sample_of({bytes({0xF0, 0x81, 0x40, 0xF0, 0xC0, 0x82, 0x85, 0x86})}));
  const auto found = explain::explain(schema, testing::options_of("none"), std::move(source), 1);
  ASSERT_TRUE(found.ok() && !found.value().has_fault()) << found.value().fault;
  testing::expect_sound(found.value());
  testing::expect_records(program, testing::options_of("none"), found.value());
  EXPECT_THAT(testing::lines_of(found.value()), ::testing::IsSupersetOf({
                                                    "2+2 | Flags | bit group | copy | 8304 | undefined | stream | 8304",
                                                    "4+0 | Up | boolean | bit 0 |  |  | bit group | true",
                                                    "4+0 | Kind | uInt8 | bit 1..4 |  |  | NULL | ",
                                                    "4+0 | Step | int8 | bit 5..9 |  |  | bit group | 7",
                                                    "4+0 | More |  |  |  |  | present | ",
                                                    "4+1 | More | bit group |  | 64 |  | stream | 64",
                                                    "5+0 | Down | boolean | bit 0..1 |  |  | bit group | true",
                                                    "5+1 | Levels | length |  | 2 |  | stream | 2",
                                                    "6+1 | Levels | uInt32 |  | 5 |  | stream | 5",
                                                    "7+1 | Levels | uInt32 |  | 6 |  | stream | 6",
                                                }));
}

TEST_F(ExplainTest, refuses_a_packet_that_is_not_there) {
  auto source = std::make_unique<guess::SampleSource>(testing::sample_of({kQuote}));
  const auto result = explain::explain(schema_, testing::options_of("none"), std::move(source), 2);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.message(), "test.pcap: no packet 2; the last one is 1");
}

TEST_F(ExplainTest, stays_small_when_elements_take_no_bytes) {
  const Program program = testing::compile(R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
    <template name="Bomb" id="1"><sequence name="S"><uInt32 name="C"><constant value="1"/></uInt32>
      <uInt32 name="D"><constant value="2"/></uInt32></sequence><byteVector name="V"/></template></templates>)");
  const record::Schema schema = record::Schema::make(program).value();
  // 4,000 elements of nothing, paid for by the bytes after them, thrice in a datagram.
  ByteVector message = join({bytes({0xC0, 0x81, 0x1F, 0xA0, 0x1F, 0xA0}), ByteVector(4'000)});
  replay::Options options = testing::options_of("none");
  options.limits.empty_elements = 1U << 20;
  options.limits.elements = 1U << 20;
  guess::Sample sample = testing::sample_of({join({message, message, message, message, message, message, message})});
  auto result = explain::explain(schema, options, std::make_unique<guess::SampleSource>(std::move(sample)), 1);
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result.value().has_fault()) << result.value().fault;
  testing::expect_sound(result.value());
  EXPECT_LT(result.value().rows.size(), 60'000U);
  EXPECT_GT(result.value().rows_hidden, 0U);
}

TEST_F(ExplainTest, prints_lines_of_120_columns_and_colours_only_when_asked) {
  const Explanation found = explain({kQuote}, 1);
  const std::string text = to_text(found, false);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(to_text(found, true).find("\x1b[1m"), std::string::npos);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    EXPECT_LE(end - begin, 120U) << text.substr(begin, end - begin);
  }
  EXPECT_THAT(text, HasSubstr("16 of 16 bytes of the datagram are accounted for.\n"));
}

}  // namespace stopbit::explain::explain_test
