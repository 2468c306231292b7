#pragma once

#include <string>
#include <string_view>

#include "microcode/base/result.hpp"

namespace stopbit::os {

/// Where this process makes the segment of a ring. A plain name (letters, digits, '.', '_', '-'; up to 64, not
/// beginning with '.' or '-') is a file in the own folder (folder.hpp). A name with a '/' is the path of a file.
/// Readers look into other users' folders, too: `open_accepted`.
[[nodiscard]] Result<std::string> path_of(std::string_view name);

/// Whether a reader would find something under the name; it need not be a ring. False for bad names.
[[nodiscard]] bool exists(std::string_view name);

}  // namespace stopbit::os
