#pragma once

#include <cstdint>
#include <string>

namespace stopbit::tools {

/// What the rings of two appliances on the same feeds have in common, of what both hold now.
struct RingComparison {
  std::uint64_t same = 0;         ///< Records that are equal except fields that each appliance sets itself.
  std::uint64_t different = 0;    ///< Records of one place whose bytes differ.
  std::uint64_t only[2] = {};     ///< Records of one ring, between records of both.
  std::uint64_t outside[2] = {};  ///< Records before or after those of both.
  std::uint64_t events[2] = {};   ///< Gaps, errors and the like: not compared.
  std::string places;             ///< A line for each of the first differences.

  [[nodiscard]] bool is_equal() const noexcept { return different == 0 && only[0] == 0 && only[1] == 0; }
  [[nodiscard]] std::string text(const std::string& first, const std::string& second) const;
};

/// Reads both rings from their oldest record to their newest. A ToolError if one cannot be read, or if their records
/// have different layouts.
[[nodiscard]] RingComparison compare_rings(const std::string& first, const std::string& second);

}  // namespace stopbit::tools
