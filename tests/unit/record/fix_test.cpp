#include "decoder/record/fix.hpp"

#include <gtest/gtest.h>

#include "tests/unit/record/fixture.hpp"

namespace stopbit::record::fix_test {

using namespace std::string_literals;
using test::ProgramMaker;
using test::RecordMaker;

class Fix : public testing::Test {
 protected:
  /// The line of one record of template 0.
  std::string line(RecordMaker& record, FixStyle style = FixStyle::Readable) {
    const Result<Schema> schema = Schema::make(maker_.program());
    EXPECT_TRUE(schema.ok()) << schema.message();
    FixPrinter printer(schema.value(), style);
    std::string out;
    EXPECT_EQ(printer.print(record.commit(), out), ReadError::None);
    return out;
  }

  /// Template 0 is a field of that type in word 0, with tag 9.
  SchemaNode& one_field(FieldType type, std::string_view name = "F") {
    const std::uint16_t root = maker_.block(BlockKind::Root, 2);
    SchemaNode* field = nullptr;
    maker_.make_template("T", 1, root, [&] { field = &maker_.field(name, type, root, 0); });
    field->id = 9;
    return *field;
  }
  std::string of(std::uint64_t value) {
    RecordMaker record(maker_.program());
    record.open_root(0).put(0, value);
    return line(record);
  }
  std::string of(std::string_view value, FixStyle style = FixStyle::Readable) {
    RecordMaker record(maker_.program());
    record.open_root(0).put(0, value);
    return line(record, style);
  }
  std::string of_decimal(std::int64_t mantissa, std::int64_t exponent) {
    RecordMaker record(maker_.program());
    record.open_root(0).put_decimal(0, mantissa, exponent);
    return line(record);
  }

  ProgramMaker maker_;
};

TEST_F(Fix, integers_have_their_sign) {
  one_field(FieldType::Int64);
  EXPECT_EQ(of(static_cast<std::uint64_t>(INT64_MIN)), "9=-9223372036854775808|\n");
}

TEST_F(Fix, large_unsigned_integers_stay_whole) {
  one_field(FieldType::UInt64);
  EXPECT_EQ(of(UINT64_MAX), "9=18446744073709551615|\n");
}

TEST_F(Fix, booleans_are_y_and_n) {
  one_field(FieldType::Boolean);
  EXPECT_EQ(of(1), "9=Y|\n");
  EXPECT_EQ(of(std::uint64_t{0}), "9=N|\n");
}

TEST_F(Fix, decimals_have_no_exponent) {
  one_field(FieldType::Decimal);
  EXPECT_EQ(of_decimal(141150, -2), "9=1411.50|\n");
  EXPECT_EQ(of_decimal(-1, 3), "9=-1000|\n");
  EXPECT_EQ(of_decimal(0, 3), "9=0|\n");
  EXPECT_EQ(of_decimal(-5, -3), "9=-0.005|\n");
  EXPECT_EQ(of_decimal(INT64_MIN, 63), "9=-9223372036854775808" + std::string(63, '0') + "|\n");
}

TEST_F(Fix, enumerations_are_the_fix_value_of_their_element) {
  maker_.elements(one_field(FieldType::Enum), {"B", "S"});
  EXPECT_EQ(of(1), "9=S|\n");
}

TEST_F(Fix, elements_of_a_set_have_a_space_between) {
  maker_.elements(one_field(FieldType::Set), {"a", "b", "c"});
  EXPECT_EQ(of(5), "9=a c|\n");
  EXPECT_EQ(of(std::uint64_t{0}), "9=|\n");
}

TEST_F(Fix, readable_text_cannot_end_its_field_or_line) {
  one_field(FieldType::Ascii);
  EXPECT_EQ(of("a|b\\c\n\x01\x7f="), "9=a\\x7cb\\x5cc\\x0a\\x01\\x7f=|\n");
  EXPECT_EQ(of("\xff"), "9=\\xff|\n");
}

TEST_F(Fix, unicode_stays_as_far_as_it_is_utf8) {
  one_field(FieldType::Unicode);
  EXPECT_EQ(of("\xc3\xa9\xff"), "9=\xc3\xa9\\xff|\n");
}

TEST_F(Fix, raw_values_are_byte_for_byte) {
  one_field(FieldType::ByteVector);
  EXPECT_EQ(of("\xc3\xa9|\x01\n", FixStyle::Raw), "9=\xc3\xa9|\x01\n\x01\n");
  EXPECT_EQ(of("\xc3\xa9|\x01\n"), "9=\\xc3\\xa9\\x7c\\x01\\x0a|\n");
}

TEST_F(Fix, fields_without_id_have_their_name_which_is_never_a_tag) {
  one_field(FieldType::UInt32, "35=x|\n").id = 0;
  EXPECT_EQ(of(7), "\\x335\\x3dx\\x7c\\x0a=7|\n");
}

TEST_F(Fix, mandatory_constants_are_there) {
  const std::uint16_t root = maker_.block(BlockKind::Root, 0);
  maker_.make_template("T", 1, root, [&] { maker_.constant("MsgType", FieldType::Ascii, "X").id = 35; });
  RecordMaker record(maker_.program());
  record.open_root(0);
  EXPECT_EQ(line(record), "35=X|\n");
}

TEST_F(Fix, groups_and_references_stand_in_line_and_sequences_begin_with_their_length) {
  const std::uint16_t root = maker_.block(BlockKind::Root, 2);
  const std::uint16_t element = maker_.block(BlockKind::Element, 1, 2);
  maker_.make_template("T", 1, root, [&] {
    maker_.group("G", [&] { maker_.field("A", FieldType::UInt32, root, 0).id = 1; });
    maker_.sequence(
        "Legs", root, 1, element, [&] { maker_.field("B", FieldType::UInt32, element, 0, true).id = 2; }, false,
        "NoLegs");
    maker_.reference();
  });
  maker_.program().nodes[2].length_id = 555;
  const std::uint16_t other = maker_.block(BlockKind::Root, 1);
  maker_.make_template("U", 2, other, [&] { maker_.field("C", FieldType::UInt32, other, 0); });
  RecordMaker record(maker_.program());
  record.open_root(0).put(0, 5).put(1, 2).open(element).put(0, 8).open(element).reference(1).put(0, 4);
  EXPECT_EQ(line(record), "1=5|555=2|2=8|C=4|\n");
}

TEST_F(Fix, values_of_a_vector_go_by_its_id) {
  const std::uint16_t root = maker_.block(BlockKind::Root, 1);
  const std::uint16_t element = maker_.block(BlockKind::Element, 1, 1);
  maker_.make_template("T", 1, root, [&] {
    maker_.sequence(
        "Sizes", root, 0, element, [&] { maker_.field("", FieldType::Int32, element, 0); }, false, "NoSizes");
  });
  const auto sizes = [&] {
    RecordMaker record(maker_.program());
    record.open_root(0).put(0, 2).open(element).put(0, 7).open(element).put(0, static_cast<std::uint64_t>(-1));
    return line(record);
  };
  EXPECT_EQ(sizes(), "NoSizes=2|Sizes=7|Sizes=-1|\n");
  maker_.program().nodes[0].id = 70;
  EXPECT_EQ(sizes(), "NoSizes=2|70=7|70=-1|\n");
}

TEST_F(Fix, a_message_without_fields_is_a_comment) {
  maker_.make_template("Fast|Reset", 120, maker_.block(BlockKind::Root, 0), [] {});
  RecordMaker record(maker_.program());
  record.open_root(0);
  EXPECT_EQ(line(record), "#template=Fast\\x7cReset|id=120|\n");
}

TEST_F(Fix, events_are_comments) {
  one_field(FieldType::UInt32, "Px");
  const Result<Schema> schema = Schema::make(maker_.program());
  ASSERT_TRUE(schema.ok());
  FixPrinter printer(schema.value(), FixStyle::Readable);
  std::string out;
  const auto print = [&](const Event& event) {
    RecordMaker record(maker_.program());
    EXPECT_EQ(printer.print(record.commit_event(event), out), ReadError::None);
  };
  print({EventKind::DecodeError, ErrorCode::D2, 0, 0, 0, 41, 12});
  print({EventKind::Gap, ErrorCode::None, 0xFFFF, kNoBlock, isa::kNoWord, 91650, 3});
  EXPECT_EQ(out,
            "#error=D2|packet=12|offset=41|template=T|field=Px|detail=" + std::string(code_meaning(ErrorCode::D2)) +
                "|\n#event=gap|channel=0|first=91650|missing=3|detail=sequence numbers are missing|\n");
}

TEST_F(Fix, a_damaged_record_leaves_nothing) {
  one_field(FieldType::Boolean);
  const Result<Schema> schema = Schema::make(maker_.program());
  ASSERT_TRUE(schema.ok());
  FixPrinter printer(schema.value(), FixStyle::Raw);
  RecordMaker record(maker_.program());
  record.open_root(0).put(0, 2);
  std::string out = "before";
  EXPECT_EQ(printer.print(record.commit(), out), ReadError::BadValue);
  EXPECT_EQ(printer.print({}, out), ReadError::Truncated);
  EXPECT_EQ(out, "before");
}

}  // namespace stopbit::record::fix_test
