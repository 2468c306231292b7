#pragma once

#include <cstdint>

namespace stopbit::market {

/// What the number of an entry counts.
enum class ScopeOf : std::uint8_t {
  Instrument,  ///< Each instrument has numbers of its own (RptSeq of CME, B3, MOEX).
  Product,     ///< Several instruments share numbers (MsgSeqNum of T7); the channel has others.
  Channel,     ///< The number of the message (ORDERS-LOG, SSE).
};

/// What a loss of messages means for instruments that may not have been hit.
enum class Policy : std::uint8_t {
  Optimistic,   ///< They are suspect until something shows that they lost nothing; their books go on.
  Pessimistic,  ///< They are stale until then, and their entries wait.
};

struct SyncOptions {
  ScopeOf scope = ScopeOf::Instrument;
  Policy policy = Policy::Optimistic;
  /// A stale book is emptied and goes on from the entries that come, until a snapshot completes it: for books by level.
  bool refresh = false;
  /// Snapshots may come. Else an optimist that refreshes keeps no entries for them, and a refreshed book costs no more
  /// than a latest one, until expect_snapshots().
  bool snapshots = true;
  /// Lower numbers after a loss show that an instrument's have begun anew; false: they repeat what was sent before.
  bool may_return = true;
  std::uint32_t instruments = 0;       ///< Rows 1 to this.
  std::uint32_t products = 0;          ///< Scopes 1 to this, where the scope is the product.
  std::uint32_t queued = 65'536;       ///< Events kept for stale instruments, all together.
  std::uint32_t queued_each = 16'384;  ///< The same of one instrument.
  std::uint32_t holes = 65'536;        ///< Ranges of missing numbers, all together.
  std::uint32_t holes_each = 64;       ///< The same of one scope; at most 65,535.
  std::uint64_t wait_ns = 0;           ///< From a loss to the first ask: late messages may fill it.
  std::uint64_t repeat_ns = 0;         ///< Asked again after this time; 0: never.
  std::uint64_t give_up_ns = 0;        ///< Not asked for any more after this time; more than `wait_ns`.
  std::uint64_t patience_ns = 0;       ///< A refresh waits this long after a hole opened: a replay may close it.
  std::uint64_t cycle_ns = 0;          ///< A cycle of snapshots is expected this often; 0: none is.
};

struct SyncCounts {
  std::uint64_t repeats = 0;         ///< Entries that were not new.
  std::uint64_t queued = 0;          ///< Entries that were kept.
  std::uint64_t lost = 0;            ///< Numbers of instruments whose kept entries were dropped: no room.
  std::uint64_t forgotten = 0;       ///< Holes that are not waited for: no room.
  std::uint64_t refused = 0;         ///< Inputs for instruments or products beyond the options.
  std::uint64_t torn = 0;            ///< Snapshots of which a part was missing.
  std::uint64_t outdated = 0;        ///< Parts from before a reset.
  std::uint64_t useless = 0;         ///< Snapshots that say less than is known.
  std::uint64_t loads = 0;           ///< Snapshots that became a book.
  std::uint64_t audits = 0;          ///< Snapshots compared with a book.
  std::uint64_t differences = 0;     ///< Of these, not equal.
  std::uint64_t refreshes = 0;       ///< Books that went on from nothing.
  std::uint64_t losses = 0;          ///< Ranges of messages that were lost.
  std::uint64_t holes = 0;           ///< Ranges of numbers that instruments or products lost.
  std::uint64_t returns = 0;         ///< Instruments whose numbers began anew in lost messages, each time.
  std::uint64_t asks = 0;            ///< Ranges asked for.
  std::uint64_t dropped_asks = 0;    ///< Losses not asked for, or not again: no room.
  std::uint64_t overdue_cycles = 0;  ///< Cycles of snapshots that did not come in time.
};

}  // namespace stopbit::market
