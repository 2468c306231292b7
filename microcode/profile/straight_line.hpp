#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "microcode/program.hpp"

/// Programs for frequent presence maps: microcode/profile/README.md.
namespace stopbit::profile {

/// The steps of a segment of the general program with one presence map, as far as the map alone decides it.
struct StraightLine {
  std::vector<isa::Instruction> code;
  std::uint8_t taken = 0;     ///< Bits of the map that it stands for.
  std::uint32_t steps = 0;    ///< Instructions it executes; leaving a loop costs one more.
  std::uint32_t general = 0;  ///< Instructions of the general program that it stands for.
};

/// Follows the general program from `begin`, the first instruction that takes bits of the map, to the end of the
/// segment, or to the first instruction that a map cannot decide: an inner presence map, a sequence, the end of a
/// group, a bit that is only taken if the exponent before is present. The rest is left to the general program, which
/// the last instruction joins.
///
/// `map` has its first bit on top and at most ProfileEntry::kMaxBits. `address` is the one that the first instruction
/// will get.
/// @returns nothing if the straight line would be no shorter and know nothing, would execute more instructions than the
/// general program, or have more than `most`. The work is bounded by `most` and the bits of a map.
///
/// The general program must be as verify::check demands. This function is the definition: the verifier accepts a
/// profile program only if it is what this gives.
[[nodiscard]] std::optional<StraightLine> straight_line(const Program& program, std::size_t begin, std::uint64_t map,
                                                        std::size_t address, std::size_t most);

/// The segments that can have profile programs, by number as in ProfileEntry, and where they begin: bodies of messages,
/// and elements and groups with a map of their own. Without those whose number is in several PMAPs.
[[nodiscard]] std::map<std::uint16_t, std::size_t> segment_begins(const Program& program);

}  // namespace stopbit::profile
