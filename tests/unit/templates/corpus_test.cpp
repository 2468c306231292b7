#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "microcode/verify/verify.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/unit/templates/compile_text.hpp"

namespace stopbit::templates::corpus_test {

std::vector<std::filesystem::path> template_files(const std::filesystem::path& corpus) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (entry.path().extension() == ".xml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(TemplateCorpus, compiles_to_verified_programs) {
  const char* corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set";
  const std::vector<std::filesystem::path> files = template_files(corpus);
  EXPECT_GE(files.size(), 20U);
  for (const std::filesystem::path& path : files) {
    CompileOptions options;
    if (path.filename() == "opra.xml") options.template_id = 1;  // Its template has no identifier.
    const Compiled compiled = compile_text(testing::file_text(path), options);
    ASSERT_TRUE(compiled.program) << path << '\n' << compiled.diagnostics.format();
    EXPECT_TRUE(verify::check(*compiled.program).ok()) << path;
  }
}

TEST(TemplateCorpus, needs_an_identifier_for_a_file_without_any) {
  const char* corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set";
  const Compiled compiled = compile_text(testing::file_text(std::filesystem::path(corpus) / "templates/opra.xml"));
  EXPECT_EQ(summary(compiled.diagnostics), "T5@3:5");
}

}  // namespace stopbit::templates::corpus_test
