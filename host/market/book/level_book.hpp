#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "host/market/book/block_pool.hpp"
#include "host/market/book/fault.hpp"
#include "host/market/book/row.hpp"
#include "host/market/event/event.hpp"

namespace stopbit::market {

/// A book whose entries say the position of a price, from 1 for the best. An insert moves the rows after it down; rows
/// beyond the depth fall off.
///
/// A row may be unknown: after a loss it is known that the row exists, but not what it holds. A side is open if rows
/// may exist after the last one listed. Known rows are right in either case.
///
/// Its rows are in a pool; clear() and lose() keep the block, release() gives it back. Trivially copyable.
class LevelBook {
 public:
  using Pool = BlockPool<Row>;
  static constexpr unsigned kMaxDepth = 64;  ///< A bit of a mask for each.

  /// Depth 0: not known. Then no row is kept beyond the highest position that was used since the last clear, and a side
  /// from which such a row fell is open.
  void begin(std::uint16_t depth) noexcept {
    *this = LevelBook();
    depth_ = static_cast<std::uint8_t>(std::min<unsigned>(depth, kMaxDepth));
  }

  /// Both sides are empty, and known to be.
  void clear() noexcept {
    for (State& side : sides_) side = State();
    learned_ = 0;
  }
  /// Nothing is known of either side.
  void lose() noexcept {
    clear();
    sides_[0].is_open = sides_[1].is_open = true;
  }
  void release(Pool& pool) noexcept {
    if (block_ != Pool::kNone) pool.give(block_, class_);
    begin(depth_);
  }

  /// `sets`: the entry is part of a snapshot and says what the position holds.
  [[nodiscard]] Fault apply(const Event& event, bool sets, Pool& pool) noexcept {
    const Side side = event.side();
    if (side != Side::Bid && side != Side::Ask) return Fault::Address;
    State& state = sides_[static_cast<unsigned>(side) - 1];
    if (event.kind() == Kind::DeleteSide) {
      state = State();
      return Fault::None;
    }
    const unsigned level = event.level();
    if (level == kNoLevel) return Fault::Address;
    if (depth_ != 0) {
      if (level > depth_) return Fault::BeyondEnd;
    } else if (level > learned_) {
      if (level > kMaxDepth) return Fault::Room;
      learned_ = static_cast<std::uint8_t>(level);
    }
    if (level > capacity_) {
      if (!make_room(pool)) return Fault::Room;
    }
    Row* const rows = pool.at(block_) + capacity_ * (static_cast<unsigned>(side) - 1);
    switch (event.kind()) {
      case Kind::New: return sets ? set(state, rows, level, event) : insert(state, rows, level, event);
      case Kind::Change: return sets ? set(state, rows, level, event) : change(state, rows, level, event);
      case Kind::Overlay:
        if (level > state.count + 1U && !state.is_open) return Fault::BeyondEnd;
        return set(state, rows, level, event);
      case Kind::Delete: return remove(state, rows, level, event);
      case Kind::DeleteTop: return remove_top(state, rows, level);
      case Kind::DeleteBottom:
        if (level > state.count && !state.is_open) return Fault::BeyondEnd;
        state.count = static_cast<std::uint8_t>(level - 1);
        state.known &= below(level - 1);
        state.is_open = false;
        return Fault::None;
      default: return Fault::Address;
    }
  }

  void prefetch(Side side, const Pool& pool) const noexcept {
    if (block_ != Pool::kNone) __builtin_prefetch(pool.at(block_) + (side == Side::Ask ? capacity_ : 0U), 1);
  }
  /// Whether the entry can change the first row.
  [[nodiscard]] static bool may_be_best(const Event& event) noexcept {
    return event.level() <= 1 || event.kind() == Kind::DeleteTop || event.kind() == Kind::DeleteSide;
  }

  [[nodiscard]] unsigned listed(Side side) const noexcept { return of(side).count; }
  [[nodiscard]] bool is_open(Side side) const noexcept { return of(side).is_open; }
  /// Whether a side has its full depth, and all rows are known.
  [[nodiscard]] bool is_full(Side side) const noexcept {
    return of(side).count == limit() && known_to(side) == of(side).count;
  }
  /// Bit k is set if row k, from 0, is known.
  [[nodiscard]] std::uint64_t known(Side side) const noexcept { return of(side).known; }
  /// Rows from the best to the first that is not known.
  [[nodiscard]] unsigned known_to(Side side) const noexcept {
    return static_cast<unsigned>(std::countr_one(of(side).known));
  }
  /// Row `index`, from 0; unknown beyond the last one.
  [[nodiscard]] Row row(Side side, unsigned index, const Pool& pool) const noexcept {
    if (index >= kMaxDepth || (of(side).known >> index & 1) == 0) return {};
    return pool.at(block_)[index + (side == Side::Ask ? capacity_ : 0U)];
  }

 private:
  struct State {
    std::uint64_t known = 0;  ///< Only bits below `count`.
    std::uint8_t count = 0;
    bool is_open = false;
  };

  [[nodiscard]] static constexpr std::uint64_t below(unsigned bit) noexcept {
    return bit >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bit) - 1;
  }
  [[nodiscard]] const State& of(Side side) const noexcept { return sides_[side == Side::Ask ? 1 : 0]; }
  [[nodiscard]] unsigned limit() const noexcept { return depth_ != 0 ? depth_ : learned_; }

  /// Whether a price at `index` fits between the nearest known rows of `before` and of `after`.
  [[nodiscard]] static bool fits(const Row* rows, Side side, unsigned index, std::int64_t price, std::uint64_t before,
                                 std::uint64_t after) noexcept {
    const std::uint64_t rank = rank_of(side, price);
    // Without branches, as where an entry goes cannot be predicted: a row is compared in any case, of `own` if there is
    // no neighbour.
    const std::uint64_t own = std::uint64_t{1} << index;
    const Row& better = rows[63 - std::countl_zero(before | (before == 0 ? own : 0))];
    const Row& worse = rows[std::countr_zero(after | (after == 0 ? own : 0))];
    return (static_cast<unsigned>(before == 0) | static_cast<unsigned>(rank_of(side, better.price) > rank)) &
           (static_cast<unsigned>(after == 0) | static_cast<unsigned>(rank_of(side, worse.price) < rank));
  }

  /// A side of full depth has no further rows.
  void close_if_full(State& state) const noexcept {
    if (depth_ != 0 && state.count == depth_) state.is_open = false;
  }

  [[nodiscard]] Fault insert(State& state, Row* rows, unsigned level, const Event& event) noexcept {
    const unsigned index = level - 1;
    if (index > state.count) {
      if (!state.is_open) return Fault::BeyondEnd;
      state.count = static_cast<std::uint8_t>(index);
    }
    const std::uint64_t before = state.known & below(index);
    const std::uint64_t after = state.known & ~below(index);
    if (!fits(rows, event.side(), index, event.price(), before, after)) return Fault::Disorder;
    if (state.count < limit()) {
      ++state.count;
    } else if (depth_ == 0) {
      state.is_open = true;
    }
    std::memmove(rows + level, rows + index, (state.count - level) * sizeof(Row));
    rows[index] = row_of(event);
    state.known = (before | after << 1 | std::uint64_t{1} << index) & below(state.count);
    close_if_full(state);
    return Fault::None;
  }

  [[nodiscard]] Fault set(State& state, Row* rows, unsigned level, const Event& event) noexcept {
    const unsigned index = level - 1;
    const std::uint64_t bit = std::uint64_t{1} << index;
    if (!fits(rows, event.side(), index, event.price(), state.known & below(index),
              state.known & ~below(index) & ~bit)) {
      return Fault::Disorder;
    }
    rows[index] = row_of(event);
    state.count = std::max(state.count, static_cast<std::uint8_t>(level));
    state.known |= bit;
    close_if_full(state);
    return Fault::None;
  }

  [[nodiscard]] Fault change(State& state, Row* rows, unsigned level, const Event& event) noexcept {
    const unsigned index = level - 1;
    if (level > state.count && !state.is_open) return Fault::BeyondEnd;
    if ((state.known >> index & 1) != 0) {
      Row& row = rows[index];
      if (event.price() != kNoPrice && event.price() != row.price) return Fault::OtherPrice;
      const std::int64_t price = row.price;
      row = row_of(event);
      row.price = price;
      return Fault::None;
    }
    if (event.price() != kNoPrice) return set(state, rows, level, event);
    // The row exists, and that is all there is to know.
    state.count = std::max(state.count, static_cast<std::uint8_t>(level));
    close_if_full(state);
    return Fault::None;
  }

  [[nodiscard]] Fault remove(State& state, Row* rows, unsigned level, const Event& event) noexcept {
    const unsigned index = level - 1;
    if (level > state.count) {
      if (!state.is_open) return Fault::BeyondEnd;
      state.count = static_cast<std::uint8_t>(level);
      close_if_full(state);
    }
    if ((state.known >> index & 1) != 0 && event.price() != kNoPrice && event.price() != rows[index].price) {
      return Fault::OtherPrice;
    }
    std::memmove(rows + index, rows + level, (state.count - level) * sizeof(Row));
    state.known = (state.known & below(index)) | (level < 64 ? state.known >> level << index : 0);
    --state.count;
    return Fault::None;
  }

  [[nodiscard]] Fault remove_top(State& state, Row* rows, unsigned level) noexcept {
    if (level > state.count) {
      if (!state.is_open) return Fault::BeyondEnd;
      state.count = static_cast<std::uint8_t>(level);
      close_if_full(state);
    }
    std::memmove(rows, rows + level, (state.count - level) * sizeof(Row));
    state.known = level < 64 ? state.known >> level : 0;
    state.count = static_cast<std::uint8_t>(state.count - level);
    return Fault::None;
  }

  /// Space for limit() rows a side. Positions beyond what there was are unknown in both sides.
  [[nodiscard]] bool make_room(Pool& pool) noexcept {
    const unsigned size_class = Pool::class_of(2 * limit());
    const std::uint32_t block = pool.take(size_class);
    if (block == Pool::kNone) return false;
    const unsigned capacity = (1U << size_class) / 2;
    if (block_ != Pool::kNone) {
      std::memcpy(static_cast<void*>(pool.at(block)), pool.at(block_), sides_[0].count * sizeof(Row));
      std::memcpy(static_cast<void*>(pool.at(block) + capacity), pool.at(block_) + capacity_,
                  sides_[1].count * sizeof(Row));
      pool.give(block_, class_);
    }
    block_ = block;
    class_ = static_cast<std::uint8_t>(size_class);
    capacity_ = static_cast<std::uint8_t>(capacity);
    return true;
  }

  State sides_[2];
  std::uint32_t block_ = Pool::kNone;  ///< Bids, then asks: `capacity_` rows each.
  std::uint8_t class_ = 0;
  std::uint8_t capacity_ = 0;
  std::uint8_t depth_ = 0;
  std::uint8_t learned_ = 0;
};

}  // namespace stopbit::market
