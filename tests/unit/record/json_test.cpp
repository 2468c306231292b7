#include "decoder/record/json.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "decoder/record/text.hpp"
#include "tests/unit/record/fixture.hpp"

namespace stopbit::record::json_test {

using test::ProgramMaker;
using test::RecordMaker;

std::string print(const Program& program, const std::vector<Slot>& record) {
  const Result<Schema> schema = Schema::make(program);
  if (!schema) return "bad schema: " + schema.message();
  JsonPrinter printer(schema.value());
  std::string out = "before ";
  const ReadError error = printer.print(record, out);
  if (error != ReadError::None) return std::string(error_text(error)) + " / " + out;
  EXPECT_EQ(out.substr(0, 7), "before ");
  EXPECT_EQ(out.back(), '\n');
  return out.substr(7, out.size() - 8);
}

/// A template with one field of the type, at word 0.
Program one_field(FieldType type) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 2);
  maker.make_template("T", 1, root, [&] { maker.field("F", type, root, 0, true); });
  return maker.program();
}

std::string print_bits(FieldType type, std::uint64_t bits) {
  const Program program = one_field(type);
  return print(program, RecordMaker(program).open_root(0).put(0, bits).commit());
}

std::string print_text(FieldType type, std::string_view text) {
  const Program program = one_field(type);
  return print(program, RecordMaker(program).open_root(0).put(0, text).commit());
}

std::string print_decimal(std::int64_t mantissa, std::int64_t exponent) {
  const Program program = one_field(FieldType::Decimal);
  return print(program, RecordMaker(program).open_root(0).put_decimal(0, mantissa, exponent).commit());
}

std::string line(std::string_view value) {
  return "{\"template\":\"T\",\"id\":1,\"fields\":{\"F\":" + std::string(value) + "}}";
}

TEST(JsonPrinter, prints_integers_in_full) {
  EXPECT_EQ(print_bits(FieldType::UInt64, std::numeric_limits<std::uint64_t>::max()), line("18446744073709551615"));
  EXPECT_EQ(print_bits(FieldType::Int64, std::uint64_t{1} << 63), line("-9223372036854775808"));
  EXPECT_EQ(print_bits(FieldType::Int32, static_cast<std::uint64_t>(-1)), line("-1"));
  EXPECT_EQ(print_bits(FieldType::Timestamp, static_cast<std::uint64_t>(-5)), line("-5"));
  EXPECT_EQ(print_bits(FieldType::UInt8, 0), line("0"));
}

TEST(JsonPrinter, leaves_out_what_is_absent) {
  const Program program = one_field(FieldType::UInt32);
  EXPECT_EQ(print(program, RecordMaker(program).open_root(0).commit()), R"({"template":"T","id":1,"fields":{}})");
}

TEST(JsonPrinter, keeps_the_exponent_of_decimals) {
  EXPECT_EQ(print_decimal(141150, -2), line("1411.50"));
  EXPECT_EQ(print_decimal(141150, 0), line("141150"));
  EXPECT_EQ(print_decimal(1, 1), line("1e1"));
  EXPECT_EQ(print_decimal(-5, 63), line("-5e63"));
  EXPECT_EQ(print_decimal(0, -2), line("0.00"));
  EXPECT_EQ(print_decimal(-5, -2), line("-0.05"));
  EXPECT_EQ(print_decimal(-12, -2), line("-0.12"));
  EXPECT_EQ(print_decimal(std::numeric_limits<std::int64_t>::min(), -3), line("-9223372036854775.808"));
  EXPECT_EQ(print_decimal(7, -63), line("0." + std::string(62, '0') + "7"));
}

TEST(JsonPrinter, refuses_an_exponent_outside_its_range) {
  EXPECT_EQ(print_decimal(1, 64), "a value is outside its type / before ");
  EXPECT_EQ(print_decimal(1, -64), "a value is outside its type / before ");
  EXPECT_EQ(print_decimal(1, std::numeric_limits<std::int64_t>::min()), "a value is outside its type / before ");
}

TEST(JsonPrinter, prints_strings_of_every_length) {
  for (const std::size_t length : {0U, 1U, 6U, 7U, 8U, 9U, 55U, 56U, 57U, 112U, 113U, 300U, 14'280U}) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + i % 26);
    EXPECT_EQ(print_text(FieldType::Ascii, text), line("\"" + text + "\"")) << length;
  }
}

TEST(JsonPrinter, escapes_what_json_does_not_allow) {
  EXPECT_EQ(print_text(FieldType::Ascii, "a\"b\\c/\n\r\t\b\f"), line(R"("a\"b\\c/\n\r\t\b\f")"));
  EXPECT_EQ(print_text(FieldType::Ascii, std::string_view("\0\x01\x1F\x7F", 4)),
            line("\"\\u0000\\u0001\\u001f\\u007f\""));
}

TEST(JsonPrinter, escapes_what_is_not_as_it_looks) {
  // NOLINTNEXTLINE(misc-misleading-bidirectional): that is the test
  EXPECT_EQ(print_text(FieldType::Unicode, "a\u009b\u202e\u200b\uFEFF\U000E0041\u00e9"),
            line("\"a\\u009b\\u202e\\u200b\\ufeff\\udb40\\udc41\u00e9\""));
}

TEST(JsonPrinter, prints_high_bytes_of_ascii_as_code_points) {
  EXPECT_EQ(print_text(FieldType::Ascii, "\x80\xFFz"), line(R"("\u0080\u00ffz")"));
  EXPECT_EQ(print_text(FieldType::Ascii, "abcdefg\xE9"), line(R"("abcdefg\u00e9")"));
}

TEST(JsonPrinter, keeps_utf8_and_replaces_what_is_not) {
  EXPECT_EQ(print_text(FieldType::Unicode, "Z\xC3\xBCrich \xE2\x82\xAC \xF0\x9F\x98\x80"),
            line("\"Z\xC3\xBCrich \xE2\x82\xAC \xF0\x9F\x98\x80\""));
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(print_text(FieldType::Unicode, "a\xC3"), line("\"a" + bad + "\""));
  EXPECT_EQ(print_text(FieldType::Unicode, "\xC0\xAF"), line("\"" + bad + bad + "\""));            // overlong
  EXPECT_EQ(print_text(FieldType::Unicode, "\xED\xA0\x80"), line("\"" + bad + bad + bad + "\""));  // surrogate
  EXPECT_EQ(print_text(FieldType::Unicode, "\xF4\x90\x80\x80"), line("\"" + bad + bad + bad + bad + "\""));
}

TEST(JsonPrinter, prints_byte_vectors_as_hex) {
  EXPECT_EQ(print_text(FieldType::ByteVector, std::string_view("\x00\x80\xC7\x2F", 4)), line("\"0080c72f\""));
  EXPECT_EQ(print_text(FieldType::ByteVector, ""), line("\"\""));
}

TEST(JsonPrinter, prints_enumerations_sets_and_booleans_by_meaning) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 3);
  maker.make_template("T", 1, root, [&] {
    maker.elements(maker.field("E", FieldType::Enum, root, 0, true), {"0", "B\"uy", "2"});
    maker.elements(maker.field("S", FieldType::Set, root, 1, true), {"a", "b", "c"});
    maker.field("B", FieldType::Boolean, root, 2, true);
  });
  const Program& program = maker.program();
  EXPECT_EQ(print(program, RecordMaker(program).open_root(0).put(0, 1).put(1, 5).put(2, 1).commit()),
            R"({"template":"T","id":1,"fields":{"E":"B\"uy","S":["a","c"],"B":true}})");
  EXPECT_EQ(print(program, RecordMaker(program).open_root(0).put(0, 2).put(1, 0).put(2, 0).commit()),
            R"({"template":"T","id":1,"fields":{"E":"2","S":[],"B":false}})");
  const std::string outside = "a value is outside its type / before ";
  EXPECT_EQ(print(program, RecordMaker(program).open_root(0).put(0, 3).commit()), outside);
  EXPECT_EQ(print(program, RecordMaker(program).open_root(0).put(1, 8).commit()), outside);
  EXPECT_EQ(print(program, RecordMaker(program).open_root(0).put(2, 2).commit()), outside);
}

TEST(JsonPrinter, prints_constants_from_the_schema) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 0);
  maker.make_template("T", 1, root, [&] {
    maker.constant("A", FieldType::Ascii, "9");
    maker.constant("N", FieldType::Int32, static_cast<std::uint64_t>(-3));
    maker.constant("D", FieldType::Decimal, static_cast<std::uint64_t>(-2), 150);
    maker.constant("V", FieldType::ByteVector, "\xAB");
  });
  const Program& program = maker.program();
  EXPECT_EQ(print(program, RecordMaker(program).open_root(0).commit()),
            R"({"template":"T","id":1,"fields":{"A":"9","N":-3,"D":1.50,"V":"ab"}})");
}

TEST(JsonPrinter, nests_groups_sequences_and_what_follows_them) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 2);
  const std::uint16_t outer = maker.block(BlockKind::Element, 2, 2);
  const std::uint16_t inner = maker.block(BlockKind::Element, 1, 4);
  const std::uint16_t after_inner = maker.block(BlockKind::After, 1, 5);
  const std::uint16_t after = maker.block(BlockKind::After, 3, 6);
  maker.make_template("T", 7, root, [&] {
    maker.field("A", FieldType::UInt32, root, 0);
    maker.sequence("Outer", root, 1, outer, [&] {
      maker.field("B", FieldType::UInt32, outer, 0);
      maker.sequence(
          "Inner", outer, 1, inner, [&] { maker.field("C", FieldType::UInt32, inner, 0); }, true);
      maker.field("D", FieldType::UInt32, after_inner, 0);
    });
    maker.optional_group("G", after, 0, [&] {
      maker.field("E", FieldType::UInt32, after, 0);
      maker.group("H", [&] { maker.field("F", FieldType::UInt32, after, 1, true); });
    });
    maker.field("Z", FieldType::UInt32, after, 2);
  });
  const Program& program = maker.program();

  RecordMaker full(program);
  full.open_root(0).put(0, 1).put(1, 3);
  full.open(outer).put(0, 10).put(1, 2).open(inner).put(0, 100).open(inner).put(0, 101).open(after_inner).put(0, 11);
  full.open(outer).put(0, 20).open(after_inner).put(0, 21);
  full.open(outer).put(0, 30).put(1, 0).open(after_inner).put(0, 31);
  full.open(after).put(0, 5).put(1, 6).put(2, 9);
  EXPECT_EQ(print(program, full.commit()),
            R"({"template":"T","id":7,"fields":{"A":1,"Outer":[{"B":10,"Inner":[{"C":100},{"C":101}],"D":11},)"
            R"({"B":20,"D":21},{"B":30,"Inner":[],"D":31}],"G":{"E":5,"H":{"F":6}},"Z":9}})");

  RecordMaker bare(program);
  bare.open_root(0).put(0, 1).put(1, 0).open(after).put(2, 9);
  EXPECT_EQ(print(program, bare.commit()), R"({"template":"T","id":7,"fields":{"A":1,"Outer":[],"Z":9}})");

  RecordMaker half(program);
  half.open_root(0).put(0, 1).put(1, 0).open(after).put(0, 5).put(2, 9);
  EXPECT_EQ(print(program, half.commit()),
            R"({"template":"T","id":7,"fields":{"A":1,"Outer":[],"G":{"E":5,"H":{}},"Z":9}})");
}

TEST(JsonPrinter, prints_dynamic_references_as_messages_inside) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 0);
  const std::uint16_t leaf = maker.block(BlockKind::Root, 1);
  maker.make_template("Outer", 1, root, [&] {
    maker.reference();
    maker.reference();
  });
  maker.make_template("Leaf", 2, leaf, [&] { maker.field("X", FieldType::UInt32, leaf, 0); });
  const Program& program = maker.program();
  RecordMaker record(program);
  record.open_root(0).reference(1).put(0, 5).reference(0).reference(1).put(0, 6).reference(1).put(0, 7);
  EXPECT_EQ(
      print(program, record.commit()),
      R"({"template":"Outer","id":1,"fields":{"templateRef":{"template":"Leaf","id":2,"fields":{"X":5}},)"
      R"("templateRef2":{"template":"Outer","id":1,"fields":{"templateRef":{"template":"Leaf","id":2,"fields":{"X":6}},)"
      R"("templateRef2":{"template":"Leaf","id":2,"fields":{"X":7}}}}}})");
}

TEST(JsonPrinter, names_template_and_field_of_an_error) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 5);
  const std::uint16_t element = maker.block(BlockKind::Element, 1, 5);
  maker.make_template("T", 1, root, [&] {
    maker.field("Px", FieldType::Decimal, root, 0);
    maker.sequence("S", root, 2, element, [&] { maker.field("In", FieldType::UInt32, element, 0); });
    maker.sequence(
        "R", root, 3, element, [] {}, false, "NoR");
    maker.optional_group("G", root, 4, [&] { maker.constant("C", FieldType::UInt32, 1); });
  });
  const Program& program = maker.program();
  const auto error = [&](ErrorCode code, std::uint16_t block, std::uint8_t word, std::uint16_t template_index = 0) {
    Event event;
    event.code = code;
    event.template_index = template_index;
    event.block = block;
    event.word = word;
    event.word5 = 41 | std::uint64_t{141} << 32;
    event.word6 = 12;
    return print(program, RecordMaker(program).commit_event(event));
  };
  ASSERT_EQ(program.nodes[0].line, 0U);  // a listing may know no lines
  const std::string d2 = R"({"error":"D2","packet":12,"offset":41,"template":"T",)";
  const std::string detail = R"("detail":"the integer does not fit the type of the field"})";
  EXPECT_EQ(error(ErrorCode::D2, root, 0), d2 + R"("field":"Px",)" + detail);
  EXPECT_EQ(error(ErrorCode::D2, root, 1), d2 + R"("field":"Px",)" + detail);
  EXPECT_EQ(error(ErrorCode::D2, root, 2), d2 + R"("field":"S",)" + detail);
  EXPECT_EQ(error(ErrorCode::D2, root, 3), d2 + R"("field":"NoR",)" + detail);
  EXPECT_EQ(error(ErrorCode::D2, element, 0), d2 + R"("field":"In",)" + detail);
  EXPECT_EQ(error(ErrorCode::D2, root, 4), d2 + detail);  // a witness belongs to no field
  EXPECT_EQ(error(ErrorCode::D2, root, 255), d2 + detail);
  EXPECT_EQ(error(ErrorCode::D9, kNoBlock, 255, 0xFFFF),
            R"({"error":"D9","packet":12,"offset":41,"detail":"no template has the identifier 141"})");
}

TEST(JsonPrinter, prints_other_events_on_lines_of_their_own) {
  const Program program = one_field(FieldType::UInt32);
  const auto print_event = [&](EventKind kind) {
    RecordMaker record(program);
    record.header().channel = 310;
    Event event;
    event.kind = kind;
    event.word5 = 7;
    event.word6 = 3;
    const std::string text = print(program, record.commit_event(event));
    return text.substr(0, text.find(",\"detail\":\""));
  };
  EXPECT_EQ(print_event(EventKind::Gap), R"({"event":"gap","channel":310,"first":7,"missing":3)");
  EXPECT_EQ(print_event(EventKind::Dropped), R"({"event":"dropped","channel":310,"packet":3,"offset":7)");
  EXPECT_EQ(print_event(EventKind::Reset), R"({"event":"reset","channel":310,"packet":3)");
  EXPECT_EQ(print_event(EventKind::Stale), R"({"event":"stale","channel":310,"packet":3)");
  EXPECT_EQ(print_event(EventKind::Recovered), R"({"event":"recovered","channel":310,"packet":3)");
  EXPECT_EQ(print_event(EventKind::LayoutChanged), R"({"event":"layoutChanged","channel":310,"packet":3)");
  EXPECT_EQ(print_event(EventKind::Lost), R"({"event":"lost","channel":310,"missing":3)");
  EXPECT_EQ(print_event(static_cast<EventKind>(9)), "the record is an event of unknown kind / before ");
  EXPECT_EQ(print_event(static_cast<EventKind>(0)), "the record is an event of unknown kind / before ");
}

}  // namespace stopbit::record::json_test
