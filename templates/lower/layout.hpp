#pragma once

#include <cstdint>
#include <vector>

#include "templates/ir/flow.hpp"

/// Positions of values in records: blocks and words. Does not depend on code.
///
/// An item that is not stored has a word too, after those that are: a name that errors give.
namespace stopbit::templates::lower {

/// Position of an item of a message.
struct ItemPlacement {
  std::uint16_t block = kNoBlock;  ///< Of the item's word, or of an optional group's witness.
  std::uint8_t word = isa::kNoWord;
  std::uint16_t opens = kNoBlock;          ///< Block that begins before the item's word.
  std::uint16_t element_block = kNoBlock;  ///< Sequence.
  std::uint16_t inner_bits = 0;            ///< Group, sequence: most presence bits of its own map; 0 = it has none.
  bool own_witness = false;                ///< Optional group: `word` is a word of its own.
};

struct Layout {
  std::uint16_t root_block = 0;
  std::uint16_t words = 0;            ///< Over all blocks: those that are stored.
  std::vector<ItemPlacement> places;  ///< One per item.
};

/// Lays out one message and appends its blocks. Reports what exceeds the limits of the instruction word (T1); the
/// layout is then not to be used.
[[nodiscard]] Layout lay_out(const ir::Message& message, std::uint16_t template_index, std::vector<Block>& blocks,
                             Report& report);

}  // namespace stopbit::templates::lower
