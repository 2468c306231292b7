#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "host/market/book/book_set.hpp"
#include "host/market/event/event.hpp"
#include "host/market/stage/counts.hpp"
#include "host/market/stage/loss_effects.hpp"
#include "host/market/stage/waiting_rows.hpp"

namespace stopbit::market {

/// Counts books that were right and are not, how they became right again, and how long that took, on the clock of
/// arrivals; what of it each loss of messages did. One thread; allocates when it is made only.
class Healing {
 public:
  Healing(const BookSet& books, MarketCounts& counts)
      : books_(books),
        counts_(counts),
        rows_(std::make_unique<Known[]>(std::size_t{books.instruments()} + 1)),
        stale_(books.instruments()),
        joining_(books.instruments()) {}

  /// An event that the books have applied.
  [[gnu::noinline]] void note(const Event& event) noexcept {
    const std::uint32_t row = event.instrument();
    switch (event.kind()) {
      case Kind::SnapshotEnd: loaded_ = row; return;
      case Kind::Removed:
      case Kind::Definition: note_existence(row, event.kind() == Kind::Definition, event.arrival_ns()); return;
      case Kind::Stale:
      case Kind::Suspect:
      case Kind::Latest:
      case Kind::Clear: break;
      default: return;
    }
    if (row != kAllInstruments) {
      look(row, event.arrival_ns());
      if (event.kind() == Kind::Clear) note_clear(row, static_cast<Cause>(event.id()));
      if (row == loaded_) loaded_ = 0;
      return;
    }
    for (std::uint32_t one = 1; one <= books_.instruments(); ++one) {
      if (books_.is_of_channel(one, event.channel())) look(one, event.arrival_ns());
    }
  }
  /// A fault has ended the book of a row, or it is seen for the first time.
  void note_row(std::uint32_t row, std::uint64_t arrival_ns) noexcept { look(row, arrival_ns); }
  /// The clock of arrivals was set back: what waited goes on waiting. Negative: it goes forth again.
  void set_back(std::int64_t by_ns) noexcept { ahead_ns_ += static_cast<std::uint64_t>(by_ns); }
  [[nodiscard]] LossEffects& losses() noexcept { return losses_; }
  /// The snapshot that is loaded next belongs to this cycle, the first one being 1.
  void note_cycle(std::uint64_t cycle) noexcept { cycle_ = cycle; }
  /// Since the book that is stale longest became so, of those that were right before; 0: there is none.
  [[nodiscard]] std::uint64_t stale_ns(std::uint64_t now_ns) const noexcept {
    return stale_.longest_ns(now_ns + ahead_ns_);
  }
  /// The same of those that have never been right, since their first sight.
  [[nodiscard]] std::uint64_t joining_ns(std::uint64_t now_ns) const noexcept {
    return joining_.longest_ns(now_ns + ahead_ns_);
  }

 private:
  struct Known {
    std::uint64_t since_ns = 0;  ///< When it was right for the last time.
    std::uint64_t loss = 0;      ///< What has ended that; 0: no loss of messages.
    bool is_latest = false;
    bool is_stale = false;      ///< For certain, since then.
    bool was_latest = false;    ///< Ever: before that nothing has been lost.
    bool is_refreshed = false;  ///< It has gone on from nothing, since then.
    bool is_removed = false;    ///< The exchange has ended the instrument: its book is not waited for.
  };

  void look(std::uint32_t row, std::uint64_t arrival_ns) noexcept {
    if (row > books_.instruments()) return;
    const std::uint64_t now_ns = arrival_ns + ahead_ns_;
    Known& known = rows_[row];
    const Standing standing = books_.standing(row);
    const bool is_latest = standing == Standing::Latest;
    if (is_latest != known.is_latest) {
      known.is_latest = is_latest;
      is_latest ? heal(row, now_ns) : hit(row, now_ns);
    }
    if (standing == Standing::Stale && !known.is_removed) {
      (known.was_latest ? stale_ : joining_).add(row, now_ns);
    } else {
      stale_.remove(row);
      joining_.remove(row);
    }
    if (standing != Standing::Stale || known.is_stale) return;
    known.is_stale = true;
    losses_.note_stale(known.loss);
  }
  void note_existence(std::uint32_t row, bool exists, std::uint64_t now_ns) noexcept {
    if (row == 0 || row > books_.instruments() || rows_[row].is_removed != exists) return;
    rows_[row].is_removed = !exists;
    look(row, now_ns);
  }
  void hit(std::uint32_t row, std::uint64_t now_ns) noexcept {
    ++counts_.hit;
    Known& known = rows_[row];
    known.since_ns = now_ns;
    known.loss = losses_.hit();
    known.is_stale = known.is_refreshed = false;
  }
  /// A stale book that is emptied goes on from nothing.
  void note_clear(std::uint32_t row, Cause cause) noexcept {
    const bool is_of_exchange = cause == Cause::Exchange || cause == Cause::Reset || cause == Cause::Join;
    if (is_of_exchange || row > books_.instruments()) return;
    Known& known = rows_[row];
    if (known.is_latest || !known.was_latest || std::exchange(known.is_refreshed, true)) return;
    losses_.note_refreshed(known.loss);
  }
  void heal(std::uint32_t row, std::uint64_t now_ns) noexcept {
    Known& known = rows_[row];
    if (!std::exchange(known.was_latest, true)) return;
    const bool by_snapshot = row == loaded_;
    const std::uint64_t after_ns = now_ns > known.since_ns ? now_ns - known.since_ns : 0;
    ++(by_snapshot ? counts_.healed_by_snapshot : counts_.healed_by_message);
    counts_.stale_us += after_ns / 1'000;
    losses_.heal(known.loss, by_snapshot, after_ns, cycle_);
  }

  const BookSet& books_;
  MarketCounts& counts_;
  std::unique_ptr<Known[]> rows_;
  LossEffects losses_;
  WaitingRows stale_;
  WaitingRows joining_;         ///< Stale, and never right so far.
  std::uint64_t ahead_ns_ = 0;  ///< Of arrivals, by which a clock that was set back seems to go on.
  std::uint64_t cycle_ = 0;
  std::uint32_t loaded_ = 0;  ///< Row whose snapshot has just become its book.
};

}  // namespace stopbit::market
