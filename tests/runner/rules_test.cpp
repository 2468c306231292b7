// doc/rules.md lists every rule with the cases that show it; this test checks that the list is complete.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include "microcode/base/error_code.hpp"
#include "microcode/isa/isa.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"

namespace stopbit::cases {
namespace {

const std::filesystem::path kFolder = STOPBIT_CASES_FOLDER;

std::string rules_text() {
  return testing::file_text(kFolder / "../../doc/rules.md");
}

/// Words of the table, e.g. paths.
std::vector<std::string> words(std::string_view text) {
  constexpr std::string_view kSeparators = " \t\r\n|`,;()";
  std::vector<std::string> result;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find_first_not_of(kSeparators), text.size());
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(kSeparators), text.size());
    if (end != 0) result.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return result;
}

std::set<std::string> listed_cases() {
  std::set<std::string> result;
  for (const std::string& word : words(rules_text())) {
    if (word.ends_with(".case")) result.insert(word);
  }
  return result;
}

std::set<std::string> existing_cases() {
  std::set<std::string> result;
  for (const auto& path : find_cases(kFolder)) result.insert(path.lexically_relative(kFolder).generic_string());
  return result;
}

/// The code of an error line that a command printed; empty if the line is another one.
std::string printed_code(const std::string& line) {
  constexpr std::string_view kBegin = "{\"error\":\"";
  return line.starts_with(kBegin) ? line.substr(kBegin.size(), line.find('"', kBegin.size()) - kBegin.size()) : "";
}

/// Codes that begin a line of some case's '-- error', or that a command printed.
std::set<std::string> provoked_codes() {
  std::set<std::string> codes;
  for (const auto& path : find_cases(kFolder)) {
    Diagnostics diagnostics;
    const auto source = std::make_shared<const SourceBuffer>(path.string(), testing::file_text(path));
    const auto file = CaseFile::parse(source, diagnostics);
    EXPECT_TRUE(file) << diagnostics.format();
    if (!file) continue;
    for (const std::string& line : file->lines(file->find("error"))) codes.insert(line.substr(0, line.find(' ')));
    for (const std::string& line : file->lines(file->find("stdout"))) codes.insert(printed_code(line));
  }
  return codes;
}

TEST(CaseRules, list_only_cases_that_exist) {
  const std::set<std::string> existing = existing_cases();
  for (const std::string& name : listed_cases()) EXPECT_TRUE(existing.contains(name)) << name;
}

TEST(CaseRules, list_every_case) {
  const std::set<std::string> listed = listed_cases();
  for (const std::string& name : existing_cases()) EXPECT_TRUE(listed.contains(name)) << name;
}

/// Rows of tables whose last cell names cases, or should.
TEST(CaseRules, have_no_empty_row) {
  const std::string text = rules_text();
  std::size_t rows = 0;
  for (std::size_t at = 0; (at = text.find("\n| ", at)) != std::string::npos;) {
    ++at;
    const std::string line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with("| rule |")) continue;
    ++rows;
    EXPECT_NE(line.find(".case`"), std::string::npos) << line;
  }
  EXPECT_GT(rows, 50U);
}

TEST(CaseRules, have_a_decode_case_for_every_instruction) {
  std::set<isa::DataOp> used;
  for (const auto& path : find_cases(kFolder / "decode")) {
    Diagnostics diagnostics;
    const auto source = std::make_shared<const SourceBuffer>(path.string(), testing::file_text(path));
    const auto file = CaseFile::parse(source, diagnostics);
    ASSERT_TRUE(file) << diagnostics.format();
    std::vector<std::shared_ptr<const SourceBuffer>> templates;
    for (const Section& section : file->sections()) {
      if (section.name == "template") templates.push_back(file->as_file(section, "template"));
    }
    if (templates.empty()) continue;
    const auto program = templates::compile(templates, {}, diagnostics);
    if (!program) continue;  // a case with options of its own
    for (const isa::Instruction& in : program->code) used.insert(in.op);
  }
#define STOPBIT_DATA_OP(enumerator, mnemonic, ...) EXPECT_TRUE(used.contains(isa::DataOp::enumerator)) << mnemonic;
#include "microcode/isa/opcodes.def"
}

TEST(CaseRules, have_a_case_for_every_code) {
  std::set<std::string> provoked = provoked_codes();
  provoked.insert("X15");  // of hardware with an unverified program: cases have verified ones
#define STOPBIT_ERROR(enumerator, code, meaning) EXPECT_TRUE(provoked.contains(code)) << code << ": " << meaning;
#include "microcode/base/error_code.def"
#undef STOPBIT_ERROR
}

}  // namespace
}  // namespace stopbit::cases
