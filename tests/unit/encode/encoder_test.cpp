// What an encoder does around the fields: datagrams, resets, errors, records from strangers. The fields themselves have
// their case files, tests/cases/encode, and every decode case comes back through it.

#include "decoder/encode/encoder.hpp"

#include "decoder/record/views.hpp"
#include "tests/attack/allocations.hpp"
#include "tests/unit/encode/fixture.hpp"

namespace stopbit::encode::testing::encoder_test {

const std::string kQuote =
    R"(<template name="Quote" id="1"><uInt32 name="Px"><copy/></uInt32></template>
       <template name="Clear" id="2" reset="yes"><uInt32 name="Why"><copy/></uInt32><string name="S"/></template>)";
constexpr std::string_view kQuote5 = R"({"id":1,"fields":{"Px":5}})";

TEST(Encoder, forgets_previous_values_with_each_datagram_if_the_feed_does) {
  Feed feed(kQuote, {.reset = ResetRule::Packet});
  EXPECT_EQ(feed.bytes(kQuote5), "e0 81 85");
  EXPECT_EQ(feed.bytes(kQuote5), "80");
  feed.encoder.begin_datagram();
  EXPECT_EQ(feed.bytes(kQuote5), "e0 81 85");
}

TEST(Encoder, keeps_previous_values_over_datagrams_if_the_feed_does) {
  Feed feed(kQuote, {.reset = ResetRule::Never});
  EXPECT_EQ(feed.bytes(kQuote5), "e0 81 85");
  feed.encoder.begin_datagram();
  EXPECT_EQ(feed.bytes(kQuote5), "80");
  feed.encoder.reset();
  EXPECT_EQ(feed.bytes(kQuote5), "e0 81 85");
}

TEST(Encoder, forgets_at_a_template_that_resets) {
  Feed feed(kQuote, {.reset = ResetRule::Template});
  EXPECT_EQ(feed.bytes(kQuote5), "e0 81 85");
  EXPECT_EQ(feed.bytes(R"({"id":2,"fields":{"Why":1,"S":"x"}})"), "e0 82 81 f8");
  EXPECT_EQ(feed.bytes(kQuote5), "e0 81 85");
}

TEST(Encoder, takes_a_reset_back_if_the_message_is_refused) {
  Feed feed(kQuote, {.reset = ResetRule::Template});
  EXPECT_EQ(feed.bytes(kQuote5), "e0 81 85");
  const Outcome refused = feed.encode(R"({"id":2,"fields":{"Why":1,"S":"\u00ff"}})");
  EXPECT_EQ(refused.error, ErrorCode::R3);
  EXPECT_TRUE(refused.bytes.empty());
  EXPECT_EQ(feed.bytes(kQuote5), "80");
}

TEST(Encoder, names_template_field_and_line_of_an_error) {
  Feed feed(kQuote);
  EXPECT_EQ(feed.bytes(R"({"id":2,"fields":{"Why":1,"S":"\u00ff"}})"),
            "the Unicode string has characters that ASCII lacks [R3], template Clear, field S (test.xml:2)");
}

TEST(Encoder, refuses_what_is_no_record_of_a_message) {
  Feed feed(kQuote);
  const cases::Record good = feed.record(kQuote5);
  const auto unreadable = [&](auto change) {
    cases::Record record = good;
    change(record);
    const Outcome outcome = feed.encoder.encode(record);
    EXPECT_FALSE(outcome.ok());
    EXPECT_FALSE(error_text(feed.schema, outcome).empty());
    return outcome.unreadable;
  };
  using record::ReadError;
  EXPECT_EQ(unreadable([](auto& record) { record.clear(); }), ReadError::Truncated);
  EXPECT_EQ(unreadable([](auto& record) { record[0] = {}; }), ReadError::Truncated);
  EXPECT_EQ(unreadable([](auto& record) { record[0].words[0] = record::kPadIndex; }), ReadError::Pad);
  EXPECT_EQ(unreadable([](auto& record) { record[0].words[0] |= 0xFFFE; }), ReadError::WrongTag);
  EXPECT_EQ(unreadable([](auto& record) { record[0].words[0] += 1000; }), ReadError::UnknownTemplate);
  EXPECT_EQ(unreadable([](auto& record) { record[0].words[record::kTagWord] ^= std::uint64_t{1} << 32; }),
            ReadError::WrongTag);
  EXPECT_EQ(unreadable([](auto& record) {
              record.push_back(record[0]);
              record[0].words[0] += 1 << 16;
              record[1].words[record::kTagWord] =
                  record::tag_word_base(record[0].words[record::kTagWord] >> 63 != 0, 1);
            }),
            ReadError::LeftOver);
  EXPECT_EQ(feed.bytes(kQuote5), "e0 81 85") << "none of them left a trace";
}

TEST(Encoder, refuses_references_that_decoders_find_too_deep) {
  Feed feed(R"(<template name="Leaf" id="1"/><template name="Next" id="2"><templateRef/></template>)");
  std::string line = R"({"id":1,"fields":{}})";
  for (std::size_t depth = 0; depth < limits::kMaxCallDepth; ++depth) {
    line = R"({"id":2,"fields":{"templateRef":)" + line + "}}";
  }
  EXPECT_EQ(feed.bytes(line), "c0 82 80 80 80 80 80 80 80 c0 81");
  cases::RecordingSink sink(feed.program);
  EXPECT_EQ(feed.reader.read(R"({"id":2,"fields":{"templateRef":)" + line + "}}", sink),
            record::JsonReader::Line::Error);
  EXPECT_EQ(feed.reader.problem().code, ErrorCode::X7);

  Feed shallow(R"(<template name="Leaf" id="1"/><template name="Next" id="2"><templateRef/></template>)",
               {.limits = {.nesting = 2}});
  EXPECT_EQ(shallow.encode(line).error, ErrorCode::X7);
}

TEST(Encoder, keeps_the_limits_of_the_decoder_it_writes_for) {
  const std::string body = R"(<template name="T" id="1"><sequence name="S"><string name="A"/></sequence></template>)";
  const std::string line = R"({"id":1,"fields":{"S":[{"A":"abc"},{"A":"d"}]}})";
  EXPECT_TRUE(Feed(body).encode(line).ok());
  EXPECT_EQ(Feed(body, {.limits = {.elements = 1}}).encode(line).error, ErrorCode::X2);
  EXPECT_EQ(Feed(body, {.limits = {.string_bytes = 2}}).encode(line).error, ErrorCode::X3);
  EXPECT_EQ(Feed(body, {.limits = {.datagram_bytes = 6}}).encode(line).error, ErrorCode::X13);
  EXPECT_EQ(Feed(body, {.limits = {.nesting = 0}}).encode(line).error, ErrorCode::X7);
}

TEST(Encoder, tells_what_the_datagram_owes_for_empty_elements) {
  Feed feed(R"(<template name="T" id="1"><sequence name="S"><uInt32 name="C"><constant value="1"/></uInt32></sequence>
               </template>)");
  EXPECT_EQ(feed.encoder.owed_bytes(), 0U);
  EXPECT_TRUE(feed.encode(R"({"id":1,"fields":{"S":[{},{},{},{},{}]}})").ok());
  EXPECT_EQ(feed.encoder.owed_bytes(), 0U);
  feed.encoder.begin_datagram();
  std::string elements = "{}";
  for (int i = 1; i < 43; ++i) elements += ",{}";  // 8 elements a byte: 6 bytes, of which the message has 3
  EXPECT_TRUE(feed.encode("{\"id\":1,\"fields\":{\"S\":[" + elements + "]}}").ok());
  EXPECT_EQ(feed.encoder.owed_bytes(), 3U);
  EXPECT_EQ(feed.bytes(R"({"id":1,"fields":{"S":[]}})"), "80 80");
  EXPECT_EQ(feed.encoder.owed_bytes(), 1U);
  feed.encoder.begin_datagram();
  EXPECT_EQ(feed.encoder.owed_bytes(), 0U);
}

TEST(Encoder, cuts_every_presence_map_of_nested_segments) {
  std::string optional_fields;
  for (int i = 0; i < 30; ++i) {
    optional_fields += "<uInt32 name=\"F" + std::to_string(i) + "\" presence=\"optional\"><copy/></uInt32>";
  }
  Feed feed("<template name=\"T\" id=\"1\">" + optional_fields + "<group name=\"G\" presence=\"optional\">" +
            optional_fields + "<sequence name=\"S\">" + optional_fields + "</sequence></group></template>");
  EXPECT_EQ(feed.bytes(R"({"id":1,"fields":{"G":{"S":[{},{"F29":1}]}}})"),
            "40 00 00 00 88 81 80 82 80 00 00 00 00 a0 82");
}

TEST(Encoder, allocates_nothing_once_it_is_made) {
  Feed feed(R"(<template name="T" id="1"><string name="A"><tail/></string><byteVector name="B"><delta/></byteVector>
               <sequence name="S"><decimal name="D"><delta/></decimal></sequence></template>)");
  const cases::Record first =
      feed.record(R"({"id":1,"fields":{"A":"abcdefghijkl","B":"0001","S":[{"D":1.5},{"D":2}]}})");
  const cases::Record second = feed.record(R"({"id":1,"fields":{"A":"abcdefghijkm","B":"0002","S":[]}})");
  const cases::Record refused = feed.record(R"({"id":1,"fields":{"A":"abc","B":"0002","S":[]}})");
  const std::uint64_t before = attack::allocations();
  std::size_t bytes = 0;
  for (int i = 0; i < 100; ++i) {
    for (const cases::Record* record : {&first, &second, &refused}) bytes += feed.encoder.encode(*record).bytes.size();
  }
  EXPECT_EQ(attack::allocations(), before);
  EXPECT_GT(bytes, 0U);
}

}  // namespace stopbit::encode::testing::encoder_test
