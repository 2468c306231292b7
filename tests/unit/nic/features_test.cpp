// host/nic/features.md must tell the truth: each row has one state and says where or why, and what it names exists.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
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

TEST(FeatureTable, finds_what_does_not_exist) {
  const std::string tree = text_of_the_tree();
  EXPECT_FALSE(exists("nic/no-such.case", tree));
  EXPECT_FALSE(exists("gives_back_what_nobody_has_written", tree));
  EXPECT_FALSE(exists("NoSuchClass::step", tree));
  EXPECT_TRUE(exists("Node::step", tree));
}

}  // namespace
}  // namespace stopbit::nic
