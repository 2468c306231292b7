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
  static constexpr std::uint64_t kNoMap = 1;  ///< Not the bits of a map of at most ProfileEntry::kMaxBits.
  struct Entry {
    std::uint64_t bits = kNoMap;
    std::uint16_t address = 0;
    std::uint8_t taken = 0;
  };

  /// Multiplying by the factor sends each map of a segment to another place of [0, 2^(64 - shift)).
  struct Table {
    std::uint64_t factor = 1;
    std::uint32_t first = 0;
    std::uint8_t shift = 63;
  };

  /// Finds nothing.
  Profiles() = default;
  /// `program` is verified.
  explicit Profiles(const Program& program);

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

  /// The program for the bits of a map, the first on top, or null. `segment` is as in ProfileEntry, one of the
  /// program's. Not to be called if it is empty.
  [[nodiscard]] const Entry* find(std::uint16_t segment, std::uint64_t bits) const noexcept {
    const Table& of_segment = table(segment);
    const Entry& entry = entries_[of_segment.first + (bits * of_segment.factor >> of_segment.shift)];
    return entry.bits == bits ? &entry : nullptr;
  }

  /// Whether the segment has programs.
  [[nodiscard]] bool has(std::uint16_t segment) const noexcept { return !empty() && table(segment).first != 0; }

  /// For code that looks up by itself.
  [[nodiscard]] const Table& table(std::uint16_t segment) const noexcept {
    const bool is_body = (segment & ProfileEntry::kBody) != 0;
    return is_body ? bodies_[segment & ~ProfileEntry::kBody] : segments_[segment];
  }
  [[nodiscard]] std::span<const Entry> places(const Table& table) const noexcept {
    return std::span(entries_).subspan(table.first, std::size_t{1} << (64 - table.shift));
  }

 private:
  void add(const Program& program, std::size_t first, std::size_t last);

  std::vector<Table> segments_;  ///< By number.
  std::vector<Table> bodies_;    ///< By template.
  std::vector<Entry> entries_;   ///< The first two are of segments without programs.
};

}  // namespace stopbit::engine
