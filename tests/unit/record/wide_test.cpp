#include "decoder/record/wide.hpp"

#include <gtest/gtest.h>

#include "tests/unit/record/fixture.hpp"

namespace stopbit::record::wide_test {

using test::ProgramMaker;
using test::RecordMaker;

class Wide : public testing::Test {
 protected:
  Wide() {
    root_ = maker_.block(BlockKind::Root, 2);
    element_ = maker_.block(BlockKind::Element, 1, 2);
    leaf_ = maker_.block(BlockKind::Root, 1, 0);
    maker_.make_template("Quote", 1, root_, [&] {
      maker_.field("Text", FieldType::Ascii, root_, 0, true);
      maker_.sequence(
          "Legs", root_, 1, element_, [&] { maker_.field("Qty", FieldType::Int32, element_, 0, true); }, true);
    });
    maker_.make_template("Quote/Legs", 2, maker_.block(BlockKind::Root, 0), [&] { maker_.reference(); });
    maker_.make_template("Leaf", 3, leaf_, [&] { maker_.field("X", FieldType::Boolean, leaf_, 0, true); });
  }
  [[nodiscard]] Schema schema() const { return std::move(Schema::make(program_)).value(); }
  /// The rows of a record in a table, as CSV without time and place.
  [[nodiscard]] std::string rows(std::string_view name, std::span<const Slot> record) const {
    Result<WideTable> table = WideTable::make(schema(), name);
    if (!table) return table.message();
    std::string out;
    const ReadError error = table.value().read(record, [&](auto indices, auto cells) {
      for (const std::uint32_t index : indices) out += std::to_string(index) + ':';
      for (const WideTable::Cell& cell : cells) out += (cell.is_present ? '<' + cell.text + '>' : "-");
      out += ' ';
    });
    return error == ReadError::None ? out : std::string(error_text(error));
  }

  ProgramMaker maker_;
  Program& program_ = maker_.program();
  std::uint16_t root_ = 0;
  std::uint16_t element_ = 0;
  std::uint16_t leaf_ = 0;
};

TEST_F(Wide, gives_a_row_for_a_message_or_an_element) {
  RecordMaker quote(program_);
  quote.open_root(0).put(0, "").put(1, 2).open(element_).put(0, 7).open(element_);
  const auto record = quote.commit();
  EXPECT_EQ(rows("Quote", record), "<><2> ");
  EXPECT_EQ(rows("1", record), "<><2> ");
  // A template with the whole name comes before a sequence of another one.
  EXPECT_EQ(rows("Quote/Legs", record), "");
  EXPECT_EQ(rows("1/Legs", record), "0:<7> 1:- ");
}

TEST_F(Wide, leaves_out_what_is_inside_a_reference) {
  RecordMaker reference(program_);
  reference.open_root(1).reference(2).put(0, 1);
  const auto record = reference.commit();
  EXPECT_EQ(rows("Quote/Legs", record), "<Leaf> ");
  EXPECT_EQ(rows("Leaf", record), "");
}

TEST_F(Wide, says_which_tables_there_are) {
  const auto unknown = WideTable::make(schema(), "Qoute");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.message().find("did you mean 'Quote'?"), std::string::npos) << unknown.message();
  EXPECT_FALSE(WideTable::make(schema(), "").ok());
  EXPECT_FALSE(WideTable::make(schema(), "Leaf/X").ok());
}

TEST_F(Wide, appends_nothing_of_a_record_that_is_cut) {
  RecordMaker quote(program_);
  quote.open_root(0).put(1, 2).open(element_).put(0, 7).open(element_);
  const auto record = quote.commit();
  WideCsvPrinter printer(std::move(WideTable::make(schema(), "1/Legs")).value(), TimeStyle::Ns);
  std::string out = "kept";
  for (std::size_t slots = 0; slots < record.size(); ++slots) {
    EXPECT_NE(printer.print({record.data(), slots}, out), ReadError::None);
    EXPECT_EQ(out, "kept");
  }
  EXPECT_EQ(printer.print(record, out), ReadError::None);
  EXPECT_EQ(out.substr(0, 6), "kept1,");  // the cut ones were not counted
}

}  // namespace stopbit::record::wide_test
