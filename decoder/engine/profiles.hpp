#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "microcode/program.hpp"

namespace stopbit::engine {

/// Finds the profile program of a presence map with one probe: a table per segment without collisions, made when the
/// engine is.
class Profiles {
 public:
  struct Entry {
    std::uint64_t bits = kNoMap;
    std::uint16_t address = 0;
    std::uint8_t taken = 0;
  };

  /// Empty: finds nothing.
  Profiles() = default;
  /// Finds the programs that save at least `least_saved` instructions. `program` is verified.
  Profiles(const Program& program, unsigned least_saved);

  /// Whether the segment has programs to be found. `segment` is as in ProfileEntry, one of the program's.
  [[nodiscard]] bool has(std::uint16_t segment) const noexcept {
    return !entries_.empty() && table(segment).first != 0;
  }

  /// The program for the bits of a map, the first on top, or null. Only for segments that have programs.
  [[nodiscard]] const Entry* find(std::uint16_t segment, std::uint64_t bits) const noexcept {
    const Table& of_segment = table(segment);
    const Entry& entry = entries_[of_segment.first + (bits * of_segment.factor >> of_segment.shift)];
    return entry.bits == bits ? &entry : nullptr;
  }

 private:
  static constexpr std::uint64_t kNoMap = 1;  ///< Not the bits of a map of at most ProfileEntry::kMaxBits.
  /// Multiplying by the factor sends each map of a segment to another place of [0, 2^(64 - shift)).
  struct Table {
    std::uint64_t factor = 1;
    std::uint32_t first = 0;  ///< 0: the segment has no programs.
    std::uint8_t shift = 63;
  };

  [[nodiscard]] const Table& table(std::uint16_t segment) const noexcept {
    const bool is_body = (segment & ProfileEntry::kBody) != 0;
    return is_body ? bodies_[segment & ~ProfileEntry::kBody] : segments_[segment];
  }
  void add(std::uint16_t segment, std::span<const Entry> programs);

  std::vector<Table> segments_;  ///< By number.
  std::vector<Table> bodies_;    ///< By template.
  std::vector<Entry> entries_;   ///< The first two are of segments without programs.
};

}  // namespace stopbit::engine
