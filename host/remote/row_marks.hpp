#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stopbit::remote {

/// A set of rows of a table, 1 to a number that is fixed when it is made; taken out in runs of neighbours, in rounds
/// through the table. To mark a row takes a few instructions.
class RowMarks {
 public:
  RowMarks() = default;
  explicit RowMarks(std::uint32_t rows) : rows_(rows), words_(std::size_t{rows} / kBits + 1) {}

  struct Run {
    std::uint32_t first = 0;
    std::uint32_t count = 0;  ///< 0: there is none.
  };

  [[nodiscard]] bool is_empty() const noexcept { return marked_ == 0; }
  /// Marked rows.
  [[nodiscard]] std::uint32_t size() const noexcept { return marked_; }
  void mark(std::uint32_t row) noexcept {
    if (row == 0 || row > rows_) return;
    std::uint64_t& word = words_[row / kBits];
    const std::uint64_t bit = std::uint64_t{1} << row % kBits;
    marked_ += (word & bit) == 0;
    word |= bit;
  }
  /// Rows 1 to `last`.
  void mark_all(std::uint32_t last) noexcept {
    const std::uint64_t end = std::uint64_t{std::min(last, rows_)} + 1;
    for (std::uint64_t from = 0; from < end; from += kBits) {
      std::uint64_t bits = ~std::uint64_t{0};
      if (end - from < kBits) bits = (std::uint64_t{1} << (end - from)) - 1;
      if (from == 0) bits &= ~std::uint64_t{1};
      std::uint64_t& word = words_[from / kBits];
      marked_ += static_cast<std::uint32_t>(std::popcount(bits & ~word));
      word |= bits;
    }
  }
  /// The next rows from where the last run ended, at most `most`, with rows between them that are not marked where
  /// these are few. They are no longer marked.
  [[nodiscard]] Run take(std::uint32_t most) noexcept {
    if (marked_ == 0 || most == 0) return {};
    std::uint32_t first = next_from(at_);
    if (first == 0) first = next_from(1);
    Run run{first, 1};
    unmark(first);
    for (std::uint32_t row = 0; (row = next_from(first + run.count, kGap)) != 0 && row - first < most;) {
      unmark(row);
      run.count = row - first + 1;
    }
    at_ = first + run.count;
    return run;
  }

 private:
  static constexpr std::uint32_t kBits = 64;
  static constexpr std::uint32_t kGap = 8;  ///< Rows that may be in a run without being marked, in a row.

  void unmark(std::uint32_t row) noexcept {
    words_[row / kBits] &= ~(std::uint64_t{1} << row % kBits);
    --marked_;
  }
  /// The first marked row from `row` on, at most `within` rows later; 0: none.
  [[nodiscard]] std::uint32_t next_from(std::uint32_t row, std::uint32_t within = ~std::uint32_t{0}) const noexcept {
    const std::uint64_t end = std::min<std::uint64_t>(std::uint64_t{row} + within, rows_);
    for (std::uint64_t at = row; at <= end; at = (at / kBits + 1) * kBits) {
      const std::uint64_t word = words_[at / kBits] >> at % kBits;
      if (word == 0) continue;
      const std::uint64_t found = at + static_cast<unsigned>(std::countr_zero(word));
      return found <= end ? static_cast<std::uint32_t>(found) : 0;
    }
    return 0;
  }

  std::uint32_t rows_ = 0;
  std::uint32_t marked_ = 0;
  std::uint32_t at_ = 1;  ///< Where the next run is looked for first.
  std::vector<std::uint64_t> words_;
};

}  // namespace stopbit::remote
