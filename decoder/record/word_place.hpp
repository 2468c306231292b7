#pragma once

#include <cstddef>
#include <cstdint>

#include "decoder/record/layout.hpp"
#include "microcode/program.hpp"

namespace stopbit::record {

/// Position of a word, relative to the first byte of its block. Depends on the block's base: after the record's header,
/// after a reference's template index, or at the start of a slot.
struct WordPlace {
  std::uint16_t value_offset = 0;
  std::uint16_t tag_offset = 0;
  std::uint8_t tag = 0;        ///< 0: records do not hold the word.
  bool in_first_slot = false;  ///< Of the record: beside its header.

  static constexpr WordPlace of(const Block& block, std::size_t base, std::uint8_t word) {
    if (word >= block.words) return {};
    WordPlace place = at(base + word, value_tag(std::size_t{block.first_word} + word));
    place.in_first_slot = base == kHeaderWords && base + word < kValueWords;
    return place;
  }
  static constexpr WordPlace at(std::size_t place, std::uint8_t tag) {
    const std::size_t slot = place / kValueWords * kSlotBytes;
    return {static_cast<std::uint16_t>(slot + place % kValueWords * 8),
            static_cast<std::uint16_t>(slot + kTagWord * 8 + place % kValueWords), tag};
  }
};

}  // namespace stopbit::record
