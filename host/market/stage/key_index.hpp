#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/market/map/source.hpp"

namespace stopbit::market {

/// The bits of an instrument's key fields, as records have them.
using KeyBits = std::array<std::uint64_t, kMaxKeyFields>;

/// Keys to rows, for the one thread that meets every entry. Fixed size, half full at most, no removal.
class KeyIndex {
 public:
  /// `salt`: any number that senders do not know, so that they cannot make keys that collide.
  KeyIndex(std::uint32_t capacity, std::uint64_t salt) : salt_(salt) {
    std::size_t slots = 16;
    while (slots < std::size_t{capacity} * 2) slots *= 2;
    mask_ = slots - 1;
    slots_ = std::make_unique<Slot[]>(slots);
  }

  /// Row of the key; 0: none.
  [[nodiscard]] std::uint32_t find(const KeyBits& key) const noexcept {
    for (std::size_t at = hash(key);; ++at) {
      const Slot& slot = slots_[at & mask_];
      if (slot.row == 0 || slot.key == key) return slot.row;
    }
  }
  /// The key must not be there, and `capacity` not be reached.
  void add(const KeyBits& key, std::uint32_t row) noexcept {
    std::size_t at = hash(key);
    while (slots_[at & mask_].row != 0) ++at;
    slots_[at & mask_] = {key, row};
  }

 private:
  struct Slot {
    KeyBits key{};
    std::uint32_t row = 0;
  };

  [[nodiscard]] std::size_t hash(const KeyBits& key) const noexcept {
    std::uint64_t value = salt_;
    for (const std::uint64_t word : key) {
      value = (value ^ word) * 0x9E37'79B9'7F4A'7C15U;
      value ^= value >> 32;
    }
    return value;
  }

  std::uint64_t salt_;
  std::size_t mask_ = 0;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace stopbit::market
