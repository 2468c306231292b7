#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stopbit::kernel {

/// A line of /proc/self/maps.
struct MapLine {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string rights;  ///< "rwxp", a dash for what is not allowed.
  std::string name;    ///< Of the file; empty if there is none.

  [[nodiscard]] bool writes() const { return rights[1] == 'w'; }
  [[nodiscard]] bool executes() const { return rights[2] == 'x'; }
  [[nodiscard]] bool is_guard() const { return rights.starts_with("---"); }
};

/// In the order of addresses.
[[nodiscard]] std::vector<MapLine> memory_map();

}  // namespace stopbit::kernel
