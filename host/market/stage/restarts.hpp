#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace stopbit::market {

/// Which entries begin the numbers of their instrument again, on feeds that do so without a word (`restarts_at_one`).
/// Other feeds have no rows here. One thread; allocates when it is made only.
class Restarts {
 public:
  explicit Restarts(std::uint32_t instruments)
      : rows_(instruments == 0 ? nullptr : std::make_unique<Known[]>(std::size_t{instruments} + 1)) {}

  [[nodiscard]] bool has_rows() const noexcept { return rows_ != nullptr; }

  /// Whether an entry begins the numbers of its instrument again: its number is 1, or it is not higher than the last
  /// one although packets of the channel were lost since then, and the exchange has sent it later. Then number 1 was in
  /// those packets. `losses` counts those of the channel.
  [[nodiscard]] bool restarts(std::uint32_t row, std::uint64_t number, std::uint64_t losses,
                              std::optional<std::int64_t> sent_ns) const noexcept {
    const Known& known = rows_[row];
    if (!known.is_known || number == known.last + 1) return false;
    const bool is_after_loss = known.losses != losses && sent_ns && *sent_ns > known.sent_ns;
    return number == 1 || (is_after_loss && number <= known.last);
  }
  /// An entry that is no repetition, or a snapshot.
  void note(std::uint32_t row, std::uint64_t number, std::uint64_t losses, std::int64_t sent_ns) noexcept {
    Known& known = rows_[row];
    known.is_known = true;
    known.last = number;
    known.losses = losses;
    known.sent_ns = sent_ns;
  }
  [[nodiscard]] std::uint64_t last(std::uint32_t row) const noexcept {
    return rows_[row].is_known ? rows_[row].last : 0;
  }
  /// The exchange's time of the last entry.
  [[nodiscard]] std::int64_t sent_ns(std::uint32_t row) const noexcept {
    return rows_ != nullptr && rows_[row].is_known ? rows_[row].sent_ns : 0;
  }
  /// The numbers begin again with what the exchange sent at this time: older snapshots have the old ones.
  void restart(std::uint32_t row, std::optional<std::int64_t> sent_ns) noexcept {
    rows_[row].is_known = false;
    rows_[row].reset_ns = sent_ns.value_or(rows_[row].reset_ns);
  }
  [[nodiscard]] bool is_outdated(std::uint32_t row, std::int64_t sent_ns) const noexcept {
    return rows_ != nullptr && rows_[row].reset_ns != 0 && sent_ns <= rows_[row].reset_ns;
  }
  /// No number of any instrument is known.
  void forget(std::uint32_t instruments) noexcept {
    for (std::uint32_t row = 0; rows_ != nullptr && row <= instruments; ++row) rows_[row].is_known = false;
  }

 private:
  struct Known {
    bool is_known = false;
    std::uint64_t last = 0;
    std::uint64_t losses = 0;   ///< When the last entry came.
    std::int64_t sent_ns = 0;   ///< The exchange's time of it.
    std::int64_t reset_ns = 0;  ///< The same of the last restart.
  };
  std::unique_ptr<Known[]> rows_;
};

}  // namespace stopbit::market
