#pragma once

#include <string>
#include <vector>

#include "microcode/base/result.hpp"

namespace stopbit::market {

/// The file of a map: a path (with / or ending in .toml), or the name of an installed map, which is looked for in
/// $STOPBIT_MAPS and in ../share/stopbit/maps beside the program. A failure names the installed ones.
[[nodiscard]] Result<std::string> find_map(const std::string& name);

/// Names of the installed maps, sorted.
[[nodiscard]] std::vector<std::string> installed_maps();

}  // namespace stopbit::market
