// Random templates with random messages: what a model of a sender writes, every engine must read.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "tests/property/random_case.hpp"
#include "tests/runner/report.hpp"
#include "tests/runner/run_case.hpp"

namespace stopbit::cases {
namespace {

constexpr std::uint64_t kSeeds = 150;

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// The first seed and their number can be given, to look for more: STOPBIT_SEED, STOPBIT_SEEDS.
TEST(RandomMessages, decode_to_what_was_sent) {
  const std::uint64_t first = number("STOPBIT_SEED", 1);
  const std::uint64_t count = number("STOPBIT_SEEDS", kSeeds);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string text = case_text(random_case(seed));
    Diagnostics diagnostics;
    const auto file = CaseFile::parse(std::make_shared<const SourceBuffer>("random.case", text), diagnostics);
    ASSERT_TRUE(file) << diagnostics.format();
    Report report(*file);
    run_case(*file, {}, report);
    if (report.ok()) continue;
    std::string told;
    for (const std::string& difference : report.differences()) told += difference + "\n";
    for (const std::string& failure : report.failures()) told += failure + "\n";
    FAIL() << "seed " << seed << ": " << told << "\nthe case, to be kept:\n" << text;
  }
}

}  // namespace
}  // namespace stopbit::cases
