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
///
/// Up to kOrdered rows a side stay where they are, and a word says in which order. Where all of them are known, move()
/// writes one row or none, and takes no branch on the position, which could not be predicted. All other entries find
/// the rows put in their order first.
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
    for (State& side : sides_) empty(side);
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
      empty(state);
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
    Rows all = open(state, rows);
    const Fault fault = apply(all, level, event, sets);
    close(state, all);
    return fault;
  }

  struct Moved {
    bool is_done = false;  ///< Else nothing has changed, and the entry is for apply().
    bool best_changed = false;
    bool is_better = false;  ///< A new best price.
    bool is_quiet = false;   ///< Neither has the best changed, nor extent(); may be false without need.
  };
  /// New, change and delete where all rows of the side are known. An entry that apply() refuses is not done.
  [[nodiscard, gnu::always_inline]] Moved move(const Event& event, Pool& pool) noexcept {
    const unsigned side = static_cast<unsigned>(event.side()) - 1;
    const unsigned index = event.level() - 1U;
    if (side > 1 || !sides_[side].is_plain || event.kind() > Kind::Delete) [[unlikely]]
      return {};
    State& state = sides_[side];
    Row* const rows = pool.at(block_) + (side << class_) / 2;
    if (event.kind() == Kind::New) return insert_plain(state, rows, index, event);
    if (index >= state.count) [[unlikely]]
      return {};
    const unsigned place = place_of(state.word, index);
    Row& row = rows[place];
    if (event.price() != kNoPrice && event.price() != row.price) [[unlikely]]
      return {};
    const bool is_best = index == 0;
    if (event.kind() == Kind::Change) {
      const bool best_changed = is_best & (row.quantity != event.quantity());
      row.quantity = event.quantity();
      row.arrival_ns = event.arrival_ns();
      row.orders = orders_of(event);
      return {true, best_changed, false, !best_changed};
    }
    --state.count;
    state.word = moved(state.word, index, state.count, place);
    return {true, is_best, false, !is_best && !state.is_open};
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
  [[nodiscard]] std::uint64_t known(Side side) const noexcept { return known_of(of(side)); }
  /// Rows from the best to the first that is not known.
  [[nodiscard]] unsigned known_to(Side side) const noexcept {
    return static_cast<unsigned>(std::countr_one(known(side)));
  }
  [[nodiscard]] Extent extent(Side side) const noexcept {
    const State& state = of(side);
    if (state.is_plain) return {state.count, !state.is_open};
    const unsigned known = known_to(side);
    return {known, !state.is_open && known == state.count};
  }
  /// Row `index`, from 0; unknown beyond the last one.
  [[nodiscard]] Row row(Side side, unsigned index, const Pool& pool) const noexcept {
    if (index >= kMaxDepth || (known(side) >> index & 1) == 0) return {};
    const std::size_t place = is_ordered() ? place_of(of(side).word, index) : index;
    return pool.at(block_)[place + (side == Side::Ask ? capacity_ : 0U)];
  }

 private:
  static constexpr unsigned kOrdered = 16;                           ///< Rows a side whose order fits a word.
  static constexpr std::uint64_t kInOrder = 0xFEDC'BA98'7654'3210U;  ///< Four bits for the place of each row.

  struct State {
    std::uint64_t word = kInOrder;  ///< If is_ordered(), the order; else the known rows.
    std::uint16_t few = 0;          ///< If is_ordered() and not is_plain, the known rows: only bits below `count`.
    std::uint8_t count = 0;
    bool is_open = false;
    bool is_plain = false;  ///< is_ordered(), there is memory for rows, and all are known.
  };
  /// A side, with its rows in their order.
  struct Rows {
    Row* rows;
    std::uint64_t known;  ///< Only bits below `count`.
    unsigned count;
    bool is_open;
  };

  /// The order with the place at `from` moved to `to`.
  [[nodiscard]] static constexpr std::uint64_t moved(std::uint64_t order, unsigned from, unsigned to,
                                                     unsigned place) noexcept {
    const std::uint64_t after_from = ~std::uint64_t{0} << 4 * from;
    const std::uint64_t after_to = ~std::uint64_t{0} << 4 * to;
    const std::uint64_t others = (order & ~after_from) | (order >> 4 & after_from);
    return (others & ~after_to) | std::uint64_t{place} << 4 * to | (others & after_to) << 4;
  }
  /// The new row takes the place after the last one, or that of the last one, which falls off.
  [[nodiscard, gnu::always_inline]] Moved insert_plain(State& state, Row* rows, unsigned index,
                                                       const Event& event) const noexcept {
    const unsigned count = state.count;
    if (index > count || index >= capacity_ || index >= limit()) [[unlikely]]
      return {};
    const std::uint64_t order = state.word;
    const std::uint64_t rank = rank_of(event.side(), event.price());
    const std::int64_t better = rows[place_of(order << 4 | (order & 15), index)].price;
    const std::int64_t worse = rows[place_of(order, index)].price;
    const auto is_first = static_cast<unsigned>(index == 0);
    const unsigned fits =
        (is_first | static_cast<unsigned>(rank_of(event.side(), better) > rank)) &
        (static_cast<unsigned>(index == count) | static_cast<unsigned>(rank_of(event.side(), worse) < rank));
    if (fits == 0) [[unlikely]]
      return {};
    const bool is_full = count == limit();
    const unsigned from = count - (is_full ? 1U : 0U);
    const unsigned place = place_of(order, from);
    state.word = moved(order, from, index, place);
    rows[place] = row_of(event);
    const unsigned after = from + 1;
    state.count = static_cast<std::uint8_t>(after);
    const bool was_open = state.is_open;
    // A side of full depth has no further rows; where no depth is known, a row that falls off may still exist.
    state.is_open = depth_ != 0 ? was_open && after != depth_ : was_open || is_full;
    const bool has_extent = was_open == state.is_open && (!was_open || after == count);
    return {true, is_first != 0, is_first != 0, is_first == 0 && has_extent};
  }

  [[nodiscard]] std::uint64_t known_of(const State& state) const noexcept {
    return state.is_plain ? below(state.count) : is_ordered() ? state.few : state.word;
  }
  [[nodiscard]] bool is_ordered() const noexcept { return capacity_ <= kOrdered; }
  [[nodiscard]] static constexpr unsigned place_of(std::uint64_t order, unsigned index) noexcept {
    return static_cast<unsigned>(order >> 4 * index & 15);
  }
  void empty(State& state) const noexcept {
    state = State();
    if (!is_ordered()) state.word = 0;
  }

  [[nodiscard]] Rows open(State& state, Row* rows) const noexcept {
    if (is_ordered()) put_in_order(state, rows);
    return {rows, known_of(state), state.count, state.is_open};
  }
  void close(State& state, const Rows& all) const noexcept {
    if (is_ordered()) {
      state.few = static_cast<std::uint16_t>(all.known);
      state.is_plain = all.known == below(all.count);
    } else {
      state.word = all.known;
    }
    state.count = static_cast<std::uint8_t>(all.count);
    state.is_open = all.is_open;
  }
  static void put_in_order(State& state, Row* rows) noexcept {
    if (state.word == kInOrder) return;
    Row moved[kOrdered];
    for (unsigned i = 0; i < state.count; ++i) moved[i] = rows[place_of(state.word, i)];
    std::copy_n(moved, state.count, rows);
    state.word = kInOrder;
  }

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

  [[nodiscard]] Fault apply(Rows& side, unsigned level, const Event& event, bool sets) const noexcept {
    switch (event.kind()) {
      case Kind::New: return sets ? set(side, level, event) : insert(side, level, event);
      case Kind::Change: return sets ? set(side, level, event) : change(side, level, event);
      case Kind::Overlay:
        if (level > side.count + 1U && !side.is_open) return Fault::BeyondEnd;
        return set(side, level, event);
      case Kind::Delete: return remove(side, level, event);
      case Kind::DeleteTop: return remove_top(side, level);
      case Kind::DeleteBottom:
        if (level > side.count && !side.is_open) return Fault::BeyondEnd;
        side.count = level - 1;
        side.known &= below(level - 1);
        side.is_open = false;
        return Fault::None;
      default: return Fault::Address;
    }
  }

  /// A side of full depth has no further rows.
  void close_if_full(Rows& side) const noexcept {
    if (depth_ != 0 && side.count == depth_) side.is_open = false;
  }

  [[nodiscard]] Fault insert(Rows& side, unsigned level, const Event& event) const noexcept {
    const unsigned index = level - 1;
    if (index > side.count) {
      if (!side.is_open) return Fault::BeyondEnd;
      side.count = index;
    }
    const std::uint64_t before = side.known & below(index);
    const std::uint64_t after = side.known & ~below(index);
    if (!fits(side.rows, event.side(), index, event.price(), before, after)) return Fault::Disorder;
    if (side.count < limit()) {
      ++side.count;
    } else if (depth_ == 0) {
      side.is_open = true;
    }
    std::memmove(side.rows + level, side.rows + index, (side.count - level) * sizeof(Row));
    side.rows[index] = row_of(event);
    side.known = (before | after << 1 | std::uint64_t{1} << index) & below(side.count);
    close_if_full(side);
    return Fault::None;
  }

  [[nodiscard]] Fault set(Rows& side, unsigned level, const Event& event) const noexcept {
    const unsigned index = level - 1;
    const std::uint64_t bit = std::uint64_t{1} << index;
    if (!fits(side.rows, event.side(), index, event.price(), side.known & below(index),
              side.known & ~below(index) & ~bit)) {
      return Fault::Disorder;
    }
    side.rows[index] = row_of(event);
    side.count = std::max(side.count, level);
    side.known |= bit;
    close_if_full(side);
    return Fault::None;
  }

  [[nodiscard]] Fault change(Rows& side, unsigned level, const Event& event) const noexcept {
    const unsigned index = level - 1;
    if (level > side.count && !side.is_open) return Fault::BeyondEnd;
    if ((side.known >> index & 1) != 0) {
      Row& row = side.rows[index];
      if (event.price() != kNoPrice && event.price() != row.price) return Fault::OtherPrice;
      const std::int64_t price = row.price;
      row = row_of(event);
      row.price = price;
      return Fault::None;
    }
    if (event.price() != kNoPrice) return set(side, level, event);
    // The row exists, and that is all there is to know.
    side.count = std::max(side.count, level);
    close_if_full(side);
    return Fault::None;
  }

  [[nodiscard]] Fault remove(Rows& side, unsigned level, const Event& event) const noexcept {
    const unsigned index = level - 1;
    if (level > side.count) {
      if (!side.is_open) return Fault::BeyondEnd;
      side.count = level;
      close_if_full(side);
    }
    if ((side.known >> index & 1) != 0 && event.price() != kNoPrice && event.price() != side.rows[index].price) {
      return Fault::OtherPrice;
    }
    std::memmove(side.rows + index, side.rows + level, (side.count - level) * sizeof(Row));
    side.known = (side.known & below(index)) | (level < 64 ? side.known >> level << index : 0);
    --side.count;
    return Fault::None;
  }

  [[nodiscard]] Fault remove_top(Rows& side, unsigned level) const noexcept {
    if (level > side.count) {
      if (!side.is_open) return Fault::BeyondEnd;
      side.count = level;
      close_if_full(side);
    }
    std::memmove(side.rows, side.rows + level, (side.count - level) * sizeof(Row));
    side.known = level < 64 ? side.known >> level : 0;
    side.count -= level;
    return Fault::None;
  }

  /// Space for limit() rows a side. Positions beyond what there was are unknown in both sides.
  [[nodiscard]] bool make_room(Pool& pool) noexcept {
    const unsigned size_class = Pool::class_of(2 * limit());
    const std::uint32_t block = pool.take(size_class);
    if (block == Pool::kNone) return false;
    const unsigned capacity = (1U << size_class) / 2;
    for (unsigned i = 0; i < 2; ++i) {
      State& state = sides_[i];
      if (block_ != Pool::kNone) {
        const Rows all = open(state, pool.at(block_) + i * capacity_);
        std::memcpy(static_cast<void*>(pool.at(block) + i * capacity), all.rows, all.count * sizeof(Row));
      }
      if (is_ordered() && capacity > kOrdered) {
        state.word = known_of(state);
        state.is_plain = false;
      }
    }
    if (block_ != Pool::kNone) pool.give(block_, class_);
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
