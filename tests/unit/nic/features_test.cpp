// host/nic/features.md must tell the truth: each row has one state and says where or why, and what it names exists.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace stopbit::nic {
namespace {

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
  std::istringstream text(read(kRoot / "host/nic/features.md"));
  std::string line;
  std::string section;
  for (std::size_t number = 1; std::getline(text, line); ++number) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (line.starts_with("| ") && !line.starts_with("| feature ")) rows.push_back({number, section, cells_of(line)});
  }
  return rows;
}

/// What stands between backticks.
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
      read(kRoot / "host/nic/README.md") + read(kRoot / "bench/bench_nic.cpp") + read(kRoot / "bench/CMakeLists.txt");
  for (const char* folder : {"host/nic", "host/appliance", "tests/nic", "tests/unit/nic", "tests/unit/appliance",
                             "tests/soak", "tests/fuzz"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension().string();
      if (entry.path().filename() == "features_test.cpp") continue;
      if (extension == ".cpp" || extension == ".hpp" || extension == ".def" || extension == ".txt") {
        all += entry.path().filename().string() + '\n' + read(entry.path());
      }
    }
  }
  return all;
}

/// The tests, cases' folder, soaks and figures by which a row may show that it is true.
class Shown {
 public:
  Shown() {
    for (const char* folder : {"tests/unit/nic", "tests/unit/appliance"}) {
      for (const auto& entry : std::filesystem::directory_iterator(kRoot / folder)) {
        if (entry.path().extension() == ".cpp") find_tests(read(entry.path()));
      }
    }
    targets_ = read(kRoot / "tests/unit/nic/CMakeLists.txt");
    soaks_ = read(kRoot / "tests/soak/CMakeLists.txt");
    figures_ = read(kRoot / "host/nic/README.md");
  }
  [[nodiscard]] bool by(std::string_view name) const {
    if (name.ends_with(".case")) return std::filesystem::exists(kRoot / "tests/cases" / name);
    if (name.starts_with("soak.nic_")) return soaks_.find(" " + std::string(name.substr(9))) != std::string::npos;
    if (name.starts_with("nic/")) return figures_.find("`" + std::string(name) + "`") != std::string::npos;
    if (name.starts_with("bench_")) return std::filesystem::exists(kRoot / "bench" / (std::string(name) + ".cpp"));
    if (name.starts_with("nic_") && name.ends_with("_test")) {
      return targets_.find("(" + std::string(name) + " ") != std::string::npos;
    }
    if (!name.ends_with("...")) return tests_.contains(std::string(name));
    name.remove_suffix(3);
    const auto first = tests_.lower_bound(std::string(name));
    return first != tests_.end() && first->starts_with(name);
  }

 private:
  /// The second word between the parentheses of each TEST, TEST_F and TEST_P.
  void find_tests(const std::string& text) {
    for (std::size_t at = text.find("\nTEST"); at != std::string::npos; at = text.find("\nTEST", at + 1)) {
      const std::size_t begin = text.find_first_not_of(' ', text.find(',', at) + 1);
      tests_.insert(text.substr(begin, text.find(')', begin) - begin));
    }
  }
  std::set<std::string> tests_;
  std::string targets_;
  std::string soaks_;
  std::string figures_;
};

bool exists(std::string name, const std::string& tree) {
  if (name.ends_with(".case")) return std::filesystem::exists(kRoot / "tests/cases" / name);
  if (name.starts_with("transport/")) return std::filesystem::exists(kRoot / "host/nic" / name);
  if (name.starts_with("soak.")) name = name.substr(name.find('.') + 1).substr(4);  // soak.nic_kills: "kills"
  if (name.ends_with("...")) name.resize(name.size() - 3);
  for (std::size_t at = name.find("::"); at != std::string::npos; at = name.find("::")) {  // Class::member
    if (tree.find(name.substr(0, at)) == std::string::npos) return false;
    name = name.substr(at + 2);
  }
  return tree.find(name) != std::string::npos;
}

TEST(FeatureTable, has_one_state_for_each_row) {
  const std::set<std::string> states{"here", "comes with hardware", "left out"};
  const std::vector<Row> all = rows();
  EXPECT_EQ(all.size(), 601U);  // the rows of the five documents
  std::set<std::string> seen;
  for (const Row& row : all) {
    ASSERT_EQ(row.cells.size(), 4U + 1U) << "features.md:" << row.line;  // behind the last bar is nothing
    EXPECT_TRUE(states.contains(row.cells[2])) << "features.md:" << row.line << ": " << row.cells[2];
    EXPECT_TRUE(seen.insert(row.section + row.cells[0]).second) << "features.md:" << row.line << ": twice";
  }
}

TEST(FeatureTable, says_where_a_feature_is_or_why_it_is_not) {
  for (const Row& row : rows()) {
    ASSERT_EQ(row.cells.size(), 5U);
    const std::string& why = row.cells[3];
    EXPECT_EQ(why.find("not written"), std::string::npos) << "features.md:" << row.line;
    if (row.cells[2] == "here") {
      EXPECT_FALSE(names_in(why).empty()) << "features.md:" << row.line << ": names nothing";
    } else if (row.cells[2] == "left out") {
      EXPECT_FALSE(why.empty()) << "features.md:" << row.line << ": no reason";
    }
  }
}

TEST(FeatureTable, names_only_what_exists) {
  const std::string tree = text_of_the_tree();
  for (const Row& row : rows()) {
    ASSERT_EQ(row.cells.size(), 5U);
    for (const std::string& name : names_in(row.cells[3])) {
      if (name.starts_with("{")) continue;  // `{node, port}`
      EXPECT_TRUE(exists(name, tree)) << "features.md:" << row.line << ": `" << name << "`";
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
        << "features.md:" << row.line << ": " << row.cells[0] << " names code alone";
    for (const std::string& name : names) {
      // What looks like a test has to be one: words of a sentence, and not the name of a function.
      if (std::count(name.begin(), name.end(), '_') < 3) continue;
      EXPECT_TRUE(shown.by(name)) << "features.md:" << row.line << ": no test `" << name << "`";
    }
  }
  EXPECT_FALSE(shown.by("gives_back_what_nobody_has_written"));
  EXPECT_FALSE(shown.by("gives_back_what_nobody..."));
  EXPECT_FALSE(shown.by("Node::step"));
  EXPECT_FALSE(shown.by("nic_no_such_test"));
  EXPECT_TRUE(shown.by("loses_no_wake_up_of_a_sleeper"));
}

TEST(FeatureTable, finds_what_does_not_exist) {
  const std::string tree = text_of_the_tree();
  EXPECT_FALSE(exists("nic/no-such.case", tree));
  EXPECT_FALSE(exists("gives_back_what_nobody_has_written", tree));
  EXPECT_FALSE(exists("NoSuchClass::step", tree));
  EXPECT_TRUE(exists("Node::step", tree));
}

}  // namespace
}  // namespace stopbit::nic
