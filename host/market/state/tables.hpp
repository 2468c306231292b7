#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "host/market/instrument/table.hpp"
#include "host/market/state/reader.hpp"

namespace stopbit::market {

/// The tables beside a ring of market events, as another process writes them: instruments, and the newest state of
/// each. Safe with any content of the files.
class Tables {
 public:
  /// Of the ring that has the name now. Fails if it or a table is missing or refused, or if they do not belong
  /// together: a new image may just be loading, so another try may succeed.
  [[nodiscard]] static Result<Tables> open(std::string_view name, const os::Accepted& accepted = os::Accepted());
  /// Of a ring of that name that the caller has open, by its ring::Reader::tables_epoch. The names may belong to the
  /// tables of a later ring already, which is a failure, too.
  [[nodiscard]] static Result<Tables> open(std::string_view name, std::uint64_t ring_epoch,
                                           const os::Accepted& accepted = os::Accepted());

  [[nodiscard]] const InstrumentView& instruments() const noexcept { return instruments_; }
  [[nodiscard]] const state::Reader& states() const noexcept { return states_; }
  /// Rows 1 to this have an instrument and a state.
  [[nodiscard]] std::uint32_t count() const noexcept { return std::min(instruments_.count(), states_.rows()); }
  /// Row of the instrument with that key or, else, that name; 0: none.
  [[nodiscard]] std::uint32_t row_of(std::string_view key_or_name) const noexcept;

  /// Whether `instrument` of the events of the ring with this epoch means rows of these tables.
  [[nodiscard]] bool belong_to(std::uint64_t ring_epoch) const noexcept {
    return instruments_.ring_epoch() == ring_epoch && states_.ring_epoch() == ring_epoch;
  }
  /// What to say if a table beside the ring `name` does not.
  [[nodiscard]] static std::string foreign_text(std::string_view name);

  /// Whether a file was truncated: what is read is zeros. Look after reading.
  [[nodiscard]] bool is_broken() const noexcept { return instruments_.is_broken() || states_.is_broken(); }
  /// What to say then.
  [[nodiscard]] static constexpr std::string_view broken_text() noexcept {
    return "a table's file was truncated while it was read";
  }
  /// Removes both files beside the ring at this path, whose writer has ended; those that do not exist are no failure.
  [[nodiscard]] static Status remove_dead(const std::string& ring_path);

  /// Whether the names belong to other tables by now, of a new image or a new writer. A system call.
  [[nodiscard]] bool replaced() const noexcept { return instruments_.replaced(); }

  /// Gives tables of this user the names of those beside another ring, too: both rings then have the same tables.
  /// `before`, if any, is what has these names. A failure may leave the first of the two names.
  [[nodiscard]] Status share(std::string_view name, const Tables* before) const;
  /// Takes these names away, if they still are of these tables.
  void unshare(std::string_view name) const;

 private:
  Tables(InstrumentView instruments, state::Reader states) noexcept
      : instruments_(std::move(instruments)), states_(std::move(states)) {}

  InstrumentView instruments_;
  state::Reader states_;
};

}  // namespace stopbit::market
