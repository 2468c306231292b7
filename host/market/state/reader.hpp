#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "host/market/book/book_set.hpp"
#include "host/market/state/layout.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::market::state {

/// The book of an instrument as the table has it.
struct Top {
  std::uint32_t sequence = 0;  ///< Of the packet that changed it.
  std::uint16_t channel = 0;
  std::uint64_t arrival_ns = 0;
  std::int64_t bid = kNoPrice;
  std::int64_t bid_quantity = kNoQuantity;
  std::int64_t ask = kNoPrice;
  std::int64_t ask_quantity = kNoQuantity;
  TradingState state = TradingState::Unknown;
  Standing standing = Standing::Stale;
  Cause cause = Cause::Join;
  std::uint8_t bid_known = 0;  ///< Rows from the best before which there is no unknown one, at most 254; kWhole.
  std::uint8_t ask_known = 0;
};

/// Its day so far. Trades are counted from where the table began, unless the exchange tells the figures.
struct DayView {
  std::int64_t last = kNoPrice;
  std::int64_t last_quantity = kNoQuantity;
  std::uint64_t last_ns = 0;
  Side aggressor = Side::None;
  std::int64_t high = kNoPrice;
  std::int64_t low = kNoPrice;
  std::int64_t volume = kNoQuantity;
  std::uint32_t exchange_state = 0;  ///< The exchange's code, of the scale.
  std::uint8_t scale = 0;
};

enum class Read : std::uint8_t {
  Ok,
  NoRow,       ///< The table has no such row, or publishes no levels.
  Unfinished,  ///< The row changed during each try. If that lasts, its writer has died within it: writer().
};

/// Whether a table of `bytes` bytes can begin so. A failure says why not.
[[nodiscard]] Status check_header(const Header& header, std::uint64_t bytes);

/// Reads a state table that it maps read-only, at any time and in any process; late readers need nothing else. Safe
/// with any content of the segment. Reads make no system call and allocate nothing; any thread.
class Reader {
 public:
  /// Refuses tables of users that are not accepted, of another version or of other events.
  [[nodiscard]] static Result<Reader> open(std::string_view name, const os::Accepted& accepted = os::Accepted());
  /// Over memory that outlives it, for tests.
  [[nodiscard]] static Result<Reader> over(std::span<const std::byte> memory);

  /// Instruments 1 to this.
  [[nodiscard]] std::uint32_t rows() const noexcept { return header_.rows; }
  [[nodiscard]] std::uint32_t levels() const noexcept { return header_.levels; }
  [[nodiscard]] std::uint32_t generation() const noexcept { return header_.generation; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return header_.epoch; }
  [[nodiscard]] std::uint32_t writer_pid() const noexcept { return header_.writer_pid; }
  [[nodiscard]] std::uint64_t ring_epoch() const noexcept { return header_.ring_epoch; }
  [[nodiscard]] std::uint64_t heartbeat_ns() const noexcept;

  /// Each is consistent in itself.
  [[nodiscard]] Read read(std::uint32_t row, Top& top) const noexcept;
  [[nodiscard]] Read read(std::uint32_t row, DayView& day) const noexcept;
  /// Both as they were at one moment.
  [[nodiscard]] Read read(std::uint32_t row, Top& top, DayView& day) const noexcept;
  /// Changes with each change of the book or the day; 0: there is no such row. For readers that look at many rows to
  /// find those that have changed.
  [[nodiscard]] std::uint64_t version(std::uint32_t row) const noexcept;
  /// The first rows of both sides, as at the end of an event. `bids` and `asks` hold levels() rows; `counts` receives
  /// how many there are.
  struct Counts {
    std::size_t bids = 0;
    std::size_t asks = 0;
  };
  [[nodiscard]] Read read_levels(std::uint32_t row, std::span<Row> bids, std::span<Row> asks,
                                 Counts& counts) const noexcept;

  enum class Writer : std::uint8_t { Running, Finished, Dead };
  /// A system call.
  [[nodiscard]] Writer writer() const noexcept;
  /// Whether the file was truncated: what is read is zeros.
  [[nodiscard]] bool is_broken() const noexcept { return mapping_.is_broken(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The mapped file, whole. As long as this lives.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {mapping_.data(), mapping_.bytes()}; }
  /// As InstrumentView has them.
  [[nodiscard]] Status share(std::string_view name, const Reader* before) const;
  void unshare(std::string_view name) const;

 private:
  Reader() = default;
  [[nodiscard]] Status check(std::uint64_t bytes);
  [[nodiscard]] const std::uint64_t* part(std::uint32_t row, std::size_t words) const noexcept {
    return reinterpret_cast<const std::uint64_t*>(memory_ + header_.rows_offset + row * header_.row_bytes) + words;
  }

  std::string path_;
  os::Descriptor file_;
  os::Mapping mapping_;
  const std::byte* memory_ = nullptr;
  Header header_{};
};

}  // namespace stopbit::market::state
