#include "tests/runner/report.hpp"

#include <algorithm>

namespace stopbit::cases {

std::string difference(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  // Longest common subsequence: cases are short.
  const std::size_t n = expected.size();
  const std::size_t m = actual.size();
  std::vector<std::vector<std::size_t>> common(n + 1, std::vector<std::size_t>(m + 1, 0));
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = m; j-- > 0;) {
      common[i][j] = expected[i] == actual[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    }
  }
  std::string text;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && expected[i] == actual[j]) {
      text += "      " + expected[i] + "\n";
      ++i, ++j;
    } else if (i < n && (j == m || common[i + 1][j] >= common[i][j + 1])) {
      text += "    - " + expected[i++] + "\n";
    } else {
      text += "    + " + actual[j++] + "\n";
    }
  }
  return text;
}

void Report::compare(std::string_view section, const std::vector<std::string>& actual, std::string_view who) {
  const std::vector<std::string> expected = file_.lines(file_.find(section));
  actual_.insert_or_assign(std::string(section), actual);
  if (expected == actual) return;
  differences_.push_back(std::string(who) + ": '-- " + std::string(section) + "' differs (- expected, + came out)\n" +
                         difference(expected, actual));
}

std::string Report::updated_text() const {
  std::string text(file_.source()->text());
  for (const auto& [section, lines] : actual_) {
    Diagnostics diagnostics;
    auto source = std::make_shared<const SourceBuffer>("updated", text);
    if (const auto file = CaseFile::parse(source, diagnostics)) text = file->with(section, lines);
  }
  return text;
}

}  // namespace stopbit::cases
