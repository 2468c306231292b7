#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "host/market/book/large_array.hpp"

namespace stopbit::market {

/// A number without meaning: no order, no level.
inline constexpr std::uint32_t kNoHandle = 0xFFFF'FFFF;

/// An order of a book by position.
struct Order {
  std::uint64_t id;
  std::int64_t quantity;
  std::int64_t price;
  std::uint32_t next;  ///< In the list of free orders.
};
static_assert(sizeof(Order) == 32);

/// Items of one size with a list of free ones, from one array that is allocated at the start. `Item::next` links it.
template <class Item>
class ItemPool {
 public:
  explicit ItemPool(std::uint32_t items) : items_(make_large_array<Item>(items)), count_(items) {}
  [[nodiscard]] Item& operator[](std::uint32_t handle) noexcept { return items_[handle]; }
  [[nodiscard]] const Item& operator[](std::uint32_t handle) const noexcept { return items_[handle]; }
  [[nodiscard]] bool has_room() const noexcept { return free_ != kNoHandle || next_ < count_; }
  /// kNoHandle if there is no room.
  [[nodiscard]] std::uint32_t take() noexcept {
    if (free_ != kNoHandle) {
      const std::uint32_t handle = free_;
      free_ = items_[handle].next;
      return handle;
    }
    return next_ < count_ ? next_++ : kNoHandle;
  }
  void give(std::uint32_t handle) noexcept {
    items_[handle].next = free_;
    free_ = handle;
  }
  void prefetch(std::uint32_t handle) const noexcept { __builtin_prefetch(&items_[handle], 1); }
  [[nodiscard]] std::size_t bytes() const noexcept { return std::size_t{count_} * sizeof(Item); }

 private:
  LargeArray<Item> items_;
  std::uint32_t count_;
  std::uint32_t next_ = 0;  ///< Items from here on were never taken.
  std::uint32_t free_ = kNoHandle;
};

/// An order of a book by id, at the place where it is found.
struct ListedOrder {
  std::uint64_t id;
  std::int64_t quantity;
  std::uint32_t level;     ///< kNoHandle: the place is free.
  std::uint32_t beyond;    ///< Of the first place of a pair: orders that belong here and are in a later pair.
  std::uint32_t next;      ///< Place of the next one in its level, towards the later ones.
  std::uint32_t previous;  ///< The same towards the earlier ones.
};
static_assert(sizeof(ListedOrder) == 32);

/// Orders by (instrument, id), in pairs of places, at most half of which are taken. A pair is a cache line, so that
/// nearly always one line of the table has all that there is of an order; an order keeps its place. The salt keeps a
/// sender from choosing ids that collide; what a book holds does not depend on it.
class OrderTable {
 public:
  static constexpr std::uint32_t kMostOrders = (1U << 30) - 1;

  OrderTable(std::uint32_t orders, std::uint64_t salt)
      : room_(std::min(orders, kMostOrders)),
        mask_(std::bit_ceil(room_ + 1) - 1),
        salt_(salt | 1),
        places_(make_large_array<ListedOrder>((std::size_t{mask_} + 1) * 2)) {
    for (std::uint32_t pair = 0; pair <= mask_; ++pair) at(pair)[0].level = at(pair)[1].level = kNoHandle;
  }

  [[nodiscard]] ListedOrder& operator[](std::uint32_t place) noexcept { return places_[place]; }
  [[nodiscard]] const ListedOrder& operator[](std::uint32_t place) const noexcept { return places_[place]; }

  /// The place of an order; kNoHandle if it is not here. `instrument_of(level)`: of the book that has the level.
  template <class InstrumentOf>
  [[nodiscard]] std::uint32_t find(std::uint32_t instrument, std::uint64_t id,
                                   const InstrumentOf& instrument_of) const noexcept {
    const auto is_it = [&](const ListedOrder& order) {
      return order.id == id && order.level != kNoHandle && instrument_of(order.level) == instrument;
    };
    for (std::uint32_t pair = home_of(instrument, id);; pair = after(pair)) {
      const ListedOrder* const both = at(pair);
      // Which of the two it is cannot be predicted, so no branch asks.
      const std::uint64_t first = both[0].id ^ id;
      const std::uint64_t second = both[1].id ^ id;
      if (std::min(first, second) == 0) {
        const std::uint32_t which = first == 0 ? 0 : 1;
        if (is_it(both[which])) return pair * 2 + which;
        if (is_it(both[1])) return pair * 2 + 1;
      }
      if (both[0].beyond == 0) return kNoHandle;
    }
  }
  /// The place of an order that is not here; kNoHandle if there is no room. It is free until the order has a level,
  /// which comes next, or erase().
  [[nodiscard]] std::uint32_t insert(std::uint32_t instrument, std::uint64_t id) noexcept {
    if (count_ == room_) return kNoHandle;
    ++count_;
    std::uint32_t pair = home_of(instrument, id);
    while (std::max(at(pair)[0].level, at(pair)[1].level) != kNoHandle) {  // neither is free
      ++at(pair)[0].beyond;
      pair = after(pair);
    }
    const std::uint32_t place = pair * 2 + (at(pair)[0].level != kNoHandle ? 1 : 0);
    places_[place].id = id;
    return place;
  }
  void erase(std::uint32_t place, std::uint32_t instrument) noexcept {
    --count_;
    ListedOrder& order = places_[place];
    for (std::uint32_t pair = home_of(instrument, order.id); pair != place / 2; pair = after(pair))
      --at(pair)[0].beyond;
    order.level = kNoHandle;
    order.id = ~order.id;  // it is not asked for again so soon
  }

  void prefetch(std::uint32_t instrument, std::uint64_t id) const noexcept {
    __builtin_prefetch(at(home_of(instrument, id)), 1);
  }
  /// After prefetch(): its neighbours, too.
  void prefetch_order(std::uint32_t instrument, std::uint64_t id) const noexcept {
    const ListedOrder* const both = at(home_of(instrument, id));
    const ListedOrder& order = both[both[0].id == id ? 0 : 1];
    if (order.level == kNoHandle || order.id != id) return;
    if (order.next != kNoHandle) __builtin_prefetch(&places_[order.next], 1);
    if (order.previous != kNoHandle) __builtin_prefetch(&places_[order.previous], 1);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return (std::size_t{mask_} + 1) * 2 * sizeof(ListedOrder); }

 private:
  [[nodiscard]] ListedOrder* at(std::uint32_t pair) noexcept { return &places_[std::size_t{pair} * 2]; }
  [[nodiscard]] const ListedOrder* at(std::uint32_t pair) const noexcept { return &places_[std::size_t{pair} * 2]; }
  [[nodiscard]] std::uint32_t after(std::uint32_t pair) const noexcept { return (pair + 1) & mask_; }
  [[nodiscard]] std::uint32_t home_of(std::uint32_t instrument, std::uint64_t id) const noexcept {
    // The instrument comes in after the salted id is mixed: before, ids of two instruments could cancel it out.
    std::uint64_t x = id + salt_;
    x = (x ^ x >> 32) * 0xD6E8'FEB8'6659'FD93U;
    x = (x ^ x >> 32 ^ salt_ ^ instrument * 0x9E37'79B9'7F4A'7C15U) * 0xD6E8'FEB8'6659'FD93U;
    return static_cast<std::uint32_t>(x ^ x >> 32) & mask_;
  }

  std::uint32_t room_;
  std::uint32_t mask_;  ///< Of pairs.
  std::uint64_t salt_;
  LargeArray<ListedOrder> places_;
  std::uint32_t count_ = 0;
};

}  // namespace stopbit::market
