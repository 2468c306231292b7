#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "host/market/event/event.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/state/table.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::market {

/// What the tables beside a ring are like.
struct TableShape {
  InstrumentTable::Options instruments;
  state::TableOptions states;
  std::uint64_t states_offset = 0;  ///< Of row 0 of the states.
  std::size_t state_row_bytes = 0;

  /// Of headers from elsewhere, which may hold anything. A failure says why a ring with this epoch can have no such
  /// tables.
  [[nodiscard]] static Result<TableShape> of(const InstrumentHeader& instruments, const state::Header& states,
                                             std::uint64_t ring_epoch);
  /// Memory that a copy takes.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// Whether both are of tables that have the same rows.
  [[nodiscard]] bool is_same(const TableShape& other) const noexcept;
};

/// A copy of the tables beside a ring of another process or host, for the readers of a copy of that ring. Numbers of
/// rows are those of the original, so that the events of both rings name the same instruments. Whoever gives it the
/// rows may have them from anywhere: what is copied may be wrong, but no reader takes harm.
///
/// Allocates and calls the system in prepare and take_names only. One thread.
class TableCopy {
 public:
  /// Empty tables of this user beside the ring `name`, whose epoch is `ring_epoch`. Their memory is reserved. Until
  /// take_names those of the name are others, or none. `replaces`: a live copy of this process with these names.
  [[nodiscard]] static Result<TableCopy> prepare(std::string_view name, const TableShape& shape,
                                                 std::uint64_t ring_epoch, const TableCopy* replaces);
  [[nodiscard]] Status check_names() const;
  /// Once. `replaces` must still live.
  [[nodiscard]] Status take_names();

  [[nodiscard]] const TableShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const InstrumentTable& instruments() const noexcept { return instruments_; }
  [[nodiscard]] const state::Table& states() const noexcept { return states_; }

  enum class Taken : std::uint8_t {
    Whole,    ///< The row here is as the other was when it was read, or newer.
    Changed,  ///< It changed while it was read: read it again.
    Refused,  ///< It cannot be a row of that table.
  };
  /// Takes a row that was read three times, one after the other; the bytes are those of the table (state::Table::
  /// copy_row). Instruments come in the order of their numbers at first.
  Taken take_instrument(std::uint32_t row, const std::byte* before, const std::byte* words,
                        const std::byte* after) noexcept;
  Taken take_state(std::uint32_t row, const std::byte* before, const std::byte* words, const std::byte* after) noexcept;
  void take_header(const InstrumentHeader& header) noexcept { instruments_.copy_header(header); }

  /// The other tables are well.
  void beat(std::uint64_t heartbeat_ns) const noexcept { states_.beat(heartbeat_ns); }
  /// Nothing changes any more.
  void finish() const noexcept { states_.finish(); }

 private:
  TableCopy(const TableShape& shape, InstrumentTable instruments, state::Table states) noexcept
      : shape_(shape), instruments_(std::move(instruments)), states_(std::move(states)) {}

  TableShape shape_;
  InstrumentTable instruments_;
  state::Table states_;
};

}  // namespace stopbit::market
