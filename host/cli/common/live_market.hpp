#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/market/state/tables.hpp"

/// Instruments and their states as another process writes them: the tables beside a ring of market events.
namespace stopbit::tools {

class LiveMarket {
 public:
  /// The tables of the ring NAME. A ToolError of kExitEnvironment if there are none.
  explicit LiveMarket(const std::string& name);

  [[nodiscard]] const market::InstrumentView& instruments() const noexcept { return tables_.instruments(); }
  [[nodiscard]] const market::state::Reader& states() const noexcept { return tables_.states(); }
  [[nodiscard]] std::uint32_t count() const noexcept { return tables_.count(); }
  /// Takes the tables that have the names by now: those of a new writer or a new image, with rows of their own.
  void follow();
  /// Of the instrument with that key or name; 0: none.
  [[nodiscard]] std::uint32_t find(const std::string& key_or_name) const { return tables_.row_of(key_or_name); }
  /// The same. A ToolError of kExitRejected if there is none.
  [[nodiscard]] std::uint32_t row_of(const std::string& key_or_name) const;
  /// After reading: a ToolError of kExitRejected if what was read is zeros, as a file was truncated meanwhile.
  void check() const;
  /// Whether the names belong to other tables by now, of a new image or a new writer. A system call.
  [[nodiscard]] bool replaced() const noexcept { return tables_.replaced(); }
  /// "runs", "has ended", "died", "has given no sign of life for 12 s": for who asks again and again.
  [[nodiscard]] std::string writer_text();
  /// What there is to say of a writer that died or is stopped; else empty. Waits for a sign of life, up to a second.
  [[nodiscard]] std::string warning();

  [[nodiscard]] std::string price(std::int64_t price) const;        ///< Empty: none.
  [[nodiscard]] std::string quantity(std::int64_t quantity) const;  ///< Empty: none.

 private:
  /// How long no sign of life has been seen, by our clock: the writer may be on a host with another one.
  [[nodiscard]] std::uint64_t silent_ns();

  std::string name_;
  market::Tables tables_;
  std::uint64_t heartbeat_ns_ = 0;  ///< The last one seen.
  std::uint64_t moved_ns_ = 0;      ///< When it was first seen.
};

/// Whether a process has made tables for a ring NAME.
[[nodiscard]] bool has_live_market(const std::string& name);

/// What an instrument's book is, in words: "latest", "stale: gap", ...
[[nodiscard]] std::string standing_text(const market::state::Top& top);

/// The rows of both sides, from the best on: those that the table publishes, or the best ones alone.
struct LadderRows {
  std::vector<market::Row> bids;
  std::vector<market::Row> asks;
};
/// False if there is no such row, or its writer has died in the middle of a change.
[[nodiscard]] bool read_ladder(const LiveMarket& market, std::uint32_t row, market::state::Top& top,
                               market::state::DayView& day, LadderRows& ladder);

/// The ladder of an instrument: a heading, then prices from the highest ask down to the lowest bid, at most `rows`
/// lines.
[[nodiscard]] std::string ladder_text(LiveMarket& market, std::uint32_t row, std::size_t columns, std::size_t rows);

}  // namespace stopbit::tools
