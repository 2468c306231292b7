#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "assembler/assembler.hpp"
#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/file_text.hpp"

namespace stopbit::assembler::corpus_test {

/// Compiles every template file of the corpus and calls `use` with its path and program.
template <class Use>
void for_each_program(const char* corpus, Use use) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (entry.path().extension() == ".xml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  EXPECT_GE(paths.size(), 20U);
  for (const std::filesystem::path& path : paths) {
    SCOPED_TRACE(path);
    auto source = std::make_shared<SourceBuffer>(path.filename(), testing::file_text(path));
    templates::CompileOptions options;
    if (path.filename() == "opra.xml") options.template_id = 1;  // its template has no identifier
    Diagnostics diagnostics;
    const std::optional<Program> program = templates::compile({source}, options, diagnostics);
    ASSERT_TRUE(program) << diagnostics.format();
    use(*program);
  }
}

#define STOPBIT_NEEDS_CORPUS()                        \
  const char* corpus = std::getenv("STOPBIT_CORPUS"); \
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set"

TEST(AssemblerCorpus, listings_give_the_same_image) {
  STOPBIT_NEEDS_CORPUS();
  for_each_program(corpus, [](const Program& program) {
    const std::vector<std::byte> bytes = image::write(program);
    const Result<Program> read = image::read(bytes);
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(read.value(), canonical(program));
    const std::string listing = disassemble(read.value());
    Diagnostics diagnostics;
    const auto again = assemble(std::make_shared<SourceBuffer>("listing", listing), diagnostics);
    ASSERT_TRUE(again) << diagnostics.format();
    EXPECT_EQ(*again, read.value());
    EXPECT_EQ(image::write(*again), bytes);
  });
}

TEST(AssemblerCorpus, listings_name_the_fields) {
  STOPBIT_NEEDS_CORPUS();
  for_each_program(corpus, [](const Program& program) {
    const std::string listing = disassemble(program);
    // Every instruction that stores something says what.
    std::size_t stores = 0;
    for (const isa::Instruction& in : program.code) stores += in.word != isa::kNoWord;
    std::size_t named = 0;
    for (std::size_t at = listing.find("; ---- Code"); (at = listing.find(": \"", at)) != std::string::npos; ++at)
      ++named;
    EXPECT_EQ(named, stores);
  });
}

TEST(VerifyCorpus, costs_are_plausible) {
  STOPBIT_NEEDS_CORPUS();
  for_each_program(corpus, [](const Program& program) {
    const verify::Report report = verify::check(program);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report.costs.size(), program.templates.size());
    for (const verify::TemplateCost& cost : report.costs) {
      const Template& item = program.templates[cost.template_index];
      EXPECT_GE(cost.instructions, 3U) << program.name(item.name);
      EXPECT_LE(cost.instructions, 2 * item.words + 40U) << program.name(item.name);
      EXPECT_GE(cost.slots, 1U);
      EXPECT_LE(cost.slots, item.words + 1U);
      EXPECT_GE(cost.min_bytes, 1U);
      EXPECT_LE(cost.instructions_per_byte, 60U) << program.name(item.name);
    }
  });
}

TEST(VerifyCorpus, decides_about_flipped_bits_of_real_programs) {
  STOPBIT_NEEDS_CORPUS();
  std::size_t refused = 0;
  for_each_program(corpus, [&](const Program& program) {
    const std::size_t stride = std::max<std::size_t>(1, program.code.size() / 4);
    for (std::size_t i = 0; i < program.code.size(); i += stride) {
      for (int bit = 0; bit < 59; ++bit) {
        const auto mutated = isa::decode(isa::encode(program.code[i]) ^ std::uint64_t{1} << bit);
        if (!mutated) continue;
        Program changed = program;
        changed.code[i] = *mutated;
        refused += !verify::check(changed).ok();
      }
    }
  });
  EXPECT_GT(refused, 500U);
}

}  // namespace stopbit::assembler::corpus_test
