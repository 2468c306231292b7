#include "decoder/record/csv.hpp"

#include <gtest/gtest.h>

#include "tests/unit/record/fixture.hpp"

namespace stopbit::record::csv_test {

using test::ProgramMaker;
using test::RecordMaker;

class Csv : public testing::Test {
 protected:
  Csv() {
    root_ = maker_.block(BlockKind::Root, 6);
    element_ = maker_.block(BlockKind::Element, 1, 6);
    leaf_ = maker_.block(BlockKind::Root, 1, 0);
    maker_.make_template("Quote", 1, root_, [&] {
      maker_.field("Text", FieldType::Ascii, root_, 0, true);
      maker_.elements(maker_.field("Set", FieldType::Set, root_, 1, true), {"a", "b", "c"});
      maker_.optional_group("G", root_, 2, [&] { maker_.field("Px", FieldType::Decimal, root_, 2); });
      maker_.sequence(
          "Legs", root_, 4, element_, [&] { maker_.field("Qty", FieldType::Int32, element_, 0, true); }, true);
    });
    maker_.make_template("Ref,erer", 2, maker_.block(BlockKind::Root, 0), [&] { maker_.reference(); });
    maker_.make_template("Leaf", 3, leaf_, [&] { maker_.field("X", FieldType::Boolean, leaf_, 0, true); });
  }

  ProgramMaker maker_;
  Program& program_ = maker_.program();
  std::uint16_t root_ = 0;
  std::uint16_t element_ = 0;
  std::uint16_t leaf_ = 0;
};

TEST_F(Csv, writes_one_row_a_value_with_its_path) {
  const Result<Schema> schema = Schema::make(program_);
  ASSERT_TRUE(schema.ok()) << schema.message();
  CsvPrinter printer(schema.value());
  std::string out(CsvPrinter::kTitle);
  RecordMaker quote(program_);
  quote.header().sequence = 77;
  quote.open_root(0).put(0, "plain").put(1, 6).put_decimal(2, 141150, -2).put(4, 2);
  quote.open(element_).put(0, static_cast<std::uint64_t>(-4)).open(element_);
  EXPECT_EQ(printer.print(quote.commit(), out), ReadError::None);

  RecordMaker empty(program_);
  empty.open_root(0);
  EXPECT_EQ(printer.print(empty.commit(), out), ReadError::None);

  RecordMaker reference(program_);
  reference.open_root(1).reference(2).put(0, 1);
  EXPECT_EQ(printer.print(reference.commit(), out), ReadError::None);

  EXPECT_EQ(out,
            "message,packet_sequence,template,path,value\n"
            "1,77,Quote,Text,plain\n"
            "1,77,Quote,Set,b c\n"
            "1,77,Quote,G.Px,1411.50\n"
            "1,77,Quote,Legs,2\n"
            "1,77,Quote,Legs[0].Qty,-4\n"
            "2,0,Quote,,\n"
            "3,0,\"Ref,erer\",templateRef,Leaf\n"
            "3,0,\"Ref,erer\",templateRef.X,true\n");
}

TEST_F(Csv, quotes_what_would_break_a_row) {
  const Result<Schema> schema = Schema::make(program_);
  ASSERT_TRUE(schema.ok());
  CsvPrinter printer(schema.value());
  const auto value = [&](std::string_view text) {
    RecordMaker quote(program_);
    quote.open_root(0).put(0, text);
    std::string out;
    EXPECT_EQ(printer.print(quote.commit(), out), ReadError::None);
    return out.substr(out.find("Text,") + 5);
  };
  EXPECT_EQ(value("a,b"), "\"a,b\"\n");
  EXPECT_EQ(value("say \"hi\""), "\"say \"\"hi\"\"\"\n");
  EXPECT_EQ(value("two\nlines"), "\"two\nlines\"\n");
  EXPECT_EQ(value("\xE9"), "\xC3\xA9\n");
  EXPECT_EQ(value(""), "\n");
}

TEST_F(Csv, gives_events_rows_of_their_own) {
  const Result<Schema> schema = Schema::make(program_);
  ASSERT_TRUE(schema.ok());
  CsvPrinter printer(schema.value());
  std::string out;
  Event error;
  error.code = ErrorCode::D2;
  error.template_index = 0;
  error.block = root_;
  error.word = 3;
  error.word5 = 41;
  error.word6 = 12;
  EXPECT_EQ(printer.print(RecordMaker(program_).commit_event(error), out), ReadError::None);
  Event gap;
  gap.kind = EventKind::Gap;
  gap.word5 = 100;
  gap.word6 = 3;
  EXPECT_EQ(printer.print(RecordMaker(program_).commit_event(gap), out), ReadError::None);
  EXPECT_EQ(out,
            ",0,Quote,!error,\"D2 at 41 in packet 12, field Px: the integer does not fit the type of the field\"\n"
            ",0,,!gap,3 from 100: sequence numbers are missing\n");
}

TEST_F(Csv, appends_nothing_for_a_damaged_record) {
  const Result<Schema> schema = Schema::make(program_);
  ASSERT_TRUE(schema.ok());
  CsvPrinter printer(schema.value());
  std::vector<Slot> record = RecordMaker(program_).open_root(0).put(0, "x").put(4, 1).commit();
  std::string out = "before";
  EXPECT_EQ(printer.print(record, out), ReadError::MissingSlots);
  EXPECT_EQ(printer.print({}, out), ReadError::Truncated);
  EXPECT_EQ(out, "before");
}

}  // namespace stopbit::record::csv_test
