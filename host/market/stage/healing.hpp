#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/market/book/book_set.hpp"
#include "host/market/event/event.hpp"
#include "host/market/stage/counts.hpp"

namespace stopbit::market {

/// Counts books that were right and are not, how they became right again, and how long that took, on the clock of
/// arrivals. One thread; allocates when it is made only.
class Healing {
 public:
  Healing(const BookSet& books, MarketCounts& counts)
      : books_(books), counts_(counts), rows_(std::make_unique<Known[]>(std::size_t{books.instruments()} + 1)) {}

  /// An event that the books have applied.
  void note(const Event& event) noexcept {
    const std::uint32_t row = event.instrument();
    switch (event.kind()) {
      case Kind::SnapshotEnd: loaded_ = row; return;
      case Kind::Stale:
      case Kind::Suspect:
      case Kind::Latest:
      case Kind::Clear: break;
      default: return;
    }
    if (row != kAllInstruments) {
      look(row, event.arrival_ns());
      if (row == loaded_) loaded_ = 0;
      return;
    }
    for (std::uint32_t one = 1; one <= books_.instruments(); ++one) {
      if (books_.is_of_channel(one, event.channel())) look(one, event.arrival_ns());
    }
  }
  /// A fault has ended the book of a row.
  void note_fault(std::uint32_t row, std::uint64_t arrival_ns) noexcept { look(row, arrival_ns); }

 private:
  struct Known {
    std::uint64_t since_ns = 0;  ///< When it was right for the last time.
    bool is_latest = false;
    bool was_latest = false;  ///< Ever: before that nothing has been lost.
  };

  void look(std::uint32_t row, std::uint64_t now_ns) noexcept {
    if (row > books_.instruments()) return;
    Known& known = rows_[row];
    const bool is_latest = books_.standing(row) == Standing::Latest;
    if (is_latest == known.is_latest) return;
    known.is_latest = is_latest;
    if (!is_latest) {
      known.since_ns = now_ns;
      ++counts_.hit;
      return;
    }
    if (known.was_latest) {
      ++(row == loaded_ ? counts_.healed_by_snapshot : counts_.healed_by_message);
      if (now_ns > known.since_ns) counts_.stale_us += (now_ns - known.since_ns) / 1'000;
    }
    known.was_latest = true;
  }

  const BookSet& books_;
  MarketCounts& counts_;
  std::unique_ptr<Known[]> rows_;
  std::uint32_t loaded_ = 0;  ///< Row whose snapshot has just become its book.
};

}  // namespace stopbit::market
