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

/// An order of a book by id.
struct ListedOrder {
  std::uint64_t id;
  std::int64_t quantity;
  std::uint32_t level;
  std::uint32_t chain;     ///< The next one that is found in the same way.
  std::uint32_t next;      ///< In its level, towards the later ones; in the list of free orders.
  std::uint32_t previous;  ///< In its level.
};
static_assert(sizeof(ListedOrder) == 32);

/// Orders by (instrument, id): chains, at most one for every two places. A new order is where the last one was that was
/// taken out, which is in the cache. The salt keeps a sender from choosing ids that collide; what a book holds does not
/// depend on it.
class OrderTable {
 public:
  static constexpr std::uint32_t kMostOrders = (1U << 30) - 1;

  OrderTable(std::uint32_t orders, std::uint64_t salt)
      : items_(orders < kMostOrders ? orders : kMostOrders),
        mask_(std::bit_ceil((orders < kMostOrders ? orders : kMostOrders) * 2 + 2) - 1),
        salt_(salt | 1),
        heads_(make_large_array<std::uint32_t>(std::size_t{mask_} + 1)) {
    std::fill_n(heads_.get(), std::size_t{mask_} + 1, kNoHandle);
  }

  /// The link that names the order, or the end of the chain where it belongs: kNoHandle. Until the next change of the
  /// table. `is_of(level)`: whether the level is of a book of the instrument.
  template <class IsOf>
  [[nodiscard]] std::uint32_t* find(std::uint32_t instrument, std::uint64_t id, const IsOf& is_of) noexcept {
    std::uint32_t* link = &heads_[home_of(instrument, id)];
    while (*link != kNoHandle && (items_[*link].id != id || !is_of(items_[*link].level))) link = &items_[*link].chain;
    return link;
  }
  [[nodiscard]] ListedOrder& operator[](std::uint32_t order) noexcept { return items_[order]; }
  [[nodiscard]] const ListedOrder& operator[](std::uint32_t order) const noexcept { return items_[order]; }

  /// An order that is in no chain yet; kNoHandle if there is no room.
  [[nodiscard]] std::uint32_t take() noexcept { return items_.take(); }
  void give(std::uint32_t order) noexcept { items_.give(order); }
  /// At the end of a chain that find() has found.
  void insert(std::uint32_t* end, std::uint32_t order, std::uint64_t id) noexcept {
    items_[order].id = id;
    items_[order].chain = kNoHandle;
    *end = order;
  }
  /// Takes out the order that find() has found.
  void erase(std::uint32_t* link) noexcept {
    const std::uint32_t order = *link;
    *link = items_[order].chain;
    items_.give(order);
  }
  void prefetch(std::uint32_t instrument, std::uint64_t id) const noexcept {
    __builtin_prefetch(&heads_[home_of(instrument, id)], 1);
  }
  /// After prefetch().
  void prefetch_order(std::uint32_t instrument, std::uint64_t id) const noexcept {
    const std::uint32_t order = heads_[home_of(instrument, id)];
    if (order != kNoHandle) items_.prefetch(order);
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return items_.bytes() + (std::size_t{mask_} + 1) * sizeof(std::uint32_t);
  }

 private:
  [[nodiscard]] std::uint32_t home_of(std::uint32_t instrument, std::uint64_t id) const noexcept {
    // The instrument comes in after the salted id is mixed: before, ids of two instruments could cancel it out.
    std::uint64_t x = id + salt_;
    x = (x ^ x >> 32) * 0xD6E8'FEB8'6659'FD93U;
    x = (x ^ x >> 32 ^ salt_ ^ instrument * 0x9E37'79B9'7F4A'7C15U) * 0xD6E8'FEB8'6659'FD93U;
    return static_cast<std::uint32_t>(x ^ x >> 32) & mask_;
  }

  ItemPool<ListedOrder> items_;
  std::uint32_t mask_;
  std::uint64_t salt_;
  LargeArray<std::uint32_t> heads_;
};

}  // namespace stopbit::market
