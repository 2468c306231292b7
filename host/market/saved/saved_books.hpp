#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "host/market/saved/layout.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::market {

/// A file of instruments and books, as a process before this one has left it: in memory that outlives this. Nothing of
/// it is used before all of it was found good.
class SavedBooks {
 public:
  /// Checks the sum, and every row and entry. The failure says what is wrong: it is no such file, it is damaged.
  [[nodiscard]] static Result<SavedBooks> over(std::span<const std::byte> bytes);

  [[nodiscard]] const SavedHead& head() const noexcept { return head_; }
  [[nodiscard]] std::uint32_t rows() const noexcept { return end_.rows; }
  [[nodiscard]] std::uint64_t left_out() const noexcept { return end_.left_out; }

  /// Calls take(row, events) for each instrument, in their order. Events are those of a snapshot of its book: `new`,
  /// or `delete` of what was new, a side, no instrument.
  template <class Take>
  void for_each(const Take& take) const {
    std::size_t at = 1;
    for (std::uint32_t i = 0; i < end_.rows; ++i) {
      SavedRow row;
      std::memcpy(static_cast<void*>(&row), &slots_[at], sizeof(row));
      at += kSavedRowSlots;
      const auto* const first = reinterpret_cast<const Event*>(&slots_[at]);
      take(static_cast<const SavedRow&>(row), std::span<const Event>(first, row.entries));
      at += row.entries;
    }
  }

 private:
  SavedBooks() = default;

  std::span<const record::Slot> slots_;
  SavedHead head_;
  SavedEnd end_;
};

}  // namespace stopbit::market
