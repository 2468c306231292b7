#include "tests/lib/case_file.hpp"

#include <gtest/gtest.h>

namespace stopbit::cases::case_file_test {

std::optional<CaseFile> parse(std::string text, Diagnostics& diagnostics) {
  return CaseFile::parse(std::make_shared<const SourceBuffer>("x.case", std::move(text)), diagnostics);
}

constexpr const char* kCase =
    "-- about\nOne field.\n\n-- template\n<a>\n  <!-- b\n-->\n</a>\n\n-- bytes\n80\n-- records\nA { }\nB { }\n";

TEST(CaseFile, finds_its_sections) {
  Diagnostics diagnostics;
  const auto file = parse(kCase, diagnostics);
  ASSERT_TRUE(file) << diagnostics.format();
  ASSERT_EQ(file->sections().size(), 4U);
  EXPECT_EQ(file->text(*file->find("template")), "<a>\n  <!-- b\n-->\n</a>\n");
  EXPECT_EQ(file->lines(file->find("records")), (std::vector<std::string>{"A { }", "B { }"}));
  EXPECT_EQ(file->find("error"), nullptr);
  EXPECT_TRUE(file->lines(nullptr).empty());
}

TEST(CaseFile, gives_a_section_as_a_file_whose_lines_begin_at_one) {
  Diagnostics diagnostics;
  const auto file = parse("-- about\nx\n-- template b.xml\n<a/>\n", diagnostics);
  ASSERT_TRUE(file) << diagnostics.format();
  const auto source = file->as_file(*file->find("template"), "a.xml");
  EXPECT_EQ(source->name(), "b.xml");
  EXPECT_EQ(source->line(1), "<a/>");
}

TEST(CaseFile, replaces_adds_and_drops_sections) {
  Diagnostics diagnostics;
  const auto file = parse(kCase, diagnostics);
  ASSERT_TRUE(file);
  const std::string head(file->source()->text().substr(0, file->find("records")->header));
  EXPECT_EQ(file->with("records", {"C { }"}), head + "-- records\nC { }\n");
  EXPECT_EQ(file->with("records", {}), head);
  EXPECT_EQ(file->with("error", {"D9 at 1"}), std::string(kCase) + "-- error\nD9 at 1\n");
}

TEST(CaseFile, refuses_text_it_does_not_understand) {
  Diagnostics diagnostics;
  EXPECT_FALSE(parse("hello\n-- about\nx\n-- recods\n-- bytes\n-- bytes\n", diagnostics));
  EXPECT_EQ(diagnostics.errors(), 3U) << diagnostics.format();
  EXPECT_NE(diagnostics.format().find("x.case:4:4"), std::string::npos) << diagnostics.format();
}

TEST(CaseFile, wants_to_know_what_it_is_about) {
  Diagnostics diagnostics;
  EXPECT_FALSE(parse("-- bytes\n80\n", diagnostics));
}

}  // namespace stopbit::cases::case_file_test
