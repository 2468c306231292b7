#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "host/market/book/large_array.hpp"

namespace stopbit::market {

/// Blocks of 1, 2, 4, ... items from one array that is allocated at the start. One thread. A block is named by the
/// number of its first item. A large free block is divided where no other is left; small ones are not joined again.
template <class T>
class BlockPool {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) >= sizeof(std::uint32_t));

 public:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  static constexpr unsigned kClasses = 31;

  explicit BlockPool(std::uint32_t items) : items_(make_large_array<T>(items)), count_(items) { free_.fill(kNone); }

  /// The smallest class with `items` items.
  [[nodiscard]] static constexpr unsigned class_of(std::uint32_t items) noexcept {
    return items <= 1 ? 0U : static_cast<unsigned>(std::bit_width(items - 1));
  }

  [[nodiscard]] T* at(std::uint32_t block) noexcept { return items_.get() + block; }
  [[nodiscard]] const T* at(std::uint32_t block) const noexcept { return items_.get() + block; }

  /// A block of 2^size_class items, whose content is undefined; kNone if there is no room.
  [[nodiscard]] std::uint32_t take(unsigned size_class) noexcept {
    if (size_class >= kClasses) return kNone;
    if (free_[size_class] != kNone) return pop(size_class);
    const std::uint32_t items = std::uint32_t{1} << size_class;
    if (count_ - next_ >= items) {
      next_ += items;
      return next_ - items;
    }
    for (unsigned larger = size_class + 1; larger < kClasses; ++larger) {
      if (free_[larger] == kNone) continue;
      const std::uint32_t block = pop(larger);
      while (larger-- > size_class) give(block + (std::uint32_t{1} << larger), larger);
      return block;
    }
    return kNone;
  }
  void give(std::uint32_t block, unsigned size_class) noexcept {
    std::memcpy(static_cast<void*>(at(block)), &free_[size_class], sizeof(std::uint32_t));
    free_[size_class] = block;
  }

  /// A block of the next class with the first `used` items of `block`, which is given back; kNone leaves it as it is.
  [[nodiscard]] std::uint32_t grow(std::uint32_t block, unsigned size_class, std::uint32_t used) noexcept {
    const std::uint32_t larger = take(size_class + 1);
    if (larger == kNone) return kNone;
    std::memcpy(static_cast<void*>(at(larger)), at(block), used * sizeof(T));
    give(block, size_class);
    return larger;
  }

  [[nodiscard]] std::size_t bytes() const noexcept { return std::size_t{count_} * sizeof(T); }

 private:
  [[nodiscard]] std::uint32_t pop(unsigned size_class) noexcept {
    const std::uint32_t block = free_[size_class];
    std::memcpy(&free_[size_class], at(block), sizeof(std::uint32_t));
    return block;
  }

  LargeArray<T> items_;
  std::uint32_t count_;
  std::uint32_t next_ = 0;  ///< Items from here on were never taken.
  std::array<std::uint32_t, kClasses> free_{};
};

}  // namespace stopbit::market
