#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "host/market/book/block_pool.hpp"
#include "host/market/book/fault.hpp"
#include "host/market/book/orders.hpp"
#include "host/market/book/price_ladder.hpp"
#include "host/market/book/row.hpp"
#include "host/market/event/event.hpp"

namespace stopbit::market {

/// The orders of one price.
struct PriceLevel {
  std::uint64_t rank;
  std::int64_t quantity;
  union {
    std::uint32_t next;        ///< In the list of free levels.
    std::uint32_t instrument;  ///< Of a level in use.
  };
  std::uint32_t first;  ///< Order.
  std::uint32_t last;
  std::uint32_t orders : 31;
  std::uint32_t is_ask : 1;

  [[nodiscard]] Side side() const noexcept { return is_ask != 0 ? Side::Ask : Side::Bid; }
};
static_assert(sizeof(PriceLevel) == 32);

/// A level in a sorted list.
struct SortedLevel {
  std::uint64_t rank;
  std::uint32_t level;
  std::uint32_t unused;
};

/// Where the orders of all books are.
struct OrderPools {
  /// How many there may be of each.
  OrderPools(std::uint32_t order_room, std::uint32_t level_room, std::uint32_t sorted_room, std::uint32_t ladder_room,
             std::uint64_t salt)
      : orders(order_room, salt), levels(level_room), sorted(sorted_room), ladders(ladder_room) {}

  OrderTable orders;
  ItemPool<PriceLevel> levels;
  BlockPool<SortedLevel> sorted;
  ItemPool<PriceLadder> ladders;

  [[nodiscard]] std::size_t bytes() const noexcept {
    return orders.bytes() + levels.bytes() + sorted.bytes() + ladders.bytes();
  }
};

/// A book of orders with identifiers. The orders of a price are in the order in which they came.
///
/// The levels of a side are in a sorted list; a side with many levels has a ladder beside it, if there is one left, and
/// the list keeps those outside the ladder and between its ticks. A book that is open has orders that are not known:
/// entries about such orders are passed over.
class OrderBook {
 public:
  static constexpr std::uint64_t kNoPriceRank = rank_of(Side::Bid, kNoPrice);  ///< Of either side.
  static constexpr std::uint32_t kMaxSorted = 4'096;  ///< Levels a side: bounds what one entry can cost.
  static constexpr std::uint32_t kLadderFrom = 48;    ///< Levels in the list at which a side gets a ladder.
  static constexpr std::uint32_t kMoveAfter = 256;    ///< Levels made outside the ladder before it is moved.

  /// `instrument` tells the orders of this book from those of others. Tick 0: not known.
  void begin(std::uint32_t instrument, std::int64_t tick) noexcept {
    *this = OrderBook();
    instrument_ = instrument;
    tick_ =
        tick > 0 && static_cast<std::uint64_t>(tick) <= PriceLadder::kMaxTick ? static_cast<std::uint64_t>(tick) : 0;
  }

  /// Both sides are empty, and known to be. Takes time for each order.
  void clear(OrderPools& pools) noexcept {
    empty(Side::Bid, pools);
    empty(Side::Ask, pools);
    is_open_ = false;
  }
  /// Nothing is known any more.
  void lose(OrderPools& pools) noexcept {
    clear(pools);
    is_open_ = true;
  }
  void release(OrderPools& pools) noexcept {
    clear(pools);
    for (const State& side : sides_) {
      if (side.list != kNoHandle) pools.sorted.give(side.list, side.list_class);
      if (side.ladder != kNoHandle) pools.ladders.give(side.ladder);
    }
    begin(instrument_, static_cast<std::int64_t>(tick_));
  }

  [[nodiscard]] Fault apply(const Event& event, OrderPools& pools) noexcept {
    if (event.kind() == Kind::DeleteSide) {
      if (event.side() != Side::Bid && event.side() != Side::Ask) return Fault::Address;
      empty(event.side(), pools);
      return Fault::None;
    }
    const std::uint32_t place =
        pools.orders.find(instrument_, event.id(), [&](std::uint32_t level) { return pools.levels[level].instrument; });
    if (event.kind() == Kind::New) {
      if (place != kNoHandle) return Fault::Twice;
      if (event.side() != Side::Bid && event.side() != Side::Ask) return Fault::Address;
      return add(event, pools);
    }
    if (place == kNoHandle) {
      if (event.kind() > Kind::Overlay) return Fault::Address;
      if (!is_open_) return Fault::Missing;
      ++unseen_;
      return Fault::None;
    }
    ListedOrder& order = pools.orders[place];
    PriceLevel& level = pools.levels[order.level];
    const Side side = level.side();
    if (event.side() != Side::None && event.side() != side) return Fault::OtherPrice;
    const bool moves = event.price() != kNoPrice && rank_of(side, event.price()) != level.rank;
    switch (event.kind()) {
      case Kind::Overlay:
        if (moves) {
          leave(place, side, pools);
          if (put(place, side, rank_of(side, event.price()), event.quantity(), pools) == Fault::None)
            return Fault::None;
          pools.orders.erase(place, instrument_);
          return Fault::Room;
        }
        [[fallthrough]];
      case Kind::Change:
        if (moves) return Fault::OtherPrice;
        level.quantity += summand(event.quantity()) - summand(order.quantity);
        order.quantity = event.quantity();
        return Fault::None;
      case Kind::Delete:
        if (moves) return Fault::OtherPrice;
        leave(place, side, pools);
        pools.orders.erase(place, instrument_);
        return Fault::None;
      default: return Fault::Address;
    }
  }

  /// Loads what apply() will need: first where the order is found, some events later the order.
  void prefetch(const Event& event, const OrderPools& pools) const noexcept {
    pools.orders.prefetch(instrument_, event.id());
  }
  void prefetch_order(const Event& event, const OrderPools& pools) const noexcept {
    pools.orders.prefetch_order(instrument_, event.id());
  }

  [[nodiscard]] bool is_open() const noexcept { return is_open_; }
  [[nodiscard]] std::uint32_t orders(Side side) const noexcept { return of(side).orders; }
  /// Entries about orders that are not known, since the book was opened.
  [[nodiscard]] std::uint64_t unseen() const noexcept { return unseen_; }

  /// The best price; `is_known` 0: there is none, or one that is not known may be better.
  [[nodiscard]] Row best(Side side, const OrderPools& pools) const noexcept {
    return is_open_ ? Row() : first(side, pools);
  }
  /// The best of the prices of known orders.
  [[nodiscard]] Row first(Side side, const OrderPools& pools) const noexcept {
    return of(side).best == kNoHandle ? Row() : row_of_level(side, pools.levels[of(side).best]);
  }

  /// Calls `take(level)` with the levels of a side, best first, until it returns false.
  template <class Take>
  void for_each_level(Side side, const OrderPools& pools, const Take& take) const {
    const State& state = of(side);
    std::uint32_t listed = state.listed;
    const PriceLadder* const ladder = state.ladder == kNoHandle ? nullptr : &pools.ladders[state.ladder];
    std::uint32_t place = ladder == nullptr ? PriceLadder::kNowhere : ladder->best();
    while (listed != 0 || place != PriceLadder::kNowhere) {
      const std::uint32_t far = listed == 0 ? kNoHandle : pools.sorted.at(state.list)[listed - 1].level;
      const std::uint32_t near = place == PriceLadder::kNowhere ? kNoHandle : ladder->level(place);
      const bool is_far = near == kNoHandle || (far != kNoHandle && pools.levels[far].rank > pools.levels[near].rank);
      if (!take(pools.levels[is_far ? far : near])) return;
      if (is_far) {
        --listed;
      } else {
        place = ladder->best_below(place);
      }
    }
  }
  [[nodiscard]] static Row row_of_level(Side side, const PriceLevel& level) noexcept {
    return {price_of(side, level.rank), level.quantity, 0, level.orders, 1};
  }

 private:
  struct State {
    std::uint32_t list = kNoHandle;  ///< Block of SortedLevel, the best last.
    std::uint32_t ladder = kNoHandle;
    std::uint32_t best = kNoHandle;  ///< Level.
    std::uint32_t orders = 0;
    std::uint16_t listed = 0;
    std::uint16_t misses = 0;  ///< Levels made outside the ladder since it was moved.
    std::uint8_t list_class = 0;
  };
  static constexpr unsigned kFirstClass = 2;

  [[nodiscard]] const State& of(Side side) const noexcept { return sides_[side == Side::Ask ? 1 : 0]; }
  [[nodiscard]] State& of(Side side) noexcept { return sides_[side == Side::Ask ? 1 : 0]; }

  [[nodiscard]] Fault add(const Event& event, OrderPools& pools) noexcept {
    const std::uint32_t place = pools.orders.insert(instrument_, event.id());
    if (place == kNoHandle) return Fault::Room;
    const Fault fault = put(place, event.side(), rank_of(event.side(), event.price()), event.quantity(), pools);
    if (fault != Fault::None) pools.orders.erase(place, instrument_);
    return fault;
  }

  /// Puts an order, which is in no level, at the end of one. If there is no room it stays in none.
  [[nodiscard]] Fault put(std::uint32_t order, Side side, std::uint64_t rank, std::int64_t quantity,
                          OrderPools& pools) noexcept {
    State& state = of(side);
    const std::uint32_t found = level_at(state, side, rank, pools);
    if (found == kNoHandle) return Fault::Room;
    PriceLevel& level = pools.levels[found];
    ListedOrder& item = pools.orders[order];
    item.quantity = quantity;
    item.level = found;
    item.next = kNoHandle;
    item.previous = level.last;
    (level.last != kNoHandle ? pools.orders[level.last].next : level.first) = order;
    level.last = order;
    ++level.orders;
    level.quantity += summand(quantity);
    ++state.orders;
    return Fault::None;
  }

  /// Takes an order out of its level, and the level away if it was the last one.
  void leave(std::uint32_t order, Side side, OrderPools& pools) noexcept {
    State& state = of(side);
    const ListedOrder& item = pools.orders[order];
    PriceLevel& level = pools.levels[item.level];
    (item.next != kNoHandle ? pools.orders[item.next].previous : level.last) = item.previous;
    (item.previous != kNoHandle ? pools.orders[item.previous].next : level.first) = item.next;
    level.quantity -= summand(item.quantity);
    --state.orders;
    --level.orders;
    if (level.orders == 0) remove_level(state, item.level, pools);
  }

  [[nodiscard]] std::uint32_t level_at(State& state, Side side, std::uint64_t rank, OrderPools& pools) noexcept {
    if (state.best != kNoHandle && pools.levels[state.best].rank == rank) return state.best;
    std::uint32_t place = PriceLadder::kNowhere;
    if (state.ladder != kNoHandle) {
      PriceLadder& ladder = pools.ladders[state.ladder];
      place = ladder.place_of(rank);
      if (place == PriceLadder::kNowhere && state.best == kNoHandle && rank != kNoPriceRank) {
        ladder.begin(rank, ladder.tick());  // the side is empty: nothing has to be moved
        place = ladder.place_of(rank);
      }
      if (place != PriceLadder::kNowhere) {
        const std::uint32_t found = ladder.level(place);
        if (found != kNoHandle) return found;
      }
    }
    std::uint32_t at = 0;
    if (place == PriceLadder::kNowhere && state.list != kNoHandle) {
      at = find(state, rank, pools);
      const SortedLevel& found = pools.sorted.at(state.list)[at];
      if (at < state.listed && found.rank == rank) return found.level;
    }
    return make_level(state, side, rank, place, at, pools);
  }

  [[nodiscard]] std::uint32_t make_level(State& state, Side side, std::uint64_t rank, std::uint32_t place,
                                         std::uint32_t at, OrderPools& pools) noexcept {
    const std::uint32_t made = pools.levels.take();
    if (made == kNoHandle) return kNoHandle;
    if (place == PriceLadder::kNowhere && !make_room(state, pools)) {
      pools.levels.give(made);
      return kNoHandle;
    }
    pools.levels[made] = {.rank = rank,
                          .quantity = 0,
                          .instrument = instrument_,
                          .first = kNoHandle,
                          .last = kNoHandle,
                          .orders = 0,
                          .is_ask = side == Side::Ask ? 1U : 0U};
    if (state.best == kNoHandle || rank > pools.levels[state.best].rank) state.best = made;
    if (place != PriceLadder::kNowhere) {
      pools.ladders[state.ladder].put(place, made);
      return made;
    }
    SortedLevel* const list = pools.sorted.at(state.list);
    std::memmove(list + at + 1, list + at, (state.listed - at) * sizeof(SortedLevel));
    list[at] = {rank, made, 0};
    ++state.listed;
    if (state.ladder == kNoHandle ? state.listed >= kLadderFrom : ++state.misses >= kMoveAfter) {
      move_ladder(state, pools);
    }
    return made;
  }

  void remove_level(State& state, std::uint32_t level, OrderPools& pools) noexcept {
    const std::uint64_t rank = pools.levels[level].rank;
    std::uint32_t place = PriceLadder::kNowhere;
    if (state.ladder != kNoHandle) place = pools.ladders[state.ladder].place_of(rank);
    if (place != PriceLadder::kNowhere) {
      pools.ladders[state.ladder].remove(place);
    } else {
      const std::uint32_t at = find(state, rank, pools);
      SortedLevel* const list = pools.sorted.at(state.list);
      std::memmove(list + at, list + at + 1, (state.listed - at - 1U) * sizeof(SortedLevel));
      --state.listed;
    }
    pools.levels.give(level);
    if (level == state.best) state.best = best_of(state, place, pools);
  }

  /// The best level; the ladder has none at `place` and above.
  [[nodiscard]] static std::uint32_t best_of(const State& state, std::uint32_t place,
                                             const OrderPools& pools) noexcept {
    std::uint32_t best = state.listed == 0 ? kNoHandle : pools.sorted.at(state.list)[state.listed - 1U].level;
    if (state.ladder == kNoHandle) return best;
    const PriceLadder& ladder = pools.ladders[state.ladder];
    const std::uint32_t found = ladder.best_below(place);
    if (found == PriceLadder::kNowhere) return best;
    const std::uint32_t near = ladder.level(found);
    return best == kNoHandle || pools.levels[near].rank > pools.levels[best].rank ? near : best;
  }

  /// The first place of the list whose rank is not lower. Most entries are near the best, so the search begins there.
  [[nodiscard]] static std::uint32_t find(const State& state, std::uint64_t rank, const OrderPools& pools) noexcept {
    const SortedLevel* const list = pools.sorted.at(state.list);
    std::uint32_t high = state.listed;
    for (unsigned step = 0; step < 8 && high > 0; ++step) {
      if (list[high - 1].rank < rank) return high;
      --high;
    }
    std::uint32_t low = 0;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (list[middle].rank < rank) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  [[nodiscard]] static bool make_room(State& state, OrderPools& pools) noexcept {
    if (state.list == kNoHandle) {
      state.list = pools.sorted.take(kFirstClass);
      state.list_class = kFirstClass;
      return state.list != kNoHandle;
    }
    if (state.listed < std::uint32_t{1} << state.list_class) return true;
    if (state.listed >= kMaxSorted) return false;
    const std::uint32_t larger = pools.sorted.grow(state.list, state.list_class, state.listed);
    if (larger == kNoHandle) return false;
    state.list = larger;
    ++state.list_class;
    return true;
  }

  /// Puts the ladder, a new one if there was none, around the best price, with a tick that fits what was seen. What
  /// cannot be moved, as the list has no room, leaves the ladder where it is. Done once in many levels.
  void move_ladder(State& state, OrderPools& pools) noexcept {
    state.misses = 0;
    if (state.ladder != kNoHandle && !spill(state, pools)) return;
    if (state.ladder == kNoHandle) {
      state.ladder = pools.ladders.take();
      if (state.ladder == kNoHandle) return;
    }
    SortedLevel* const list = pools.sorted.at(state.list);
    // Orders without price are best for ever, and far from all others: their level stays in the list.
    const std::uint32_t priced = state.listed - (list[state.listed - 1U].rank == kNoPriceRank ? 1U : 0U);
    if (priced == 0) return;
    std::uint64_t tick = tick_;
    if (tick == 0) {
      for (std::uint32_t i = 1; i < priced; ++i) tick = std::gcd(tick, list[i].rank - list[i - 1].rank);
      tick = tick == 0 || tick > PriceLadder::kMaxTick ? 1 : tick;
    }
    PriceLadder& ladder = pools.ladders[state.ladder];
    ladder.begin(list[priced - 1].rank, tick);
    std::uint16_t kept = 0;
    for (std::uint32_t i = 0; i < state.listed; ++i) {
      const std::uint32_t place = ladder.place_of(list[i].rank);
      if (place == PriceLadder::kNowhere) {
        list[kept++] = list[i];
      } else {
        ladder.put(place, list[i].level);
      }
    }
    state.listed = kept;
  }

  /// Moves the ladder's levels into the list. False, and nothing moved, if it has no room for them.
  [[nodiscard]] static bool spill(State& state, OrderPools& pools) noexcept {
    PriceLadder& ladder = pools.ladders[state.ladder];
    std::uint32_t count = 0;
    for (std::uint32_t at = ladder.best(); at != PriceLadder::kNowhere; at = ladder.best_below(at)) ++count;
    const std::uint32_t total = state.listed + count;
    if (total > kMaxSorted) return false;
    while (std::uint32_t{1} << state.list_class < total) {
      const std::uint32_t larger = pools.sorted.grow(state.list, state.list_class, state.listed);
      if (larger == kNoHandle) return false;
      state.list = larger;
      ++state.list_class;
    }
    SortedLevel* const list = pools.sorted.at(state.list);
    // From the best on, into the end of the list.
    std::uint32_t from = state.listed;
    std::uint32_t to = total;
    for (std::uint32_t at = ladder.best(); at != PriceLadder::kNowhere; at = ladder.best_below(at)) {
      const std::uint32_t level = ladder.level(at);
      const std::uint64_t rank = pools.levels[level].rank;
      while (from != 0 && list[from - 1].rank > rank) list[--to] = list[--from];
      list[--to] = {rank, level, 0};
    }
    state.listed = static_cast<std::uint16_t>(total);
    return true;
  }

  void empty(Side side, OrderPools& pools) noexcept {
    State& state = of(side);
    while (state.best != kNoHandle) {
      const std::uint32_t first = pools.levels[state.best].first;
      leave(first, side, pools);
      pools.orders.erase(first, instrument_);
    }
    state.misses = 0;
  }

  State sides_[2];
  std::uint64_t tick_ = 0;
  std::uint64_t unseen_ = 0;
  std::uint32_t instrument_ = 0;
  bool is_open_ = false;
};

}  // namespace stopbit::market
