#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

/// The main function of a program with the unit tests of several ctest tests: each names its files.

namespace {

/// "--files=a.cpp,b.cpp" without the option's name, in parts.
std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> parts;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    parts.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return parts;
}

bool is_in(const testing::TestInfo& test, const std::string& name) {
  const std::string_view path = test.file();
  return path.ends_with("/" + name) || path == name;
}

/// A filter of GoogleTest that selects all tests of the file; empty if it has none.
std::string filter_of(const std::string& name) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (is_in(test, name)) filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kFiles = "--files=";
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kFiles)) {
      std::fprintf(stderr, "unknown argument '%s'\n", argv[i]);
      return 2;
    }
    for (const std::string& name : split(argument.substr(kFiles.size()))) {
      const std::string tests = filter_of(name);
      if (tests.empty()) {
        std::fprintf(stderr, "there is no test of the file '%s'\n", name.c_str());
        return 2;
      }
      filter += tests;
    }
  }
  if (!filter.empty()) GTEST_FLAG_SET(filter, filter);
  return RUN_ALL_TESTS();
}
