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

/// Orders by (instrument, id), in chains. A head says whether the chain's first order can be the one, and whether it is
/// the only one, so that orders other than the one in question are seldom touched. A new order is where the last one
/// was that was taken out, which is in the cache. The salt keeps a sender from choosing ids that collide; what a book
/// holds does not depend on it.
class OrderTable {
 public:
  static constexpr std::uint32_t kMostOrders = (1U << 30) - 1;

  OrderTable(std::uint32_t orders, std::uint64_t salt)
      : items_(std::min(orders, kMostOrders)),
        mask_(std::bit_ceil(std::min(orders, kMostOrders) * 2 + 2) - 1),
        salt_(salt | 1),
        heads_(make_large_array<Head>(std::size_t{mask_} + 1)) {
    for (std::uint32_t i = 0; i <= mask_; ++i) heads_[i] = Head();
  }

  /// Where an order is, or belongs. Until the next insert or erase.
  struct Place {
    std::uint32_t order = kNoHandle;   ///< kNoHandle: there is none.
    std::uint32_t before = kNoHandle;  ///< In its chain; kNoHandle: it is the first.
    std::uint32_t chain = 0;
    std::uint32_t tag = 0;
  };
  /// `instrument_of(level)`: of the book that has the level.
  template <class InstrumentOf>
  [[nodiscard]] Place find(std::uint32_t instrument, std::uint64_t id,
                           const InstrumentOf& instrument_of) const noexcept {
    const std::uint64_t hash = hash_of(instrument, id);
    Place place = {.chain = chain_of(hash), .tag = tag_of(hash)};
    const Head head = heads_[place.chain];
    if (head.order == kNoHandle || ((head.tag ^ place.tag) > kOnly && (head.tag & kOnly) != 0)) return place;
    place.order = head.order;
    while (place.order != kNoHandle &&
           (items_[place.order].id != id || instrument_of(items_[place.order].level) != instrument)) {
      place.before = place.order;
      place.order = items_[place.order].chain;
    }
    return place;
  }
  [[nodiscard]] ListedOrder& operator[](std::uint32_t order) noexcept { return items_[order]; }
  [[nodiscard]] const ListedOrder& operator[](std::uint32_t order) const noexcept { return items_[order]; }

  /// An order that is in no chain yet; kNoHandle if there is no room.
  [[nodiscard]] std::uint32_t take() noexcept { return items_.take(); }
  void give(std::uint32_t order) noexcept { items_.give(order); }
  /// At a place where find() has found none.
  void insert(const Place& place, std::uint32_t order, std::uint64_t id) noexcept {
    Head& head = heads_[place.chain];
    items_[order].id = id;
    items_[order].chain = head.order;
    head = {order, place.tag | (head.order == kNoHandle ? kOnly : 0)};
  }
  /// The order at a place.
  template <class InstrumentOf>
  void erase(const Place& place, const InstrumentOf& instrument_of) noexcept {
    const std::uint32_t next = items_[place.order].chain;
    Head& head = heads_[place.chain];
    if (place.before != kNoHandle) {
      items_[place.before].chain = next;
      if (place.before == head.order && next == kNoHandle) head.tag |= kOnly;
    } else if (next == kNoHandle) {
      head = Head();
    } else {
      const ListedOrder& first = items_[next];
      head = {next, tag_of(hash_of(instrument_of(first.level), first.id)) | (first.chain == kNoHandle ? kOnly : 0)};
    }
    items_.give(place.order);
  }
  void prefetch(std::uint32_t instrument, std::uint64_t id) const noexcept {
    __builtin_prefetch(&heads_[chain_of(hash_of(instrument, id))], 1);
  }
  /// After prefetch().
  void prefetch_order(std::uint32_t instrument, std::uint64_t id) const noexcept {
    const std::uint32_t order = heads_[chain_of(hash_of(instrument, id))].order;
    if (order != kNoHandle) items_.prefetch(order);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return items_.bytes() + (std::size_t{mask_} + 1) * sizeof(Head); }

 private:
  struct Head {
    std::uint32_t order = kNoHandle;  ///< kNoHandle: the chain is empty.
    std::uint32_t tag = 0;            ///< Of the first order; kOnly if the chain has no other.
  };
  static_assert(sizeof(Head) == 8);
  static constexpr std::uint32_t kOnly = 1;

  [[nodiscard]] std::uint64_t hash_of(std::uint32_t instrument, std::uint64_t id) const noexcept {
    // The instrument comes in after the salted id is mixed: before, ids of two instruments could cancel it out.
    std::uint64_t x = id + salt_;
    x = (x ^ x >> 32) * 0xD6E8'FEB8'6659'FD93U;
    return (x ^ x >> 32 ^ salt_ ^ instrument * 0x9E37'79B9'7F4A'7C15U) * 0xD6E8'FEB8'6659'FD93U;
  }
  [[nodiscard]] std::uint32_t chain_of(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>(hash ^ hash >> 32) & mask_;
  }
  [[nodiscard]] static std::uint32_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32) & ~kOnly;
  }

  ItemPool<ListedOrder> items_;
  std::uint32_t mask_;
  std::uint64_t salt_;
  LargeArray<Head> heads_;
};

}  // namespace stopbit::market
