#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace stopbit::tools {

/// A table with columns as wide as their widest cell; numbers to the right. Cells are text that may be shown.
class Grid {
 public:
  using Cells = std::vector<std::string>;

  explicit Grid(Cells head) { rows_.push_back(std::move(head)); }
  void add(Cells row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text(std::size_t left_columns) const {
    std::vector<std::size_t> widths(rows_[0].size());
    for (const Cells& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const Cells& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (i != 0) line += "  ";
        line += i < left_columns ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("{:>{}}", row[i], widths[i]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
    return out;
  }

 private:
  std::vector<Cells> rows_;
};

}  // namespace stopbit::tools
