#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace stopbit::market {

/// Looks at the numbers of entries, where a map has them: which entry is a repetition, and before which one something
/// of its instrument is missing. It neither waits nor asks for anything. The synchroniser, which does, goes in its
/// place: after the translator, before the books.
class Continuity {
 public:
  enum class Verdict : std::uint8_t {
    Next,     ///< In order.
    Repeat,   ///< Was there before.
    Gap,      ///< Entries between the last one and this one are missing.
    Restart,  ///< The exchange has begun its numbers again; if it is not 1, those before it are missing.
  };

  Continuity(std::uint32_t instruments, bool restarts_at_one)
      : restarts_at_one_(restarts_at_one), last_(std::make_unique<std::uint64_t[]>(std::size_t{instruments} + 1)) {
    std::fill_n(last_.get(), std::size_t{instruments} + 1, kNone);
  }

  /// No number is known: the next entry may have any. An instrument known to be at 0 is another thing: its next is 1.
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  /// Whether an entry begins the numbers of its instrument again. `is_after_loss`: packets of the channel are missing
  /// since the instrument's last entry, and the exchange has sent this one after the one with the last number. Then a
  /// number that is not higher says that number 1 was in those packets. Without it, it is a repetition.
  [[nodiscard]] bool restarts(std::uint32_t row, std::uint64_t number, bool is_after_loss) const noexcept {
    return restarts_at_one_ && last_[row] != kNone && (number == 1 || (is_after_loss && number <= last_[row]));
  }
  /// An entry of an instrument. If no number is known it is in order, whatever its own.
  [[nodiscard]] Verdict entry(std::uint32_t row, std::uint64_t number, bool is_after_loss) noexcept {
    const std::uint64_t last = last_[row];
    if (last == kNone || number == last + 1) {
      last_[row] = number;
      return Verdict::Next;
    }
    if (restarts(row, number, is_after_loss)) {
      last_[row] = number;
      return Verdict::Restart;
    }
    if (number <= last) return Verdict::Repeat;
    last_[row] = number;
    return Verdict::Gap;
  }
  /// Number of the last entry, or kNone.
  [[nodiscard]] std::uint64_t last(std::uint32_t row) const noexcept { return last_[row]; }
  /// A snapshot or a reset has brought the instrument to this number, or to kNone.
  void set(std::uint32_t row, std::uint64_t number) noexcept { last_[row] = number; }

 private:
  bool restarts_at_one_;
  std::unique_ptr<std::uint64_t[]> last_;  ///< By row.
};

}  // namespace stopbit::market
