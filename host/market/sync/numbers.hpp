#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

namespace stopbit::market {

/// The numbers of one scope: the highest one, and which below it are missing.
struct Numbers {
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;

  std::uint64_t high = 0;
  std::uint64_t missing = 0;  ///< The highest missing number; 0: none.
  std::uint64_t floor = 0;    ///< Numbers up to this are not waited for: only a snapshot at or after it helps.
  std::uint32_t top = kNone;  ///< Highest hole.
  std::uint32_t holes = 0;
  bool is_seen = false;  ///< `high` is one.
};

/// Ranges of missing numbers of all scopes, from one pool. One thread.
///
/// If a scope has too many, or the pool is empty, the scope's lowest holes are forgotten: their numbers are no longer
/// waited for, and `missing` never falls below them.
class Holes {
 public:
  static constexpr std::uint32_t kNone = Numbers::kNone;

  Holes(std::uint32_t room, std::uint32_t each)
      : holes_(std::make_unique<Hole[]>(room)), room_(room), each_(std::clamp(each, 1U, 0xFFFFU)) {
    clear();
  }

  /// Whether n is new. No number before the first one is waited for.
  [[nodiscard]] bool take(Numbers& numbers, std::uint64_t n) noexcept {
    if (!numbers.is_seen) {
      numbers.is_seen = true;
      numbers.high = n;
      numbers.floor = numbers.missing = n == 0 ? 0 : n - 1;
      return true;
    }
    if (n <= numbers.high) return n > numbers.floor && n <= numbers.missing && fill(numbers, n);
    if (n > numbers.high + 1) miss(numbers, numbers.high + 1, n - 1);
    numbers.high = n;
    return true;
  }

  /// first..last are missing; they are higher than all that was seen.
  void miss(Numbers& numbers, std::uint64_t first, std::uint64_t last) noexcept {
    if (numbers.holes >= each_) forget_lowest(numbers);
    if (free_ == kNone && numbers.holes != 0) forget_lowest(numbers);
    if (free_ == kNone) {
      ++forgotten_;
      numbers.floor = last;
    } else {
      numbers.top = make({first, last, numbers.top});
      ++numbers.holes;
    }
    numbers.missing = last;
  }

  /// n, which was new, is missing after all.
  void miss_again(Numbers& numbers, std::uint64_t n) noexcept {
    if (n > numbers.missing) return miss(numbers, n, n);
    numbers.floor = std::max(numbers.floor, n);  // below another hole: it is not waited for
    settle(numbers);
  }

  /// A snapshot has brought all numbers up to n.
  void forget(Numbers& numbers, std::uint64_t n) noexcept {
    std::uint32_t* link = &numbers.top;
    while (*link != kNone && holes_[*link].last > n) {
      holes_[*link].first = std::max(holes_[*link].first, n + 1);
      link = &holes_[*link].below;
    }
    drop_from(numbers, link);
    numbers.floor = std::max(numbers.floor, n);
    numbers.high = std::max(numbers.high, n);
    numbers.is_seen = true;
    settle(numbers);
  }

  /// The lowest missing number after n, which is not below the floor; 0: none.
  [[nodiscard]] std::uint64_t first_above(const Numbers& numbers, std::uint64_t n) const noexcept {
    std::uint64_t first = 0;
    for (std::uint32_t i = numbers.top; i != kNone && holes_[i].last > n; i = holes_[i].below) {
      first = std::max(holes_[i].first, n + 1);
    }
    return first;
  }
  /// How far nothing is missing after n.
  [[nodiscard]] std::uint64_t reach(const Numbers& numbers, std::uint64_t n) const noexcept {
    if (n < numbers.floor) return n;
    const std::uint64_t first = first_above(numbers, n);
    return first != 0 ? first - 1 : std::max(n, numbers.high);
  }
  /// Calls take(first, last) for the missing numbers of a range, from the highest down.
  template <class Take>
  void for_each(const Numbers& numbers, std::uint64_t first, std::uint64_t last, const Take& take) const noexcept {
    for (std::uint32_t i = numbers.top; i != kNone; i = holes_[i].below) {
      if (holes_[i].first <= last && holes_[i].last >= first) {
        take(std::max(holes_[i].first, first), std::min(holes_[i].last, last));
      }
    }
  }

  /// No scope has holes any more.
  void clear() noexcept {
    free_ = kNone;
    for (std::uint32_t i = room_; i-- > 0;) give(i);
  }
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return forgotten_; }

 private:
  struct Hole {
    std::uint64_t first;
    std::uint64_t last;
    std::uint32_t below;
  };

  [[nodiscard]] bool fill(Numbers& numbers, std::uint64_t n) noexcept {
    std::uint32_t* link = &numbers.top;
    while (*link != kNone && holes_[*link].first > n) link = &holes_[*link].below;
    if (*link == kNone || holes_[*link].last < n) return false;
    Hole& hole = holes_[*link];
    if (hole.first == n && hole.last == n) {
      const std::uint32_t empty = *link;
      *link = hole.below;
      --numbers.holes;
      give(empty);
    } else if (hole.last == n) {
      --hole.last;
    } else if (hole.first == n) {
      ++hole.first;
    } else {
      split(numbers, hole, n);
    }
    settle(numbers);
    return true;
  }
  void split(Numbers& numbers, Hole& hole, std::uint64_t n) noexcept {
    const bool is_lowest = hole.below == kNone;
    if (!is_lowest && (numbers.holes >= each_ || free_ == kNone)) forget_lowest(numbers);
    if (numbers.holes < each_ && free_ != kNone) {
      hole.below = make({hole.first, n - 1, hole.below});
      ++numbers.holes;
    } else {
      // The part below n goes, with all that is lower.
      drop_from(numbers, &hole.below);
      ++forgotten_;
      numbers.floor = n - 1;
    }
    hole.first = n + 1;
  }
  void forget_lowest(Numbers& numbers) noexcept {
    std::uint32_t* link = &numbers.top;
    while (holes_[*link].below != kNone) link = &holes_[*link].below;
    numbers.floor = holes_[*link].last;
    ++forgotten_;
    drop_from(numbers, link);
  }
  void drop_from(Numbers& numbers, std::uint32_t* link) noexcept {
    std::uint32_t at = *link;
    *link = kNone;
    while (at != kNone) {
      const std::uint32_t below = holes_[at].below;
      give(at);
      --numbers.holes;
      at = below;
    }
  }
  void settle(Numbers& numbers) const noexcept {
    numbers.missing = std::max(numbers.floor, numbers.top == kNone ? 0 : holes_[numbers.top].last);
  }

  [[nodiscard]] std::uint32_t make(const Hole& hole) noexcept {
    const std::uint32_t at = free_;
    free_ = holes_[at].below;
    holes_[at] = hole;
    return at;
  }
  void give(std::uint32_t at) noexcept {
    holes_[at].below = free_;
    free_ = at;
  }

  std::unique_ptr<Hole[]> holes_;
  std::uint32_t room_;
  std::uint32_t each_;
  std::uint32_t free_ = kNone;
  std::uint64_t forgotten_ = 0;
};

}  // namespace stopbit::market
