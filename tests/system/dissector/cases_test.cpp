// All decode cases and random ones, and what becomes of them when they are cut and their bits are turned: tshark must
// show the values and errors of the engine. All go through one run.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "assembler/assembler.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/form.hpp"
#include "tests/property/random_case.hpp"
#include "tests/runner/run_case.hpp"
#include "tests/system/dissector/fixture.hpp"

namespace stopbit::dissector {
namespace {

class Cases : public FeedsTest {
 protected:
  struct Case {
    std::size_t feed;
    std::string name;
    std::vector<cases::Step> steps;
  };

  void add_cases_of_folder() {
    for (const auto& path : cases::find_cases(std::filesystem::path(STOPBIT_CASES_FOLDER) / "decode")) {
      const auto text = stopbit::testing::file_text_if_any(path);
      ASSERT_TRUE(text) << path;
      add_case(std::filesystem::relative(path, STOPBIT_CASES_FOLDER).string(), *text);
    }
  }

  /// The first seed and their number can be given, to look for more: STOPBIT_SEED, STOPBIT_SEEDS.
  void add_random_cases(std::uint64_t otherwise) {
    const std::uint64_t first = number("STOPBIT_SEED", 1);
    const std::uint64_t count = number("STOPBIT_SEEDS", otherwise);
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      add_case("random case " + std::to_string(seed), cases::case_text(cases::random_case(seed)));
    }
  }

  void add_case(const std::string& name, const std::string& text) {
    SCOPED_TRACE(name);
    Diagnostics diagnostics;
    const auto file = cases::CaseFile::parse(std::make_shared<SourceBuffer>(name, text), diagnostics);
    ASSERT_TRUE(file) << diagnostics.format();
    cases::Report report(*file);
    const cases::CaseOptions options = cases::read_options(*file, report);
    ASSERT_TRUE(report.ok());
    std::optional<Program> program;
    if (const cases::Section* const listing = file->find("program")) {
      program = assembler::assemble(file->as_file(*listing, "program"), diagnostics);
    } else {
      std::vector<std::shared_ptr<const SourceBuffer>> sources;
      for (const cases::Section& section : file->sections()) {
        if (section.name == "template") sources.push_back(file->as_file(section, "template"));
      }
      program = templates::compile(sources, options.compile, diagnostics);
    }
    ASSERT_TRUE(program) << diagnostics.format();
    ASSERT_TRUE(verify::check(*program).ok());
    // The dissector shows fields that are not in the records with which it is compared.
    if (std::any_of(program->nodes.begin(), program->nodes.end(), [](const SchemaNode& node) { return node.unstored; }))
      return;
    const cases::Section* const bytes = file->find("bytes");
    ASSERT_TRUE(bytes);
    auto steps = cases::parse_bytes(file->source(), bytes->begin, bytes->end, diagnostics);
    ASSERT_TRUE(steps) << diagnostics.format();
    cases_.push_back({add_feed({name, options.engine, *std::move(program)}), name, *std::move(steps)});
  }

  static std::uint64_t number(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  }

  [[nodiscard]] std::vector<Datagram> damaged_datagrams(std::size_t max_bytes) const {
    std::vector<Datagram> all;
    for (Datagram& datagram : whole_datagrams()) {
      datagram.channel = 0;
      if (datagram.bytes.size() <= max_bytes) add_damaged(datagram, 0, all);
    }
    return all;
  }

  [[nodiscard]] std::vector<Datagram> whole_datagrams() const {
    std::vector<Datagram> all;
    for (const Case& item : cases_) {
      std::set<std::uint16_t> reset;
      std::size_t number = 0;
      for (const cases::Step& step : item.steps) {
        if (step.kind == cases::Step::Kind::Reset) {
          reset.insert(step.channel);
          continue;
        }
        const std::string what = "datagram " + std::to_string(++number);
        if (!is_sendable(step.bytes)) continue;
        all.push_back({item.feed, step.channel, reset.erase(step.channel) != 0, step.bytes, what});
      }
    }
    return all;
  }

  std::vector<Case> cases_;
};

using RandomCases = Cases;

TEST_F(Cases, are_shown_as_the_engine_decodes_them) {
  add_cases_of_folder();
  expect_same(whole_datagrams());
}

TEST_F(Cases, cut_or_with_a_turned_bit_are_shown_as_the_engine_decodes_them) {
  add_cases_of_folder();
  expect_same(damaged_datagrams(by_form<std::size_t>(24, 160)));
}

TEST_F(RandomCases, are_shown_as_the_engine_decodes_them) {
  add_random_cases(200);
  expect_same(whole_datagrams());
}

TEST_F(RandomCases, cut_or_with_a_turned_bit_are_shown_as_the_engine_decodes_them) {
  add_random_cases(30);
  expect_same(damaged_datagrams(120));
}

}  // namespace
}  // namespace stopbit::dissector
