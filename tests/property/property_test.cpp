// Random templates with random messages: what a model of a sender writes, every engine must read.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "templates/compiler.hpp"
#include "tests/lib/form.hpp"
#include "tests/property/projection.hpp"
#include "tests/property/random_case.hpp"
#include "tests/runner/report.hpp"
#include "tests/runner/run_case.hpp"

namespace stopbit::cases {
namespace {

const std::uint64_t kSeeds = by_form<std::uint64_t>(25, 150, 150);

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

std::vector<std::byte> datagram_of(const RandomCase::Packet& packet) {
  std::vector<std::byte> bytes;
  for (const RandomCase::Message& message : packet) {
    for (const Bytes& entity : message) {
      for (const std::uint8_t byte : entity) bytes.push_back(static_cast<std::byte>(byte));
    }
  }
  return bytes;
}

/// The same with one bit turned or the end cut off: errors have their places too.
std::vector<std::byte> damaged(std::vector<std::byte> bytes, Random& random) {
  if (bytes.empty()) return bytes;
  if (random.chance(30)) {
    bytes.resize(random.below(bytes.size()));
  } else {
    bytes[random.below(bytes.size())] ^= std::byte{1} << random.below(8);
  }
  return bytes;
}

/// Records with some fields only must tell of them what whole records do, of good and of damaged datagrams.
TEST(RandomProjections, change_nothing_but_what_is_stored) {
  constexpr int kProjections = 4;
  const std::uint64_t first = number("STOPBIT_SEED", 1);
  const std::uint64_t count = number("STOPBIT_SEEDS", kSeeds);
  std::size_t left_out = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomCase made = random_case(seed);
    const auto source = std::make_shared<const SourceBuffer>("random.xml", made.template_text);
    Diagnostics diagnostics;
    const std::optional<Program> whole = templates::compile({source}, {}, diagnostics);
    ASSERT_TRUE(whole) << diagnostics.format();
    Random random(seed);
    EngineOptions options;
    options.reset = made.reset;
    std::vector<std::vector<std::byte>> good;
    for (const RandomCase::Packet& packet : made.packets) good.push_back(datagram_of(packet));
    for (int i = 0; i < kProjections; ++i) {
      templates::CompileOptions compile;
      const std::string fields = random_fields(*whole, random);
      if (fields.empty()) break;
      compile.fields = std::make_shared<const SourceBuffer>("fields", fields);
      const std::optional<Program> projected = templates::compile({source}, compile, diagnostics);
      ASSERT_TRUE(projected) << "seed " << seed << ", fields " << fields << '\n' << diagnostics.format();
      if (is_projected(*projected)) ++left_out;
      std::vector<std::vector<std::byte>> bad = good;
      for (std::vector<std::byte>& datagram : bad) datagram = damaged(std::move(datagram), random);
      for (const auto* datagrams : {&good, &bad}) {
        ASSERT_EQ(projection_problem(*whole, *projected, options, *datagrams), "")
            << "seed " << seed << ", fields " << fields << '\n'
            << made.template_text;
      }
    }
  }
  EXPECT_GT(left_out, count);  // or nothing was tried
}

}  // namespace
}  // namespace stopbit::cases
