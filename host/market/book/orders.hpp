#pragma once

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

/// An order of a book by id, in the place where it is found.
struct ListedOrder {
  std::uint64_t id;
  std::int64_t quantity;
  std::uint32_t level;  ///< kNoHandle: there is no order here.
  std::uint32_t instrument;
  std::uint32_t next;      ///< Place of the next one in its level, towards the later ones; kNoHandle: none.
  std::uint32_t previous;  ///< The same towards the earlier ones.
};
static_assert(sizeof(ListedOrder) == 32);

/// Orders by (instrument, id): open addressing, at most half full, without marks for deleted ones. An order is itself
/// in the table, so that an entry about it touches one place in memory that is not in the cache, beside those of its
/// neighbours. Places change when another order is erased. The salt keeps a sender from choosing ids that collide; what
/// a book holds does not depend on it.
class OrderTable {
 public:
  static constexpr std::uint32_t kMostOrders = (1U << 30) - 1;

  OrderTable(std::uint32_t orders, std::uint64_t salt)
      : room_(orders < kMostOrders ? orders : kMostOrders),
        mask_(std::bit_ceil(room_ * 2 + 2) - 1),
        salt_(salt | 1),
        places_(make_large_array<ListedOrder>(std::size_t{mask_} + 1)) {
    for (std::uint32_t i = 0; i <= mask_; ++i) places_[i].level = kNoHandle;
  }

  /// Of the order, or the free place where it belongs. Until the next change of the table.
  [[nodiscard]] std::uint32_t place_of(std::uint32_t instrument, std::uint64_t id) const noexcept {
    std::uint32_t place = home_of(instrument, id);
    while (is_taken(place) && (places_[place].id != id || places_[place].instrument != instrument)) {
      place = (place + 1) & mask_;
    }
    return place;
  }
  [[nodiscard]] bool is_taken(std::uint32_t place) const noexcept { return places_[place].level != kNoHandle; }
  [[nodiscard]] ListedOrder& operator[](std::uint32_t place) noexcept { return places_[place]; }
  [[nodiscard]] const ListedOrder& operator[](std::uint32_t place) const noexcept { return places_[place]; }
  [[nodiscard]] bool has_room() const noexcept { return count_ < room_; }

  /// At the free place where the order belongs, while there is room: its names. It is taken as soon as it has a level.
  ListedOrder& name(std::uint32_t place, std::uint32_t instrument, std::uint64_t id) noexcept {
    ++count_;
    ListedOrder& order = places_[place];
    order.id = id;
    order.instrument = instrument;
    return order;
  }
  /// Takes the order at a place out. Calls `moved(place)` for each that has another place from here on.
  template <class Moved>
  void erase(std::uint32_t hole, const Moved& moved) noexcept {
    --count_;
    // Orders after the hole that could be in it move there, or they would no longer be found.
    for (std::uint32_t next = (hole + 1) & mask_; is_taken(next); next = (next + 1) & mask_) {
      const std::uint32_t home = home_of(places_[next].instrument, places_[next].id);
      if (((next - home) & mask_) < ((next - hole) & mask_)) continue;
      places_[hole] = places_[next];
      moved(hole);
      hole = next;
    }
    places_[hole].level = kNoHandle;
  }
  void prefetch(std::uint32_t instrument, std::uint64_t id) const noexcept {
    __builtin_prefetch(&places_[home_of(instrument, id)], 1);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return (std::size_t{mask_} + 1) * sizeof(ListedOrder); }

 private:
  [[nodiscard]] std::uint32_t home_of(std::uint32_t instrument, std::uint64_t id) const noexcept {
    // The instrument comes in after the salted id is mixed: before, ids of two instruments could cancel it out.
    std::uint64_t x = id + salt_;
    x = (x ^ x >> 32) * 0xD6E8'FEB8'6659'FD93U;
    x = (x ^ x >> 32 ^ salt_ ^ instrument * 0x9E37'79B9'7F4A'7C15U) * 0xD6E8'FEB8'6659'FD93U;
    return static_cast<std::uint32_t>(x ^ x >> 32) & mask_;
  }

  std::uint32_t room_;
  std::uint32_t mask_;
  std::uint64_t salt_;
  LargeArray<ListedOrder> places_;
  std::uint32_t count_ = 0;
};

}  // namespace stopbit::market
