// Bounds and places of JSON lines, and repeated names. What converts to what: tests/cases/encode.

#include "decoder/record/json_reader.hpp"

#include "decoder/record/json_value.hpp"
#include "tests/unit/encode/fixture.hpp"

namespace stopbit::encode::testing::json_reader_test {

using record::JsonLine;
using record::JsonReader;
using record::JsonValue;

TEST(JsonLine, tells_where_every_value_stands) {
  JsonLine json;
  ASSERT_TRUE(json.parse(R"( {"a" : [1.50, "x\ny", null ],"b":true} )"));
  EXPECT_EQ(json.root().offset, 1U);
  EXPECT_EQ(json.at(1).key, "a");
  EXPECT_EQ(json.at(1).key_offset, 2U);
  EXPECT_EQ(json.at(1).offset, 8U);
  EXPECT_EQ(json.at(1).end, 5U);
  EXPECT_EQ(json.at(2).text, "1.50");
  EXPECT_EQ(json.at(2).offset, 9U);
  EXPECT_EQ(json.at(3).text, "x\ny");
  EXPECT_EQ(json.at(3).offset, 15U);
  EXPECT_EQ(json.at(4).offset, 23U);
  EXPECT_EQ(json.at(5).key, "b");
  EXPECT_EQ(json.at(5).kind, JsonValue::Kind::True);
  EXPECT_EQ(json.at(5).offset, 34U);
}

TEST(JsonLine, keeps_numbers_as_they_are_written) {
  JsonLine json;
  for (const char* number : {"0", "-0", "18446744073709551615", "123456789012345678901234567890", "1e5", "-1.50E-07"}) {
    ASSERT_TRUE(json.parse(number)) << json.problem();
    EXPECT_EQ(json.root().text, number);
  }
}

TEST(JsonLine, refuses_what_is_too_deep_or_too_much) {
  JsonLine json;
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(json.parse(nested(record::kMaxJsonDepth)));
  EXPECT_FALSE(json.parse(nested(record::kMaxJsonDepth + 1)));
  EXPECT_EQ(json.problem_offset(), record::kMaxJsonDepth);
  EXPECT_FALSE(json.parse(std::string(1'000'000, '[')));

  std::string many = "[";
  for (std::size_t i = 0; i < record::kMaxJsonValues; ++i) many += "1,";
  EXPECT_FALSE(json.parse(many + "1]"));
  EXPECT_EQ(json.problem(), "the line has more values than a record can hold");
  EXPECT_FALSE(json.parse(std::string(record::kMaxJsonLine + 1, ' ')));
  EXPECT_TRUE(json.parse("[]")) << "a good line after bad ones";
}

TEST(JsonLine, refuses_what_is_no_json_at_its_place) {
  JsonLine json;
  for (const char* bad :
       {"", " ", "{", "[1", "tru", "{\"a\"}", "\"\xFF\"", "\"\\ud800\"", "1 2", "\"\n\"", "[1e999]"}) {
    EXPECT_FALSE(json.parse(bad)) << bad;
    EXPECT_FALSE(json.problem().empty());
    EXPECT_LE(json.problem_offset(), std::string_view(bad).size());
  }
}

TEST(JsonReader, gives_a_name_that_stands_twice_to_both_fields) {
  Feed feed(R"(<template name="Part" id="2"><uInt32 name="A"/></template>
               <template name="T" id="1"><templateRef name="Part"/><templateRef name="Part"/></template>)");
  const cases::Record record = feed.record(R"({"id":1,"fields":{"A":1,"A":2}})");
  std::string line;
  record::JsonPrinter printer(feed.schema);
  ASSERT_EQ(printer.print(record, line), record::ReadError::None);
  EXPECT_EQ(line, "{\"template\":\"T\",\"id\":1,\"fields\":{\"A\":1,\"A\":2}}\n");
  cases::RecordingSink sink(feed.program);
  EXPECT_EQ(feed.reader.read(R"({"id":1,"fields":{"A":1,"A":2,"A":3}})", sink), JsonReader::Line::Error);
}

TEST(JsonReader, tells_events_from_messages) {
  Feed feed(R"(<template name="error" id="1"><uInt32 name="error" presence="optional"/></template>)");
  cases::RecordingSink sink(feed.program);
  EXPECT_EQ(feed.reader.read(R"({"event":"gap","first":1})", sink), JsonReader::Line::Event);
  EXPECT_EQ(feed.reader.read(R"({"error":"D2"})", sink), JsonReader::Line::Event);
  EXPECT_EQ(feed.reader.read(R"({"template":"error","fields":{"error":2}})", sink), JsonReader::Line::Message);
  EXPECT_EQ(sink.records().size(), 1U);
}

TEST(JsonReader, reads_a_record_of_the_most_slots_and_refuses_a_larger_one) {
  Feed feed(R"(<template name="T" id="1"><sequence name="S"><uInt32 name="A"/></sequence></template>)");
  const auto line = [](std::size_t elements) {
    std::string text = R"({"id":1,"fields":{"S":[)";
    for (std::size_t i = 0; i < elements; ++i) text += i == 0 ? R"({"A":1})" : R"(,{"A":1})";
    return text + "]}}";
  };
  cases::RecordingSink sink(feed.program);
  EXPECT_EQ(feed.reader.read(line(feed.program.max_record_slots - 1), sink), JsonReader::Line::Message);
  EXPECT_EQ(feed.reader.read(line(feed.program.max_record_slots), sink), JsonReader::Line::Error);
  EXPECT_EQ(feed.reader.problem().code, ErrorCode::X4);
  EXPECT_TRUE(sink.problems().empty());
}

}  // namespace stopbit::encode::testing::json_reader_test
