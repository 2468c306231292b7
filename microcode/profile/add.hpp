#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "microcode/program.hpp"

namespace stopbit::profile {

/// How often a presence map was met: its first bit on top.
struct MapCount {
  std::uint64_t map = 0;
  std::uint64_t count = 0;
  bool operator==(const MapCount&) const = default;
};

/// The maps of a segment.
struct SegmentCounts {
  std::vector<MapCount> maps;
  std::uint64_t other = 0;  ///< Maps that were not kept apart, or have more than ProfileEntry::kMaxBits.
  bool operator==(const SegmentCounts&) const = default;
};

/// By segment, as ProfileEntry names them.
using Counts = std::map<std::uint16_t, SegmentCounts>;

struct AddOptions {
  std::size_t maps = 8;       ///< Most programs of a segment, at most limits::kMaxProfileMaps.
  double least_share = 0.02;  ///< Of a segment's maps: rarer ones get no program.
};

/// Outcome of a segment.
struct Coverage {
  std::uint16_t segment = 0;
  std::uint64_t maps = 0;     ///< Counted.
  std::uint64_t covered = 0;  ///< Those of them that have a program.
  std::uint32_t programs = 0;
  std::uint32_t instructions = 0;  ///< Of the programs.
  double general_steps = 0;        ///< Instructions per covered map that the general program would execute ...
  double profile_steps = 0;        ///< ... and that the programs execute.
};

/// Adds programs for the most frequent maps, as many as the instruction set has room for, and the hint `predicate` to
/// the general instructions whose bit the remaining maps leave hard to predict. Verified programs stay verified.
/// `program` must have no profiles yet. @returns a line per segment that was counted and is in the program.
std::vector<Coverage> add_profiles(Program& program, const Counts& counts, const AddOptions& options);

}  // namespace stopbit::profile
