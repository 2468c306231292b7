#pragma once

#include <cstdint>

#include "host/market/event/event.hpp"

namespace stopbit::market {

enum class SyncState : std::uint8_t {
  Latest,   ///< The book is the exchange's at the newest message.
  Suspect,  ///< It is one that the exchange had; messages are missing that may have changed it.
  Stale,    ///< Something of it is missing, or it has never been known.
};

/// What the number of a mark counts.
enum class Basis : std::uint8_t {
  None,     ///< Nothing: only a snapshot of the instrument helps.
  Scope,    ///< Entries, or messages, of the instrument's scope.
  Channel,  ///< Messages of the channel.
};

/// State of an instrument, and since when.
struct Mark {
  SyncState state = SyncState::Stale;
  Cause cause = Cause::Join;
  Basis basis = Basis::None;
  std::uint64_t since = 0;  ///< First number that is missing; 1 where that is not known any more.

  /// Whether only the number differs, if anything.
  [[nodiscard]] bool is_like(const Mark& other) const noexcept {
    return state == other.state && cause == other.cause && basis == other.basis;
  }
};

/// Receives what the synchroniser decides, in order, on its thread, from within its inputs.
///
/// A loss changes the state of many instruments in one call. A reader of states keeps the mark of each row:
///
///     state(row, mark)                 row := mark
///     state_of(scope, mark)            rows of the scope that are latest := mark; so are those with basis Channel, if
///                                      the mark's is Scope
///     spared(row, mark)                the last state_of() does not concern this row: row := mark
///     healed(scope, basis, to, mark)   rows of the scope with this basis that are marked since more than `to` := mark
///
/// Scope 0 is the channel: all rows. restarted() and forgotten() set the marks of all rows, too.
class SyncSink {
 public:
  virtual ~SyncSink() = default;
  /// The next event for the book of its instrument.
  virtual void apply(const Event& event) noexcept = 0;
  /// The snapshot that has just ended becomes the book.
  virtual void load(std::uint32_t row, std::uint64_t number) noexcept = 0;
  /// Whether the snapshot that has just ended is equal to the book.
  [[nodiscard]] virtual bool audit(std::uint32_t row, std::uint64_t number) noexcept = 0;
  /// The book is emptied, and nothing of it is known: events go on from here. `cause` is what ended the book before it.
  /// `missing`: of a refreshed book the first number that it lacks, which is no other state than before; else 0.
  virtual void refresh(std::uint32_t row, Cause cause, std::uint64_t missing) noexcept = 0;
  /// All books are empty, and known to be; all rows are latest.
  virtual void restarted() noexcept = 0;
  /// Nothing is known of any book; all rows are stale with this cause.
  virtual void forgotten(Cause cause) noexcept = 0;

  virtual void state(std::uint32_t row, const Mark& mark) noexcept = 0;
  virtual void state_of(std::uint32_t scope, const Mark& mark) noexcept = 0;
  virtual void spared(std::uint32_t row, const Mark& mark) noexcept { state(row, mark); }
  virtual void healed(std::uint32_t scope, Basis basis, std::uint64_t to, const Mark& mark) noexcept = 0;

  /// A replay of these messages of the channel is wanted.
  virtual void ask(std::uint64_t first, std::uint64_t last) noexcept = 0;
  /// Kept entries with this number found no room.
  virtual void lost(std::uint32_t row, std::uint64_t number) noexcept = 0;
  /// No cycle of snapshots has begun for this time.
  virtual void overdue(std::uint64_t ns) noexcept = 0;
};

}  // namespace stopbit::market
