#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace stopbit::test {

/// Cells of a row, without blanks around them and without back quotes.
using Row = std::vector<std::string>;

/// The rows of all tables of a page whose title row begins with the given cells, without the title rows.
inline std::vector<Row> table_rows(const std::string& path, const Row& title) {
  const auto cells_of = [](const std::string& line) {
    Row cells;
    for (std::size_t at = 1; at < line.size();) {
      const std::size_t end = std::min(line.find('|', at), line.size());
      std::string cell;
      for (const char c : line.substr(at, end - at)) {
        if (c != '`') cell += c;
      }
      const std::size_t first = std::min(cell.find_first_not_of(' '), cell.size());
      cells.push_back(cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
      at = end + 1;
    }
    return cells;
  };
  std::ifstream page(path);
  if (!page) throw std::runtime_error("cannot open " + path);
  std::vector<Row> rows;
  bool wanted = false;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with('|')) {
      inside = false;
      continue;
    }
    const Row cells = cells_of(line);
    if (!inside) {
      inside = true;
      wanted = cells.size() >= title.size() && std::equal(title.begin(), title.end(), cells.begin());
    } else if (wanted && !cells[0].starts_with("--")) {
      rows.push_back(cells);
    }
  }
  return rows;
}

}  // namespace stopbit::test
