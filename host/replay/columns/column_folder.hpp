#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/result.hpp"

/// A folder of .npy files with an index.
namespace stopbit::replay {

class ColumnFile;
class RowBuffer;

/// The folder, and what went wrong in it first. One thread.
class ColumnFolder {
 public:
  static constexpr std::string_view kIndexName = "index.json";
  /// How an index of ours begins; by it the columns of an earlier run are known.
  static constexpr std::string_view kIndexBegin = R"({"format":"stopbit columns")";

  /// Makes the folder, or takes an empty one. With `force` also one that holds columns: their files are removed, the
  /// index first. Anything else in it is left alone.
  [[nodiscard]] static Result<std::unique_ptr<ColumnFolder>> open(const std::string& path, bool force);
  ColumnFolder(const ColumnFolder&) = delete;
  ColumnFolder& operator=(const ColumnFolder&) = delete;
  ~ColumnFolder();

  /// A file of numbers of `item_bytes`, 1 to 8. `dtype` as numpy writes it: "<u4". `label` makes its name readable; any
  /// text will do. The folder owns it.
  [[nodiscard]] ColumnFile& add(std::string_view label, std::string_view dtype, std::uint8_t item_bytes);

  /// Writes what is buffered, then the head of each file, and last the index. After that nothing can be added.
  [[nodiscard]] Status finish(std::string_view index);
  /// Whether a file could not be written; finish() says why.
  [[nodiscard]] bool has_failed() const noexcept { return !failure_.empty(); }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  /// Of all files, so far.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_written_; }

 private:
  friend class ColumnFile;
  friend class RowBuffer;
  /// Of all buffers, but for those of a file's own. A feed with thousands of fields writes smaller pieces rather than
  /// take more.
  static constexpr std::size_t kBufferBudget = 128U << 20;

  ColumnFolder(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  [[nodiscard]] bool has_our_index() const;
  [[nodiscard]] Status remove_columns(bool force);
  void add(RowBuffer& rows) { row_buffers_.push_back(&rows); }
  void remove(RowBuffer& rows) { std::erase(row_buffers_, &rows); }
  /// Before a buffer of that size is made. Others are released if there is no room: no row may be open.
  void account_for(std::size_t bytes);
  /// Likewise while a row is open: nothing is released.
  void claim(std::size_t bytes) noexcept { buffered_ += bytes; }
  void discount(std::size_t bytes) noexcept { buffered_ -= bytes; }
  void release_buffers();
  void write(const ColumnFile& file, const void* bytes, std::size_t size, std::uint64_t offset, bool is_new);
  void fail(const std::string& file, int error);

  std::string path_;
  int descriptor_;
  std::vector<std::unique_ptr<ColumnFile>> files_;
  std::vector<RowBuffer*> row_buffers_;
  std::size_t buffered_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::string failure_;
};

/// One of its files. Until finish() its head is zeros, so that no reader takes it for whole. What each value touches is
/// in one cache line: a message has a hundred columns.
class alignas(64) ColumnFile {
 public:
  ColumnFile(ColumnFolder& folder, std::string name, std::string_view dtype, std::uint8_t item_bytes)
      : item_bytes_(item_bytes), folder_(folder), name_(std::move(name)), dtype_(dtype) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& dtype() const noexcept { return dtype_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t item_bytes() const noexcept { return item_bytes_; }

  /// The low bytes of `value`.
  [[gnu::always_inline]] void put(std::uint64_t value) {
    if (at_ >= limit_) [[unlikely]]
      make_room();
    std::memcpy(at_, &value, sizeof(value));
    at_ += item_bytes_;
    ++rows_;
  }
  /// Of one-byte items.
  void append(std::string_view bytes) {
    while (!bytes.empty()) {
      if (at_ >= limit_) make_room();
      const std::size_t count = std::min(bytes.size(), static_cast<std::size_t>(limit_ - at_));
      std::memcpy(at_, bytes.data(), count);
      at_ += count;
      rows_ += count;
      bytes.remove_prefix(count);
    }
  }
  /// The first `count` bytes of a word, at most eight.
  [[gnu::always_inline]] void append_word(std::uint64_t word, std::size_t count) {
    if (at_ >= limit_) [[unlikely]]
      make_room();
    std::memcpy(at_, &word, sizeof(word));
    at_ += count;
    rows_ += count;
  }
  /// Whole items, without the buffer.
  void append_items(std::span<const std::byte> items);
  /// An item that append_items has written.
  void overwrite(std::uint64_t row, std::uint64_t value);

 private:
  friend class ColumnFolder;
  static constexpr std::size_t kHeadBytes = 128;
  static constexpr std::size_t kBufferBytes = 64U << 10;

  void make_room();
  void flush();
  void write(std::span<const std::byte> bytes);
  void release();
  [[nodiscard]] std::string head() const;

  std::byte* at_ = nullptr;
  std::byte* limit_ = nullptr;  ///< A number may be stored before it.
  std::uint64_t rows_ = 0;
  std::uint8_t item_bytes_;
  std::uint64_t offset_ = 0;  ///< Of the next write; 0: there is no file yet.
  std::unique_ptr<std::byte[]> buffer_;
  ColumnFolder& folder_;
  std::string name_;
  std::string dtype_;
};

}  // namespace stopbit::replay
