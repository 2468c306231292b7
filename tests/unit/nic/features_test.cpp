// Checks doc/nic-features.md: each row has one state and says where or why, and everything it names exists.

#include <gtest/gtest.h>

#include <stdio.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace stopbit::nic::features_test {

const std::filesystem::path kRoot = STOPBIT_SOURCE_DIR;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Row {
  std::size_t line = 0;
  std::string section;
  std::vector<std::string> cells;
};

/// The cells of a table's line, without the space around them. A bar inside of one is written `\|`.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '|' && line[i - 1] != '\\') {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  for (std::string& cell : cells) {
    const std::size_t begin = std::min(cell.find_first_not_of(' '), cell.size());
    cell = cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin);
  }
  return cells;
}

std::vector<Row> rows() {
  std::vector<Row> rows;
  std::istringstream text(read(kRoot / "doc/nic-features.md"));
  std::string line;
  std::string section;
  for (std::size_t number = 1; std::getline(text, line); ++number) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (line.starts_with("| ") && !line.starts_with("| feature ")) rows.push_back({number, section, cells_of(line)});
  }
  return rows;
}

/// The text between backticks.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find('`'); at != std::string::npos;) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string::npos) break;
    names.push_back(text.substr(at + 1, end - at - 1));
    at = text.find('`', end + 1);
  }
  return names;
}

/// All code and all tests of the interface, its bench, and the tables of figures.
std::string text_of_the_tree() {
  std::string all =
      read(kRoot / "bench/results/nic.md") + read(kRoot / "bench/bench_nic.cpp") + read(kRoot / "bench/CMakeLists.txt");
  for (const char* folder : {"host/nic", "host/appliance", "host/lab/network", "tests/nic", "tests/unit/lab/network",
                             "tests/unit/nic", "tests/unit/appliance", "tests/soak", "tests/fuzz", "fpga"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (entry.path().filename() == "features_test.cpp") continue;
      if (extension == ".cpp" || extension == ".hpp" || extension == ".def" || extension == ".txt" ||
          extension == ".sv" || extension == ".toml") {
        all += entry.path().filename().string() + '\n' + read(entry.path());
      }
    }
  }
  return all;
}

/// What a command prints.
std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 4096> buffer;
  for (std::size_t length; (length = std::fread(buffer.data(), 1, buffer.size(), pipe)) != 0;) {
    text.append(buffer.data(), length);
  }
  ::pclose(pipe);
  return text;
}

/// The tests that ctest runs, and their programs: those that are disabled are none.
std::set<std::string> ctest_tests() {
  std::set<std::string> tests;
  std::istringstream lines(output_of(std::string(STOPBIT_CTEST) + " --test-dir '" STOPBIT_BINARY_DIR "' -N -V 2>&1"));
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kCommand = "Test command: ";
    if (const std::size_t command = line.find(kCommand); command != std::string::npos) {
      const std::string path = line.substr(command + kCommand.size());
      tests.insert(std::filesystem::path(path.substr(0, path.find(' '))).filename().string());
      continue;
    }
    const std::size_t number = line.find("Test ");
    const std::size_t colon = line.find(": ");
    if (number == std::string::npos || colon == std::string::npos || line.ends_with("(Disabled)")) continue;
    tests.insert(line.substr(colon + 2));
  }
  return tests;
}

/// "Suite.test" of what a binary lists with --gtest_list_tests; of tests with parameters once.
std::set<std::string> tests_in(const std::string& listed) {
  std::set<std::string> tests;
  std::istringstream lines(listed);
  std::string suite;
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find("  #"));
    if (!line.starts_with("  ")) {
      suite = line.substr(line.find('/') == std::string::npos ? 0 : line.find('/') + 1);
      suite = suite.substr(0, suite.find('/'));
      if (!suite.ends_with('.')) suite += '.';
    } else {
      tests.insert(suite + line.substr(2, line.find('/') - 2));
    }
  }
  return tests;
}

/// Whether it looks like a test: "Suite.a_sentence", and neither a file nor a section of a configuration.
bool is_test(const std::string& name) {
  const std::size_t dot = name.find('.');
  return dot != std::string::npos && dot != 0 && std::isupper(static_cast<unsigned char>(name.front())) != 0 &&
         name.find_first_of("/ :") == std::string::npos;
}

bool exists(std::string name, const std::string& tree) {
  if (name.ends_with(".case")) return std::filesystem::exists(kRoot / "tests/cases" / name);
  if (is_test(name)) name = name.substr(name.find('.') + 1);
  if (name.starts_with("transport/")) return std::filesystem::exists(kRoot / "host/nic" / name);
  if (name.starts_with("soak.")) name = name.substr(name.find('.') + 1).substr(4);  // soak.nic_kills: "kills"
  if (name.ends_with("...")) name.resize(name.size() - 3);
  for (std::size_t at = name.find("::"); at != std::string::npos; at = name.find("::")) {  // Class::member
    if (tree.find(name.substr(0, at)) == std::string::npos) return false;
    name = name.substr(at + 2);
  }
  return tree.find(name) != std::string::npos;
}

/// The tests, cases, soaks and figures by which a row may show that it is true: of those that are built, and run.
class Shown {
 public:
  Shown() : run_(ctest_tests()) {
    std::istringstream paths(read(STOPBIT_TEST_LIST));
    for (std::string path; std::getline(paths, path);) {
      const std::string name = std::filesystem::path(path).filename().string();
      EXPECT_TRUE(run_.contains(name)) << "ctest does not run " << name;
      EXPECT_TRUE(std::filesystem::exists(path)) << path << " is not built";
      if (run_.contains(name)) tests_.merge(tests_in(output_of("'" + path + "' --gtest_list_tests")));
    }
    figures_ = read(kRoot / "bench/results/nic.md");
  }
  [[nodiscard]] bool by(const std::string& name) const {
    if (name.ends_with(".case")) {
      return run_.contains("cases.nic") && name.starts_with("nic/") &&
             std::filesystem::exists(kRoot / "tests/cases" / name);
    }
    if (name.starts_with("soak.nic_")) return run_.contains(name);
    if (name.starts_with("nic/")) return figures_.find("`" + name + "`") != std::string::npos;
    if (name.starts_with("bench_")) return std::filesystem::exists(kRoot / "bench" / (name + ".cpp"));
    return tests_.contains(name);
  }
  /// Of logic: what ctest runs, where there are the programs that simulate it; else what is written.
  [[nodiscard]] bool in_simulation(const std::string& name) const {
    if (by(name) || run_.contains(name)) return true;
    if (is_test(name)) {
      const std::size_t dot = name.find('.');
      return tree_.find('(' + name.substr(0, dot) + ", " + name.substr(dot + 1) + ')') != std::string::npos;
    }
    const bool is_of_logic = name.starts_with("rtl_") || name.starts_with("fpga_");
    return is_of_logic && !run_.contains("rtl_arbiter_test") && exists(name, tree_);
  }
  [[nodiscard]] const std::set<std::string>& tests() const noexcept { return tests_; }

 private:
  std::set<std::string> run_;
  std::set<std::string> tests_;
  std::string figures_;
  std::string tree_ = text_of_the_tree();
};

TEST(FeatureTable, has_one_state_for_each_row) {
  const std::set<std::string> states{"here", "simulated", "left out"};
  const std::vector<Row> all = rows();
  EXPECT_EQ(all.size(), 601U);  // the rows of the five documents
  std::set<std::string> seen;
  for (const Row& row : all) {
    ASSERT_EQ(row.cells.size(), 4U + 1U) << "nic-features.md:" << row.line;  // nothing follows the last bar
    EXPECT_TRUE(states.contains(row.cells[2])) << "nic-features.md:" << row.line << ": " << row.cells[2];
    EXPECT_TRUE(seen.insert(row.section + row.cells[0]).second) << "nic-features.md:" << row.line << ": twice";
  }
}

TEST(FeatureTable, says_where_a_feature_is_or_why_it_is_not) {
  for (const Row& row : rows()) {
    ASSERT_EQ(row.cells.size(), 5U);
    const std::string& why = row.cells[3];
    EXPECT_EQ(why.find("not written"), std::string::npos) << "nic-features.md:" << row.line;
    if (row.cells[2] == "here" || row.cells[2] == "simulated") {
      EXPECT_FALSE(names_in(why).empty()) << "nic-features.md:" << row.line << ": names nothing";
    } else if (row.cells[2] == "left out") {
      EXPECT_FALSE(why.empty()) << "nic-features.md:" << row.line << ": no reason";
    }
  }
}

TEST(FeatureTable, names_only_what_exists) {
  const std::string tree = text_of_the_tree();
  for (const Row& row : rows()) {
    ASSERT_EQ(row.cells.size(), 5U);
    for (const std::string& name : names_in(row.cells[3])) {
      if (name.starts_with("{")) continue;  // `{node, port}`
      EXPECT_TRUE(exists(name, tree)) << "nic-features.md:" << row.line << ": `" << name << "`";
    }
  }
}

TEST(FeatureTable, shows_what_is_here_by_a_test_a_case_or_a_figure) {
  const Shown shown;
  for (const Row& row : rows()) {
    ASSERT_EQ(row.cells.size(), 5U);
    if (row.cells[2] != "here") continue;
    const std::vector<std::string> names = names_in(row.cells[3]);
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const std::string& name) { return shown.by(name); }))
        << "nic-features.md:" << row.line << ": " << row.cells[0] << " names code alone";
    for (const std::string& name : names) {
      // Neither the sentence of a test without its suite, nor a whole binary.
      const bool is_sentence = std::count(name.begin(), name.end(), '_') >= 3 && name.find('.') == std::string::npos;
      EXPECT_FALSE(name.starts_with("nic_") && name.ends_with("_test"))
          << "nic-features.md:" << row.line << ": " << name;
      if (is_test(name) || is_sentence) {
        EXPECT_TRUE(shown.by(name)) << "nic-features.md:" << row.line << ": no test `" << name << "`";
      }
    }
  }
  EXPECT_GT(shown.tests().size(), 100U);
  EXPECT_FALSE(shown.by("Events.gives_back_what_nobody_has_written"));
  EXPECT_FALSE(shown.by("Node::step"));
  EXPECT_FALSE(shown.by("nic_node_test"));
  EXPECT_FALSE(shown.by("nic/no-such.case"));
  EXPECT_FALSE(shown.by("soak.nic_nothing"));
}

TEST(FeatureTable, shows_what_is_simulated_by_a_test) {
  const Shown shown;
  std::size_t count = 0;
  for (const Row& row : rows()) {
    ASSERT_EQ(row.cells.size(), 5U);
    if (row.cells[2] != "simulated") continue;
    ++count;
    const std::vector<std::string> names = names_in(row.cells[3]);
    EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const std::string& n) { return shown.in_simulation(n); }))
        << "nic-features.md:" << row.line << ": " << row.cells[0] << " names no test";
    for (const std::string& name : names) {
      if (!is_test(name) && !name.ends_with("_test")) continue;
      EXPECT_TRUE(shown.in_simulation(name)) << "nic-features.md:" << row.line << ": no test `" << name << "`";
    }
  }
  EXPECT_GT(count, 10U);
  EXPECT_FALSE(shown.in_simulation("rtl_of_nothing_test"));
  EXPECT_FALSE(shown.in_simulation("NetworkPortTest.does_what_no_test_says"));
}

TEST(FeatureTable, takes_only_tests_that_are_not_disabled) {
  const std::set<std::string> tests = tests_in(
      "Running main() from x\nSuite.\n  one\n  DISABLED_two\nWays/Both.  # TypeParam\n  three/near  # GetParam() = 1\n"
      "  three/far\nTyped/0.  # TypeParam = int\n  four\n");
  EXPECT_TRUE(tests.contains("Suite.one"));
  EXPECT_FALSE(tests.contains("Suite.two"));
  EXPECT_TRUE(tests.contains("Both.three"));
  EXPECT_EQ(tests.size(), 4U);
}

TEST(FeatureTable, finds_what_does_not_exist) {
  const std::string tree = text_of_the_tree();
  EXPECT_FALSE(exists("nic/no-such.case", tree));
  EXPECT_FALSE(exists("gives_back_what_nobody_has_written", tree));
  EXPECT_FALSE(exists("NoSuchClass::step", tree));
  EXPECT_TRUE(exists("Node::step", tree));
}

}  // namespace stopbit::nic::features_test
