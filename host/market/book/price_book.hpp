#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "host/market/book/block_pool.hpp"
#include "host/market/book/fault.hpp"
#include "host/market/book/row.hpp"
#include "host/market/event/event.hpp"

namespace stopbit::market {

/// A book whose entries name a price. Rows beyond the depth fall off.
///
/// A side may be open below a boundary: of prices that are worse, rows may exist that are not known. After a loss that
/// is every price, as an unknown row may be anywhere.
class PriceBook {
 public:
  using Pool = BlockPool<Row>;
  static constexpr std::uint32_t kMaxRows = 4'096;  ///< A side: bounds what one entry can cost.

  /// Depth 0: all prices are kept.
  void begin(std::uint16_t depth) noexcept {
    *this = PriceBook();
    depth_ = depth == 0 || depth > kMaxRows ? 0 : depth;
  }
  /// Both sides are empty, and known to be.
  void clear() noexcept {
    for (State& side : sides_) side.empty();
  }
  /// Nothing is known of either side.
  void lose() noexcept {
    clear();
    sides_[0].boundary = sides_[1].boundary = kEverything;
  }
  void release(Pool& pool) noexcept {
    for (const State& side : sides_) {
      if (side.block != Pool::kNone) pool.give(side.block, side.size_class);
    }
    begin(depth_);
  }

  /// `sets`: the entry is part of a snapshot.
  [[nodiscard]] Fault apply(const Event& event, bool sets, Pool& pool) noexcept {
    const Side side = event.side();
    if (side != Side::Bid && side != Side::Ask) return Fault::Address;
    State& state = sides_[static_cast<unsigned>(side) - 1];
    if (event.kind() == Kind::DeleteSide) {
      state.empty();
      return Fault::None;
    }
    const std::uint64_t rank = rank_of(side, event.price());
    const Row* const rows = state.block == Pool::kNone ? nullptr : pool.at(state.block);
    const std::uint32_t place = find(state, rows, side, rank);
    const bool is_there = place < state.count && rows[place].price == event.price();
    const bool may_be_unseen = rank < state.boundary || state.boundary == kEverything;
    switch (event.kind()) {
      case Kind::New:
        if (is_there && !sets) return Fault::Twice;
        break;
      case Kind::Change:
        if (!is_there && !sets && !may_be_unseen) return Fault::Missing;
        break;
      case Kind::Overlay: break;
      case Kind::Delete:
        if (!is_there) return may_be_unseen ? Fault::None : Fault::Missing;
        remove(state, pool.at(state.block), place);
        return Fault::None;
      default: return Fault::Address;
    }
    if (is_there) {
      pool.at(state.block)[place] = row_of(event);
      return Fault::None;
    }
    return insert(state, place, row_of(event), rank, side, pool);
  }

  [[nodiscard]] unsigned listed(Side side) const noexcept { return of(side).count; }
  [[nodiscard]] bool is_open(Side side) const noexcept { return of(side).boundary != 0; }
  /// Rows of a lower rank may exist unseen; 0: none, kEverything: any.
  [[nodiscard]] std::uint64_t boundary(Side side) const noexcept { return of(side).boundary; }
  [[nodiscard]] unsigned depth() const noexcept { return depth_; }
  static constexpr std::uint64_t kEverything = ~std::uint64_t{0};
  /// Rows from the best before which there is no unknown one.
  [[nodiscard]] unsigned known_to(Side side, const Pool& pool) const noexcept {
    const State& state = of(side);
    if (state.boundary == 0) return state.count;
    if (state.boundary == kEverything || state.count == 0) return 0;
    return state.count - find(state, pool.at(state.block), side, state.boundary);
  }
  /// The best row; `is_known` 0: there is none, or one that is not known may be better.
  [[nodiscard]] Row best(Side side, const Pool& pool) const noexcept {
    const State& state = of(side);
    if (state.count == 0 || state.boundary == kEverything) return {};
    const Row first = row(side, 0, pool);
    return rank_of(side, first.price) < state.boundary ? Row() : first;
  }
  /// Row `index` of those that are listed, from 0 for the best.
  [[nodiscard]] Row row(Side side, unsigned index, const Pool& pool) const noexcept {
    const State& state = of(side);
    return index < state.count ? pool.at(state.block)[state.count - 1 - index] : Row();
  }

 private:
  static constexpr unsigned kFirstClass = 3;

  struct State {
    std::uint64_t boundary = 0;  ///< Rows of a lower rank may exist unseen; 0: none.
    std::uint32_t block = Pool::kNone;
    std::uint16_t count = 0;  ///< The best row is the last one.
    std::uint8_t size_class = 0;

    void empty() noexcept {
      boundary = 0;
      count = 0;
    }
  };

  [[nodiscard]] const State& of(Side side) const noexcept { return sides_[side == Side::Ask ? 1 : 0]; }

  /// The first row whose rank is not lower. Most entries are near the best, so the search begins there.
  [[nodiscard]] static std::uint32_t find(const State& state, const Row* rows, Side side, std::uint64_t rank) noexcept {
    std::uint32_t high = state.count;
    for (unsigned step = 0; step < 8 && high > 0; ++step) {
      if (rank_of(side, rows[high - 1].price) < rank) return high;
      --high;
    }
    std::uint32_t low = 0;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (rank_of(side, rows[middle].price) < rank) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  static void remove(State& state, Row* rows, std::uint32_t place) noexcept {
    std::memmove(rows + place, rows + place + 1, (state.count - place - 1U) * sizeof(Row));
    --state.count;
  }

  [[nodiscard]] Fault insert(State& state, std::uint32_t place, const Row& row, std::uint64_t rank, Side side,
                             Pool& pool) noexcept {
    if (depth_ != 0 && state.count == depth_) {
      // The worst row falls off; it may be the new one.
      Row* const rows = pool.at(state.block);
      const std::uint64_t worst = place == 0 ? rank : rank_of(side, rows[0].price);
      state.boundary = std::max(state.boundary, worst == kEverything ? worst : worst + 1);
      if (place == 0) return Fault::None;
      std::memmove(rows, rows + 1, (place - 1U) * sizeof(Row));
      rows[place - 1] = row;
      return Fault::None;
    }
    if (state.count == kMaxRows || !make_room(state, pool)) return Fault::Room;
    Row* const rows = pool.at(state.block);
    std::memmove(rows + place + 1, rows + place, (state.count - place) * sizeof(Row));
    rows[place] = row;
    ++state.count;
    return Fault::None;
  }

  [[nodiscard]] static bool make_room(State& state, Pool& pool) noexcept {
    if (state.block == Pool::kNone) {
      state.block = pool.take(kFirstClass);
      state.size_class = kFirstClass;
      return state.block != Pool::kNone;
    }
    if (state.count < std::uint32_t{1} << state.size_class) return true;
    const std::uint32_t larger = pool.grow(state.block, state.size_class, state.count);
    if (larger == Pool::kNone) return false;
    state.block = larger;
    ++state.size_class;
    return true;
  }

  State sides_[2];
  std::uint16_t depth_ = 0;
};

}  // namespace stopbit::market
