#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "host/market/book/book_set.hpp"
#include "host/market/event/event.hpp"
#include "host/market/state/layout.hpp"
#include "host/market/state/memory.hpp"
#include "host/os/shm/publish.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::market::state {

class Table;

struct TableOptions {
  std::uint32_t rows = 1'024;       ///< Instruments 1 to this.
  std::uint32_t levels = 0;         ///< A side, at most kMaxLevels.
  std::uint32_t generation = 0;     ///< Of the instrument table.
  std::uint64_t ring_epoch = 0;     ///< Of the ring beside it.
  const Table* replaces = nullptr;  ///< A live table of this process with the same name. Its readers keep it.
  bool is_copy = false;             ///< Only copy_row changes it.
};

/// The writer's side of a state table. One thread. After create it makes no allocation, lock, system call or page
/// fault. The segment remains after the writer, for late readers; the next writer of the name replaces it.
class Table {
 public:
  /// Makes `NAME.state` in the folder of plain names (host/os/shm/folder.hpp), or the file `PATH.state` for a name with
  /// a '/'. Replaces a segment whose writer has ended; fails if the writer is alive, or if memory is short.
  [[nodiscard]] static Result<Table> create(std::string_view name, const TableOptions& options);
  /// The same without the name: until take_name the table of the name is another one, or none (ring::Writer::prepare).
  [[nodiscard]] static Result<Table> prepare(std::string_view name, const TableOptions& options);
  /// Whether take_name would succeed now.
  [[nodiscard]] Status check_name() const { return unnamed_->check(); }
  /// Once, after prepare. `options.replaces` must still live.
  [[nodiscard]] Status take_name();
  /// In private memory, for tests and benchmarks.
  [[nodiscard]] static Result<Table> create_private(const TableOptions& options);

  Table(Table&&) = default;
  Table& operator=(Table&&) = delete;
  ~Table();

  [[nodiscard]] std::uint32_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint32_t levels() const noexcept { return levels_; }

  /// Publishes the book of a row if its best or its state is another than before, as of this event.
  void put_book(std::uint32_t row, const BookSet& books, const Event& event) noexcept;
  /// Publishes what a trade, a bust, a statistic or a state says of the day; then put_book() must follow, which is what
  /// makes both parts belong together.
  void put_day(std::uint32_t row, const Event& event) noexcept;
  /// Publishes the first levels of a row. After put_book().
  void put_levels(std::uint32_t row, const BookSet& books) noexcept;

  /// Of a copy of a table of another process: takes a row that was read from there three times, one after the other,
  /// each `row_bytes` long. What was read may be anything. A part is taken if it is newer than that here, and if its
  /// version was the same all the time, so that nobody wrote while it was read the second time. False: that is not so
  /// of each part; the row has to be read again.
  [[nodiscard]] bool copy_row(std::uint32_t row, const std::uint64_t* before, const std::uint64_t* words,
                              const std::uint64_t* after) noexcept;

  /// Heartbeat, to be called from time to time.
  void beat(std::uint64_t now_ns) const noexcept;
  /// Marks the segment as finished; the destructor does the same.
  void finish() const noexcept;
  /// Removes the name if it still belongs to this segment; for a writer that ends before it has begun.
  void unlink() const noexcept;
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {memory_, bytes_}; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Whether the segment's file was truncated: readers no longer see changes.
  [[nodiscard]] bool is_broken() const noexcept { return mapping_.is_broken(); }

 private:
  /// The last published values: the segment is not read back.
  struct Shown {
    std::uint32_t book = 0;  ///< Versions.
    std::uint32_t day = 0;
    std::uint32_t levels = 0;
    std::uint32_t day_of_book = 0;
    std::int64_t bid = kNoPrice;
    std::int64_t bid_quantity = kNoQuantity;
    std::int64_t ask = kNoPrice;
    std::int64_t ask_quantity = kNoQuantity;
    std::uint64_t state = 0;
    std::uint64_t unused = 0;
  };
  static_assert(sizeof(Shown) == 64);
  struct ShownDay {
    Day day{};
    bool has_volume = false;  ///< The exchange tells the volume; trades are not added up.
  };

  Table() = default;
  void fill(const TableOptions& options, std::byte* memory, std::size_t bytes);
  [[nodiscard]] Header& header() const noexcept { return *reinterpret_cast<Header*>(memory_); }
  [[nodiscard]] std::uint64_t* part(std::uint32_t row, std::size_t words) const noexcept {
    return reinterpret_cast<std::uint64_t*>(rows_at_ + row * row_bytes_) + words;
  }

  std::unique_ptr<os::NewSegment> unnamed_;  ///< Until take_name.
  std::string path_;
  os::Descriptor file_;  ///< Holds the lock.
  os::Mapping mapping_;
  std::unique_ptr<std::byte[]> private_;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::byte* rows_at_ = nullptr;
  std::size_t row_bytes_ = 0;
  std::uint32_t rows_ = 0;
  std::uint32_t levels_ = 0;
  std::unique_ptr<Shown[]> shown_;
  std::unique_ptr<ShownDay[]> days_;
  std::unique_ptr<Row[]> scratch_;  ///< levels() rows.
};

}  // namespace stopbit::market::state
