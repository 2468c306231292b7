#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "host/market/book/large_array.hpp"

namespace stopbit::market {

/// A number without meaning: no order, no level.
inline constexpr std::uint32_t kNoHandle = 0xFFFF'FFFF;

/// Where an order of a book by id is.
struct OrderPlace {
  std::uint32_t level;
  std::uint32_t side;  ///< Side.
};

struct Order {
  std::uint64_t id;
  std::int64_t quantity;
  std::uint32_t next;      ///< In its level, towards the later ones; in the list of free orders.
  std::uint32_t previous;  ///< In its level.
  union {
    std::int64_t price;  ///< In books by position.
    OrderPlace at;       ///< In books by id.
  };
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

/// Finds orders by (instrument, id): open addressing, at most half full, without marks for deleted ones. The salt keeps
/// a sender from choosing ids that collide; what a book holds does not depend on it.
class OrderIndex {
 public:
  OrderIndex(std::uint32_t orders, std::uint64_t salt)
      : mask_(std::bit_ceil(std::uint64_t{orders} * 2 + 2) - 1),
        salt_(salt | 1),
        places_(make_large_array<Place>(mask_ + 1)) {
    for (std::uint64_t i = 0; i <= mask_; ++i) places_[i].order = kNoHandle;
  }

  [[nodiscard]] std::uint32_t find(std::uint32_t instrument, std::uint64_t id) const noexcept {
    return at(place_of(instrument, id));
  }
  /// Of the order, or the free place where it belongs. Until the next insert or erase.
  [[nodiscard]] std::uint64_t place_of(std::uint32_t instrument, std::uint64_t id) const noexcept {
    std::uint64_t place = home_of(instrument, id);
    while (places_[place].order != kNoHandle && (places_[place].id != id || places_[place].instrument != instrument)) {
      place = (place + 1) & mask_;
    }
    return place;
  }
  /// kNoHandle if the place is free.
  [[nodiscard]] std::uint32_t at(std::uint64_t place) const noexcept { return places_[place].order; }
  /// At the free place where the order belongs; at most `orders` may be in it.
  void insert_at(std::uint64_t place, std::uint32_t instrument, std::uint64_t id, std::uint32_t order) noexcept {
    places_[place] = {id, order, instrument};
  }
  void insert(std::uint32_t instrument, std::uint64_t id, std::uint32_t order) noexcept {
    insert_at(place_of(instrument, id), instrument, id, order);
  }
  void erase(std::uint32_t instrument, std::uint64_t id) noexcept {
    const std::uint64_t place = place_of(instrument, id);
    if (at(place) != kNoHandle) erase_at(place);
  }
  /// The order at the place.
  void erase_at(std::uint64_t hole) noexcept {
    // Entries after the hole that could be in it move there, or they would no longer be found.
    for (std::uint64_t next = (hole + 1) & mask_; places_[next].order != kNoHandle; next = (next + 1) & mask_) {
      const std::uint64_t home = home_of(places_[next].instrument, places_[next].id);
      if (((next - home) & mask_) < ((next - hole) & mask_)) continue;
      places_[hole] = places_[next];
      hole = next;
    }
    places_[hole].order = kNoHandle;
  }
  void prefetch(std::uint32_t instrument, std::uint64_t id) const noexcept {
    __builtin_prefetch(&places_[home_of(instrument, id)], 1);
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return (mask_ + 1) * sizeof(Place); }

 private:
  struct Place {
    std::uint64_t id;
    std::uint32_t order;  ///< kNoHandle: free.
    std::uint32_t instrument;
  };
  static_assert(sizeof(Place) == 16);

  [[nodiscard]] std::uint64_t home_of(std::uint32_t instrument, std::uint64_t id) const noexcept {
    // The instrument comes in after the salted id is mixed: before, ids of two instruments could cancel it out.
    std::uint64_t x = id + salt_;
    x = (x ^ x >> 32) * 0xD6E8'FEB8'6659'FD93U;
    x = (x ^ x >> 32 ^ salt_ ^ instrument * 0x9E37'79B9'7F4A'7C15U) * 0xD6E8'FEB8'6659'FD93U;
    return (x ^ x >> 32) & mask_;
  }

  std::uint64_t mask_;
  std::uint64_t salt_;
  LargeArray<Place> places_;
};

}  // namespace stopbit::market
