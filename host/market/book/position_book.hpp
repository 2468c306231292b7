#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "host/market/book/block_pool.hpp"
#include "host/market/book/fault.hpp"
#include "host/market/book/orders.hpp"
#include "host/market/book/row.hpp"
#include "host/market/event/event.hpp"

namespace stopbit::market {

/// Where the orders of all books by position are.
struct PositionPools {
  /// How many there may be of each.
  PositionPools(std::uint32_t order_room, std::uint32_t position_room) : orders(order_room), positions(position_room) {}
  ItemPool<Order> orders;
  BlockPool<std::uint32_t> positions;
  [[nodiscard]] std::size_t bytes() const noexcept { return orders.bytes() + positions.bytes(); }
};

/// A book whose entries say the position of an order in its side, from 1 for the first to be served. It has no depth.
/// Orders without price may come before those with one.
///
/// An order may be unknown: after a loss it is known that the position is taken, but not by what. A side is open if
/// there may be orders after the last one listed.
class PositionBook {
 public:
  /// Positions a side: bounds what one entry can cost.
  static constexpr std::uint32_t kMaxPositions = 16'384;

  /// Both sides are empty, and known to be. Takes time for each order.
  void clear(PositionPools& pools) noexcept {
    for (State& side : sides_) {
      cut(side, 0, pools);
      side.is_open = false;
    }
  }
  /// Nothing is known any more.
  void lose(PositionPools& pools) noexcept {
    clear(pools);
    sides_[0].is_open = sides_[1].is_open = true;
  }
  void release(PositionPools& pools) noexcept {
    clear(pools);
    for (const State& side : sides_) {
      if (side.block != kNoHandle) pools.positions.give(side.block, side.size_class);
    }
    *this = PositionBook();
  }

  /// `sets`: the entry is part of a snapshot and says what the position holds.
  [[nodiscard]] Fault apply(const Event& event, bool sets, PositionPools& pools) noexcept {
    const Side side = event.side();
    if (side != Side::Bid && side != Side::Ask) return Fault::Address;
    State& state = of(side);
    if (event.kind() == Kind::DeleteSide) {
      cut(state, 0, pools);
      state.is_open = false;
      return Fault::None;
    }
    const std::uint32_t position = event.level();
    if (position == kNoLevel) return Fault::Address;
    if (position > kMaxPositions) return Fault::Room;
    const bool is_new = event.kind() == Kind::New && !sets;
    const std::uint32_t least = is_new ? position - 1 : position;  // positions that are taken, if this is right
    if (least > state.count) {
      const bool appends = event.kind() == Kind::Overlay && position == state.count + 1;
      if (!state.is_open && !sets && !appends) return Fault::BeyondEnd;
      if (!extend(state, least, pools)) return Fault::Room;
    }
    Fault fault = Fault::None;
    switch (event.kind()) {
      case Kind::New:
        fault = is_new ? insert(state, side, position, event, pools) : set(state, side, position, event, pools);
        break;
      case Kind::Change: fault = change(state, side, position, event, pools); break;
      case Kind::Overlay: fault = set(state, side, position, event, pools); break;
      case Kind::Delete: fault = remove(state, side, position, event, pools); break;
      case Kind::DeleteTop:
        for (std::uint32_t i = 1; i <= position; ++i) give_order(state, i, pools);
        state.count -= position;
        state.run = 0;
        state.total = 0;
        break;
      case Kind::DeleteBottom:
        cut(state, position - 1, pools);
        state.is_open = false;
        break;
      default: return Fault::Address;
    }
    lengthen_run(state, pools);
    return fault;
  }

  [[nodiscard]] std::uint32_t listed(Side side) const noexcept { return of(side).count; }
  [[nodiscard]] std::uint32_t unknown(Side side) const noexcept { return of(side).unknown; }
  [[nodiscard]] bool is_open(Side side) const noexcept { return of(side).is_open; }
  /// The order at a position, from 1; null if it is not known.
  [[nodiscard]] const Order* order(Side side, std::uint32_t position, const PositionPools& pools) const noexcept {
    const State& state = of(side);
    if (position == 0 || position > state.count) return nullptr;
    const std::uint32_t handle = pools.positions.at(state.block)[state.count - position];
    return handle == kNoHandle ? nullptr : &pools.orders[handle];
  }
  /// The first price, with the orders from position 1 on that have it. Not known unless all of them are: the order
  /// after them has another price, or there is none.
  [[nodiscard]] Row best(Side side, const PositionPools& pools) const noexcept {
    const State& state = of(side);
    const Order* const first = order(side, 1, pools);
    const bool is_whole = state.run < state.count ? order(side, state.run + 1, pools) != nullptr : !state.is_open;
    return first == nullptr || !is_whole ? Row() : Row{first->price, state.total, 0, state.run, 1};
  }
  /// Calls `take(row)` with the prices of a side, best first, as far as all their orders are known, or until it returns
  /// false. Returns whether those were all listed orders.
  template <class Take>
  bool for_each_price(Side side, const PositionPools& pools, const Take& take) const {
    Row row;
    std::uint32_t position = 1;
    for (; position <= of(side).count; ++position) {
      const Order* const item = order(side, position, pools);
      if (item == nullptr) break;
      if (row.is_known != 0 && row.price == item->price) {
        row.quantity += summand(item->quantity);
        ++row.orders;
        continue;
      }
      if (row.is_known != 0 && !take(row)) return false;
      row = {item->price, summand(item->quantity), 0, 1, 1};
    }
    if (row.is_known == 0) return position > of(side).count;
    // An unknown order, or one after the end of an open side, may have the last price too.
    return position > of(side).count && !is_open(side) && take(row);
  }

 private:
  static constexpr unsigned kFirstClass = 4;

  struct State {
    std::int64_t total = 0;           ///< Quantity of the first `run` orders.
    std::uint32_t block = kNoHandle;  ///< Handles of orders, the first to be served last; kNoHandle: unknown.
    std::uint32_t count = 0;
    std::uint32_t unknown = 0;  ///< Of `count`.
    std::uint32_t run = 0;      ///< Orders from position 1 on that are known and have the same price.
    std::uint8_t size_class = 0;
    bool is_open = false;
  };

  [[nodiscard]] const State& of(Side side) const noexcept { return sides_[side == Side::Ask ? 1 : 0]; }
  [[nodiscard]] State& of(Side side) noexcept { return sides_[side == Side::Ask ? 1 : 0]; }

  [[nodiscard]] static std::uint32_t& at(State& state, std::uint32_t position, PositionPools& pools) noexcept {
    return pools.positions.at(state.block)[state.count - position];
  }
  static void give_order(State& state, std::uint32_t position, PositionPools& pools) noexcept {
    const std::uint32_t handle = at(state, position, pools);
    if (handle != kNoHandle) {
      pools.orders.give(handle);
    } else {
      --state.unknown;
    }
  }

  /// Appends unknown orders until `count` positions are taken.
  [[nodiscard]] static bool extend(State& state, std::uint32_t count, PositionPools& pools) noexcept {
    if (!make_room(state, count, pools)) return false;
    std::uint32_t* const handles = pools.positions.at(state.block);
    const std::uint32_t more = count - state.count;
    std::memmove(handles + more, handles, state.count * sizeof(*handles));
    std::fill_n(handles, more, kNoHandle);
    state.count = count;
    state.unknown += more;
    return true;
  }
  [[nodiscard]] static bool make_room(State& state, std::uint32_t count, PositionPools& pools) noexcept {
    if (count > kMaxPositions) return false;
    if (state.block == kNoHandle) {
      state.size_class = static_cast<std::uint8_t>(std::max(kFirstClass, BlockPool<std::uint32_t>::class_of(count)));
      state.block = pools.positions.take(state.size_class);
      return state.block != kNoHandle;
    }
    while (std::uint32_t{1} << state.size_class < count) {
      const std::uint32_t larger = pools.positions.grow(state.block, state.size_class, state.count);
      if (larger == kNoHandle) return false;
      state.block = larger;
      ++state.size_class;
    }
    return true;
  }

  /// Keeps the first `count` positions.
  static void cut(State& state, std::uint32_t count, PositionPools& pools) noexcept {
    if (count >= state.count) return;
    for (std::uint32_t i = count + 1; i <= state.count; ++i) give_order(state, i, pools);
    std::uint32_t* const handles = pools.positions.at(state.block);
    std::memmove(handles, handles + (state.count - count), count * sizeof(*handles));
    state.count = count;
    if (state.run > count) state.run = 0;
    if (state.run == 0) state.total = 0;
  }

  [[nodiscard]] bool fits(const State& state, Side side, std::uint32_t before, std::uint32_t after, std::int64_t price,
                          const PositionPools& pools) const noexcept {
    const std::uint64_t rank = rank_of(side, price);
    const Order* const better = order(side, before, pools);
    const Order* const worse = after > state.count ? nullptr : order(side, after, pools);
    return (better == nullptr || rank_of(side, better->price) >= rank) &&
           (worse == nullptr || rank_of(side, worse->price) <= rank);
  }

  /// Adds to the run what belongs to it.
  static void lengthen_run(State& state, PositionPools& pools) noexcept {
    while (state.run < state.count) {
      const std::uint32_t next = at(state, state.run + 1, pools);
      if (next == kNoHandle) return;
      const Order& item = pools.orders[next];
      if (state.run != 0 && item.price != pools.orders[at(state, 1, pools)].price) return;
      ++state.run;
      state.total += summand(item.quantity);
    }
  }
  /// Forgets the run if it includes the position; lengthen_run() finds it again.
  static void forget_run(State& state, std::uint32_t position) noexcept {
    if (position > state.run) return;
    state.run = 0;
    state.total = 0;
  }

  [[nodiscard]] Fault insert(State& state, Side side, std::uint32_t position, const Event& event,
                             PositionPools& pools) noexcept {
    if (!fits(state, side, position - 1, position, event.price(), pools)) return Fault::Disorder;
    if (!make_room(state, state.count + 1, pools)) return Fault::Room;
    const std::uint32_t made = pools.orders.take();
    if (made == kNoHandle) return Fault::Room;
    Order& item = pools.orders[made];
    item.id = event.id();
    item.quantity = event.quantity();
    item.price = event.price();
    if (position <= state.run) {
      if (item.price == pools.orders[at(state, 1, pools)].price) {
        ++state.run;
        state.total += summand(item.quantity);
      } else {
        forget_run(state, position);
      }
    }
    std::uint32_t* const handles = pools.positions.at(state.block);
    const std::uint32_t place = state.count - position + 1;
    std::memmove(handles + place + 1, handles + place, (position - 1) * sizeof(*handles));
    handles[place] = made;
    ++state.count;
    return Fault::None;
  }

  [[nodiscard]] Fault set(State& state, Side side, std::uint32_t position, const Event& event,
                          PositionPools& pools) noexcept {
    if (!fits(state, side, position - 1, position + 1, event.price(), pools)) return Fault::Disorder;
    std::uint32_t handle = at(state, position, pools);
    if (handle == kNoHandle) {
      handle = pools.orders.take();
      if (handle == kNoHandle) return Fault::Room;
      at(state, position, pools) = handle;
      --state.unknown;
    }
    Order& item = pools.orders[handle];
    item.id = event.id();
    item.quantity = event.quantity();
    item.price = event.price();
    forget_run(state, position);
    return Fault::None;
  }

  [[nodiscard]] Fault change(State& state, Side side, std::uint32_t position, const Event& event,
                             PositionPools& pools) noexcept {
    const std::uint32_t handle = at(state, position, pools);
    if (handle == kNoHandle) {
      // Without a price it says no more than that the position is taken.
      return event.price() == kNoPrice ? Fault::None : set(state, side, position, event, pools);
    }
    Order& item = pools.orders[handle];
    if (const Fault fault = other(item, event); fault != Fault::None) return fault;
    if (position <= state.run) state.total += summand(event.quantity()) - summand(item.quantity);
    item.quantity = event.quantity();
    return Fault::None;
  }

  [[nodiscard]] Fault remove(State& state, Side side, std::uint32_t position, const Event& event,
                             PositionPools& pools) noexcept {
    const std::uint32_t handle = at(state, position, pools);
    if (handle != kNoHandle) {
      const Order& item = pools.orders[handle];
      if (const Fault fault = other(item, event); fault != Fault::None) return fault;
      if (position <= state.run) {
        --state.run;
        state.total -= summand(item.quantity);
      }
      pools.orders.give(handle);
    } else {
      --state.unknown;
    }
    std::uint32_t* const handles = pools.positions.at(state.block);
    const std::uint32_t place = state.count - position;
    std::memmove(handles + place, handles + place + 1, (position - 1) * sizeof(*handles));
    --state.count;
    // An unknown order may have been between two whose prices are out of order.
    const Order* const worse = order(side, position, pools);
    return worse == nullptr || fits(state, side, position - 1, position + 1, worse->price, pools) ? Fault::None
                                                                                                  : Fault::Disorder;
  }

  /// Whether the entry is about another order than the one at its position.
  [[nodiscard]] static Fault other(const Order& item, const Event& event) noexcept {
    if (event.id() != 0 && item.id != 0 && event.id() != item.id) return Fault::OtherOrder;
    return event.price() != kNoPrice && event.price() != item.price ? Fault::OtherPrice : Fault::None;
  }

  State sides_[2];
};

}  // namespace stopbit::market
