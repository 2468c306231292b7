#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>

#include "host/market/book/orders.hpp"

namespace stopbit::market {

/// Levels of one side by tick: a place for each of kTicks prices in a row, and a bit for each that has a level. Finding
/// the level of a price, or the next best level, takes no search. Prices are ranks (row.hpp).
class PriceLadder {
 public:
  static constexpr std::uint32_t kTicks = 8'192;
  static constexpr std::uint32_t kNowhere = kTicks;
  static constexpr std::uint64_t kMaxTick = std::uint64_t{1} << 40;

  std::uint32_t next = kNoHandle;  ///< In the list of free ladders.

  /// Covers kTicks steps of `tick`, 1 to kMaxTick, around a rank, which is one of them. The ladder is empty.
  void begin(std::uint64_t rank, std::uint64_t tick) noexcept {
    tick_ = tick;
    span_ = tick * kTicks;
    lowest_ = rank - std::min<std::uint64_t>(kTicks / 2, rank / tick) * tick;
    reciprocal_ = tick == 1 ? 0 : ~std::uint64_t{0} / tick + 1;
    std::fill(std::begin(bits_), std::end(bits_), 0);
    std::fill(std::begin(summary_), std::end(summary_), 0);
  }

  [[nodiscard]] std::uint64_t tick() const noexcept { return tick_; }

  /// Place of a rank; kNowhere for one outside the ladder or between two ticks.
  [[nodiscard]] std::uint32_t place_of(std::uint64_t rank) const noexcept {
    const std::uint64_t offset = rank - lowest_;
    if (rank < lowest_ || offset >= span_) return kNowhere;
    // Exact for whole steps below kTicks and ticks up to kMaxTick; for all others the product below differs.
    const std::uint64_t place =
        reciprocal_ == 0 ? offset : static_cast<std::uint64_t>(static_cast<Wide>(offset) * reciprocal_ >> 64);
    return place < kTicks && place * tick_ == offset ? static_cast<std::uint32_t>(place) : kNowhere;
  }
  /// The level at a place; kNoHandle if there is none.
  [[nodiscard]] std::uint32_t level(std::uint32_t place) const noexcept {
    return (bits_[place / 64] >> place % 64 & 1) != 0 ? levels_[place] : kNoHandle;
  }
  void put(std::uint32_t place, std::uint32_t level) noexcept {
    levels_[place] = level;
    bits_[place / 64] |= std::uint64_t{1} << place % 64;
    summary_[place / 4096] |= std::uint64_t{1} << place / 64 % 64;
  }
  void remove(std::uint32_t place) noexcept {
    bits_[place / 64] &= ~(std::uint64_t{1} << place % 64);
    if (bits_[place / 64] == 0) summary_[place / 4096] &= ~(std::uint64_t{1} << place / 64 % 64);
  }
  /// The highest place below `end` that has a level; kNowhere if there is none.
  [[nodiscard]] std::uint32_t best_below(std::uint32_t end) const noexcept {
    std::uint32_t word = end / 64;
    if (end % 64 != 0) {
      const std::uint64_t rest = bits_[word] & ((std::uint64_t{1} << end % 64) - 1);
      if (rest != 0) return word * 64 + highest(rest);
    }
    for (;;) {  // at most twice, once for each word of the summary
      if (word == 0) return kNowhere;
      const std::uint32_t part = (word - 1) / 64;
      const std::uint32_t inside = word - part * 64;
      const std::uint64_t words = inside == 64 ? summary_[part] : summary_[part] & ((std::uint64_t{1} << inside) - 1);
      if (words != 0) {
        word = part * 64 + highest(words);
        return word * 64 + highest(bits_[word]);
      }
      word = part * 64;
    }
  }
  [[nodiscard]] std::uint32_t best() const noexcept { return best_below(kTicks); }

 private:
  __extension__ typedef unsigned __int128 Wide;
  static_assert(kTicks == 2 * 64 * 64, "two words of summary");

  [[nodiscard]] static constexpr std::uint32_t highest(std::uint64_t bits) noexcept {
    return 63U - static_cast<std::uint32_t>(std::countl_zero(bits));
  }

  std::uint64_t lowest_ = 0;
  std::uint64_t tick_ = 1;
  std::uint64_t span_ = 0;
  std::uint64_t reciprocal_ = 0;
  std::uint64_t summary_[2] = {};
  std::uint64_t bits_[kTicks / 64] = {};
  std::uint32_t levels_[kTicks];
};

}  // namespace stopbit::market
