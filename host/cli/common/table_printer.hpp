#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "decoder/record/head.hpp"
#include "decoder/record/wide.hpp"

namespace stopbit::tools {

/// Rows of a wide table for people: columns as wide as their widest cell, numbers to the right, a row of titles. Rows
/// are kept until a page is full or flush() is called. Columns only get wider; then the titles are written again. One
/// thread.
class TablePrinter {
 public:
  /// `has_head`: everything that the header says; else time, channel, line and sequence.
  TablePrinter(record::WideTable table, record::TimeStyle style, bool has_head);

  /// Takes the rows of the record at the front of `slots`; appends a page to `out` when one is full.
  [[nodiscard]] record::ReadError print(std::span<const record::Slot> slots, std::string& out);
  /// Appends what is kept.
  void flush(std::string& out);

 private:
  static constexpr std::size_t kPageRows = 1'000;
  static constexpr std::size_t kPageBytes = 1U << 20;
  static constexpr std::size_t kMaxCellLetters = 40;

  struct Cell {
    std::string text;  ///< May be shown on a terminal.
    std::size_t letters = 0;
  };
  using Row = std::vector<Cell>;

  static Cell cell_of(std::string_view text);
  void add_head(Row& row, const record::HeaderView& header) const;
  void add(Row row);
  void append(std::string& out, const Row& row) const;

  record::WideTable table_;
  record::TimeStyle style_;
  bool has_head_;
  std::uint64_t messages_ = 0;
  Row titles_;
  std::vector<bool> is_number_;
  std::vector<std::size_t> widths_;
  bool has_grown_ = true;  ///< The titles are to be written.
  std::vector<Row> rows_;
  std::size_t bytes_ = 0;  ///< Of rows_.
};

}  // namespace stopbit::tools
