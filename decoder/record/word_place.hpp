#pragma once

#include <array>
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
  /// Of a word of a record, counted from the first byte of its block. Words of a verified block are below kPlaces.
  static constexpr std::size_t kPlaces = 264;

  static constexpr WordPlace at(std::size_t place, std::uint8_t tag) {
    const std::size_t slot = place / kValueWords * kSlotBytes;
    return {static_cast<std::uint16_t>(slot + place % kValueWords * 8),
            static_cast<std::uint16_t>(slot + kTagWord * 8 + place % kValueWords), tag};
  }
};

/// The places and tags of the words of blocks, so that readers need not divide.
inline constexpr std::array<WordPlace, WordPlace::kPlaces> kWordPlaces = [] {
  std::array<WordPlace, WordPlace::kPlaces> places = {};
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = WordPlace::at(i, 0);
  return places;
}();
/// From the tag of a block's first word on.
inline constexpr std::array<std::uint8_t, kMaxValueTag + WordPlace::kPlaces> kValueTags = [] {
  std::array<std::uint8_t, kMaxValueTag + WordPlace::kPlaces> tags = {};
  for (std::size_t i = 0; i < tags.size(); ++i) tags[i] = value_tag(i);
  return tags;
}();

}  // namespace stopbit::record
