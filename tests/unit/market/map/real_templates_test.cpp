#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "host/market/map/map.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/file_text.hpp"

/// The installed maps against template files of real exchanges: each template whose messages have a number has a rule,
/// and each name of the map is in the templates.
namespace stopbit::market::real_templates_test {

namespace fs = std::filesystem;

struct Pair {
  const char* map;
  const char* templates;    ///< Below the corpus.
  std::size_t without = 0;  ///< Templates without a rule: those that no message of a channel uses.
};

const Pair kPairs[] = {
    {"cme-mdp2", "cme-mdp-2012/templates.xml"},
    {"cme-mdp2", "templates/cme-2007.xml"},
    {"b3-umdf", "templates/b3-puma.xml"},
    {"b3-umdf", "templates/b3-umdf-ntp.xml"},
    {"t7-mdi", "templates/mcx-t7-mdi-1.2.xml"},
    {"t7-mdi", "templates/bse-t7-mdi-1.1.xml"},
    {"t7-emdi", "templates/bse-t7-emdi-1.1.xml"},
    {"t7-emdi", "templates/bse-t7-emds-1.1.xml"},
    {"t7-rdi", "templates/eurex-t7-rdd-1.2.xml"},
    {"t7-rdi", "templates/bse-t7-rdd-1.1.xml"},
    {"t7-rdi", "eurex-rdi-2016/templates.xml", 1},  // FastReset
    {"moex-asts-orders", "templates/moex-asts-2017.xml"},
    {"moex-asts-trades", "templates/moex-asts-2017.xml"},
    {"moex-asts-statistics", "templates/moex-asts-2017.xml"},
    {"moex-spectra-book", "templates/moex-spectra.xml"},
    {"moex-spectra-orders", "templates/moex-spectra.xml"},
    {"szse-l1", "templates/szse-step.xml"},
    // Its other templates are those of a decoder's own test; one of them has no number.
    {"moex-asts-trades", "moex-asts-trades-2019/templates.xml", 6},
};
/// No map covers these.
const std::set<std::string> kUncovered = {"ebs.xml", "opra.xml", "scp-1.1.xml", "sse-t4001.xml"};

std::string corpus() {
  const char* const folder = std::getenv("STOPBIT_CORPUS");
  return folder == nullptr ? "" : folder;
}

TEST(RealTemplates, have_a_rule_for_each_numbered_template) {
  if (corpus().empty()) GTEST_SKIP() << "STOPBIT_CORPUS is not set: no template files of real exchanges";
  for (const Pair& pair : kPairs) {
    SCOPED_TRACE(std::string(pair.map) + " with " + pair.templates);
    Diagnostics diagnostics;
    const fs::path path = fs::path(corpus()) / pair.templates;
    const auto program = templates::compile(
        {std::make_shared<SourceBuffer>(path.filename().string(), testing::file_text(path))}, {}, diagnostics);
    ASSERT_TRUE(program) << diagnostics.format();
    const fs::path file = fs::path(STOPBIT_MAPS_FOLDER) / (std::string(pair.map) + ".toml");
    auto source = read_map(file.filename().string(), testing::file_text(file), diagnostics);
    ASSERT_TRUE(source) << diagnostics.format();
    const auto map = compile_map(std::move(*source), *program, diagnostics);
    EXPECT_TRUE(map) << diagnostics.format();
    if (!map) continue;
    std::size_t without = 0;
    for (std::size_t i = 0; i < map->plans.size(); ++i) {
      if (map->plans[i].rule != kNoIndex || program->templates[i].supplied) continue;
      ++without;
      EXPECT_FALSE(map->plans[i].numbered) << program->name(program->templates[i].name);
    }
    EXPECT_EQ(without, pair.without);
  }
}

TEST(RealTemplates, are_covered_or_known_to_be_uncovered) {
  if (corpus().empty()) GTEST_SKIP() << "STOPBIT_CORPUS is not set: no template files of real exchanges";
  for (const auto& file : fs::directory_iterator(fs::path(corpus()) / "templates")) {
    const std::string name = file.path().filename().string();
    const bool is_covered = std::any_of(std::begin(kPairs), std::end(kPairs),
                                        [&](const Pair& pair) { return fs::path(pair.templates).filename() == name; });
    EXPECT_NE(is_covered, kUncovered.contains(name)) << name;
  }
}

TEST(Maps, are_short_and_each_is_proved_by_templates_but_one) {
  for (const auto& file : fs::directory_iterator(STOPBIT_MAPS_FOLDER)) {
    const std::string name = file.path().stem().string();
    std::ifstream lines(file.path());
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t first = line.find_first_not_of(' ');
      count += first != std::string::npos && line[first] != '#' ? 1 : 0;
    }
    EXPECT_LE(count, 120U) << name;
    Diagnostics diagnostics;
    EXPECT_TRUE(read_map(name, testing::file_text(file.path()), diagnostics)) << diagnostics.format();
    const bool is_proved =
        std::any_of(std::begin(kPairs), std::end(kPairs), [&](const Pair& pair) { return name == pair.map; });
    EXPECT_NE(is_proved, name == "millennium") << name;
  }
}

TEST(Maps, infer_no_depth_from_the_feed) {
  for (const std::string name : {"cme-mdp2", "moex-spectra-book"}) {
    Diagnostics diagnostics;
    const auto source =
        read_map(name, testing::file_text(fs::path(STOPBIT_MAPS_FOLDER) / (name + ".toml")), diagnostics);
    ASSERT_TRUE(source) << diagnostics.format();
    EXPECT_EQ(source->books.front().depth, 0U) << name;
    EXPECT_TRUE(std::any_of(source->messages.begin(), source->messages.end(), [](const MessageRule& rule) {
      return rule.kind == MessageKind::Definition && rule.depth.entries.text == "MDFeedTypes";
    })) << name;
  }
}

TEST(Maps, tell_phases_and_theoretical_prices_of_b3) {
  Diagnostics diagnostics;
  const auto source = read_map("b3", testing::file_text(fs::path(STOPBIT_MAPS_FOLDER) / "b3-umdf.toml"), diagnostics);
  ASSERT_TRUE(source) << diagnostics.format();
  const auto status = std::find_if(source->messages.begin(), source->messages.end(),
                                   [](const MessageRule& rule) { return rule.kind == MessageKind::State; });
  ASSERT_EQ(status->states.size(), 2U);
  EXPECT_EQ(status->states[0].field.text, "TradingSessionSubID");
  EXPECT_EQ(status->states[1].field.text, "SecurityTradingStatus") << "an instrument's own state counts, so it is last";
  const auto theoretical = std::find_if(source->entries.begin(), source->entries.end(), [](const EntryRule& rule) {
    return std::any_of(rule.when.begin(), rule.when.end(),
                       [](const market::Test& test) { return test.field.text == "OpenCloseSettlFlag"; });
  });
  ASSERT_NE(theoretical, source->entries.end());
  EXPECT_EQ(theoretical->statistic, Statistic::IndicativePrice);
  EXPECT_TRUE(std::any_of(theoretical, source->entries.end(), [](const EntryRule& rule) {
    return rule.statistic_field;
  })) << "the rule of the statistics comes after it";
}

}  // namespace stopbit::market::real_templates_test
