#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "decoder/record/layout.hpp"

namespace stopbit::standby {

/// A word of a record without what two appliances that decode the same packets say differently: arrival, source,
/// quality of the time, stamp, epoch, generation of the image, phase, and how the packet came (recovered, possible
/// duplicate, stale). `slot` and `word` count from the record's start.
[[nodiscard]] constexpr std::uint64_t masked(std::uint64_t value, std::size_t slot, std::size_t word) noexcept {
  constexpr std::uint64_t kHow =
      std::uint64_t{record::kFlagStale | record::kFlagRecovered | record::kFlagPossibleDuplicate} << 56;
  if (word == record::kTagWord) return value & ~(std::uint64_t{1} << 63);
  if (slot != 0) return value;
  switch (word) {
    case 0: return value & 0xFFFF'FFFF;
    case 1: return 0;
    case 2: return value & ~kHow;
    case 3: return value & 0xFFFF'0000;
    default: return value;
  }
}

/// Whether two records are the same, whole.
[[nodiscard]] inline bool is_same(std::span<const record::Slot> left, std::span<const record::Slot> right) noexcept {
  if (left.size() != right.size()) return false;
  for (std::size_t slot = 0; slot < left.size(); ++slot) {
    for (std::size_t word = 0; word < record::kSlotWords; ++word) {
      if (masked(left[slot].words[word], slot, word) != masked(right[slot].words[word], slot, word)) return false;
    }
  }
  return true;
}

/// Equal for records that are the same.
[[nodiscard]] inline std::uint64_t hash_of(std::span<const record::Slot> record) noexcept {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325U;
  for (std::size_t slot = 0; slot < record.size(); ++slot) {
    for (std::size_t word = 0; word < record::kSlotWords; ++word) {
      hash = (hash ^ masked(record[slot].words[word], slot, word)) * 0x9E37'79B9'7F4A'7C15U;
      hash ^= hash >> 29;
    }
  }
  return hash;
}

}  // namespace stopbit::standby
