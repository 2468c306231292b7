#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "host/market/instrument/layout.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/publish.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::market {

/// Reads an instrument table: of this process, or one that another process writes meanwhile. Safe with any content of
/// the memory: a number is checked before it is used.
class InstrumentView {
 public:
  /// The table NAME.instruments, or PATH.instruments for a name with a '/'. Fails with the reason.
  [[nodiscard]] static Result<InstrumentView> open(std::string_view name,
                                                   const os::Accepted& accepted = os::Accepted());
  /// Over memory that outlives it, as another process may have left it; aligned as a page. For tests.
  [[nodiscard]] static Result<InstrumentView> over(std::span<const std::byte> memory);

  /// Rows are 1 to count().
  [[nodiscard]] std::uint32_t count() const noexcept;
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::uint64_t generation() const noexcept;
  /// Of the ring whose events name these rows (ring::Reader::epoch).
  [[nodiscard]] std::uint64_t ring_epoch() const noexcept;
  [[nodiscard]] std::uint64_t refused() const noexcept;
  /// Names that find_name() does not find.
  [[nodiscard]] std::uint64_t refused_names() const noexcept;
  [[nodiscard]] std::uint64_t changes() const noexcept;
  [[nodiscard]] std::string map_name() const;
  /// At most kMaxQuantityDecimals.
  [[nodiscard]] std::uint32_t quantity_decimals() const noexcept;
  /// Whether the writer has ended. False for a table of this process.
  [[nodiscard]] bool writer_has_ended() const noexcept;
  /// Whether the file was truncated: what is read is zeros.
  [[nodiscard]] bool is_broken() const noexcept { return mapping_.is_broken(); }
  /// Whether the name belongs to another table by now. False for a table of this process. A system call.
  [[nodiscard]] bool replaced() const noexcept;
  /// Of the file; empty for a table of this process.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The mapped file, whole. As long as this lives.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {mapping_.data(), mapping_.bytes()}; }

  /// Gives a table of this user the name of the table of another ring, too; `before`, if any, is what has that name.
  [[nodiscard]] Status share(std::string_view name, const InstrumentView* before) const;
  /// Takes such a name away, if it still is of this table.
  void unshare(std::string_view name) const;

  /// A consistent copy. False if there is no such row, or its writer changes it all the time.
  [[nodiscard]] bool read(std::uint32_t row, InstrumentRow& to) const noexcept;
  /// Changes with each change of the row; 0: there is no such row.
  [[nodiscard]] std::uint64_t version(std::uint32_t row) const noexcept;

  /// Row with this key or, else, this name; 0: none.
  [[nodiscard]] std::uint32_t find(std::string_view key) const noexcept;
  [[nodiscard]] std::uint32_t find_name(std::string_view name) const noexcept;

 private:
  friend class InstrumentTable;
  InstrumentView(const std::byte* data, std::uint32_t capacity, std::uint32_t index_slots) noexcept
      : data_(data), capacity_(capacity), index_slots_(index_slots) {}

  [[nodiscard]] const InstrumentHeader& header() const noexcept {
    return *reinterpret_cast<const InstrumentHeader*>(data_);
  }
  [[nodiscard]] const InstrumentRow& row(std::uint32_t number) const noexcept {
    return reinterpret_cast<const InstrumentRow*>(data_ + kInstrumentHeaderBytes)[number];
  }
  /// 0: by key, 1: by name.
  [[nodiscard]] const std::uint32_t* index(unsigned which) const noexcept {
    return reinterpret_cast<const std::uint32_t*>(data_ + kInstrumentHeaderBytes +
                                                  (std::size_t{capacity_} + 1) * sizeof(InstrumentRow)) +
           which * std::size_t{index_slots_};
  }
  /// The low bits choose the place in an index.
  [[nodiscard]] std::uint64_t hash_of(std::string_view text) const noexcept;
  /// With at most `tries` tries, of which it takes away those that failed.
  [[nodiscard]] bool read(std::uint32_t row, InstrumentRow& to, int& tries) const noexcept;
  template <class Fits>
  [[nodiscard]] std::uint32_t search(unsigned which, std::uint64_t hash, Fits fits) const noexcept;

  const std::byte* data_;
  std::uint32_t capacity_;
  std::uint32_t index_slots_;
  std::string path_;
  os::Mapping mapping_;  ///< Of another process's table.
  os::Descriptor file_;
};

/// Rows that a table of `bytes` bytes has, of which these are the first ones. A failure says what the table is.
[[nodiscard]] Result<std::uint32_t> capacity_of(const InstrumentHeader& header, std::uint64_t bytes);

/// "; did you mean 'KEY'?" for the end of an error; empty if no key or name is similar. Looks at the first 100,000
/// rows.
[[nodiscard]] std::string did_you_mean_instrument(std::string_view wanted, const InstrumentView& view);

/// The text of a row's field.
[[nodiscard]] inline std::string_view key_of(const InstrumentRow& row) noexcept {
  return {row.key, std::min<std::size_t>(row.key_bytes, kInstrumentKeyBytes)};
}
[[nodiscard]] inline std::string_view instrument_name(const InstrumentRow& row) noexcept {
  return {row.name, std::min<std::size_t>(row.name_bytes, kInstrumentNameBytes)};
}
[[nodiscard]] inline std::string_view product_of(const InstrumentRow& row) noexcept {
  return {row.product, std::min<std::size_t>(row.product_bytes, kInstrumentProductBytes)};
}

/// The table's writer. Its size is fixed when it is made; what finds no room is refused and counted. Allocates only
/// when it is made. One thread.
class InstrumentTable {
 public:
  struct Options {
    std::uint32_t capacity = 65'536;
    std::uint64_t generation = 1;
    std::string map_name = {};
    std::uint32_t quantity_decimals = 0;
    std::uint64_t ring_epoch = 0;  ///< Of the ring beside it.
    /// A live table of this process with the same name. Its readers keep it.
    const InstrumentTable* replaces = nullptr;
  };

  /// In private memory.
  [[nodiscard]] static Result<InstrumentTable> make(const Options& options);
  /// In shared memory: NAME.instruments in the folder of this user, or PATH.instruments for a name with a '/'. The
  /// memory is reserved on return.
  [[nodiscard]] static Result<InstrumentTable> create(std::string_view name, const Options& options);
  /// The same without the name: until take_name the table of the name is another one, or none (ring::Writer::prepare).
  [[nodiscard]] static Result<InstrumentTable> prepare(std::string_view name, const Options& options);
  /// Whether take_name would succeed now.
  [[nodiscard]] Status check_name() const { return unnamed_->check(); }
  /// Once, after prepare. `options.replaces` must still live.
  [[nodiscard]] Status take_name();

  [[nodiscard]] const InstrumentView& view() const noexcept { return view_; }
  [[nodiscard]] const InstrumentRow& row(std::uint32_t number) const noexcept { return view_.row(number); }
  [[nodiscard]] std::uint32_t count() const noexcept { return header().count; }

  /// A new row; 0 if there is no room. The key must not be in the table yet. `fill` sets further fields.
  template <class Fill>
  std::uint32_t add(std::string_view key, Fill fill) noexcept {
    if (header().count == view_.capacity_) {
      refuse();
      return 0;
    }
    InstrumentRow row{};
    fill(row);
    return add_row(key, row);
  }
  /// Changes fields of a row, but not its key; readers see all or none of it.
  template <class Change>
  void change(std::uint32_t number, Change change) noexcept {
    InstrumentRow row = view_.row(number);
    change(row);
    replace(number, row, row.version + 2);
  }
  /// The exchange's product complex and name are looked up by readers; the others are only shown.
  void set_name(InstrumentRow& row, std::string_view name) const noexcept;
  static void set_product(InstrumentRow& row, std::string_view product) noexcept;
  void set_channel_state(std::uint32_t state) noexcept;

  /// Makes this a copy of a table of another process, row by row: a row of this table, or the next one. `from` may
  /// hold anything but must be one state of the row. Older states change nothing. False: it cannot be that row.
  [[nodiscard]] bool copy_row(std::uint32_t number, const InstrumentRow& from) noexcept;
  /// The same with what changes in the header.
  void copy_header(const InstrumentHeader& from) noexcept;

 private:
  explicit InstrumentTable(InstrumentView view) noexcept : view_(std::move(view)) {}
  void begin(const Options& options) noexcept;
  std::uint32_t add_row(std::string_view key, InstrumentRow& row) noexcept;
  void replace(std::uint32_t number, InstrumentRow& row, std::uint64_t version) noexcept;
  void refuse() noexcept;
  void index_name(std::uint32_t number, std::string_view name) noexcept;
  [[nodiscard]] InstrumentHeader& header() const noexcept { return const_cast<InstrumentHeader&>(view_.header()); }
  [[nodiscard]] InstrumentRow& own_row(std::uint32_t number) const noexcept {
    return const_cast<InstrumentRow&>(view_.row(number));
  }

  std::unique_ptr<os::NewSegment> unnamed_;  ///< Until take_name.
  InstrumentView view_;
  struct Free {
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;  ///< Of a private table.
  std::uint32_t names_ = 0;                  ///< In the index by name.
};

}  // namespace stopbit::market
