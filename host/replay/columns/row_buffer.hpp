#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/replay/columns/column_folder.hpp"

namespace stopbit::replay {

/// The last rows of a table, column after column, until they are written to the columns' files. What a row does not set
/// is 0. One thread; the folder must outlive it.
class RowBuffer {
 public:
  explicit RowBuffer(ColumnFolder& folder);
  RowBuffer(const RowBuffer&) = delete;
  RowBuffer& operator=(const RowBuffer&) = delete;
  ~RowBuffer();

  /// Adds a column. None can be added after the first row or call of `cell`.
  void add(ColumnFile& file);
  /// Where a column is in the buffer.
  [[nodiscard]] std::uint32_t cell(const ColumnFile& file);

  /// A row that can be written to. Valid until its buffer is written, which happens at the beginning of a row of any
  /// table: then `refresh` makes it valid again.
  class Row {
   public:
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    template <class Number>
    [[gnu::always_inline]] void put(std::uint32_t cell, Number value) {
      if (bytes_ == nullptr) [[unlikely]]
        return buffer_->overwrite(cell, number_, static_cast<std::uint64_t>(value));
      std::memcpy(bytes_ + cell + at_ * sizeof(Number), &value, sizeof(Number));
    }
    /// A row that was written is written to again: a template that refers to itself begins the inner message before the
    /// outer one has ended.
    void refresh() noexcept {
      bytes_ = number_ < buffer_->first_ ? nullptr : buffer_->bytes_.get();
      at_ = number_ - buffer_->first_;
    }

   private:
    friend class RowBuffer;
    Row(RowBuffer& buffer, std::uint64_t number) : buffer_(&buffer), number_(number) { refresh(); }
    RowBuffer* buffer_;
    std::uint64_t number_;
    std::uint64_t at_ = 0;  ///< In the buffer.
    std::byte* bytes_ = nullptr;
  };

  [[nodiscard]] Row begin_row() {
    if ((rows_ - first_) % kZeroedRows == 0) [[unlikely]]
      make_room();
    return Row(*this, rows_++);
  }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

  /// Writes the rows, and frees the memory.
  void release();

 private:
  static constexpr std::size_t kMostRows = 8192;
  static constexpr std::size_t kMostBytes = 16U << 20;  ///< Unless a row has very many columns.
  static constexpr std::size_t kZeroedRows = 64;        ///< At a time, when they are needed.

  void lay_out();
  void make_room();
  void write();
  void overwrite(std::uint32_t cell, std::uint64_t row, std::uint64_t value);

  ColumnFolder& folder_;
  std::vector<ColumnFile*> files_;
  std::vector<std::uint32_t> cells_;  ///< Of `files_`.
  std::unordered_map<const ColumnFile*, std::uint32_t> cell_of_;
  std::size_t row_bytes_ = 0;
  std::size_t capacity_ = 0;  ///< Rows; 0 until the columns are laid out.
  std::unique_ptr<std::byte[]> bytes_;
  std::uint64_t first_ = 0;  ///< Row in the buffer.
  std::uint64_t rows_ = 0;
};

}  // namespace stopbit::replay
