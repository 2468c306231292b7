#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/result.hpp"
#include "microcode/profile/add.hpp"
#include "microcode/profile/segments.hpp"

/// Counts of the messages of a feed: which presence maps its segments have, how long its sequences and
/// strings are. Parts have names, so that a profile outlives the program it was made with. README.md has the file
/// format.
namespace stopbit::profile {

/// How often a length was met, by length; kLongest stands for itself and all longer ones.
using Lengths = std::map<std::uint64_t, std::uint64_t>;
inline constexpr std::uint64_t kLongest = 64;

struct Profile {
  std::uint64_t layout_hash = 0;  ///< Of the program it was made with.
  std::uint64_t datagrams = 0;
  std::uint64_t messages = 0;
  std::uint64_t errors = 0;  ///< Datagrams that were not decoded to their end.
  std::map<Name, SegmentCounts> segments;
  std::map<Name, Lengths> sequences;  ///< Absent ones count as empty.
  std::map<Name, Lengths> strings;    ///< Absent ones do not count.
};

inline constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;

/// Maps most frequent first; of each segment as many as fit the file, the rest counted together.
[[nodiscard]] std::string to_json(const Profile& profile);
/// A failure says where in the file it is: a byte, or a path as "/segments/3/maps/0".
[[nodiscard]] Result<Profile> from_json(std::string_view text);

/// The profile's segments by their numbers in a program.
struct Resolved {
  Counts counts;
  std::vector<Name> unknown;  ///< The program has no such segments.
};
[[nodiscard]] Resolved resolve(const Profile& profile, const Program& program);

/// "MDIncRefresh_83/MDEntries", with "#2" after the second of that name.
[[nodiscard]] std::string name_text(const Name& name);
/// The bits of a map, first bit first, up to its last set one: "1011", "0".
[[nodiscard]] std::string map_text(std::uint64_t map);

}  // namespace stopbit::profile
